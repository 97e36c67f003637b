"""The mass of the claims' textbook Laplace noise that one input only can give, word by word and in three counts."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from sympy import Integer, Rational, log

from ldp_audit.claims.engines.evaluate import exact_value
from ldp_audit.claims.language.alone import counted, words_alone
from ldp_audit.claims.language.statement import at_most, less
from ldp_audit.claims.recheck import part as recheck_part
from ldp_audit.claims.recheck_functions import RefusedError
from ldp_audit.claims.settling import Settled, SettledClaim, settle, settle_claim
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.papers.ldp_fl.claims import float_noise
from tests.claims.test_alone import PAIRS, checked, number
from tests.together import together


@together("pair", PAIRS)
@together("bits", [2, 7])
def test_it_is_the_count_of_the_claims_own_program(bits: int, pair: tuple[str, str]) -> None:
    """Word by word through the expression that the claims state, in exact arithmetic, and in both counts."""
    x, y = map(number, pair)
    mine, theirs = (_reports(at, bits) for at in (x, y))
    expected = len(mine) - sum(map(set(theirs).__contains__, mine))
    assert counted(bits, x, y) == checked(bits, x, y) == expected


@cache
def _reports(at: Fraction, bits: int) -> list[Fraction]:
    """What the claims' expression gives for each word."""
    x: Any = Rational(at.numerator, at.denominator)
    return [exact_value(float_noise.laplace_report(x, Integer(word), bits), {}) for word in range(1, 2**bits)]


@pytest.fixture
def in_float32(ldp_fl_settled: list[SettledClaim]) -> Settled:
    """The mass in float32, as it was settled with the paper: it takes engine and checker seconds."""
    (claim,) = (one for one in ldp_fl_settled if one.claim.id == "FP-LAPLACE")
    (mass,) = (one for one in claim.parts if one.statement.quantifier == "for all")
    return mass


def test_most_of_the_mass_in_float32_lies_where_one_input_only_reaches(in_float32: Settled) -> None:
    assert in_float32.verdict is Verdict.REFUTED
    assert in_float32.evidence["left"] == "13433389"


@pytest.mark.slow
def test_sets_of_numpys_reports_have_the_same_mass_in_float32() -> None:
    """A third count; float64's logarithm, rounded to float32, is right for all of these words."""
    top = 2**23
    noise = np.log(np.arange(1, top + 1) / top).astype(np.float32)
    at_zero, at_one = (np.concatenate([np.float32(x) + noise[:-1], np.float32(x) - noise]) for x in (0, 1))
    assert int(np.isin(at_zero, at_one, invert=True).sum()) == 13_433_389


@together("share", ["0.80", "0.81"])
def test_the_share_in_float32_lies_between_0_80_and_0_81(in_float32: Settled, share: str) -> None:
    settled = settle(at_most(Rational(share) * 2**24, words_alone(24, 0, 1)))
    assert settled.verdict is (Verdict.PROVED if share == "0.80" else Verdict.REFUTED)
    assert in_float32.verdict is Verdict.REFUTED


@together("changed", [("left", "13433388"), ("left", "13271171"), ("right", "1")])
def test_a_changed_mass_is_refused(in_float32: Settled, changed: tuple[str, str]) -> None:
    record = in_float32.to_dict()
    record["evidence"] = {**record["evidence"], changed[0]: changed[1]}
    with pytest.raises(RefusedError, match="is printed where another value is found"):
        recheck_part(record)


def test_the_mass_in_float64_follows_from_counts() -> None:
    """The three numbers by `math`, and false ones beside them: a bound on m ln(M/m), and a report on the wrong side."""
    claim = float_noise.laplace_53()
    settled = settle_claim(claim)
    assert (settled.verdict, settled.correction_verdict()) == (Verdict.REFUTED, Verdict.PROVED)
    below, above = 1 - math.exp(-0.5) / 2, math.exp(-0.5) / 2
    assert 0 < below - 5707 / 8192 < 1e-4
    assert 0 < 2485 / 8192 - above < 1e-4
    v = Variable("v", Rational(1, 2**52), 1)
    assert settle(less(-v * log(v), Rational(1, 3))).verdict is Verdict.REFUTED
    words = 2**53
    assert settle(less(float_noise.laplace_report(0, Rational(5709, 8192) * words, 53), Rational(1, 2))).verdict is (
        Verdict.REFUTED
    )


@pytest.mark.parametrize("bits", [8, pytest.param(11, marks=pytest.mark.slow)])
def test_the_argument_for_float64_holds_where_all_words_can_be_tried(bits: int) -> None:
    """No two words lead x = 0 to one report, and the share that is alone is no less than the count says."""
    reports = _reports(Fraction(0), bits)
    assert len(set(reports)) == len(reports)
    bound = Fraction(5707 - 2485, 8192) * 2**bits - 2  # whole words on either side
    assert counted(bits, Fraction(0), Fraction(1)) >= bound
