"""A two-valued loss, T times, against exact sums at 50 digits, and at the limits of its range."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.accounting import PrivacyLoss
from ldp_audit.losses import binomial
from ldp_audit.losses.discrete_loss import BinomialLoss, DiscreteLoss
from tests.accounting.exact_binomial import exact_log_delta
from tests.together import together


def error(loss: BinomialLoss, epsilon: float) -> float:
    """The error of ln delta, which is the relative error of delta."""
    exact = exact_log_delta(loss.high, loss.low, loss.times, epsilon)
    return abs(float((arb(loss.log_delta_bounds(epsilon)[0]) - exact).mid()))


@together(("times", "known"), [(10**2, 4.7745675881), (10**4, 96.5718400331), (10**6, 5469.57183982)])
def test_epsilon_of_randomised_response_is_right_to_ten_digits_at_any_number_of_reports(times, known):
    """Would catch a lost digit in the sum: the exact delta crosses 1e-6 within 1e-10 of the epsilon."""
    epsilon = PrivacyLoss((BinomialLoss(0.1, -0.1, times),)).epsilon(1e-6)
    assert epsilon == pytest.approx(known, rel=1e-10)
    assert exact_log_delta(0.1, -0.1, times, epsilon) < math.log(1e-6)
    assert exact_log_delta(0.1, -0.1, times, epsilon * (1 - 1e-10)) > math.log(1e-6)


@together(
    ("high", "low", "times", "epsilon"),
    [
        (0.1, -0.1, 1, 0.05),
        (0.1, -0.1, 100, 9.99),
        (2.0, -0.3, 1000, 900.0),
        (2.0, -0.3, 1000, -100.0),
        (0.001, -0.002, 10**6, 1.0),
        (0.1, -0.1, 10**6, 0.0),
        (1e-9, -1e-9, 1000, 3e-8),
        (50.0, -50.0, 5, 120.0),
        (1e-3, -1e-3, 10**7, 12.0),
        (0.1, -0.1, 10**8, 505_000.0),
        (1e-3, -1e-3, 10**8, 100.0),
        (0.009, -0.009, 10**6, 75.0),
        (0.009, -0.009, 10**6, 40.0),
        (0.02, -0.003, 10**6, 30.0),
        (0.009, -0.009, 10**5, 30.0),
        (1e-3, -1e-3, 10**5, 3.0),
        (5.0, -0.0002, 10**8, 2e4),
    ],
)
def test_delta_is_right_to_twelve_digits(high, low, times, epsilon):
    """Would catch a wrong term, a wrong start, and the loss of digits in tails; the last ones take the integral."""
    assert error(BinomialLoss(high, low, times), epsilon) < 1e-12


def test_the_reference_tells_a_delta_that_is_wrong_in_its_twelfth_digit():
    loss = BinomialLoss(0.1, -0.1, 100)
    exact = exact_log_delta(0.1, -0.1, 100, 3.0)
    assert abs(float((arb(loss.log_delta_bounds(3.0)[0] + 2e-12) - exact).mid())) > 1e-12


@pytest.mark.parametrize(("high", "deviations"), [(0.1, 4.0), (0.1, -3.0), (1e-3, 30.0), (1e-6, 2.0), (3.0, 5.0)])
def test_the_integral_and_the_sum_term_by_term_agree(monkeypatch, high, deviations):
    """Would catch a wrong correction at the start of the integral, and too few pieces."""
    loss = BinomialLoss(high, -high, 10**8)
    odds = math.exp(high)
    deviation = 2 * high * math.sqrt(odds) / (1 + odds) * 10**4
    level = 10**8 * high * math.tanh(high / 2) + deviations * deviation
    smooth = loss.log_delta_bounds(level)[0]
    monkeypatch.setattr(binomial, "_LONG", 2**24)
    assert smooth == pytest.approx(loss.log_delta_bounds(level)[0], abs=1e-12)


def test_the_integral_without_its_corrections_would_be_seen(monkeypatch):
    loss = BinomialLoss(0.009, -0.009, 10**6)
    right = loss.log_delta_bounds(70.0)[0]
    monkeypatch.setattr(binomial, "_correction", lambda *_: 0.0)
    assert abs(loss.log_delta_bounds(70.0)[0] - right) > 1e-9


@pytest.mark.parametrize("times", [1, 10**9, 10**12, 10**18])
@pytest.mark.parametrize("high", [1e-9, 0.1, 50.0])
@pytest.mark.parametrize("log_delta", [math.log(1e-6), math.log(1e-300), -1e4])
def test_extremes_are_fast_and_never_a_false_zero(times, high, log_delta):
    """Would catch an underflow, and a sum whose time grows with T."""
    loss = PrivacyLoss((BinomialLoss(high, -high, times),))
    begin = time.perf_counter()
    epsilon = loss.epsilon(log_delta=log_delta)
    assert time.perf_counter() - begin < 1
    assert 0 <= epsilon <= loss.supremum()
    assert loss.log_delta_bounds(epsilon)[1] <= log_delta
    assert epsilon == 0 or loss.log_delta_bounds(epsilon * (1 - 1e-9))[0] > log_delta
    assert loss.log_delta_bounds(math.nextafter(loss.supremum(), 0) * (1 - 1e-15))[0] > -math.inf


def test_many_weights_and_many_rounds_at_once():
    """Would catch a limit below d T = 10**17."""
    assert PrivacyLoss((BinomialLoss(1.0, -1.0, 10**18),)).epsilon(1e-6) == pytest.approx(math.tanh(0.5) * 1e18)
    epsilon = PrivacyLoss((BinomialLoss(1e-9, -1e-9, 10**17),)).epsilon(1e-6)
    assert epsilon == pytest.approx(1.367571475, rel=1e-9)


SHARES = st.floats(-0.1, 0.999) | st.floats(1.001, 1.1)
"""Of the largest loss; at the loss itself delta falls to 0 within its rounding."""


@given(st.floats(1e-6, 30), st.floats(1e-6, 30), st.integers(1, 60), SHARES)
def test_the_listed_losses_say_the_same(high, low, times, share):
    """Would catch a wrong weight in either form."""
    loss = BinomialLoss(high, -low, times)
    level, listed = share * times * high, loss.atoms()
    assert listed is not None
    assert loss.log_delta_bounds(level)[0] == pytest.approx(
        DiscreteLoss(*listed).log_delta_bounds(level)[0], abs=1e-9, rel=1e-9
    )


@given(st.floats(1e-6, 30), st.floats(1e-6, 30), st.integers(1, 10**6), st.floats(-1, 1))
def test_reversed_follows_from_the_other_order(high, low, times, share):
    """delta(-e) = 1 - e**-e + e**-e delta'(e): would catch a reversed loss with wrong values."""
    loss, level = BinomialLoss(high, -low, times), min(share * times * min(high, low), 30.0)
    level = max(level, -30.0)
    assert loss.reversed().reversed() == loss
    forward, back = (math.exp(law.log_delta_bounds(e)[0]) for law, e in ((loss, level), (loss.reversed(), -level)))
    assert forward == pytest.approx(1 - math.exp(level) + math.exp(level) * back, abs=1e-9 * max(1, math.exp(level)))


def test_one_report_is_the_mechanism_itself():
    loss = BinomialLoss(1.0, -1.0, 1)
    assert math.exp(loss.log_delta_bounds(0.25)[0]) == pytest.approx(
        (math.e - math.exp(0.25)) / (math.e + 1), rel=1e-15
    )
    assert loss.supremum() == 1.0
    listed = loss.atoms()
    assert listed is not None
    assert np.allclose(listed.log_probabilities, [-math.log(1 + math.e), 1 - math.log(1 + math.e)])


@together(
    ("high", "low", "times"),
    [
        (0.0, -1.0, 1),
        (1.0, 0.0, 1),
        (math.inf, -1.0, 1),
        (math.nan, -1.0, 1),
        (1.0, -1.0, 0),
        (1.0, -1.0, 1.5),
        (1.0, -1.0, True),
        (1.0, -1.0, 10**18 + 1),
        (1e300, -1e300, 10**9),
    ],
)
def test_what_is_no_such_loss_is_refused(high, low, times):
    with pytest.raises(ValueError, match=r"must be"):
        BinomialLoss(high, low, times)


@together("high", [1e-320, 1e-300, 1e-200, 1e-100])
def test_tiny_losses_have_tiny_deltas(high):
    """Would catch probabilities that are taken as 1/2 exactly: delta(0) is about high/2."""
    law = BinomialLoss(high, -high, 1)
    assert law.log_delta_bounds(0.0)[0] == pytest.approx(math.log(high) - math.log(2), rel=1e-14)
    assert PrivacyLoss((law,)).epsilon(0.0) == high
    many = BinomialLoss(high, -high, 10**12).log_delta_bounds(0.0)[0]
    assert many == pytest.approx(math.log(high) + math.log(10**6) - math.log(2 * math.pi) / 2, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("times", [10**8, 10**9, 10**10])
@pytest.mark.parametrize("high", [0.1, 1.0])
@pytest.mark.parametrize("log_delta", [math.log(1e-6), math.log(1e-300)])
def test_epsilon_at_many_reports_against_exact_sums(times, high, log_delta):
    epsilon = PrivacyLoss((BinomialLoss(high, -high, times),)).epsilon(log_delta=log_delta)
    assert exact_log_delta(high, -high, times, epsilon) < log_delta
    assert exact_log_delta(high, -high, times, epsilon * (1 - 1e-11)) > log_delta


@together(("high", "low", "times"), [(31.0, -31.0, 10**13), (36.5, -36.5, 10**15), (36.0, -37.0, 10**15)])
def test_the_chance_that_all_losses_are_the_same_likely_one_keeps_its_digits(high, low, times):
    """Would catch ln p with an error of 2**-53, which n times it multiplies to a percent of delta."""
    for one in (BinomialLoss(high, low, times), BinomialLoss(high, low, times).reversed()):
        p, q = one.log_probability()
        exact = (1 - arb(min(p, q)).exp()).log()
        assert float((arb(max(p, q)) / exact - 1).mid()) == pytest.approx(0, abs=1e-12)
    law = BinomialLoss(high, low, times)
    assert error(law, math.nextafter(times * high - (high - low) / 2, 0)) < 1e-12


@together(("epsilon0", "log_delta"), itertools.product([20.0, 25.0, 60.0], [-1e-4, -1e-6, -1e-8]))
def test_near_delta_1_the_bound_is_above_the_truth_and_next_to_it(epsilon0: float, log_delta: float) -> None:
    """Would catch 1 - delta computed from delta, which has twelve digits: an upper bound 2e-9 too low."""
    upper = PrivacyLoss((BinomialLoss(epsilon0, -epsilon0, 1),)).epsilon(log_delta=log_delta)
    with ctx.workprec(200):
        truth = arb(epsilon0) + (1 - arb(log_delta).exp() * (1 + arb(-epsilon0).exp())).log()
    assert float(truth) <= upper <= float(truth) * (1 + 1e-9)
