"""Sums of subsampled Gaussian noises at extremes: against integrals of closed forms, exact sums, and simple bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting import compose, subsample
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.composition import inverted_sum
from ldp_audit.losses.grid_loss import compose_on_grid
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.losses.sampling_rate import SamplingRate
from ldp_audit.losses.subsampled_loss import SubsampledLoss
from ldp_audit.mechanisms import Gaussian

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_TRUTH = 1e-9
"""To which share of itself the integral below knows delta."""
_REACH = 14.0
"""Deviations beyond which there is less than e**-98, far below the smallest delta of a pair."""


def _mixed(mu: float, rate: float, *, record_first: bool = True) -> SubsampledLoss:
    return SubsampledLoss(GaussianLoss(mu), SamplingRate.of_chance(rate), record_first)


def _log_delta_of_two(law: SubsampledLoss, mu: float, level: float) -> float:
    """ln delta of two such losses: the integral over the first one's value of the second's closed form."""
    way = 1 if law.record_first else -1
    # near these the second one's delta changes quickly
    sharp = way * np.array([level, level - way * law.rate.log_left_out])
    places = law.rate.inverse(sharp) / mu + mu / 2
    near = [place + side * 4.0**-k for place in places[np.isfinite(places)] for k in range(16) for side in (-1, 0, 1)]
    first, last = -_REACH, _REACH + mu
    edges = np.linspace(first, last, math.ceil((last - first) * max(2.0, mu / 4)))
    edges = np.unique(np.clip([*edges, *near], first, last))
    halves = np.diff(edges)[:, None] / 2
    x = ((edges[1:] + edges[:-1])[:, None] / 2 + halves * _NODES).ravel()
    losses = way * law.rate.subsampled(mu * x - mu * mu / 2)
    densities = np.log((halves * _WEIGHTS).ravel()) - x * x / 2 - 0.5 * math.log(2 * math.pi)
    if law.record_first:
        densities = densities + losses
    gains = [law.log_delta_bounds(level - float(loss))[0] for loss in losses]
    return float(np.logaddexp.reduce(densities + np.array(gains)))


_PAIRS = [(1.0, 1e-3), (0.2, 0.05), (3.0, 0.01), (30.0, 0.2)]


@pytest.mark.covering(1)
@pytest.mark.parametrize(("mu", "rate"), _PAIRS)
@pytest.mark.parametrize("record_first", [True, False])
@pytest.mark.parametrize("log_delta", [-4.0, -60.0])
def test_two_losses_enclose_the_integral_of_the_closed_form(mu, rate, record_first, log_delta):
    """Would catch a bound on the wrong side, a bad tail, a record that is left out."""
    law = _mixed(mu, rate, record_first=record_first)
    loss = inverted_sum(compose_on_grid([(law, 2)]))
    alone = PrivacyLoss((law,)).epsilon_bounds(log_delta=log_delta)[1]
    level = min(1.2 * alone, 0.9 * loss.supremum()) or 0.1 * rate * min(1.0, mu)
    truth = _log_delta_of_two(law, mu, level)
    slack = _TRUTH * (1 + 1e-2 * abs(truth))
    low, high = loss.log_delta_bounds(level)
    assert truth - 1e-2 < low <= truth + slack
    assert truth <= high + slack


_SELDOM = (1000, 1e-15, 1.0, 1e-4)


@pytest.mark.covering(1)
@pytest.mark.parametrize("rate", [1e-4, 1e-3, 0.2])
@pytest.mark.parametrize("sigma", [0.5, 1.0, 30.0])
@pytest.mark.parametrize(("times", "delta"), [(2, 1e-6), (1000, 1e-15), (10**7, 1e-6)])
def test_epsilon_of_few_and_of_many_steps_is_known_and_lies_between_simple_bounds(rate, sigma, times, delta):
    """Would catch a wide interval, and bounds on the wrong side of one step, or of no sampling at all.

    The interval is a thousandth of epsilon, but in `_SELDOM`: there a tenth of the runs draw the record at all, and
    between the losses of none and of one draw every tilt that reaches the epsilon isolates losses that are rarer than
    delta. It is 4.6 hundredths, and must not be wider.
    """
    one = subsample(Gaussian(sigma=sigma), rate=rate)
    low, high = compose([(one, times)]).epsilon_bounds(delta)
    assert 0 <= low <= high <= low * (1 + (5e-2 if (times, delta, sigma, rate) == _SELDOM else 1e-3)) + 1e-12
    assert one.epsilon_bounds(delta)[0] <= high
    assert low <= compose([(Gaussian(sigma=sigma), times)]).epsilon(delta)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    rate=st.floats(-8, -0.1).map(lambda power: 10**power),
    sigma=st.floats(-1.5, 3).map(lambda power: 10**power),
    times=st.integers(1, 9).map(lambda power: 10**power),
    log_delta=st.floats(-600, -2),
)
def test_bounds_never_cross_anywhere(rate, sigma, times, log_delta):
    """Would catch a lower bound above the upper one, above the loss without sampling, or below one round."""
    one = subsample(Gaussian(sigma=sigma), rate=rate)
    level = one.epsilon(log_delta=log_delta) * (1 + times**0.25) + rate / sigma
    whole = compose([(Gaussian(sigma=sigma), times)]).directions[0].log_delta_bounds(level)[1]
    for single, law in zip(one.directions, compose([(one, times)]).directions, strict=True):
        if level < law.supremum():
            low, high = law.log_delta_bounds(level)
            assert single.log_delta_bounds(level)[0] - 1e-9 * abs(low) <= high
            assert low <= high + 1e-12 * abs(high)
            assert low <= whole + 1e-9 * abs(whole)


@pytest.mark.parametrize("sigma", [1e160, 1e300])
def test_noise_beyond_the_squares_of_floats_spends_next_to_nothing(sigma):
    """Would catch NaN: ln of a normal mass is minus infinity where the square of its end overflows."""
    low, high = compose([(subsample(Gaussian(sigma), rate=0.01), 3)]).epsilon_bounds(1e-5)
    assert low == 0 <= high < 1e-9
