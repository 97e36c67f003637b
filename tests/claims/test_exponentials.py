"""Exponentials and logarithms in statements: one quantity in different letters, and what is proved of it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Expr, Rational, Sum, Symbol, exp, lambdify, log, oo, sympify

from ldp_audit.claims import Condition, Statement, at_most, equal, less, order, recheck, somewhere
from ldp_audit.claims.privacy import is_private
from ldp_audit.claims.settling import BadClaimError, settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms import Hybrid, Piecewise, SymbolicChannel
from ldp_audit.mechanisms.variable import EPSILON, ROOT_T, T, Variable

x = Variable("x", 0, 1, open="left")
y = Variable("y", 0, oo, open="left")
z = Variable("z", -oo, oo)
q = Variable("q", 0, 1)
double = Variable("u", 1, oo, open="left", exp_of=2 * EPSILON)
s = ROOT_T

TRUE = {
    "the root's square": equal(s**2, T),
    "the root is less": less(s, T),
    "a user's letter": equal(double, T**2),
    "OUE and SUE": at_most(4 * T / (T - 1) ** 2, s / (s - 1) ** 2),
    "somewhere T is twice its root": somewhere(equal(T, 2 * s)),
    "exp(-epsilon)": at_most(0, exp(-EPSILON)),
    "exp(epsilon)": equal(exp(EPSILON), T),
    "a logarithm of T": equal(log(T**2 * s), 5 * EPSILON / 2),
    "a quadratic bound": at_most(exp(x), 1 + x + x**2),
    "a linear bound": at_most(exp(x), 1 + 2 * x),
    "tanh": at_most((T - 1) / (T + 1), EPSILON / 2),
    "cosh": at_most((exp(y) + exp(-y)) / 2, exp(y**2 / 2)),
    "sinh": less(y, (exp(y) - exp(-y)) / 2),
    "everywhere": at_most(1 + z, exp(z)),
    "one less": at_most(1 - exp(-y), y),
    "a logarithm": less(log(1 + y), y),
    "a logarithm from below": at_most(2 * y / (2 + y), log(1 + y)),
    "a sampled epsilon": at_most(log(1 + q * (T - 1)), EPSILON),
    "a sampled epsilon from below": at_most(q * EPSILON, log(1 + q * (T - 1))),
    "Hoeffding's lemma at one half": at_most(log((1 + T) / 2), EPSILON / 2 + EPSILON**2 / 8),
    "thirds": less(exp(EPSILON / 3), s),
}
FALSE = {
    "the root's square": equal(s**2, 2 * T),
    "the root is less": less(T, s),
    "somewhere the root is more": somewhere(less(T, s)),
    "somewhere far above": somewhere(equal(s, T + 5)),
    "a user's letter": less(double, T),
    "a quadratic bound that is none": at_most(exp(x), 1 + x + Rational(7, 10) * x**2),
    "a bound on too long a domain": at_most(exp(y), 1 + y + y**2),
    "tanh": at_most(EPSILON / 2, (T - 1) / (T + 1)),
    "cosh": at_most((exp(y) + exp(-y)) / 2, exp(y**2 / 3)),
    "a logarithm": at_most(log(1 + y), y - y**2 / 2),
    "a sampled epsilon": at_most(log(1 + q * (T - 1)), q * EPSILON),
}


@pytest.mark.parametrize("name", TRUE)
def test_true_statements_are_proved_and_the_checker_agrees(name: str) -> None:
    settled = settle(TRUE[name])
    assert settled.verdict is Verdict.PROVED, settled.evidence
    assert recheck.part(settled.to_dict()) == Verdict.PROVED


@pytest.mark.parametrize("name", FALSE)
def test_false_statements_are_refuted(name: str) -> None:
    assert settle(FALSE[name]).verdict is Verdict.REFUTED


@pytest.mark.parametrize("mechanism", [Piecewise, pytest.param(Hybrid, marks=pytest.mark.slow)])
def test_a_law_in_the_root_is_held_against_a_claim_in_t(mechanism: Any) -> None:
    """s and t once ranged apart, so that sound mechanisms were refuted at s = 2, t = 2."""
    assert {settle(part).verdict for part in is_private(mechanism.symbolic(), T)} == {Verdict.PROVED}
    tighter = [settle(part).verdict for part in is_private(mechanism.symbolic(), (1 + T) / 2)]
    assert Verdict.REFUTED in tighter


def test_the_statement_says_how_its_letters_hang_together() -> None:
    (variable,) = equal(s**2, T).variables()
    assert variable == ROOT_T
    record = at_most((T - 1) / (T + 1), EPSILON / 2).to_dict()
    assert [(v["name"], v.get("exp_of")) for v in record["variables"]] == [("epsilon", None), ("t", "epsilon")]
    logarithm = less(log(1 + y), y).to_dict()["variables"][1]
    assert logarithm["log_of"] == "y + 1"


def test_a_whole_exponent_is_no_range_of_reals() -> None:
    """e**k for whole k is never 2, whatever the letter's own range says."""
    k = Variable("k", 0, oo, integer=True)
    power = Variable("p", 1, oo, exp_of=k)
    assert settle(somewhere(equal(power, 2))).verdict is not Verdict.PROVED


def test_the_checker_refuses_a_rise_whose_derivative_is_changed() -> None:
    record = settle(TRUE["tanh"]).to_dict()
    assert record["engine"] == "rise"
    for change in (
        lambda e: e["slope"].update(function=e["slope"]["function"] + " + 1"),
        lambda e: e["start"].update(function="1"),
        lambda e: e.update(factor="-1"),
        lambda e: e.update(variable="t"),
    ):
        forged = copy.deepcopy(record)
        change(forged["evidence"])
        with pytest.raises(recheck.RefusedError):
            recheck.part(forged)


def test_the_checker_refuses_a_rise_from_where_the_exponential_is_not_one() -> None:
    """On [1, 2] the exponential does not begin at 1, nor where its own range cuts it off."""
    record = settle(TRUE["tanh"]).to_dict()
    moved = {**record, "variables": [{**record["variables"][0], "lower": "1"}, record["variables"][1]]}
    with pytest.raises(recheck.RefusedError):
        recheck.part(moved)
    cut = {**record, "variables": [record["variables"][0], {**record["variables"][1], "lower": "5"}]}
    with pytest.raises(recheck.RefusedError):
        recheck.part(cut)


ATOMS = [
    EPSILON,
    T,
    s,
    exp(-EPSILON),
    exp(EPSILON / 3),
    1 / (T - 1),
    1 / (T + 1),
    exp(2 * EPSILON),
    log(T + 1),
    log(1 + EPSILON),
]
OWN = [x, y, exp(x), exp(-y), exp(y / 2), log(1 + y), log(1 + x), exp(x * EPSILON)]
BOUNDS = [
    T - 1 - EPSILON,
    s - 1 - EPSILON / 2,
    EPSILON / 2 - (T - 1) / (T + 1),
    (T - 1) ** 2 - EPSILON**2 * T,
    1 + 2 * x - exp(x),
    y - log(1 + y),
    T - s,
    exp(y) - 1 - y - y**2 / 2,
]
"""Each at least 0, some of them barely: what is near them is where a wrong proof would show."""


@st.composite
def mixed(draw: st.DrawFn) -> tuple[Expr, str, Expr]:
    """Sums of products of letters in all their clothes, or one of the bounds with a little added or taken away."""
    number = st.builds(Rational, st.integers(-3, 3), st.integers(1, 3))
    if draw(st.booleans()):
        base = draw(st.sampled_from(BOUNDS)) * draw(st.sampled_from([1, s, y, T]))
        little = draw(st.sampled_from([0, 0, Rational(1, 10), -Rational(1, 10), EPSILON / 10, -EPSILON / 10, x / 5]))
        return Rational(0), draw(st.sampled_from(["<=", "<", "=="])), base + little
    atoms = st.sampled_from([*ATOMS, *OWN])
    sides = []
    for _ in range(2):
        total: Expr = draw(number)
        for _ in range(draw(st.integers(1, 2))):
            total = total + draw(number) * draw(atoms) * draw(st.one_of(st.just(Rational(1)), atoms))
        sides.append(total)
    return sides[0], draw(st.sampled_from(["<=", "<", "==", "!="])), sides[1]


LETTERS = [EPSILON, T, s, x, y]


def _may(case: tuple[Expr, str, Expr], *, hold: bool = True) -> Callable[..., bool]:
    """Whether the relation may hold, or may fail, at a point (epsilon, x, y): in doubt where 60 digits cannot tell."""
    left, relation, right = case
    difference = lambdify(LETTERS, right - left, "mpmath")

    def at(epsilon: Any, *own: Any) -> bool:
        with mpmath.workdps(60):
            gap = difference(epsilon, mpmath.exp(epsilon), mpmath.exp(epsilon / 2), *own)
            near = abs(gap) < mpmath.mpf(10) ** -40
            return bool(near or {"<=": gap > 0, "<": gap > 0, "==": False, "!=": True}[relation] == hold)

    return at


def _violated(case: tuple[Expr, str, Expr], seed: int) -> bool:
    rng, may_hold = random.Random(seed), _may(case)
    for _ in range(60):
        own = (mpmath.mpf(rng.choice([1, 10 ** rng.uniform(-6, 0)])), mpmath.mpf(10) ** rng.uniform(-6, 1.3))
        if not may_hold(mpmath.mpf(10) ** rng.uniform(-6, 1.3), *own):
            return True
    return False


def _point(evidence: dict[str, Any]) -> dict[str, str]:
    """The place of a counterexample: rational, an irrational root to 90 digits, or an end at which both sides tie."""
    point = dict(evidence.get("point", evidence.get("inside", {})))
    if evidence["kind"] == "root":
        with mpmath.workdps(100):
            factor = lambdify(Symbol(evidence["variable"]), sympify(evidence["factor"]).subs(point), "mpmath")
            low, high = (mpmath.mpf(Rational(end).p) / Rational(end).q for end in evidence["between"])
            point[evidence["variable"]] = mpmath.nstr(mpmath.findroot(factor, (low, high), solver="anderson"), 90)
    return point


def _letters_at(statement: Statement, point: dict[str, str]) -> dict[str, Any]:
    """The values of epsilon, x and y at a counterexample, which may give an exponential of one instead."""
    found: dict[str, Any] = {"epsilon": mpmath.mpf(1), "x": mpmath.mpf(1) / 2, "y": mpmath.mpf(1)}
    for variable in statement.variables():
        if variable.name in point:
            value = mpmath.mpf(Rational(point[variable.name]).p) / Rational(point[variable.name]).q
            if variable.exp_of is None:
                found[variable.name] = value
            else:
                rate, base = variable.exp_of.as_coeff_Mul()
                found[str(base)] = mpmath.log(value) / mpmath.mpf(rate.p) * rate.q
    return found


def _check(case: tuple[Expr, str, Expr], seed: int) -> Verdict:
    settled = settle(Statement(*case))  # type: ignore[arg-type]
    if settled.verdict is Verdict.PROVED:
        assert not _violated(case, seed), f"PROVED: {case}"
    if settled.verdict is Verdict.REFUTED:
        with mpmath.workdps(60):
            at = _letters_at(settled.statement, _point(settled.evidence))
            assert _may(case, hold=False)(at["epsilon"], at["x"], at["y"]), f"REFUTED: {case} at {at}"
    assert recheck.part(settled.to_dict()) == settled.verdict
    return settled.verdict


@given(mixed(), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_random_mixtures_agree_with_sixty_digits(case: tuple[Expr, str, Expr], seed: int) -> None:
    _check(case, seed)


@pytest.mark.slow
@given(mixed(), st.integers(0, 2**32))
@settings(max_examples=10_000, deadline=None)
def test_ten_thousand_random_mixtures(case: tuple[Expr, str, Expr], seed: int) -> None:
    _check(case, seed)


def test_no_rise_goes_through_a_domain_that_moves_with_an_exponential_of_its_variable() -> None:
    """Both are false near the end of q, at z = e**q and z = ln(1 + q); z would leave its domain on the way there."""
    p = Variable("p", 0, Rational(1, 2), open="both")
    above, below = Variable("z", 0, exp(p)), Variable("z", 0, log(1 + p))
    grown = at_most(above * exp(p), exp(2 * p) / 2 + above - Rational("0.294"))
    slow = at_most(below * (1 + p), (1 + p) * log(1 + p) - p + below + Rational("0.0944"))
    assert all(settle(one).verdict is not Verdict.PROVED for one in (grown, slow))
    forged = settle(at_most(above * exp(p), exp(2 * p) / 2 + above - Rational(1, 2))).to_dict() | {"verdict": "PROVED"}
    forged["evidence"] = {
        "kind": "rise",
        "variable": "p",
        "from": "lower",
        "divisors": [],
        "factor": "1/2",
        "function": "exp_p**2 - 2*exp_p*z + 2*z - 1",
        "positive": {"kind": "certificate", "gap": "1/2", "divisors": []},
        "start": {"function": "0", "relation": "<=", "proof": {"kind": "certificate", "gap": "0", "divisors": []}},
        "slope": {
            "function": "2*exp_p**2 - 2*exp_p*z",
            "relation": "<=",
            "proof": {"kind": "certificate", "gap": "2*hi_z*(lo_exp_p + 1)", "divisors": []},
        },
        "inside": {"p": "1/4", "z": "1"},
    }
    with pytest.raises(recheck.RefusedError, match=r"the domain of \{'z'\} moves with p"):
        recheck.part(forged)


def test_an_exponential_of_a_range_of_its_own_is_not_refuted_outside_it() -> None:
    """u = e**v <= 2 holds v to ln 2, which its exponent alone does not show."""
    u = Variable("u", 1, 2, exp_of=Variable("v", 0, 10))
    assert settle(at_most(log(u), log(2))).verdict is not Verdict.REFUTED
    inner = Variable("i", 0, 1)
    outer = Variable("o", 1, exp(10), exp_of=Variable("m", 0, 10, exp_of=inner))
    assert settle(at_most(outer, 20)).verdict is Verdict.PROVED


@pytest.mark.slow
def test_a_statement_with_many_linked_exponentials_is_given_up() -> None:
    """The exponential mechanism on two candidates, with five of them: half a minute, where it took hours."""
    u = [Variable(f"u{i}", 0, 1) for i in range(2)]
    weights = [exp(EPSILON * one / 2) for one in u]
    law = SymbolicChannel("exponential mechanism", u, {i: one / sum(weights) for i, one in enumerate(weights)})
    assert settle(is_private(law, T)[0]).verdict is not Verdict.REFUTED


def test_a_variable_may_be_named_as_the_letters_of_the_rewriting_are() -> None:
    """Only a letter that the rewriting makes takes the bounds of its exponent: a given one does not. The letter of n y
    is that of y at n = 1."""
    v, n, k = Variable("v", 0, 2), Variable("n", 1, oo, integer=True), Variable("k", 0, oo, integer=True)
    given = Variable("exp_a", 2, 5, exp_of=v)
    assert settle(at_most(2 + exp(-v), given + Rational(1, 2))).verdict is Verdict.PROVED
    sum_to_n = less(0, Sum(k * exp(-k * y), (k, 1, n)))
    assert settle(sum_to_n.at({n: Rational(1)})).verdict is Verdict.PROVED


w = Variable("w", 1, oo)
log_w = Variable("l", 0, 1, log_of=w)  # so w is at most e
v = Variable("v", 0, 2)
exp_v = Variable("p", 2, 5, exp_of=v)  # so v is in [ln 2, ln 5]
n = Variable("n", 0, 5, integer=True)
exp_n = Variable("e_n", 1, 20, exp_of=n)  # so n is at most 2
first = Variable("f", 0, 2)
last = Variable("g", first, 1)  # so first is at most 1
exp_last = Variable("e_g", exp(first), exp(1), exp_of=last)
j = Variable("j", -1, 1)
exp_j = Variable("e_j", 0, 2, exp_of=j)
exp_exp_j = Variable("e_e_j", 1, 3, exp_of=exp_j)  # so j is at most ln ln 3 < 1/10
REMOVED = {
    "a logarithm": (exp(log_w), Rational(3, 2), 3),
    "a logarithm in a product": (exp(log_w) * w, 3, 8),
    "an exponential bounded above": (v - exp_v * exp(-v), Rational(-1, 2), Rational(7, 10)),
    "an exponential bounded below": (-v * exp_v * exp(-v), Rational(-3, 2), Rational(-69, 100)),
    "an exponential of a whole number": (exp_n * exp(-n) + n, 2, 4),
    "a variable with a variable bound": (first + exp_last * exp(-last), Rational(3, 2), 2),
    "an exponential of an exponential": (exp(exp_j) / exp_exp_j + j, Rational(1, 2), Rational(11, 10)),
}
"""What the rewriting removes: an expression with it, a number that the expression exceeds somewhere, and its upper
bound, which it would exceed without the range of what is removed."""


@pytest.mark.parametrize("name", REMOVED)
def test_the_range_of_a_variable_that_is_rewritten_away_still_bounds_the_others(name: str) -> None:
    """Without it, the true statement is refuted at a point outside the domain, and the false one is proved there."""
    expression, exceeded, bound = REMOVED[name]
    assert settle(at_most(expression, bound)).verdict is not Verdict.REFUTED
    assert settle(somewhere(less(bound, expression))).verdict is not Verdict.PROVED
    assert settle(at_most(expression, exceeded)).verdict is Verdict.REFUTED
    assert settle(somewhere(less(exceeded, expression))).verdict is Verdict.PROVED


def test_a_proof_for_more_values_than_a_removed_variable_allows_is_one() -> None:
    assert settle(at_most(1, exp(log_w))).verdict is Verdict.PROVED
    assert settle(somewhere(less(exp(log_w), 1))).verdict is Verdict.REFUTED
    assert settle(less(log(1 + y) * Variable("p", 2, 5, exp_of=y) * exp(-y), y)).engine == "rise"


def test_a_removed_variable_leaves_a_domain_empty_or_an_escape_impossible() -> None:
    none_of_v = Variable("p", 20, 30, exp_of=v)
    for statement in (at_most(none_of_v * exp(-v), 1), somewhere(at_most(none_of_v * exp(-v), 1))):
        with pytest.raises(BadClaimError, match="no point was found in the domain"):
            settle(statement)
    with pytest.raises(BadClaimError, match="undefined at"):
        settle(less(0, exp(Variable("l", -oo, oo, log_of=Variable("r", -1, 4)))))
    K = Variable("K", 0, oo, open="both")
    assert settle(order(exp(log_w), K, constant=K)).verdict is Verdict.UNDECIDED


def test_a_condition_may_restrict_a_removed_variable() -> None:
    narrow = Condition("l <= 1/2", where=(Variable("l", 0, Rational(1, 2), log_of=w),))
    (part,) = narrow.applied_to([at_most(exp(log_w), Rational(3, 2))])
    assert [one.upper for one in part.bounding] == [Rational(1, 2)]


def test_the_checker_holds_points_and_paths_to_the_range_of_a_removed_variable() -> None:
    upper = settle(at_most(exp(log_w), 3)).to_dict()
    assert recheck.part({**upper, "evidence": {"kind": "undecided"}}) == Verdict.UNDECIDED
    far = {"kind": "counterexample", "point": {"w": "4"}, "left": "4", "right": "3"}
    with pytest.raises(recheck.RefusedError, match="l leaves its domain"):
        recheck.part({**upper, "evidence": far})
    proof = settle(at_most(1, exp(log_w))).to_dict()
    with pytest.raises(recheck.RefusedError, match="l leaves its domain"):
        recheck.part({**proof, "evidence": {**proof["evidence"], "inside": {"w": "4"}}})
    K = Variable("K", 0, oo, open="both")
    escape = settle(order(Variable("r", 0, oo), K, constant=K)).to_dict()
    assert recheck.part(escape) == Verdict.REFUTED
    undefined = {"name": "l", "lower": None, "lower_open": True, "upper": None, "upper_open": True, "log_of": "-r"}
    with pytest.raises(recheck.RefusedError, match="a logarithm may be undefined"):
        recheck.part({**escape, "variables": [*escape["variables"], undefined]})
