"""Items that promise a guarantee: their sums by enumeration and by theorem, and mechanisms that keep the promise."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from ldp_audit.accounting import (
    ZCDP,
    Approximate,
    BoundedRange,
    GaussianDP,
    Pure,
    Renyi,
    calibrate,
    compose,
    privacy_loss,
    shuffle,
    subsample,
)
from ldp_audit.mechanisms import (
    ExponentialMechanism,
    FiniteChannel,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    Piecewise,
    RandomizedResponse,
    UnaryEncoding,
)
from tests.together import together


def enumerated(epsilon: float, delta: float, times: int, level: float) -> float:
    """delta(level) of the worst (epsilon, delta) mechanism used so often, over all sequences of its four outputs."""
    t = math.exp(epsilon)
    first = np.array([delta, (1 - delta) * t / (1 + t), (1 - delta) / (1 + t), 0.0])
    second = first[[3, 2, 1, 0]]
    total = 0.0
    for outputs in itertools.product(range(4), repeat=times):
        p, q = (math.prod(law[list(outputs)]) for law in (first, second))
        total += max(p - math.exp(level) * q, 0.0)
    return total


@together(("epsilon", "delta", "times"), [(0.5, 0.0, 3), (0.5, 0.01, 4), (2.0, 0.3, 2), (0.0, 0.1, 3), (1.0, 1.0, 2)])
def test_a_sum_of_promises_is_that_of_the_worst_mechanism(epsilon: float, delta: float, times: int) -> None:
    """Enumeration of all outputs (Kairouz, Oh, Viswanath's extremal mechanism)."""
    spent = compose([(Approximate(epsilon, delta), times)])
    for level in (0.0, 0.3, 1.0):
        low, high = spent.delta_bounds(level)
        exact = enumerated(epsilon, delta, times, level)
        assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)
        assert high == pytest.approx(exact, rel=1e-6, abs=1e-12)


@together(
    ("promise", "mechanism"),
    [
        (Pure(1.0), RandomizedResponse(1.0, 5)),
        (Pure(1.0), Laplace(1.0)),
        (Pure(1.0), Piecewise(1.0)),
        (Pure(1.0), UnaryEncoding(1.0, 4)),
        (Pure(1.0), PermuteAndFlip(1.0, 3)),
        (Approximate(1.0, float(Gaussian(1.2).delta(1.0))), Gaussian(1.2)),
        (Approximate(math.log(3), 0.25), FiniteChannel([["3/4", "1/4", 0], ["1/4", "1/2", "1/4"]])),
        (GaussianDP(1 / 1.3), Gaussian(1.3)),
        (BoundedRange(1.0), ExponentialMechanism(1.0, 6)),
    ],
)
def test_no_mechanism_that_keeps_a_promise_has_more(promise: Any, mechanism: Any) -> None:
    """One and seven uses: the certified lower bound of the mechanism is at most the promise's upper bound."""
    for times in (1, 7):
        kept, worst = compose([(mechanism, times)]), compose([(promise, times)])
        for level in (0.0, 0.5, 2.0, 5.0):
            assert kept.delta_bounds(level)[0] <= worst.delta_bounds(level)[1] * (1 + 1e-9) + 1e-15


def test_bounded_range_is_less_than_its_epsilon_promises() -> None:
    """Fifty selections of .2: far below fifty times randomised response."""
    ranged, pure = (compose([(one, 50)]).epsilon(1e-6) for one in (BoundedRange(0.2), Pure(0.2)))
    assert ranged < 0.6 * pure


def test_a_gaussian_promise_has_the_closed_form() -> None:
    spent = compose([(GaussianDP(0.5), 16)])  # mu = 2
    for level in (0.0, 1.0, 4.0):
        exact = ndtr(-level / 2 + 1) - math.exp(level) * ndtr(-level / 2 - 1)
        assert spent.delta_bounds(level) == pytest.approx((exact, exact), rel=1e-9)


def moments(divergence: Any, log_delta: float) -> float:
    """Canonne, Kamath, Steinke 2020, Proposition 12, over half a million orders."""
    order = 1 + np.logspace(-5, 5, 500_001)
    return float(np.min(divergence(order) + np.log1p(-1 / order) - (log_delta + np.log(order)) / (order - 1)))


@together(("rho", "times"), [(0.5, 1), (0.5, 4), (0.01, 50), (2.0, 3), (1e-4, 1), (1e-4, 7)])
def test_concentrated_promises_add_up_and_have_the_moment_bound(rho: float, times: int) -> None:
    """Never below the best order's, and at most a ten-thousandth above; above the Gaussian that keeps the promise."""
    spent, noise = compose([(ZCDP(rho), times)]), compose([(Gaussian(math.sqrt(0.5 / rho)), times)])
    for delta in (1e-3, 1e-6, 1e-12):
        best = moments(lambda order: rho * times * order, math.log(delta))
        assert best * (1 - 1e-6) <= spent.epsilon(delta) <= best * (1 + 3e-4)
        assert noise.epsilon_bounds(delta)[0] <= spent.epsilon(delta)
    for level in (0.0, 0.1, 1.0):
        assert noise.delta_bounds(level)[0] <= spent.delta(level)
        assert spent.delta_bounds(level)[0] == 0.0  # nothing may be behind a promise


def divergence_of_response(epsilon: float, order: float) -> float:
    p = 1 / (1 + math.exp(-epsilon))
    return math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)


@together("times", [1, 5])
def test_divergences_at_some_orders_bound_every_mechanism_that_has_them(times: int) -> None:
    """Those of randomised response, exactly; between the orders a chord of (a - 1) D_a, beyond them nothing."""
    known = {order: divergence_of_response(1.0, order) for order in (1.5, 2.0, 8.0, 64.0)}
    promise, kept = Renyi(known), compose([(RandomizedResponse(1.0), times)])
    spent = compose([(promise, times)])
    for level in (0.0, 0.3, 1.0, 3.0):
        assert kept.delta_bounds(level)[0] <= spent.delta(level) * (1 + 1e-12)
    (loss,) = promise.directions
    for order in (1.0, 1.2, 1.5, 1.7, 5.0, 40.0, 64.0):
        bound = loss.divergence(order)[0]
        assert bound >= divergence_of_response(1.0, max(order, 1 + 1e-9)) * (1 - 1e-12)
    assert loss.divergence(65.0)[0] == math.inf
    at_orders = min(
        times * known[order] + math.log1p(-1 / order) - (math.log(1e-6) + math.log(order)) / (order - 1)
        for order in known
    )
    assert spent.epsilon(1e-6) <= at_orders * 1.05


def test_promises_of_nothing_spend_nothing_and_mixtures_are_bounded_by_both() -> None:
    assert ZCDP(0.0).epsilon(0.0) == 0.0
    mixed = [(ZCDP(0.5), 1), (Pure(0.1), 10), (Gaussian(1.0), 1)]
    spent = compose(mixed)
    alone = compose([(Gaussian(1.0), 2), (Pure(0.1), 10)])
    assert alone.epsilon_bounds(1e-6)[0] <= spent.epsilon(1e-6) <= 1.2 * alone.epsilon(1e-6)
    assert "what is promised is rho = 0.5" in spent.assumptions


def test_shuffled_promises_are_bounded_for_every_report_and_not_for_the_best_alone() -> None:
    low, high = shuffle(Pure(1.0), n=10_000).epsilon_bounds(1e-6)
    assert low == pytest.approx(0.0357, abs=2e-4)
    assert high == pytest.approx(0.0530, abs=2e-4)
    for report in (RandomizedResponse(1.0), RandomizedResponse(1.0, 20), UnaryEncoding(1.0, 8)):
        assert shuffle(report, n=10_000).epsilon_bounds(1e-6)[0] <= high


def test_promises_are_items_of_everything_else() -> None:
    """Mixed with mechanisms, sampled, calibrated; what is promised, and between which neighbours, is said."""
    mixed = compose([(Pure(0.1, adjacency="add/remove"), 10), (Gaussian(2.0), 1), (Approximate(0.1, 1e-8), 3)])
    assert mixed.adjacency == "add/remove"
    assert "what is promised is epsilon = 0.1" in mixed.assumptions
    assert "what is promised is epsilon = 0.1 at delta = 1e-08" in mixed.assumptions
    sampled = subsample(Pure(1.0, adjacency="add/remove"), rate=0.1)
    assert sampled.supremum() == pytest.approx(math.log1p(0.1 * math.expm1(1.0)), rel=1e-9)
    found = calibrate(lambda e: compose([(Pure(e), 20)]), epsilon=1.0, delta=1e-6, low=1e-3, high=1.0)
    assert compose([(Pure(found.value), 20)]).epsilon(1e-6) <= 1.0
    assert Pure(0.0).epsilon(0.0) == 0
    assert Pure(math.inf).epsilon(0.5) == math.inf
    assert Approximate(0.5, 1.0).delta(50.0) == 1.0
    assert Approximate(0.5, 0.0).epsilon(0.0) == pytest.approx(0.5)


@together(
    ("build", "message"),
    [
        (
            lambda: compose([(0.1, 10)]),
            r"got the number 0.1; a promised epsilon is Pure\(0.1\), from ldp_audit.accounting",
        ),
        (lambda: privacy_loss(1), r"a promised epsilon is Pure\(1\)"),
        (lambda: shuffle(1.0, n=10), r"got the number|must have exact_epsilon"),
        (lambda: Pure(-1.0), r"epsilon must be a number >= 0, got -1.0"),
        (lambda: Pure(math.nan), r"epsilon must be a number >= 0, got nan"),
        (lambda: Approximate(1.0, 1.5), r"delta must lie in \[0, 1\], got 1.5"),
        (lambda: GaussianDP(0.0), r"mu must be a finite number > 0, got 0.0"),
        (lambda: ZCDP(math.inf), r"rho must be a finite number >= 0, got inf"),
        (lambda: ZCDP(-0.1), r"rho must be a finite number >= 0, got -0.1"),
        (lambda: Renyi({}), r"divergences must be finite numbers >= 0 by finite orders > 1, got \{\}"),
        (lambda: Renyi({1.0: 0.5}), r"divergences must be finite numbers >= 0 by finite orders > 1"),
        (lambda: Renyi({2.0: math.nan}), r"divergences must be finite numbers >= 0 by finite orders > 1"),
        (lambda: Renyi([2.0]), r"divergences must be numbers by order"),  # type: ignore[arg-type]
        (lambda: BoundedRange(math.inf), r"epsilon must be a finite number > 0, got inf"),
        (lambda: Pure(1.0, adjacency="swap"), r"adjacency must be add/remove or replace, got 'swap'"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_named(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
