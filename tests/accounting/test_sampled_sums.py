"""Subsampled sums, of which only the profile is known: enclosed, whatever their size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldp_audit.accounting import PrivacyLoss, compose, subsample
from ldp_audit.losses.hulls import dominated_atoms, dominating_atoms
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse, TwoPoint


@pytest.mark.parametrize(
    ("mechanism", "times"),
    [
        (RandomizedResponse(0.1, k=3), 1000),
        (RandomizedResponse(1.0, k=3), 10**5),
        pytest.param(TwoPoint(1.0), 10**6, marks=pytest.mark.slow),
        pytest.param(TwoPoint(0.01), 10**5, marks=pytest.mark.slow),
        (Laplace(1.0), 10**4),
        (Gaussian(0.01), 1),
    ],
)
def test_finitely_many_losses_enclose_a_sum_closely(mechanism: Any, times: int) -> None:
    """Would catch epsilons spread over the whole range of losses, of which a sum uses a small part."""
    loss = compose([(mechanism, times)])
    law = loss.directions[0]
    low, high = dominated_atoms(law), dominating_atoms(law)
    usual, rounding = loss.epsilon(0.5), 1e-12 + 1e-16 * law.supremum()  # masses come from levels' last digits
    for level in np.concatenate([usual * np.array([0.3, 0.9, 0.99, 1.0, 1.01, 1.3]), [loss.epsilon(1e-6), -3.0, 0.0]]):
        truth = law.log_delta_bounds(float(level))
        below, above = (one.log_delta_bounds(float(level)) for one in (low, high))
        assert below[0] <= truth[1] + rounding
        assert truth[0] <= above[1] + rounding
    for delta in (0.5, 1e-6):
        ends = [PrivacyLoss((one,)).epsilon(delta) for one in (low, high)]
        assert ends[1] - ends[0] <= 0.05 * (ends[1] - 0.9 * usual)


@pytest.mark.parametrize(
    ("mechanism", "times"),
    [
        (RandomizedResponse(1.0, k=3), 10**4),
        (TwoPoint(1.0), 10**4),
        pytest.param(TwoPoint(1.0), 10**6, marks=pytest.mark.slow),
        pytest.param(Laplace(1.0), 10**6, marks=pytest.mark.slow),
    ],
)
def test_sampled_sums_compose(mechanism: Any, times: int) -> None:
    """Would catch an overflow, and masses that do not add up to 1."""
    inner = compose([(mechanism, times)])
    one, whole = subsample(inner, rate=0.1), compose([(inner, 2)])
    low, high = compose([(one, 2)]).epsilon_bounds(1e-6)
    assert one.epsilon_bounds(1e-6)[0] <= low <= high <= whole.epsilon_bounds(1e-6)[1]
    assert high - low <= 1e-2 * high


def test_sums_of_two_values_are_near_those_of_the_noise_that_they_look_like() -> None:
    """TwoPoint(0.01) 250,000 times is nearly Gaussian noise of mu = 5, whose sampled sums an inversion gives."""
    inner = compose([(TwoPoint(0.01), 500**2)])
    ends = compose([(subsample(inner, rate=0.1), 2)]).epsilon_bounds(1e-6)
    noise = compose([(subsample(Gaussian(0.2), rate=0.1), 2)]).epsilon(1e-6)
    assert ends[1] - ends[0] <= 2e-3 * noise
    assert np.mean(ends) == pytest.approx(noise, rel=2e-3)
