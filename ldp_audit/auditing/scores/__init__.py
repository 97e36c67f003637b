"""Scores: a number for each output, high where one input is likelier than the other. One file a kind.

A score is learned on samples that no bound is computed from, written to JSON, and read back the same.
"""

from __future__ import annotations

from typing import Any

from ldp_audit.auditing.scores.additive import Additive
from ldp_audit.auditing.scores.boxes import Boxes
from ldp_audit.auditing.scores.coordinate import Coordinate
from ldp_audit.auditing.scores.equals import Equals
from ldp_audit.auditing.scores.floating_point import UnitInLastPlace
from ldp_audit.auditing.scores.law_score import LawScore
from ldp_audit.auditing.scores.linear import Linear
from ldp_audit.auditing.scores.pattern import Pattern
from ldp_audit.auditing.scores.residuals import Residuals
from ldp_audit.auditing.scores.score import Score
from ldp_audit.auditing.scores.summary import Summary

KINDS: tuple[type[Score], ...] = (
    Coordinate,
    Boxes,
    Equals,
    Additive,
    Pattern,
    Summary,
    Linear,
    Residuals,
    UnitInLastPlace,
    LawScore,
)
"""Every kind of score that can be read back. A new kind is one file, its line here, and one of the two lines below, if
it is learned."""

LEARNERS = (Coordinate.learn, Additive.learn, Pattern.learn, Summary.learn, Linear.learn, Residuals.learn)
"""What is tried on vectors, in this order."""

NUMBER_LEARNERS = (UnitInLastPlace.learn,)
"""What is tried on single numbers where `floating_point` is asked for, beside the numbers themselves."""


def score_from_dict(data: Any) -> Score:
    """The score that `to_dict` wrote. Raises ValueError for anything else."""
    known = {kind.KIND: kind for kind in KINDS}
    name = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"score's kind must be one of {', '.join(known)}, got {data!r:.200}")
    return known[name].from_dict(data)


__all__ = ["KINDS", "LEARNERS", "NUMBER_LEARNERS", "Score", "score_from_dict"]
