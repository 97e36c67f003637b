"""delta and epsilon of a loss are each other's inverse, on the safe side; profiles have the shape that they must."""

from __future__ import annotations

import math
from importlib import import_module

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ldp_audit.accounting import DiscreteLoss, PrivacyLoss, compose, privacy_loss
from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS, BinomialLoss
from ldp_audit.losses.loss import LossWithInfinity, PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.mechanisms import Laplace, Piecewise, RandomizedResponse

LAWS = st.one_of(
    st.builds(BinomialLoss, st.floats(1e-6, 5), st.floats(-5, -1e-6), st.integers(1, 10**7)),
    st.builds(GaussianLoss, st.floats(1e-6, 30)),
    st.builds(LaplaceLoss, st.floats(1e-6, 30)),
    st.builds(
        lambda law, infinite: LossWithInfinity(law, math.log1p(-infinite), math.log1p(-infinite)),
        st.builds(GaussianLoss, st.floats(0.01, 3)),
        st.floats(1e-12, 0.5),
    ),
)
LOSSES = st.lists(LAWS, min_size=1, max_size=2).map(lambda laws: PrivacyLoss(tuple(laws)))


@given(LOSSES, st.floats(-300, 0))
def test_epsilon_is_the_least_level_with_that_delta_and_never_too_small(loss, exponent):
    """Would catch an epsilon rounded down, and one that is far too large."""
    delta = 10**exponent
    epsilon = loss.epsilon(delta)
    if math.isinf(epsilon):
        assert loss.delta(1e9) > delta
        return
    assert loss.log_delta_bounds(epsilon)[1] <= math.log(delta)
    assert epsilon == 0 or loss.log_delta_bounds(epsilon * (1 - 1e-9))[0] > math.log(delta) - 1e-6


@given(LOSSES, st.lists(st.floats(0, 20), min_size=3, max_size=3, unique=True))
def test_delta_falls_and_is_convex_in_the_ratio(loss, levels):
    first, second, third = sorted(levels)
    assume(first < second < third)
    low, middle, high = (loss.delta(level) for level in (first, second, third))
    assert 1 >= low >= middle * (1 - 1e-12)
    assert middle >= high * (1 - 1e-12)
    share = math.expm1(second - first) / math.expm1(third - first)
    assert middle <= ((1 - share) * low + share * high) * (1 + 1e-9) + 1e-300


@given(LOSSES, st.floats(0, 50))
def test_lower_ends_are_never_above_upper_ones(loss, level):
    low, high = loss.delta_bounds(level)
    assert 0 <= low <= high <= 1
    lower, upper = loss.epsilon_bounds(max(high, 1e-300))
    assert lower <= upper


def test_two_directions_count_by_the_larger_one():
    one, two = GaussianLoss(1.0), LaplaceLoss(3.0)
    loss = PrivacyLoss((one, two))
    for level in (0.0, 1.0, 2.9, 5.0):
        ends = [math.exp(law.log_delta_bounds(level)[0]) for law in (one, two)]
        assert loss.delta(level) == pytest.approx(max(ends), rel=1e-14)
    assert loss.supremum() == math.inf


class Between(PairLoss):
    """A law known to a factor of two: would show which end is taken."""

    def supremum(self) -> float:
        return 1.0

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        high = LaplaceLoss(1.0).log_delta_bounds(epsilon)[0]
        return high - math.log(2), high

    def reversed(self) -> Between:
        return self


def test_both_ends_are_given_and_the_answer_is_the_upper_one():
    loss = PrivacyLoss((Between(),))
    exact = privacy_loss(Laplace(1.0))
    assert not loss.exact
    assert loss.delta(0.5) == exact.delta(0.5)
    assert loss.delta_bounds(0.5)[0] == pytest.approx(exact.delta(0.5) / 2)
    lower, upper = loss.epsilon_bounds(0.1)
    assert upper == loss.epsilon(0.1) == pytest.approx(exact.epsilon(0.1), rel=1e-11)
    assert lower == pytest.approx(exact.epsilon(0.2), rel=1e-11)
    assert lower <= exact.epsilon(0.2)


class Hinted(LaplaceLoss):
    """Laplace noise with a hint that is wrong: hints are not believed."""

    def epsilon_near(self, log_delta: float) -> float:
        return 0.9 if log_delta > -1 else 1e-6


@pytest.mark.parametrize("delta", [0.38, 0.2, 1e-3, 1e-9])
def test_a_wrong_hint_costs_time_only(delta):
    assert PrivacyLoss((Hinted(1.0),)).epsilon(delta) == pytest.approx(
        privacy_loss(Laplace(1.0)).epsilon(delta), rel=1e-11
    )


def test_ends_of_delta():
    loss = privacy_loss(RandomizedResponse(1.0))
    assert loss.epsilon(1.0) == 0.0
    assert loss.epsilon(loss.delta(0.0)) == 0.0
    assert loss.epsilon(0.0) == 1.0
    assert loss.epsilon(5e-324) == 1.0
    assert loss.epsilon(log_delta=-1e9) == 1.0
    assert loss.epsilon(log_delta=-math.inf) == 1.0
    assert loss.delta(1.0) == 0.0
    assert loss.delta(math.inf) == 0.0
    infinite = privacy_loss(RandomizedResponse(math.inf))
    assert infinite.epsilon(0.5) == math.inf
    assert infinite.epsilon(1.0) == 0.0
    assert infinite.delta(math.inf) == 1.0


def test_a_delta_too_small_for_a_float_is_no_zero():
    """Would catch an underflow: the upper end is the least float above 0, and the logarithm is right."""
    loss = PrivacyLoss((GaussianLoss(1.0),))
    assert loss.delta_bounds(60.0) == (0.0, math.ulp(0.0))
    assert loss.log_delta_bounds(60.0)[1] == pytest.approx(-(59.5**2) / 2, rel=0.01)
    assert loss.epsilon(log_delta=-1e6) == pytest.approx(math.sqrt(2e6) + 0.5, rel=0.01)


@pytest.mark.parametrize("epsilon", [math.nan, -0.1, "1", None, 1j])
def test_levels_that_are_none_are_refused(epsilon):
    loss = privacy_loss(RandomizedResponse(1.0))
    for ask in (loss.delta, loss.delta_bounds, loss.log_delta_bounds):
        with pytest.raises(ValueError, match="epsilon must be a number >= 0"):
            ask(epsilon)


@pytest.mark.parametrize("delta", [math.nan, -1e-9, 1.5])
def test_deltas_that_are_none_are_refused(delta):
    with pytest.raises(ValueError, match="delta must lie in"):
        privacy_loss(RandomizedResponse(1.0)).epsilon(delta)


@pytest.mark.parametrize("asked", [{}, {"delta": 0.1, "log_delta": -1.0}, {"log_delta": 0.1}, {"log_delta": math.nan}])
def test_one_delta_is_asked_for(asked):
    with pytest.raises(ValueError, match="delta"):
        privacy_loss(RandomizedResponse(1.0)).epsilon(**asked)


def test_no_direction_is_no_loss():
    with pytest.raises(ValueError, match="directions"):
        PrivacyLoss(())


def test_the_losses_of_all_and_nothing():
    assert PrivacyLoss((ZERO_LOSS,)).epsilon(0.0) == 0.0
    assert PrivacyLoss((INFINITE_LOSS,)).epsilon(0.999) == math.inf


def test_the_profile_is_read_from_the_loss():
    loss = privacy_loss(Piecewise(1.0))
    assert np.allclose(loss.profile()(np.array([0.0, 0.5])), [loss.delta(0.0), loss.delta(0.5)])


def test_the_trade_off_curve_is_that_of_the_loss():
    loss = privacy_loss(RandomizedResponse(1.0))
    low, high = loss.trade_off(1 / (math.e + 1))
    assert low == pytest.approx(1 / (math.e + 1), rel=1e-12)
    assert high == pytest.approx(low, rel=1e-12)


def test_names_stay_functions_whatever_is_imported():
    """Would catch a module that hides the function of the same name."""
    import ldp_audit.accounting as room

    for name in ("shuffle", "privacy_loss"):
        import_module(f"ldp_audit.accounting.{name}")
    assert callable(room.shuffle)
    assert callable(room.privacy_loss)
    from ldp_audit.accounting import compose as again

    assert again is compose
    with pytest.raises(AttributeError, match="no attribute 'composed'"):
        room.composed  # noqa: B018
    assert DiscreteLoss is room.DiscreteLoss is room.LossAtoms
