"""Evidence in words: each kind is explained, and the explanation holds the numbers."""

from __future__ import annotations

import re
from fractions import Fraction

from sympy import Integer, Rational, erf, exp, log, oo

from ldp_audit.claims import Quantities, Statement, at_most, differ, equal, less, order, somewhere
from ldp_audit.claims.privacy import is_private
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.values.two_point import TWO_POINT
from ldp_audit.mechanisms.variable import EPSILON, T, Variable
from ldp_audit.reports import notation
from ldp_audit.reports.mathematics import mathml
from ldp_audit.reports.wording import cases, explain, formal
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
        (equal((x + 1) ** 2, x**2 + 2 * x + 1), "for all 0 <= x <= 1: (x + 1)^2 = x^2 + 2 x + 1", "expands to 0"),
        (at_most(x, 0), "for all 0 <= x <= 1: x <= 0", "At x = 1, the left side is 1 and the right side 0; claimed"),
        (at_most(2, 1), "2 <= 1", "The left side is 2 and the right side 1; claimed"),
        (somewhere(equal(x, 1)), "there is 0 <= x <= 1: x = 1", "At x = 1, 1 = 1."),
        (somewhere(less(2, x)), "there is 0 <= x <= 1: 2 < x", "Everywhere right <= left: left - right = "),
        (somewhere(equal(x, 2)), "there is 0 <= x <= 1: x = 2", "Everywhere left != right: "),
        (order(y**2, K * y, constant=K), "one K > 0 does for all 0 <= y: y^2 <= K y", "No K does: take y = "),
        (order(2 * y, K * y, constant=K), "one K > 0 does for all 0 <= y: 2 y <= K y", "K = "),
        (less(1 + EPSILON, T), "1 < t = e^epsilon", "Taylor polynomial"),
        (at_most(0, v**2 - v * x + x**2), "v real", "finds no point that violates it"),
        (less(erf(x) * (1 - x), Rational(3, 10)), "for all 0 <= x <= 1", "boxes cover the domain"),
        (less(exp(-erf(x)), 3 - erf(x)), "for all 0 <= x <= 1", "over the whole domain at once"),
        (at_most((T - 1) / (T + 1), EPSILON / 2), "1 < t = e^epsilon", "derivative by epsilon is"),
        (less(log(1 + y), 2 * y + 1), "ln(y + 1) < 2 y + 1, that is log_1 < 2 y + 1", "hi_log_1 = y + 1 - 1 - log_1"),
        (at_most(exp(x), 1 + 2 * x), "exp_x = e^x", "times the Taylor polynomial of 1/exp_x"),
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


@together(
    ("statement", "sentence"),
    [
        (
            at_most(x, Rational(1, 2), sides=Quantities("the mean", "the printed bound")),
            "At x = 1, the mean is 1; claimed at most the printed bound, which is 1/2.",
        ),
        (
            equal(Rational(1, 4), 0, sides=Quantities("delta(1) of the counts")),
            "delta(1) of the counts is 1/4; claimed 0.",
        ),
        (
            at_most(1, 0, sides=Quantities("input 3", "input 0", "the output (0, 1) has probability", Integer(2))),
            "The output (0, 1) has probability 1 on input 3 and 0 on input 0: no ratio is large enough.",
        ),
        (
            at_most(1, 0, sides=Quantities("input 3", "input 0", "the output (0, 1) has probability", T)),
            "The left side is 1 and the right side 0; claimed the left is at most the right.",
        ),
    ],
)  # fmt: skip
def test_a_counterexample_says_what_its_numbers_are(statement: Statement, sentence: str) -> None:
    assert explain(settle(statement).to_dict()) == sentence


def test_a_refuted_ratio_is_a_sentence_whose_numbers_fit() -> None:
    """By hand: the two probabilities have the ratio that is stated, and it exceeds the claimed one."""
    settled = [settle(part) for part in is_private(TWO_POINT, (T + 1) / 2)]
    refuted = [explain(one.to_dict()) for one in settled if one.verdict is Verdict.REFUTED]
    assert refuted
    for sentence in refuted:
        said = re.search(
            r"e\^epsilon = (\S+),.* has probability (\S+) on input (\S+) and (\S+) on input (\S+): (.*)\.", sentence
        )
        assert said is not None, sentence
        ratio, claimed = re.findall(r"\d+(?:/\d+)?", said[6])
        assert said[3] != said[5]
        assert Fraction(said[2]) / Fraction(said[4]) == Fraction(ratio) > Fraction(claimed)
        assert Fraction(claimed) == (Fraction(said[1]) + 1) / 2


def test_a_proof_by_values_is_a_table() -> None:
    part = settle(at_most(2**whole, 8)).to_dict()
    assert [value for value, _ in cases(part)] == ["1", "2", "3"]
    assert cases(settle(at_most(x, 2)).to_dict()) == []


@together(
    ("text", "plain", "latex"),
    [
        ("t**2", "t^2", "t^{2}"),
        ("Ind(x_prime, 0)", "1[x' = 0]", r"\mathbf{1}[x'=0]"),
        ("a - (b - c)", "a - (b - c)", r"a - \left(b - c\right)"),
        ("(a + b)/c*d", "(a + b)/c*d", r"\frac{a + b}{c}\,d"),
        ("a/(b*c)", "a/(b c)", r"\frac{a}{b\,c}"),
        ("-(x + 1)**2", "-(x + 1)^2", r"-\left(x + 1\right)^{2}"),
        ("2**(n - 1)", "2^(n - 1)", "2^{n - 1}"),
        ("exp(-2*epsilon_1)", "e^(-2 epsilon_1)", r"e^{-2\,\varepsilon_{\mathrm{1}}}"),
        ("27/128 - 3*15/128", "27/128 - 3*15/128", r"\frac{27}{128} - \frac{3 \cdot 15}{128}"),
        ("__import__('os') if x else", "__import__('os') if x else", r"\text{__import__('os') if x else}"),
    ],
)
def test_expressions_are_written_as_a_person_writes_them(text: str, plain: str, latex: str) -> None:
    assert notation.readable(text) == plain
    assert notation.typeset(text) == latex


def test_what_is_typeset_is_mathml_and_evaluates_nothing() -> None:
    """Would catch LaTeX that the converter refuses, which is then shown as it is."""
    for text in ("Ind(x_prime, 0)*t", "Max(0, x)/Abs(y)", "binomial(n, k)*factorial(k)", "Ceil(log(t_2))", "Fl(x, 24)"):
        assert mathml(notation.typeset(text)).startswith("<math")
    assert notation.at_point("t**2/3", {"t": "1/2"}) == Fraction(1, 12)
    assert notation.at_point("9**9**9", {}) is None
    assert notation.at_point("t", {}) is None
    assert notation.at_point("1/t", {"t": "0"}) is None


@together(
    ("words", "shown"),
    [
        ("r^2 ((e^epsilon + 1))^2 <= x_1", "r<sup>2</sup> ((e<sup>&epsilon;</sup> + 1))<sup>2</sup> ≤ x<sub>1</sub>"),
        ("10^-5. <b>`a_b^c`</b>", "10<sup>-5</sup>. &lt;b&gt;<code>a_b^c</code>&lt;/b&gt;"),
        ("t^(n - 1) `", "t<sup>n - 1</sup> `"),
    ],
)
def test_words_of_a_claim_are_set_with_powers_and_letters_and_escaped(words: str, shown: str) -> None:
    assert notation.in_html(words) == shown
