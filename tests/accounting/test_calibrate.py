"""Calibration: never on the unsafe side of the budget, within the tolerance, in few evaluations; bad input refused."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting import compose, nfdp, privacy_loss, subsample
from ldp_audit.accounting.calibrate import Calibrated, Search, Steps, calibrate
from ldp_audit.accounting.conversion.conversions import gdp_within
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.discrete_loss import BinomialLoss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.mechanisms import ExponentialSelection, Gaussian, Laplace, RandomizedResponse, SubsampleRelease, TwoPoint
from tests.together import together

DELTAS = (0.0, 1e-300, 1e-9, 1e-3, 0.5)


def local_epsilon(times: int, epsilon: float, delta: float = 0.0, **more: float) -> Calibrated:
    """The largest pure epsilon of so many reports; between pure composition's and 100."""
    low = min(max(epsilon, delta) / (2 * times), 50.0)
    how = {"epsilon": epsilon, "delta": delta, "low": low, "high": 100.0, **more}
    return calibrate(lambda one: PrivacyLoss((BinomialLoss(one, -one, times),)), increasing=True, **how)  # type: ignore[arg-type]


def noise(mechanism: type, times: int, epsilon: float, delta: float = 0.0, **more: float) -> Calibrated:
    """The least noise of so many reports, in a range of eighteen orders of magnitude."""
    unit = math.sqrt(times)
    how = {"epsilon": epsilon, "delta": delta, "low": 1e-6 * unit, "high": 1e12 * unit, **more}
    return calibrate(lambda scale: compose([(mechanism(scale), times)]), increasing=False, **how)  # type: ignore[arg-type]


def rounds(mechanism: object, epsilon: float, delta: float = 0.0, most: int = 10**9, **more: float) -> Calibrated:
    """The most reports."""
    how = {"epsilon": epsilon, "delta": delta, "low": 1, "high": most, **more}
    return calibrate(lambda k: compose([(mechanism, k)]), increasing=True, whole=True, **how)  # type: ignore[arg-type]


@settings(max_examples=12)
@given(st.floats(1e-9, 50), st.sampled_from(DELTAS), st.sampled_from([1, 3, 100, 10**6]))
def test_a_local_epsilon_meets_the_budget_and_hardly_more_would(epsilon: float, delta: float, times: int) -> None:
    found = local_epsilon(times, epsilon, delta, tolerance=1e-5)
    loss = PrivacyLoss((BinomialLoss(found.value, -found.value, times),))
    assert loss.epsilon(delta) == found.spent <= epsilon
    assert loss.delta(epsilon) == found.spent_delta <= delta
    if found.excluded is None:
        assert found.value == 100
        return
    assert found.value < found.excluded <= found.value * (1 + 1e-5)
    beyond = PrivacyLoss((BinomialLoss(found.excluded, -found.excluded, times),))
    assert beyond.epsilon(delta) > epsilon


@settings(max_examples=12)
@given(st.floats(1e-9, 50), st.sampled_from(DELTAS[1:]), st.sampled_from([1, 1000]))
def test_gaussian_noise_agrees_with_the_formula(epsilon: float, delta: float, times: int) -> None:
    exact = math.sqrt(times) / gdp_within(epsilon, delta).value
    sigma = noise(Gaussian, times, epsilon, delta, high=1e3 * exact).value
    assert exact * (1 - 1e-12) <= sigma <= exact * (1 + 1.1e-6)
    assert compose([(Gaussian(sigma), times)]).delta(epsilon) <= delta


def test_laplace_noise_of_pure_budgets() -> None:
    for times in (1, 10):
        found = noise(Laplace, times, 0.5)
        assert 2.0 * times <= found.value <= 2.0 * times * (1 + 1e-6)
    assert noise(Laplace, 1, 1.0, 0.1).value < 1


def test_rounds_are_the_largest_whole_number() -> None:
    found = rounds(RandomizedResponse(0.1), 1.0, 1e-6)
    assert isinstance(found.value, int)
    most = int(found.value)
    assert found.excluded == most + 1
    assert compose([(RandomizedResponse(0.1), most)]).epsilon(1e-6) <= 1
    assert compose([(RandomizedResponse(0.1), most + 1)]).epsilon(1e-6) > 1


def test_far_ends_of_whole_numbers_are_not_built() -> None:
    built = []

    def build(rounds: int) -> PrivacyLoss:
        built.append(rounds)
        return compose([(TwoPoint(0.25), rounds)])

    found = calibrate(build, epsilon=10.3, low=1, high=10**15, increasing=True, whole=True)
    assert found.value == 41
    assert max(built) < 130


def test_far_ends_of_noise_are_not_built_where_a_place_is_given() -> None:
    built = []

    def build(scale: float) -> PrivacyLoss:
        built.append(scale)
        return compose([(Gaussian(scale), 100)])

    for near in (1e-3, 50.0, 1e7):
        built.clear()
        found = calibrate(build, epsilon=1.0, delta=1e-6, low=1e-9, high=1e12, increasing=False, near=near)
        assert found.value == pytest.approx(42.2467, rel=1e-4)
        assert found.excluded is not None
        assert found.excluded < found.value <= found.excluded * (1 + 1e-6)
        assert min(built) >= min(near, 1.0)
        assert max(built) <= max(near, 1e5)


@pytest.mark.parametrize(
    ("ask", "most"),
    [
        (lambda: local_epsilon(10**9, 1.0, 1e-300, near=1e-6), 8),
        (lambda: noise(Gaussian, 10**9, 1e-3, 1e-6, near=1e9), 10),
        (lambda: noise(Laplace, 10**9, 1.0, 1e-6, near=1e5), 10),
        (lambda: noise(Laplace, 10**6, 3.0, 1e-300, near=1e4), 10),
        (lambda: rounds(RandomizedResponse(1e-5), 1.0, 1e-6, near=5.7e8), 12),
        (lambda: rounds(ExponentialSelection(1e-3, 1000), 1.0, 1e-6, near=6e4), 14),
        (lambda: rounds(Gaussian(1e3), 1.0, 1e-9), 16),
    ],
)
def test_usual_questions_take_few_looks(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Calibrated], most: int
) -> None:
    """Also those of a billion reports: each evaluation may be costly."""
    seen: list[float] = []
    before = Search.loss
    monkeypatch.setattr(Search, "loss", lambda search, value: seen.append(value) or before(search, value))
    found = ask()
    assert found.excluded is not None
    assert len(seen) <= most


def test_what_delta_allows_but_epsilon_does_not_is_no_answer() -> None:
    """An epsilon is rounded up from its equation's root, so at the very value it exceeds the budget."""
    sigma = 1 / gdp_within(1.0, 1e-6).value
    loss = privacy_loss(Gaussian(sigma))
    assert loss.delta(1.0) <= 1e-6
    assert loss.epsilon(1e-6) > 1
    found = calibrate(Gaussian, epsilon=1.0, delta=1e-6, low=0.1, high=100.0, increasing=False, near=sigma)
    assert sigma < found.value <= sigma * (1 + 1e-6)
    assert found.spent <= 1


def test_a_sample_is_the_largest_that_meets_the_budget() -> None:
    found = calibrate(
        lambda k: subsample(RESPONSE, n=100, k=k, kind="without", adjacency="replace"),
        epsilon=0.3,
        low=1,
        high=100,
        whole=True,
    )
    assert math.log1p(0.2 * math.expm1(1.0)) <= 0.3 < math.log1p(0.21 * math.expm1(1.0))
    assert found.value == 20
    released = calibrate(lambda k: SubsampleRelease(1000, k), epsilon=1.0, delta=0.05, low=1, high=1000, whole=True)
    assert released.value == 50


def test_a_decreasing_parameter_is_found_from_the_other_side() -> None:
    found = calibrate(lambda scale: RandomizedResponse(1 / scale), epsilon=0.5, low=0.1, high=100.0)
    assert 2 <= found.value <= 2 * (1 + 1e-6)
    assert found.excluded is not None
    assert found.excluded < 2
    assert found.spent <= 0.5


RANGES = {
    "noise": (lambda sigma: compose([(Laplace(sigma), 10)]), 0.01, 100.0, False),
    "a rate, at most 1": (
        lambda rate: compose([(subsample(RandomizedResponse(4.0), rate=rate), 10)]),
        1e-6,
        1.0,
        False,
    ),
    "steps": (lambda times: compose([(Gaussian(20.0), times)]), 0, 10**6, True),
    "no step at all": (lambda times: compose([(Gaussian(0.1), times)]), 0, 10**6, True),
    "a large scale": (lambda scale: compose([(Gaussian(scale), 10**6)]), 1.0, 1e6, False),
    "records": (lambda n: nfdp(n, 10**6), 10**6 + 1, 10**12, True),
}


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("given", [(), ("low",), ("high",)])
def test_a_range_that_is_not_given_is_found(name: str, given: tuple[str, ...]) -> None:
    build, low, high, is_whole = RANGES[name]
    question: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-3, "tolerance": 1e-9, "whole": is_whole}
    known = calibrate(build, low=low, high=high, **question)
    ends = {end: value for end, value in (("low", low), ("high", high)) if end in given and value > 0}
    found = calibrate(build, **ends, **question)
    assert found.value == pytest.approx(known.value, rel=3e-9)
    assert (found.excluded is None) == (known.excluded is None)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda _: Gaussian(1.0), "build must spend more or less as its parameter changes"),
        (lambda sigma: Gaussian(-sigma), "sigma must be"),
    ],
)
def test_no_range_is_found_where_nothing_changes_or_nothing_is_accepted(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibrate(build, epsilon=1.0, delta=1e-9)


@pytest.mark.parametrize("ends", [{"low": 0}, {"high": -1}, {"high": "x"}, {"low": math.nan}, {"low": math.inf}])
def test_one_end_alone_is_positive(ends: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be a finite number > 0, where the other end is to be found"):
        calibrate(Laplace, epsilon=1.0, **ends)


def test_parameters_may_be_negative_or_pass_zero() -> None:
    found = calibrate(lambda x: RandomizedResponse(math.exp(x)), epsilon=0.1, low=-50.0, high=3.0)
    assert math.exp(found.value) <= 0.1 < math.exp(float(found.excluded or 0))
    zero = calibrate(lambda x: BinomialLoss(1e-3 + x + 2, -1.0, 1), epsilon=2.001, low=-1.0, high=1.0)
    assert abs(zero.value) < 1e-11


def test_only_upper_bounds_count() -> None:
    """A search by the lower bounds would return twice as much."""

    def build(epsilon: float) -> PrivacyLoss:
        lower, upper = (BinomialLoss(e, -e, 1) for e in (epsilon, 2 * epsilon))
        return PrivacyLoss((EnclosedLoss(lower, upper),))

    assert calibrate(build, epsilon=1.0, low=0.01, high=10.0).value == pytest.approx(0.5, rel=1e-6)


def test_a_budget_that_cannot_be_met_is_refused_with_what_is_spent() -> None:
    with pytest.raises(
        ValueError, match=r"epsilon=1, delta=0 cannot be met .* from 2.0 to 5.0: even 2.0 spends epsilon 2 "
    ):
        calibrate(RandomizedResponse, epsilon=1.0, low=2.0, high=5.0)
    with pytest.raises(ValueError, match="cannot be met"):
        noise(Gaussian, 1, 1.0)
    with pytest.raises(ValueError, match="cannot be met"):
        rounds(RandomizedResponse(2.0), 1.0)


def test_a_budget_that_is_met_everywhere_says_so() -> None:
    rising = calibrate(RandomizedResponse, epsilon=9.0, low=2.0, high=5.0)
    assert rising.met_everywhere
    assert rising.value == 5
    assert "both ends of the range meet" in rising.describe()
    falling = calibrate(lambda scale: RandomizedResponse(1 / scale), epsilon=9.0, low=2.0, high=5.0)
    assert falling.met_everywhere
    assert falling.value == 2
    assert rounds(RandomizedResponse(1e-9), 1.0, most=1000).value == 1000
    assert calibrate(RandomizedResponse, epsilon=math.inf, low=1.0, high=5.0).value == 5
    assert calibrate(RandomizedResponse, epsilon=0.0, delta=1.0, low=1.0, high=5.0).value == 5


def test_the_wrong_direction_is_refused() -> None:
    with pytest.raises(ValueError, match=r"increasing=False but epsilon is 1 at low=1.0 and 5 at high=5.0"):
        calibrate(RandomizedResponse, epsilon=2.0, low=1.0, high=5.0, increasing=False)


def test_spending_that_is_not_monotone_is_remarked_upon_and_still_safe() -> None:
    found = calibrate(
        lambda x: RandomizedResponse(1 + x / 5 + 4 * math.exp(-((x - 5) ** 2))), epsilon=2.5, low=2.5, high=10.0
    )
    assert found.spent <= 2.5
    assert any("not monotone" in note for note in found.notes)


def test_steps_of_the_spending_do_not_fool_the_check() -> None:
    """A parameter that is rounded inside: the value is still one that meets the budget."""
    found = calibrate(lambda x: RandomizedResponse(math.ceil(x) / 4), epsilon=1.1, low=0.5, high=20.0)
    assert 4 * (1 - 1e-6) <= found.value <= 4
    assert found.spent == 1


def test_extremes() -> None:
    assert local_epsilon(10**9, 1e-9).value == pytest.approx(1e-18, rel=2e-6)
    assert local_epsilon(1, 0.0, 1e-3).value == pytest.approx(2 * math.atanh(1e-3), rel=2e-6)
    tiny = local_epsilon(100, 1.0, 1e-300)
    assert tiny.value == pytest.approx(0.01, rel=2e-6)
    deep = calibrate(lambda mu: Gaussian(1 / mu), epsilon=1.0, delta=None, log_delta=-1e4, low=1e-6, high=1.0)
    assert privacy_loss(Gaussian(1 / deep.value)).log_delta_bounds(1.0)[1] <= -1e4


def test_the_result_is_json() -> None:
    plain = json.loads(json.dumps(rounds(RandomizedResponse(0.5), 2.2).to_dict(), allow_nan=False))
    assert plain["value"] == 4
    assert plain["excluded"] == 5


@dataclass(frozen=True)
class Nothing:
    """No mechanism."""


@together(
    ("change", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be a number >= 0, got -1.0"),
        ({"delta": 2.0}, r"delta must lie in \[0, 1\], got 2.0"),
        ({"delta": 0.1, "log_delta": -1.0}, "one of delta and log_delta"),
        ({"low": 5.0}, "low must be below high, got low=5.0, high=5.0"),
        ({"high": math.inf}, "high must be a finite number, got inf"),
        ({"low": 1.5, "whole": True}, "low must be a whole number, got 1.5"),
        ({"near": 1.0}, "near must be a number and needs increasing, got 1.0 and None"),
        ({"near": math.nan, "increasing": True}, "near must be a number"),
        ({"tolerance": 0.0}, r"tolerance must lie in \[1e-13, 1\), got 0.0"),
        ({"build": lambda _: Nothing()}, "mechanism must have delta and exact_epsilon"),
    ],
)
def test_bad_questions_are_refused_by_name(change: dict, message: str) -> None:
    question = {"build": RandomizedResponse, "epsilon": 1.0, "low": 0.1, "high": 5.0, **change}
    with pytest.raises(ValueError, match=message):
        calibrate(**question)


def test_budgets_at_the_ends_of_their_ranges_are_answered() -> None:
    """Where the start of a search is infinite, or 0."""
    assert rounds(Gaussian(1.0), math.inf, 1e-6, most=1000).value == 1000
    assert rounds(RandomizedResponse(1e-300), 1.0, 0.5, most=10**6).met_everywhere
    assert local_epsilon(5, math.inf, 0.1).value == 100
    assert noise(Gaussian, 1, 1.0, 1.0).met_everywhere
    laplace = noise(Laplace, 1, 0.0, 1e-6).value  # delta(0) = 1 - e**(-1 / (2 scale))
    assert laplace == pytest.approx(-0.5 / math.log1p(-1e-6), rel=1e-6)
    with pytest.raises(ValueError, match="epsilon must be a number >= 0, got 'x'"):
        rounds(RandomizedResponse(1.0), "x")
    with pytest.raises(ValueError, match=r"delta must lie in \[0, 1\], got 2.0"):
        rounds(RandomizedResponse(1.0), 1.0, 2.0)


RESPONSE = RandomizedResponse(1.0)


def search(**changes: object) -> Calibrated:
    return calibrate(RandomizedResponse, **{"epsilon": 1.0, "low": 0.1, "high": 2.0, **changes})  # type: ignore[arg-type]


@together(
    ("ask", "message"),
    [
        (lambda: search(tolerance="a"), r"tolerance must lie in \[1e-13, 1\), got 'a'"),
        (lambda: search(near=[1], increasing=True), r"near must be a number and needs increasing, got \[1\] and True"),
        (lambda: search(high=10**400), "high must be a finite number, got a number of 1329 bits"),
        (lambda: search(low="a"), "low must be a finite number, got 'a'"),
    ],
)
def test_what_is_no_argument_is_refused_by_name(ask: Callable[[], Calibrated], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


def test_numbers_of_numpy_are_numbers() -> None:
    assert rounds(RESPONSE, np.float64(5.0), most=np.int64(100)).value == 5  # type: ignore[arg-type]
    assert search(low=np.float32(0.5), high=np.int64(2)).value == pytest.approx(1)


def test_a_delta_alone_is_met_however_small() -> None:
    found = local_epsilon(2, 0.0, 1e-290)
    assert found.spent == 0
    assert found.spent_delta <= 1e-290
    assert found.value >= 1e-290  # delta(0) of two reports is at most one epsilon


def test_a_budget_without_end_is_met_by_any_noise() -> None:
    assert noise(Laplace, 1, math.inf).met_everywhere
    assert noise(Gaussian, 1, math.inf, 0.1).met_everywhere


@together("delta", [1e-13, 1e-6, 0.1])
def test_monotone_spending_is_not_remarked_upon(delta: float) -> None:
    """From an end of the range so far off that the values' distances from it are the same float."""
    found = noise(Gaussian, 1, 1.0, delta)
    assert not any("monotone" in note for note in found.notes)


Height = Callable[[float], float]

FALLING: dict[str, tuple[Height, float, float]] = {
    "straight in ln value": (lambda x: -2.3 * math.log(x / 7.7), 1e-12, 1e12),
    "bent": (lambda x: 3 - x**1.7, 1e-6, 1e6),
    "infinite on the safe side": (lambda x: math.inf if x < 2 else -math.log(x - 1.9), 0.1, 100.0),
    "a step": (lambda x: 1.0 if x <= 3.123456789 else -1.0, 1.0, 10.0),
    "steps": (lambda x: 10.5 - math.ceil(x), 0.5, 300.0),
    "singular next to an end": (lambda x: math.log(-math.log(x - 1) / 13) if 1 < x < 2 else -5.0, 1 + 1e-15, 1.5),
    "flat": (lambda x: 1e-9 * (5 - x), 0.01, 1000.0),
    "negative": (lambda x: -3 - x, -1e5, -1e-5),
    "through 0": (lambda x: 1e-3 - x, -1.0, 2.0),
}


def _narrowed(
    height: Height, safe: float, unsafe: float, tolerance: float, *, whole: bool = False
) -> tuple[Steps, int]:
    steps = Steps({x: height(x) for x in (safe, unsafe)}, safe, unsafe, tolerance, whole)
    looks = 0
    while (between := steps.between()) is not None:
        looks += 1
        assert min(steps.safe, steps.unsafe) < between < max(steps.safe, steps.unsafe)
        steps.add(between, height(between), safe=height(between) >= 0)
        assert looks < 200
    return steps, looks


@together(("name", "tolerance"), itertools.product(FALLING, [1e-3, 1e-6, 1e-12]))
def test_a_crossing_is_closed_in_from_both_sides(name: str, tolerance: float) -> None:
    height, low, high = FALLING[name]
    steps, _ = _narrowed(height, low, high, tolerance)
    assert steps.unsafe is not None
    assert height(steps.safe) >= 0 > height(steps.unsafe)
    assert abs(steps.unsafe - steps.safe) <= tolerance * min(abs(steps.safe), abs(steps.unsafe)) * (1 + 1e-9)


@together(("name", "most"), [("straight in ln value", 3), ("bent", 12), ("steps", 60), ("a step", 60)])
def test_smooth_functions_take_few_looks_and_others_no_more_than_some_halvings(name: str, most: int) -> None:
    height, low, high = FALLING[name]
    assert _narrowed(height, low, high, 1e-6)[1] <= most


@settings(max_examples=60)
@given(st.floats(1, 1e9), st.floats(0.1, 5), st.integers(0, 3))
def test_whole_numbers_end_at_neighbours(crossing: float, slope: float, kind: int) -> None:
    of: list[Height] = [
        lambda x: slope * math.log(crossing / x),
        lambda x: slope * (crossing - x),
        lambda x: 1.0 if x <= crossing else -1.0,
        lambda x: math.inf if x <= crossing else -slope * math.log(x),
    ]
    high = 2 * 10**9
    steps, looks = _narrowed(of[kind], 1, high, 1e-6, whole=True)
    assert steps.safe == math.floor(crossing)
    assert steps.unsafe == steps.safe + 1
    assert looks <= 100


@pytest.mark.parametrize("way", [1, -1])
def test_steps_ahead_reach_beyond_the_crossing_and_never_beyond_the_end(way: int) -> None:
    """From either side, with and without finite heights."""
    for here in (1.0, 90.0, 99.999, 1e4):
        for height in (lambda x: 2 * math.log(100 / x), lambda x: math.inf if x < 50 else math.log(100 / x)):
            falling = height if way > 0 else (lambda x, of=height: -of(x))
            steps = Steps({here: falling(here)}, here, None, 1e-6, whole=False)
            end = 1e6 if (falling(here) >= 0) == (way > 0) else 1e-6
            at, looks = here, 0
            while (falling(at) >= 0) == (falling(here) >= 0) and at != end:
                before, at = at, steps.ahead(at, end)
                assert before < at <= end or end <= at < before
                steps.heights[at] = falling(at)
                looks += 1
            assert at != end
            assert looks <= 25
    whole = Steps({1: math.inf}, 1, None, 1e-6, whole=True)
    assert whole.ahead(1, 10**9) == 2
    at, seen = -(10**9), []
    while at < 2:  # through 0, in few steps
        at = Steps({at: math.inf}, at, None, 1e-6, whole=True).ahead(at, 10**9)
        seen.append(at)
    assert seen[-3:] == [0, 1, 2]
    assert len(seen) < 40
    assert Steps({3: math.inf}, 3, None, 1e-6, whole=True).ahead(3, 4) == 4
