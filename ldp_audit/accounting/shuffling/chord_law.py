"""A law with finitely many losses that dominates a symmetric one of which only the profile is known.

With E = e**epsilon a profile is a convex function h(E), so between two levels it lies below its chord; the law whose
profile is made of the chords dominates (Zhu, Dong, Wang, AISTATS 2022). Q's mass at a level is the change of slope
there. The masses are found from the largest level downwards, so that small deltas keep their digits and no rounding
makes the result too small: where a slope would fall, the law takes what lies above.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.finite_losses import symmetric_law
from ldp_audit.accounting.laws.loss_law import LossLaw

_SMALLEST = -600.0
_BULK = -60.0


def chord_law(levels: NDArray[np.float64], log_values: NDArray[np.float64]) -> LossLaw:
    """The law whose profile joins these points, and its own mirror image.

    levels: nats, ascending from 0, shape (m,), m >= 2; the last one is the largest loss.
    log_values: ln of delta, or of something larger, at them, same shape; of the last one it is not asked.
    """
    used = np.flatnonzero(log_values[:-1] > _SMALLEST)
    steps = np.append(levels[used], levels[-1])
    values = np.exp(log_values[used])
    slope, reached = 0.0, 0.0  # what lies above: Q's mass, and the profile at the level last dealt with
    losses, masses = [], []
    for i in range(used.size - 1, -1, -1):
        width = math.exp(steps[i]) * math.expm1(steps[i + 1] - steps[i])
        needed = (values[i] - reached) / width
        if needed > slope:
            losses.append(steps[i + 1])
            masses.append(needed - slope)
            slope = needed
        reached += width * slope
    upper = np.array(losses)
    return symmetric_law(upper, np.log(masses) + upper)


def chord_levels(log_delta: Callable[[float], float], largest: float, count: int) -> NDArray[np.float64]:
    """Levels for a profile: most of them evenly to where it is e**-60, some to where it is e**-600, and the largest."""
    bulk, tail = (_where(log_delta, largest, floor) for floor in (_BULK, _SMALLEST))
    levels = [np.linspace(0, bulk, count), np.linspace(bulk, tail, count // 5), [largest]]
    return np.unique(np.concatenate(levels))


def _where(log_delta: Callable[[float], float], largest: float, floor: float) -> float:
    low, high = 0.0, largest
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) > floor else (low, middle)
    return high
