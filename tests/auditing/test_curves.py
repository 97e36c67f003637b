"""Curves from one run: coverage of all bounds at once, what they reach, the events that they come from."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy import special

from ldp_audit.auditing.bounds import Counts, lower_limit, upper_limit
from ldp_audit.auditing.choice import Choice, Judge, Sample, choose_score
from ldp_audit.auditing.curves import Curves, level_events
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import Outputs
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.test import Test, count_all
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse
from tests.frequency import assert_at_most
from tests.together import together

EPSILONS = np.array([0.0, 0.3, 0.7, 0.95, 1.5, math.inf])
ORDERS = np.array([1.0, 1.5, 2.0, 8.0, math.inf])
ALPHAS = np.linspace(0, 1, 21)


def phi(z: np.ndarray | float) -> np.ndarray:
    return special.ndtr(np.asarray(z, dtype=float))


def laplace_below(y: np.ndarray, x: float) -> np.ndarray:
    z = y - x
    return np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)


class LaplaceTruth:
    """Scale 1, inputs 0 and 1; cells between cuts, the likeliest on the first input first."""

    delta = staticmethod(Laplace(1.0).delta)

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        cuts = np.concatenate([[-math.inf], np.linspace(0, 1, 15), [math.inf]])
        return np.diff(laplace_below(cuts, 0.0)), np.diff(laplace_below(cuts, 1.0))

    def renyi(self, order: float) -> float:
        if order == 1:
            return math.exp(-1)
        if math.isinf(order):
            return 1.0
        a, b = order / (2 * order - 1), (order - 1) / (2 * order - 1)
        return math.log(a * math.exp(order - 1) + b * math.exp(-order)) / (order - 1)

    def trade_off(self, alpha: np.ndarray) -> np.ndarray:
        z = np.where(alpha < 0.5, np.log(np.maximum(2 * alpha, 1e-300)), -np.log(np.maximum(2 - 2 * alpha, 1e-300)))
        return 1 - laplace_below(z + 1, 0.0)


class ResponseTruth:
    """Three values, epsilon 1, inputs 0 and 1."""

    mechanism = RandomizedResponse(1.0, 3)
    delta = staticmethod(mechanism.delta)

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        first, second = (np.exp(self.mechanism.log_prob([0, 2, 1], x)) for x in (0, 1))
        return first, second

    def renyi(self, order: float) -> float:
        p, q = self.cells()
        if order == 1:
            return float(p @ np.log(p / q))
        return 1.0 if math.isinf(order) else math.log(p**order @ q ** (1 - order)) / (order - 1)

    def trade_off(self, alpha: np.ndarray) -> np.ndarray:
        p, q = self.cells()
        return np.interp(alpha, [0, *np.cumsum(q)], [1, *(1 - np.cumsum(p))])


class GaussianTruth:
    """Sigma 1, inputs 0 and 1."""

    delta = staticmethod(cache(lambda levels: Gaussian(1.0).delta(np.array(levels))))

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        cuts = np.concatenate([[-math.inf], np.linspace(-2, 3, 15), [math.inf]])
        return np.diff(phi(cuts)), np.diff(phi(cuts - 1))

    def renyi(self, order: float) -> float:
        return order / 2

    def trade_off(self, alpha: np.ndarray) -> np.ndarray:
        return phi(special.ndtri(1 - alpha) - 1)


TRUTHS = {"laplace": LaplaceTruth(), "k-rr": ResponseTruth(), "gaussian": GaussianTruth()}


def drawn(truth: object, trials: int, error: float, rng: np.random.Generator) -> Curves:
    p, q = truth.cells()
    hits, others = rng.multinomial(trials, p), rng.multinomial(trials, q)
    return Curves(
        tuple(Counts(int(x), trials, int(y), trials) for x, y in zip(hits[:-1], others[:-1], strict=True)), error
    )


def is_over(truth: object, curves: Curves) -> bool:
    """Whether any bound of the three kinds says too much."""
    delta = curves.delta_lower(EPSILONS) > np.asarray(truth.delta(tuple(EPSILONS))) + 1e-12
    renyi = curves.renyi_lower(ORDERS) > np.array([truth.renyi(float(order)) for order in ORDERS]) + 1e-12
    trade_off = curves.trade_off_upper(ALPHAS) < truth.trade_off(ALPHAS) - 1e-12
    return bool(delta.any() or renyi.any() or trade_off.any())


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("trials", [100, 10_000])
def test_all_bounds_hold_at_once_as_often_as_stated(name: str, trials: int) -> None:
    """Exact binomial test, false alarm 1e-6; a true error of 0.4 fails it 9 times in 10."""
    rng, error, runs = np.random.default_rng([trials, len(name)]), 0.2, 200
    over = sum(is_over(TRUTHS[name], drawn(TRUTHS[name], trials, error, rng)) for _ in range(runs))
    assert_at_most(over, runs, error)


@together("name", TRUTHS)
def test_the_check_of_coverage_can_fail(name: str) -> None:
    """The same with every output counted sixteen times over, as if there were more of them."""
    rng, error, runs, over = np.random.default_rng(3), 0.2, 150, 0
    for _ in range(runs):
        honest = drawn(TRUTHS[name], 2_000, error, rng)
        levels = tuple(Counts(16 * c.hits, 32_000, 16 * c.other_hits, 32_000) for c in honest.levels)
        over += is_over(TRUTHS[name], Curves(levels, error))
    with pytest.raises(AssertionError, match="is promised"):
        assert_at_most(over, runs, error)


def laplace(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.laplace(size=n)


def gaussian(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.normal(size=n)


def letters(x: int, n: int, rng: np.random.Generator) -> list[str | None]:
    p = np.exp(ResponseTruth.mechanism.log_prob([0, 1, 2], x))
    return [("a", None, "c")[place] for place in rng.choice(3, size=n, p=p)]


def whole_run(
    sampler: Callable, trials: int, search: int, error: float, seed: int, count: int = 16
) -> tuple[Curves, Choice]:
    """As an audit does it: search samples, events, fresh test samples."""
    program = Program(sampler, seed)
    first, second = (Sample(*(program.many(x, search, (0, x, part)) for part in range(3))) for x in (0, 1))
    choice = choose_score(first, second, Judge(trials, error, 0.0), np.random.default_rng(seed))
    places = (1, 0) if choice.swapped else (0, 1)
    events = level_events(first, second, choice, count)
    tally = count_all(Test((choice.event, *events), places, places, trials, program.rows), program)
    return Curves(tally[1:], error), choice


@together(("name", "sampler"), [("laplace", laplace), ("gaussian", gaussian)])
def test_whole_runs_hold_as_often_as_stated(name: str, sampler: Callable) -> None:
    """Cells learned in each run; exact binomial test, false alarm 1e-6."""
    runs, error = 25, 0.2
    over = sum(is_over(TRUTHS[name], whole_run(sampler, 2_000, 600, error, seed)[0]) for seed in range(runs))
    assert_at_most(over, runs, error)


@together(
    ("name", "sampler", "short"), [("laplace", laplace, 0.02), ("gaussian", gaussian, 0.03), ("k-rr", letters, 0.02)]
)
def test_bounds_come_close_to_the_truth(name: str, sampler: Callable, short: float) -> None:
    """A limit of 2e5 samples lies 0.009 or less from its probability (8 standard deviations), but once in 1e6 runs."""
    truth, (curves, _) = TRUTHS[name], whole_run(sampler, 200_000, 10_000, 0.001, 5)
    small = EPSILONS[:4]
    assert np.all(curves.delta_lower(small) >= np.asarray(truth.delta(tuple(EPSILONS)))[:4] - short)
    assert np.all(curves.trade_off_upper(ALPHAS) <= truth.trade_off(ALPHAS) + short)
    for order in (1.0, 2.0):
        assert curves.renyi_lower(order) >= 0.85 * truth.renyi(order)


def test_delta_is_that_of_the_best_union_in_either_direction() -> None:
    levels = (Counts(500, 1000, 100, 2000), Counts(200, 1000, 300, 2000), Counts(250, 1000, 900, 2000))
    curves, each = Curves(levels, 0.06), 0.01
    limits = [
        (lower_limit(x, 1000, each), upper_limit(y, 2000, each)) for x, y in ((500, 100), (700, 400), (950, 1300))
    ]
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        slope = math.exp(epsilon)
        direct = max(max(p - slope * q, (1 - q) - slope * (1 - p), 0.0) for p, q in limits)
        assert curves.delta_lower(epsilon) == pytest.approx(direct, rel=1e-9)


def test_the_bounds_agree_with_each_other() -> None:
    curves = drawn(TRUTHS["laplace"], 50_000, 0.01, np.random.default_rng(1))
    orders = curves.renyi_lower([1.0, 1.0 + 1e-7, 2.0, 50.0, 1e6, math.inf])
    assert np.all(np.diff(orders) >= -1e-9)
    assert orders[0] == pytest.approx(orders[1], abs=1e-6)
    assert orders[4] == pytest.approx(orders[5], rel=1e-4)
    assert curves.delta_lower(float(orders[5]) + 1e-9) == 0
    assert curves.delta_lower(float(orders[5]) - 1e-3) > 0
    # delta at 0 is the largest of 1 - alpha - f(alpha), at a corner of the band.
    alphas = np.array([alpha for alpha, _ in curves.hull])
    gap = np.max(1 - alphas - np.interp(alphas, *np.array(curves.hull).T))
    assert curves.delta_lower(0.0) == pytest.approx(gap, rel=1e-9)


def test_the_band_is_convex_and_falls_from_one_to_zero() -> None:
    curves = drawn(TRUTHS["gaussian"], 5_000, 0.01, np.random.default_rng(2))
    corners = curves.hull
    assert (corners[0], corners[-1]) == ((0.0, 1.0), (1.0, 0.0))
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(corners)]
    assert all(a < b < 0 for a, b in pairwise(slopes))


def test_nothing_counted_says_nothing() -> None:
    for levels in ((), (Counts(0, 10, 10, 10),), (Counts(10, 10, 10, 10),)):
        curves = Curves(levels, 0.01)
        assert np.all(curves.delta_lower(EPSILONS) == 0)
        assert np.all(curves.renyi_lower(ORDERS) == 0)
        assert curves.trade_off_upper(ALPHAS) == pytest.approx(1 - ALPHAS)


def test_outputs_that_only_one_input_has_show_at_every_epsilon() -> None:
    curves = Curves((Counts(100, 1000, 0, 1000),), 0.01)
    assert curves.delta_lower(1.0) > 0.05
    assert 2.0 < curves.renyi_lower(math.inf) < math.log(0.1 / 0.001)


@together(
    ("call", "message"),
    [
        (lambda curves: curves.delta_lower([-0.1]), "epsilons must be >= 0"),
        (lambda curves: curves.delta_lower(math.nan), "epsilons must be >= 0"),
        (lambda curves: curves.renyi_lower([0.5]), "orders must be >= 1"),
        (lambda curves: curves.trade_off_upper([1.1]), r"alphas must lie in \[0, 1\]"),
        (lambda curves: Curves(curves.levels, 0.0), "error must be in"),
        (lambda curves: Curves((*curves.levels, Counts(1, 5, 1, 5)), 0.1), "levels must be counts of the same outputs"),
        (lambda curves: Curves((Counts(6, 10, 1, 10), Counts(6, 10, 1, 10)), 0.1), "levels must be of disjoint cells"),
    ],
)
def test_bad_arguments_are_named(call: Callable, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(Curves((Counts(5, 10, 1, 10),), 0.1))


def test_shapes_follow_the_argument() -> None:
    curves = drawn(TRUTHS["k-rr"], 1_000, 0.01, np.random.default_rng(2))
    assert np.shape(curves.delta_lower(1.0)) == np.shape(curves.renyi_lower(2.0)) == ()
    assert np.shape(curves.trade_off_upper(0.5)) == ()
    assert curves.delta_lower(np.zeros((2, 3))).shape == (2, 3)
    assert curves.renyi_lower(np.full((2, 3), 2.0)).shape == (2, 3)


def test_the_json_has_the_counts_and_the_bounds() -> None:
    curves = drawn(TRUTHS["k-rr"], 1_000, 0.01, np.random.default_rng(2))
    data = json.loads(json.dumps(curves.to_dict(), allow_nan=False))
    again = Curves(tuple(Counts(x, 1_000, y, 1_000) for x, y in data["levels"]), data["error"])
    assert again == curves
    assert data["orders"][-1] == "inf"
    assert data["delta_lower"] == pytest.approx(list(curves.delta_lower(data["epsilons"])))


def vectors(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    noise = rng.laplace(size=(n, 4))
    noise[:, 2] += x
    return noise


def mixed(x: int, n: int, rng: np.random.Generator) -> list[float | None]:
    """Reals, an atom at 7, and None."""
    kind = rng.random(n)
    return [
        None if k < 0.1 * (1 + x) else 7.0 if k < 0.5 else x + z for k, z in zip(kind, rng.normal(size=n), strict=True)
    ]


@together("sampler", [laplace, letters, vectors, mixed])
def test_events_are_disjoint_ordered_and_read_back_from_json(sampler: Callable) -> None:
    program = Program(sampler, 1)
    first, second = (Sample(*(program.many(x, 4_000, (0, x, part)) for part in range(3))) for x in (0, 1))
    choice = choose_score(first, second, Judge(10_000, 0.01, 0.0), np.random.default_rng(0))
    events = level_events(first, second, choice, 6)
    assert 1 <= len(events) <= 5
    fresh = [program.many(x, 20_000, (1, x)) for x in ((1, 0) if choice.swapped else (0, 1))]
    masks = [[event.contains(outputs) for event in events] for outputs in fresh]
    assert all(np.sum(mask, axis=0).max() <= 1 for mask in masks)
    ratios = [(x.sum() + 0.5) / (y.sum() + 0.5) for x, y in zip(*masks, strict=True)]
    assert ratios[0] > 1.3 * ratios[-1]
    for event, mask in zip(events, masks[0], strict=True):
        read = Event.from_dict(json.loads(json.dumps(event.to_dict())))
        assert np.array_equal(read.contains(fresh[0]), mask)


def test_the_order_follows_the_direction_of_the_choice() -> None:
    """Half-lines upwards are likelier on the second input; both directions are tried, whatever comes first."""
    program = Program(laplace, 1)
    samples = [Sample(*(program.many(x, 4_000, (0, x, part)) for part in range(3))) for x in (0, 1)]
    fresh = [program.many(x, 20_000, (1, x)) for x in (0, 1)]
    event = Event(((0.5, math.inf),))
    for swapped in (False, True):
        events = level_events(*samples, Choice(event, swapped, 0.0, Counts(1, 2, 1, 2)))
        one, two = (events[0].count(outputs) for outputs in (fresh[::-1] if swapped else fresh))
        assert one > 2 * two


def test_constant_outputs_have_no_events() -> None:
    one = Outputs(np.zeros(50))
    sample = Sample(one, one, one)
    assert level_events(sample, sample, Choice(Event(), False, 0.0, Counts(1, 2, 1, 2))) == ()


def test_counts_below_two_are_refused() -> None:
    one = Outputs(np.zeros(50))
    sample = Sample(one, one, one)
    with pytest.raises(ValueError, match="count must be a whole number >= 2, got 1"):
        level_events(sample, sample, Choice(Event(), False, 0.0, Counts(1, 2, 1, 2)), 1)
