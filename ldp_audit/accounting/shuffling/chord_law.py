"""A law with finitely many losses that dominates a symmetric one of which only the profile is known.

With E = e**epsilon a profile is a convex function h(E), so it lies below the lower convex hull of points that lie above
it; the law whose profile is the hull dominates (Zhu, Dong, Wang, AISTATS 2022). Q's mass at a level is the change of
slope there. All is in logarithms, so that deltas below those of floats keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.finite_losses import symmetric_law
from ldp_audit.losses.hulls import hull_from, log_slope
from ldp_audit.losses.loss import LossLaw

_BULK, _SMALLEST = -20.0, -800.0
"""ln of deltas: levels lie densely as far as the first, less so to the second; the smallest float is e**-745."""

_DENSER = 1.5
"""Levels are denser where most of the mass is: the i-th of them lies at this power of i."""

_RATIO = 1.1
"""Of levels beyond: without them the largest loss would have all that is left, which no tilt of a sum could bear."""

_NEAREST = 1e-5
"""Levels nearer to each other than this share of themselves are one: slopes between them would lose digits."""

_ROUNDING, _OF_THE_LOGARITHM = 1e-10, 4 * 2.0**-52
"""What the logarithms here may lose, with those digits of the slopes that are left."""


def chord_law(levels: NDArray[np.float64], log_values: NDArray[np.float64]) -> LossLaw:
    """The law whose profile joins these points, or what is needed of them, and its own mirror image.

    levels: nats, ascending from 0, shape (m,), m >= 2; the last one is the largest loss.
    log_values: ln of delta, or of something larger, at them, same shape; of the last one it is not asked.
    """
    apart = np.append(np.diff(levels) > _NEAREST * levels[1:], True)
    levels, known = levels[apart], log_values[apart][:-1]
    values = np.append(known + _ROUNDING + _OF_THE_LOGARITHM * np.abs(known), -math.inf)
    losses, logs = hull_from(zip(levels.tolist(), values.tolist(), strict=True))
    corners = list(zip(losses.tolist(), logs.tolist(), strict=True))
    slopes = np.append([log_slope(*sides) for sides in pairwise(corners)], -math.inf)  # after each corner
    seconds = slopes[:-1] + np.log(-np.expm1(slopes[1:] - slopes[:-1]))
    # a corner and its mirror image are joined by a slope of (1 - h)/(1 + E)
    joined = -np.expm1(logs) / (1 + np.exp(losses))
    first = int(np.argmax(joined >= np.exp(slopes)))
    left = float(joined[first] - math.exp(slopes[first]))
    if losses[first] == 0:
        return symmetric_law(losses[1:], seconds + losses[1:], rest=2 * left)
    lowest = [math.log(left)] if left > 0 else [-math.inf]
    return symmetric_law(losses[first:], np.concatenate([lowest, seconds[first:]]) + losses[first:], rest=0.0)


def chord_levels(log_delta: Callable[[float], float], largest: float, dense: int, sparse: int) -> NDArray[np.float64]:
    """Levels for a profile: so many to where it is e**-20, so many evenly to where it is e**-800, and few beyond.

    log_delta: ln of it, about.   largest: the largest loss, the last level.
    """
    bulk, tail = (level_of(log_delta, largest, floor) for floor in (_BULK, _SMALLEST))
    beyond = tail * _RATIO ** np.arange(1, math.ceil(math.log(largest / tail) / math.log(_RATIO)))
    levels = [bulk * np.linspace(0, 1, dense) ** _DENSER, np.linspace(bulk, tail, sparse), beyond, [largest]]
    return np.unique(np.concatenate(levels))


def level_of(log_delta: Callable[[float], float], largest: float, floor: float) -> float:
    """A level about where ln delta is so small; the largest loss if it never is."""
    low, high = 0.0, largest
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) > floor else (low, middle)
    return high
