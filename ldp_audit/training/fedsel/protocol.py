"""What a run spends, as the accounting room describes it: the mechanisms that the run draws from, and how often.

The unit is a record: each user has one. Where a step's epsilon is its stage's, the accounting's split gives it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldp_audit.accounting.protocols.protocol import Protocol, Split, Step
from ldp_audit.mechanisms import CoordinateSampling, PerturbedEncoding
from ldp_audit.training.fedsel.budget import stages
from ldp_audit.training.fedsel.solution import Solution, solution
from ldp_audit.training.fedsel.value import MECHANISMS

if TYPE_CHECKING:
    from ldp_audit.training.fedsel.plan import FedSel

_SELECTION = {
    "EXP": "ExponentialSelection(d={d}",
    "PE": "PerturbedEncoding(d={d}, k={k}",
    "PS": "PerturbedSampling(d={d}, k={k}",
}
_VALUE = {"PM": "Piecewise(", "HM": "Hybrid(", "DUCHI": "TwoPoint("}
_CLIP = "The value is clipped to [-1, 1] first; without that, no epsilon is finite (FS-CLIP)."
_TIES = "Ties are broken so that exactly k entries are selected from; otherwise the cost is larger (FS-TIES)."
_CONTROL = "A control group: the selection's share comes on top of the whole budget, which the value has."
_CORRECTED = "PE's bits have a smaller epsilon, so that the whole report keeps to the selection's share."
_PUBLISHED = "PE as published: its report has more than the selection's share (FS-L2)."


def protocol(plan: FedSel, split: Split, *, data: str, users: int, d: int, k: int) -> Protocol | None:
    """The whole run; None where no epsilon is finite: NP..., and a selection alone, which sends the value as it is.

    data: its name.   users: of one model.   d: weights.   k: size of the top set.
    """
    chosen = solution(plan.solution)
    if not chosen.private:
        return None
    budget = stages(chosen, split, plan.epochs, d)
    two_stage = chosen.kind == "two-stage"
    steps = (
        (_selection(chosen, budget.selection, d, k, plan), _value(chosen, budget.value))
        if two_stage
        else (_value(chosen, *_shares(plan, budget.value, d)),)
    )
    by_paper = two_stage and not chosen.control
    return Protocol(
        name=f"FedSel's {chosen.name} on {data}",
        steps=tuple(step for step in steps if step),
        unit="record",
        adjacency="replace",
        epochs=plan.epochs,
        dimensions=d,
        split=split if by_paper else None,
        paper="fedsel" if by_paper else None,
        source="Liu, Cao, Yoshikawa, Chen, FedSel (DASFAA 2020), Algorithm 1 and Section 5",
        notes=_notes(chosen, users, k, plan),
    )


def _selection(chosen: Solution, epsilon: float, d: int, k: int, plan: FedSel) -> Step | None:
    """Without its epsilon where the split gives it; None where a control group's selection has no budget."""
    head = _SELECTION[chosen.selection].format(d=d, k=k)
    if chosen.selection == "PE" and plan.corrected and epsilon > 0:
        epsilon = PerturbedEncoding.calibrated(epsilon, d, k).epsilon
    elif not chosen.control:
        return Step(f"{head})", ("epochs",), "which dimension", stage="selection")
    return Step(f"{head}, epsilon={epsilon!r})", ("epochs",), "which dimension") if epsilon else None


def _value(chosen: Solution, epsilon: float, times: int = 1) -> Step:
    head = _VALUE[chosen.value]
    if chosen.kind == "two-stage" and not chosen.control:
        return Step(f"{head})", ("epochs",), "its value", stage="value")
    return Step(f"{head}epsilon={epsilon!r})", ("epochs", times), "its value")


def _shares(plan: FedSel, epsilon: float, d: int) -> tuple[float, int]:
    """The budget of one coordinate of the flat solutions, and how many a report has."""
    chosen = solution(plan.solution)
    if chosen.kind != "flat":
        return epsilon, 1
    flat = CoordinateSampling(MECHANISMS[chosen.value], epsilon, d, plan.coordinates)
    return flat.coordinate().epsilon, flat.k


def _notes(chosen: Solution, users: int, k: int, plan: FedSel) -> tuple[str, ...]:
    stopped = "" if plan.rounds is None else f"; those whose turn comes after round {plan.rounds} once less"
    found = [f"{users} users train a model; each reports once an epoch{stopped}.", _CLIP]
    if chosen.selection in ("PE", "PS"):
        found += [f"k = {k}.", _TIES]
    if chosen.selection == "PE":
        found.append(_CORRECTED if plan.corrected else _PUBLISHED)
    if chosen.control:
        found.append(_CONTROL)
    return tuple(found)
