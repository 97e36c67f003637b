"""Unevaluated expressions, as a source writes them: the engines and the checker do the arithmetic.

SymPy evaluates its input: `2 * 3 == 6` becomes `6 == 6`, a vacuous statement, and no verdict may rest on such a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sympy import Add, Expr, Mul, Pow, evaluate, sympify

from ldp_audit.claims.language.statement import Statement
from ldp_audit.claims.settling import says_nothing


def put_in(formula: Expr, values: Mapping[Any, Any]) -> Expr:
    """The formula with these values substituted, unevaluated."""
    with evaluate(x=False):
        return formula.xreplace({name: sympify(value) for name, value in values.items()})


def total(*terms: Any) -> Expr:
    """The sum of the terms, unevaluated."""
    return Add(*map(sympify, terms), evaluate=False)


def times(*factors: Any) -> Expr:
    """The product of the factors, unevaluated."""
    return Mul(*map(sympify, factors), evaluate=False)


def difference(first: Any, second: Any) -> Expr:
    """first - second, unevaluated."""
    return total(first, times(-1, second))


def quotient(first: Any, second: Any) -> Expr:
    """first / second, unevaluated."""
    return times(first, Pow(sympify(second), -1, evaluate=False))


def nontrivial(parts: Iterable[Statement]) -> tuple[Statement, ...]:
    """The statements whose two sides are not the same expression."""
    return tuple(part for part in parts if not says_nothing(part))
