"""The engines on what is true, on the ends of domains, and on what they must not touch."""

from __future__ import annotations

import gc
import time
from fractions import Fraction

import pytest
from sympy import Eq, GoldenRatio, Max, Min, Piecewise, Rational, Sum, Symbol, exp, log, oo, sin, sqrt

from ldp_audit.claims import Statement, at_most, differ, equal, less, order, prints_as, somewhere
from ldp_audit.claims.engines import certificate, simplest, smt
from ldp_audit.claims.settling import BadClaimError, settle, time_limit
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.channel import Ind
from ldp_audit.mechanisms.variable import EPSILON, T, Variable
from tests.together import together

x = Variable("x", 0, 1)
opened = Variable("x", 0, 1, open="both")
real = Variable("v", -oo, oo)
y = Variable("y", 0, oo)
positive = Variable("z", 0, oo, open="left")
K = Variable("K", 0, oo, open="left")


@together(
    "statement",
    [
        at_most(0, x),
        at_most(x, 1),
        less(0, opened),
        less(opened, 1),
        less(0, 1 + real**2),
        at_most(0, real**2),
        at_most(2 * x * y, x**2 + y**2),
        at_most(x**2, x),
        less(opened**2, opened),
        at_most(x * (1 - x), Rational(1, 4)),
        less(0, positive / (1 + positive)),
        at_most(1 / (1 + y), 1),
        differ(positive, -positive),
        at_most(abs(real) * 0, 0),
        equal((x + 1) ** 2, x**2 + 2 * x + 1),
        less(1 + EPSILON, T),
        less(1 + EPSILON + EPSILON**2 / 2, T),
        at_most(0, real**2 - 2 * real + 1),
    ],
)
def test_true_statements_are_proved_with_a_form(statement: Statement) -> None:
    settled = settle(statement)
    assert settled.verdict is Verdict.PROVED
    assert settled.engine != "smt"


@together(
    "statement",
    [
        less(0, x),
        less(x, 1),
        less(0, real**2),
        less(x**2, x),
        less(opened * (1 - opened), Rational(1, 4)),
        differ(x, 1),
    ],
)
def test_an_end_or_a_touching_point_refutes_strictness(statement: Statement) -> None:
    assert settle(statement).verdict is Verdict.REFUTED


def test_an_empty_domain_is_an_error_not_a_vacuous_proof() -> None:
    empty = Variable("x", 2, 1)
    with pytest.raises(BadClaimError, match="no point was found in the domain"):
        settle(at_most(empty, 0))


def test_a_pole_inside_the_domain_is_an_error() -> None:
    with pytest.raises(BadClaimError, match="undefined at x = 0, inside its domain"):
        settle(at_most(1, 1 / x))


def test_a_pole_between_the_points_looked_at_is_an_error() -> None:
    pole = 1 / (x - Rational(22, 71)) ** 2
    with pytest.raises(BadClaimError, match="undefined at x = 22/71, inside its domain"):
        settle(at_most(0, pole))


def test_a_symbol_without_a_domain_cannot_enter_a_statement() -> None:
    with pytest.raises(ValueError, match="symbol 'q' has no domain"):
        at_most(Symbol("q"), 1)


@together("side", [oo, sqrt(-1), "nonsense +"])
def test_a_side_must_be_a_finite_real_expression(side: object) -> None:
    with pytest.raises(Exception, match=r"side must be|is no number"):
        at_most(side, 1)


def test_maximum_minimum_absolute_value_and_indicator_go_to_the_solver() -> None:
    clipped = Max(0, Min(1, real))
    for statement in (at_most(clipped, 1), at_most(0, clipped), at_most(real, abs(real)), at_most(Ind(x, 1), 1)):
        assert certificate.prove(statement) is None
        assert smt.settle(statement).holds is True
        assert settle(statement).verdict is Verdict.PROVED


def test_an_exponential_is_known_from_below_and_above() -> None:
    small = Variable("epsilon", 0, 1)
    t = Variable("t", 1, oo, exp_of=small)
    assert settle(at_most(1 + small, t)).verdict is Verdict.PROVED
    assert settle(at_most(t, 3)).engine == "certificate"
    assert settle(at_most(t, Rational(272, 100))).verdict is Verdict.PROVED
    assert settle(at_most(t, Rational(271, 100))).verdict is Verdict.REFUTED
    assert settle(at_most(t, 2)).verdict is Verdict.REFUTED


def test_identity_refuses_what_is_undefined_somewhere() -> None:
    assert (
        certificate.prove_equality(
            equal(x / (x - Rational(1, 2)) * (x - Rational(1, 2)) ** 2, x * (x - Rational(1, 2)))
        )
        is not None
    )
    assert certificate.prove_equality(equal((x**2 - 1) / (x - 1), x + 1)) is None


def test_existence_is_proved_by_a_point_and_refuted_by_a_proof() -> None:
    found = settle(somewhere(equal(x**2, Rational(1, 4))))
    assert (found.verdict, found.evidence["point"]) == (Verdict.PROVED, {"x": "1/2"})
    denied = settle(somewhere(less(x**2 + 1, x)))
    assert (denied.verdict, denied.evidence["kind"]) == (Verdict.REFUTED, "denial")


def test_existence_at_an_irrational_point_is_proved_by_a_change_of_sign() -> None:
    found = settle(somewhere(equal(y**2, 2)))
    assert (found.verdict, found.evidence["kind"]) == (Verdict.PROVED, "root")
    assert settle(somewhere(equal(y**2, -1))).verdict is Verdict.REFUTED


def test_whole_numbers_are_counterexamples_only_if_whole() -> None:
    whole = Variable("k", 0, 10, integer=True)
    between = settle(at_most(0, (whole - 1) * (whole - 2)))  # false between, true of wholes
    assert (between.verdict, between.engine) == (Verdict.PROVED, "enumeration")
    few = Variable("k", 0, 5, integer=True)
    assert settle(at_most(few**2, 2**few)).evidence["point"] == {"k": "3"}, "every value of a short range is tried"
    refuted = settle(at_most(whole, 7))
    assert refuted.evidence["point"] == {"k": "8"}, "the smallest size at which it fails"


def test_divisors_that_cancel_at_each_value_of_a_whole_number_are_shown_not_to_vanish() -> None:
    """k-ary randomised response as people write it: T/(T + 2) drops out of the sum at every input."""
    k, p = Variable("k", 0, 2, integer=True), T / (T + 2)
    found = settle(equal(sum(p * Ind(k, i) + (1 - p) / 2 * (1 - Ind(k, i)) for i in range(3)), 1))
    assert (found.verdict, found.engine) == (Verdict.PROVED, "enumeration")
    q = 1 / (opened - Rational(1, 3) - Rational(1, 10**9))
    with pytest.raises(BadClaimError, match="undefined at x = 1000000003/3000000000, inside its domain"):
        settle(equal(sum(q * Ind(k, i) for i in range(3)) - q, 0))
    normalised = [1 + 2 * Ind(k, i) for i in range(3)]
    assert settle(at_most(normalised[0] / sum(normalised), Rational(3, 5))).verdict is Verdict.PROVED, (
        "a number divides"
    )
    m = Variable("m", 0, 2, integer=True)
    twice = settle(equal(sum((p + k) * Ind(k, i) * Ind(m, i) for i in range(3)), (p + k) * Ind(k, m)))
    assert twice.verdict is Verdict.PROVED


def test_an_escape_keeps_whole_numbers_whole() -> None:
    n = Variable("n", 0, oo, integer=True)
    assert settle(order(n, K * n**2, constant=K)).verdict is not Verdict.REFUTED  # true of wholes, with K = 1
    half = order(y, K * (y + 1) * (2 * Variable("n", 0, 5, integer=True) - 1) ** 2, constant=K)
    assert settle(half).verdict is not Verdict.REFUTED


def test_a_users_name_does_not_meet_one_of_the_solvers() -> None:
    mine = Variable("value_0", 0, 1)
    assert settle(differ(mine - Max(x, y), Rational(1, 7))).verdict is Verdict.REFUTED


def test_what_no_engine_evaluates_is_one_clear_error() -> None:
    with pytest.raises(BadClaimError, match="constant GoldenRatio is not one"):
        settle(less(GoldenRatio, 4))
    with pytest.raises(BadClaimError, match="function sin is not one"):
        settle(less(sin(1), 2))


def test_numbers_too_large_to_print_are_left_open() -> None:
    assert settle(less(0, exp(20000))).verdict is Verdict.UNDECIDED
    assert settle(less(0, exp(exp(100)))).verdict is Verdict.UNDECIDED
    with pytest.raises(ValueError, match="more than 4000 digits"):
        less(0, Rational(10) ** 5000)


def test_no_point_is_sought_on_an_open_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each first choice of an open interval is its end; 30 variables that must all move took all tries and hours."""
    monkeypatch.setattr(simplest, "MAX_TRIES", 40)
    for count in (3, 30):
        many = [Variable(f"u_{place}", 0, 1, open="both") for place in range(count)]
        found = list(simplest.points(many, 40))
        assert len(found) == 40
        assert set(found[0].values()) == {Fraction(1, 2)}


def test_many_variables_are_no_hang() -> None:
    many = [Variable(f"x_{i}", 0, 1) for i in range(17)]
    assert settle(at_most(sum(many), 17)).verdict is Verdict.PROVED


def test_order_statements_both_ways() -> None:
    holds = settle(order(x**2 + 3 * x, K * x, constant=K))
    assert (holds.verdict, holds.evidence["kind"]) == (Verdict.PROVED, "constant")
    fails = settle(order(y**2, K * y, constant=K))
    assert (fails.verdict, fails.evidence["kind"]) == (Verdict.REFUTED, "escape")


def test_an_order_statement_needs_its_constant_on_the_right() -> None:
    with pytest.raises(ValueError, match="must occur on the right side and only there"):
        order(x, y, constant=K)
    with pytest.raises(ValueError, match="must range over"):
        order(x, Variable("K", 0, 1) * y, constant=Variable("K", 0, 1))


@together(("printed", "holds"), [("0.67", True), ("0.6667", True), ("0.66", False), ("1", True), ("0.7", True)])
def test_printed_numbers_are_rounded_at_their_last_place(printed: str, holds: bool) -> None:
    assert (settle(prints_as(Rational(2, 3), printed)).verdict is Verdict.PROVED) == holds


@together(
    ("value", "printed", "holds"),
    [
        (Rational(2, 5), "1e-5", False),
        (Rational(629, 10**7), "6.2e-5", False),
        (Rational(624, 10**7), "6.2E-05", True),
        (Rational(12340), "1.2e4", True),
        (Rational(12500), "+1.2e4", True),
        (Rational(-12501), "-1.2e4", False),
        (Rational(1, 2), ".5", True),
    ],
)
def test_an_exponent_moves_the_last_place(value: Rational, printed: str, holds: bool) -> None:
    """Would catch a unit of 1 for "1e-5", with which 0.4 was PROVED to print so."""
    assert settle(prints_as(value, printed)).verdict is (Verdict.PROVED if holds else Verdict.REFUTED)


@together("printed", ["1/3", " 0.61", "0.61 ", "1_0", "", ".", "e5", "1e99999", "\u0661", "nan", "0x1"])
def test_what_is_no_printed_number_is_refused(printed: str) -> None:
    with pytest.raises(ValueError, match="printed must be the digits of a number, such as"):
        prints_as(Rational(1, 2), printed)


def test_the_same_statement_is_settled_the_same_way_twice() -> None:
    statement = at_most(x * y / (1 + x * y), 1)
    assert settle(statement).evidence == settle(statement).evidence


def test_whole_numbers_are_walked_through_in_few_cases() -> None:
    """100 times 100 cases took 18 seconds."""
    m, n = (Variable(name, 1, 100, integer=True) for name in "mn")
    found = settle(less(log(n + m), n + m - Rational(1, 10)))
    assert found.verdict is Verdict.PROVED
    assert found.seconds < 10


def test_a_box_is_not_cut_at_an_exponential() -> None:
    e = Variable("epsilon", 0, 1)
    t = Variable("t", 1, 3, exp_of=e)
    assert settle(less(t * (1 + e**2), exp(Rational(5, 2) * e) + 2)).verdict is Verdict.PROVED


def test_cases_by_sympys_piecewise_are_refused_with_what_to_write() -> None:
    label = Variable("x", 0, 2, integer=True)
    with pytest.raises(BadClaimError, match=r"as b \+ \(a - b\)\*Ind\(x, y\)"):
        settle(at_most(Piecewise((2, Eq(label, 0)), (1, True)) * positive, 3 * positive))


def test_a_sum_without_a_closed_form_is_refused() -> None:
    k, n = Variable("k", 1, oo, integer=True), Variable("n", 1, oo, integer=True)
    with pytest.raises(BadClaimError, match="function harmonic is not one that the engines evaluate"):
        settle(at_most(1, Sum(1 / k**2, (k, 1, n))))
    with pytest.raises(ValueError, match="has no closed form that holds on the whole domain; write it out"):
        at_most(1, Sum(positive**k, (k, 1, n)))  # its ratio may be 1
    whole, share = Variable("j", -oo, oo, integer=True), Variable("p", 0, 1, open="both")
    for undefined in (Sum((-1) ** whole, (whole, -oo, n)), Sum(whole * share**whole / (whole + 1), (whole, -1, n))):
        with pytest.raises(ValueError, match="has no closed form"):
            equal(undefined, 0)
    assert settle(equal(Sum((1 + positive) ** k, (k, 0, n)), ((1 + positive) ** (n + 1) - 1) / positive)).verdict is (
        Verdict.PROVED
    )


def test_a_time_limit_that_a_collector_swallows_comes_again() -> None:
    """The alarm's exception is lost in a callback of the garbage collector; a second later it is raised again."""
    lost: list[BaseException] = []

    def swallowing(_phase: str, _info: dict[str, int]) -> None:
        while not lost:
            try:
                time.sleep(0.05)
            except BaseException as error:  # noqa: BLE001  (as the interpreter does after a callback)
                lost.append(error)

    start = time.perf_counter()
    gc.callbacks.append(swallowing)
    try:
        with time_limit(0.1):
            gc.collect()
            time.sleep(20)
    finally:
        gc.callbacks.remove(swallowing)
    assert len(lost) == 1
    assert time.perf_counter() - start < 10
