"""Discrete losses above or below a loss of which only delta is known, by convex hulls over t = e**epsilon.

A profile delta is a convex and non-increasing function of t that starts at 1 for t = 0, and every such function with
delta >= 1 - t is the profile of some pair (Zhu, Dong, Wang, AISTATS 2022, Proposition 8). The pair with a given hull as
its profile has a loss at each corner: Q's mass is the change of the slope, P's t times that. So

* between points where a mechanism is known to have at most these deltas it lies below their chords, and behind the last
  one at most there: the largest profile that they allow (`HullLoss`), and losses that dominate (`dominating_atoms`);
* between two points where it is known it lies above the chords to their outer neighbours, prolonged, and the lower hull
  of where these cross is the profile of a pair that the loss dominates (`dominated_atoms`);
* a loss that is its own reverse is determined by epsilons >= 0: `chord_loss` joins a corner and its reversed one by the
  slope that symmetry requires.

Everything is kept as logarithms, so that deltas below those of floats keep their digits; epsilons may be negative.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ldp_audit.losses.discrete_loss import ZERO_LOSS, DiscreteLoss, symmetric_loss
from ldp_audit.losses.loss import Divergence, KnownLoss, PairLoss, cells_known, side
from ldp_audit.numerics import BoundedCache, log1mexp, log_of_delta, nonnegative

POINTS = 1500
"""Epsilons at which a profile is evaluated where that is quick."""
_DEEPEST = -745.0
"""ln of the smallest float: tails below it are cut."""
_DEEPEST_FOR_ORDERS = -20_000.0
"""As _DEEPEST, for divergences: 200 deviations of Gaussian noise, as high orders need."""
_LEAST_ORDER = 1e-5
_FARTHEST = 1e9
_SMALLEST = 1e-9
"""The smallest share of the supremum that is looked for."""
_WHOLE, _WIDE, _USUAL = 1e-15, 64.0, -45.0
"""Where ln delta is above -_WHOLE it counts as 0; this is looked for above epsilon _WIDE; and ln of usual deltas."""
_FEWER = 3
"""So many times fewer epsilons where each takes milliseconds."""
_MOST_ATOMS = 100_000
_ROUNDED = 8
"""Units in the last place by which a supremum may be rounded down."""


@dataclass(frozen=True, eq=False)
class HullLoss(PairLoss):
    """The loss that dominates every mechanism with at most these deltas at these epsilons, in both orders.

    Only upper bounds are known, those of the hull. It is its own reverse.
    levels: nats, ascending.   log_deltas: falling, both of shape (m,): the corners, as `of_points` finds them.
    """

    levels: NDArray[np.float64]
    log_deltas: NDArray[np.float64]

    @classmethod
    def of_points(cls, points: Iterable[tuple[float, float]]) -> HullLoss:
        """From guarantees (epsilon, delta) that hold at once, in any order.

        By the reversed pair each implies another: 1 - (1 - delta) e**-epsilon at -epsilon. One at epsilon = infinity
        bounds the limit alone.
        Raises ValueError for none, and unless every epsilon is >= 0 and every delta in [0, 1].
        """
        pairs = [(nonnegative(epsilon), log_of_delta(delta, None)) for epsilon, delta in points]
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
        """See `PairLoss`: no lower bound; above, the chord."""
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
        """See `PairLoss`: the same."""
        return self

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: `ZERO_LOSS`, or the hull's losses."""
        return None if end is None else (ZERO_LOSS, self._losses)[end]


_kept: BoundedCache[tuple[int, float], tuple[PairLoss, DiscreteLoss]] = BoundedCache(1024)
"""Discrete losses beside others, of which each takes hundreds of deltas; the other one is kept, and so its id.

More than a sum has distinct losses, or every order of a divergence would make all of them again.
"""


def known_bound(loss: PairLoss, end: int) -> KnownLoss:
    """A known loss dominated by this one (0), or one that dominates it (1); itself where it is known."""
    made = atoms_above if end else atoms_below
    return loss.known(end) or _kept.get((id(loss), end), lambda: (loss, made(loss)))[1]


def cells_bound(loss: PairLoss, end: int) -> KnownLoss:
    """`known_bound`, with known masses of cells: of a sum, a list."""
    known = known_bound(loss, end)
    return known if cells_known(known) else (dominating_atoms if end else dominated_atoms)(known)


def known_bounds(loss: PairLoss) -> tuple[KnownLoss, KnownLoss]:
    """Both known bounds."""
    return known_bound(loss, 0), known_bound(loss, 1)


def dominating_atoms(loss: PairLoss, deepest: float = _DEEPEST) -> DiscreteLoss:
    """A discrete loss that dominates a loss: the chords of its upper bounds.

    Beyond the last epsilon the loss counts as infinite, unless its supremum is finite: with probability e**deepest, or
    more where the loss has more.
    """
    listed = known_bound(loss, 1).atoms(_MOST_ATOMS)
    return atoms_above(loss, deepest) if listed is None else DiscreteLoss(*listed)


def atoms_above(loss: PairLoss, deepest: float = _DEEPEST, count: int | None = None) -> DiscreteLoss:
    """`dominating_atoms`, from delta alone.   count: about how many epsilons to evaluate, if given."""
    if loss.supremum() <= 0:  # P is nowhere above Q, so both are one
        return ZERO_LOSS
    points = [
        (float(e), loss.log_delta_bounds(float(e))[1]) for e in levels_of(loss, count or points_for(loss), deepest)
    ]
    lowest, largest = points[0][0], loss.supremum()
    if math.isfinite(largest):  # which may be rounded down
        points.append((largest + _ROUNDED * math.ulp(largest), -math.inf))
    if math.isfinite(loss.reversed().supremum()):  # no loss lies below the first epsilon, so delta is 1 - t there
        points[0] = lowest, log1mexp(lowest)
        levels, logs = hull(points)
        # but for epsilons so low that 1 - t rounds to 1
        return atoms_of_hull(levels, logs, bounded=levels[0] == lowest)
    return atoms_of_hull(*hull(points), bounded=False)


def divergence_of(loss: PairLoss, alpha: float) -> Divergence:
    """The Renyi divergence of order alpha, >= 1 or infinite; 0 only for a loss that is always 0."""
    value, exact = (loss.supremum(), loss.exact) if math.isinf(alpha) else _of_finite_order(loss, alpha)
    if value < sys.float_info.min and loss.supremum() > 0:  # subnormal or underflowed
        return max(value, 0.0) + 2 * math.ulp(0.0), False
    return value, exact


def _of_finite_order(loss: PairLoss, alpha: float) -> Divergence:
    """The divergence of a sum from its summands', of a loss that is not known from one that dominates it."""
    found = loss.divergence(alpha)
    if found is not None:
        return found
    known, upper = loss.known(), side(loss, 1)
    if known is None:
        return divergence_of(known_bound(loss, 1) if upper is loss else upper, alpha)[0], False
    common, log_first, log_second = known.finite_part()
    if log_first < 0:
        return math.inf, True
    parts = common.summands()
    if parts[0][0] is loss:
        return dominating_divergence(known, alpha), False
    values = [(times, *divergence_of(one, alpha)) for one, times in parts]
    total = math.fsum(times * value for times, value, _ in values)
    return total + (log_first - log_second), all(exact for _, _, exact in values)


def dominating_divergence(loss: KnownLoss, alpha: float) -> float:
    """An upper bound of the Renyi divergence of finite order alpha, from a discrete loss that dominates.

    With the atoms of `dominating_atoms` to `_DEEPEST_FOR_ORDERS` and c = alpha - 1,

        M(c) - 1 = alpha c int_0^inf (e**(c e) delta(e) + e**(-alpha e) delta_back(e)) de.

    So the part beyond their last epsilon E, where delta is at most p and at most that of Gaussian noise, adds less than
    alpha p (e**(c E) - 1) + E_P[e**(c L); L > E] of that noise.
    """
    place = (id(loss), _DEEPEST_FOR_ORDERS)
    atoms = _kept.get(place, lambda: (loss, dominating_atoms(loss, _DEEPEST_FOR_ORDERS)))[1]
    mu, _ = loss.dominating_gaussian()
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
    """The corners (epsilon, ln delta) of the lower convex hull over t, with (t = 0, delta = 1), which is left out.

    Epsilons ascend and deltas fall strictly; points on or above the hull are dropped.
    """
    corners = _corners([(-math.inf, 0.0)], points)
    found = np.array(corners[1:] or [(0.0, 0.0)])
    return found[:, 0], found[:, 1]


def hull_from(points: Iterable[tuple[float, float]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`hull` without (t = 0, delta = 1), from the point with the smallest t on, which is kept."""
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

    bounded: the reversed pair's loss is never infinite, so delta is 1 - t before the first corner.
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
    """ln of -d(delta)/dt between two corners, given as (epsilon, ln delta)."""
    if right[1] >= left[1]:
        return -math.inf
    fall = left[1] + math.log(-math.expm1(right[1] - left[1]))
    return fall - right[0] - math.log(-math.expm1(left[0] - right[0]))


def points_for(loss: PairLoss) -> int:
    """How many epsilons to evaluate for a loss."""
    return POINTS if loss.exact else POINTS // _FEWER


def levels_of(loss: PairLoss, count: int = POINTS, deepest: float = _DEEPEST) -> NDArray[np.float64]:
    """Epsilons at which to evaluate a loss: across its range, more closely around 0; tails below e**deepest are cut.

    In a large sum delta may be 1 up to an epsilon far above 0: then above that, where it falls.
    """
    top, bottom = _reach(loss, deepest), _reach(loss.reversed(), deepest)
    start, usual = _start(loss, top), _reach(loss, _USUAL)
    if start > 0:
        spread = [np.array([-bottom, -_start(loss.reversed(), bottom), 0.0]), np.linspace(start, usual, count)]
    else:
        near, others = np.logspace(-6, 0, count // 4), _reach(loss.reversed(), _USUAL)
        spread = [np.linspace(-others, usual, count), top * near, -bottom * near, np.zeros(1)]
    beyond = count if deepest < _DEEPEST else count // 4
    return np.unique(np.concatenate([*spread, np.linspace(usual, top, beyond), [-bottom]]))


def _reach(loss: PairLoss, deepest: float) -> float:
    """An epsilon behind which delta hardly falls; at most the supremum."""
    largest = loss.supremum()
    limit = max(loss.log_delta_bounds(math.inf)[1] + 1e-12, deepest)
    if math.isfinite(largest):
        top = max(largest, 1e-12)
        if loss.log_delta_bounds(top / 2)[1] > limit:
            return top
        return _last(lambda level: loss.log_delta_bounds(level)[1] > limit, top * _SMALLEST, top)
    reach = 1.0
    while reach < _FARTHEST and loss.log_delta_bounds(reach)[1] > limit:
        reach *= 1.5
    return reach


def _start(loss: PairLoss, top: float) -> float:
    """An epsilon up to which delta is 1 within rounding; 0 if there is none that matters."""

    def whole(level: float) -> bool:
        return loss.log_delta_bounds(level)[0] > -_WHOLE

    return _last(whole, top / 64, top) if top > _WIDE and whole(top / 64) else 0.0


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """About the largest epsilon at which this holds, rounded up by a hundredth at most; it does not hold at `high`."""
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


Numbers = NDArray[np.float64]

_ROUNDING = 1e-13
_LARGEST = 600.0
_LEAST = 1e-300
"""A t at which delta is at least 1 - t, where the first chord gives no more."""


def dominated_atoms(loss: PairLoss, count: int | None = None) -> DiscreteLoss:
    """A discrete loss that this loss dominates.   count: about how many epsilons to evaluate, if given."""
    listed = known_bound(loss, 0).atoms(_MOST_ATOMS)
    return atoms_below(loss, count) if listed is None else DiscreteLoss(*listed)


def atoms_below(loss: PairLoss, count: int | None = None) -> DiscreteLoss:
    """`dominated_atoms`, from delta alone."""
    if loss.supremum() <= 0:
        return ZERO_LOSS
    levels = levels_of(loss, count or points_for(loss))
    ends = np.array([loss.log_delta_bounds(float(level)) for level in levels])
    slack = _ROUNDING * (1 + np.abs(np.where(np.isfinite(ends), ends, 0.0)))
    with np.errstate(divide="ignore"):
        certain = np.log1p(-np.exp(np.minimum(levels, 0.0)))  # its distance from 0 places the reversed losses
    lows = np.maximum(ends[:, 0] - slack[:, 0], certain)
    highs = np.minimum(ends[:, 1] + slack[:, 1], 0.0)
    # below the last epsilon at which no more than 1 - t is known, delta counts as 1 - t
    told = max(0, int(np.argmax(np.append(lows > certain, True))) - 1)
    levels, lows, highs = levels[told:], lows[told:], highs[told:]
    floor = loss.log_delta_bounds(math.inf)[0]
    corners = hull(_corners_lower(levels, lows, np.maximum(highs, lows), floor))
    return atoms_of_hull(*_above_certain(*corners), bounded=True)


def _above_certain(levels: Numbers, logs: Numbers) -> tuple[Numbers, Numbers]:
    """The larger of the hull with these corners and 1 - t, which prolonged chords may cross where bounds lie apart.

    It begins on 1 - t, at the last crossing.
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
    levels, logs = levels[last + 1 :], logs[last + 1 :]
    apart = levels > first[0]  # the crossing may round to the corner behind it
    # beside which the slope between the two has no digits
    return hull_from([first, *zip(levels[apart].tolist(), logs[apart].tolist(), strict=True)])


def _corners_lower(levels: Numbers, lows: Numbers, highs: Numbers, floor: float) -> Iterator[tuple[float, float]]:
    """The points and the crossings between them, as (epsilon, ln delta); t - t_i is in units of t_i."""
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
    fall = _slope(levels, lows, highs, 0) * math.exp(low)  # behind the first epsilon, for each t there
    lack = -math.expm1(low) - fall
    steepness = fall * math.exp(min(_LARGEST, -start))
    crossing = min(math.exp(min(0.0, start)), lack / (1 - steepness)) if steepness < 1 else math.exp(start)
    return (math.log(crossing), math.log1p(-crossing)) if _LEAST < crossing < 1 else (math.log(_LEAST), -_LEAST)


def _slope(levels: Numbers, lows: Numbers, highs: Numbers, i: int) -> float:
    """A lower bound of -t_i d(delta)/dt behind this point, in units of delta."""
    if i + 1 >= levels.size:
        return 0.0
    return -math.expm1(min(0.0, highs[i + 1] - lows[i])) / _fall(levels[i + 1] - levels[i])


def _fall(logs: float) -> float:
    """e**logs - 1, infinite where it overflows."""
    return math.expm1(min(logs, _LARGEST)) if logs < _LARGEST else math.inf


_BULK, _DEEP_TAIL = -20.0, -800.0
"""ln of deltas: epsilons lie densely as far as the first, less so to the second; the smallest float is e**-745."""

_DENSER = 1.5
"""Epsilons are denser where most of the mass is: the i-th lies at this power of i."""

_FARTHER = 1.1
"""The ratio of epsilons beyond the tail: without them the supremum would take all the rest, which overflows any
tilt."""

_NEAREST = 1e-5
"""Epsilons within this share of each other are merged: slopes between them would lose digits."""

_OF_THE_SHARE, _OF_THE_LOGARITHM = 1e-10, 4 * 2.0**-52
"""Errors of the logarithms here, with those digits of the slopes that are left."""


def chord_loss(levels: NDArray[np.float64], log_values: NDArray[np.float64]) -> KnownLoss:
    """The loss, its own reverse, whose profile for epsilon >= 0 is the lower hull of these points.

    levels: epsilons, nats, ascending from 0, shape (m,), m >= 2; the last one is the supremum.
    log_values: ln of an upper bound of delta at them, same shape; the last is not used.
    """
    apart = np.append(np.diff(levels) > _NEAREST * levels[1:], True)
    levels, known = levels[apart], log_values[apart][:-1]
    values = np.append(known + _OF_THE_SHARE + _OF_THE_LOGARITHM * np.abs(known), -math.inf)
    losses, logs = hull_from(zip(levels.tolist(), values.tolist(), strict=True))
    corners = list(zip(losses.tolist(), logs.tolist(), strict=True))
    slopes = np.append([log_slope(*sides) for sides in pairwise(corners)], -math.inf)  # after each corner
    seconds = slopes[:-1] + np.log(-np.expm1(slopes[1:] - slopes[:-1]))
    # a corner and its reversed one are joined by a slope of (1 - delta)/(1 + t)
    joined = -np.expm1(logs) / (1 + np.exp(losses))
    first = int(np.argmax(joined >= np.exp(slopes)))
    left = float(joined[first] - math.exp(slopes[first]))
    if losses[first] == 0:
        return symmetric_loss(losses[1:], seconds + losses[1:], rest=2 * left)
    lowest = [math.log(left)] if left > 0 else [-math.inf]
    return symmetric_loss(losses[first:], np.concatenate([lowest, seconds[first:]]) + losses[first:], rest=0.0)


def chord_levels(log_delta: Callable[[float], float], largest: float, dense: int, sparse: int) -> NDArray[np.float64]:
    """Epsilons for a profile: `dense` to where it is e**-20, `sparse` evenly to where it is e**-800, and few beyond.

    log_delta: ln of it, about.   largest: the supremum, which is the last epsilon.
    """
    bulk, tail = (level_of(log_delta, largest, floor) for floor in (_BULK, _DEEP_TAIL))
    beyond = tail * _FARTHER ** np.arange(1, math.ceil(math.log(largest / tail) / math.log(_FARTHER)))
    levels = [bulk * np.linspace(0, 1, dense) ** _DENSER, np.linspace(bulk, tail, sparse), beyond, [largest]]
    return np.unique(np.concatenate(levels))


def level_of(log_delta: Callable[[float], float], largest: float, floor: float) -> float:
    """An epsilon of about this ln delta; the supremum if there is none."""
    low, high = 0.0, largest
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) > floor else (low, middle)
    return high
