"""Logarithms of probabilities without cancellation, one-dimensional searches, and a bounded cache.

The searches are SciPy's, imported on first use, as its optimisers take a tenth of a second to load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray


def log_ratio(first: int, second: int) -> float:
    """ln(first / second) of whole numbers, accurate also where they are nearly equal or beyond the range of floats."""
    ratio = Fraction(first, second)
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    try:
        return math.log(float(ratio))
    except (OverflowError, ValueError):  # the ratio overflows or underflows
        return math.log(ratio.numerator) - math.log(ratio.denominator)


def log1mexp(log_mass: float) -> float:
    """ln(1 - e**log_mass), to full precision for log_mass near 0 and near minus infinity."""
    if log_mass >= 0:
        return -math.inf
    if log_mass > -0.7:
        return math.log(-math.expm1(log_mass))
    return min(math.log1p(-math.exp(log_mass)), -math.ulp(0.0)) if log_mass > -math.inf else 0.0


def log_sum(logs: NDArray[np.float64]) -> float:
    """ln of the sum of e**logs; minus infinity for an empty sum."""
    top = float(logs.max(initial=-math.inf))
    return top if not math.isfinite(top) else top + math.log(float(np.exp(logs - top).sum()))


def log_expm1(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(e**x - 1), elementwise; minus infinity for x <= 0."""
    positive = np.maximum(x, 0.0)
    with np.errstate(divide="ignore"):
        return positive + np.log(-np.expm1(-positive))


def exp_upwards(log: float) -> float:
    """e**log; the least positive float where that underflows, and 0 for minus infinity alone."""
    return math.exp(log) or (0.0 if log == -math.inf else math.ulp(0.0))


def root(function: Callable[[float], float], low: float, high: float, *, xtol: float, rtol: float = 1e-15) -> float:
    """The zero of a function with different signs at low and high, by Brent's method (SciPy's `brentq`)."""
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=xtol, rtol=rtol, maxiter=500))  # type: ignore[arg-type]


def least_between(function: Callable[[float], float], low: float, high: float, xtol: float) -> float:
    """The least value that a bounded search finds between low and high."""
    from scipy.optimize import fminbound

    return float(fminbound(function, low, high, xtol=xtol, full_output=True)[1])


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class BoundedCache(Generic[Key, Value]):
    """A first-in, first-out cache of at most `size` >= 1 values."""

    size: int
    _values: dict[Key, Value] = field(default_factory=dict, init=False, repr=False)

    def get(self, key: Key, compute: Callable[[], Value]) -> Value:
        """The cached value of the key, computed where it is missing."""
        if key not in self._values:
            value = compute()  # which may itself use the cache
            if len(self._values) >= self.size:
                del self._values[next(iter(self._values))]
            self._values[key] = value
        return self._values[key]
