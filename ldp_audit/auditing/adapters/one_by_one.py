"""Programs of one value, called n times."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import chain, repeat, starmap
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.torch_tensors import as_numpy, is_tensor

_PLAIN = (bool, int, float, str, np.generic)
"""Outputs that are kept as they are."""
_UNCHANGING = (bool, int, float, complex, str, bytes, np.generic, type(None), frozenset)


def one_by_one(program: Callable[..., Any], n: int, x: Any, *others: Any) -> list[Any]:
    """The outputs of n calls program(x, *others), each as `flattened` has it.

    A call that changes its input in place changes a copy. An output is read before the next call, so that a program
    may return the same array, filled anew, each time.
    """
    if _cannot_change(x):
        outputs = starmap(program, repeat((x, *others), n))
    else:
        outputs = starmap(program, ((copy.deepcopy(x), *others) for _ in range(n)))
    for first in outputs:
        if isinstance(first, _PLAIN):
            return [first, *outputs]
        return list(map(flattened, chain((first,), outputs)))
    return []


def flattened(output: Any) -> Any:
    """One output as the auditor compares it: a number, a label, or all its numbers in a row, shape (d,), exactly.

    Lists, tuples, arrays and tensors, also one within the other, become one row where all of their parts are numbers;
    otherwise a tuple, which is a label.
    """
    if isinstance(output, _PLAIN):
        return output
    if is_tensor(output):
        output = as_numpy(output)
    if isinstance(output, set):
        return frozenset(output)
    if not isinstance(output, list | tuple | np.ndarray):
        return output
    if isinstance(output, np.ndarray) and output.ndim == 0:
        return output.item()
    if len(output) == 0:
        return "()"
    row = _row_of_numbers(output)
    if row is not None:
        return row
    parts = [flattened(part) for part in output]
    if all(isinstance(part, bool | int | float | np.generic | np.ndarray) for part in parts):
        return np.concatenate([np.atleast_1d(part) for part in parts])
    return tuple(part.tolist() if isinstance(part, np.ndarray) else part for part in parts)


def _row_of_numbers(output: Any) -> np.ndarray | None:
    """A copy of the output's numbers, shape (d,); None where it has others, or parts of different lengths."""
    try:
        array = np.array(output)
    except (ValueError, RuntimeError, TypeError):  # ragged, or tensors that share a gradient
        return None
    return array.ravel() if array.dtype.kind in "biuf" else None


def _cannot_change(x: Any) -> bool:
    if isinstance(x, tuple):
        return all(map(_cannot_change, x))
    return isinstance(x, _UNCHANGING)
