"""Which sender a plan's solution is: its mechanisms, with their budgets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ldp_audit.accounting.protocols.protocol import Split
from ldp_audit.mechanisms import CoordinateSampling, RandomProjection
from ldp_audit.training.fedsel.budget import stages
from ldp_audit.training.fedsel.competitors import FlatSender, FullSender, ProjectionSender, RandomCoordinateSender
from ldp_audit.training.fedsel.selection import Largest, oracle
from ldp_audit.training.fedsel.sent import Sender
from ldp_audit.training.fedsel.solution import solution
from ldp_audit.training.fedsel.two_stage import TwoStageSender
from ldp_audit.training.fedsel.value import MECHANISMS
from ldp_audit.training.streams import Streams

if TYPE_CHECKING:
    from ldp_audit.training.fedsel.plan import FedSel


def top_size(plan: FedSel, d: int) -> int:
    """k: the plan's, or a tenth of d. ValueError where PE and PS cannot have it."""
    chosen, k = solution(plan.solution), plan.k or max(1, d // 10)
    if chosen.kind in ("selection", "two-stage") and d < 2:
        raise ValueError(f"data must have two columns or more for a selection, got {d}")
    if chosen.selection in ("PE", "PS") and k > d - 1:
        raise ValueError(f"k must be a whole number from 1 to d - 1 = {d - 1}, got {k}")
    return k


def sender(plan: FedSel, split: Split, d: int, model: tuple[int, int], streams: Streams) -> Sender:
    """What the users of a model send.   model: (repeat, fold); random projections have a public matrix each."""
    chosen, budget, k = (
        solution(plan.solution),
        stages(solution(plan.solution), split, plan.epochs, d),
        top_size(plan, d),
    )
    value = MECHANISMS[chosen.value](budget.value) if chosen.value else None
    if chosen.kind == "full":
        return FullSender()
    if chosen.kind == "random":
        return RandomCoordinateSender()
    if chosen.kind == "largest":
        return TwoStageSender(Largest(d), None, plan.momentum)
    if chosen.kind == "flat":
        return FlatSender(CoordinateSampling(MECHANISMS[chosen.value], budget.value, d, plan.coordinates))
    if chosen.kind == "projection":
        q = max(1, math.floor(plan.ratio * d + 1e-9))  # 0.1 * 30 is a little more than 3, 0.7 * 10 a little less than 7
        matrix = streams.numpy("projection", *model)
        return ProjectionSender(RandomProjection.drawn(value, d, q, matrix, clip=True))
    selection = oracle(chosen.selection, budget.selection, d, k, corrected=plan.corrected)
    return TwoStageSender(selection, value, plan.momentum)
