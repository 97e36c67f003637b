"""Sums of Gaussian noises on samples at the ends: against integrals of closed forms, exact sums, and simple bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting import compose, subsample
from ldp_audit.accounting.contour.by_largest import by_largest
from ldp_audit.accounting.contour.contour_loss import ContourLoss, by_contour
from ldp_audit.accounting.contour.largest_part import LargestPart
from ldp_audit.accounting.contour.noise_transforms import GaussianTransform
from ldp_audit.accounting.contour.separated_loss import SeparatedLoss
from ldp_audit.accounting.contour.smooth_part import SmoothPart
from ldp_audit.accounting.grids.grid_loss import compose_on_grid
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate
from ldp_audit.mechanisms import Gaussian

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_TRUTH = 1e-9
"""To which share of itself the integral below knows delta."""
_REACH = 14.0
"""Deviations beyond which there is less than e**-98, far below the smallest delta of a pair."""


def _mixed(mu: float, rate: float, *, record_first: bool = True) -> MixedLoss:
    return MixedLoss(GaussianLoss(mu), SamplingRate.of_chance(rate), record_first)


def _log_delta_of_two(law: MixedLoss, mu: float, level: float) -> float:
    """Of two such losses: the integral over the first one's value of the second's closed form."""
    way = 1 if law.record_first else -1
    # near these the second one's delta changes quickly
    sharp = way * np.array([level, level - way * law.rate.log_left_out])
    places = law.rate.unmixed(sharp) / mu + mu / 2
    near = [place + side * 4.0**-k for place in places[np.isfinite(places)] for k in range(16) for side in (-1, 0, 1)]
    first, last = -_REACH, _REACH + mu
    edges = np.linspace(first, last, math.ceil((last - first) * max(2.0, mu / 4)))
    edges = np.unique(np.clip([*edges, *near], first, last))
    halves = np.diff(edges)[:, None] / 2
    x = ((edges[1:] + edges[:-1])[:, None] / 2 + halves * _NODES).ravel()
    losses = way * law.rate.mixed(mu * x - mu * mu / 2)
    densities = np.log((halves * _WEIGHTS).ravel()) - x * x / 2 - 0.5 * math.log(2 * math.pi)
    if law.record_first:
        densities = densities + losses
    gains = [law.log_delta_bounds(level - float(loss))[0] for loss in losses]
    return float(np.logaddexp.reduce(densities + np.array(gains)))


def _ways(loss: ContourLoss, level: float) -> list[tuple[float, float]]:
    """The ends that each way but the grid has."""
    return [way(level)[0] for way in loss.ways]


_PAIRS = [(1.0, 1e-4), (0.2, 0.05), (3.0, 1e-6), (30.0, 0.2)]


@pytest.mark.parametrize(("mu", "rate"), _PAIRS)
@pytest.mark.parametrize("record_first", [True, False])
@pytest.mark.parametrize("log_delta", [-4.0, -60.0])
def test_two_losses_enclose_the_integral_of_the_closed_form(mu, rate, record_first, log_delta):
    """Every way by itself. Would catch a part that is left out, a sum over counts of the wrong chance, a bad tail."""
    law = _mixed(mu, rate, record_first=record_first)
    loss = by_contour(compose_on_grid([(law, 2)]))
    assert isinstance(loss, ContourLoss)
    alone = PrivacyLoss((law,)).epsilon_bounds(log_delta=log_delta)[1]
    level = min(1.2 * alone, 0.9 * loss.largest()) or 0.1 * rate * min(1.0, mu)
    truth = _log_delta_of_two(law, mu, level)
    slack = _TRUTH * (1 + 1e-2 * abs(truth))
    ends = _ways(loss, level)
    assert all(low <= truth + slack for low, _ in ends)
    assert all(truth <= high + slack for _, high in ends)
    assert max(low for low, _ in ends) > truth - 2
    if record_first:
        assert max(low for low, _ in ends) > truth - 1e-3


@pytest.mark.parametrize("rate", [1e-9, 1e-3])
@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize(("times", "delta"), [(1000, 1e-300), (10**9, 1e-6)])
def test_at_the_ends_epsilon_is_known_and_lies_between_simple_bounds(rate, sigma, times, delta):
    """Would catch an end of 0 or of infinity, and ends on the wrong side of one round, or of no sampling at all."""
    one = subsample(Gaussian(sigma=sigma), rate=rate)
    low, high = compose([(one, times)]).epsilon_bounds(delta)
    assert 0 <= low <= high <= low * (1 + 1e-7)
    assert one.epsilon_bounds(delta)[0] <= high
    assert low <= compose([(Gaussian(sigma=sigma), times)]).epsilon(delta)
    assert low > 0 or times * rate < 1 or sigma > 1


@settings(max_examples=8, deadline=None)
@given(
    rate=st.floats(-8, -0.1).map(lambda power: 10**power),
    sigma=st.floats(-1.5, 3).map(lambda power: 10**power),
    times=st.integers(1, 9).map(lambda power: 10**power),
    log_delta=st.floats(-600, -2),
)
def test_ends_never_cross_anywhere(rate, sigma, times, log_delta):
    """Would catch a lower end above the upper one, or beyond what is spent without sampling, or below one round."""
    one = subsample(Gaussian(sigma=sigma), rate=rate)
    level = one.epsilon(log_delta=log_delta) * (1 + times**0.25) + rate / sigma
    whole = compose([(Gaussian(sigma=sigma), times)]).directions[0].log_delta_bounds(level)[1]
    for single, law in zip(one.directions, compose([(one, times)]).directions, strict=True):
        assert isinstance(law, ContourLoss)
        if level < law.largest():
            ends = _ways(law, level)
            low, high = max(low for low, _ in ends), min(high for _, high in ends)
            assert single.log_delta_bounds(level)[0] - 1e-9 * abs(low) <= high
            assert low <= high + 1e-12 * abs(high)
            assert low <= whole + 1e-9 * abs(whole)


def test_the_parts_by_the_largest_value_add_up():
    """Would catch outcomes that are counted twice, or not at all."""
    loss = by_contour(compose_on_grid([(_mixed(1.0, 1e-4), 1000), (_mixed(0.5, 1e-3), 50), (GaussianLoss(0.1), 1)]))
    assert isinstance(loss, ContourLoss)
    parts = by_largest(loss.total.parts)
    assert parts is not None
    assert len(parts.plans) > 3
    for c in (0.0, 0.3, 2.0):
        added = np.logaddexp.reduce([plan.log_mean(c) for plan in parts.plans])
        assert added == pytest.approx(loss.plan.log_mean(c), abs=1e-9)


@pytest.mark.parametrize("log_delta", [math.log(1e-5), math.log(1e-100)])
def test_a_large_loss_beside_very_many_tiny_ones_is_known(log_delta):
    """Would catch values of noise so large that none of them counts looked for in the parts of the largest value.

    Alone the two large losses have no more; together with so little noise they have no more than at 1.0001 epsilon.
    """
    large, tiny = subsample(Gaussian(sigma=1.5), rate=0.01), subsample(Gaussian(sigma=2700.0), rate=2e-6)
    alone = compose([(large, 2)]).epsilon_bounds(log_delta=log_delta)
    low, high = compose([(large, 2), (tiny, 2 * 10**8)]).epsilon_bounds(log_delta=log_delta)
    assert alone[0] <= high < 1.0001 * alone[1]
    assert high - low < 1e-9 * high


def test_a_part_of_which_one_transform_is_not_known_is_not_known():
    """Would catch infinities taken from each other. At c = 1e200 no M of these is a float."""
    part = LargestPart([(GaussianTransform(1.0), GaussianTransform(2.0), 3), (GaussianTransform(1.0), None, 2)])
    assert math.isfinite(part.about(1.0))
    assert part.about(1e200) == math.inf
    assert part.log_beyond(1e200, 1.0) == math.inf


def test_weights_of_neighbouring_parts_add_up_to_one():
    """Would catch a gap between two parts."""
    x = np.linspace(0.0, 6.0, 301)
    parts = [SmoothPart(-math.inf, 2.0, 0.1), SmoothPart(2.0, 4.5, 0.1), SmoothPart(4.5, math.inf, 0.1)]
    added = sum(
        np.where((x > part.reach[0]) & (x < part.reach[1]), part.weights(x), 0.0) for part in parts
    )  # each counts within its reach only
    assert np.abs(added - 1).max() < 1e-15


@pytest.mark.parametrize("back", [True, False])
def test_one_value_that_shows_the_record_has_the_closed_form(back):
    """Would catch a sum over counts that forgets a shift, and the two directions taken for each other."""
    rate = SamplingRate.of_chance(0.03)
    law = SeparatedLoss(40.0, rate, back, 1)
    exact = MixedLoss(GaussianLoss(40.0), rate, not back)
    for level in (0.01, 0.02) if back else (10.0, 700.0, 800.0, 1200.0):
        found, truth = law.log_delta_bounds(level), exact.log_delta_bounds(level)[0]
        assert found is not None
        assert found[0] <= truth + 1e-12 * abs(truth)
        assert truth <= found[1] + 1e-12 * abs(truth)
        assert found[1] - found[0] < 1e-9


def test_values_that_hide_the_record_are_not_told_by_counts():
    """Would catch a sum over counts where noise hides what was drawn."""
    rate = SamplingRate.of_chance(0.03)
    assert SeparatedLoss(3.0, rate, False, 100).log_delta_bounds(10.0) is None
    assert SeparatedLoss(3.0, rate, True, 100).log_delta_bounds(1.0) is None
