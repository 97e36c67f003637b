"""Ends that once were false, or were refused, for laws of mechanisms: entries and losses at the edge of floats."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from ldp_audit.accounting.calibrate import calibrate
from ldp_audit.accounting.conversion.gaussian_dp import gdp_of
from ldp_audit.accounting.conversion.renyi import renyi_divergence, response_renyi, zcdp_of
from ldp_audit.accounting.privacy_loss import compose, privacy_loss
from ldp_audit.accounting.shuffle import shuffle
from ldp_audit.accounting.shuffling.worst_placing import WorstPlacing
from ldp_audit.losses.discrete_loss import BinomialLoss
from ldp_audit.mechanisms import RandomizedResponse
from ldp_audit.mechanisms.finite_channel import FiniteChannel


class Rows:
    """A mechanism of two rows that is known by its profile."""

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
    """A mechanism of which the pure epsilon alone is known."""

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


@pytest.mark.parametrize(("epsilon0", "n", "epsilon"), [(0.01, 600, 0.008), (1.0, 600, 0.7), (0.1, 600, 0.09)])
def test_a_worst_placing_encloses_its_delta_far_out(epsilon0, n, epsilon):
    law = WorstPlacing(epsilon0, n)
    low, high = law.log_delta_bounds(epsilon)
    at_one_end = max(float(_one_end(epsilon0, n, epsilon, j)) for j in (0, n - 1))
    assert low <= high < low + 1e-8
    assert high >= at_one_end


def _one_end(epsilon0, n, epsilon, upper):
    """ln delta with so many others (none or all) at the upper end, to 60 digits."""
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


@pytest.mark.parametrize(
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
