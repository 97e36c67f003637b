"""Logarithms of probabilities that keep their digits at both ends, and searches along a line.

The searches are SciPy's; importing its optimisers takes a tenth of a second, so that they load when first asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def log_ratio(first: int, second: int) -> float:
    """ln(first / second) of whole numbers, also where the two are nearly equal or beyond the range of floats."""
    ratio = Fraction(first, second)
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    try:
        return math.log(float(ratio))
    except (OverflowError, ValueError):  # no float holds it, or it rounds to 0
        return math.log(ratio.numerator) - math.log(ratio.denominator)


def log_lacking(log_mass: float) -> float:
    """ln(1 - e**log_mass), right to the last digits at both ends; 0 for no mass alone."""
    if log_mass >= 0:
        return -math.inf
    if log_mass > -0.7:
        return math.log(-math.expm1(log_mass))
    return min(math.log1p(-math.exp(log_mass)), -math.ulp(0.0)) if log_mass > -math.inf else 0.0


def log_sum(logs: NDArray[np.float64]) -> float:
    """ln of the sum of e**logs; minus infinity for none."""
    return float(np.logaddexp.reduce(logs)) if logs.size else -math.inf


def root(function: Callable[[float], float], low: float, high: float, *, xtol: float, rtol: float = 1e-15) -> float:
    """Where a function with different signs at low and high is 0, by Brent's method (SciPy's `brentq`)."""
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=xtol, rtol=rtol, maxiter=500))  # type: ignore[arg-type]


def least_between(function: Callable[[float], float], low: float, high: float, xtol: float) -> float:
    """The least value that a bounded search finds between low and high."""
    from scipy.optimize import fminbound

    return float(fminbound(function, low, high, xtol=xtol, full_output=True)[1])
