"""What an adapter returns, a sampler that says whether a seed decides its outputs, and what adapters are made of.

`seeded_globals` seeds the generators that programs share without being handed them: numpy.random, random, and those of
numba and torch. Each is a Mersenne twister. Its 624 words are drawn from the caller's generator, not from a seed of 32
bits, with which two among some thousands of calls would share their numbers.
"""

from __future__ import annotations

import copy
import importlib
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat, starmap
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.arrays import arrayed, as_numpy, generator_state, is_tensor, refuse_masked
from ldp_audit.auditing.adapters.sampler import DeclaredSampler

_PLAIN = (bool, int, float, str, np.generic)
"""Outputs that are kept as they are."""

_UNCHANGING = (bool, int, float, complex, str, bytes, np.generic, type(None), frozenset)
_BATCH_VALUES = 2**20
_WORDS = 624


@dataclass(frozen=True)
class AdaptedSampler(DeclaredSampler):
    """A sampler: called as (x, n, rng), it returns n outputs on input x.

    draw: the same, as a function.
    repeatable: whether rng decides the outputs. False where the program draws from the operating system, or may draw
        from a generator of its own: an audit is then as sound, but the same seed need not give the same result again.
    made: makes such a sampler of a new object; None where a new process is to ask the same one.
    of: what it was made of, by which it is named, if that is known.
    """

    draw: Callable[[Any, int, np.random.Generator], Any]
    repeatable: bool = True
    made: Callable[[], Any] | None = None
    of: Any = field(default=None, compare=False, repr=False)

    @property
    def origin(self) -> Any:
        """See `DeclaredSampler`."""
        return self if self.of is None else self.of

    def __reduce__(self) -> Any:
        return (type(self), (self.draw, self.repeatable)) if self.made is None else (self.made, ())

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Any:
        """n outputs on input x."""
        return self.draw(x, n, rng)


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
    refuse_masked(output, *(output if isinstance(output, list | tuple) else ()))
    output = as_numpy(output) if is_tensor(output) else arrayed(output)
    if is_frozen(output):
        raise ValueError("it returned a frozen distribution; in f(x, n), return its .rvs(size=n) instead")
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


def is_frozen(value: Any) -> bool:
    """Whether it is a frozen distribution of scipy.stats, known by its classes: none of SciPy is imported."""
    names = {one.__name__ for one in type(value).__mro__ if one.__module__.startswith("scipy.stats.")}
    return any("frozen" in name for name in names)


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


def in_batches(draw: Callable[[int], Any], n: int, size: int) -> np.ndarray:
    """n outputs of a program whose input has so many numbers. draw(rows) gives an output for each of so many rows.

    returns: shape (n,) or (n, d).   Raises ValueError where there is not one output for each row.
    """
    most = max(1, _BATCH_VALUES // max(1, size))
    sizes = [min(most, n - first) for first in range(0, n, most)] or [0]
    parts = [as_rows(draw(rows), rows) for rows in sizes]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def as_rows(output: Any, rows: int) -> np.ndarray:
    """An output for each row, shape (rows,) or (rows, d), of an array or tensor; of a tuple, its parts side by side."""
    if isinstance(output, tuple | list) and output and all(_is_array(part) for part in output):
        return np.concatenate([as_rows(part, rows).reshape(rows, -1) for part in output], axis=1)
    refuse_masked(output)
    array = as_numpy(output) if is_tensor(output) else np.asarray(output)
    if array.ndim == 0 or len(array) != rows:
        raise ValueError(
            f"{rows} inputs at once gave an output of shape {array.shape}; accepted: one for each along the first axis"
        )
    return array.reshape(rows, -1) if array.ndim > 2 else array


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or is_tensor(value)


@contextmanager
def seeded_globals(rng: np.random.Generator) -> Iterator[None]:
    """Within, the shared generators of the libraries that are loaded are seeded from rng; after it, they are as before.

    They belong to the whole process (numba's to the thread): what another thread draws meanwhile is seeded too. As much
    is drawn from rng whichever are loaded, so that a seed gives the same in every process.
    """
    with ExitStack() as stack:
        for always in (_numpy, _python):
            stack.enter_context(always(rng))
        seeds = rng.integers(2**63, size=2)
        for name, seeded, seed in zip(("numba", "torch"), (_numba, _torch), seeds, strict=True):
            if name in sys.modules:
                stack.enter_context(seeded(np.random.default_rng(seed)))
        yield


def _fresh(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2**32, _WORDS, dtype=np.uint32)


@contextmanager
def _restored(get: Callable[[], Any], put: Callable[[Any], None], state: Any) -> Iterator[None]:
    """Within, a generator has this state; after it, the one that it had."""
    before = get()
    put(state)
    try:
        yield
    finally:
        put(before)


def _numpy(rng: np.random.Generator) -> AbstractContextManager[None]:
    return _restored(np.random.get_state, np.random.set_state, ("MT19937", _fresh(rng), _WORDS, 0, 0.0))


def _python(rng: np.random.Generator) -> AbstractContextManager[None]:
    return _restored(random.getstate, random.setstate, (3, (*_fresh(rng).tolist(), _WORDS), None))


def _numba(rng: np.random.Generator) -> AbstractContextManager[None]:
    """What compiled functions call np.random is a generator of numba's, one for each thread."""
    states = importlib.import_module("numba._helperlib")
    pointer = states.rnd_get_np_state_ptr()
    return _restored(
        partial(states.rnd_get_state, pointer), partial(states.rnd_set_state, pointer), (_WORDS, _fresh(rng).tolist())
    )


@contextmanager
def _torch(rng: np.random.Generator) -> Iterator[None]:
    torch = sys.modules["torch"]
    on_gpus = torch.cuda.is_initialized()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if on_gpus else ()):
        torch.set_rng_state(generator_state(rng))
        if on_gpus:
            torch.cuda.manual_seed_all(int(rng.integers(2**63)))
        yield
