"""Interval: an inequality on a bounded box, by outward-rounded arithmetic on ever smaller boxes.

The cover is the evidence: a tree of bisections at rational points, whose leaves are boxes on which the two sides'
enclosures are disjoint. The checker encloses each box again. If the two sides touch, no cover exists. Whole numbers are
bisected half way between two, and enumerated once few are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flint import arb
from sympy import Expr, Rational, ceiling, floor

from ldp_audit.claims.engines.evaluate import as_ball, bounds_of, compare, enclosure
from ldp_audit.claims.language.statement import Statement, is_linked
from ldp_audit.mechanisms.variable import Variable

_MAX_BOXES, _FEW_BOXES = 400, 40
"""Statements that other engines can settle too are given few."""
_FEW_VALUES = 2

Cuts = Mapping[Variable, tuple[Expr, Expr]]
"""The rational bounds to which variables were bisected; the others have their own."""


def prove(statement: Statement, most: int = _MAX_BOXES) -> dict[str, Any] | None:
    """Evidence that the universal inequality holds on its bounded domain; None if no small cover is found."""
    if statement.relation == "==":
        return None
    try:
        return _cover(statement, {}, [min(most, _FEW_BOXES if _is_rational(statement) else _MAX_BOXES)])
    except (ZeroDivisionError, KeyError, OverflowError):  # an unbounded domain, or too large a number
        return None


def _is_rational(statement: Statement) -> bool:
    variables = statement.variables()
    gap = statement.right - statement.left
    return bool(gap.is_rational_function(*variables)) and not any(is_linked(v, variables) for v in variables)


def _cover(statement: Statement, cuts: Cuts, left: list[int]) -> dict[str, Any] | None:
    left[0] -= 1
    if left[0] < 0:
        return None
    variables = statement.variables()
    box: dict[Any, Any] = {}
    for variable in variables:
        if not is_linked(variable, variables):
            if variable.lower.is_infinite or variable.upper.is_infinite:
                return None
            low, high = (enclosure(end, box) for end in _ends(variable, cuts))
            box[variable] = _hull(bounds_of(low)[0], bounds_of(high)[1])
    if _certainly_holds(statement, box):
        return {"kind": "box"}
    widest = _widest(variables, cuts)
    if widest is None:
        return None
    values = _values(widest, cuts)
    if 0 < len(values) <= _FEW_VALUES:
        single = {str(number): _cover(statement.at({widest: number}), cuts, left) for number in values}
        return {"kind": "cases", "variable": widest.name, "proofs": single} if all(single.values()) else None
    lower, upper = _ends(widest, cuts)
    middle = (lower + upper) / 2
    if widest.integer_valued:
        middle = floor(middle) + Rational(1, 2)  # every whole number is then in exactly one half
    below = _cover(statement, {**cuts, widest: (lower, middle)}, left)
    above = below and _cover(statement, {**cuts, widest: (middle, upper)}, left)
    if not above:
        return None
    return {"kind": "halves", "variable": widest.name, "at": str(middle), "below": below, "above": above}


def _certainly_holds(statement: Statement, box: dict[Any, Any]) -> bool:
    """Whether the relation certainly holds on the whole box; False if a part of a side is unbounded."""
    try:
        return compare(enclosure(statement.left, box), statement.relation, enclosure(statement.right, box)) is True
    except ZeroDivisionError:
        return False


def _ends(variable: Variable, cuts: Cuts) -> tuple[Expr, Expr]:
    return cuts.get(variable, (variable.lower, variable.upper))


def _widest(variables: list[Variable], cuts: Cuts) -> Variable | None:
    """The longest side of the box among those with constant bounds; None if all are points or depend on others."""
    ends = {v: _ends(v, cuts) for v in variables if not is_linked(v, variables)}
    sides = {v: high - low for v, (low, high) in ends.items() if low.is_Rational and high.is_Rational and low != high}
    return max(sides, key=lambda v: sides[v], default=None)


def _values(variable: Variable, cuts: Cuts) -> range:
    """The whole numbers between the bounds; empty for a variable that takes other values."""
    if not variable.integer_valued:
        return range(0)
    lower, upper = _ends(variable, cuts)
    first = floor(lower) + 1 if variable.lower_open and lower == variable.lower else ceiling(lower)
    last = ceiling(upper) - 1 if variable.upper_open and upper == variable.upper else floor(upper)
    return range(int(first), int(last) + 1)


def _hull(low: Fraction, high: Fraction) -> arb:
    middle, radius = (low + high) / 2, (high - low) / 2
    return as_ball(middle) + arb(0, 1) * as_ball(radius)
