"""Recompute: a statement without variables, by exact arithmetic, or by outward-rounded balls where it is irrational."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ldp_audit.claims.engines.evaluate import Value, bounds_of, compare, value
from ldp_audit.claims.language.statement import Statement

_LONG, _TOO_LONG = 512, 10_000


def settle(statement: Statement) -> tuple[bool | None, dict[str, Any]]:
    """Whether the relation between the two numbers holds (None: the balls overlap), and the two numbers.

    Raises ZeroDivisionError where a side is undefined.
    """
    left, right = value(statement.left, {}), value(statement.right, {})
    evidence = {"kind": "value", "left": written(left), "right": written(right)}
    return compare(left, statement.relation, right), evidence


def written(number: Value) -> str | list[str]:
    """A rational as it is; an irrational, or one of very many digits, as 18-digit decimals below and above it."""
    if isinstance(number, Fraction) and number.denominator.bit_length() < _LONG:
        if number.numerator.bit_length() > _TOO_LONG:
            raise OverflowError("a number is too large to be written down")
        return str(number)
    low, high = bounds_of(number)
    if low == high == 0:  # a factor was 0
        return "0"
    scale = 10**18
    return [_decimal(low * scale // 1), _decimal(-(-high * scale // 1))]


def _decimal(scaled: int) -> str:
    if scaled.bit_length() > _TOO_LONG:
        raise OverflowError("a number is too large to be written down")
    sign = "-" if scaled < 0 else ""
    whole, part = divmod(abs(scaled), 10**18)
    return f"{sign}{whole}.{part:018d}"
