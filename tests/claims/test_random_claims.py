"""Claims that nobody listed: random relations, and the two-point mechanism's own, mutated, against brute force."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Expr, Rational, oo

from ldp_audit.claims import Statement, recheck
from ldp_audit.claims.settling import Settled, settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.values.two_point import CENTER, RADIUS, TWO_POINT, WEIGHT, A
from ldp_audit.mechanisms.variable import T, Variable
from tests.claims.false_claims import grid, violates

VARIABLES = [
    Variable("x", 0, 1),
    Variable("y", -1, 1),
    Variable("z", 0, oo, open="left"),
    Variable("v", -oo, oo),
    Variable("u", 0, 1, open="both"),
]
TERMS = st.tuples(st.integers(-3, 3), st.lists(st.sampled_from(VARIABLES), max_size=3))
PIECES = [
    TWO_POINT.mean(),
    TWO_POINT.variance(),
    RADIUS**2 * A**2,
    (WEIGHT - CENTER) ** 2,
    RADIUS * A,
    WEIGHT,
    T * RADIUS**2,
]


@st.composite
def polynomials(draw: st.DrawFn) -> Expr:
    total: Expr = Rational(draw(st.integers(-3, 3)), draw(st.integers(1, 3)))
    for coefficient, factors in draw(st.lists(TERMS, min_size=1, max_size=3)):
        term: Expr = Rational(coefficient)
        for factor in factors:
            term = term * factor
        total = total + term
    return total


@st.composite
def rational_statements(draw: st.DrawFn) -> Statement:
    left, right = draw(polynomials()), draw(polynomials())
    divisor = draw(
        st.sampled_from([Rational(1), 1 + VARIABLES[0], VARIABLES[2], 1 + VARIABLES[3] ** 2, 2 - VARIABLES[1]])
    )
    return Statement(left / divisor, draw(st.sampled_from(["==", "!=", "<=", "<"])), right)


@st.composite
def true_by_construction(draw: st.DrawFn) -> Statement:
    """base <= base + square + product of slacks: true, so a refutation would be wrong."""
    base = draw(polynomials())
    square = draw(polynomials()) ** 2
    slack = draw(st.sampled_from([VARIABLES[0], 1 - VARIABLES[0], 1 + VARIABLES[1], VARIABLES[2], Rational(0)]))
    return Statement(base, "<=", base + square * draw(st.integers(0, 2)) + slack)


@st.composite
def mutated_mechanism_claims(draw: st.DrawFn) -> Statement:
    left, right = draw(st.sampled_from(PIECES)), draw(st.sampled_from(PIECES))
    extra = draw(st.sampled_from([*PIECES, Rational(0), Rational(0)]))
    factor = Rational(draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    sign = draw(st.sampled_from([-1, 1]))
    return Statement(left, draw(st.sampled_from(["==", "<=", "<"])), factor * right + sign * extra)


def check(statement: Statement) -> Settled | None:
    settled = settle(statement)
    if settled.verdict is Verdict.PROVED:
        violated = next((point for point in grid(statement) if violates(statement, point)), None)
        assert violated is None, f"PROVED, but {violated} violates it"
    if settled.verdict is Verdict.REFUTED:
        values = settled.evidence.get("point", {})
        point = {variable: Rational(values[variable.name]) for variable in statement.variables() if values}
        assert not values or violates(statement, point)
    assert recheck.part(settled.to_dict()) == settled.verdict
    return settled


@given(rational_statements())
@settings(max_examples=8)
def test_random_relations(statement: Statement) -> None:
    check(statement)


@given(true_by_construction())
@settings(max_examples=4)
def test_what_is_true_by_construction_is_never_refuted(statement: Statement) -> None:
    settled = check(statement)
    assert settled is not None
    assert settled.verdict is not Verdict.REFUTED


@given(mutated_mechanism_claims())
@settings(max_examples=15)
def test_mutated_claims_about_the_two_point_mechanism(statement: Statement) -> None:
    check(statement)


@pytest.mark.slow
@given(st.one_of(rational_statements(), true_by_construction(), mutated_mechanism_claims()))
@settings(max_examples=10_000)
def test_ten_thousand_claims(statement: Statement) -> None:
    check(statement)
