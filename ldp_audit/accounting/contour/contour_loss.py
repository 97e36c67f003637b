"""The loss of independent reports together, by contour integrals where those are sure enough, else on a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ldp_audit.accounting.contour.atoms_transform import AtomsTransform
from ldp_audit.accounting.contour.by_largest import ByLargest, by_largest, sampled_parts
from ldp_audit.accounting.contour.contour_plan import MOST_NODES, ContourPlan
from ldp_audit.accounting.contour.few_between import FewBetween
from ldp_audit.accounting.contour.laplace_sum import LaplaceSum
from ldp_audit.accounting.contour.near_one import NearOne
from ldp_audit.accounting.contour.noise_transforms import LaplaceTransform
from ldp_audit.accounting.contour.sampled_laplace_transform import SampledLaplaceTransform
from ldp_audit.accounting.contour.separated_laplace import SeparatedLaplace
from ldp_audit.accounting.contour.separated_loss import SeparatedLoss
from ldp_audit.accounting.contour.simple_ends import SimpleEnds
from ldp_audit.accounting.contour.sum_plan import sum_plan
from ldp_audit.accounting.contour.summed_transform import SummedTransform
from ldp_audit.accounting.contour.symmetric_transform import SymmetricTransform
from ldp_audit.accounting.contour.transforms import transform_of
from ldp_audit.accounting.contour.value_parts import OnSamples, contrast
from ldp_audit.accounting.grids.grid_loss import GridLoss
from ldp_audit.accounting.laws.improper_loss import log_lacking
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.laws.mirrored_levels import of_mirrored

_SHARE, _DIGITS, _ROUNDING, _APART = 0.1, 1e-7, 1e-9, 1e-6
"""How much of the width asked for the contour's ends may have, or of epsilon: no grid has more digits for so large. And
of delta or its logarithm, whatever epsilon that is."""
_FEW_NODES = 2**12
"""Of a line for the whole sum, where that may also be told by its largest value."""
_CONTRAST, _MOST_TIMES = 2e4, 10**7
"""How many times larger than the bulk's deviation losses may be for a grid to tell both; how many it adds at most."""
_AT_ZERO = 1e-3
"""What will do at epsilon = 0 where no grid does better."""
_SEPARATED = 8.0
"""Gaussian noise of so large a mu may show what was drawn."""
_NEAR = 2.0
"""How near a hint is to the ln delta asked for, if it serves."""
_LARGE, _HINTED, _OF_LACKING = -0.7, -0.25, 1e-8
"""ln of a delta from which on what it lacks of 1 is asked; of one from which on that tells where a level is; and the
share of it by which the ends may differ."""
_OFTEN = -15.0
"""ln of a chance that is not little."""
_DEEP, _NEAR_TOP = -750.0, 1 - 1e-9
"""ln of a delta for which no grid is asked where some losses are on samples: no float is as small; and the share of the
largest loss from which on none is asked there."""

Ends = tuple[float, float]
Found = tuple[Ends, float]
"""ln of a lower and of an upper end of delta, and about how fast ln delta falls, if known."""
_NOTHING: Found = ((-math.inf, 0.0), 0.0)


@dataclass(frozen=True, eq=False)
class ContourLoss:
    """The same loss as the grid's; both ends of delta hold.

    grid: the sum on a grid, which is asked where the contours' ends are further apart than its width allows.
    total: the sum's transform.
    """

    grid: GridLoss
    total: SummedTransform

    exact = False

    def largest(self) -> float:
        """See `LossLaw`."""
        return self.grid.largest()

    def mirrored(self) -> LossLaw:
        """See `LossLaw`."""
        return by_contour(self.grid.mirrored())

    def log_delta_bounds(self, epsilon: float) -> Ends:
        """See `LossLaw`. The first call near a level takes some milliseconds, later ones some microseconds."""
        if not math.isfinite(epsilon) or epsilon >= self._largest:
            return self.grid.log_delta_bounds(epsilon)
        if epsilon < 0 and self._symmetric:
            return of_mirrored(epsilon, self.log_delta_bounds(-epsilon))
        ends, width = (-math.inf, 0.0), 0.0 if self._symmetric else _SHARE * self.grid.width
        for way in self.ways:
            (low, high), slope = way(epsilon)
            ends = max(ends[0], low), min(ends[1], high)
            enough = max(slope * max(width, _DIGITS * abs(epsilon)), _ROUNDING * max(1.0, -ends[1]))
            if ends[1] - ends[0] <= enough:
                return ends
            if ends[1] - ends[0] <= _AT_ZERO and epsilon == 0 and not self._grid_serves:
                return ends
        if not self._grid_serves or (self._sampled and (ends[1] < _DEEP or epsilon > self._largest * _NEAR_TOP)):
            return ends
        low, high = self.grid.log_delta_bounds(epsilon)
        return max(ends[0], low), min(ends[1], high)

    def log_delta_at_most(self, epsilon: float) -> float:
        """An upper end of ln delta from the single losses' deltas, at once; mostly far above `log_delta_bounds`."""
        return self._simple.log_added(epsilon)

    def epsilon_near(self, log_delta: float) -> float:
        """About the level with this ln delta, nats: a hint for who looks for it, with no claim."""
        if log_delta > _HINTED:
            return self.near_one.epsilon_near(log_lacking(log_delta))
        if self._noises is not None and self._noises.tells(log_delta):
            return self._largest
        for one in (self._few, self._separated_laplace):
            if one is not None and math.isfinite(hint := one.epsilon_near(log_delta)):
                return hint
        found = self.plan.epsilon_near(log_delta)
        line = self.plan.line(found) if math.isfinite(found) and found > 0 else None
        if line is not None and max(abs(end - log_delta) for end in line.ends(found)) < _NEAR:
            return found
        if self._simple.log_delta_bounds(0.0)[1] <= log_delta:
            return 0.0
        if self._largest_parts is not None:
            return self._largest_parts.epsilon_near(log_delta, self._simple.epsilon_near(log_delta))
        return self.grid.epsilon_near(log_delta) if self._grid_serves else found

    @property
    def ways(self) -> tuple[Callable[[float], Found], ...]:
        """What is tried before the grid, in turn: each tells ends of delta at a level, all of which hold."""
        at_once = self._of_noises, self._of_separated, self._of_separated_laplace
        return *at_once, self._of_line, self._of_few, self._of_simple, self._of_largest

    @cached_property
    def plan(self) -> ContourPlan:
        """The contour of the whole sum."""
        nodes = _FEW_NODES if sampled_parts(self.total.parts) else MOST_NODES
        return sum_plan(self.total.parts, nodes)

    @cached_property
    def near_one(self) -> NearOne:
        """The contours of what delta lacks of 1."""
        return NearOne(self.total)

    @cached_property
    def _largest(self) -> float:
        return self.largest()

    @cached_property
    def _grid_serves(self) -> bool:
        """Whether a grid may tell more: of losses on samples it adds few, and none far larger than all together."""
        times, parts = sum(times for _, times in self.grid.parts), self.total.parts
        shown = self._separated_laplace is not None and self._separated_laplace.serves
        told = self._few is not None or shown or self._symmetric
        return not self._sampled or (not told and times <= _MOST_TIMES and contrast(parts) <= _CONTRAST)

    @cached_property
    def _sampled(self) -> bool:
        """Whether any loss is on a sample."""
        return any(isinstance(one, OnSamples | SampledLaplaceTransform) for one, _ in self.total.parts)

    @cached_property
    def _symmetric(self) -> bool:
        """Whether all losses are those of replaced records, of whose sum only levels >= 0 are worked out."""
        return all(isinstance(one, SymmetricTransform) for one, _ in self.total.parts)

    @cached_property
    def _often_nothing(self) -> bool:
        """Whether all losses are 0 so often that what delta lacks of 1 is not little."""
        return self._symmetric and self.total.log_limit(0.0) > _OFTEN

    @cached_property
    def _separated(self) -> SeparatedLoss | None:
        """The sum as that of values with Gaussian noise that show whether they were drawn, if they may."""
        one, times = self.total.parts[0]
        if len(self.total.parts) > 1 or not isinstance(one, OnSamples) or one.mu < _SEPARATED:
            return None
        return SeparatedLoss(one.mu, one.rate, one.back, times, isinstance(one, SymmetricTransform))

    @cached_property
    def _separated_laplace(self) -> SeparatedLaplace | None:
        """The same with Laplace noise."""
        one, times = self.total.parts[0]
        if len(self.total.parts) > 1 or not isinstance(one, SampledLaplaceTransform):
            return None
        return SeparatedLaplace(one.epsilon, one.rate, one.back, times)

    @cached_property
    def _few(self) -> FewBetween | None:
        """The sum by how many values lie between the two single ones, if few do."""
        one, times = self.total.parts[0]
        if len(self.total.parts) > 1 or not isinstance(one, SampledLaplaceTransform):
            return None
        found = FewBetween(one, times)
        return found if found.serves else None

    @cached_property
    def _largest_parts(self) -> ByLargest | None:
        return by_largest(self.total.parts)

    @cached_property
    def _simple(self) -> SimpleEnds:
        return SimpleEnds(self.grid.parts, self._largest)

    @cached_property
    def _noises(self) -> LaplaceSum | None:
        """The sum as that of equal Laplace noises, if it is one of not too many."""
        one, times = self.total.parts[0]
        if len(self.total.parts) > 1 or not isinstance(one, LaplaceTransform):
            return None
        found = LaplaceSum(one.epsilon, times)
        return found if found.serves else None

    def _of_noises(self, epsilon: float) -> Found:
        found = None if self._noises is None else self._noises.log_delta_bounds(epsilon)
        return _NOTHING if found is None else (self._with_lacking(epsilon, found), 0.0)

    def _of_separated(self, epsilon: float) -> Found:
        found = None if self._separated is None else self._separated.log_delta_bounds(epsilon)
        if self._separated is None or found is None:
            return _NOTHING
        near = self._separated.log_delta_bounds(epsilon * (1 - _APART))
        return found, max(0.0, (near[0] - found[0]) / (_APART * epsilon)) if near and epsilon else 0.0

    def _of_separated_laplace(self, epsilon: float) -> Found:
        found = None if self._separated_laplace is None else self._separated_laplace.log_delta_bounds(epsilon)
        return _NOTHING if found is None else (found, 0.0)

    def _of_few(self, epsilon: float) -> Found:
        return _NOTHING if self._few is None else self._few.log_delta_ends(epsilon)

    def _of_line(self, epsilon: float) -> Found:
        line = self.plan.line(epsilon)
        ends = (-math.inf, self.plan.log_chernoff(epsilon)) if line is None else line.ends(epsilon)
        return self._with_lacking(epsilon, ends), 0.0 if line is None else line.c

    def _with_lacking(self, epsilon: float, ends: Ends) -> Ends:
        """The better ends of these and those by what delta lacks of 1, which are asked where that is little."""
        low, high = ends
        if not high > _LARGE or high - low <= _OF_LACKING * -high or self._often_nothing:
            return ends
        other = self.near_one.log_delta_bounds(epsilon)
        return max(low, other[0]), min(high, other[1])

    def _of_largest(self, epsilon: float) -> Found:
        return _NOTHING if self._largest_parts is None else self._largest_parts.log_delta_ends(epsilon)

    def _of_simple(self, epsilon: float) -> Found:
        return self._simple.log_delta_bounds(epsilon), 0.0


def by_contour(grid: GridLoss) -> LossLaw:
    """The grid's loss by a contour; the grid itself where a law is not known there, or where no line would end."""
    found = [(transform_of(law), times) for law, times in grid.parts]
    known = [(one, times) for one, times in found if one is not None]
    if len(known) < len(found) or all(isinstance(one, AtomsTransform) for one, _ in known):
        return grid
    return ContourLoss(grid, SummedTransform(known))
