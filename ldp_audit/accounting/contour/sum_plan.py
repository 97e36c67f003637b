"""The lines of a sum of losses, for levels epsilon >= 0.

Where all losses are symmetric ones on samples (`symmetric_transform`) and may well all be 0, M does not fall all the
way along a line. But outcomes without any other loss add nothing to delta(epsilon >= 0), and M without them falls off
as 1/y**2 does: as far as its most points go.
"""

from __future__ import annotations

from collections.abc import Sequence

from ldp_audit.accounting.contour.contour_plan import MOST_NODES, ContourPlan
from ldp_audit.accounting.contour.largest_part import LargestPart
from ldp_audit.accounting.contour.summed_transform import SummedTransform
from ldp_audit.accounting.contour.symmetric_transform import SymmetricTransform, ZeroTransform
from ldp_audit.accounting.contour.transform import Transform

_GONE = -60.0
"""ln of how likely it may be that all losses are 0 for that to be no matter."""
_NODES = 2**10


def sum_plan(parts: Sequence[tuple[Transform, int]], most_nodes: int = MOST_NODES) -> ContourPlan:
    """The lines of the sum of these losses, each so many times."""
    symmetric = [(one, times) for one, times in parts if isinstance(one, SymmetricTransform)]
    if len(symmetric) < len(parts) or sum(times * one.log_zero for one, times in symmetric) < _GONE:
        return ContourPlan(SummedTransform(parts), most_nodes)
    apart = [(ZeroTransform(one.log_zero), one.nonzero, times) for one, times in symmetric]
    return ContourPlan(LargestPart(apart), _NODES, to_the_end=True)
