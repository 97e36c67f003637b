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
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ldp_audit.losses.budget_arguments import whole
from ldp_audit.losses.discrete_loss import LossAtoms
from ldp_audit.losses.discretisation import (
    Part,
    TiltedLaw,
    flat_parts,
    gridded_parts,
    log_any,
    log_infinite_of,
)
from ldp_audit.losses.fft_sum import grid_sum
from ldp_audit.losses.grid_plan import WIDTH, Grid, Tilt, TiltPlan, tilt_plan
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

    def largest(self) -> float:
        """See `PairLoss`."""
        return math.fsum(times * law.largest() for law, times in self.parts)

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
        return [float(law.losses[-1]) if isinstance(law, LossAtoms) else law.largest() for law, _ in self._laws]

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


_FILTER = 8.0
"""Relative errors of the filters in units of eps N."""


@dataclass(frozen=True, eq=False)
class TiltedProfile:
    """What v is for a law on a grid, of which the masses are no longer kept.

    first: the first index.
    gains, weights: at each point the sums of w e**(-theta x) (1 - e**-x) and of w e**(-(1 + theta) x).
    """

    law: TiltedLaw
    first: int
    gains: NDArray[np.float64]
    weights: NDArray[np.float64]

    def ends(self, epsilon: float) -> tuple[float, float]:
        """A lower and an upper end of v for the law on the grid, the lower one without what came from below."""
        law, value = self.law, 0.0
        start = law.offset + law.spacing * self.first
        place = max(0, math.floor(min((epsilon - start) / law.spacing, self.gains.size)) + 1)
        if place < self.gains.size:
            before = max(0.0, start + law.spacing * place - epsilon)
            inner = float(self.gains[place]) - math.expm1(-before) * float(self.weights[place])
            value = math.exp(-law.theta * before) * inner
        rounding = _FILTER * _EPS * self.gains.size
        error = law.misplaced / (1 + law.theta) + law.mass_error * self._factors(epsilon - start)
        return value * (1 - rounding) - error - law.below / (1 + law.theta), value * (1 + rounding) + error

    def _factors(self, above: float) -> float:
        """The most that the factors of all masses add up to, `above` nats after the start."""
        h, theta, size = self.law.spacing, self.law.theta, self.gains.size
        widest = -math.expm1(-max(0.0, h * size - above))
        found = size * min(widest, 1 / (1 + theta))
        return min(found, 1 / (1 + theta) + 1 / (h * theta * (1 + theta))) if h * theta > 0 else found


def profile_of(law: TiltedLaw) -> TiltedProfile:
    """The profile of a law on a grid whose indices are consecutive."""
    down, drop = math.exp(-law.theta * law.spacing), math.exp(-law.spacing)
    weights = _filtered(law.masses, down * drop)
    gains = _filtered(np.append(-math.expm1(-law.spacing) * down * weights[1:], 0.0), down)
    none = replace(law, indices=law.indices[:0], masses=law.masses[:0])
    return TiltedProfile(none, int(law.indices[0]), gains, weights)


def _filtered(inputs: NDArray[np.float64], ratio: float) -> NDArray[np.float64]:
    """At each place the sum of what is there and of what follows, each step times the ratio."""
    bands = np.empty((2, inputs.size), order="F")  # of the matrix by which such sums give the inputs again
    bands[0], bands[1] = -ratio, 1.0
    sums, _ = lapack.dtbtrs(bands, inputs[:, None], uplo="U", diag="U")  # pyright: ignore[reportAttributeAccessIssue]
    return np.ascontiguousarray(sums[:, 0])


_REST = 19.0
"""-ln of the share of the divergence that the rest may have, about."""

_LARGEST_POWER = 600.0


def below_grid(profile: TiltedProfile, epsilon: float, deviation: float) -> float:
    """A lower end of v for the laws before they were put on the grid; it may be 0 or less, which says nothing.

    deviation: about that of the tilted sum, nats.
    """
    moved = _moved(profile, epsilon)
    return max(moved, _by_spread(profile, epsilon, deviation)) if profile.law.moves.reach else moved


def _moved(profile: TiltedProfile, epsilon: float) -> float:
    """The bound by the sum of all steps; the only one if there are none."""
    theta, away = profile.law.theta, profile.law.moves.reach + profile.law.shift
    low = profile.ends(epsilon + away)[0]
    return low * math.exp(-theta * away) if low > 0 else -math.inf


def _by_spread(profile: TiltedProfile, epsilon: float, deviation: float) -> float:
    """The bound by second differences."""
    moves, theta, shift = profile.law.moves, profile.law.theta, profile.law.shift
    low = profile.ends(epsilon + shift)[0] * math.exp(-theta * shift)
    need = _REST + max(math.log1p(2.5 * deviation * theta * (1 + theta)), -math.log(min(1.0, max(deviation, 1e-300))))
    steep, spread = 1 + theta, moves.squares
    width, rest = (steep + math.sqrt(steep * steep + 8 * need / spread)) * spread / 4, 0.0
    if moves.reach <= width:
        width = moves.reach
    else:
        rest = _rest(width, spread, theta)
    if theta * (width + shift) > _LARGEST_POWER or moves.log_variance > 1:
        return -math.inf
    share = 0.5 * math.sqrt(math.expm1(moves.log_variance)) / math.tanh(width / 2)
    if share > 0.9:
        return -math.inf
    return low - (share * _second_difference(profile, epsilon, width, low) + rest) / (1 - share)


def _second_difference(profile: TiltedProfile, epsilon: float, width: float, low: float) -> float:
    """An upper end of a d'(epsilon - w) + b d'(epsilon + w), less the lower end of d'(epsilon); in units of v."""
    theta, shift = profile.law.theta, profile.law.shift
    a = 1 / (1 + math.exp(-width))
    left = profile.ends(epsilon - width - shift)[1] * math.exp(theta * (width + shift))
    right = profile.ends(epsilon + width - shift)[1] * math.exp(theta * (shift - width))
    return a * left + (1 - a) * right - low


def _rest(width: float, spread: float, theta: float) -> float:
    """The bound on E[rest] over M, at about the best s and t."""
    s, t = max(0.0, 4 * width / spread - theta), max(0.0, 4 * width / spread - 1)
    upper = -s * width + (theta + s) * (1 + theta + s) * spread / 8
    lower = -t * width + (1 + t) ** 2 * spread / 8
    return math.exp(min(_LARGEST_POWER, upper)) + math.exp(min(_LARGEST_POWER, lower))
