"""Whole numbers: the first few by themselves and the rest by one proof, which may be an induction.

An inequality for all n >= n_0 follows from the one at n_0, and from its step: that it holds at n + 1 wherever it holds
at n. In the step a letter stands for each B**n, which becomes B times itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sympy import Expr, Integer, Pow, oo

from ldp_audit.claims.engines.terms import Enclosing, Prover
from ldp_audit.claims.language.statement import Premise, Statement, described_ends, written
from ldp_audit.mechanisms.variable import Variable, substituted, unused


@dataclass(frozen=True)
class Means:
    """What this engine asks of others.

    direct: settles a statement about all values at once.   one_by_one: about finitely many.   enclosing: see terms.py.
    """

    direct: Prover
    one_by_one: Prover
    enclosing: Enclosing


_FIRST = (0, 1, 2, 3, 5, 8)
"""How many numbers are looked at one by one before the rest is tried."""


def prove(statement: Statement, means: Means) -> dict[str, Any] | None:
    """Evidence that the universal statement holds, or None if this engine finds none."""
    for variable in statement.variables():
        if not variable.integer_valued or variable.argument is not None:
            continue
        below, above = variable.lower.is_infinite, variable.upper.is_infinite
        if below and above:
            halves = [_between(variable, -oo, 0), _between(variable, 1, oo)]
            proofs = [_one_sided(statement.at({variable: half}), half, means) for half in halves]
            if all(proofs):
                return _halves(variable, Integer(0), *proofs)
        elif above or below:
            found = _one_sided(statement, variable, means)
            if found is not None:
                return found
    return None


def is_inductive(proof: dict[str, Any]) -> bool:
    """Whether an induction is a part of a proof that this engine found."""
    inner = [proof[part] for part in ("proof", "below", "above") if part in proof]
    return proof["kind"] == "induction" or any(map(is_inductive, inner))


def _one_sided(statement: Statement, variable: Variable, means: Means) -> dict[str, Any] | None:
    end, way = (variable.lower, 1) if variable.upper.is_infinite else (variable.upper, -1)
    is_open = variable.lower_open if way == 1 else variable.upper_open
    if not end.is_Integer:
        return None
    first = end + way if is_open else end
    for count in _FIRST:
        begins = first + way * count
        rest = _between(variable, begins, oo) if way == 1 else _between(variable, -oo, begins)
        tail = statement.at({variable: rest})
        proof = means.direct(tail) or (_induction(tail, rest, means) if way == 1 else None)
        if proof is None:
            continue
        if count == 0:
            return proof
        few = _between(variable, *sorted((first, begins - way)))
        single = means.one_by_one(statement.at({variable: few}))
        if single is not None:
            return _halves(variable, *((begins - 1, single, proof) if way == 1 else (begins, proof, single)))
        return None
    return None


def _between(variable: Variable, lower: Any, upper: Any) -> Variable:
    return Variable(variable.name, lower, upper, integer=True, latex=variable.latex)


def _halves(variable: Variable, at: Expr, below: Any, above: Any) -> dict[str, Any]:
    return {"kind": "halves", "variable": variable.name, "at": written(at), "below": below, "above": above}


def _induction(statement: Statement, n: Variable, means: Means) -> dict[str, Any] | None:
    statement = replace(statement, given=())  # at the first number they may not hold
    others = [v for v in statement.variables() if v != n]
    leaning = any(n in part.free_symbols for v in others for part in (v.lower, v.upper, v.argument) if part is not None)
    if statement.relation not in ("<=", "<") or n.lower < 0 or leaning:
        return None
    letters: dict[Variable, Expr] = {}
    sides = []
    for side in (statement.left, statement.right):
        swap: dict[Any, Any] = {}
        for power in sorted((one for one in side.atoms(Pow) if one.exp.has(n)), key=str):
            slope, rest = power.exp.coeff(n, 1), power.exp.expand().coeff(n, 0)
            if not (slope.is_Integer and rest.is_Integer and power.exp.expand() == slope * n + rest) or power.base.has(
                n
            ):
                return None
            letter = next((one for one, base in letters.items() if base == power.base), None)
            if letter is None:
                name = unused(f"power_{len(letters)}", [*statement.variables(), *letters])
                letter = means.enclosing(name, power.base**n, statement)
                letters[letter] = power.base
            swap[power] = letter**slope * power.base**rest
        sides.append(side.xreplace(swap))
    start = means.one_by_one(statement.at({n: _between(n, n.lower, n.lower)}))
    if start is None:
        return None
    onwards = {n: n + 1, **{letter: letter * base for letter, base in letters.items()}}
    ahead = [substituted(side, onwards) for side in sides]
    premise = Premise(sides[0], statement.relation, sides[1])
    step = means.direct(replace(statement, left=ahead[0], right=ahead[1], given=(premise,), divisors=(), wrote=None))
    if step is None:
        return None
    powers = {v.name: {"base": written(base), **described_ends(v)} for v, base in letters.items()}
    (begun,) = start["proofs"].values()
    return {"kind": "induction", "variable": n.name, "powers": powers, "start": begun, "step": step}
