"""The loss of independent reports together, by a contour integral where that is sure enough, else on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ldp_audit.accounting.contour.atoms_transform import AtomsTransform
from ldp_audit.accounting.contour.contour_plan import ContourPlan
from ldp_audit.accounting.contour.summed_transform import SummedTransform
from ldp_audit.accounting.contour.transforms import transform_of
from ldp_audit.accounting.grids.grid_loss import GridLoss
from ldp_audit.accounting.laws.loss_law import LossLaw

_SHARE, _DIGITS = 0.1, 1e-8
"""How much of the width asked for the contour's ends may have, or of epsilon: no grid has more digits for so large."""


@dataclass(frozen=True, eq=False)
class ContourLoss:
    """The same loss as the grid's; both ends of delta hold.

    grid: the sum on a grid, which is asked where the contour's ends are further apart than its width allows.
    plan: the contour.
    """

    grid: GridLoss
    plan: ContourPlan

    exact = False

    def largest(self) -> float:
        """See `LossLaw`."""
        return self.grid.largest()

    def mirrored(self) -> LossLaw:
        """See `LossLaw`."""
        return by_contour(self.grid.mirrored())

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`. The first call near a level takes some milliseconds, later ones some microseconds."""
        if not math.isfinite(epsilon) or epsilon >= self._largest:
            return self.grid.log_delta_bounds(epsilon)
        line = self.plan.line(epsilon)
        if line is None:
            low, high = self.grid.log_delta_bounds(epsilon)
            return low, min(high, self.plan.log_chernoff(epsilon))
        low, high = line.ends(epsilon)
        # ln delta falls at about the rate c
        if high - low <= line.c * max(_SHARE * self.grid.width, _DIGITS * abs(epsilon)):
            return low, high
        more_low, more_high = self.grid.log_delta_bounds(epsilon)
        return max(low, more_low), min(high, more_high)

    def epsilon_near(self, log_delta: float) -> float:
        """About the level with this ln delta, nats: a hint for who looks for it, with no claim."""
        found = self.plan.epsilon_near(log_delta)
        return found if math.isfinite(found) else self.grid.epsilon_near(log_delta)

    @cached_property
    def _largest(self) -> float:
        return self.largest()


def by_contour(grid: GridLoss) -> LossLaw:
    """The grid's loss by a contour; the grid itself where a law is not known there, or where there are atoms alone."""
    found = [(transform_of(law), times) for law, times in grid.parts]
    known = [(one, times) for one, times in found if one is not None]
    if len(known) < len(found) or all(isinstance(one, AtomsTransform) for one, _ in known):
        return grid
    return ContourLoss(grid, ContourPlan(SummedTransform(known)))
