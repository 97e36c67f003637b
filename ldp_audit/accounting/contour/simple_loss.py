"""The loss of very many equal losses on samples that no contour knows, by closed forms alone.

Such as Laplace noise on a sample of a sample. A grid of so many takes minutes, or says nothing. Ends of epsilon are
5 to 30% apart, in tenths of a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ldp_audit.accounting.contour.simple_ends import SimpleEnds
from ldp_audit.accounting.grids.grid_loss import GridLoss
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss

_MOST_ON_GRID = 10**8


@dataclass(frozen=True, eq=False)
class SimpleLoss:
    """The same loss as the grid's, of which only the parts are asked; both ends of delta hold."""

    grid: GridLoss

    exact = False

    def largest(self) -> float:
        """See `LossLaw`."""
        return self.grid.largest()

    def mirrored(self) -> LossLaw:
        """See `LossLaw`."""
        return SimpleLoss(self.grid.mirrored())

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`."""
        if not math.isfinite(epsilon) or epsilon >= self.largest():
            return self.grid.log_delta_bounds(epsilon)
        return self._ends.log_delta_bounds(epsilon)

    def epsilon_near(self, log_delta: float) -> float:
        """About the level that one of so many losses has at this ln delta: a hint."""
        return self._ends.epsilon_near(log_delta)

    @cached_property
    def _ends(self) -> SimpleEnds:
        return SimpleEnds(self.grid.parts, self.largest())


def by_closed_forms(grid: GridLoss) -> SimpleLoss | None:
    """The grid's loss by closed forms, if it is that of more equal losses on samples than a grid can tell."""
    law, times = grid.parts[0]
    if len(grid.parts) > 1 or times <= _MOST_ON_GRID or not isinstance(law, MixedLoss):
        return None
    bounded = math.isfinite(law.base.largest() + law.base.mirrored().largest())
    return SimpleLoss(grid) if bounded and hasattr(law.base, "masses") else None
