"""Finitely many losses above or below a loss of which only the profile is known, by convex hulls over t = e**epsilon.

A profile delta is a convex and non-increasing function of t that starts at 1 for t = 0, and every such function with
delta >= 1 - t is the profile of some pair (Zhu, Dong, Wang, AISTATS 2022). The pair with a given hull as its profile
has a loss at each corner: Q's mass is the change of the slope, P's t times that. So

* between points where a mechanism is known to have at most these deltas it lies below their chords, and behind the last
  one at most there: the largest profile that they allow (`HullLoss`), and losses that dominate (`dominating_atoms`);
* between two points where it is known it lies above the chords to their outer neighbours, prolonged, and the lower hull
  of where these cross is the profile of a pair that the loss dominates (`dominated_atoms`);
* of a loss that is its own reverse, the half above 0 says all: `chord_loss` joins a corner and its mirror image by the
  slope that symmetry asks for.

Everything is kept as logarithms, so that deltas below those of floats keep their digits; levels may be any reals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ldp_audit.losses.budget_arguments import level, log_of_delta
from ldp_audit.losses.discrete_loss import ZERO_LOSS, DiscreteLoss, symmetric_loss
from ldp_audit.losses.loss import PairLoss

_POINTS = 1500
_DEEPEST = -745.0
"""ln of the smallest float: tails below it are not looked at."""
DEEPEST_FOR_ORDERS = -20_000.0
"""As `deepest` for divergences: 200 deviations of Gaussian noise, as high orders need."""
_LEAST_ORDER = 1e-5
_FARTHEST = 1e9
_SMALLEST = 1e-9
"""The smallest share of the largest loss that is looked for."""
_WHOLE, _WIDE, _USUAL = 1e-15, 64.0, -45.0
"""How near to 1 delta is as good as that; levels above which it is looked for; and ln of usual deltas."""
_FEWER = 3
"""So many times fewer levels where each takes milliseconds."""
_MOST_ATOMS = 100_000
_ROUNDED = 8
"""By so many units in the last place a largest loss may be too small."""


@dataclass(frozen=True, eq=False)
class HullLoss(PairLoss):
    """The worst loss that has at most these deltas at these levels, in both orders of the neighbours.

    Its upper ends are those of the hull, and nothing is known from below. It is its own mirror image.
    levels: nats, ascending.   log_deltas: falling, both of shape (m,): the corners, as `of_points` finds them.
    """

    levels: NDArray[np.float64]
    log_deltas: NDArray[np.float64]

    @classmethod
    def of_points(cls, points: Iterable[tuple[float, float]]) -> HullLoss:
        """From guarantees (epsilon, delta) that hold at once, in any order.

        By the mirrored pair each gives another one: 1 - (1 - delta) e**-epsilon at -epsilon. One at infinity bounds the
        limit alone, and says nothing at any finite level.
        Raises ValueError for none, and unless every epsilon is >= 0 and every delta in [0, 1].
        """
        pairs = [(level(epsilon), log_of_delta(delta, None)) for epsilon, delta in points]
        if not pairs:
            raise ValueError("points must hold one (epsilon, delta) or more, got none")
        finite = [(epsilon, log) for epsilon, log in pairs if math.isfinite(epsilon)] or [(0.0, 0.0)]
        return cls(*hull([*finite, *((-epsilon, _mirrored(epsilon, log)) for epsilon, log in finite)]))

    @cached_property
    def _losses(self) -> DiscreteLoss:
        return atoms_of_hull(self.levels, self.log_deltas, bounded=self.log_deltas[-1] == -math.inf)

    def supremum(self) -> float:
        """See `PairLoss`."""
        return max(0.0, float(self.levels[-1])) if self.log_deltas[-1] == -math.inf else math.inf

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`: below, nothing is known; above, the chord."""
        place = int(np.searchsorted(self.levels, epsilon, side="right"))
        if place == self.levels.size:
            return -math.inf, float(self.log_deltas[-1])
        left, log_left = (self.levels[place - 1], self.log_deltas[place - 1]) if place else (-math.inf, 0.0)
        right, log_right = self.levels[place], self.log_deltas[place]
        with np.errstate(divide="ignore"):
            width = math.log(-math.expm1(left - right))
            from_left = log_left + math.log(-math.expm1(epsilon - right)) - width
            from_right = log_right + float(np.log(-np.expm1(left - epsilon))) + (epsilon - right) - width
        return -math.inf, min(0.0, float(np.logaddexp(from_left, from_right)))

    def reversed(self) -> HullLoss:
        """The loss of (Q, P): the same."""
        return self

    def known_bound(self, end: int) -> PairLoss:
        """See `PairLoss`: nothing, or the hull's losses."""
        return self._losses if end else ZERO_LOSS


def dominating_atoms(law: PairLoss, deepest: float = _DEEPEST) -> DiscreteLoss:
    """Finitely many losses that dominate a law: the chords of its upper ends.

    What lies beyond the last level looked at counts as an infinite loss, unless the law has a largest one: with a
    probability of e**deepest, unless the law has more.
    """
    listed = law.known_bound(1).atoms(_MOST_ATOMS)
    return atoms_above(law, deepest) if listed is None else listed


def atoms_above(law: PairLoss, deepest: float = _DEEPEST) -> DiscreteLoss:
    """The same, from delta alone."""
    points = [(float(e), law.log_delta_bounds(float(e))[1]) for e in levels_of(law, points_for(law), deepest)]
    lowest, largest = points[0][0], law.supremum()
    if math.isfinite(largest):  # which may be rounded down
        points.append((largest + _ROUNDED * math.ulp(largest), -math.inf))
    if math.isfinite(law.reversed().supremum()):  # no loss lies below the first level, so delta is 1 - t there
        points[0] = lowest, math.log1p(-math.exp(lowest))
        levels, logs = hull(points)
        # but for levels so low that 1 - t is no other float than 1
        return atoms_of_hull(levels, logs, bounded=levels[0] == lowest)
    return atoms_of_hull(*hull(points), bounded=False)


def dominating_divergence(law: PairLoss, atoms: DiscreteLoss, alpha: float) -> float:
    """The Renyi divergence of order alpha, finite, from above: that of finitely many losses that dominate the law.

    atoms: these; of `dominating_atoms` to `DEEPEST_FOR_ORDERS`. With c = alpha - 1,

        M(c) - 1 = alpha c int_0^inf (e**(c e) delta(e) + e**(-alpha e) delta_back(e)) de.

    So what lies beyond their last level E, where delta is at most p and at most that of Gaussian noise, adds less than
    alpha p (e**(c E) - 1) + E_P[e**(c L); L > E] of that noise.
    """
    mu, _ = law.dominating_gaussian()
    of_noise = alpha * (mu * mu + 4 * math.ulp(0.0)) / 2 if mu > 0 else 0.0
    if math.isfinite(atoms.supremum()):
        return min(of_noise, atoms.divergence(alpha)[0])
    if mu == math.inf or not atoms.losses.size:
        return math.inf
    c, last = max(alpha - 1, _LEAST_ORDER), float(atoms.losses[-1])
    at_last = math.log1p(c) + atoms.log_infinite + c * last
    beyond = (1 + c) * c * mu * mu / 2 + float(log_ndtr(mu / 2 + c * mu - last / mu))
    total = float(np.logaddexp.reduce([0.0, atoms.log_excess(c), at_last, beyond]))
    return min(of_noise, total * (1 + 2.0**-48) / c)


def hull(points: Iterable[tuple[float, float]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The corners (level, ln delta) of the lower convex hull over t, with (t = 0, delta = 1), which is left out.

    levels ascend and deltas fall strictly; what lies on or above the hull is dropped.
    """
    corners = _corners([(-math.inf, 0.0)], points)
    found = np.array(corners[1:] or [(0.0, 0.0)])
    return found[:, 0], found[:, 1]


def hull_from(points: Iterable[tuple[float, float]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same of these points alone, from the one with the smallest t on, which is kept."""
    first, *others = sorted(points)
    found = np.array(_corners([first], others))
    return found[:, 0], found[:, 1]


def _corners(corners: list[tuple[float, float]], points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    for point in sorted(points):
        if point[1] >= corners[-1][1]:
            continue
        if point[0] == corners[-1][0]:
            corners.pop()
        while len(corners) > 1 and log_slope(corners[-2], corners[-1]) <= log_slope(corners[-1], point):
            corners.pop()
        corners.append(point)
    return corners


def atoms_of_hull(levels: NDArray[np.float64], logs: NDArray[np.float64], *, bounded: bool) -> DiscreteLoss:
    """The losses of the pair whose profile has these corners.

    bounded: the mirrored pair's loss is never infinite, so delta is 1 - t before the first corner.
    """
    corners = [(-math.inf, 0.0), *zip(levels.tolist(), logs.tolist(), strict=True)]
    slopes = [log_slope(a, b) for a, b in pairwise(corners)]
    after = np.array([*slopes[1:], -math.inf])
    before = np.minimum(np.array(slopes), 0.0)
    if bounded:
        before[0] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(before > -math.inf, np.minimum(after - before, 0.0), 0.0)
        second = before + np.log(-np.expm1(ratio))
        missing = math.log(-math.expm1(before[0])) if before[0] < 0 else -math.inf
    kept = second > -math.inf
    return DiscreteLoss(levels[kept], (second + levels)[kept], float(logs[-1]), missing)


def _mirrored(epsilon: float, log: float) -> float:
    """ln of 1 - (1 - delta) e**-epsilon, for epsilon >= 0."""
    lack = math.exp(-epsilon) * -math.expm1(log)
    if lack < 0.5:
        return math.log1p(-lack)
    rest = -math.expm1(-epsilon) + math.exp(log - epsilon)
    return math.log(rest) if rest > 0 else -math.inf


def log_slope(left: tuple[float, float], right: tuple[float, float]) -> float:
    """ln of how much delta falls for each unit of t between two corners; levels and deltas as logarithms."""
    if right[1] >= left[1]:
        return -math.inf
    fall = left[1] + math.log(-math.expm1(right[1] - left[1]))
    return fall - right[0] - math.log(-math.expm1(left[0] - right[0]))


def points_for(law: PairLoss) -> int:
    """At how many levels a law is looked at."""
    return _POINTS if law.exact else _POINTS // _FEWER


def levels_of(law: PairLoss, count: int = _POINTS, deepest: float = _DEEPEST) -> NDArray[np.float64]:
    """Where a law is looked at: across its losses, and more closely around 0; tails below e**deepest are left out.

    Of many losses together delta may be 1 up to a level far above 0: then there, where it falls.
    """
    top, bottom = _reach(law, deepest), _reach(law.reversed(), deepest)
    start, usual = _start(law, top), _reach(law, _USUAL)
    if start > 0:
        spread = [np.array([-bottom, -_start(law.reversed(), bottom), 0.0]), np.linspace(start, usual, count)]
    else:
        near, others = np.logspace(-6, 0, count // 4), _reach(law.reversed(), _USUAL)
        spread = [np.linspace(-others, usual, count), top * near, -bottom * near, np.zeros(1)]
    beyond = count if deepest < _DEEPEST else count // 4
    return np.unique(np.concatenate([*spread, np.linspace(usual, top, beyond), [-bottom]]))


def _reach(law: PairLoss, deepest: float) -> float:
    """A level behind which delta hardly falls; at most the largest loss."""
    largest = law.supremum()
    limit = max(law.log_delta_bounds(math.inf)[1] + 1e-12, deepest)
    if math.isfinite(largest):
        top = max(largest, 1e-12)
        if law.log_delta_bounds(top / 2)[1] > limit:
            return top
        return _last(lambda level: law.log_delta_bounds(level)[1] > limit, top * _SMALLEST, top)
    reach = 1.0
    while reach < _FARTHEST and law.log_delta_bounds(reach)[1] > limit:
        reach *= 1.5
    return reach


def _start(law: PairLoss, top: float) -> float:
    """A level up to which delta is as good as 1; 0 if there is none that matters."""

    def whole(level: float) -> bool:
        return law.log_delta_bounds(level)[0] > -_WHOLE

    return _last(whole, top / 64, top) if top > _WIDE and whole(top / 64) else 0.0


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """About the level up to which this holds, on its far side by a hundredth at most; it does not hold at `high`."""
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


Numbers = NDArray[np.float64]

_ROUNDING = 1e-13
_LARGEST = 600.0
_LEAST = 1e-300
"""A t at which delta is at least 1 - t, where the first chord says no more."""


def dominated_atoms(law: PairLoss, count: int | None = None) -> DiscreteLoss:
    """Finitely many losses that the law dominates. count: at how many levels it is looked at, about, if given."""
    listed = law.known_bound(0).atoms(_MOST_ATOMS)
    return atoms_below(law, count) if listed is None else listed


def atoms_below(law: PairLoss, count: int | None = None) -> DiscreteLoss:
    """The same, from delta alone."""
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
    corners = hull(_corners_lower(levels, lows, np.maximum(highs, lows), floor))
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


def _corners_lower(levels: Numbers, lows: Numbers, highs: Numbers, floor: float) -> Iterator[tuple[float, float]]:
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


_BULK, _DEEP_TAIL = -20.0, -800.0
"""ln of deltas: levels lie densely as far as the first, less so to the second; the smallest float is e**-745."""

_DENSER = 1.5
"""Levels are denser where most of the mass is: the i-th of them lies at this power of i."""

_FARTHER = 1.1
"""Of levels beyond: without them the largest loss would have all that is left, which no tilt of a sum could bear."""

_NEAREST = 1e-5
"""Levels nearer to each other than this share of themselves are one: slopes between them would lose digits."""

_OF_THE_SHARE, _OF_THE_LOGARITHM = 1e-10, 4 * 2.0**-52
"""What the logarithms here may lose, with those digits of the slopes that are left."""


def chord_loss(levels: NDArray[np.float64], log_values: NDArray[np.float64]) -> PairLoss:
    """The law whose profile joins these points, or what is needed of them, and its own mirror image.

    levels: nats, ascending from 0, shape (m,), m >= 2; the last one is the largest loss.
    log_values: ln of delta, or of something larger, at them, same shape; of the last one it is not asked.
    """
    apart = np.append(np.diff(levels) > _NEAREST * levels[1:], True)
    levels, known = levels[apart], log_values[apart][:-1]
    values = np.append(known + _OF_THE_SHARE + _OF_THE_LOGARITHM * np.abs(known), -math.inf)
    losses, logs = hull_from(zip(levels.tolist(), values.tolist(), strict=True))
    corners = list(zip(losses.tolist(), logs.tolist(), strict=True))
    slopes = np.append([log_slope(*sides) for sides in pairwise(corners)], -math.inf)  # after each corner
    seconds = slopes[:-1] + np.log(-np.expm1(slopes[1:] - slopes[:-1]))
    # a corner and its mirror image are joined by a slope of (1 - h)/(1 + E)
    joined = -np.expm1(logs) / (1 + np.exp(losses))
    first = int(np.argmax(joined >= np.exp(slopes)))
    left = float(joined[first] - math.exp(slopes[first]))
    if losses[first] == 0:
        return symmetric_loss(losses[1:], seconds + losses[1:], rest=2 * left)
    lowest = [math.log(left)] if left > 0 else [-math.inf]
    return symmetric_loss(losses[first:], np.concatenate([lowest, seconds[first:]]) + losses[first:], rest=0.0)


def chord_levels(log_delta: Callable[[float], float], largest: float, dense: int, sparse: int) -> NDArray[np.float64]:
    """Levels for a profile: so many to where it is e**-20, so many evenly to where it is e**-800, and few beyond.

    log_delta: ln of it, about.   largest: the largest loss, the last level.
    """
    bulk, tail = (level_of(log_delta, largest, floor) for floor in (_BULK, _DEEP_TAIL))
    beyond = tail * _FARTHER ** np.arange(1, math.ceil(math.log(largest / tail) / math.log(_FARTHER)))
    levels = [bulk * np.linspace(0, 1, dense) ** _DENSER, np.linspace(bulk, tail, sparse), beyond, [largest]]
    return np.unique(np.concatenate(levels))


def level_of(log_delta: Callable[[float], float], largest: float, floor: float) -> float:
    """A level about where ln delta is so small; the largest loss if it never is."""
    low, high = 0.0, largest
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) > floor else (low, middle)
    return high
