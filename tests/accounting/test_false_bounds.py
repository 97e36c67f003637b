"""Regressions: bounds that were false, and arguments that raised another error than ValueError, each once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from ldp_audit.accounting import DiscreteLoss, PrivacyLoss, nfdp, sampled_clients, subsample
from ldp_audit.accounting.attack_success import advantage, detection
from ldp_audit.accounting.calibrate import calibrate
from ldp_audit.accounting.conversion.gaussian_dp import gdp_of
from ldp_audit.accounting.conversion.renyi import renyi_divergence, response_renyi, zcdp_of
from ldp_audit.accounting.privacy_loss import PrivacyProfile, compose, privacy_loss
from ldp_audit.accounting.protocols.protocol import Step
from ldp_audit.accounting.shuffle import shuffle
from ldp_audit.accounting.shuffling.worst_neighbourhood import WorstNeighbourhood
from ldp_audit.losses.discrete_loss import ZERO_LOSS, BinomialLoss, merged
from ldp_audit.mechanisms import DiscreteLaplace, ExponentialMechanism, Laplace, PermuteAndFlip, RandomizedResponse
from ldp_audit.mechanisms.finite_channel import FiniteChannel
from tests.together import together

REPORT = RandomizedResponse(1.0)


def test_sampling_with_replacement_states_no_pure_epsilon_from_below_that_no_mechanism_has():
    low, high = subsample(REPORT, kind="with", n=5, k=3).epsilon_bounds(0.0)
    assert low <= high == pytest.approx(3 * math.log1p(math.expm1(1) / 5), rel=1e-12)  # one that counts copies


def test_a_loss_that_the_second_distribution_hardly_has_composes_to_twice_itself():
    expected = pytest.approx(200 + math.log(0.5))
    one = PrivacyLoss((DiscreteLoss(np.array([100.0]), np.array([0.0])),))
    assert compose([(one, 2)]).epsilon_bounds(0.5) == (expected, expected)
    assert compose([(one.directions[0], 2)]).epsilon(0.5) == math.inf  # in the other order it is infinite
    told = DiscreteLoss.of_laws({0: 1.0}, {0: 1e-40, 1: 1.0})
    assert compose([(PrivacyLoss((told,)), 2)]).epsilon(0.5) == pytest.approx(80 * math.log(10) + math.log(0.5))


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


def test_an_epsilon_just_below_the_supremum_has_a_delta_that_is_small_enough():
    one, logs = np.array([-0.3, 0.05, 0.9]), np.log([0.2, 0.3, 0.5])
    two = DiscreteLoss(np.array([0.30869292321621145, 0.7813681607907647, 1.9824986135277358]), np.log([0.3, 0.3, 0.4]))
    for losses in (one + shift for shift in np.linspace(0.0, 0.5, 40)):
        one_way = [PrivacyLoss((loss,)) for loss in (DiscreteLoss(losses, logs), two)]
        spent = compose([(loss, 1) for loss in one_way])
        assert spent.log_delta_bounds(spent.epsilon(log_delta=-100.0))[1] <= -100


@together(
    "wrong",
    [
        lambda loss: loss.epsilon("x"),
        lambda loss: loss.epsilon([2]),
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
        lambda _: PrivacyLoss((ZERO_LOSS,), "an assumption"),
        lambda loss: loss.trade_off(10**400),
        lambda loss: loss.trade_off(True),
        lambda loss: loss.trade_off(b"1"),
        lambda loss: loss.profile()(True),
        lambda loss: loss.profile().rows({}),
        lambda _: advantage("x"),
        lambda loss: detection(loss, True),
        lambda _: DiscreteLoss.of_laws("x", {0: 1.0}),
        lambda _: DiscreteLoss.of_laws({0: "x"}, {0: 1.0}),
        lambda _: Step("TwoPoint(epsilon=1)", (1,), sampling="poisson"),
        lambda _: PrivacyProfile.from_points(None),
        lambda _: PrivacyProfile.from_points([(True, 0.1)]),
        lambda _: nfdp(3, 1, rounds=10**400),
        lambda _: sampled_clients(REPORT, clients=10, fraction="x", observer="selects"),
    ],
)
def test_what_is_no_number_or_no_loss_is_refused_as_a_wrong_value(wrong):
    with pytest.raises(ValueError, match="must"):
        wrong(compose([(REPORT, 3)]))


class Rows:
    """A mechanism of two rows, known by its profile."""

    def __init__(self, first, second):
        self.first, self.second = np.array(first), np.array(second)

    def delta(self, epsilon):
        ratio = np.exp(np.asarray(epsilon, dtype=float))[..., None]
        with np.errstate(invalid="ignore"):
            one, two = (
                np.maximum(0, p - np.where(q > 0, ratio * q, 0)).sum(-1)
                for p, q in ((self.first, self.second), (self.second, self.first))
            )
        return np.maximum(one, two)[()]

    def exact_epsilon(self):
        return float(np.max(np.abs(np.log(self.first / self.second))))


class Pure:
    """A mechanism of which only the pure epsilon is known."""

    def exact_epsilon(self):
        return 1.5


def test_a_channel_with_tiny_entries_has_its_whole_epsilon():
    channel = FiniteChannel([[1 - 1e-295, 1e-295], [1 - 1e-300, 1e-300]])
    assert privacy_loss(channel).epsilon(0.0) == pytest.approx(channel.exact_epsilon(), rel=1e-12)


def test_a_channel_whose_infinite_loss_is_below_all_floats_has_one():
    channel = FiniteChannel([[0, 1], [Fraction(1, 10**400), 1 - Fraction(1, 10**400)]])
    assert privacy_loss(channel).epsilon(0.0) == math.inf


def test_rows_that_are_equal_as_floats_are_told_apart():
    small = Fraction(1, 10**20)
    channel = FiniteChannel([[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 2) + small, Fraction(1, 2) - small]])
    loss = privacy_loss(channel)
    assert loss.delta(0.0) == pytest.approx(1e-20, rel=1e-12, abs=0)
    assert loss.epsilon(0.0) == pytest.approx(channel.exact_epsilon(), rel=1e-12, abs=0)


def test_exact_and_float_tests_of_one_channel_meet():
    tiny = Fraction(1, 10**310)
    rows = [
        [Fraction(1, 2), Fraction(1, 2), 0],
        [Fraction(1, 3), Fraction(2, 3), 0],
        [Fraction(1, 2), Fraction(1, 2) - tiny, tiny],
    ]
    loss = privacy_loss(FiniteChannel(rows))
    assert loss.epsilon(0.0) == math.inf
    assert loss.delta(0.0) == pytest.approx(1 / 6, rel=1e-12)


@together(("epsilon0", "n", "epsilon"), [(0.01, 600, 0.008), (1.0, 600, 0.7), (0.1, 600, 0.09)])
def test_a_worst_neighbourhood_encloses_its_delta_far_out(epsilon0, n, epsilon):
    law = WorstNeighbourhood(epsilon0, n)
    low, high = law.log_delta_bounds(epsilon)
    at_one_end = max(float(_one_end(epsilon0, n, epsilon, j)) for j in (0, n - 1))
    assert low <= high < low + 1e-8
    assert high >= at_one_end


def _one_end(epsilon0, n, epsilon, upper):
    """ln delta with this number of others (none or all) at the upper end, to 60 digits."""
    with ctx.workprec(300):
        t, e = arb(epsilon0).exp(), arb(epsilon).exp()
        high, low = t / (t + 1), 1 / (t + 1)
        p = high if upper else low
        mass, masses = (1 - p) ** (n - 1), []
        for k in range(n):
            masses.append(mass)
            mass = mass * p / (1 - p) * (n - 1 - k) / (k + 1)
        law = [
            [(masses[k - 1] if k else 0) * own + (masses[k] if k < n else 0) * (1 - own) for k in range(n + 1)]
            for own in (high, low)
        ]
        gains = [one - e * two for one, two in zip(*law, strict=True)]
        return sum((gain for gain in gains if gain > 0), arb(0)).log()


def test_sums_of_large_losses_are_not_called_exact():
    loss = compose([(RandomizedResponse(5.0), 49000), (RandomizedResponse(0.3), 1)])
    epsilon = 244900.05
    low, high = loss.log_delta_bounds(epsilon)
    with ctx.workprec(300):
        truth = arb(0)
        for lost in range(11):  # reports that took the lower loss
            for sign in (1, -1):
                gap = 5 * arb(49000 - 2 * lost) + sign * arb(0.3) - arb(epsilon)
                if gap > 0:
                    mass = arb(math.comb(49000, lost)) * (1 + (-arb(5)).exp()) ** -49000 * (-5 * arb(lost)).exp()
                    truth += mass / (1 + (-sign * arb(0.3)).exp()) * (1 - (-gap).exp())
        log_truth = float(truth.log())
    assert not loss.exact
    assert low < log_truth < high < low + 1e-7
    assert compose([(RandomizedResponse(0.5), 3), (RandomizedResponse(0.3), 1)]).exact


def test_a_binomial_of_tiny_losses_has_right_chances():
    law = BinomialLoss(3.62221692853455e-243, -3.62221692853455e-242, 956)
    with ctx.workprec(1200):
        whole = (arb(law.low) - arb(law.high)).expm1()
        right = [arb(law.low).expm1() / whole, arb(law.low).exp() * (-arb(law.high)).expm1() / whole]
        errors = [float(abs(arb(log) - p.log())) for log, p in zip(law.log_probability(), right, strict=True)]
    assert max(errors) < 1e-15


def test_a_mechanism_known_by_its_profile_composes():
    first = [0.2389284494177994, 0.14251435678852786, 0.277878039001991, 0.34067915479168176]
    second = [0.5115317159294523, 0.016992988868666133, 0.34552049302392746, 0.1259548021779541]
    twice = compose([(Rows(first, second), 2)])
    low, high = twice.delta_bounds(0.5)
    assert 0 < low <= high < low * (1 + 1e-4)


def test_the_renyi_divergence_of_a_response_is_at_most_its_epsilon():
    assert response_renyi(1e8, 1 + 1e-9).value <= 1e8
    for epsilon, alpha, k in ((7.0, 1.3, 3), (30.0, 1 + 1e-7, 4), (300.0, 20.0, 1000)):
        with ctx.workprec(300):
            t, a = arb(epsilon).exp(), arb(alpha)
            right = ((t**a + t ** (1 - a) + k - 2) / (t + k - 1)).log() / (a - 1)
        assert response_renyi(epsilon, alpha, k).value == pytest.approx(float(right), rel=1e-14)


def test_one_report_of_a_pure_epsilon_alone_is_bounded():
    loss = shuffle(Pure(), n=1)
    assert loss.epsilon_bounds(0.0) == (0.0, 1.5)


@together(
    "call",
    [
        lambda: response_renyi(1.0, 2.0, "x"),
        lambda: zcdp_of(privacy_loss(RandomizedResponse(1.0)), "x"),
        lambda: gdp_of(None),
        lambda: renyi_divergence(None, 2.0),
        lambda: calibrate(None, epsilon=1.0, low=0.1, high=2.0),
    ],
)
def test_what_is_no_number_or_no_loss_is_refused(call):
    with pytest.raises(ValueError, match="must"):
        call()


@together(
    "mechanism",
    [
        DiscreteLaplace(2.0, lower=0, upper=100, replaced=1),
        ExponentialMechanism(1.0, 3, replaced=1.0),
        PermuteAndFlip(1.0, 3, replaced=1.0),
        ExponentialMechanism(1.0, 3, replaced=1.0).implemented(),
    ],
)
def test_reports_that_others_may_never_give_are_not_shuffled(mechanism):
    """All others at 100, or at scores that name the third candidate, hide nothing, but delta fell with their number."""
    with pytest.raises(ValueError, match="mechanism must protect any two inputs"):
        shuffle(mechanism, 1000)


def test_the_others_of_a_long_range_hide_nothing():
    """Of 10**6 reports at 100 and one at 0 or 1 the server sees which one that is: delta(0) = tanh(1/4) in the main."""
    alone, among = DiscreteLaplace(2.0, lower=0, upper=100), DiscreteLaplace(2.0, lower=0, upper=1, replaced=1)
    assert alone.delta(0.0) == pytest.approx(math.tanh(1 / 4), rel=1e-12)
    assert alone.any_pair is False
    assert among.any_pair is True
    assert shuffle(among, 1000).delta(0.1) < 1e-6
