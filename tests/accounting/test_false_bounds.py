"""Ends that were once false, and arguments that once raised something else than ValueError: each finding once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.accounting import DiscreteLoss, PrivacyLoss, compose, nfdp, sampled_clients, subsample
from ldp_audit.accounting.privacy_profile import PrivacyProfile
from ldp_audit.losses.discrete_loss import BinomialLoss, merged
from ldp_audit.mechanisms import Laplace, RandomizedResponse

REPORT = RandomizedResponse(1.0)


def test_sampling_with_replacement_states_no_pure_epsilon_from_below_that_no_mechanism_has():
    low, high = subsample(REPORT, kind="with", n=5, k=3).epsilon_bounds(0.0)
    assert low <= high == pytest.approx(3 * math.log1p(math.expm1(1) / 5), rel=1e-12)  # one that counts copies


def test_a_loss_that_the_second_law_hardly_has_composes_to_twice_itself():
    expected = pytest.approx(200 + math.log(0.5))
    assert compose([(DiscreteLoss(np.array([100.0]), np.array([0.0])), 2)]).epsilon_bounds(0.5) == (expected, expected)
    told = DiscreteLoss.of_laws({0: 1.0}, {0: 1e-40, 1: 1.0})
    assert compose([(told, 2)]).epsilon(0.5) == pytest.approx(80 * math.log(10) + math.log(0.5))


def test_an_infinite_loss_too_rare_for_a_float_never_becomes_a_delta_of_zero():
    rare = DiscreteLoss(np.array([0.0]), np.array([0.0]), -1000.0)
    assert compose([(rare, 2)]).log_delta_bounds(5)[1] >= -1000 + math.log(2)
    assert compose([(rare, 2)]).delta(5) > 0


def test_a_rare_huge_loss_leaves_small_ones_beside_it_as_they_are():
    rare = DiscreteLoss(np.array([0.0, 700.0]), np.array([math.log1p(-1e-200), math.log(1e-200)]))
    assert compose([(RandomizedResponse(1e-13), 1), (rare, 1)]).delta(0.0) == pytest.approx(5e-14, rel=1e-9, abs=0)


def test_merged_losses_make_no_chains():
    losses = 1 + np.arange(100) * 2.0**-51
    found, _ = merged(losses, np.full(100, -math.log(100)))
    assert found.size >= 30


def test_a_rest_known_exactly_counts_however_small():
    low, high = compose([(RandomizedResponse(50.0, 10**6), 10**6)]).delta_bounds(50.0 * 10**6 - 25)
    rest = (10**6 - 2) / (math.exp(50) + 10**6 - 1)  # an outcome of loss 0 takes 50 nats away
    assert 1 - 1.5 * rest * 10**6 - 1e-9 <= high <= 1
    assert low <= 1 - 0.5 * rest * 10**6


def test_an_epsilon_just_below_the_largest_loss_has_a_delta_that_is_small_enough():
    one, logs = np.array([-0.3, 0.05, 0.9]), np.log([0.2, 0.3, 0.5])
    two = DiscreteLoss(np.array([0.30869292321621145, 0.7813681607907647, 1.9824986135277358]), np.log([0.3, 0.3, 0.4]))
    for losses in (one + shift for shift in np.linspace(0.0, 0.5, 40)):
        spent = compose([(DiscreteLoss(losses, logs), 1), (two, 1)])
        assert spent.log_delta_bounds(spent.epsilon(log_delta=-100.0))[1] <= -100


@pytest.mark.parametrize(
    "wrong",
    [
        lambda loss: loss.epsilon("x"),
        lambda loss: loss.epsilon([1]),
        lambda loss: loss.epsilon(True),
        lambda loss: loss.epsilon(log_delta="x"),
        lambda loss: loss.delta(10**400),
        lambda _: compose([(REPORT, 10**400)]),
        lambda _: compose([(RandomizedResponse(1.0, 4), 10**17)]),
        lambda _: compose([(Laplace(1.0), 10**17)]),
        lambda _: compose(None),
        lambda _: compose(1),
        lambda _: DiscreteLoss(np.zeros(1), np.zeros(1), None),
        lambda _: PrivacyLoss("x"),
        lambda _: PrivacyLoss([1]),
        lambda _: BinomialLoss("x", -1.0, 3),
        lambda _: PrivacyProfile.from_points(None),
        lambda _: nfdp(3, 1, rounds=10**400),
        lambda _: sampled_clients(REPORT, clients=10, fraction="x", observer="selects"),
    ],
)
def test_what_is_no_number_or_no_loss_is_refused_as_a_wrong_value(wrong):
    with pytest.raises(ValueError, match="must"):
        wrong(compose([(REPORT, 3)]))
