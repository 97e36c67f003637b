"""Identity: two rational functions are equal, because the numerator of their difference is the zero polynomial."""

from __future__ import annotations

from typing import Any

from ldp_audit.claims.engines.certificate import divisor_forms, texts
from ldp_audit.claims.engines.positive_form import Slacks
from ldp_audit.claims.engines.rational import NotRationalFunctionError
from ldp_audit.claims.language.statement import Statement, is_linked


def prove(statement: Statement) -> dict[str, Any] | None:
    """Evidence that the universal equality holds, and is defined, on its whole domain; None if it is not shown."""
    try:
        if not Slacks(statement.variables()).gap(statement).numerator.is_zero():
            return None
        shown = divisors(statement)
    except (NotRationalFunctionError, ZeroDivisionError):
        return None
    return None if shown is None else {"kind": "identity", "gap": "0", **shown}


def divisors(statement: Statement) -> dict[str, Any] | None:
    """Evidence that nothing divided by is 0: forms, in the slacks that give them first; None if there are none."""
    linked = any(is_linked(v, statement.variables()) for v in statement.variables())
    for degree in (0, 1) if linked else (1,):
        forms = divisor_forms(statement, degree)
        if forms is not None:
            return {"divisors": texts(forms), **({"taylor": degree} if linked and degree else {})}
    return None
