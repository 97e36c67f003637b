"""The mass of textbook Laplace noise that one input only can give: counted three ways, and claimed falsely."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from sympy import E, Rational, exp, log

from ldp_audit.claims import recheck_alone as checker
from ldp_audit.claims.language.alone import Alone, counted, words_alone
from ldp_audit.claims.language.statement import Statement, at_most, differ, equal, less, written
from ldp_audit.claims.recheck import part as recheck_part
from ldp_audit.claims.recheck_functions import RefusedError, begin
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import Variable
from tests.together import together

PAIRS = [("0", "1"), ("1", "0"), ("1/2", "1"), ("-3", "1/4"), ("0", "1/8"), ("16", "-16"), ("1", "1"), ("0", "2**-46")]


def number(text: str) -> Fraction:
    return Fraction(2) ** -46 if text == "2**-46" else Fraction(text)


def checked(bits: int, x: Fraction, y: Fraction) -> int:
    begin()
    low, high = checker.alone(*((Fraction(end), Fraction(end)) for end in (bits, x, y)))
    assert low == high
    return int(low)


@pytest.mark.covering(1)
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("bits", [11, 13, 14, 16, 18, pytest.param(19, marks=pytest.mark.slow)])
def test_engine_and_checker_count_the_same(bits: int, pair: tuple[str, str]) -> None:
    """13 bits are the last without chunks in the checker, 17 the last of one column in both."""
    x, y = map(number, pair)
    assert counted(bits, x, y) == checked(bits, x, y)


UNCOUNTED = [("1/8", "3/8"), ("1/2", "-3"), ("15", "-15"), ("5/8", "1"), ("0", "3/8")]
"""Pairs of this test alone, as the checker keeps its last counts."""


@pytest.mark.parametrize("bits", [8, 11, 14, 16])
def test_the_checker_counts_the_same_with_numpy_and_without(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the engine's count."""
    for pure in (True, False):
        monkeypatch.setattr(checker, "PURE", [pure])
        for one, other in UNCOUNTED:
            x, y = map(number, (one, other) if pure else (other, one))
            assert checked(bits, x, y) == counted(bits, x, y)


W16 = counted(16, Fraction(0), Fraction(1))
V = Variable("v", 0, 1)
FALSE = {
    "more than the count": at_most(W16 + 1, words_alone(16, 0, 1)),
    "less than the count": at_most(words_alone(16, 0, 1), W16 - 1),
    "another count": equal(words_alone(16, 0, 1), W16 + 2),
    "no word": equal(words_alone(16, 0, 1), 0),
    "every word": at_most(2**16 - 1, words_alone(16, 0, 1)),
    "the count at one input for two": equal(words_alone(16, 1, 1), W16),
    "a program that tells nothing": less(0, words_alone(16, Rational(3, 4), Rational(3, 4))),
    "inputs that are nearer": at_most(Rational(82, 100) * 2**16, words_alone(16, 0, Rational(1, 64))),
    "inputs the other way round": equal(words_alone(16, 1, 0), W16),
    "not the count": differ(words_alone(16, 0, 1), W16),
    "a share beyond the words": at_most(Rational(81, 100) * 2**16, words_alone(16, 0, 1)),
}


@together("statement", FALSE.values())
def test_false_masses_are_refuted(statement: Statement) -> None:
    settled = settle(statement)
    assert settled.verdict is Verdict.REFUTED
    assert recheck_part(settled.to_dict()) == "REFUTED"


FORGED = {
    "too many bits": "Alone(25, 0, 1)",
    "one bit": "Alone(1, 0, 1)",
    "half a bit": "Alone(17/2, 0, 1)",
    "no float of so many bits": "Alone(8, 1/3, 1)",
    "an input of too many bits": "Alone(8, 257/512, 1)",
    "an input that is too large": "Alone(8, 32, 1)",
    "an input that is too fine": "Alone(8, 0, 2**(-47))",
    "an input too long to print": "Alone(8, 0, 10**99999)",
    "an uncertain input": "Alone(8, 0, exp(0)*sqrt(2)**2/2)",
    "more than one part may take": "Alone(24, 0, 1) + Alone(24, 1, 0)",
}


@together("forged", FORGED.values())
def test_forged_inputs_are_refused(forged: str) -> None:
    evidence = {"kind": "value", "left": "0", "right": "1"}
    record = {"label": "", "quantifier": "for all", "variables": [], "left": "0", "relation": "<=", "right": forged}
    with pytest.raises(RefusedError):
        recheck_part({**record, "evidence": evidence})


def test_a_variable_cannot_be_called_like_it_nor_stand_in_it() -> None:
    x = {"name": "Alone", "lower": "0", "upper": "1", "lower_open": False, "upper_open": False}
    record = {"label": "", "quantifier": "for all", "variables": [x], "left": "Alone", "relation": "<=", "right": "1"}
    evidence = {"kind": "certificate", "gap": "hi_Alone", "divisors": [], "inside": {"Alone": "1"}}
    with pytest.raises(RefusedError, match="the variable 'Alone' is not well declared"):
        recheck_part({**record, "evidence": evidence})
    with pytest.raises(ValueError, match="x must be a float of 8 bits, a multiple of"):
        words_alone(8, Variable("x", 0, 1), 0)


@together(
    ("arguments", "message"),
    [
        ((25, 0, 1), r"bits must be a whole number in 2..24, got 25"),
        ((Rational(17, 2), 0, 1), r"bits must be a whole number in 2..24, got 17/2"),
        ((8, Rational(1, 3), 1), "x must be a float of 8 bits, a multiple of"),
        ((8, 0, 17), "y must be a float of 8 bits, a multiple of"),
        ((8, 0, Rational(1, 2**47)), "y must be a float of 8 bits, a multiple of"),
        ((8, 0.5, 1), "is a floating-point number; write it exactly"),
    ],
)
def test_bad_input_is_named(arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        words_alone(*arguments)


def test_it_is_written_as_the_checker_reads_it() -> None:
    assert written(words_alone(24, 0, Rational(-1, 2))) == "Alone(24, 0, -1/2)"
    assert isinstance(words_alone(24, 0, 1), Alone)


@together(
    ("statement", "verdict"),
    [
        (at_most(W16 + E, words_alone(16, 0, 1) + E), Verdict.UNDECIDED),
        (less(words_alone(16, 0, 1) * exp(-1), Rational(W16, 2)), Verdict.PROVED),
        (less(Rational(W16, 2), words_alone(16, 0, 1) * exp(-1)), Verdict.REFUTED),
        (less(log(words_alone(16, 0, 1)), 11), Verdict.PROVED),
        (less(words_alone(16, 0, 1) * V, W16 + 1), Verdict.PROVED),
        (less(words_alone(16, 0, 1) * V, W16 - 1), Verdict.REFUTED),
    ],
)
def test_it_stands_beside_irrational_numbers_and_variables(statement: Statement, verdict: Verdict) -> None:
    """Catches an evaluation in balls that does not know it."""
    settled = settle(statement)
    assert settled.verdict is verdict
    assert recheck_part(settled.to_dict()) == verdict.name
