"""Binomial tails and their inverses: to the last digits, since a bound may not exceed the truth by rounding either."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from ldp_audit.auditing.bounds import deviation, lower_limit, lower_limits, upper_limit
from tests.together import together

TRIALS = (1, 2, 30, 1_000, 1_000_000, 10**9)


@together("tail", [1e-12, 1e-4, 0.025, 0.4])
@together("trials", TRIALS)
def test_the_limits_have_the_tails_that_were_asked_for(trials: int, tail: float) -> None:
    """SciPy's inverse alone errs by 5e-9 for 1,000 hits of a million, and this by less than 1e-13."""
    for hits in sorted({1, 2, trials // 1000, trials // 7, trials // 2, trials - 1, trials}):
        if 1 <= hits <= trials:
            low = lower_limit(hits, trials, tail)
            assert special.betainc(hits, trials - hits + 1, low) == pytest.approx(tail, rel=distance(low, trials))
        if 0 <= hits < trials:
            high = upper_limit(hits, trials, tail)
            assert special.betaincc(hits + 1, trials - hits, high) == pytest.approx(tail, rel=distance(high, trials))


def distance(p: float, trials: int) -> float:
    """How far the tail may be off, relative: as far as two neighbouring floats are, and the tail's own error."""
    return 1e-10 + 20 * np.spacing(p) * trials / max(1 - p, 1 / trials) ** 0.5


def test_the_inverse_of_scipy_alone_would_fail_there() -> None:
    tail = float(special.ndtr(2.0))
    raw = special.betaincinv(1_000, 999_001, tail)
    polished = lower_limit(1_000, 1_000_000, tail)
    assert abs(special.betainc(1_000, 999_001, raw) / tail - 1) > 1e-10
    assert special.betainc(1_000, 999_001, polished) == pytest.approx(tail, rel=1e-13)


def probability(hits: int, trials: int, deviations: np.ndarray) -> np.ndarray:
    """The q with Phi^-1(P(Y > hits | q)) equal to these: by the limit whose tail is the smaller one."""
    tails = [float(special.ndtr(-abs(one))) for one in deviations]
    return np.array(
        [
            upper_limit(hits, trials, tail) if one > 0 else lower_limit(hits + 1, trials, tail)
            for one, tail in zip(deviations, tails, strict=True)
        ]
    )


@together("trials", [10_000, 10_001, 10**6, 10**9])
@together("hits", [0, 1, 3, 30])
def test_few_hits_of_many_trials_keep_their_digits(hits: int, trials: int) -> None:
    """Against 40 digits. SciPy's larger tail is off by 1e-8 for 30 of 10**9, and so was what came of it."""
    deviations = np.array([-4.0, -1.0, 0.1, 0.5, 1.5, 2.5, 4.0])
    found = probability(hits, trials, deviations)
    back = deviation(hits + 1, trials, found)
    for wanted, q, d in zip(deviations.tolist(), found.tolist(), back.tolist(), strict=True):
        with mpmath.workdps(40):
            terms = [
                mpmath.binomial(trials, k) * mpmath.mpf(q) ** k * (1 - mpmath.mpf(q)) ** (trials - k)
                for k in range(hits + 1)
            ]
            tail, density = mpmath.fsum(terms), (trials - hits) * terms[-1] / (1 - mpmath.mpf(q))
            off = (tail - mpmath.ncdf(-wanted)) / (density * q)  # of ln q
            slope = density * q / mpmath.npdf(wanted)
        assert abs(float(off)) < 3e-11
        assert d == pytest.approx(-wanted, abs=float(slope) * 6e-11)


@given(st.data(), st.integers(1, 10**6))
@settings(max_examples=80)
def test_deviations_fall_in_the_probability_and_are_those_of_the_exact_tail(data: st.DataObject, trials: int) -> None:
    hits = data.draw(st.integers(1, trials))
    levels = np.array([1e-9, 1e-3, 0.2, 0.5, 0.9, 0.99, 1 - 1e-6])
    p = lower_limits(hits, trials, levels)
    found = deviation(hits, trials, p)
    assert np.all(np.diff(found) <= 0)
    assert found == pytest.approx(-special.ndtri(levels), abs=1e-5)
    assert found == pytest.approx(special.ndtri(stats.binom.cdf(hits - 1, trials, p)), abs=1e-5)


@given(st.data(), st.integers(1, 10**6))
@settings(max_examples=80)
def test_a_probability_has_the_deviation_that_it_was_asked_for(data: st.DataObject, trials: int) -> None:
    hits = data.draw(st.integers(0, trials - 1))
    deviations = np.array([-6.0, -2.5, -0.3, 0.0, 1.0, 2.0, 2.1, 5.0])
    q = probability(hits, trials, deviations)
    assert np.all(np.diff(q) >= 0)
    assert deviation(hits + 1, trials, q) == pytest.approx(-deviations, abs=1e-6)


def test_the_ends_are_exact() -> None:
    assert lower_limit(0, 10, 0.05) == 0
    assert upper_limit(10, 10, 0.05) == 1
    assert deviation(3, 10, np.array([1.0])).tolist() == [-math.inf]
    assert lower_limit(10, 10, 0.05) == pytest.approx(0.05**0.1, rel=1e-15)
    assert upper_limit(0, 10, 0.05) == pytest.approx(1 - 0.05**0.1, rel=1e-15)


@together("tail", [1e-99, 1e-101, 1e-150, 1e-200, 1e-300])
@together("trials", [1, 2, 37, 200, 5000])
def test_limits_at_the_least_errors_are_numbers_on_the_safe_side(trials: int, tail: float) -> None:
    """SciPy's inverse is nan for 3 hits of 37 at 1e-200, and above the truth for 180 of 200 at 1e-300."""
    with mpmath.workdps(60):
        for hits in sorted({1, 2, 3, trials // 10, trials // 2, trials - 2, trials - 1, trials}):
            if 1 <= hits <= trials:
                low, high = lower_limit(hits, trials, tail), upper_limit(trials - hits, trials, tail)
                assert 0 < low <= hits / trials
                assert 1 - hits / trials <= high <= 1
                for p, slack in (
                    (mpmath.mpf(low), 0.0),
                    (1 - mpmath.mpf(high), trials * 2.3e-16 / max(1 - high, 1e-16)),
                ):
                    assert mpmath.betainc(hits, trials - hits + 1, 0, p, regularized=True) <= tail * (1 + 1e-9 + slack)
