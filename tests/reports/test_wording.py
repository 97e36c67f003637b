"""Evidence in words: each kind is explained, and the explanation holds the numbers."""

from __future__ import annotations

from sympy import Rational, erf, exp, log, oo

from ldp_audit.claims import Statement, at_most, differ, equal, less, order, somewhere
from ldp_audit.claims.settling import settle
from ldp_audit.mechanisms.variable import EPSILON, T, Variable
from ldp_audit.reports.wording import explain, formal
from tests.together import together

x = Variable("x", 0, 1)
y = Variable("y", 0, oo)
v = Variable("v", -oo, oo)
whole = Variable("n", 1, 3, integer=True)
K = Variable("K", 0, oo, open="left")


@together(
    ("statement", "formal_line", "explanation"),
    [
        (at_most(x, 2), "for all 0 <= x <= 1: x <= 2", "right - left = "),
        (equal((x + 1) ** 2, x**2 + 2 * x + 1), "for all 0 <= x <= 1: (x + 1)**2 == x**2 + 2*x + 1", "expands to 0"),
        (at_most(x, 0), "for all 0 <= x <= 1: x <= 0", "At x = 1: left 1, right 0, so left <= right fails."),
        (at_most(2, 1), "2 <= 1", "2 <= 1 fails."),
        (somewhere(equal(x, 1)), "there is 0 <= x <= 1: x == 1", "At x = 1: left 1, right 1, so left == right holds."),
        (somewhere(less(2, x)), "there is 0 <= x <= 1: 2 < x", "Everywhere right <= left: left - right = "),
        (somewhere(equal(x, 2)), "there is 0 <= x <= 1: x == 2", "Everywhere left != right: "),
        (order(y**2, K * y, constant=K), "one K > 0 does for all 0 <= y: y**2 <= K*y", "No K does: take y = "),
        (order(2 * y, K * y, constant=K), "one K > 0 does for all 0 <= y: 2*y <= K*y", "K = "),
        (less(1 + EPSILON, T), "1 < t = e**(epsilon)", "Taylor polynomial"),
        (at_most(0, v**2 - v * x + x**2), "v real", "finds no point that violates it"),
        (less(erf(x) * (1 - x), Rational(3, 10)), "for all 0 <= x <= 1", "boxes cover the domain"),
        (less(exp(-erf(x)), 3 - erf(x)), "for all 0 <= x <= 1", "over the whole domain at once"),
        (at_most((T - 1) / (T + 1), EPSILON / 2), "1 < t = e**(epsilon)", "derivative by epsilon is"),
        (less(log(1 + y), 2 * y + 1), "log(y + 1) < 2*y + 1, that is log_1 < 2*y + 1", "hi_log_1 = y + 1 - 1 - log_1"),
        (at_most(exp(x), 1 + 2 * x), "exp_x = e**(x)", "times the Taylor polynomial of 1/exp_x"),
        (at_most(2**whole, 8), "for all 1 <= n <= 3 whole", "And so on for all 3 values."),
        (differ(x, 2), "for all 0 <= x <= 1: x != 2", "or its negative"),
    ],
)  # fmt: skip
def test_each_kind_of_evidence_is_put_in_words(statement: Statement, formal_line: str, explanation: str) -> None:
    part = settle(statement).to_dict()
    assert formal_line in formal(part)
    assert explanation in explain(part)


def test_a_proof_in_halves_names_both() -> None:
    part = settle(at_most(x, 2)).to_dict()
    proof = part["evidence"]
    halves = {"kind": "halves", "variable": "x", "at": "1/2", "below": proof, "above": proof}
    told = explain({**part, "evidence": halves})
    assert told.startswith("For x <= 1/2: right - left = ")
    assert "For x >= 1/2: right - left = " in told


def test_a_long_form_is_cut_and_says_so() -> None:
    part = settle(at_most(x, 2)).to_dict()
    part["evidence"]["gap"] = " + ".join(["lo_x"] * 200)
    assert "whole in report.json" in explain(part)
