"""Closed forms around sums of losses: certain against closed forms, and near where losses are nearly two-valued."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.accounting import compose
from ldp_audit.accounting.contour.simple_ends import SimpleEnds
from ldp_audit.accounting.contour.two_sides import two_sided
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate
from ldp_audit.mechanisms import Laplace
from tests.accounting.contour_integral import exact_log_delta, laplace_moments

_RATE = SamplingRate.of_chance(0.01)


@pytest.mark.parametrize("mu", [1e-5, 0.1, 4.0])
@pytest.mark.parametrize("level", [0.0, 0.3, 5.0, 200.0])
def test_ends_of_gaussian_noises_enclose_the_closed_form(mu, level):
    """Would catch a two-valued loss that is larger than what it is made of."""
    ends = SimpleEnds([(GaussianLoss(mu), 50)], math.inf)
    truth = GaussianLoss(mu * math.sqrt(50)).log_delta_bounds(level)[0]
    low, high = ends.log_delta_bounds(level)
    assert low <= truth <= high


@pytest.mark.parametrize(("epsilon", "times"), [(0.5, 40), (2.0, 25)])
@pytest.mark.parametrize("share", [0.4, 0.6])
def test_ends_of_laplace_noises_enclose_the_integral(epsilon, times, share):
    """Would catch a largest or a smallest loss that is not."""
    level = share * epsilon * times
    truth = exact_log_delta([(laplace_moments(epsilon), times)], level)
    low, high = SimpleEnds([(LaplaceLoss(epsilon), times)], epsilon * times).log_delta_bounds(level)
    assert low <= truth + 1e-8
    assert truth <= high + 1e-8
    assert -math.inf < low
    assert high < 0


_LAWS = [
    GaussianLoss(1.3),
    LaplaceLoss(0.7),
    *(MixedLoss(base, _RATE, first) for base in (GaussianLoss(2.0), LaplaceLoss(3.0)) for first in (True, False)),
]


@pytest.mark.parametrize("law", _LAWS)
def test_telling_the_side_of_a_value_gives_no_more_than_the_value(law):
    """At every level. Would catch P and Q taken for each other, or a mixed loss of the wrong direction."""
    told = two_sided(law, 1, [-1.0, -0.2, 0.0, 0.1, 0.5, 2.0])
    assert len(told) >= 4
    for two in told:
        for level in np.linspace(-3, 3, 41):
            assert two.log_delta_bounds(float(level))[0] <= law.log_delta_bounds(float(level))[1] + 1e-12


def test_a_two_valued_loss_is_told_whole_from_its_noise_at_zero():
    """Tiny Laplace noise is as good as randomised response. Would catch digits that are lost in masses near a half."""
    epsilon = 4.4e-11
    (two,) = two_sided(LaplaceLoss(epsilon), 10**9, [0.0])
    assert two.high == pytest.approx(epsilon, rel=3e-11)
    assert two.high <= epsilon
    assert two.low == pytest.approx(-epsilon, rel=3e-11)


def test_tiny_laplace_noises_many_times_are_known_to_many_digits():
    """Neither a contour nor a grid tells them. Would catch ends that are far apart, or the wrong way round."""
    loss = compose([(Laplace(22395598960.0), 10**9)])
    low, high = loss.log_delta_bounds(1e-9)
    epsilon = 1 / 22395598960.0
    response = BinomialLoss(epsilon, -epsilon, 10**9).log_delta_bounds(1e-9)[0]
    assert low <= response + 1e-9
    assert response - 1e-9 <= high
    assert 0 <= high - low < 1e-9


def test_one_loss_of_several_bounds_them_from_below():
    """Would catch a lower end that adds losses up without being told the others."""
    both = SimpleEnds([(GaussianLoss(0.5), 10), (LaplaceLoss(0.5), 10)], math.inf)
    low, high = both.log_delta_bounds(1.0)
    alone = SimpleEnds([(GaussianLoss(0.5), 10)], math.inf).log_delta_bounds(1.0)
    assert alone[0] <= low <= high
    assert high >= GaussianLoss(0.5 * math.sqrt(10)).log_delta_bounds(1.0)[0]


def test_levels_beyond_the_largest_loss_and_beyond_floats():
    """Would catch an overflow in a closed form, and a delta above the largest loss."""
    assert SimpleEnds([(LaplaceLoss(0.5), 4)], 2.0).log_delta_bounds(2.1) == (-math.inf, -math.inf)
    low, high = SimpleEnds([(GaussianLoss(1e-6), 4)], math.inf).log_delta_bounds(1e300)
    assert low == -math.inf
    assert high <= 0
