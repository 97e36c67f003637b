"""How an epoch's budget is divided, as the accounting room divides it, so that a run spends what its protocol says.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 1, lines 2 and 3, and Section 5.3 (the split without
hyper-parameters: at least sqrt(d ln d / m) for the value, at most a share theta for the selection).
"""

from __future__ import annotations

from typing import NamedTuple

from ldp_audit.accounting.protocols.protocol import Split
from ldp_audit.training.fedsel.solution import Solution


class Stages(NamedTuple):
    """What each stage may spend in one epoch, nats; 0 for one that there is not."""

    selection: float
    value: float


def split_of(epsilon: float, mu: float | None, threshold: float, batch: int) -> Split:
    """FedSel's split.   mu: None for the one without hyper-parameters, from the batch m."""
    return Split(epsilon, mu=mu) if mu is not None else Split(epsilon, batch=batch, threshold=threshold)


def stages(solution: Solution, split: Split, epochs: int, d: int) -> Stages:
    """What this solution's stages may spend."""
    whole = split.epsilon / epochs
    if solution.kind == "selection":
        return Stages(whole, 0.0)
    if solution.kind == "two-stage":
        found = split.stages(epochs, d)
        return Stages(found["selection"], whole if solution.control else found["value"])
    return Stages(0.0, whole if solution.private else 0.0)
