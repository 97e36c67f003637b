"""O-statements: a constant that suffices for all values, or a path that exceeds every constant.

`left <= K g` is proved by a number K with a certificate, and refuted by a path: the other variables as functions of K,
along which left > K g for every K > 0. The path's inequality is a universal statement in K, proved like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from sympy import Expr, Integer, Rational

from ldp_audit.claims.engines.certificate import texts
from ldp_audit.claims.engines.evaluate import bounds_of, holds_at, value
from ldp_audit.claims.engines.positive_form import SlackSubstitution
from ldp_audit.claims.engines.simplest import points
from ldp_audit.claims.language.statement import Statement, is_linked, written
from ldp_audit.mechanisms.variable import Variable, substitute_domain, substituted

Prover = Callable[[Statement], dict[str, Any] | None]
Path = dict[Variable, Expr]


def prove(statement: Statement, universal: Prover) -> dict[str, Any] | None:
    """Evidence that one constant suffices: its value and the proof for it."""
    assert statement.constant is not None  # noqa: S101  (the quantifier says so)
    least = _least_constant(statement)
    for constant in _round_numbers_from(least) if least is not None else ():
        inner = replace(statement.at({statement.constant: constant}), quantifier="for all", constant=None)
        evidence = universal(inner)
        if evidence is not None:
            return {"kind": "constant", "constant": str(constant), "proof": evidence}
    return None


def refute(statement: Statement, universal: Prover) -> dict[str, Any] | None:
    """Evidence that no constant suffices: the path, that it stays in the domain, and that it exceeds each constant."""
    for path in _paths(statement):
        if not _is_plausible(statement, path):
            continue
        proof = universal(along(statement, path))
        inside = [universal(bound) for bound in path_bounds(statement, path)]
        divisors = None if proof is None else _divisors_along(statement, path, proof.get("taylor", 1))
        if proof is not None and divisors is not None and all(inside):
            proof = {**proof, "divisors": list(dict.fromkeys([*proof["divisors"], *divisors]))}
            texts = {variable.name: written(where) for variable, where in path.items()}
            return {"kind": "escape", "path": texts, "inside": inside, "proof": proof}
    return None


def along(statement: Statement, path: Path) -> Statement:
    """The statement for every constant: on the path, the left side is larger."""
    there = statement.at(path)
    return Statement(there.right, "<", there.left, "along the path")


def _divisors_along(statement: Statement, path: Path, degree: int) -> list[str] | None:
    """Forms of the statement's divisors on the path, also of those that cancel; None if one may be zero."""
    slacks = SlackSubstitution(along(statement, path).variables(), degree)
    try:
        slacks.define(statement.variables(), path)
        slacks.gap(statement)
    except KeyError:  # the constant cancelled
        return None
    forms = slacks.divisor_forms()
    return None if forms is None else texts(forms)


def path_bounds(statement: Statement, path: Path) -> list[Statement]:
    """Statements that the path stays in the domain of each variable, also of those determined by an exponential."""
    bounds = []
    for variable in statement.variables():
        if variable == statement.constant:
            continue
        moved = substitute_domain(variable, path)
        where = path.get(variable, moved)
        if not variable.lower.is_infinite:
            bounds.append(Statement(moved.lower, "<" if variable.lower_open else "<=", where))
        if not variable.upper.is_infinite:
            bounds.append(Statement(where, "<" if variable.upper_open else "<=", moved.upper))
    return bounds


def _paths(statement: Statement) -> Iterator[Path]:
    """Every free variable at a simple constant, except one that is a function of K."""
    K = statement.constant
    assert K is not None  # noqa: S101
    variables = statement.variables()
    others = [v for v in variables if v != K and not is_linked(v, variables)]
    still = [_fixed_values(variable) for variable in others]
    for moving, run in product(range(len(others)), (K + 1, (K + 1) ** 2, 1 / (K + 1))):
        if others[moving].integer_valued:
            continue
        for values in product(*[[run] if i == moving else still[i] for i in range(len(others))]):
            path = dict(zip(others, values, strict=True))
            path = {variable: substituted(where, path) for variable, where in path.items()}
            if all(where.free_symbols <= {K} for where in path.values()):
                yield path


def _fixed_values(variable: Variable) -> list[Expr]:
    """Constants, or bounds in terms of other variables, at which a variable may be fixed."""
    ends = [end for end in (variable.lower, variable.upper) if end.free_symbols]
    if len(ends) == 2 and not variable.integer_valued:
        return [sum(ends, Integer(0)) / 2, ends[0]]
    whole: list[Expr] = [Integer(1), Integer(0), Integer(2)]
    return whole if variable.integer_valued else [*whole, Rational(1, 2), *ends]


def _is_plausible(statement: Statement, path: Path) -> bool:
    """A numerical test at three constants before the proof for all."""
    K = statement.constant
    assert K is not None  # noqa: S101
    try:
        relations = [along(statement, path), *path_bounds(statement, path)]
    except (ValueError, ZeroDivisionError):
        return False
    numbers = (Fraction(1, 3), Fraction(1), Fraction(50))
    return all(holds_at(relation, {K: number}) for number in numbers for relation in relations)


def _least_constant(statement: Statement) -> Fraction | None:
    """A lower bound on any sufficient constant: left / g at the simplest points."""
    K = statement.constant
    assert K is not None  # noqa: S101
    least = Fraction(0)
    for point in points([v for v in statement.variables() if v != K], 200):
        try:
            left = bounds_of(value(statement.left, point))[1]
            unit = bounds_of(value(statement.right, {**point, K: Fraction(1)}))[0]
        except ZeroDivisionError:
            return None
        except OverflowError:  # a far point
            continue
        if unit <= 0 < left:
            return None
        if left > 0:
            least = max(least, left / unit)
    return least


def _round_numbers_from(least: Fraction) -> Iterator[Fraction]:
    """A few round numbers just above, then powers of two."""
    for digits in (1000, 100, 10, 1):
        yield Fraction(-((-least * digits) // 1), digits) + Fraction(1, digits)
    power = Fraction(1)
    while power <= least:
        power *= 2
    yield from (power * 2, power * 16, power * 1024)
