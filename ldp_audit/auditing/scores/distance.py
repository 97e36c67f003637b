"""How far apart two samples of a number lie: a cheap order in which candidates are proposed."""

from __future__ import annotations

import math

import numpy as np


def distance(first: np.ndarray, second: np.ndarray) -> float:
    """The Kolmogorov-Smirnov distance of two samples, in [0, 1].

    first, second: float64, shapes (n,) and (m,), infinities allowed, no NaN.
    """
    pooled = np.sort(np.concatenate([first, second]))
    below = np.searchsorted(np.sort(first), pooled, side="right") / len(first)
    other = np.searchsorted(np.sort(second), pooled, side="right") / len(second)
    return float(np.max(np.abs(below - other)))


def noise(n: int, m: int) -> float:
    """A distance that two samples of one law exceed with probability about 0.01 or less."""
    return 1.63 * math.sqrt(1 / n + 1 / m)
