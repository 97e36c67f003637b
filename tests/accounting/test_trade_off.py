"""The trade-off curve against the known closed forms."""

from __future__ import annotations

import math
import warnings
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting.exact_summary import profile_figure
from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose, privacy_loss
from ldp_audit.accounting.trade_off import TradeOffCurve, trade_off_bounds, trade_off_from_below
from ldp_audit.losses.discrete_loss import DiscreteLoss
from ldp_audit.losses.hulls import HullLoss
from ldp_audit.losses.loss import PairLoss, known_atoms
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse, SubsampleRelease
from ldp_audit.reports.figures import svg
from tests.accounting.random_atoms import losses


def test_randomised_response_has_the_curve_of_pure_epsilon() -> None:
    epsilon, alphas = 1.3, np.linspace(0, 1, 51)
    exact = np.maximum(0, np.maximum(1 - math.exp(epsilon) * alphas, math.exp(-epsilon) * (1 - alphas)))
    curve = trade_off_from_below(RandomizedResponse(epsilon), alphas, [0.0, 0.5, epsilon])
    assert curve == pytest.approx(exact, abs=1e-15)


def test_the_gaussian_curve_is_approached_from_below() -> None:
    normal, alphas = NormalDist(), np.linspace(0.01, 0.99, 30)
    exact = np.array([normal.cdf(normal.inv_cdf(1 - a) - 1) for a in alphas])
    curve = trade_off_from_below(Gaussian(1.0), alphas, np.linspace(0, 6, 400))
    assert np.all(curve <= exact + 1e-12)
    assert np.max(exact - curve) < 1e-4


def test_a_released_record_is_told_apart_without_false_alarms() -> None:
    curve = trade_off_from_below(SubsampleRelease(10, 4), [0.0, 0.6, 1.0], np.linspace(0, 20, 50))
    assert curve == pytest.approx([0.6, 0.0, 0.0], abs=1e-12)


def test_rates_must_be_rates() -> None:
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\]"):
        trade_off_from_below(RandomizedResponse(1.0), [1.5], [0.0])


@pytest.mark.parametrize("mechanism", [RandomizedResponse(1.0), Gaussian(1.0), SubsampleRelease(10, 4)])
def test_the_figure_is_drawn(mechanism: object) -> None:
    text = svg(profile_figure(mechanism).to_dict())
    assert all(word in text for word in ("Privacy profile", "Trade-off curve", "epsilon (nats)", "false-positive rate"))


# --- exact curves, and both ends


@settings(max_examples=40)
@given(losses(), st.floats(0, 1))
def test_curve_and_profile_are_each_others_duals(loss: PrivacyLoss, alpha: float) -> None:
    """The line of every t lies below the curve, and the curve's corners give the profile back."""
    law = loss.directions[0]
    assert isinstance(law, DiscreteLoss)
    curve = TradeOffCurve.of_atoms(law)
    for e in (-3.0, -0.5, 0.0, 0.5, 3.0):
        delta = math.exp(law.log_delta_bounds(e)[1])
        assert curve(alpha) >= 1 - delta - math.exp(e) * alpha - 1e-12
        assert delta == pytest.approx(np.max(1 - curve.betas - math.exp(e) * curve.alphas), abs=1e-12)


@settings(max_examples=40)
@given(losses())
def test_the_worse_direction_counts(loss: PrivacyLoss) -> None:
    first, second = (TradeOffCurve.of_atoms(law) for law in loss.directions)  # type: ignore[arg-type]
    rates = np.linspace(0, 1, 41)
    lower, upper = loss.trade_off(rates)
    assert lower == pytest.approx(np.minimum(first(rates), second(rates)), abs=1e-9)
    assert np.array_equal(lower, upper)


def test_laplace_lies_between_the_bounds() -> None:
    """The closed form: 1 - t a, 1/(4 t a), (1 - a)/t."""
    rates = np.linspace(0.01, 0.99, 60)
    t = math.exp(1.0)
    exact = np.where(rates < 0.5 / t, 1 - t * rates, np.where(rates < 0.5, 1 / (4 * t * rates), (1 - rates) / t))
    lower, upper = trade_off_bounds([LaplaceLoss(1.0)], rates)
    assert np.all(lower <= exact + 1e-12)
    assert np.all(exact <= upper + 1e-12)
    assert np.max(upper - lower) < 1e-5
    assert not np.all(upper - 1e-4 >= exact)


class Told(PairLoss):
    """A loss with bounds on delta alone, as sums of noises have."""

    def __init__(self, law: PairLoss) -> None:
        self.law = law

    def supremum(self) -> float:
        return self.law.supremum()

    def reversed(self) -> Told:
        return Told(self.law.reversed())

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        return self.law.log_delta_bounds(epsilon)


@pytest.mark.parametrize("alpha", [1e-3, 0.01, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(("epsilon", "times"), [(1.0, 1000), (0.2, 6000)])
def test_a_miss_rate_far_below_rounding_keeps_its_digits(epsilon: float, times: int, alpha: float) -> None:
    """Would catch 0 and 1e-11, the differences of deltas near 1."""
    law = compose([(RandomizedResponse(epsilon), times)]).directions[0]
    low, high = trade_off_bounds([Told(law)], alpha)
    atoms = known_atoms(law, 10_000)
    assert atoms is not None
    exact = float(TradeOffCurve.of_atoms(atoms)(np.array(alpha)))
    assert 0 < exact < 1e-10
    assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)
    assert high <= 1.01 * low


def test_gaussian_noise_has_its_closed_form() -> None:
    rates = np.array([0.0, 1e-12, 0.3, 1.0])
    lower, upper = trade_off_bounds([GaussianLoss(1.0)], rates)
    assert np.array_equal(lower, upper)
    assert lower[2] == pytest.approx(NormalDist().cdf(NormalDist().inv_cdf(0.7) - 1), rel=1e-12)
    assert (lower[0], lower[-1]) == (1, 0)


def test_nothing_known_from_below_leaves_the_diagonal() -> None:
    lower, upper = trade_off_bounds([HullLoss.of_points([(1.0, 0.0)])], [0.1, 0.5])
    assert upper == pytest.approx([0.9, 0.5])
    assert lower == pytest.approx([1 - 0.1 * math.e, 0.5 / math.e], abs=1e-6)


def test_rates_of_an_exact_curve_must_be_rates() -> None:
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\]"):
        trade_off_bounds([GaussianLoss(1.0)], math.nan)


def test_rates_that_round_to_nothing() -> None:
    """e**-800 is no float: the corner there must not stand for a rate of 0, where no alarm is false and all miss."""
    found = privacy_loss(RandomizedResponse(800.0)).trade_off([0.0, 1e-300, 0.5])
    assert found.lower == pytest.approx([1, 0, 0])
    assert found.upper == pytest.approx([1, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = privacy_loss(Laplace(1.0, 1e-300)).trade_off([0.1])
    assert (float(near.lower[0]), float(near.upper[0])) == pytest.approx((0.9, 0.9))
