"""Interval: an inequality on a bounded box, by outward-rounded arithmetic on ever smaller boxes.

The cover is the evidence: a tree of cuts at rational points, with a box at each leaf on which the two sides' enclosures
do not meet. The checker encloses each box again. Where the two sides touch, no cover exists.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb
from sympy import Rational

from ldp_audit.claims.evaluate import as_ball, bounds_of, compare, enclosure
from ldp_audit.claims.statement import Statement, is_linked
from ldp_audit.mechanisms.variable import Variable

_MOST_BOXES, _FEW_BOXES = 400, 40
"""Statements that other engines can settle as well get few."""


def prove(statement: Statement, most: int = _MOST_BOXES) -> dict[str, Any] | None:
    """Evidence that the universal inequality holds on its bounded domain; None if no cover of few boxes is found."""
    if statement.relation == "==":
        return None
    try:
        return _cover(statement, [min(most, _FEW_BOXES if _is_rational(statement) else _MOST_BOXES)])
    except (ZeroDivisionError, KeyError, OverflowError):  # an unbounded side, or a domain without ends
        return None


def _is_rational(statement: Statement) -> bool:
    variables = statement.variables()
    gap = statement.right - statement.left
    return bool(gap.is_rational_function(*variables)) and not any(is_linked(v, variables) for v in variables)


def _cover(statement: Statement, left: list[int]) -> dict[str, Any] | None:
    left[0] -= 1
    if left[0] < 0:
        return None
    variables = statement.variables()
    box: dict[Any, Any] = {}
    for variable in variables:
        if not is_linked(variable, variables):
            if variable.lower.is_infinite or variable.upper.is_infinite:
                return None
            low, high = enclosure(variable.lower, box), enclosure(variable.upper, box)
            box[variable] = _hull(bounds_of(low)[0], bounds_of(high)[1])
    if compare(enclosure(statement.left, box), statement.relation, enclosure(statement.right, box)):
        return {"kind": "box"}
    widest = _widest(variables)
    if widest is None:
        return None
    middle = (widest.lower + widest.upper) / 2
    halves = [
        Variable(widest.name, ends[0], ends[1], integer=widest.integer_valued)
        for ends in ((widest.lower, middle), (middle, widest.upper))
    ]
    proofs = []
    for half in halves:
        proof = _cover(statement.at({widest: half}), left)
        if proof is None:
            return None
        proofs.append(proof)
    return {"kind": "halves", "variable": widest.name, "at": str(middle), "below": proofs[0], "above": proofs[1]}


def _widest(variables: list[Variable]) -> Variable | None:
    """The longest side of the box among those with constant ends; None if all are points or lean on others."""
    free = [v for v in variables if not is_linked(v, variables)]
    sides = [v for v in free if v.lower.is_Rational and v.upper.is_Rational and v.lower != v.upper]
    return max(sides, key=lambda v: Rational(v.upper - v.lower), default=None)


def _hull(low: Fraction, high: Fraction) -> arb:
    middle, radius = (low + high) / 2, (high - low) / 2
    return as_ball(middle) + arb(0, 1) * as_ball(radius)
