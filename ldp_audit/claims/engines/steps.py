"""Steps: a statement with Ceil, by the bounds u <= Ceil(u) < u + 1.

Each Ceil becomes a variable with these bounds, so a proof for the variable holds for Ceil; a counterexample to the
wider statement is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ldp_audit.claims.language.rounding import Ceil
from ldp_audit.claims.language.statement import Statement, written
from ldp_audit.mechanisms.variable import Variable, unused


def prove(statement: Statement, direct: Callable[[Statement], dict[str, Any] | None]) -> dict[str, Any] | None:
    """Evidence that the universal statement holds, or None if it has no Ceil or `direct` finds no proof of the rest."""
    nodes = sorted(statement.left.atoms(Ceil) | statement.right.atoms(Ceil), key=str)
    letters: dict[Ceil, Variable] = {}
    for place, node in enumerate(nodes):
        inner: Any = node.args[0]
        letters[node] = Variable(unused(f"step_{place}", statement.variables()), inner, inner + 1, open="right")
    if not letters:
        return None
    sides = (side.xreplace(letters) for side in (statement.left, statement.right))
    proof = direct(replace(statement, **dict(zip(("left", "right"), sides, strict=True))))
    return proof and {
        "kind": "steps",
        "letters": {v.name: written(node) for node, v in letters.items()},
        "proof": proof,
    }
