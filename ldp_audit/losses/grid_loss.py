"""The sum of independent privacy losses on a grid by FFT, with certified bounds on delta(epsilon).

Upper bound: each loss is discretised to one that dominates it (`discretisation`), and a sum of dominating losses
dominates. Lower bound: the upper one less a bound on what the discretisation can have added
(`undiscretised_lower_bound`); no smoothness is assumed. Both errors are of second order in the spacing.

The sum is computed under an exponential tilt (`TiltedDistribution`), so that delta = 1e-300 has the same relative
precision as 0.1. One tilt is used within some 1.5 standard deviations of epsilon (`grid_plan`), and an epsilon always
has the same tilt, so that answers do not depend on earlier questions. Each tilt has its own spacing, such that epsilon
at one delta is known to about `width`, or as well as the number of points allows. Where rare losses are far larger than
all others, every tilt that reaches an epsilon may isolate one of them: where their probability is negligible beside
delta, they count as infinite.

Assumptions: the masses of cells are right to 2**-52 (4 + 2 |ln mass|) of themselves, between edges that may be rounded
by 2**-50 of themselves. Reports are independent, or chosen adaptively as far as each loss dominates every choice (see
`compose`).

Which grids. A loss is moved to the ends of its cells once on each grid on which it is added. So

* losses that share one spacing are added on it, and none is moved;
* a loss with a spacing of its own is added up on that, and only its sum is moved to the common grid;
* the others are added in equal groups on a finer grid, as a group spreads less than the whole at the same number of
  points; then the groups' sums are moved to the common grid. A group is added in the same way, from smaller ones.

The window of an FFT holds all but 2 e**-35 of the tilted mass, by Chernoff's bound (Markov's inequality for e**(slope
X)) from the losses' own moments. What lies outside is added at wrong places, and counted.

Rounding. An FFT of length N is right to c eps log2(N) of its 2-norm (Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., Theorem 24.2), and each of its outputs, a sum of inputs times log2(N) twiddle factors, to as much
of the sum of the inputs' absolute values; c = 4 covers complex products and additions. If the transforms f of the
losses are wrong by d, that of the sum is wrong by at most the sum over losses of T |d| q, where q is the product of all
|f| + |d| to their powers, less one factor of that loss. By the Cauchy-Schwarz inequality a mass of the sum is then
wrong by at most the sum of T |d| |q| in 2-norms (over the root of N each, so |d| is the error of the loss's masses),
and the 2-norm of all errors is at most the sum of T |d| max q. Frequencies at which the product is below e**-45 are
left out, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from ldp_audit.losses.discretisation import (
    Moves,
    TiltedDistribution,
    TiltedProfile,
    discretised,
    log_any,
    profile_of,
    respaced,
    undiscretised_lower_bound,
)
from ldp_audit.losses.grid_plan import WIDTH, Part, SumGrids, Tilt, TiltPlan, tilt_plan
from ldp_audit.losses.loss import EPS, KnownLoss, PairLoss
from ldp_audit.numerics import BoundedCache, as_float, whole

_MOST_KEPT = 6
"""Tilts whose transforms are cached for later calls."""
_RARE, _RARER = -46.0, 1.25
"""ln of the probability of the rare losses that are left out at usual deltas, and its factor at ever smaller ones."""
_LARGEST_TILT, LARGEST_EPSILON = 1e17, 1e280
_COARSEST = 64
"""How much coarser a grid may become if its window has too many points."""


def check_width(width: float) -> None:
    """Raise ValueError unless the width is > 0 and finite."""
    if not 0 < as_float(width) < math.inf:
        raise ValueError(f"width must be > 0 and finite (nats), got {width!r}")


def compose_on_grid(losses: Sequence[tuple[PairLoss, int]], *, width: float = WIDTH, points: int = 2**21) -> GridLoss:
    """The sum of independent losses, each `times` times.

    losses: at least one loss, known ones or the results of this function.   times: whole, >= 1.
    width: nats, the difference of the bounds on epsilon; met where `points` allow.
    points: the most points of a grid, 1024 .. 2**24; each takes about 100 bytes.
    Raises ValueError for anything else.
    """
    check_width(width)
    whole(points, "points", 1024, 2**24)
    listed: list[Part] = []
    for loss, times in losses:
        if (known := loss.known()) is None:
            raise ValueError(f"losses must be known, or bounds of theirs (`hulls.known_bounds`); got {loss!r}")
        listed.append((known, whole(times, "times")))
    if not listed:
        raise ValueError("losses must hold one loss or more, got none")
    return GridLoss(tuple(grouped(listed)), width, points)


class _Around(NamedTuple):
    """What one tilt computes: the profile, None if it takes too many points, and the tilted sum's deviation, nats."""

    profile: TiltedProfile | None
    deviation: float


@dataclass(frozen=True, eq=False)
class GridLoss(KnownLoss):
    """A sum of independent losses: `parts` hold each loss and how many times. Made by `compose_on_grid`.

    The bounds on epsilon at one delta differ by about `width`, by more if `points` are too few.
    """

    parts: tuple[Part, ...]
    width: float
    points: int
    _known: BoundedCache[tuple[float, float], _Around] = field(
        default_factory=lambda: BoundedCache(_MOST_KEPT), init=False, repr=False
    )

    def summands(self) -> Sequence[Part]:
        """See `KnownLoss`."""
        return self.parts

    def supremum(self) -> float:
        """See `PairLoss`."""
        return math.fsum(times * loss.supremum() for loss, times in self.parts)

    def reversed(self) -> GridLoss:
        """See `PairLoss`: the sum of the reversed losses."""
        mirrored = [(loss.reversed(), times) for loss, times in self.parts]
        if all(back is loss for (back, _), (loss, _) in zip(mirrored, self.parts, strict=True)):
            return self
        return compose_on_grid(mirrored, width=self.width, points=self.points)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`. The first call near an epsilon takes some FFTs, later ones some microseconds."""
        if math.isnan(epsilon):
            raise ValueError("epsilon must be a number (nats), got nan")
        if epsilon >= self._highest:
            return self._log_infinite, self._log_infinite
        if epsilon == -math.inf:
            return 0.0, 0.0
        if epsilon > LARGEST_EPSILON:  # whose products with a tilt overflow
            return self._log_infinite, self.log_delta_bounds(LARGEST_EPSILON)[1]
        plan = self._serving(lambda plan: epsilon <= plan.last)
        step, first = plan.tilts.serving(epsilon), plan.tilts.first
        theta = step.tilt if epsilon > first.epsilon and first.variance else 0.0
        while (around := self._at(plan, theta)).profile is None and theta:
            theta = theta / 4 if theta > first.tilt else 0.0  # too many points: try smaller tilts
        low, high = self._finite_ends(epsilon, around)
        return min(0.0, float(np.logaddexp(self._log_infinite, low))), min(0.0, high)

    def epsilon_near(self, log_delta: float) -> float:
        """About the epsilon with this ln delta, nats: an uncertified start for a search."""
        if self._log_infinite == 0:
            return math.inf
        plan = self._serving(lambda plan: plan.log_least <= log_delta)
        return min(plan.tilts.epsilon_near(log_delta), self._highest)

    def _serving(self, serves: Callable[[TiltPlan], bool]) -> TiltPlan:
        """The plan that leaves out the most rare losses and still serves."""
        log_rare = _RARE
        while not serves(plan := self._plans.get(log_rare) or self._plan.without(log_rare)):
            self._plans[log_rare] = plan
            log_rare *= _RARER
        return self._plans.setdefault(log_rare, plan)

    @cached_property
    def _plans(self) -> dict[float, TiltPlan]:
        """Plans without rare losses, by the ln of their probability."""
        return {}

    @cached_property
    def _plan(self) -> TiltPlan:
        return tilt_plan(self.parts, self.width, self.points)

    @cached_property
    def _log_infinite(self) -> float:
        """ln of the probability that any loss is infinite."""
        return log_any((loss.masses(np.zeros(1)).infinite, times) for loss, times in self.parts)

    @cached_property
    def _tops(self) -> list[float]:
        """The supremum of each finite loss."""
        atoms = [loss.atoms() for loss, _ in self.parts]
        return [
            loss.supremum() if one is None else float(one.losses[-1])
            for (loss, _), one in zip(self.parts, atoms, strict=True)
        ]

    @cached_property
    def _highest(self) -> float:
        """The supremum of the sum of the finite losses."""
        return -math.inf if self._log_infinite == 0 else self._sum(self._tops) + self._error

    @cached_property
    def _error(self) -> float:
        """By how many nats the sum of the listed losses may be wrong."""
        return self._sum([atoms.error if (atoms := loss.atoms()) else 0.0 for loss, _ in self.parts])

    def _sum(self, losses: Sequence[float]) -> float:
        """The sum of one value a loss, each `times` times."""
        return math.fsum(times * loss for (_, times), loss in zip(self.parts, losses, strict=True))

    def _at(self, plan: TiltPlan, theta: float) -> _Around:
        """What this tilt computes, once."""

        def around() -> _Around:
            tilt = plan.tilt(theta)
            return self._around(plan.grid(tilt, self._log_infinite), tilt)

        return self._known.get((plan.log_least, theta), around)

    def _around(self, grid: SumGrids, tilt: Tilt) -> _Around:
        total, coarser = None, 1
        while total is None and coarser <= _COARSEST:
            wider = grid._replace(spacings=tuple(coarser * spacing for spacing in grid.spacings))
            total = grid_sum(self.parts, wider, tilt.theta, self.points)
            coarser *= 2 if grid.common is None else _COARSEST + 1
        return _Around(None if total is None else profile_of(total), tilt.deviation)

    def _finite_ends(self, epsilon: float, around: _Around) -> tuple[float, float]:
        """The same as `_ends`, by one tilt."""
        if around.profile is None:
            return self._crude(epsilon), 0.0
        tilted, shift = around.profile.tilted, around.profile.tilted.shift
        theta = tilted.theta
        slack = tilted.log_sum_error + 4 * EPS * (1 + abs(tilted.log_sum) + abs(theta * epsilon))
        upper = around.profile.ends(epsilon - shift)[1]
        # (1 - e**-x)_+ <= e**(theta x) theta**theta / (1 + theta)**(1 + theta)
        most = -theta * math.log1p(1 / theta) - math.log1p(theta) if theta > 0 else 0.0
        high = min(math.log(upper) if upper > 0 else -math.inf, most)
        high += tilted.log_sum - theta * (epsilon - shift) + slack
        total = float(np.logaddexp(tilted.log_cut, high))
        lower = undiscretised_lower_bound(around.profile, epsilon, around.deviation)
        if lower <= 0:
            return min(high, self._crude(epsilon)), total
        return math.log(lower) + tilted.log_sum - theta * epsilon - slack, total

    def _crude(self, epsilon: float) -> float:
        """ln of a crude lower bound: what is gained where every single loss is large; -inf if nothing is."""
        levels, theta = self._plan.saddle.levels(0.0), self._plan.saddle.slope
        while self._sum(levels) <= epsilon and theta < _LARGEST_TILT:
            levels, theta = self._plan.saddle.levels(theta), 2 * theta
        if self._sum(levels) <= epsilon and math.isfinite(self._highest):
            levels = self._tops
        total, count = self._sum(levels), sum(times for _, times in self.parts)
        total -= self._error
        gap = (total - epsilon) / (2 * count)
        if gap <= 4 * EPS * (abs(total) + abs(epsilon)):
            return -math.inf
        reached = [loss.masses(np.array([level - gap])) for (loss, _), level in zip(self.parts, levels, strict=True)]
        logs = self._sum([float(cells.first[1]) for cells in reached])
        return logs - self._error + math.log(-math.expm1(-0.4 * (total - epsilon)))


def grouped(losses: Iterable[Part]) -> list[Part]:
    """The distinct summands of sums, with all their times."""
    found: dict[KnownLoss, int] = {}
    for loss, times in losses:
        for one, count in loss.summands():
            found[one] = found.get(one, 0) + times * count
    return list(found.items())


_STEEPEST = 300.0
_TOGETHER = 12
"""Losses that one FFT adds."""


class _Ranged(NamedTuple):
    """A loss with its times, and the ends of its grid, nats."""

    part: Part
    ends: tuple[float, float]


def grid_sum(losses: Sequence[Part], grid: SumGrids, theta: float, most: int) -> TiltedDistribution | None:
    """The tilted sum of these losses; None beyond the range of floats, or `most` points."""
    if grid.common is not None:
        known = zip(losses, grid.ranges, strict=True)
        return added([(discretised(loss, grid.common, theta, *ends), times) for (loss, times), ends in known], most)
    alone: list[tuple[TiltedDistribution | None, int]] = []
    others: list[_Ranged] = []
    for (loss, times), own, ends in zip(losses, grid.own, grid.ranges, strict=True):
        if own is None:
            others.append(_Ranged((loss, times), ends))
        else:
            alone.append((added([(discretised(loss, own, theta, *ends), times)], most), 1))
    moved = [(_respaced(loss, grid.spacings[0]), times) for loss, times in alone]
    return _nested(others, grid.spacings, grid.groups, theta, most, moved)


def _nested(
    losses: Sequence[_Ranged],
    spacings: Sequence[float],
    groups: int,
    theta: float,
    most: int,
    others: Sequence[tuple[TiltedDistribution | None, int]] = (),
) -> TiltedDistribution | None:
    """The sum of losses, and of `others` on the first grid already, with equal groups on the further grids."""
    found = list(others)
    equal = (
        [] if len(spacings) == 1 else [_Ranged((loss, n // groups), ends) for (loss, n), ends in losses if n >= groups]
    )
    for (loss, times), ends in losses:
        if left := times if len(spacings) == 1 else times % groups:
            found.append((discretised(loss, spacings[0], theta, *ends), left))
    if equal:
        found.append((_respaced(_nested(equal, spacings[1:], groups, theta, most), spacings[0]), groups))
    known = [(loss, times) for loss, times in found if loss is not None]
    return _added_in_groups(known, most) if len(known) == len(found) else None


def _added_in_groups(summands: Sequence[tuple[TiltedDistribution, int]], most: int) -> TiltedDistribution | None:
    """The sum; of many losses from sums of a few, whose windows are shorter than that of all."""
    while len(summands) > _TOGETHER:
        sums = [added(summands[i : i + _TOGETHER], most) for i in range(0, len(summands), _TOGETHER)]
        known = [(summand, 1) for summand in sums if summand is not None]
        if len(known) < len(sums):
            return None
        summands = known
    return added(summands, most)


def _respaced(tilted: TiltedDistribution | None, spacing: float) -> TiltedDistribution | None:
    """The distribution on another grid; None where one step of it makes the tilt's weights overflow."""
    return None if tilted is None or tilted.theta * spacing > _STEEPEST else respaced(tilted, spacing)


_OUTSIDE, _DROPPED = -35.0, -45.0
"""ln of the tilted mass beyond each end of the window, and of the products of transforms that count as 0."""
_TRANSFORM, _POWER = 4.0, 6.0
"""Relative errors of an FFT in units of eps log2(N), and of a power in units of eps times the exponent."""
_LARGEST_INDEX, _LARGEST_GROWTH = 2**60, 30.0
_BINS = 500.0
"""Bins to a standard deviation, times the number of losses, when the window is chosen."""
_STEEPEST_SLOPE = 700.0
"""Slopes of Chernoff's bound stop where a loss's farthest value weighs e**700."""
_FEW_TIMES = 64
"""Powers up to this one are products."""
_LARGE, _NO_ERROR = 0.05, 1e-14
"""A mass above this is transformed by itself, where the transform's error counts."""
_AT_ONCE = 2**18
"""Values that one call of the FFT transforms, at most; many short transforms take half the time together."""
Counted = Sequence[tuple[TiltedDistribution, int]]


class Window(NamedTuple):
    """`size` points from `first` on, outside which at most `outside` of the tilted mass lies."""

    first: int
    size: int
    outside: float


def added(summands: Counted, most: int) -> TiltedDistribution | None:
    """The sum of these distributions, each `times` times, by one FFT.

    summands: on grids of one spacing, with one tilt.
    returns: None where the window has more than `most` points or indices beyond 2**60, or rounding leaves no digit.
    """
    window = _window(summands)
    if window.size > most or max(abs(window.first), abs(window.first + window.size)) > _LARGEST_INDEX:
        return None
    vague = math.fsum(
        times * (summand.misplaced + summand.norm_error * math.sqrt(summand.masses.size)) for summand, times in summands
    )
    if vague > 1:
        return None
    masses, error, norm_error = _summed(summands, window)
    spacing, offset = summands[0][0].spacing, math.fsum(times * summand.offset for summand, times in summands)
    moves = Moves()
    for summand, times in summands:
        moves = moves.more(summand.moves, times)
    places = spacing * (abs(window.first) + window.size) + math.fsum(
        times * spacing * summand.farthest() for summand, times in summands
    )
    return TiltedDistribution(
        spacing=spacing,
        theta=summands[0][0].theta,
        offset=offset,
        indices=np.arange(window.first, window.first + masses.size, dtype=np.int64),
        masses=masses,
        log_sum=math.fsum(times * summand.log_sum for summand, times in summands),
        log_sum_error=math.fsum(times * summand.log_sum_error for summand, times in summands),
        mass_error=error,
        norm_error=norm_error,
        misplaced=2 * window.outside
        + math.exp(vague) * math.fsum(times * summand.misplaced for summand, times in summands),
        below=math.fsum(times * summand.below for summand, times in summands),
        log_infinite=log_any((summand.log_infinite, times) for summand, times in summands),
        log_cut=log_any((summand.log_cut, times) for summand, times in summands),
        moves=moves,
        shift=math.fsum(times * summand.shift for summand, times in summands) + 4 * EPS * (abs(offset) + places),
    )


def _window(summands: Counted) -> Window:
    """The window by Chernoff's bound, at the slope best for a normal distribution or at a better smaller one."""
    moments = [(summand.moments(), times) for summand, times in summands]
    deviation = math.sqrt(math.fsum(times * variance for (_, variance), times in moments))
    means = [mean for (mean, _), _ in moments]
    least = sum(times * int(summand.indices[0]) for summand, times in summands)
    most = sum(times * int(summand.indices[-1]) for summand, times in summands)
    if deviation == 0:
        return Window(least, most - least + 1, 0.0)
    centre = math.fsum(times * mean for mean, (_, times) in zip(means, summands, strict=True))

    bins = max(1, int(deviation / _BINS / sum(times for _, times in summands)))
    binned = [(summand.binned(bins) if bins > 1 else summand, times) for summand, times in summands]
    count = sum(times for _, times in summands)

    def reach(sign: int) -> int:
        ends = (float(summand.indices[-1 if sign > 0 else 0]) for summand, _ in summands)
        farthest = max(sign * (end - mean) for mean, end in zip(means, ends, strict=True))
        slope, found = min(math.sqrt(-2 * _OUTSIDE) / deviation, _STEEPEST_SLOPE / max(1.0, farthest)), math.inf
        while True:
            logs = math.fsum(
                times * summand.log_mean_power(sign * slope, mean)
                for mean, (summand, times) in zip(means, binned, strict=True)
            )
            logs += count * slope * (bins - 1) * (sign > 0)
            before, found = found, min(found, (logs - _OUTSIDE) / slope)
            # no slope is better than this one, or a normal distribution's reach is near
            if found >= before or found < 1.2 * math.sqrt(-2 * _OUTSIDE) * deviation:
                return math.ceil(found * (1 + 1e-6) + 4 * EPS * abs(centre)) + 1
            slope /= 1.5

    first, last = max(least, math.floor(centre) - reach(-1)), min(most, math.ceil(centre) + reach(+1))
    outside = ((first > least) + (last < most)) * math.exp(_OUTSIDE)
    return Window(first, last - first + 1, outside)


class _Sum(NamedTuple):
    """Masses, a bound on the error of each, and one on the 2-norm of the errors."""

    masses: NDArray[np.float64]
    error: float
    norm_error: float


def _summed(summands: Counted, window: Window) -> _Sum:
    """The masses of the sum in the window."""
    size: int = next_fast_len(window.size, real=True)  # type: ignore[assignment]
    product, error, norm_error = _product_of_transforms(summands, size)
    found = np.fft.irfft(product, size)
    del product
    np.maximum(found, 0.0, out=found)
    start = sum(times * int(summand.indices[0]) for summand, times in summands)
    return _Sum(np.roll(found, -((window.first - start) % size)), error, norm_error)


def _product_of_transforms(summands: Counted, size: int) -> tuple[NDArray[np.complex128], float, float]:
    """The transform of the sum, and the two errors of its inverse.

    At most frequencies the transform of one loss alone makes the product negligible: these are skipped. There the
    product of all factors but one is at most 1, or where the one is that loss's, e**-45 but for a power of it, times
    the factors' errors. Elsewhere the product of all factors but one is at most that of half of all factors: the half
    without that one.
    """
    summands = sorted(summands, key=lambda one: one[1], reverse=True)
    unit = _TRANSFORM * EPS * math.log2(size + 2)
    most = [unit + math.sqrt(one.masses.size) * one.norm_error for one, _ in summands]  # the transforms' largest errors
    grown = math.exp(
        min(_LARGEST_GROWTH, math.fsum(2 * count * one for (_, count), one in zip(summands, most, strict=True)))
    )
    transforms = _transforms(summands, size)
    first, largest = next(transforms), summands[0][1]
    kept = np.flatnonzero(np.abs(first[0]) > math.exp(_DROPPED / largest) - most[0])
    product = np.ones(kept.size, dtype=np.complex128)
    halves = [np.ones(kept.size), np.ones(kept.size)]
    wrong: list[tuple[float, tuple[int, ...]]] = []  # 2-norms of errors, and the halves that hold the loss's factors
    for i, ((summand, count), (transform, own)) in enumerate(zip(summands, chain([first], transforms), strict=True)):
        factor = transform if kept.size == transform.size else transform[kept]
        product *= _power(factor, count)
        sizes, more = np.abs(factor) + most[i], count // 2 + (count % 2) * (i % 2)
        for half, times in zip(halves, (more, count - more), strict=True):
            if times:
                half *= _power(sizes, times)
        wrong.append((count * (summand.norm_error + own), tuple(k for k, n in enumerate((more, count - more)) if n)))
    passed = size // 2 + 1 - kept.size
    squares = [float((half**2).sum()) for half in halves]
    tops = [float(half.max(initial=0.0)) for half in halves]
    error = norm_error = 0.0
    for i, (norm, places) in enumerate(wrong):
        left = math.exp(_DROPPED * ((largest - 1) / largest if i == 0 else 1.0)) if passed else 0.0
        others = [1 - place for place in places]
        error += grown * norm * math.sqrt(2 / size * (min(squares[k] for k in others) + passed * left**2))
        norm_error += grown * norm * max(min(tops[k] for k in others), left)
    sizes = halves[0] * halves[1]
    inner = sizes > math.exp(_DROPPED)
    found = np.zeros(size // 2 + 1, dtype=np.complex128)
    found[kept[inner]] = product[inner]
    times = sum(count for _, count in summands)
    rounding = (unit + _POWER * EPS * (12 + times)) * math.sqrt(2 / size * float((sizes[inner] ** 2).sum()))
    dropped = grown * math.exp(_DROPPED)
    return found, error + rounding + dropped, norm_error + rounding + dropped


def _power(factor: NDArray[Any], count: int) -> NDArray[Any]:
    """Real or complex numbers to a whole power."""
    if count == 1:
        return factor
    if count > _FEW_TIMES:
        return np.exp(count * np.log(np.where(factor == 0, 1e-300, factor)))
    found, square = np.ones_like(factor), factor
    while count:
        if count % 2:
            found = found * square
        count //= 2
        if count:
            square = square * square
    return found


def _transforms(summands: Counted, size: int) -> Iterator[tuple[NDArray[np.complex128], float]]:
    """Of each, the FFT of its masses, wrapped around, and the 2-norm of its error; its first index counts as 0.

    Large masses are transformed one by one, as their error would be shared by all, unless it is negligible.
    """
    unit, batch = EPS * _TRANSFORM * math.log2(size + 2), max(1, _AT_ONCE // size)
    rows = min(batch, len(summands))  # of two arrays for all batches, as new ones are slow to get
    space, waves = np.empty((rows, size)), np.empty((rows, size // 2 + 1), dtype=np.complex128)
    for start in range(0, len(summands), batch):
        some, larges, errors = summands[start : start + batch], [], []
        folded = space[: len(some)]
        folded.fill(0.0)
        for row, (summand, times) in zip(folded, some, strict=True):
            places, masses = summand.indices - summand.indices[0], summand.masses.copy()
            counts = times * unit * summand.norm() >= _NO_ERROR
            large = np.flatnonzero(masses > (_LARGE if counts else math.inf))
            larges.append([(int(places[one]) % size, float(masses[one])) for one in large])
            masses[large] = 0.0
            errors.append(unit * math.sqrt(float((masses**2).sum())) + 20 * EPS * sum(one for _, one in larges[-1]))
            if places[-1] < size:
                row[places] = masses
            else:
                row[:] = np.bincount(places % size, masses, size)
        for found, large, error in zip(np.fft.rfft(folded, out=waves[: len(some)]), larges, errors, strict=True):
            for place, mass in large:
                found += mass * (_waves(place, found.size, size) if place else 1.0)
            yield found, error


def _waves(place: int, count: int, size: int) -> NDArray[np.complex128]:
    """e**(-2 pi i place k/size) for k = 0 .. count - 1, as products of those of two digits of k."""
    digit = math.isqrt(count) + 1
    steps = np.arange(digit, dtype=np.int64)
    low, high = (np.exp(-2j * math.pi / size * ((steps * (place * unit % size)) % size)) for unit in (1, digit))
    return np.multiply.outer(high, low).ravel()[:count]
