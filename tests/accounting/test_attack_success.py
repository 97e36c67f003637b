"""The true-positive rate of the best test: against closed forms, and where 1 - f(alpha) would have no digit left."""

from __future__ import annotations

import itertools
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import erfc, erfinv, mp, mpf, sqrt

from ldp_audit.accounting import PrivacyProfile, compose, privacy_loss
from ldp_audit.accounting.attack_success import bounds_of_profile, detection
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.discrete_loss import DiscreteLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.mechanisms import Gaussian, Laplace, Piecewise, RandomizedResponse
from tests.accounting.random_atoms import losses
from tests.together import together

RATES = (1e-300, 1e-30, 1e-17, 1e-12, 1e-3, 0.1, 0.5, 0.9, 0.99, 1 - 1e-9)


def gaussian_rate(mu: float, alpha: float) -> float:
    """Phi(Phi^-1(alpha) + mu), with 400 digits."""
    with mp.workdps(400):
        place = sqrt(2) * erfinv(2 * mpf(alpha) - 1)
        return float(erfc(-(place + mpf(mu)) / sqrt(2)) / 2)


def laplace_rate(epsilon: float, alpha: float) -> float:
    """1 - f(alpha) of Laplace noise (Dong, Roth, Su 2022, Lemma A.6)."""
    if alpha < math.exp(-epsilon) / 2:
        return math.exp(epsilon) * alpha
    return 1 - math.exp(-epsilon) / (4 * alpha) if alpha < 0.5 else 1 - math.exp(-epsilon) * (1 - alpha)


@pytest.mark.parametrize("alpha", [5e-324, 1e-320, 1e-300, 1e-30, 1e-12, 1e-3, 0.5, 0.99])
@pytest.mark.parametrize("mu", [1e-3, 1.0, 8.0])
def test_gaussian_noise_at_any_false_alarm_rate(mu: float, alpha: float) -> None:
    exact = gaussian_rate(mu, alpha)
    found = detection(privacy_loss(Gaussian(1 / mu)), alpha)
    assert found.lower <= exact <= found.upper
    assert found.upper - found.lower <= 5e-12 * exact + 1e-322


@together(("alpha", "mu"), itertools.product([1e-300, 1e-12, 0.5, 0.99], [1e-9, 0.1, 1.0, 8.0]))
def test_the_profile_alone_tells_as_much_as_the_closed_form(mu: float, alpha: float) -> None:
    exact = gaussian_rate(mu, alpha)
    low, high = bounds_of_profile(GaussianLoss(mu), alpha)
    assert low <= exact <= high
    assert high - low <= 2e-9 * exact


@together(("alpha", "epsilon"), itertools.product(RATES, [1e-6, 1.0, 30.0]))
def test_laplace_noise_at_any_false_alarm_rate(epsilon: float, alpha: float) -> None:
    exact = laplace_rate(epsilon, alpha)
    found = detection(PrivacyLoss((LaplaceLoss(epsilon),)), alpha)
    assert found.lower <= exact * (1 + 1e-15)
    assert exact * (1 - 1e-15) <= found.upper
    assert found.upper - found.lower <= 3e-9 * exact


def test_tiny_rates_are_not_lost_in_what_is_missed() -> None:
    assert detection(privacy_loss(RandomizedResponse(1.0)), 1e-17).upper == pytest.approx(math.e * 1e-17, rel=1e-11)


@settings(max_examples=60)
@given(losses(), st.floats(0, 1) | st.floats(-300, 0).map(lambda x: 10.0**x))
def test_finitely_many_losses_against_every_test_that_a_corner_is(loss: PrivacyLoss, alpha: float) -> None:
    """The linear programme's solution: outputs by falling ratio, the last one in part, for the worse order."""
    exact = 0.0
    for law in loss.directions:
        assert isinstance(law, DiscreteLoss)
        left, found = alpha, math.exp(law.log_infinite)
        for size, log in zip(law.losses[::-1], law.log_probabilities[::-1], strict=True):
            mass = math.exp(log - size)
            found += math.exp(log) * min(1.0, left / mass)
            left = max(0.0, left - mass)
        exact = max(exact, found)
    ends = detection(loss, alpha)
    assert ends.lower <= exact * (1 + 1e-12)
    assert exact * (1 - 1e-12) <= ends.upper <= exact * (1 + 1e-9) + 1e-322


def test_no_false_alarm_leaves_what_is_shown_outright() -> None:
    assert detection(privacy_loss(Gaussian(1.0)), 0.0).upper == 0
    assert detection(privacy_loss(RandomizedResponse(math.inf)), 0.0).upper == 1


def test_compositions_lie_between_the_bounds_and_agree_with_the_curve() -> None:
    loss = compose([(Laplace(3.0), 20)])
    for alpha in (1e-200, 1e-9, 0.01, 0.7):
        found = detection(loss, alpha)
        assert 0 < found.lower <= found.upper <= found.lower * (1 + 1e-4)
        if alpha > 1e-3:
            curve = loss.trade_off(alpha)
            assert found.lower <= 1 - float(curve.lower) + 1e-15
            assert 1 - float(curve.upper) <= found.upper + 1e-15


def test_bounds_that_are_apart_stay_on_their_sides() -> None:
    """All that (1, 1e-5)-privacy allows: a rate of at least 0, and at most e alpha + 1e-5."""
    found = detection(PrivacyProfile.from_points([(1.0, 1e-5)]).loss, 1e-3)
    assert found.lower <= 1e-3
    assert math.e * 1e-3 + 1e-5 <= found.upper <= (math.e * 1e-3 + 1e-5) * (1 + 1e-9)


def test_more_false_alarms_detect_more() -> None:
    loss = compose([(Piecewise(1.0), 3)])
    found = [detection(loss, float(alpha)) for alpha in np.logspace(-20, 0, 9)]
    assert all(a.lower <= b.upper for a, b in pairwise(found))
    assert found[-1].upper == found[-1].lower == 1
