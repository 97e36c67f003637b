"""The theorems for mechanisms of which only (epsilon, delta) is known."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting import compose
from ldp_audit.accounting.conversion import pure_dp
from ldp_audit.accounting.conversion.pure_dp import (
    advanced,
    advanced_improved,
    basic,
    compared,
    optimal,
    optimal_loss,
)
from ldp_audit.mechanisms import Piecewise, RandomizedResponse
from tests.together import together


@settings(max_examples=50)
@given(st.floats(1e-9, 20), st.integers(1, 10**9), st.floats(-300, -0.001), st.floats(0, 0.9))
def test_no_theorem_is_below_the_optimal_one(epsilon, times, exponent, share):
    """Would catch a formula written down too small, e.g. without its logarithm's e, and a slack spent twice."""
    delta = 10**exponent
    each = share * delta / times
    found = compared(epsilon, times, delta, each_delta=each)
    assert list(found) == ["basic", "advanced", "advanced, improved", "optimal"]
    best = found["optimal"].value
    for name, theorem in found.items():
        assert theorem.value >= best * (1 - 1e-12), name
    assert found["advanced, improved"].value <= found["basic"].value * (1 + 2e-12)


def test_a_formula_that_is_too_small_would_be_seen(monkeypatch):
    monkeypatch.setattr(pure_dp, "advanced_improved", lambda *a, **k: advanced_improved(a[0] / 2, *a[1:], **k))
    found = pure_dp.compared(0.1, 10**4, 1e-6)
    assert found["advanced, improved"].value < found["optimal"].value


def test_the_formulas_are_the_published_ones():
    """By hand, at epsilon 0.1, T = 100, delta = 1e-5."""
    log, mean = math.log(1e5), 100 * 0.1 * math.expm1(0.1) / (math.exp(0.1) + 1)
    assert basic(0.1, 100, 1e-5).value == pytest.approx(10.0, rel=1e-15)
    assert advanced(0.1, 100, 1e-5).value == pytest.approx(0.1 * math.sqrt(200 * log) + 10 * math.expm1(0.1), rel=1e-11)
    second = mean + 0.1 * math.sqrt(200 * math.log(math.e + 1.0 * 1e5))
    third = mean + 0.1 * math.sqrt(200 * log)
    assert advanced_improved(0.1, 100, 1e-5).value == pytest.approx(min(10.0, second, third), rel=1e-11)


def test_the_theorem_with_a_delta_of_each():
    """Theorem 3.3's own sum, at the levels (k - 2 i) epsilon."""
    epsilon, times, each = 0.4, 9, 1e-3
    loss = optimal_loss(epsilon, times, each_delta=each)
    for i in range(times // 2 + 1):
        level = (times - 2 * i) * epsilon
        delta_i = (
            sum(
                math.comb(times, j) * (math.exp((times - j) * epsilon) - math.exp((times - 2 * i + j) * epsilon))
                for j in range(i)
            )
            / (1 + math.exp(epsilon)) ** times
        )
        assert loss.delta(level) == pytest.approx(1 - (1 - each) ** times * (1 - delta_i), rel=1e-11)


def test_randomised_response_is_the_worst_and_others_have_less():
    assert optimal(0.5, 100, 1e-6).value == compose([(RandomizedResponse(0.5), 100)]).epsilon(1e-6)
    assert compose([(Piecewise(0.5), 100)]).epsilon(1e-6) < optimal(0.5, 100, 1e-6).value


@together("theorem", [basic, advanced, advanced_improved, optimal])
def test_ends(theorem):
    assert theorem(0.0, 5, 0.1).value == 0.0
    assert theorem(math.inf, 5, 0.1).value == math.inf
    assert theorem(1.0, 5, 1e-3, each_delta=1e-3).value == math.inf
    assert theorem(1.0, 1, 0.1, each_delta=1.0).value == math.inf
    assert theorem(1e-9, 10**18, 1e-300).value < math.inf
    assert theorem.__name__ == "advanced" or theorem(1.0, 3, 0.0).value == pytest.approx(3.0)
    assert theorem.__name__ in ("advanced", "basic") or theorem(1.0, 3, 1.0).value == 0.0
    assert theorem(1.0, 1, 0.25, each_delta=0.25).value == pytest.approx(1.0) or theorem is advanced


@together(
    "arguments",
    [
        (-1.0, 1, 0.1),
        (math.nan, 1, 0.1),
        (1.0, 0, 0.1),
        (1.0, 1.5, 0.1),
        (1.0, True, 0.1),
        (1.0, 1, -0.1),
        (1.0, 1, math.nan),
        (1.0, 10**18 + 1, 0.1),
    ],
)
def test_bad_arguments_are_refused(arguments):
    for theorem in (basic, advanced, advanced_improved, optimal, compared):
        with pytest.raises(ValueError, match="must"):
            theorem(*arguments)
    with pytest.raises(ValueError, match="each_delta"):
        basic(1.0, 1, 0.1, each_delta=2.0)


def test_a_fraction_is_a_number():
    assert optimal(Fraction(1, 4), 10, 1e-5) == optimal(0.25, 10, 1e-5)
