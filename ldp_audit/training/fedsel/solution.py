"""The solutions that FedSel's experiments compare, by the names of the paper's Table 2.

    NP, NP-RS, NP-K      not private: the whole gradient; one random coordinate times d; the largest coordinate
    EXP, PE, PS          the selection alone, with the whole budget; the value goes out as it is
    PM, HM, DUCHI        flat: random coordinates, their values perturbed
    PM-RP, ...           compressed: one public random combination of the coordinates, perturbed
    EXP-PM, ...          FedSel: a selected coordinate, its value perturbed
    EXP-PM-C, ...        the control group: the selection's share, and the whole budget again for the value
    EXP-PM-O, ...        FedSel with the original accumulation, of alpha g

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Sections 5.1 and 5.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SELECTIONS = ("EXP", "PE", "PS")
VALUES = ("PM", "HM", "DUCHI")

Kind = Literal["full", "random", "largest", "selection", "flat", "projection", "two-stage"]

_NOT_PRIVATE: dict[str, Kind] = {"NP": "full", "NP-RS": "random", "NP-K": "largest"}


@dataclass(frozen=True)
class Solution:
    """What a user sends.

    kind: see the module.   selection: one of SELECTIONS, or "".   value: one of VALUES, or "".
    control: the value has the whole budget, beside the selection's.   original: alpha g is accumulated, not g.
    """

    name: str
    kind: Kind
    selection: str = ""
    value: str = ""
    control: bool = False
    original: bool = False

    @property
    def private(self) -> bool:
        """Whether a report has a finite epsilon: a selection alone shows the value itself."""
        return self.value != ""

    @property
    def accumulates(self) -> bool:
        """Whether users keep what they have not sent: those that choose by magnitude."""
        return self.kind in ("largest", "selection", "two-stage")


def solution(name: str) -> Solution:
    """The solution of this name; ValueError, with the names that there are, for any other."""
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
"""Every solution's name."""
