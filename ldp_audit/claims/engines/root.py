"""Root: a point at which both sides are equal, although it is irrational: a factor of the gap changes its sign there.

With numbers in place of all variables but one, right - left is factored over the rationals. A factor with a real root
inside of the domain has opposite signs at two rational numbers around it, which are the evidence.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

from sympy import Poly, Rational, cancel, factor_list, fraction

from ldp_audit.claims.engines.evaluate import inside_domain
from ldp_audit.claims.engines.simplest import points
from ldp_audit.claims.language.statement import Statement, written
from ldp_audit.mechanisms.variable import Variable

_POINTS, _MOST_DEGREE = 12, 12
_WIDTH = Rational(1, 1000)
"""How far apart the two numbers around a root may be."""


def find(statement: Statement) -> dict[str, Any] | None:
    """Evidence that both sides are equal somewhere in the domain; None if no such point is found."""
    variables = statement.variables()
    gap = statement.right - statement.left
    if statement.given or not variables or not gap.is_rational_function(*variables):
        return None
    for point in islice(points(variables, _POINTS), _POINTS):
        for x in variables:
            others = {v: Rational(value) for v, value in point.items() if v != x}
            fits = x in point and not x.integer_valued and not any(_mentions(v, x) for v in variables)
            found = _along(statement, x, others, point) if fits and len(others) == len(variables) - 1 else None
            if found is not None:
                return found
    return None


def _mentions(v: Variable, x: Variable) -> bool:
    return any(part is not None and x in part.free_symbols for part in (v.lower, v.upper, v.argument))


def _along(statement: Statement, x: Variable, others: dict[Any, Any], point: Any) -> dict[str, Any] | None:
    gap = cancel((statement.right - statement.left).subs(others))
    above, below = fraction(gap)
    if below.free_symbols or gap.free_symbols != {x}:
        return None
    whole = Poly(above, x)
    if whole.degree() > _MOST_DEGREE or not whole.domain.is_Exact or not (whole.domain.is_ZZ or whole.domain.is_QQ):
        return None
    _, factors = factor_list(above, x)
    for factor, _power in factors:
        if Poly(factor, x).degree() == 1:  # its root is a point, which is sought elsewhere
            continue
        for (low, high), _times in Poly(factor, x).intervals(eps=_WIDTH):
            ends = [Rational(low), Rational(high)]
            numbers = [{**point, x: Fraction(int(end.p), int(end.q))} for end in ends]
            if factor.subs(x, ends[0]) * factor.subs(x, ends[1]) < 0 and all(
                inside_domain(statement.variables(), one) for one in numbers
            ):
                return {
                    "kind": "root",
                    "variable": x.name,
                    "between": [str(end) for end in ends],
                    "point": {v.name: str(value) for v, value in others.items()},
                    "factor": written(factor),
                    "cofactor": written(cancel(gap / factor)),
                }
    return None
