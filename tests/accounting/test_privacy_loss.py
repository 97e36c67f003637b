"""delta and epsilon of a loss are each other's inverse, on the safe side, and the search takes few evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ldp_audit.accounting import (
    ZCDP,
    Approximate,
    DiscreteLoss,
    PrivacyLoss,
    Pure,
    compose,
    dp_sgd,
    nfdp,
    privacy_loss,
    random_allocation,
    shuffle,
    subsample,
)
from ldp_audit.accounting.level_search import LevelSearch, log_odds
from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS, BinomialLoss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import LossWithInfinity, PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.mechanisms import Gaussian, Hybrid, Laplace, Piecewise, RandomizedResponse
from tests.together import together

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
def test_epsilon_is_the_least_epsilon_with_that_delta_and_never_too_small(loss, exponent):
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
def test_lower_bounds_are_never_above_upper_ones(loss, level):
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
    """A loss known to a factor of two: shows which bound is used."""

    def supremum(self) -> float:
        return 1.0

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        high = LaplaceLoss(1.0).log_delta_bounds(epsilon)[0]
        return high - math.log(2), high

    def reversed(self) -> Between:
        return self


def test_both_bounds_are_given_and_the_answer_is_the_upper_one():
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
    """Laplace noise with a wrong hint: hints are not trusted."""

    def epsilon_near(self, log_delta: float) -> float:
        return 0.9 if log_delta > -1 else 1e-6


@together("delta", [0.38, 0.2, 1e-3, 1e-9])
def test_a_wrong_hint_costs_time_only(delta):
    assert PrivacyLoss((Hinted(1.0),)).epsilon(delta) == pytest.approx(
        privacy_loss(Laplace(1.0)).epsilon(delta), rel=1e-11
    )


def test_bounds_of_delta():
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
    """Would catch an underflow: the upper bound is the least float above 0, and the logarithm is right."""
    loss = PrivacyLoss((GaussianLoss(1.0),))
    assert loss.delta_bounds(60.0) == (0.0, math.ulp(0.0))
    assert loss.log_delta_bounds(60.0)[1] == pytest.approx(-(59.5**2) / 2, rel=0.01)
    assert loss.epsilon(log_delta=-1e6) == pytest.approx(math.sqrt(2e6) + 0.5, rel=0.01)


@together("epsilon", [math.nan, -0.1, "1", None, 1j])
def test_epsilons_that_are_none_are_refused(epsilon):
    loss = privacy_loss(RandomizedResponse(1.0))
    for ask in (loss.delta, loss.delta_bounds, loss.log_delta_bounds):
        with pytest.raises(ValueError, match="epsilon must be a number >= 0"):
            ask(epsilon)


@together("delta", [math.nan, -1e-9, 1.5])
def test_deltas_that_are_none_are_refused(delta):
    with pytest.raises(ValueError, match="delta must lie in"):
        privacy_loss(RandomizedResponse(1.0)).epsilon(delta)


@together("asked", [{}, {"delta": 0.1, "log_delta": -1.0}, {"log_delta": 0.1}, {"log_delta": math.nan}])
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


Ends = tuple[float, float]


class Counted:
    """Both bounds on ln delta at an epsilon, and the number of evaluations."""

    def __init__(self, ends: Callable[[float], Ends]) -> None:
        self.ends, self.asked = ends, []

    def __call__(self, level: float) -> Ends:
        self.asked.append(level)
        return self.ends(level)


def _laplace(top: float, apart: float = 0.0) -> Callable[[float], Ends]:
    """The profile of one Laplace noise, between bounds this far apart in ln delta."""

    def ends(level: float) -> Ends:
        if level >= top:
            return -math.inf, -math.inf
        value = math.log(-math.expm1((level - top) / 2))
        return value - apart, min(0.0, value + apart)

    return ends


@pytest.mark.parametrize("top", [1e-6, 1.0, 50.0, 5e10])
@pytest.mark.parametrize("target", [math.log(0.5), -20.0, -700.0, -1e-9])
@pytest.mark.parametrize("hint", [math.nan, 0.9, 1.0, 2.0])
def test_both_bounds_take_few_epsilons_and_are_on_their_sides(top: float, target: float, hint: float) -> None:
    """Would catch a search that halves its way to a fall next to the supremum, in 90 evaluations."""
    counted = Counted(_laplace(top, 1e-4))
    search = LevelSearch(counted, top, hint * top)
    high, low = search.least(target, 1), search.least(target, 0)
    assert len(counted.asked) == len(set(counted.asked)) <= 55
    ends, less = _laplace(top, 1e-4), 1 - 1e-11
    assert ends(high)[1] <= target
    assert high == 0 or ends(high * less)[1] > target
    assert low == 0 or ends(low)[0] > target
    assert low <= high <= top
    assert low >= high * less or ends(low / less)[0] <= target


def test_sums_next_to_their_supremum_ask_few_epsilons() -> None:
    for mechanism in (Piecewise(50.0), Hybrid(50.0)):
        loss = compose([(mechanism, 10**9)])
        for delta in (0.5, 1e-6):
            counted = Counted(loss.log_delta_bounds)
            hint = loss.directions[0].epsilon_near(math.log(delta))  # type: ignore[attr-defined]
            search = LevelSearch(counted, loss.supremum(), hint)
            high, low = search.least(math.log(delta), 1), search.least(math.log(delta), 0)
            assert low <= high <= low * (1 + 1e-11)
            assert len(counted.asked) <= 30


@given(
    top=st.floats(1e-9, 1e9),
    target=st.floats(-800.0, -1e-12),
    hint=st.floats(-1.0, 1e10) | st.just(math.nan),
    apart=st.sampled_from([0.0, 1e-9, 0.3]),
)
def test_whatever_the_hint_the_bounds_hold(top: float, target: float, hint: float, apart: float) -> None:
    ends = _laplace(top, apart)
    search = LevelSearch(ends, top, hint)
    high, low = search.least(target, 1), search.least(target, 0)
    assert 0 <= low <= high <= top
    assert ends(high)[1] <= target
    assert low == 0 or ends(low)[0] > target


def test_bounds_that_never_fall_or_fall_at_once_are_told() -> None:
    never = LevelSearch(lambda _: (-math.inf, 0.0), math.inf)
    assert never.least(-1.0, 1) == math.inf
    assert never.least(-1.0, 0) == 0.0
    at_once = LevelSearch(lambda _: (-math.inf, -math.inf), 3.0, 2.0)
    assert at_once.least(-1.0, 1) == at_once.least(-1.0, 0) == 0.0
    constant = LevelSearch(lambda level: (-2.0, -2.0), math.inf, 5.0)
    assert constant.least(-3.0, 1) == math.inf
    assert constant.least(-1.0, 1) == 0.0


def test_odds_tell_small_deltas_and_those_near_one_apart() -> None:
    assert log_odds(-700.0) == -700.0
    assert log_odds(-1e-300) == pytest.approx(300 * math.log(10))
    assert log_odds(math.log(0.5)) == pytest.approx(0.0, abs=1e-15)
    assert log_odds(0.0) == math.inf
    assert log_odds(-math.inf) == -math.inf


def test_an_epsilon_near_the_supremum_of_a_sum_of_noises_is_computed_to_its_last_digits() -> None:
    low, high = compose([(Laplace(0.1), 2)]).epsilon_bounds(1e-300)
    assert 20.0 * (1 - 1e-11) <= low <= high == 20.0


class Falling(PairLoss):
    """A loss with ln delta = -1000 epsilon, but for an interval without a lower bound."""

    def __init__(self, hole: float, hint: float) -> None:
        self.hole, self.hint = hole, hint

    def supremum(self) -> float:
        return 10.0

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        if epsilon >= self.supremum():
            return -math.inf, -math.inf
        return -1e9 if 0.05 < epsilon < self.hole else -1000 * epsilon - 1.0, -1000 * epsilon

    def reversed(self) -> Falling:
        return self

    def epsilon_near(self, log_delta: float) -> float:
        return self.hint * -log_delta / 1000


def test_a_lower_bound_without_a_hint_is_looked_for_next_to_the_upper_one() -> None:
    """Would catch a search that stops in an interval without a lower bound."""
    loss = PrivacyLoss((EnclosedLoss(Falling(0.15, math.nan), Falling(0.0, 1.0)),))
    low, high = loss.epsilon_bounds(log_delta=-200.0)
    assert low == pytest.approx(0.199, rel=1e-9)
    assert high == pytest.approx(0.2, rel=1e-9)


@pytest.mark.parametrize("item", [Laplace(1.0), RandomizedResponse(2.0), Approximate(0.5, 1e-7), ZCDP(0.5)])
def test_arrays_are_answered_element_by_element(item: Any) -> None:
    loss = privacy_loss(item)
    epsilons, deltas = np.array([[0.0, 0.1, 0.5], [1.0, 2.0, math.inf]]), np.array([0.0, 1e-9, 1e-3, 1.0])
    assert loss.delta(epsilons).tolist() == [[loss.delta(one) for one in row] for row in epsilons.tolist()]
    assert loss.epsilon(list(deltas)).tolist() == [loss.epsilon(one) for one in deltas]
    low, high = loss.epsilon_bounds(delta=deltas.reshape(2, 2))
    assert (low.shape, high.shape) == ((2, 2), (2, 2))
    assert list(zip(low.flat, high.flat, strict=True)) == [loss.epsilon_bounds(one) for one in deltas]
    low, high = loss.epsilon_bounds(log_delta=[-5000.0, -1.0])
    assert list(zip(low, high, strict=True)) == [loss.epsilon_bounds(log_delta=one) for one in (-5000.0, -1.0)]
    assert [part.shape for part in (*loss.epsilon_bounds([]), loss.epsilon([]), loss.delta([]))] == [(0,)] * 4


@pytest.mark.parametrize(
    "asked", [[0.1, 2.0], [-1.0], [math.nan], [None], [True], ["x"], [[0.1], [0.1, 0.2]], "x", None]
)
def test_arrays_of_no_deltas_are_refused_by_name(asked: Any) -> None:
    loss = privacy_loss(Laplace(1.0))
    with pytest.raises(ValueError, match="delta"):
        loss.epsilon(asked)
    with pytest.raises(ValueError, match="delta"):
        loss.epsilon_bounds(delta=[0.1], log_delta=[-1.0])


def test_a_loss_says_what_was_composed_and_what_it_rests_on() -> None:
    for item in (Laplace(1.0), RandomizedResponse(2.0), Approximate(0.5, 1e-7), GaussianLoss(1.0)):
        loss = privacy_loss(item)
        assert loss.assumptions
        assert len(repr(loss).splitlines()) == 2
    assert "at most 3, the sensitivity" in privacy_loss(Gaussian(2.0, sensitivity=3.0)).assumptions[0]
    assert "replaced moves the sum by at most 2" in privacy_loss(Gaussian(2.0, replaced=2.0), "replace").assumptions[0]
    mixed = compose(
        [(Gaussian(4.0), 100), (RandomizedResponse(1.0), 3), (compose([(Pure(0.1), 2), (ZCDP(0.5), 1)]), 2)]
    )
    first, second = repr(mixed).splitlines()
    assert first == (
        "PrivacyLoss of 100 x Gaussian(sigma=4.0, sensitivity=1.0) + 3 x RandomizedResponse(epsilon=1.0, k=2) + "
        "2 x (2 x a promised epsilon = 0.1 + a promised rho = 0.5)"
    )
    assert second.startswith("neighbours: add/remove; rests on: neighbours became add/remove: a client whose record")


def test_every_combination_says_what_it_is_of() -> None:
    noise, response = Gaussian(1.0), RandomizedResponse(1.0)
    said = {
        "a Poisson sample at rate 0.1": subsample(response, rate=0.1),
        "on 2 of 10 records, drawn without replacement": subsample(response, kind="without", n=10, k=2),
        "for 3 records together": subsample(noise, rate=0.1, group=3),
        "100 shuffled reports of RandomizedResponse": shuffle(response, 100),
        "2 x (Gaussian(sigma=1.0, sensitivity=1.0) in 1 of 4 steps at random)": random_allocation(
            noise, steps=4, epochs=2
        ),
        "3 x SubsampleRelease(n=9, k=2": nfdp(9, 2, rounds=3),
        "2 epochs of 10 noisy gradients": dp_sgd(noise_multiplier=2.0, batch=10, records=100, epochs=2),
    }
    for words, loss in said.items():
        assert words in loss.of
        assert loss.assumptions
    assert any("of silent ones see sampled_clients" in one for one in subsample(response, rate=0.1).assumptions)
    assert not any("silent" in one for one in subsample(noise, rate=0.1).assumptions)
