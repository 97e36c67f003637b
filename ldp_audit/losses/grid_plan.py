"""The tilt and the grid of each epsilon, chosen from coarse distributions; no bound's validity rests on the choice.

Under the tilt theta each loss has the weights e**(theta l) times its own. With K the cumulant function of the sum, K'
is the tilted mean and K'' the tilted variance (`Saddle`). The tilts of a sum lie `_APART` standard deviations of the
tilted mean from each other: the distance of two tilts is the integral of (K'')**(1/2) between them. K is computed from
a few hundred cells a loss (`CoarseLoss`).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discretisation import cell_masses, common_spacing
from ldp_audit.losses.loss import KnownLoss
from ldp_audit.numerics import root

Part = tuple[KnownLoss, int]
"""A loss, and how many times it counts in the sum."""

WIDTH = 1e-4
"""Nats: the default difference of the two bounds on epsilon."""

_APART = 5.0
"""Standard deviations between the epsilons of two neighbouring tilts."""

_PER_OCTAVE, _LEAP = 64, 0.05
"""Fine tilts to an octave, and the share of a deviation below which no fine tilt helps."""

_RAREST, _RARER, _MOST_RARE, _UNSEEN = 40.0, 1.3, 5000.0, 23.0
"""-ln of the probabilities of losses that are left out: at first, by how much more at each step, and at most; and ln of
their share of a delta beside which they are negligible."""

_FEW, _MANY, _LONG, _TYPICAL = 2**16, 2**20, 2**17, 1e-5
"""A grid finer than the width asks for where that is cheap: at least _FEW points, and up to _MANY for errors like those
of a single grid of this spacing. A sum of a few losses whose range is far longer than that of the tilted sum has no
more than _LONG points a loss and summand. A larger width than `WIDTH` asks for speed: then the grid is coarser."""

_SINGLE, _PER_GRID, _DEEPEST = 3, 8, 4
"""The least losses on the finest grid, about how many of its sums each grid above adds, and the most grids above it."""

_ROUNDING = 1.6e-11

_THINNEST = 1e-7
"""The least width of a window, as a share of the losses; a tilt may isolate one loss."""

_STEEP = 2.0**20
"""A tilt that leaves little but the largest losses, in units of one that moves the mean by a standard deviation."""

_NEGLIGIBLE = 36.0
"""-ln of the share of a divergence, or of the tilted mass, that may lie beyond the ends of the grid."""

_REACH = 18.0
"""Standard deviations in a window, about."""


class Tilt(NamedTuple):
    """A tilt: theta, its largest -d(ln delta)/d(epsilon), the deviation of the tilted sum, ln of the least delta."""

    theta: float
    steepest: float
    deviation: float
    log_least: float


class SumGrids(NamedTuple):
    """The grids on which losses are added: see `grid_sum`. Spacings in nats.

    common: a spacing shared by all losses, if a usable one exists.   own: that of each loss, likewise.
    spacings: of the common grid, of its groups' grid, and so on, down to that of single losses.
    groups: how many equal groups a group consists of.   ranges: of each loss on a grid.
    """

    common: float | None
    own: tuple[float | None, ...] = ()
    spacings: tuple[float, ...] = (1.0,)
    groups: int = 1
    ranges: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class TiltPlan:
    """The tilts and grids of a sum of losses, each `times` times.

    width: nats, the difference of the bounds on epsilon.   points: the most points of a grid.
    common, own: the spacings of all losses and of each loss, where they exist.
    tops: where each loss is cut; what lies above counts as infinite.
    """

    losses: Sequence[Part]
    coarse: Sequence[CoarseLoss]
    saddle: Saddle
    width: float
    points: int
    common: float | None
    own: Sequence[float | None]
    tops: Sequence[float]
    _borders: dict[int, float] = field(default_factory=dict)

    def place(self, epsilon: float) -> int:
        """The number of the tilt of this epsilon: 0 up to the mean and near it, then upwards."""
        for place, border in self._borders.items():
            if epsilon < border and self._borders.get(place - 1, math.inf) <= epsilon:
                return place
        if epsilon < self._border(0):
            return 0
        theta = self.saddle.tilt_of_mean(epsilon)
        if theta is None:  # next to the supremum
            theta = self.saddle.slope * _STEEP
        found, step = round(self.saddle.distance(theta) / _APART), 1
        least, most = found, found  # the border before the first lies at most at epsilon, that of the last above it
        while least and epsilon < self._border(least - 1):
            least, step = max(0, least - step), 2 * step
        while epsilon >= self._border(most):
            least, most, step = most + 1, most + step, 2 * step
        return bisect_right(range(most), epsilon, lo=least, key=self._border)

    def _border(self, place: int) -> float:
        """The epsilon at which the next tilt begins; infinite for the last."""
        if place not in self._borders:
            theta = self.saddle.tilt_at_distance(_APART * (place + 0.5))
            self._borders[place] = math.inf if theta is None else self.saddle.at(theta).mean
        return self._borders[place]

    def tilt(self, place: int, log_least: float = -math.inf) -> Tilt:
        """The tilt of this number.   log_least: ln of the least delta for which it is needed, if known."""
        before = self.saddle.tilt_at_distance(_APART * (place - 0.5)) if place else 0.0
        theta = self.saddle.tilt_at_distance(_APART * place) if place else 0.0
        after = self.saddle.tilt_at_distance(_APART * (place + 0.5))
        chosen = (before or 0.0) if theta is None else theta
        deviation = math.sqrt(self.saddle.at(chosen).variance)
        steepest = 2 * chosen + self.saddle.slope if after is None else after
        least = self.saddle.log_delta(steepest) - _APART
        if least < log_least:
            served = self.saddle.tilt_of_log_delta(log_least)
            steepest, least = max(chosen, min(steepest, steepest if served is None else served)), log_least
        return Tilt(chosen, steepest, deviation, least)

    def without_rare(self, epsilon: float) -> TiltPlan | None:
        """The plan without losses too rare to matter at this epsilon, or at smaller deltas; None for the same plan.

        Where rare losses are far larger than all others, every tilt that reaches an epsilon may isolate one of them.
        """
        rare, times, found = _RAREST, [times for _, times in self.losses], None
        while rare < _MOST_RARE:
            left = self._common(rare)
            if all(one is other for one, other in zip(left, self.coarse, strict=True)):
                break
            saddle, tops = saddle_of(left, times), [float(one.edges[-1]) for one in left]
            found = replace(self, coarse=left, saddle=saddle, tops=tops, _borders={})
            theta = saddle.tilt_of_mean(epsilon)
            if theta is not None and saddle.log_delta(theta) > _UNSEEN - rare:
                break
            rare *= _RARER
        return found

    def saddle_of_common(self, log_delta: float) -> Saddle:
        """The cumulant function without the losses too rare to matter for this ln delta."""
        return saddle_of(self._common(_UNSEEN - log_delta), [times for _, times in self.losses])

    def _common(self, rare: float) -> list[CoarseLoss]:
        """The coarse distributions without the largest losses, of probability at most e**-rare in all."""
        logs = (-rare - math.log(len(self.losses) * times) for _, times in self.losses)
        return [one.below_of(log) for one, log in zip(self.coarse, logs, strict=True)]

    def fine_place(self, epsilon: float, deviation: float) -> int | None:
        """The number of the fine tilt whose mean is next to this epsilon, where the mean leaps; else None.

        Where some rare losses are far larger than all others, the mean leaps from these to those between two tilts of
        `place`, whose bounds are then vague between the two. Next to the supremum no tilt helps: no deviation is left.
        deviation: that of the sum under the tilt of `place`.
        """
        theta, usual = self.saddle.tilt_of_mean(epsilon), math.sqrt(self.saddle.at(0.0).variance)
        if not theta or math.sqrt(self.saddle.at(theta).variance) < _LEAP * max(usual, deviation):
            return None
        return round(_PER_OCTAVE * math.log2(theta))

    def fine_tilt(self, place: int) -> Tilt:
        """The fine tilt of this number."""
        theta, after = (2 ** (steps / _PER_OCTAVE) for steps in (place, place + 1))
        return Tilt(theta, after, math.sqrt(self.saddle.at(theta).variance), self.saddle.log_delta(after) - _APART)

    def grid(self, tilt: Tilt, log_infinite: float) -> SumGrids:
        """The grid of this tilt.   log_infinite: ln of the probability of an infinite loss."""
        window = _REACH * tilt.deviation
        if self.common is not None and window <= self.common * self.points:
            whole = tuple((-math.inf, top) for top in self.tops)
            return SumGrids(self.common if math.isfinite(self.common) else 1.0, ranges=whole)
        count = sum(times for _, times in self.losses)
        above = max(tilt.log_least - math.log1p(tilt.deviation * tilt.steepest * (1 + tilt.steepest)), log_infinite)
        above -= _NEGLIGIBLE + math.log(count)
        ranges = tuple(
            self._range(i, tilt.theta, above, -_NEGLIGIBLE - math.log(count)) for i in range(len(self.losses))
        )
        own = tuple(one if one is not None and window <= one * self.points else None for one in self.own)
        left = [(loss, times) for (loss, times), one in zip(self.losses, own, strict=True) if one is None]
        reach = max((high - low for (low, high), one in zip(ranges, own, strict=True) if one is None), default=0.0)
        window = max(window, _THINNEST * max(abs(end) for ends in ranges for end in ends), _THINNEST**2)
        spacings, groups = self._spacings(tilt, window, reach, left, len(self.losses) - len(left))
        return SumGrids(None, own, spacings, groups, ranges)

    def _range(self, i: int, theta: float, log_above: float, log_below: float) -> tuple[float, float]:
        """The range of the loss i: little lies above it, and little below it once tilted."""
        one = self.coarse[i]
        mean = float(np.logaddexp.reduce(one.logs + theta * one.losses))
        low, high = one.lowest(mean + log_below, theta), min(self.tops[i], one.highest(log_above))
        return low, max(low, high)

    def _spacings(
        self, tilt: Tilt, window: float, reach: float, left: Sequence[Part], alone: int
    ) -> tuple[tuple[float, ...], int]:
        """The spacings and the number of groups: moves cost about count h**2 (1 + steepest) nats.

        As fine as the width asks for; finer where that is cheap, coarser where it would take too many points.
        """
        count = sum(times for _, times in left)
        single = max(_SINGLE, min(math.sqrt(count), _ROUNDING * count**3))  # rounding grows with each grid
        depth = min(_DEEPEST, max(0, round(math.log(max(1.0, count / single), _PER_GRID))))
        groups = math.ceil((count / single) ** (1 / depth)) if depth else 1
        moves = alone + _moves([times for _, times in left], groups, depth)
        coarser = math.sqrt(max(1.0, self.width / WIDTH))
        goal = min(self.width / 2, 1e-4 * coarser**2 * tilt.deviation)
        wanted = math.sqrt(goal / (max(1, moves) * (1 + tilt.steepest)))
        long = reach / (_LONG * max(1, moves))
        typical = coarser * max(
            _TYPICAL * math.sqrt((count + alone) / max(1, moves)),
            window / max(_MANY / math.sqrt(len(self.losses)), 2 * _FEW),
            long,
        )
        coarse = max(min(wanted, typical, coarser * max(window / _FEW, long)), 1.1 * window / self.points)
        return tuple(max(reach / self.points, coarse * groups ** (-level / 2)) for level in range(depth + 1)), groups


def _moves(times: Sequence[int], groups: int, depth: int) -> float:
    """How many losses are moved, in units of the common grid's square.

    Each further grid has a spacing groups**(1/2) times as fine, for `groups` times as many losses.
    """
    if not depth:
        return sum(times)
    deeper = [one // groups for one in times if one >= groups]
    return sum(one % groups for one in times) + (groups + _moves(deeper, groups, depth - 1) if deeper else 0)


def tilt_plan(losses: Sequence[Part], width: float, points: int) -> TiltPlan:
    """The plan for the sum of these losses."""
    coarse = [coarse_loss(loss, evenly=len(losses) <= _MOST_EVENLY) for loss, _ in losses]
    known = [loss.atoms() for loss, _ in losses]
    own = [None if atoms is None else common_spacing([atoms.losses]) for atoms in known]
    common = common_spacing([atoms.losses for atoms in known if atoms]) if None not in own else None
    own = [1.0 if one == math.inf else one for one in own]
    saddle = saddle_of(coarse, [times for _, times in losses])
    return TiltPlan(losses, coarse, saddle, width, points, common, own, [math.inf] * len(losses))


_LARGEST_TILT = 1e18
_FOUND = 1e-6
_STEPS_PER_OCTAVE = 3
_LEAST_RATE = 1e-4
"""Theta times the deviation, below which one loss has all the weight."""


class Cumulants(NamedTuple):
    """K, K' and K'' at a tilt."""

    log_mean: float
    mean: float
    variance: float


class _Step(NamedTuple):
    """A tilt, theta (K'')**(1/2) there, and its distance from no tilt in standard deviations."""

    theta: float
    rate: float
    distance: float


@dataclass(frozen=True, eq=False)
class Saddle:
    """The cumulant function of a sum.

    losses, logs: one loss a row, filled up with minus infinity, shape (losses, cells).   times: shape (losses,).
    """

    losses: NDArray[np.float64]
    logs: NDArray[np.float64]
    times: NDArray[np.float64]
    _steps: list[_Step] = field(default_factory=list)

    def at(self, theta: float) -> Cumulants:
        """The cumulants of the sum, tilted by theta."""
        weights, logs, means = self._tilted(theta)
        away = np.subtract(self.losses, means[:, None], out=self._space[1])
        spread = np.einsum("ij,ij->i", weights, np.square(away, out=away))
        return Cumulants(*(float((self.times * one).sum()) for one in (logs, means, spread)))

    def levels(self, theta: float) -> list[float]:
        """The tilted mean of each loss."""
        return [float(mean) for mean in self._tilted(theta)[2]]

    def _tilted(self, theta: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The tilted probabilities, shape (losses, cells), and K and the mean of each loss."""
        weights = np.multiply(self.losses, theta, out=self._space[0])
        weights += self.logs
        top = weights.max(axis=1, keepdims=True)
        weights -= top
        np.exp(weights, out=weights)
        total = weights.sum(axis=1)
        weights /= total[:, None]
        return weights, np.log(total) + top[:, 0], np.einsum("ij,ij->i", weights, self.losses)

    @cached_property
    def _space(self) -> NDArray[np.float64]:
        """Two arrays for all tilts: asking the system for large ones takes a fifth of the time."""
        return np.empty((2, *self.losses.shape))

    @cached_property
    def slope(self) -> float:
        """The tilt that moves the mean by about one standard deviation."""
        return 1 / max(math.sqrt(self.at(0.0).variance), 1 / _LARGEST_TILT)

    def log_delta(self, theta: float) -> float:
        """About ln delta at the mean of this tilt (the saddle-point approximation)."""
        here = self.at(theta)
        height = 1 + math.sqrt(2 * math.pi * here.variance) * theta * (1 + theta)
        return here.log_mean - theta * here.mean - math.log(height)

    def distance(self, theta: float) -> float:
        """Standard deviations between no tilt and this one."""
        while self._last().theta < theta and self._extend():
            pass
        place = min(bisect_left(self._steps, theta, key=lambda step: step.theta), len(self._steps) - 1)
        return self._between(place, theta)

    def tilt_at_distance(self, distance: float) -> float | None:
        """The tilt at this distance > 0 from none, in standard deviations; None beyond the last."""
        while self._last().distance < distance:
            if not self._extend():
                return None
        place = bisect_left(self._steps, distance, key=lambda step: step.distance)
        low = self._steps[place - 1].theta if place else 0.0
        high = self._steps[place].theta
        return root(lambda theta: self._between(place, theta) - distance, low, high, xtol=_FOUND * high)

    def tilt_of_mean(self, mean: float) -> float | None:
        """The tilt >= 0 with this mean, 0 for smaller means; None where no tilt reaches it."""
        return self._tilt(lambda theta: self.at(theta).mean - mean)

    def tilt_of_log_delta(self, log_delta: float) -> float | None:
        """The tilt whose mean is about the epsilon of this delta; None where there is none."""
        return self._tilt(lambda theta: log_delta - self.log_delta(theta))

    def _between(self, place: int, theta: float) -> float:
        """The distance of a tilt before the step of this number, by the trapezoid rule in ln theta."""
        if place == 0:
            return self._steps[0].distance * theta / self._steps[0].theta
        low, high = self._steps[place - 1], self._steps[place]
        share = min(1.0, math.log(theta / low.theta) / math.log(high.theta / low.theta))
        return low.distance + share * (high.distance - low.distance)

    def _last(self) -> _Step:
        if not self._steps:
            theta = self.slope / 8
            rate = theta * math.sqrt(self.at(theta).variance)
            self._steps.append(_Step(theta, rate, rate))
        return self._steps[-1]

    def _extend(self) -> bool:
        """Add one step; false at the last one."""
        last = self._last()
        if last.rate < _LEAST_RATE or last.theta > _LARGEST_TILT:
            return False
        theta = last.theta * 2 ** (1 / _STEPS_PER_OCTAVE)
        rate = theta * math.sqrt(self.at(theta).variance)
        self._steps.append(_Step(theta, rate, last.distance + (last.rate + rate) / 2 * math.log(2) / _STEPS_PER_OCTAVE))
        return True

    def _tilt(self, excess: Callable[[float], float]) -> float | None:
        """The root of an increasing function of the tilt; None if there is none up to the largest tilt."""
        low, high = 0.0, self.slope
        if excess(low) >= 0:
            return 0.0
        before = -math.inf
        while (now := excess(high)) < 0:
            if high > _LARGEST_TILT or now - before <= 1e-12 * abs(now):
                return None
            low, high, before = high, 2 * high, now
        return root(excess, low, high, xtol=_FOUND * high, rtol=_FOUND)


def saddle_of(coarse: Sequence[CoarseLoss], times: Sequence[int]) -> Saddle:
    """The cumulant function of the sum of these losses, each `times` times."""
    size = max(one.losses.size for one in coarse)
    losses, logs = np.zeros((len(coarse), size)), np.full((len(coarse), size), -math.inf)
    for row, one in enumerate(coarse):
        losses[row, : one.losses.size], logs[row, : one.logs.size] = one.losses, one.logs
    return Saddle(losses, logs, np.array(times, dtype=np.float64))


_OCTAVES, _CELLS_PER_OCTAVE = (-44, 15), 3
_EVENLY, _MOST_EVENLY = 256, 100
"""Even cells, and the number of losses above which there are none: a sum of many needs less of each."""
_MOST_ATOMS = 2048
_BULK = -300.0
"""ln of the probability beyond the evenly spaced cells."""


@dataclass(frozen=True, eq=False)
class CoarseLoss:
    """A coarse distribution: cells of the finite loss, each with the loss ln(P/Q) of the whole cell.

    losses, logs: of the cells of positive probability, nats, and ln of their masses.
    edges, above, below: ln P(edge < loss < inf) and ln P(loss <= edge), shape (m,) each.
    """

    losses: NDArray[np.float64]
    logs: NDArray[np.float64]
    edges: NDArray[np.float64]
    above: NDArray[np.float64]
    below: NDArray[np.float64]

    def below_of(self, log_mass: float) -> CoarseLoss:
        """The distribution without its largest losses, of at most this mass; itself if there are none."""
        top = self.highest(log_mass)
        kept = self.losses <= top
        if kept.all():
            return self
        inner = self.edges <= top
        above = np.where(self.above[inner] > log_mass, self.above[inner], -math.inf)
        return CoarseLoss(self.losses[kept], self.logs[kept], self.edges[inner], above, self.below[inner])

    def highest(self, log_mass: float) -> float:
        """The least edge with at most this mass above; the last one if there is none."""
        found = np.flatnonzero(self.above <= log_mass)
        return float(self.edges[found[0]] if found.size else self.edges[-1])

    def lowest(self, log_mass: float, theta: float = 0.0) -> float:
        """The largest edge with at most this mass below, under the tilt theta >= 0."""
        found = np.flatnonzero(self.below + theta * self.edges <= log_mass)
        return float(self.edges[found[-1]] if found.size else self.edges[0])


def coarse_loss(loss: KnownLoss, *, evenly: bool = True) -> CoarseLoss:
    """The coarse distribution of a loss; the losses themselves where they are few.

    evenly: whether the bulk is divided into even cells too, which takes twice the time.
    """
    atoms = loss.atoms()
    if atoms is not None and atoms.losses.size <= _MOST_ATOMS:
        values, logs = atoms.losses, atoms.log_probabilities
        above = np.append(np.logaddexp.accumulate(logs[:0:-1])[::-1], -math.inf)
        below = np.logaddexp.accumulate(logs)
        # the first atom lies above the edge before it
        edges = np.concatenate([[values[0] - 1e-9 * (1 + abs(values[0]))], values])
        ends = np.concatenate([[np.logaddexp.reduce(logs)], above]), np.concatenate([[-math.inf], below])
        return CoarseLoss(values, logs, edges, *ends)
    grown = 2.0 ** (np.arange(_OCTAVES[0] * _CELLS_PER_OCTAVE, _OCTAVES[1] * _CELLS_PER_OCTAVE + 1) / _CELLS_PER_OCTAVE)
    edges = np.concatenate([-grown[::-1], [0.0], grown])
    first = _of(loss, edges)
    if not evenly:
        return first
    inner = np.linspace(first.lowest(_BULK), first.highest(_BULK), _EVENLY)
    return _of(loss, np.unique(np.concatenate([edges, inner])))


def _of(loss: KnownLoss, edges: NDArray[np.float64]) -> CoarseLoss:
    masses = cell_masses(loss, edges)
    reached = (masses.first > -math.inf) & (masses.second > -math.inf)
    logs = masses.first[reached]
    with np.errstate(invalid="ignore"):
        losses = np.clip((masses.first - masses.second)[reached], edges[0], edges[-1])
    above = np.logaddexp.accumulate(masses.first[:0:-1])[::-1]
    below = np.logaddexp.accumulate(masses.first[:-1])
    return CoarseLoss(losses, logs, edges, above, below)
