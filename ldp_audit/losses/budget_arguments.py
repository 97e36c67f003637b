"""Checks of the numbers in every privacy statement: epsilons, deltas, orders, probabilities, counts."""

from __future__ import annotations

import math
from numbers import Real
from operator import index
from typing import Any

import numpy as np

MOST_TIMES = 10**300
"""The largest count; more overflows a float."""


def nonnegative(epsilon: float, name: str = "epsilon") -> float:
    """A number >= 0, or infinity. Raises ValueError for anything else."""
    found = as_float(epsilon)
    if not found >= 0:
        raise ValueError(f"{name} must be a number >= 0, got {epsilon!r}")
    return found


def log_of_delta(delta: float | None, log_delta: float | None) -> float:
    """ln delta, from whichever of the two is given; -inf for 0.

    Raises ValueError unless one of them is given, delta in [0, 1], log_delta at most 0.
    """
    if (delta is None) == (log_delta is None):
        raise ValueError(f"one of delta and log_delta must be given, got delta={delta!r}, log_delta={log_delta!r}")
    if log_delta is not None:
        found = as_float(log_delta)
        if not found <= 0:
            raise ValueError(f"log_delta must be at most 0, got {log_delta!r}")
        return found
    found = as_float(delta)
    if not 0 <= found <= 1:
        raise ValueError(f"delta must lie in [0, 1], got {delta!r}")
    return math.log(found) if found > 0 else -math.inf


def order(alpha: float) -> float:
    """The order of a Renyi divergence: a number >= 1, or infinity. Raises ValueError for anything else."""
    found = as_float(alpha)
    if not found >= 1:
        raise ValueError(f"alpha must be a number >= 1 (infinity is one), got {alpha!r}")
    return found


def probability(value: float, name: str) -> float:
    """A probability. Raises ValueError unless it is a number in [0, 1]."""
    found = as_float(value)
    if not 0 <= found <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
    return found


def positive(value: float, name: str) -> float:
    """A finite number > 0. Raises ValueError for anything else."""
    found = as_float(value)
    if not 0 < found < math.inf:
        raise ValueError(f"{name} must be a finite number > 0, got {shown(value)}")
    return found


def whole(value: Any, name: str, least: int = 1, most: int = MOST_TIMES) -> int:
    """A whole number in least .. most, of any type with `__index__`. Raises ValueError for anything else."""
    try:
        found = None if isinstance(value, bool | np.bool_) else index(value)
    except TypeError:
        found = None
    if found is None or not least <= found <= most:
        upper = most < MOST_TIMES or (found is not None and found > most)
        accepted = f"in {least} .. {_power(most)}" if upper else f">= {least}"
        raise ValueError(f"{name} must be a whole number {accepted}, got {shown(value)}")
    return found


def _power(number: int) -> str:
    """The number as text; a large power of ten or of two as one."""
    for base, shown in ((10, len(str(number)) - 1), (2, number.bit_length() - 1)):
        if number > 10**5 and number == base**shown:
            return f"{base}**{shown}"
    return str(number)


def shown(value: object) -> str:
    """A value for a message, without all digits of a huge number."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    return repr(value)


def as_float(value: object) -> float:
    """As a float; not a number for what is no number, or beyond the range of floats."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan
