"""A function of one value whose rows of numbers reach the counts as they are.

Its adapter makes rows of floats of (2**53 + 1, 0.5), of (True, 0.5) and of a masked array, which serves samples well.
Counts are about what an observer sees: such rows are refused, before they are equal to others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters import AdaptedSampler, function_of_one_value
from ldp_audit.auditing.program import Sampler
from ldp_audit.implementations.output_keys import array_of_numbers, check_plain
from ldp_audit.implementations.tape import NotEnumerable


def without_merging(sampler: Sampler) -> Sampler:
    """The sampler, which refuses such rows where it is an adapter of a function of one value."""
    draw = getattr(sampler, "draw", None)
    if not isinstance(sampler, AdaptedSampler) or not isinstance(draw, partial):
        return sampler
    if draw.func is not function_of_one_value._draw:  # pyright: ignore[reportPrivateUsage]
        return sampler
    f, *how = draw.args
    return AdaptedSampler(partial(draw.func, _checked(f), *how), sampler.repeatable)


def _checked(f: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(f)
    def program(*arguments: Any, **named: Any) -> Any:
        output = f(*arguments, **named)
        _check(output)
        return output

    return program


def _check(output: Any) -> None:
    if isinstance(output, np.ndarray):
        try:
            check_plain(output)
        except ValueError as error:
            raise NotEnumerable(str(error)) from None
    if isinstance(output, list | tuple) and output and array_of_numbers(output) is None:
        raise NotEnumerable("it returns rows that are not all numbers of one type, which its adapter makes equal")
