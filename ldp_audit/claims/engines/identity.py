"""Identity: two rational functions are equal, because the numerator of their difference is the zero polynomial."""

from __future__ import annotations

from typing import Any

from ldp_audit.claims.engines.positive_form import Slacks
from ldp_audit.claims.rational import NotRationalFunctionError
from ldp_audit.claims.statement import Statement


def prove(statement: Statement) -> dict[str, Any] | None:
    """Evidence that the universal equality holds, and is defined, on its whole domain; None if it is not shown."""
    try:
        slacks = Slacks(statement.variables())
        divisors = slacks.divisor_forms() if slacks.gap(statement).numerator.is_zero() else None
    except (NotRationalFunctionError, ZeroDivisionError):
        return None
    return None if divisors is None else {"kind": "identity", "gap": "0", "divisors": divisors}
