"""The solutions that FedSel's experiments compare, by the names of the paper's Table 2.

    NP, NP-RS, NP-K      not private: the whole gradient; one random coordinate times d; the largest coordinate
    EXP, PE, PS          the selection only, with the whole budget; the value is reported exactly
    PM, HM, DUCHI        flat: random coordinates, their values perturbed
    PM-RP, ...           compressed: one public random combination of the coordinates, perturbed
    EXP-PM, ...          FedSel: a selected coordinate, its value perturbed
    EXP-PM-C, ...        the control group: the selection's share, and the whole budget again for the value
    EXP-PM-O, ...        FedSel with the original accumulation, of alpha g

An epoch's budget is divided as in `accounting`, so that a run spends what its protocol states.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 1, Sections 5.1 and 5.3 (the split without hyper-parameters:
at least sqrt(d ln d / m) for the value, at most a share theta for the selection).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ldp_audit.accounting.protocols.protocol import Split
from ldp_audit.mechanisms import Hybrid, Piecewise, TwoPoint

SELECTIONS = ("EXP", "PE", "PS")
MECHANISMS: dict[str, Any] = {"PM": Piecewise, "HM": Hybrid, "DUCHI": TwoPoint}
"""Of values, by their names in a solution; each takes its epsilon."""
VALUES = tuple(MECHANISMS)

Kind = Literal["full", "random", "largest", "selection", "flat", "projection", "two-stage"]

_NOT_PRIVATE: dict[str, Kind] = {"NP": "full", "NP-RS": "random", "NP-K": "largest"}


@dataclass(frozen=True)
class Solution:
    """A solution of Table 2.

    kind: see the module.   selection: one of SELECTIONS, or "".   value: one of VALUES, or "".
    control: the value has the whole budget, besides the selection's.   original: alpha g is accumulated, not g.
    """

    name: str
    kind: Kind
    selection: str = ""
    value: str = ""
    control: bool = False
    original: bool = False

    @property
    def private(self) -> bool:
        """Whether a report has a finite epsilon; a selection alone reports the value exactly."""
        return self.value != ""

    @property
    def accumulates(self) -> bool:
        """Whether users accumulate what they have not reported: those that select by magnitude."""
        return self.kind in ("largest", "selection", "two-stage")


def solution(name: str) -> Solution:
    """The solution with this name. Raises ValueError, listing the names, for any other."""
    found = _SOLUTIONS.get(name)
    if found is None:
        raise ValueError(
            f"solution must be NP, NP-RS, NP-K, one of {', '.join(SELECTIONS)} (selection alone), one of "
            f"{', '.join(VALUES)} (flat), such with -RP (random projection), or both joined, such as EXP-PM, then "
            f"also with -C (control group) or -O (original accumulation); got {name!r}"
        )
    return found


def _all_solutions() -> dict[str, Solution]:
    found = [Solution(name, kind) for name, kind in _NOT_PRIVATE.items()]
    found += [Solution(name, "selection", selection=name) for name in SELECTIONS]
    found += [Solution(name, "flat", value=name) for name in VALUES]
    found += [Solution(f"{name}-RP", "projection", value=name) for name in VALUES]
    for selection in SELECTIONS:
        for value in VALUES:
            name = f"{selection}-{value}"
            found += [
                Solution(name, "two-stage", selection, value),
                Solution(f"{name}-C", "two-stage", selection, value, control=True),
                Solution(f"{name}-O", "two-stage", selection, value, original=True),
            ]
    return {one.name: one for one in found}


_SOLUTIONS = _all_solutions()
NAMES = tuple(_SOLUTIONS)
"""The names of all solutions."""


class Stages(NamedTuple):
    """The budget of each stage in one epoch, nats; 0 for an absent stage."""

    selection: float
    value: float


def split_of(epsilon: float, mu: float | None, threshold: float, batch: int) -> Split:
    """FedSel's split of the budget.   mu: None for the one without hyper-parameters, which uses the batch size m."""
    return Split(epsilon, mu=mu) if mu is not None else Split(epsilon, batch=batch, threshold=threshold)


def stages(solution: Solution, split: Split, epochs: int, d: int) -> Stages:
    """The budgets of this solution's stages."""
    whole = split.epsilon / epochs
    if solution.kind == "selection":
        return Stages(whole, 0.0)
    if solution.kind == "two-stage":
        found = split.stages(epochs, d)
        return Stages(found["selection"], whole if solution.control else found["value"])
    return Stages(0.0, whole if solution.private else 0.0)
