"""Sums of losses that run on a sample together, of which only the profile is known: enclosed, whatever their size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from ldp_audit.accounting import compose, shuffle, subsample
from ldp_audit.accounting.compose import composed
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.profile_hull import dominating_atoms
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.sampling.listed_parts import listed_parts
from ldp_audit.accounting.sampling.lower_hull import dominated_atoms
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse, TwoPoint


@pytest.mark.parametrize(
    ("mechanism", "times"),
    [
        (RandomizedResponse(0.1, k=3), 1000),
        (RandomizedResponse(1.0, k=3), 10**5),
        (TwoPoint(1.0), 10**6),
        (TwoPoint(0.01), 10**5),
        (Laplace(1.0), 10**4),
        (Gaussian(0.01), 1),
    ],
)
def test_finitely_many_losses_enclose_a_sum_closely(mechanism: Any, times: int) -> None:
    """Their levels were once spread over all losses, of which a sum uses a small part; some had no law at all."""
    loss = compose([(mechanism, times)])
    law = loss.directions[0]
    low, high = dominated_atoms(law), dominating_atoms(law)
    usual, rounding = loss.epsilon(0.5), 1e-12 + 1e-16 * law.largest()  # masses come from levels' last digits
    for level in np.concatenate([usual * np.array([0.3, 0.9, 0.99, 1.0, 1.01, 1.3]), [loss.epsilon(1e-6), -3.0, 0.0]]):
        truth = law.log_delta_bounds(float(level))
        below, above = (one.log_delta_bounds(float(level)) for one in (low, high))
        assert below[0] <= truth[1] + rounding
        assert truth[0] <= above[1] + rounding
    for delta in (0.5, 1e-6):
        ends = [compose([(one, 1)]).epsilon(delta) for one in (low, high)]
        assert ends[1] - ends[0] <= 0.02 * (ends[1] - 0.9 * usual)


@pytest.mark.parametrize(
    ("mechanism", "times"), [(RandomizedResponse(1.0, k=3), 10**4), (TwoPoint(1.0), 10**6), (Laplace(1.0), 10**6)]
)
def test_sampled_sums_compose(mechanism: Any, times: int) -> None:
    """An overflow, or masses that were not 1 in all, once."""
    inner = compose([(mechanism, times)])
    one, whole = subsample(inner, rate=0.1), compose([(inner, 2)])
    low, high = compose([(one, 2)]).epsilon_bounds(1e-6)
    assert one.epsilon_bounds(1e-6)[0] <= low <= high <= whole.epsilon_bounds(1e-6)[1]
    assert high - low <= 2e-3 * high


def test_sums_of_two_values_are_near_those_of_the_noise_that_they_look_like() -> None:
    """TwoPoint(0.01) 250,000 times is nearly Gaussian noise of mu = 5, whose sampled sums a contour tells."""
    inner = compose([(TwoPoint(0.01), 500**2)])
    ends = compose([(subsample(inner, rate=0.1), 2)]).epsilon_bounds(1e-6)
    noise = compose([(subsample(Gaussian(0.2), rate=0.1), 2)]).epsilon(1e-6)
    assert ends[1] - ends[0] <= 2e-3 * noise
    assert np.mean(ends) == pytest.approx(noise, rel=2e-3)


@pytest.mark.parametrize(("rate", "times"), [(0.01, 10**6), (0.01, 10**9), (1e-3, 10**9), (0.5, 10**6), (1e-9, 10**9)])
@pytest.mark.parametrize("direction", [0, 1])
def test_lists_enclose_what_a_contour_tells(rate: float, times: int, direction: int) -> None:
    law = subsample(Laplace(1.0), rate=rate).directions[direction]
    truth = PrivacyLoss((composed([(law, times)]),)).epsilon_bounds(1e-6)
    ends = listed_parts([(law, times)])
    assert ends
    low, high = (PrivacyLoss((composed(parts),)).epsilon_bounds(1e-6)[end] for end, parts in enumerate(ends))
    assert low <= truth[1]
    assert high >= truth[0]
    assert high - low <= 1e-5 * high


def test_a_replaced_record_of_laplace_noise_a_billion_times_is_near() -> None:
    """17% wide and 17 seconds on a grid once."""
    replaced, added = (subsample(Laplace(1.0), rate=0.01, adjacency=kind) for kind in ("replace", "add/remove"))
    low, high = compose([(replaced, 10**9)]).epsilon_bounds(1e-300)
    assert compose([(added, 10**9)]).epsilon_bounds(1e-300)[0] <= low <= high <= low * (1 + 2e-6)


@pytest.mark.parametrize("log_delta", [math.log(1e-6), math.log(1e-300)])
@pytest.mark.parametrize("scale", [0.3, 1.0, 10.0])
def test_a_billion_tiny_losses_of_replaced_records_are_as_good_as_one_gaussian_noise(
    scale: float, log_delta: float
) -> None:
    """They were (0, 6e-5) once. Of losses q (e**z - 1) the sum is normal but for a kurtosis of some 1e-7."""
    rate, times, top = 1e-9, 10**9, 1 / scale
    ends = compose([(subsample(Laplace(scale), rate=rate, adjacency="replace"), times)]).epsilon_bounds(
        log_delta=log_delta
    )
    inner = quad(lambda z: math.expm1(z) ** 2 * math.exp(-(z + top) / 2) / 4, 0, top)[0]
    variance = 2 * rate**2 * (inner + math.expm1(top) ** 2 * math.exp(-top) / 2)
    noise = PrivacyLoss((GaussianLoss(math.sqrt(times * variance)),)).epsilon(log_delta=log_delta)
    assert ends[1] - ends[0] <= 2e-4 * noise
    assert np.mean(ends) == pytest.approx(noise, rel=2e-4)


@pytest.mark.parametrize(
    ("law", "times"),
    [
        (subsample(Laplace(1.0), rate=0.01).directions[0], 1000),
        (subsample(Gaussian(1.0), rate=0.01).directions[0], 10**9),
        (shuffle(Laplace(1e9), n=10**8).directions[0], 10**9),
    ],
    ids=["too few", "no largest loss", "shuffled"],
)
def test_lists_are_not_taken_where_they_do_not_serve(law: Any, times: int) -> None:
    assert listed_parts([(law, times)]) is None


def test_the_lists_of_nearly_sure_reports_lack_no_mass() -> None:
    """Two logarithms of 268 cancel in the main loss; 6e-14 of the mass lacked, and epsilon was 0 for 2.58e10."""
    law = shuffle(TwoPoint(268.2), 20001, others="one end").directions[0]
    lists = listed_parts([(law, 10**8)])
    assert lists
    for ((one, _),) in lists:
        assert isinstance(one, LossAtoms)
        assert math.fsum(np.exp(one.log_probabilities)) == pytest.approx(1.0, abs=1e-15)
    assert compose([(PrivacyLoss((law,)), 10**8)]).log_delta_bounds(0.0)[1] > -1e-12


@pytest.mark.parametrize("adjacency", ["replace", "add/remove"])
def test_a_sample_of_a_replaced_sample_has_lists(adjacency: Any) -> None:
    """Its largest loss is rounded; what had it was beyond the last level, and refused."""
    inner = subsample(Laplace(1.7062467072252656e-06), rate=0.007208325524926218, adjacency="replace")
    law = subsample(inner, rate=0.5807554590527492, adjacency=adjacency).directions[0]
    lists = listed_parts([(law, 10**6)])
    assert lists
    for level in (0.0, 0.3, law.largest() * 0.9):
        low, high = (one.log_delta_bounds(level)[0] for ((one, _),) in lists)
        truth = law.log_delta_bounds(level)[0]
        assert low <= truth + 1e-11
        assert truth <= high + 1e-11


def test_losses_of_a_billion_nats_have_no_lists() -> None:
    """Their masses have lost their digits; this was an error."""
    law = subsample(Laplace(1e-9), rate=0.5, adjacency="replace").directions[0]
    assert listed_parts([(law, 10**6)]) is None
