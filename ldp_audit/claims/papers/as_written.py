"""Expressions left as a source writes them, so that working them out is what the engines and the checker do.

SymPy evaluates what it is given: of `2 * 3 == 6` it keeps `6 == 6`, which says nothing, and no verdict rests on such a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sympy import Add, Expr, Mul, Pow, evaluate, sympify

from ldp_audit.claims.language.statement import Statement
from ldp_audit.claims.settling import says_nothing


def put_in(formula: Expr, values: Mapping[Any, Any]) -> Expr:
    """The formula with these put in for its variables, and nothing worked out."""
    with evaluate(x=False):
        return formula.xreplace({name: sympify(value) for name, value in values.items()})  # pyright: ignore[reportReturnType]


def total(*terms: Any) -> Expr:
    """The terms, added up by the reader."""
    return Add(*map(sympify, terms), evaluate=False)


def times(*factors: Any) -> Expr:
    """The factors, multiplied by the reader."""
    return Mul(*map(sympify, factors), evaluate=False)


def difference(first: Any, second: Any) -> Expr:
    """first - second, left to the reader."""
    return total(first, times(-1, second))


def quotient(first: Any, second: Any) -> Expr:
    """first / second, left to the reader."""
    return times(first, Pow(sympify(second), -1, evaluate=False))


def telling(parts: Iterable[Statement]) -> tuple[Statement, ...]:
    """Without those whose two sides have become one expression."""
    return tuple(part for part in parts if not says_nothing(part))
