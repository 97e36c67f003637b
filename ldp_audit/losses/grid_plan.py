"""The tilt and the grid of each epsilon, chosen from coarse distributions; no bound's validity rests on the choice.

Under the tilt theta each loss has the weights e**(theta l) times its own. With K the cumulant function of the sum, K'
is the tilted mean and K'' the tilted variance (`Saddle`), computed from a few hundred cells a loss (`CoarseLoss`). The
tilt of an epsilon is that of a `TiltTable`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discretisation import cell_masses, common_spacing
from ldp_audit.losses.loss import KnownLoss

Part = tuple[KnownLoss, int]
"""A loss, and how many times it counts in the sum."""

WIDTH = 1e-4
"""Nats: the default difference of the two bounds on epsilon."""

_FEW, _MANY, _LONG, _TYPICAL = 2**16, 2**20, 2**17, 1e-5
"""A grid finer than the width asks for where that is cheap: at least _FEW points, and up to _MANY for errors like those
of a single grid of this spacing. A sum of a few losses whose range is far longer than that of the tilted sum has no
more than _LONG points a loss and summand. A larger width than `WIDTH` asks for speed: then the grid is coarser."""

_UNSEEN = 20.0
"""-ln of the share of delta that counts as infinite at most, of rare losses."""

_SINGLE, _PER_GRID, _DEEPEST = 3, 8, 4
"""The least losses on the finest grid, about how many of its sums each grid above adds, and the most grids above it."""

_ROUNDING = 1.6e-11

_THINNEST = 1e-7
"""The least width of a window, as a share of the losses; a tilt may isolate one loss."""

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
    tops: where each loss is cut; what lies above counts as infinite.   log_least: ln of the least delta beside which
    that is negligible.
    """

    losses: Sequence[Part]
    coarse: Sequence[CoarseLoss]
    saddle: Saddle
    tilts: TiltTable
    width: float
    points: int
    common: float | None
    own: Sequence[float | None]
    tops: Sequence[float]
    log_least: float = -math.inf

    def without(self, log_rare: float) -> TiltPlan:
        """The plan without the largest losses, of this ln probability in all; this one if there are none."""
        logs = (log_rare - math.log(len(self.losses) * times) for _, times in self.losses)
        left = [one.below_of(log) for one, log in zip(self.coarse, logs, strict=True)]
        if all(one is other for one, other in zip(left, self.coarse, strict=True)):
            return self
        saddle, tops = saddle_of(left, [times for _, times in self.losses]), [float(one.edges[-1]) for one in left]
        tilts, least = TiltTable(saddle.at, saddle.slope), log_rare + _UNSEEN
        return replace(self, coarse=left, saddle=saddle, tilts=tilts, tops=tops, log_least=least)

    @cached_property
    def last(self) -> float:
        """The epsilon up to which the losses left out do not matter."""
        return math.inf if self.log_least == -math.inf else self.tilts.epsilon_near(self.log_least)

    def tilt(self, theta: float) -> Tilt:
        """What is to be known of a tilt of the table, or of none, 0, which serves all epsilons below its first."""
        step = self.tilts.step(theta) if theta else self.tilts.first
        variance = step.variance if theta else self.saddle.at(0.0).variance
        return Tilt(theta, step.next_tilt, math.sqrt(variance), self.tilts.step(step.next_tilt).log_delta - 2 * AWAY)

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
    tilts = TiltTable(saddle.at, saddle.slope)
    return TiltPlan(losses, coarse, saddle, tilts, width, points, common, own, [math.inf] * len(losses))


LEAST_TILT, _LARGEST_TILT = 2.0**-100, 1e18
AWAY = 2.5
"""Deviations that an epsilon may lie from the one that its tilt serves best."""
_FINEST = 1e-6
"""Tilts nearer than this share of themselves are one."""
_ALONE = 1e-4
"""The table ends where the tilted sum's deviation is this share of one over the tilt: one loss has all the weight."""


class Cumulants(NamedTuple):
    """K, K' and K'' at a tilt."""

    log_mean: float
    mean: float
    variance: float


class TiltStep(NamedTuple):
    """A tilt, the epsilon that it serves best, the tilted variance, that of the integrand, and about ln delta."""

    tilt: float
    epsilon: float
    variance: float
    spread: float
    log_delta: float

    def apart(self, epsilon: float) -> float:
        """How many deviations of the integrand an epsilon is away."""
        return abs(self.epsilon - epsilon) / math.sqrt(self.spread)

    @property
    def next_tilt(self) -> float:
        """The tilt of the largest epsilon that this one serves, about."""
        return self.tilt + AWAY / math.sqrt(self.spread)


@dataclass(frozen=True, eq=False)
class TiltTable:
    """The tilts c of a sum, by the epsilon that each serves best.

    With F(c) = K(c) - ln(c (c + 1)) the integrand e**(F(c) - c epsilon) of the inversion, and about delta itself, is
    least at F'(c) = epsilon, with the variance F''(c). The tilts are octaves of c, and halves of these, again and
    again, until one lies within `AWAY` deviations of an epsilon: which it is depends on no other epsilon.

    cumulants: of the sum at a tilt > 0; infinite ones end the table.   start: about one over the sum's deviation.
    """

    cumulants: Callable[[float], Cumulants]
    start: float
    _octaves: list[TiltStep] = field(default_factory=list)
    _known: dict[float, TiltStep] = field(default_factory=dict)

    def serving(self, epsilon: float) -> TiltStep:
        """The step near this epsilon; the first or the last one beyond the ends."""
        low, high = self._bracket(lambda step: step.epsilon > epsilon)
        while (nearest := min(low, high, key=lambda one: one.apart(epsilon))).apart(epsilon) > AWAY:
            middle = math.sqrt(low.tilt * high.tilt)
            if not low.tilt * (1 + _FINEST) < middle:
                break
            step = self.step(middle)
            low, high = (low, step) if step.epsilon > epsilon else (step, high)
        return nearest

    def epsilon_near(self, log_delta: float) -> float:
        """About the epsilon with this ln delta; the last one's for less."""
        low, high = self._bracket(lambda step: step.log_delta < log_delta)
        while high.apart(low.epsilon) > 1 and high.tilt > low.tilt * (1 + _FINEST):
            step = self.step(math.sqrt(low.tilt * high.tilt))
            low, high = (low, step) if step.log_delta < log_delta else (step, high)
        return float(np.interp(-log_delta, [-low.log_delta, -high.log_delta], [low.epsilon, high.epsilon]))

    @property
    def first(self) -> TiltStep:
        """The step of the least tilt, which serves an epsilon of at most 0."""
        return self._bracket(lambda _: True)[0]

    def step(self, tilt: float) -> TiltStep:
        """The table's entry at a tilt > 0."""
        if tilt not in self._known:
            log_mean, mean, variance = self.cumulants(tilt)
            epsilon, spread = mean - 1 / tilt - 1 / (1 + tilt), variance + 1 / tilt**2 + 1 / (1 + tilt) ** 2
            height = log_mean - tilt * epsilon - math.log(tilt) - math.log1p(tilt)
            self._known[tilt] = TiltStep(tilt, epsilon, variance, spread, height - 0.5 * math.log(2 * math.pi * spread))
        return self._known[tilt]

    def _bracket(self, enough: Callable[[TiltStep], bool]) -> tuple[TiltStep, TiltStep]:
        """The octaves before and at the first for which this holds, as for all after it; an end twice if none does."""
        steps = self._octaves
        if not steps:
            first = self.step(min(max(self.start, LEAST_TILT), _LARGEST_TILT))
            while first.tilt > LEAST_TILT and not first.epsilon <= 0:  # the mean is above it
                first = self.step(first.tilt / 2)
            steps.append(first)
        while not enough(steps[-1]) and steps[-1].tilt < _LARGEST_TILT:
            after = self.step(2 * steps[-1].tilt)
            alone = after.tilt > self.start and after.tilt * math.sqrt(after.variance) < _ALONE
            if alone or not math.isfinite(after.epsilon):
                break
            steps.append(after)
        place = min(bisect_left(steps, 1, key=enough), len(steps) - 1)
        return steps[place - 1 if place and enough(steps[place]) else place], steps[place]


@dataclass(frozen=True, eq=False)
class Saddle:
    """The cumulant function of a sum.

    losses, logs: one loss a row, filled up with minus infinity, shape (losses, cells).   times: shape (losses,).
    """

    losses: NDArray[np.float64]
    logs: NDArray[np.float64]
    times: NDArray[np.float64]

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
