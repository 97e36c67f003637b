"""Eq. (2) and noise as floating-point programs: the claims' numbers against numpy's arithmetic; false neighbours."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from sympy import Rational

from ldp_audit.claims import Statement, equal, less, somewhere
from ldp_audit.claims.claim import Claims
from ldp_audit.claims.engines.evaluate import exact_value
from ldp_audit.claims.language.rounding import in_normal_range, nearest
from ldp_audit.claims.recheck import RefusedError
from ldp_audit.claims.recheck import part as recheck_part
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.papers.ldp_fl.claims import float_noise, floating_point
from ldp_audit.papers.ldp_fl.claims.float_program import (
    DTYPES,
    FloatProgram,
    implemented_epsilon,
    in_float32,
    probability,
)
from tests.together import together

FIRST = {"1": "16.635532", "0.075": "16.453318", "0.015": "15.983988"}
LAST = "17.328678"


def _in_numpy(epsilons: np.ndarray, radius: str, center: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The words for the upper report at both ends, by float32 arithmetic itself; exp by way of float64."""
    f = np.float32
    t, r, c = np.exp(epsilons.astype(np.float64)).astype(f), f(radius), f(center)
    ends = [((end - c) * (t - f(1)) + r * (t + f(1))) / (f(2) * r * (t + f(1))) for end in (c + r, c - r)]
    above, below = (np.clip(np.ceil(p.astype(np.float64) * 2.0**24), 0, 2.0**24) for p in ends)
    return above, below


@together("radius", FIRST)
def test_the_scan_of_all_float32_epsilons_ends_where_the_claim_says(radius: str) -> None:
    """All of [13, 17.5]; another first infinite or last finite epsilon would show."""
    low, high = (int(np.float32(end).view(np.int32)) for end in (13, 17.5))
    epsilons = np.arange(low, high + 1, dtype=np.int32).view(np.float32)
    above, below = _in_numpy(epsilons, radius)
    infinite = (above == 2**24) | (below == 0)
    assert epsilons.size == 3_932_161
    assert epsilons[infinite][0] == np.float32(FIRST[radius])
    assert epsilons[~infinite][-1] == np.float32(LAST)


@together(("radius", "center"), [("1", 0), ("0.075", 0), ("0.015", 0), ("0.001", 1)])
def test_the_chain_is_float32s_own_arithmetic(radius: str, center: int) -> None:
    """Word by word at random epsilons: a wrong order of operations, or one rounding too few, would differ."""
    epsilons = np.random.default_rng(32).uniform(0.01, 17.5, 300).astype(np.float32)
    above, below = _in_numpy(epsilons, radius, center)
    for epsilon, *found in zip(epsilons, above, below, strict=True):
        exact = implemented_epsilon(24, Fraction(float(epsilon)), Fraction(in_float32(radius)), Fraction(center))
        infinite = found[0] == 2**24 or found[1] == 0
        expected = math.inf if infinite else max(*_log_ratios(*map(int, found)))
        assert exact == pytest.approx(expected, rel=1e-12)


def _log_ratios(above: int, below: int) -> tuple[float, float]:
    return abs(math.log(above / below)), abs(math.log((2**24 - above) / (2**24 - below)))


def test_the_chain_is_halfs_own_arithmetic() -> None:
    """As above with numpy's float16, at every t of the dtype up to 2^12."""
    half = np.float16
    for t in (half(k) * half(2) ** half(e) for e in range(-9, 2) for k in range(1024, 2048, 13)):
        if t > 1:
            top = ((t - half(1)) + (t + half(1))) / (half(2) * (t + half(1)))
            found = probability(Fraction(float(t)), Fraction(0), Fraction(1), 1, partial(nearest, digits=11))
            assert found == Fraction(float(top))


@pytest.mark.parametrize("bits", [8, 11])
def test_every_t_of_the_narrow_dtypes_is_infinite_exactly_where_the_argument_says(bits: int) -> None:
    """FP-DTYPE in full, up to 2^(b+2); the engines settle the ends of the stretches only."""
    fl = partial(nearest, digits=bits)
    for exponent in range(bits + 2):
        every = 1 if bits == 8 or exponent >= bits - 1 else 17  # of the small t of half, some
        for k in range(2 ** (bits - 1), 2**bits, every):
            t = Fraction(k) * Fraction(2) ** (exponent - bits + 1)
            if t == 1:
                continue
            top, bottom = (probability(t, Fraction(0), Fraction(1), side, fl) for side in (1, -1))
            infinite = top * 2**bits > 2**bits - 1 or bottom <= 0
            assert infinite == (t >= 2**bits and (t % 4 == 0 or t >= 2 ** (bits + 1)))
            assert all(in_normal_range(number, bits) for number in (t, 2 * (t + 1), top))


def test_no_number_of_a_claim_leaves_its_dtypes_normal_range() -> None:
    """Fl has no limits of exponents: nothing of the chain may be where a real float overflows or is subnormal."""
    seen = []

    def fl(x: Fraction, digits: int) -> Fraction:
        seen.append(in_normal_range(nearest(x, digits), digits))
        return nearest(x, digits)

    for bits, t in ((8, 2**9), (11, 2**12), (24, 2**25), (53, 2**54), (8, 2), (11, 2)):
        for side in (1, -1):
            probability(Fraction(t), Fraction(0), Fraction(1), side, partial(fl, digits=bits))
    assert len(seen) == 12 * 11
    assert all(seen)


@pytest.mark.parametrize(("dtype", "shift"), [(np.float32, 24), (np.float64, 53)])
def test_the_laplace_program_in_numpy_never_makes_the_report(dtype: type, shift: int) -> None:
    """The words around the report of 0 for u = 3/8, with x = 1: numpy's ln may be off by an ulp, the gap is as wide."""
    name = {24: "FP-LAPLACE", 53: "FP-LAPLACE53"}[shift]
    (claim,) = (one for one in Claims(float_noise.CLAIMS) if one.id == name)
    report = dtype(float(exact_value(claim.parts[0].right, {})))
    assert report == pytest.approx(math.log(0.75), rel=1e-7)
    centre = int((math.exp(float(report) - 1) / 2) * 2.0**shift)
    words = np.arange(centre - 1000, centre + 1000)
    reports = dtype(1) + np.log(dtype(2) * (words.astype(dtype) / dtype(2.0**shift)))
    assert reports.min() < report < reports.max()
    assert report not in reports


def test_a_neighbouring_report_of_laplace_can_be_made_and_is_not_refuted() -> None:
    """The cover must not refute what is true: the report of x = 1 for u = 3/8 itself."""
    word = Variable("j", 6291455, 6291457, integer=True)
    made = float_noise.laplace_report(1, Rational(3, 8) * 2**24, 24)
    settled = settle(somewhere(equal(float_noise.laplace_report(1, word, 24), made)))
    assert settled.verdict is Verdict.PROVED
    assert settled.evidence["point"] == {"j": "6291456"}


@together("word", [2314497, 2314498, 3 * 2**21, 1])
def test_the_cover_of_laplace_denies_no_report_that_can_be_made(word: int) -> None:
    """The first two words are the gap's neighbours; a checker that skipped boxes would still deny their reports."""
    record = settle(float_noise.laplace().parts[0]).to_dict()
    assert recheck_part(record) == "REFUTED"
    record["right"] = str(exact_value(float_noise.laplace_report(1, Rational(word), 24), {}))
    with pytest.raises(RefusedError):
        recheck_part(record)


ONE = FloatProgram(24, in_float32(FIRST["1"]))
BEFORE = FloatProgram(24, in_float32("16.63553"))
FALSE = {
    "infinite one float32 earlier": equal(BEFORE.lower_words(1), 0),
    "finite at the first infinite one": less(0, ONE.lower_words(1)),
    "the lower report never comes from below": equal(ONE.lower_words(-1), 0),
    "float64 is infinite there too": equal(FloatProgram(53, in_float32(FIRST["1"])).lower_words(1), 0),
    "bfloat16 is infinite at t = 2^8 - 1": equal(floating_point.dtypes().parts[2].left, 2**8),
    "finite at epsilon 20 in float64 by the nominal number": less(
        FloatProgram(53, Rational(20)).implemented() - 20, Rational(17, 10**9)
    ),
}


@together("statement", FALSE.values())
def test_neighbouring_false_claims_are_refuted(statement: Statement) -> None:
    settled = settle(statement)
    assert settled.verdict is Verdict.REFUTED
    assert recheck_part(settled.to_dict()) == "REFUTED"


def test_the_dtypes_are_those_of_the_claim() -> None:
    assert DTYPES == {"bfloat16": 8, "half": 11, "float32": 24, "float64": 53}
    assert all(claim.source == "derived" for claim in (*Claims(floating_point.CLAIMS), *Claims(float_noise.CLAIMS)))
