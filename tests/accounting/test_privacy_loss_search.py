"""The search for a level: how many levels it asks, and what it states for ends of any shape."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.accounting import PrivacyLoss, compose
from ldp_audit.accounting.privacy_loss import LevelSearch, log_odds
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms import Hybrid, Laplace, Piecewise

Ends = tuple[float, float]


class Counted:
    """Both ends of ln delta at a level, and how many levels were asked."""

    def __init__(self, ends: Callable[[float], Ends]) -> None:
        self.ends, self.asked = ends, []

    def __call__(self, level: float) -> Ends:
        self.asked.append(level)
        return self.ends(level)


def _laplace(top: float, apart: float = 0.0) -> Callable[[float], Ends]:
    """The profile of one Laplace noise, between ends that are so far apart in ln delta."""

    def ends(level: float) -> Ends:
        if level >= top:
            return -math.inf, -math.inf
        value = math.log(-math.expm1((level - top) / 2))
        return value - apart, min(0.0, value + apart)

    return ends


@pytest.mark.parametrize("top", [1e-6, 1.0, 50.0, 5e10])
@pytest.mark.parametrize("target", [math.log(0.5), -20.0, -700.0, -1e-9])
@pytest.mark.parametrize("hint", [math.nan, 0.9, 1.0, 2.0])
def test_both_ends_take_few_levels_and_are_on_their_sides(top: float, target: float, hint: float) -> None:
    """Would catch a search that halves its way to a fall next to the largest loss: it asked 90 levels."""
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


def test_sums_next_to_their_largest_loss_ask_few_levels() -> None:
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
def test_whatever_the_hint_the_ends_hold(top: float, target: float, hint: float, apart: float) -> None:
    ends = _laplace(top, apart)
    search = LevelSearch(ends, top, hint)
    high, low = search.least(target, 1), search.least(target, 0)
    assert 0 <= low <= high <= top
    assert ends(high)[1] <= target
    assert low == 0 or ends(low)[0] > target


def test_ends_that_never_fall_or_fall_at_once_are_told() -> None:
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


def test_a_level_near_the_largest_sum_of_noises_is_told_to_its_last_digits() -> None:
    low, high = compose([(Laplace(0.1), 2)]).epsilon_bounds(1e-300)
    assert 20.0 * (1 - 1e-11) <= low <= high == 20.0


class Falling(PairLoss):
    """A law of which ln delta is -1000 epsilon, but for a hole up to a level where nothing is known from below."""

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


def test_a_lower_end_without_a_hint_is_looked_for_next_to_the_upper_one() -> None:
    """Beyond a hole in what is known, which it fell into once."""
    loss = PrivacyLoss((EnclosedLoss(Falling(0.15, math.nan), Falling(0.0, 1.0)),))
    low, high = loss.epsilon_bounds(log_delta=-200.0)
    assert low == pytest.approx(0.199, rel=1e-9)
    assert high == pytest.approx(0.2, rel=1e-9)
