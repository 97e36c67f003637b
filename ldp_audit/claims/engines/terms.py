"""Terms: what is no rational function of the variables is a variable of its own, between ends that hold its values.

An irrational number lies between two rationals that are near to it. A term such as sqrt(a n + 1), 2**n or erf(x) is in
the range that its form shows, and cancels wherever it occurs on both sides; Ceil(e) lies from e to e + 1. A proof for
all values between the ends holds for those that the term takes; a counterexample to the wider statement says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor, log10
from typing import Any

from sympy import Add, Expr, Integer, Mul, Pow, Rational, Symbol, log

from ldp_audit.claims.engines.evaluate import bounds_of, enclosure
from ldp_audit.claims.language.rounding import Ceil
from ldp_audit.claims.language.statement import Premise, Statement, described_ends, written
from ldp_audit.mechanisms.variable import Variable, substitute_domain, unused

Prover = Callable[[Statement], dict[str, Any] | None]
Enclosing = Callable[[str, Expr, Statement], Variable]
"""Makes a variable of this name that ranges over all values of an expression in a statement's variables."""

_DIGITS = 15
"""Significant digits of the rationals around an irrational number."""


@dataclass(frozen=True)
class Named:
    """A statement with variables in place of terms.   terms: each variable's term.   defined: proofs that one is."""

    statement: Statement
    terms: dict[Variable, Expr]
    defined: dict[Variable, dict[str, Any]] = field(default_factory=dict)

    def evidence(self, proof: dict[str, Any] | None) -> dict[str, Any] | None:
        """The evidence for the statement with its terms, from a proof of this one; None without one."""
        if proof is None or not self.terms:
            return proof
        letters = {v.name: _described(v, term) for v, term in self.terms.items()}
        for v, shown in self.defined.items():
            letters[v.name]["defined"] = shown
        return {"kind": "terms", "letters": letters, "proof": proof}


def with_numbers_named(prove: Prover) -> Prover:
    """The same prover with a variable in place of each irrational number."""

    def named(statement: Statement) -> dict[str, Any] | None:
        plain = numbers_named(statement)
        return plain.evidence(prove(plain.statement))

    return named


def prove(statement: Statement, direct: Prover, enclosing: Enclosing) -> dict[str, Any] | None:
    """Evidence that the universal statement holds; None if it has no terms, or `direct` finds no proof of the rest."""
    terms: dict[Variable, Expr] = {}
    defined: dict[Variable, dict[str, Any]] = {}
    nodes = dict.fromkeys(terms_of(statement))
    for place, node in enumerate(sorted(nodes, key=str)):
        name, inner = unused(f"term_{place}", statement.variables()), node.args[0]
        if isinstance(node, Ceil):
            terms[Variable(name, inner, inner + 1, open="right")] = node
            continue
        letter = enclosing(name, node, statement)
        terms[letter] = node
        is_log = isinstance(node, log)
        root = inner if is_log or (isinstance(node, Pow) and node.exp == Rational(1, 2)) else None
        span = enclosing(name, root, statement) if root is not None else letter
        if root is not None and not (span.lower > 0 or (span.lower == 0 and (span.lower_open or not is_log))):
            condition = replace(statement, left=Integer(0), relation="<" if is_log else "<=", right=root, wrote=None)
            shown = direct(condition)
            if shown is not None:
                defined[letter] = shown
    if not terms:
        return None
    named = replace(_named(statement, terms), defined=defined)
    plain = named.statement
    return named.evidence(prove(plain, direct, enclosing) or direct(plain))


def _as_a_root(letter: Variable, term: Expr) -> tuple[Premise, ...]:
    """letter**q = u**p for a term u**(p/q), as two premises; none for other terms."""
    if not (isinstance(term, Pow) and term.exp.is_Rational and (term.base.free_symbols or term.base.is_Rational)):
        return ()
    power, root = letter**term.exp.q, term.base**term.exp.p
    return Premise(power, "<=", root), Premise(root, "<=", power)


def numbers_named(statement: Statement) -> Named:
    """The statement with a variable in place of each irrational number, in its sides and its domains."""
    ends = [end for v in statement.variables() for end in (v.lower, v.upper, v.argument) if end is not None]
    nodes = dict.fromkeys(
        node for one in (*_sides(statement), *ends) for node in _terms_of(one) if not node.free_symbols
    )
    terms: dict[Variable, Expr] = {}
    for place, node in enumerate(sorted(nodes, key=str)):
        low, high = _around(node)
        terms[Variable(unused(f"term_{place}", statement.variables()), low, high)] = node
    return _named(statement, terms)


def terms_of(statement: Statement) -> list[Expr]:
    """What is no rational function of the statement's variables, and contains some."""
    return [node for side in _sides(statement) for node in _terms_of(side) if node.free_symbols]


def _sides(statement: Statement) -> list[Expr]:
    return [statement.left, statement.right, *(side for one in statement.given for side in (one.left, one.right))]


def _terms_of(expression: Expr) -> Iterator[Expr]:
    """The largest parts that are no rational functions of variables; a root's reciprocal counts as the root."""
    if isinstance(expression, (Rational, Symbol)) or expression.is_infinite:
        return
    if isinstance(expression, (Add, Mul)):
        for part in expression.args:
            yield from _terms_of(part)  # type: ignore[arg-type]
    elif isinstance(expression, Pow) and isinstance(expression.exp, Integer):
        yield from _terms_of(expression.base)
    elif isinstance(expression, Pow) and expression.exp.is_negative:
        yield Pow(expression.base, -expression.exp)
    else:
        yield expression


def _around(number: Expr) -> tuple[Rational, Rational]:
    low, high = bounds_of(enclosure(number, {}))
    size = max(abs(low), abs(high))
    scale = Fraction(10) ** (_DIGITS - (floor(log10(size)) if size else 0))
    return Rational(floor(low * scale)) / Rational(scale), Rational(-floor(-high * scale)) / Rational(scale)


def _named(statement: Statement, terms: dict[Variable, Expr]) -> Named:
    swap: dict[Any, Any] = {}
    for letter, term in terms.items():
        swap |= {term: letter}
        if isinstance(term, Pow):
            swap |= {1 / term: 1 / letter}
    if not swap:
        return Named(statement, {})
    constant = {term: letter for term, letter in swap.items() if not term.free_symbols}
    moved = dict(swap)
    for v in statement.variables():
        changed = substitute_domain(v, lambda end: end.xreplace({**constant, **moved})) if constant else v
        if changed != v:
            moved[v] = changed

    def put(expression: Expr) -> Expr:
        return expression.xreplace(moved)

    given = [replace(one, left=put(one.left), right=put(one.right)) for one in statement.given]
    given += [one for letter, term in terms.items() for one in _as_a_root(letter, term)]
    sides = {"left": put(statement.left), "right": put(statement.right)}
    divisors = tuple(map(put, statement.divisors))
    return Named(replace(statement, **sides, given=tuple(given), divisors=divisors, wrote=None), terms)


def _described(v: Variable, term: Expr) -> dict[str, Any]:
    ends = described_ends(v)
    if isinstance(term, Ceil):
        ends["upper"] = f"({ends['lower']}) + 1"
    return {"is": written(term), **ends}
