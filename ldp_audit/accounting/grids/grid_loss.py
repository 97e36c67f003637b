r"""The loss of any independent reports together, on a grid by FFT, with certified ends of delta(epsilon).

Upper end: each law is put on a grid from above (`gridding`), and the sum of laws that dominate dominates. Lower end:
the same sum, less a bound on what the grid can have added (`spread_bound`); no smoothness is asked of the laws. Both
are of second order in the spacing. Losses that have a spacing of their own are added on that, and moved once
(`grid_sum`).

The sum is computed under an exponential tilt (`tilted_law`), so that delta = 1e-300 has the same relative precision as
0.1. One tilt serves levels within some 2.5 standard deviations (`tilt_plan`). A level has always the same tilt, so an
answer depends on the question alone. The spacing is chosen anew for each tilt: such that epsilon at one delta is known
to about the width asked for, or as well as the number of points allows. Where some rare losses are far larger than all
others, every tilt that reaches a level may be one of them alone: then they are left out, and counted as infinite.

What is believed: the laws' cell masses, to 2**-52 (4 + 2 |ln mass|) of themselves, between edges that may be rounded
by as much as 2**-50 of themselves. Reports are independent, or adaptive as far as each law dominates whatever was
chosen (see `compose`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ldp_audit.accounting.budget_arguments import whole
from ldp_audit.accounting.grids.grid_parts import (
    Discretisable,
    Part,
    flat_parts,
    gridded_parts,
    log_any,
    log_infinite_of,
)
from ldp_audit.accounting.grids.grid_sum import grid_sum
from ldp_audit.accounting.grids.spread_bound import below_grid
from ldp_audit.accounting.grids.tilt_plan import WIDTH, Grid, Tilt, TiltPlan, tilt_plan
from ldp_audit.accounting.grids.tilted_profile import TiltedProfile, profile_of
from ldp_audit.accounting.kept import Kept
from ldp_audit.accounting.laws.loss_atoms import LossAtoms

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

    laws: at least one; each a `DiscretisableLaw`, a law of finitely many losses, or the result of this function.
    times: whole, >= 1.   width: nats, how much the two ends of an epsilon may differ; met where `points` allow.
    points: the most points of a grid, 1024 .. 2**24; each takes about 100 bytes.
    Raises ValueError for anything else.
    """
    check_width(width)
    if isinstance(points, bool) or not isinstance(points, int) or not 1024 <= points <= 2**24:
        raise ValueError(f"points must be a whole number in 1024 .. 2**24, got {points!r}")
    listed: list[Part] = []
    for law, times in laws:
        inner = law.parts if isinstance(law, GridLoss) else ((law, 1),)
        listed += [(one, count * whole(times, "times")) for one, count in inner]
    if not listed:
        raise ValueError("laws must hold one law or more, got none")
    return GridLoss(tuple(flat_parts(listed)), width, points)


class _Around(NamedTuple):
    """What is known around a level: the profile, if it could be computed, and the tilted sum's deviation, nats."""

    profile: TiltedProfile | None
    deviation: float


@dataclass(frozen=True, eq=False)
class GridLoss:
    """The loss of independent reports: `parts` hold each law and how many times. Made by `compose_on_grid`.

    Both ends of delta hold; at one delta their epsilons differ by about `width`, by more if `points` are too few.
    """

    parts: tuple[Part, ...]
    width: float
    points: int
    _known: Kept[tuple[tuple[float, ...], int, bool, bool], _Around] = field(
        default_factory=lambda: Kept(_MOST_KEPT), init=False, repr=False
    )

    exact = False

    def largest(self) -> float:
        """See `LossLaw`."""
        return math.fsum(times * law.largest() for law, times in self.parts)

    def mirrored(self) -> GridLoss:
        """See `LossLaw`: the sum of the mirrored laws."""
        mirrored = [(law.mirrored(), times) for law, times in self.parts]
        return compose_on_grid(mirrored, width=self.width, points=self.points)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`. The first call near a level takes some transforms, later ones some microseconds."""
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
    def _laws(self) -> list[Discretisable]:
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

        return self._known.of((tuple(plan.tops), place, fine, deep), around)

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
