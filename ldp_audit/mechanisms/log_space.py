"""Stable logistic and one-sided functions, and the check of a profile's epsilons."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import numbers_of


def expit(value: float) -> float:
    """1 / (1 + e**-value), without overflow; 0 and 1 at minus and plus infinity."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


def levels(epsilon: ArrayLike) -> NDArray[np.float64]:
    """The epsilons of a profile as floats; ValueError where one is negative or NaN."""
    asked = numbers_of("epsilon", epsilon, "real numbers >= 0").astype(np.float64)
    if not np.all(asked >= 0):
        raise ValueError(f"epsilon must be >= 0 everywhere, got {epsilon!r}")
    return asked


def excess(asked: ArrayLike, losses: ArrayLike) -> NDArray[np.float64]:
    """(1 - e**(asked - loss))_+, the contribution of a loss to delta(asked); 1 for an infinite one. Broadcasts."""
    finite = np.isfinite(losses)
    beyond = np.minimum(np.asarray(asked) - np.where(finite, losses, 0.0), 0.0)
    return np.where(finite, -np.expm1(beyond) + 0.0, 1.0)
