"""Enumeration: a statement about whole numbers in a finite range, value by value, each by another engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sympy import ceiling, floor

from ldp_audit.claims.language.statement import Statement
from ldp_audit.mechanisms.variable import Variable

MOST_VALUES, MOST_CASES = 200, 1000
"""Limits on the length of a range, and on the number of cases of several variables."""

Prover = Callable[[Statement, int], dict[str, Any] | None]


def prove(statement: Statement, prove_one: Prover, most: int = MOST_CASES) -> dict[str, Any] | None:
    """Evidence for every value of the first whole-number variable with a finite range; None if one value has none.

    prove_one: finds evidence for the statement at one value, within a number of cases; it may recurse into the next
        variable.
    """
    variable = next((v for v in statement.variables() if values_of(v)), None)
    if variable is None or len(values_of(variable)) > most:
        return None
    proofs = {}
    for number in values_of(variable):
        proof = prove_one(statement.at({variable: number}), most // len(values_of(variable)))
        if proof is None:
            return None
        proofs[str(number)] = proof
    return {"kind": "cases", "variable": variable.name, "proofs": proofs}


def values_of(variable: Variable) -> range:
    """The values of a whole-number variable with constant bounds; empty for others, and for too many values."""
    if not (variable.integer_valued and variable.lower.is_Rational and variable.upper.is_Rational):
        return range(0)
    first = floor(variable.lower) + 1 if variable.lower_open else ceiling(variable.lower)
    last = ceiling(variable.upper) - 1 if variable.upper_open else floor(variable.upper)
    found = range(int(first), int(last) + 1)
    return found if len(found) <= MOST_VALUES else range(0)
