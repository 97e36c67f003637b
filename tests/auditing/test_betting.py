"""Betting: what is won under a true claim, how soon a false one is found, and the confidence sequence."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from ldp_audit import plan
from ldp_audit.auditing.betting import Capital, epsilon_grid, nearest_on_edge, next_batch, stopping_times
from ldp_audit.auditing.bounds import lower_limit
from tests.frequency import FALSE_ALARM, assert_at_most
from tests.together import together

CLAIMS = [(0.0, 0.0), (0.1, 0.0), (1.0, 0.0), (4.0, 0.0), (1.0, 0.1), (0.0, 0.3), (3.0, 1e-3)]


def exact_mean(p: float, q: float, epsilon: float, delta: float, *, sizes: tuple[int, int] = (4, 5)) -> float:
    """The mean of the capital after two batches with a new event before the second, over all counts that can come."""
    first, second = sizes
    axes = np.meshgrid(*(np.arange(size + 1) for size in (first, first, second, second)), indexing="ij")
    x, y, x2, y2 = (axis.ravel() for axis in axes)
    weight = math.prod(
        stats.binom.pmf(hits, size, chance)
        for hits, size, chance in ((x, first, p), (y, first, q), (x2, second, p), (y2, second, q))
    )
    capital = Capital(np.array([epsilon]), 0.05, delta, (len(x),))
    capital.begin_event(2, 3, 1, 3)
    capital.update(x, y, first)
    capital.begin_event(x + 2, first + 3, y + 1, first + 3)
    capital.update(x2, y2, second)
    return float(np.sum(weight * np.exp(capital.log_capital[:, 0])))


@together(("epsilon", "delta"), CLAIMS)
@together("q_share", [1e-3, 0.1, 0.5, 0.9, 1.0])
def test_the_mean_capital_is_at_most_one_where_the_claim_holds(epsilon: float, delta: float, q_share: float) -> None:
    """Exact, over every outcome: on the claim's edge, within it, and at p = 1. Catches a bet that wins on average."""
    q = q_share * (1 - delta) * math.exp(-epsilon)
    edge = min(1.0, math.exp(epsilon) * q + delta)
    beyond = min(1.0, 2 * q + 0.1)
    for p, other in ((edge, q), (0.7 * edge, q), (1.0, max(beyond, (1 - delta) * math.exp(-epsilon)))):
        assert exact_mean(p, other, epsilon, delta) <= 1 + 1e-9


@together(("epsilon", "delta"), CLAIMS)
def test_the_mean_capital_exceeds_one_where_the_claim_is_broken(epsilon: float, delta: float) -> None:
    """The check above can fail."""
    q = 0.3 * (1 - delta) * math.exp(-epsilon)
    assert exact_mean(min(1.0, 2.5 * math.exp(epsilon) * q + delta), 0.1 * q, epsilon, delta) > 1.02


@together(("epsilon", "delta"), [(0.1, 0.0), (1.0, 0.0), (4.0, 0.0), (1.0, 0.1), (0.0, 0.0)])
@together("known", [0, 500])
def test_a_true_claim_is_rejected_at_any_time_no_more_often_than_allowed(
    epsilon: float, delta: float, known: int
) -> None:
    """Ville's inequality, the most unkind stopping rule: at any look of 100,000 pairs. Fails once in 10**6 if sound."""
    q = 1 / (1 + math.exp(epsilon)) * (1 - delta)
    p = math.exp(epsilon) * q + delta
    times = stopping_times(
        p, q, epsilon, delta=delta, error=0.2, pairs=100_000, paths=1000, rng=np.random.default_rng(5), known=known
    )
    assert_at_most(int(np.isfinite(times).sum()), len(times), 0.2)


@together(("claim", "truth", "probability"), [(1.0, 1.1, 0.5), (1.0, 2.5, 0.12), (4.0, 4.4, 0.5), (0.0, 0.5, 0.6)])
@together("error", [0.05, 0.001])
def test_a_violation_is_found_with_about_the_samples_of_a_plan(
    claim: float, truth: float, probability: float, error: float
) -> None:
    """Half the runs within the fixed plan, most within twice as many. Rates with their exact limits at 10**-6."""
    planned = plan(claim, truth, 1 - error, 0.95, probability=probability)
    q = probability * math.exp(-truth)
    times = stopping_times(
        probability,
        q,
        claim,
        error=error,
        pairs=2 * planned,
        paths=1000,
        rng=np.random.default_rng(6),
        known=1000,
    )
    assert lower_limit(int((times <= planned).sum()), 1000, FALSE_ALARM) > 0.5
    assert lower_limit(int(np.isfinite(times).sum()), 1000, FALSE_ALARM) > 0.85


def bounds_of_a_run(p: float, q: float, capital: Capital, pairs: int, rng: np.random.Generator) -> list[float]:
    bounds, spent = [], 0
    while spent < pairs:
        size = min(pairs - spent, next_batch(spent))
        capital.update(rng.binomial(size, p), rng.binomial(size, q), size)
        spent += size
        bounds.append(float(capital.epsilon_lower))
    return bounds


@together(("epsilon", "slack"), [(0.1, 0.02), (1.0, 0.02), (4.0, 0.06), (9.0, 0.6)])
def test_the_confidence_sequence_never_falls_and_comes_close(epsilon: float, slack: float) -> None:
    """Seeded, error 10**-6: above the truth once in 10**6 runs."""
    q = 1 / (1 + math.exp(epsilon))
    capital = Capital(epsilon_grid(), 1e-6)
    bounds = bounds_of_a_run(1 - q, q, capital, 1_000_000, np.random.default_rng(3))
    assert all(one <= two for one, two in pairwise(bounds))
    assert bounds[0] < bounds[-1]
    assert epsilon - slack <= bounds[-1] <= epsilon


def test_large_epsilons_have_no_cap() -> None:
    """An event that never happens on x' shows ever more."""
    capital = Capital(epsilon_grid(), 0.001)
    bounds = bounds_of_a_run(0.9, 0.0, capital, 10**9, np.random.default_rng(4))
    assert bounds[-1] > 15


def test_a_simulated_run_is_the_single_run_on_its_counts() -> None:
    counts = [(70, 20, 100), (900, 310, 1200), (40, 60, 128)]
    single = Capital(np.array([0.5, 1.0]), 0.01)
    many = Capital(np.array([0.5, 1.0]), 0.01, paths=(2,))
    for hits, other, size in counts:
        single.update(hits, other, size)
        many.update(np.array([hits, 1]), np.array([other, 1]), size)
    np.testing.assert_allclose(many.log_capital[0], single.log_capital, rtol=1e-12)
    assert (many.rejected[0] == single.rejected).all()


def test_nothing_is_bet_on_a_rejected_epsilon_or_won_by_what_steers() -> None:
    capital = Capital(np.array([0.0]), 0.05)
    capital.begin_event(1000, 1000, 0, 1000)
    assert capital.log_capital[0] == pytest.approx(0.0, abs=1e-12)
    capital.update(128, 0, 128)
    assert capital.rejected.all()
    won = capital.log_capital.copy()
    capital.update(0, 128, 128)
    assert (capital.log_capital == won).all()
    assert capital.epsilon_lower == 0.0


def test_a_new_event_keeps_the_capital_and_revives_what_was_lost() -> None:
    """The reserve: halved with each new event, so that all of it together is never spent twice."""
    capital = Capital(np.array([1.0]), 0.001)
    capital.begin_event(500, 1000, 20, 1000)
    capital.update(100, 400, 1000)
    lost = capital.log_capital.copy()
    assert lost[0] < math.log(0.9)
    capital.begin_event(500, 1000, 20, 1000)
    np.testing.assert_allclose(capital.log_capital, lost, rtol=1e-9)
    capital.update(500, 20, 1000)
    assert capital.rejected.all()


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0, 8.0])
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize(("p", "q"), [(0.6, 0.2), (0.1, 0.001), (0.9, 0.9), (0.2, 0.7)])
def test_the_point_on_the_edge_is_the_nearest(epsilon: float, delta: float, p: float, q: float) -> None:
    """Against a search over a fine grid of the edge."""

    def divergence(p0: Any, q0: Any) -> Any:
        return sum(special.rel_entr(a, b) + special.rel_entr(1 - a, 1 - b) for a, b in ((p, p0), (q, q0)))

    p0, q0 = nearest_on_edge(np.array(p), np.array(q), np.array(epsilon), delta)
    assert p0 == pytest.approx(math.exp(epsilon) * q0 + delta, rel=1e-12)
    gains = (1 - delta) * np.geomspace(1e-9, 1 - 1e-9, 200_000)
    assert divergence(p0, q0) <= divergence(gains + delta, gains * math.exp(-epsilon)).min() + 1e-9


@together("claim", [0.0, 1e-5, 0.1, 1.0, math.pi, 50.0])
def test_the_grid_holds_the_claim_and_the_next_number(claim: float) -> None:
    grid = epsilon_grid(claim)
    assert claim in grid
    assert math.nextafter(claim, math.inf) in grid
    assert grid[0] == 0
    assert grid[-1] >= 30 - 1e-9
    Capital(grid, 0.05)  # accepts it: ascending, finite


@together(
    ("change", "message"),
    [
        ({"epsilons": np.array([1.0, 0.5])}, "epsilons must be an ascending list"),
        ({"epsilons": np.array([-1.0, 0.5])}, "epsilons must be finite numbers >= 0"),
        ({"error": 0.0}, r"error must be in \(0, 1\), got 0.0"),
        ({"delta": 1.0}, r"delta must be in \[0, 1\), got 1.0"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Capital(**{"epsilons": np.array([1.0]), "error": 0.1, "delta": 0.0, **change})


def test_counts_beyond_the_batch_are_refused() -> None:
    with pytest.raises(ValueError, match=r"other_hits must be in 0 \.\. 10"):
        Capital(np.array([1.0]), 0.1).update(3, 11, 10)
