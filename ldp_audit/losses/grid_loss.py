r"""The loss of any independent reports together, on a grid by FFT, with certified ends of delta(epsilon).

Upper end: each law is discretised from above (`discretisation`); a sum of laws that dominate dominates. Lower end:
the same sum, less a bound on what the grid can have added (`below_grid`); no smoothness is asked of the laws. Both
are of second order in the spacing. Losses that have a spacing of their own are added on that, and moved once
(`grid_sum`).

The sum is computed under an exponential tilt (`TiltedLaw`), so that delta = 1e-300 has the same relative precision as
0.1. One tilt serves levels within some 2.5 standard deviations (`grid_plan`). A level has always the same tilt, so an
answer depends on the question alone. The spacing is chosen anew for each tilt: such that epsilon at one delta is known
to about the width asked for, or as well as the number of points allows. Where some rare losses are far larger than all
others, every tilt that reaches a level may be one of them alone: then they are left out, and counted as infinite.

What is believed: the laws' cell masses, to 2**-52 (4 + 2 |ln mass|) of themselves, between edges that may be rounded
by as much as 2**-50 of themselves. Reports are independent, or adaptive as far as each law dominates whatever was
chosen (see `compose`).

The hockey-stick divergence of a law on a grid near one level.

With the tilted masses w_i at the losses g_i and K the ln of the sum that tilting divides by,

    delta(epsilon) = e**(K - theta epsilon) v,    v = sum over x_i > 0 of w_i e**(-theta x_i) (1 - e**-x_i),

where x_i = g_i - epsilon, so all that is small is in the factor before v. Two filters that only add give v at every
point of the grid; between two points it is e**(-theta x) (gain + (1 - e**-x) weight), x nats before the next one. The
factor of a mass is at most 1/(1 + theta), and rises and falls once with x, so that all of them add up to at most that
and 1/(h theta (1 + theta)) (claim BD-CHERN for the factor).

How much a law can have grown by being put on a grid: the lower end from the upper one alone.

Let L be the sum of independent losses, and L' the sum after some of them, or partial sums of them, have been moved to
the ends of their cells: Xi = L' - L is a sum of steps. Given all that came before it a step lies in an interval of some
length h, and e**-step has the mean 1; so v = e**-Xi has the mean 1 given L. Write d(epsilon) for the divergence of L,
d' for that of L', and y = e**(epsilon - L). Then d' - d is the mean of

    g(y) = E[(1 - y v)_+] - (1 - y)_+,     that is E[(1 - y v)_+] for y >= 1 and E[(y v - 1)_+] for y <= 1,

which is convex on either side of 1. For w > 0 let a = e**w/(1 + e**w) and b = 1 - a. The second difference

    a d(epsilon - w) + b d(epsilon + w) - d(epsilon)

is the mean of a function of y that is linear between e**-w, 1 and e**w, tanh(w/2) at 1, and 0 outside. A convex
function lies below its chord, so with c = g(1)/tanh(w/2) (claim BD-CHORD)

    g(y) <= c * (that function) + rest,

where the rest is at most g(e**w) or g(e**-w) inside, and g(y) outside. As d <= d' everywhere,

    d(epsilon) (1 - c) >= d'(epsilon) - c (a d'(epsilon - w) + b d'(epsilon + w)) - E[rest]     for c < 1.

All of it is of the order V = sum h**2 times the first two derivatives of d, whatever the laws look like.

* g(1) = E|1 - v|/2 <= sd(v)/2, and 1 + Var(v) is at most the product of 1 + sinh(h/2)**2, the most for two points h
  apart (Bhatia, Davis 2000; claim BD-MOVE of `claims/papers/own.py`).
* E[rest], by Chernoff and Hoeffding's lemma (Boucheron, Lugosi, Massart 2013, Lemma 2.2; the mean of each step lies in
  [0, h**2/8]), for any s, t >= 0: E[rest] <= M (e**(-s w + (theta + s) V/8 + (theta + s)**2 V/8) + e**(-t w + (1 +
  t)**2 V/8)), where M is the mean of e**(theta (L - epsilon)), at most that of L', which `TiltedProfile` takes out. If
  the sum of all h is at most w, then there is no rest.

Where the steps are too long for that, losses lie far apart, and this may tell more: L is at least L' less the sum of
all h, so d(epsilon) >= d'(epsilon + that sum).

Rounding may have moved the sum by `shift`, so d'(epsilon) is only known to lie between what is found at epsilon + shift
and at epsilon - shift.


The sum of many losses, by the way that moves them least.

Losses that are moved to the ends of their cells are moved once on each grid on which they are added. So

* laws whose losses all have one spacing are added on it, and none is moved;
* else a law whose own losses have a spacing is added up on that, and only its sum is moved to the common grid;
* the others are added in equal groups, on a finer grid, as a group spreads less than the whole at the same number of
  points; then the groups' sums are moved to the common grid. A group is added in the same way, from smaller ones.

Adding laws on one grid by FFT, each any number of times, with a bound on every error.

The window. The transform's length holds all but 2 e**-35 of the tilted mass, by Chernoff's bound (Markov's inequality
for e**(slope X)) from the laws' own moments. What lies outside is added up at wrong places.

Rounding. A fast transform of length N is right to c eps log2(N) of its 2-norm (Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., Theorem 24.2), and each of its outputs, a sum of inputs times log2(N) twiddle factors, to
as much of the sum of the inputs' absolute values; c = 4 covers complex products and additions. Where the transforms f
of the laws are wrong by d, that of the sum is by at most the sum over laws of T |d| q, where q is the product of all
|f| + |d| to their powers, but for one factor of that law. By Cauchy and Schwarz a mass of the sum is then wrong by at
most the sum of T |d| |q| in 2-norms (over the root of N each, so |d| is what the masses of the law are wrong by), and
the 2-norm of all errors is at most the sum of T |d| max q. Frequencies at which the product is below e**-45 are left
out, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from ldp_audit.losses.budget_arguments import whole
from ldp_audit.losses.discrete_loss import DiscreteLoss
from ldp_audit.losses.discretisation import (
    Moves,
    TiltedLaw,
    TiltedProfile,
    below_grid,
    gridded,
    log_any,
    profile_of,
    regridded,
)
from ldp_audit.losses.grid_plan import WIDTH, Grid, Part, Tilt, TiltPlan, tilt_plan
from ldp_audit.losses.loss import PairLoss
from ldp_audit.numerics import BoundedCache

_EPS = 2.0**-52
_MOST_KEPT = 6
"""How many tilts' transforms are kept for later calls."""
_LARGEST_TILT = 1e17
_VAGUE = 1.0
"""Ends of ln delta that lie further apart are looked for with another tilt."""
_DEEP, _CUT = -80.0, 12.0
"""ln of a delta from which down a range of losses of its own is used: so far up that little of e**_CUT less is cut."""
_COARSER, _COARSEST = 8, 64
"""How much coarser a grid may be where its window would have more points than it may; one for levels in a leap is."""


def check_width(width: float) -> None:
    """ValueError unless it is > 0 and finite."""
    if isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width < math.inf:
        raise ValueError(f"width must be > 0 and finite (nats), got {width!r}")


def compose_on_grid(laws: Sequence[Part], *, width: float = WIDTH, points: int = 2**21) -> GridLoss:
    """The law of the sum of independent losses, each so many times.

    laws: at least one; each a `PairLoss`, a law of finitely many losses, or the result of this function.
    times: whole, >= 1.   width: nats, how much the two ends of an epsilon may differ; met where `points` allow.
    points: the most points of a grid, 1024 .. 2**24; each takes about 100 bytes.
    Raises ValueError for anything else.
    """
    check_width(width)
    if isinstance(points, bool) or not isinstance(points, int) or not 1024 <= points <= 2**24:
        raise ValueError(f"points must be a whole number in 1024 .. 2**24, got {points!r}")
    listed: list[Part] = []
    for law, times in laws:
        listed += [(one, count * whole(times, "times")) for one, count in law.summands()]
    if not listed:
        raise ValueError("laws must hold one law or more, got none")
    return GridLoss(tuple(flat_parts(listed)), width, points)


class _Around(NamedTuple):
    """What is known around a level: the profile, if it could be computed, and the tilted sum's deviation, nats."""

    profile: TiltedProfile | None
    deviation: float


@dataclass(frozen=True, eq=False)
class GridLoss(PairLoss):
    """The loss of independent reports: `parts` hold each law and how many times. Made by `compose_on_grid`.

    Both ends of delta hold; at one delta their epsilons differ by about `width`, by more if `points` are too few.
    """

    parts: tuple[Part, ...]
    width: float
    points: int
    _known: BoundedCache[tuple[tuple[float, ...], int, bool, bool], _Around] = field(
        default_factory=lambda: BoundedCache(_MOST_KEPT), init=False, repr=False
    )

    @property
    def known(self) -> bool:
        """See `PairLoss`: its summands are."""
        return True

    def summands(self) -> Sequence[Part]:
        """See `PairLoss`."""
        return self.parts

    def supremum(self) -> float:
        """See `PairLoss`."""
        return math.fsum(times * law.supremum() for law, times in self.parts)

    def reversed(self) -> GridLoss:
        """See `PairLoss`: the sum of the mirrored laws."""
        mirrored = [(law.reversed(), times) for law, times in self.parts]
        return compose_on_grid(mirrored, width=self.width, points=self.points)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`. The first call near a level takes some transforms, later ones some microseconds."""
        if math.isnan(epsilon):
            raise ValueError("epsilon must be a number (nats), got nan")
        if epsilon >= self._highest:
            return self._log_infinite, self._log_infinite
        if epsilon == -math.inf:
            return 0.0, 0.0
        low, high = self._ends(self._plan, epsilon)
        if high - low > _VAGUE and (plan := self._plan.without_rare(epsilon)) is not None:
            sharper = self._ends(self._plans.setdefault(tuple(plan.tops), plan), epsilon)
            low, high = max(low, sharper[0]), min(high, sharper[1])
        low, high = min(0.0, float(np.logaddexp(self._log_infinite, low))), min(0.0, high)
        return low, high

    def _ends(self, plan: TiltPlan, epsilon: float) -> tuple[float, float]:
        """ln of a lower end of the part that finite losses have in delta, and of an upper end of delta."""
        place, back = plan.place(epsilon), 1
        while (around := self._at(plan, place)).profile is None and place:
            place, back = max(0, place - back), 2 * back  # it took too many points: a tilt before it may not
        low, high = self._finite_ends(epsilon, around)
        if high < _DEEP:
            deep = self._finite_ends(epsilon, self._at(plan, place, deep=True))
            low, high = max(low, deep[0]), min(high, deep[1])
        if high - low > _VAGUE and (fine := plan.fine_place(epsilon, around.deviation)) is not None:
            nearer = self._finite_ends(epsilon, self._at(plan, fine, fine=True))
            low, high = max(low, nearer[0]), min(high, nearer[1])
        return low, high

    def epsilon_near(self, log_delta: float) -> float:
        """About the level with this ln delta, nats: a hint for who looks for it, with no claim."""
        if self._log_infinite == 0:
            return math.inf
        saddle = self._plan.saddle_of_common(log_delta)
        theta = saddle.tilt_of_log_delta(log_delta)
        return self._highest if theta is None else saddle.at(theta).mean

    @cached_property
    def _laws(self) -> list[Part]:
        return gridded_parts(self.parts)

    @cached_property
    def _plan(self) -> TiltPlan:
        return tilt_plan(self._laws, self.width, self.points)

    @cached_property
    def _log_infinite(self) -> float:
        """ln of the probability that any loss is infinite."""
        return log_any((log_infinite_of(law), times) for law, times in self._laws)

    @cached_property
    def _tops(self) -> list[float]:
        """The supremum of each law's finite loss."""
        return [float(law.losses[-1]) if isinstance(law, DiscreteLoss) else law.supremum() for law, _ in self._laws]

    @cached_property
    def _highest(self) -> float:
        """The supremum of the finite losses."""
        return -math.inf if self._log_infinite == 0 else self._sum(self._tops)

    def _sum(self, losses: Sequence[float]) -> float:
        """The sum of one loss of each law, with the laws' times."""
        return math.fsum(times * loss for (_, times), loss in zip(self._laws, losses, strict=True))

    @cached_property
    def _plans(self) -> dict[tuple[float, ...], TiltPlan]:
        """Those of fewer losses, by where the laws are cut."""
        return {}

    def _at(self, plan: TiltPlan, place: int, *, fine: bool = False, deep: bool = False) -> _Around:
        """What is known around the epsilons of the tilt of this number, computed once."""

        def around() -> _Around:
            tilt = plan.fine_tilt(place) if fine else plan.tilt(place, -math.inf if deep else _DEEP - _CUT)
            return self._around(plan.grid(tilt, self._log_infinite), tilt, _COARSER if fine else 1)

        return self._known.get((tuple(plan.tops), place, fine, deep), around)

    def _around(self, grid: Grid, tilt: Tilt, coarser: int) -> _Around:
        total = None
        while total is None and coarser <= _COARSEST:
            wider = grid._replace(spacings=tuple(coarser * spacing for spacing in grid.spacings))
            total = grid_sum(self._laws, wider, tilt.theta, self.points)
            coarser *= 2 if grid.common is None else _COARSEST + 1
        return _Around(None if total is None else profile_of(total), tilt.deviation)

    def _finite_ends(self, epsilon: float, around: _Around) -> tuple[float, float]:
        """ln of a lower end of the part that finite losses have in delta, and of an upper end of delta."""
        if around.profile is None:
            return self._crude(epsilon), 0.0
        law, shift = around.profile.law, around.profile.law.shift
        theta = law.theta
        slack = law.log_sum_error + 4 * _EPS * (1 + abs(law.log_sum) + abs(theta * epsilon))
        upper = around.profile.ends(epsilon - shift)[1]
        # (1 - e**-x)_+ <= e**(theta x) theta**theta / (1 + theta)**(1 + theta)
        most = -theta * math.log1p(1 / theta) - math.log1p(theta) if theta > 0 else 0.0
        high = min(math.log(upper) if upper > 0 else -math.inf, most)
        high += law.log_sum - theta * (epsilon - shift) + slack
        total = float(np.logaddexp(law.log_cut, high))
        lower = below_grid(around.profile, epsilon, around.deviation)
        if lower <= 0:
            return min(high, self._crude(epsilon)), total
        return math.log(lower) + law.log_sum - theta * epsilon - slack, total

    def _crude(self, epsilon: float) -> float:
        """ln of a lower end that is far too small: what is gained where every single loss is large; -inf if unknown."""
        levels, theta = self._plan.saddle.levels(0.0), self._plan.saddle.slope
        while self._sum(levels) <= epsilon and theta < _LARGEST_TILT:
            levels, theta = self._plan.saddle.levels(theta), 2 * theta
        if self._sum(levels) <= epsilon and math.isfinite(self._highest):
            levels = self._tops
        total, count = self._sum(levels), sum(times for _, times in self._laws)
        gap = (total - epsilon) / (2 * count)
        if gap <= 4 * _EPS * (abs(total) + abs(epsilon)):
            return -math.inf
        reached = [law.masses(np.array([level - gap])) for (law, _), level in zip(self._laws, levels, strict=True)]
        logs = self._sum([float(cells.first[1]) for cells in reached])
        return logs + math.log(-math.expm1(-0.4 * (total - epsilon)))


def flat_parts(laws: Iterable[Part]) -> list[Part]:
    """The summands of the laws, each once with all its times.

    Raises ValueError where times are not whole numbers >= 1, or a law cannot be put on a grid.
    """
    found = grouped((law, whole(times, "times")) for law, times in laws)
    for law, _ in found:
        if law.atoms() is None and not law.discretisable:
            raise ValueError(f"laws must know the masses of cells, or list their losses; got {law!r}")
    return found


def grouped(laws: Iterable[Part]) -> list[Part]:
    """The summands of sums, equal ones once, with all their times."""
    found: dict[Any, Part] = {}
    for law, times in laws:
        for one, count in law.summands():
            key = _key(one)
            found[key] = (one, times * count + (found[key][1] if key in found else 0))
    return list(found.values())


def gridded_parts(parts: Sequence[Part]) -> list[Part]:
    """The laws, as atoms where they have few losses."""
    return [(law.atoms() or law, times) for law, times in parts]


def log_infinite_of(law: PairLoss) -> float:
    """ln P(loss = inf)."""
    return law.log_infinite if isinstance(law, DiscreteLoss) else law.masses(np.zeros(1)).infinite


def _key(law: PairLoss) -> Any:
    """Equal for equal laws."""
    if isinstance(law, DiscreteLoss):
        return law.losses.tobytes(), law.log_probabilities.tobytes(), law.log_infinite
    try:
        hash(law)
    except TypeError:
        return id(law)
    return law


_STEEPEST = 300.0
_TOGETHER = 8


class _Ranged(NamedTuple):
    """A law, how many times, and where a grid for it ends, nats."""

    law: Part
    ends: tuple[float, float]


def grid_sum(laws: Sequence[Part], grid: Grid, theta: float, most: int) -> TiltedLaw | None:
    """The tilted sum of these laws, each so many times; None where floats or `most` points will not do."""
    if grid.common is not None:
        known = zip(laws, grid.ranges, strict=True)
        return added([(gridded(law, grid.common, theta, *ends), times) for (law, times), ends in known], most)
    alone: list[tuple[TiltedLaw | None, int]] = []
    others: list[_Ranged] = []
    for (law, times), own, ends in zip(laws, grid.own, grid.ranges, strict=True):
        if own is None:
            others.append(_Ranged((law, times), ends))
        else:
            alone.append((added([(gridded(law, own, theta, *ends), times)], most), 1))
    moved = [(_regridded(law, grid.spacings[0]), times) for law, times in alone]
    return _nested(others, grid.spacings, grid.groups, theta, most, moved)


def _nested(
    laws: Sequence[_Ranged],
    spacings: Sequence[float],
    groups: int,
    theta: float,
    most: int,
    others: Sequence[tuple[TiltedLaw | None, int]] = (),
) -> TiltedLaw | None:
    """The sum of laws, and of others that are on the first grid, with groups of equal laws on the further grids."""
    found = list(others)
    equal = [] if len(spacings) == 1 else [_Ranged((law, n // groups), ends) for (law, n), ends in laws if n >= groups]
    for (law, times), ends in laws:
        if left := times if len(spacings) == 1 else times % groups:
            found.append((gridded(law, spacings[0], theta, *ends), left))
    if equal:
        found.append((_regridded(_nested(equal, spacings[1:], groups, theta, most), spacings[0]), groups))
    known = [(law, times) for law, times in found if law is not None]
    return _added_in_groups(known, most) if len(known) == len(found) else None


def _added_in_groups(laws: Sequence[tuple[TiltedLaw, int]], most: int) -> TiltedLaw | None:
    """The sum; of many laws from sums of a few, whose windows are shorter than that of all."""
    while len(laws) > _TOGETHER:
        sums = [added(laws[i : i + _TOGETHER], most) for i in range(0, len(laws), _TOGETHER)]
        known = [(law, 1) for law in sums if law is not None]
        if len(known) < len(sums):
            return None
        laws = known
    return added(laws, most)


def _regridded(law: TiltedLaw | None, spacing: float) -> TiltedLaw | None:
    """The law on another grid; None where one step of it changes the tilt's weights beyond the range of floats."""
    return None if law is None or law.theta * spacing > _STEEPEST else regridded(law, spacing)


_OUTSIDE, _DROPPED = -35.0, -45.0
"""ln of the tilted mass beyond each end of the window, and of the products of transforms that count as 0."""
_TRANSFORM, _POWER = 4.0, 6.0
"""Relative errors of a transform in units of eps log2(N), and of a power in units of eps times the exponent."""
_LARGEST_INDEX = 2**60
_BINS = 500.0
"""How many bins a standard deviation has, times the number of laws, when the window is chosen."""
_STEEPEST_SLOPE = 700.0
"""No slope is needed that makes more of a law's farthest loss than e**700."""
_LARGEST_GROWTH = 30.0
_FEW_TIMES = 64
"""Powers so low are products."""
_LARGE = 0.05
"""So large a mass is transformed by itself."""
Counted = Sequence[tuple[TiltedLaw, int]]


class Window(NamedTuple):
    """The points counted from `first`, `size` of them, outside which at most `outside` of the tilted mass lies."""

    first: int
    size: int
    outside: float


def added(laws: Counted, most: int) -> TiltedLaw | None:
    """The sum of these laws, each so many times; None where the window would have more points than `most`,
    or indices beyond 2**60, or where rounding leaves nothing certain.

    laws: on grids of one spacing, with one tilt.
    """
    window = _window(laws)
    if window.size > most or max(abs(window.first), abs(window.first + window.size)) > _LARGEST_INDEX:
        return None
    vague = math.fsum(times * (law.misplaced + law.norm_error * math.sqrt(law.masses.size)) for law, times in laws)
    if vague > 1:
        return None
    masses, error, norm_error = _summed(laws, window)
    spacing, offset = laws[0][0].spacing, math.fsum(times * law.offset for law, times in laws)
    moves = Moves()
    for law, times in laws:
        moves = moves.more(law.moves, times)
    places = spacing * (abs(window.first) + window.size) + math.fsum(
        times * spacing * law.farthest() for law, times in laws
    )
    return TiltedLaw(
        spacing=spacing,
        theta=laws[0][0].theta,
        offset=offset,
        indices=np.arange(window.first, window.first + masses.size, dtype=np.int64),
        masses=masses,
        log_sum=math.fsum(times * law.log_sum for law, times in laws),
        log_sum_error=math.fsum(times * law.log_sum_error for law, times in laws),
        mass_error=error,
        norm_error=norm_error,
        misplaced=2 * window.outside + math.exp(vague) * math.fsum(times * law.misplaced for law, times in laws),
        below=math.fsum(times * law.below for law, times in laws),
        log_infinite=log_any((law.log_infinite, times) for law, times in laws),
        log_cut=log_any((law.log_cut, times) for law, times in laws),
        moves=moves,
        shift=math.fsum(times * law.shift for law, times in laws) + 4 * _EPS * (abs(offset) + places),
    )


def _window(laws: Counted) -> Window:
    """By Chernoff's bound, at the slope that is best for a normal law, or at a smaller one where that is better."""
    moments = [(law.moments(), times) for law, times in laws]
    deviation = math.sqrt(math.fsum(times * variance for (_, variance), times in moments))
    means = [mean for (mean, _), _ in moments]
    least = sum(times * int(law.indices[0]) for law, times in laws)
    most = sum(times * int(law.indices[-1]) for law, times in laws)
    if deviation == 0:
        return Window(least, most - least + 1, 0.0)
    centre = math.fsum(times * mean for mean, (_, times) in zip(means, laws, strict=True))

    bins = max(1, int(deviation / _BINS / sum(times for _, times in laws)))
    binned = [(law.binned(bins) if bins > 1 else law, times) for law, times in laws]
    count = sum(times for _, times in laws)

    def reach(sign: int) -> int:
        ends = (float(law.indices[-1 if sign > 0 else 0]) for law, _ in laws)
        farthest = max(sign * (end - mean) for mean, end in zip(means, ends, strict=True))
        slope, found = min(math.sqrt(-2 * _OUTSIDE) / deviation, _STEEPEST_SLOPE / max(1.0, farthest)), math.inf
        while True:
            logs = math.fsum(
                times * law.log_mean_power(sign * slope, mean) for mean, (law, times) in zip(means, binned, strict=True)
            )
            logs += count * slope * (bins - 1) * (sign > 0)
            before, found = found, min(found, (logs - _OUTSIDE) / slope)
            # no slope is better than this one, or a normal law's reach is near
            if found >= before or found < 1.2 * math.sqrt(-2 * _OUTSIDE) * deviation:
                return math.ceil(found * (1 + 1e-6) + 4 * _EPS * abs(centre)) + 1
            slope /= 2

    first, last = max(least, math.floor(centre) - reach(-1)), min(most, math.ceil(centre) + reach(+1))
    outside = ((first > least) + (last < most)) * math.exp(_OUTSIDE)
    return Window(first, last - first + 1, outside)


class _Sum(NamedTuple):
    """Masses, a bound on the error of each, and one on the root of the sum of the errors' squares."""

    masses: NDArray[np.float64]
    error: float
    norm_error: float


def _summed(laws: Counted, window: Window) -> _Sum:
    """The masses of the sum in the window."""
    size: int = next_fast_len(window.size, real=True)  # type: ignore[assignment]
    product, error, norm_error = _product_of_transforms(laws, size)
    found = np.fft.irfft(product, size)
    del product
    np.maximum(found, 0.0, out=found)
    start = sum(times * int(law.indices[0]) for law, times in laws)
    return _Sum(np.roll(found, -((window.first - start) % size)), error, norm_error)


def _product_of_transforms(laws: Counted, size: int) -> tuple[NDArray[np.complex128], float, float]:
    """The transform of the sum, and the two errors of its inverse.

    At most frequencies the transform of one law alone makes the product negligible: these are not looked at any
    further. There the product of all factors but one is at most 1, or where the one is that law's, e**-45 but for a
    power of it; and whatever the errors of the factors make of that. Elsewhere the product of all factors but one is
    at most that of one half of all: the half that the one is not in.
    """
    unit = _TRANSFORM * _EPS * math.log2(size + 2)
    most = [unit + math.sqrt(law.masses.size) * law.norm_error for law, _ in laws]  # the largest errors of transforms
    grown = math.exp(
        min(_LARGEST_GROWTH, math.fsum(2 * count * one for (_, count), one in zip(laws, most, strict=True)))
    )
    first = max(range(len(laws)), key=lambda i: laws[i][1])
    known = _transform(laws[first][0], size)
    kept = np.flatnonzero(np.abs(known[0]) > math.exp(_DROPPED / laws[first][1]) - most[first])
    product = np.ones(kept.size, dtype=np.complex128)
    halves = [np.ones(kept.size), np.ones(kept.size)]
    wrong: list[tuple[float, tuple[int, ...]]] = []  # 2-norms of errors, and the halves that a law's factors are in
    for i, (law, count) in enumerate(laws):
        transform, own = known if i == first else _transform(law, size)
        factor = transform[kept]
        product = product * _power(factor, count)
        sizes, more = np.abs(factor) + most[i], count // 2 + (count % 2) * (i % 2)
        for half, times in zip(halves, (more, count - more), strict=True):
            half *= _power(sizes, times)
        wrong.append((count * (law.norm_error + own), tuple(k for k, n in enumerate((more, count - more)) if n)))
    passed, count = size // 2 + 1 - kept.size, laws[first][1]
    squares = [float((half**2).sum()) for half in halves]
    tops = [float(half.max(initial=0.0)) for half in halves]
    error = norm_error = 0.0
    for i, (norm, places) in enumerate(wrong):
        left = math.exp(_DROPPED * ((count - 1) / count if i == first else 1.0)) if passed else 0.0
        others = [1 - place for place in places]
        error += grown * norm * math.sqrt(2 / size * (min(squares[k] for k in others) + passed * left**2))
        norm_error += grown * norm * max(min(tops[k] for k in others), left)
    sizes = halves[0] * halves[1]
    inner = sizes > math.exp(_DROPPED)
    found = np.zeros(size // 2 + 1, dtype=np.complex128)
    found[kept[inner]] = product[inner]
    times = sum(count for _, count in laws)
    rounding = (unit + _POWER * _EPS * (12 + times)) * math.sqrt(2 / size * float((sizes[inner] ** 2).sum()))
    dropped = grown * math.exp(_DROPPED)
    return found, error + rounding + dropped, norm_error + rounding + dropped


def _power(factor: NDArray[Any], count: int) -> NDArray[Any]:
    """Numbers, real or complex, to a whole power."""
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


def _transform(law: TiltedLaw, size: int) -> tuple[NDArray[np.complex128], float]:
    """The transform of the masses, wrapped around, and the 2-norm of its error; the first index counts as 0.

    Large masses are transformed one by one, as their error would be shared by all.
    """
    places, masses = law.indices - law.indices[0], law.masses
    large = np.flatnonzero(masses > _LARGE)
    if large.size:
        masses = masses.copy()
        masses[large] = 0.0
    if places[-1] < min(size, 4 * places.size):
        folded = np.zeros(int(places[-1]) + 1)
        folded[places] = masses
    else:
        folded = np.bincount(places % size, masses, size)
    found = np.fft.rfft(folded, size)
    for one in large:
        found += law.masses[one] * _waves(int(places[one]) % size, found.size, size)
    rest = math.sqrt(float((masses**2).sum()))
    return found, _EPS * (_TRANSFORM * math.log2(size + 2) * rest + 20 * float(law.masses[large].sum()))


def _waves(place: int, count: int, size: int) -> NDArray[np.complex128]:
    """e**(-2 pi i place k/size) for k = 0 .. count - 1: products of those of two digits of k."""
    digit = math.isqrt(count) + 1
    steps = np.arange(digit, dtype=np.int64)
    low, high = (np.exp(-2j * math.pi / size * ((steps * (place * unit % size)) % size)) for unit in (1, digit))
    return np.multiply.outer(high, low).ravel()[:count]
