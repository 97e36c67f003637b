"""Finitely many losses below a law of which only the profile is known.

A profile delta is convex in t = e**epsilon, and at least 1 - t (`profile_hull`). So between two points where it is
known it lies above the chords to their outer neighbours, prolonged, and the lower hull of where these cross is the
profile of a pair that the law dominates. Everything is kept as logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.bracketed_loss import ends_of
from ldp_audit.accounting.laws.finite_losses import as_atoms
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.laws.profile_hull import atoms_of_hull, hull, levels_of, points_for

Numbers = NDArray[np.float64]

_MOST_ATOMS = 100_000
_ROUNDING = 1e-13
_LARGEST = 600.0
_LEAST = 1e-300
"""A t at which delta is at least 1 - t, where the first chord says no more."""


def dominated_atoms(law: LossLaw, count: int | None = None) -> LossAtoms:
    """Finitely many losses that the law dominates. count: at how many levels it is looked at, about, if given."""
    listed = as_atoms(ends_of(law)[0], _MOST_ATOMS)
    if listed is not None:
        return listed
    levels = levels_of(law, count or points_for(law))
    ends = np.array([law.log_delta_bounds(float(level)) for level in levels])
    slack = _ROUNDING * (1 + np.abs(np.where(np.isfinite(ends), ends, 0.0)))
    with np.errstate(divide="ignore"):
        certain = np.log1p(-np.exp(np.minimum(levels, 0.0)))  # its distance from 0 says where mirrored losses lie
    lows = np.maximum(ends[:, 0] - slack[:, 0], certain)
    highs = np.minimum(ends[:, 1] + slack[:, 1], 0.0)
    # below the last level where no more than 1 - t is known delta is that much, and nothing else
    told = max(0, int(np.argmax(np.append(lows > certain, True))) - 1)
    levels, lows, highs = levels[told:], lows[told:], highs[told:]
    floor = law.log_delta_bounds(math.inf)[0]
    corners = hull(_corners(levels, lows, np.maximum(highs, lows), floor))
    return atoms_of_hull(*_above_certain(*corners), bounded=True)


def _above_certain(levels: Numbers, logs: Numbers) -> tuple[Numbers, Numbers]:
    """The larger of the hull with these corners and 1 - t, which prolonged chords may cross where ends lie apart.

    It begins on 1 - t, where the hull comes out of it for good.
    """
    ratios = np.exp(np.minimum(levels, _LARGEST))
    with np.errstate(over="ignore"):
        excess = ratios + np.expm1(logs)  # delta - (1 - t)
    below = np.flatnonzero((excess < 0) & (levels < 0))
    if not below.size:
        return levels, logs
    last = int(below[-1])
    if last + 1 == levels.size:
        return np.zeros(1), np.array([-math.inf])
    share = excess[last] / (excess[last] - excess[last + 1])
    crossing = min(1.0, float(ratios[last] + share * (ratios[last + 1] - ratios[last])))
    first = (math.log(crossing), math.log1p(-crossing)) if crossing < 1 else (0.0, -math.inf)
    return np.append(first[0], levels[last + 1 :]), np.append(first[1], logs[last + 1 :])


def _corners(levels: Numbers, lows: Numbers, highs: Numbers, floor: float) -> Iterator[tuple[float, float]]:
    """The points and the crossings between them, as (level, ln delta); t - t_i and its like are in units of t_i."""
    yield _first(levels, lows, highs)
    last = levels.size - 1
    for i in range(levels.size):
        if lows[i] == -math.inf:
            yield float(levels[i]), -math.inf
            return
        yield float(levels[i]), float(lows[i])
        before = (levels[i - 1], highs[i - 1]) if i else (-math.inf, 0.0)
        fall = _fall(before[1] - lows[i]) / -math.expm1(before[0] - levels[i])
        if i == last:
            rest, slope, width = math.exp(floor - lows[i]), 0.0, math.inf
        else:
            rest, width = math.exp(lows[i + 1] - lows[i]), _fall(levels[i + 1] - levels[i])
            slope = (
                _slope(levels, lows, highs, i + 1) * math.exp(lows[i + 1] - levels[i + 1] - lows[i] + levels[i])
                if rest
                else 0.0
            )
        if fall <= slope:
            continue
        step = (1 - rest - (slope * width if slope else 0.0)) / (fall - slope)
        if 0 < step < width:
            value = 1 - fall * step
            yield (
                float(levels[i]) + math.log1p(step),
                float(lows[i]) + math.log(value)
                if value > 1e-12
                else (floor if i == last else -math.inf if rest == 0 else float(lows[i + 1])),
            )


def _first(levels: Numbers, lows: Numbers, highs: Numbers) -> tuple[float, float]:
    """Where 1 - t crosses the first chord, prolonged to smaller t."""
    start, low = float(levels[0]), float(lows[0])
    fall = _slope(levels, lows, highs, 0) * math.exp(low)  # behind the first level, for each t there
    lack = -math.expm1(low) - fall
    steepness = fall * math.exp(min(_LARGEST, -start))
    crossing = min(math.exp(min(0.0, start)), lack / (1 - steepness)) if steepness < 1 else math.exp(start)
    return (math.log(crossing), math.log1p(-crossing)) if _LEAST < crossing < 1 else (math.log(_LEAST), -_LEAST)


def _slope(levels: Numbers, lows: Numbers, highs: Numbers, i: int) -> float:
    """How much delta falls behind this point for each t_i, at least, in units of itself."""
    if i + 1 >= levels.size:
        return 0.0
    return -math.expm1(min(0.0, highs[i + 1] - lows[i])) / _fall(levels[i + 1] - levels[i])


def _fall(logs: float) -> float:
    """e**logs - 1, infinite where it is no float."""
    return math.expm1(min(logs, _LARGEST)) if logs < _LARGEST else math.inf
