"""Numbers that stay exact at both ends: logistic functions and one-sided checks of levels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import numbers_of


def expit(value: float) -> float:
    """1 / (1 + e**-value), without overflow; 0 and 1 at the infinite ends."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


def levels(epsilon: ArrayLike) -> NDArray[np.float64]:
    """The levels at which a profile is asked, as floats; ValueError where one is negative or NaN."""
    asked = numbers_of("epsilon", epsilon, "real numbers >= 0").astype(np.float64)
    if not np.all(asked >= 0):
        raise ValueError(f"epsilon must be >= 0 everywhere, got {epsilon!r}")
    return asked


def excess(asked: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """(1 - e**(asked - epsilon))_+: the share of a ratio e**epsilon that is left over at each level asked.

    1 for infinite epsilon. The value at asked = epsilon is 0, without a sign.
    """
    if math.isinf(epsilon):
        return np.ones_like(asked)
    return -np.expm1(np.minimum(asked - epsilon, 0.0)) + 0.0
