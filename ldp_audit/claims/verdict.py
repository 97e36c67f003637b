"""The verdicts, and the verdict of a claim from those of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class Verdict(StrEnum):
    """What is known about a claim, in DESIGN's words."""

    PROVED = "PROVED"
    REFUTED = "REFUTED"
    CONDITIONAL = "CONDITIONAL"
    VACUOUS = "VACUOUS"
    ENUMERATED = "ENUMERATED"
    NUMERIC = "NUMERIC"
    PROSE = "PROSE"
    UNDECIDED = "UNDECIDED"


def combine(verdicts: Sequence[Verdict]) -> Verdict:
    """A conjunction: refuted if one part is, undecided if one part is and none is refuted, else proved.

    Raises ValueError for an empty conjunction.
    """
    if not verdicts:
        raise ValueError("no parts to combine")
    if Verdict.REFUTED in verdicts:
        return Verdict.REFUTED
    return Verdict.PROVED if all(verdict is Verdict.PROVED for verdict in verdicts) else Verdict.UNDECIDED


def claim_verdict(
    parts: Sequence[Verdict],
    condition: Sequence[Verdict] = (),
    void: Sequence[Verdict] = (),
    *,
    sizes: bool = False,
    argued: bool = False,
) -> Verdict:
    """The verdict of a claim from those of its own parts: no other statement can stand in for them.

    parts: as published, in the most charitable reading.  condition: under the assumption that the paper does not state.
    void: statements that, if true, make a true claim worthless.
    sizes: the parts cover listed sizes only.  argued: a prose argument replaces parts.
    """
    if not parts:
        return Verdict.PROSE if argued else Verdict.UNDECIDED
    whole = combine(parts)
    if whole is Verdict.REFUTED and condition and combine(condition) is Verdict.PROVED:
        return Verdict.CONDITIONAL
    if whole is not Verdict.PROVED:
        return whole
    if void and combine(void) is Verdict.PROVED:
        return Verdict.VACUOUS
    return Verdict.ENUMERATED if sizes else Verdict.PROVED
