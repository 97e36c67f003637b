"""What a sum of independent losses is made of."""

from __future__ import annotations

from collections.abc import Sequence

from ldp_audit.accounting.contour.contour_loss import ContourLoss
from ldp_audit.accounting.grids.grid_loss import GridLoss
from ldp_audit.accounting.laws.loss_law import LossLaw


def parts_of(law: LossLaw) -> Sequence[tuple[LossLaw, int]]:
    """The losses of a sum that was not worked out, and how often each counts; any other law is its only part."""
    grid = law.grid if isinstance(law, ContourLoss) else law
    return grid.parts if isinstance(grid, GridLoss) else ((law, 1),)
