"""The membership attack on counts that were really observed: reports of the shipped mechanism, and bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit import TwoPoint
from ldp_audit.accounting.shuffling.anonymous_counts import anonymous_count
from ldp_audit.papers.ldp_fl.attacks.linkage_report import linkage_report
from ldp_audit.papers.ldp_fl.attacks.membership import score
from ldp_audit.papers.ldp_fl.attacks.membership_limit import advantage
from tests.frequency import assert_frequency
from tests.together import together

N, D, ROUNDS, EPSILON = 10, 20, 3, 1.0


def observed(weights: np.ndarray, runs: int, seed: int, epsilon: float = EPSILON) -> np.ndarray:
    """Counts of upper reports, shape (runs, weights x rounds), of clients with these weights, shape (n, d)."""
    rng = np.random.default_rng(seed)
    mechanism = TwoPoint(epsilon)
    reports = mechanism.sample(np.broadcast_to(weights, (runs, ROUNDS, *weights.shape)), rng=rng)
    return np.count_nonzero(reports > 0, axis=2).reshape(runs, -1)


def test_reports_of_the_shipped_mechanism_give_the_advantage_of_the_theory() -> None:
    """1500 runs each; a sign, a wrong n or a lost round moves a rate by 0.1 and more, found 999 times in 1000."""
    rng = np.random.default_rng(7)
    ends = rng.choice([-1.0, 1.0], D)  # what the server suspects of the client, weight by weight
    others = np.zeros((N - 1, D))
    theory = advantage(anonymous_count(N, EPSILON, others="center"), D * ROUNDS)
    rates = []
    for own, seed in ((ends, 1), (-ends, 2)):
        counts = observed(np.vstack([own, others]), 1500, seed)
        said = score(counts, N, EPSILON, client=np.tile(ends, ROUNDS), instead=np.tile(-ends, ROUNDS)) > 0
        rates.append(int(np.count_nonzero(said)))
    half = theory.value / 2  # by symmetry; the limit's own error is far below what 1500 runs show
    assert_frequency(rates[0], 1500, 0.5 + half)
    assert_frequency(rates[1], 1500, 0.5 - half)
    with pytest.raises(AssertionError):
        assert_frequency(rates[0], 1500, 0.5)


def test_knowing_the_other_clients_helps() -> None:
    """The global model says where the others are: a score that uses it gains, one that errs about it loses."""
    rng = np.random.default_rng(3)
    center = rng.uniform(-1, 1, D)
    gains = []
    for guess in (center, -center):
        means = []
        for own, seed in ((np.ones(D), 4), (-np.ones(D), 5)):
            counts = observed(np.vstack([own, np.tile(center, (N - 1, 1))]), 400, seed, 4.0)
            scores = score(counts, N, 4.0, others=np.tile(guess, ROUNDS))
            means.append((scores.mean(), scores.std()))
        gains.append((means[0][0] - means[1][0]) / means[0][1])
    assert gains[0] > 1.05 * gains[1]


def test_the_score_is_the_sum_of_the_losses() -> None:
    losses = anonymous_count(5, 2.0, others="center").loss
    assert score([[0, 3, 5]], 5, 2.0) == pytest.approx([losses[0] + losses[3] + losses[5]])
    assert score([2, 2], 5, 2.0, instead=None, others=-1.0) == pytest.approx(
        2 * anonymous_count(5, 2.0, against="absent").loss[2]
    )
    assert score([1, 4], 5, 2.0, client=0.3, instead=0.3) == 0


def test_the_mirrored_hypothesis_has_the_mirrored_score() -> None:
    counts = np.array([0, 1, 4, 6])
    assert score(counts, 6, 1.5, client=-1.0, instead=1.0) == pytest.approx(score(6 - counts, 6, 1.5))


@together(
    ("counts", "arguments", "message"),
    [
        ([1, 7], {}, r"counts must be whole numbers in 0..6, got"),
        ([1, -1], {}, r"counts must be whole numbers in 0..6, got"),
        ([1, 2.5], {}, r"counts must be whole numbers in 0..6, got"),
        ([], {}, r"counts must have shape \(..., m\)"),
        (3, {}, r"counts must have shape \(..., m\)"),
        ([1, 2], {"client": 1.5}, r"client must lie in \[-1.0, 1.0\], got"),
        ([1, 2], {"others": math.nan}, r"others must lie in \[-1.0, 1.0\], got"),
        ([1, 2], {"client": [1.0, 1.0, 1.0]}, "broadcast"),
        ([1, 2], {"n": 0}, "n must be a whole number >= 1, got 0"),
        ([1, 2], {"epsilon": -1.0}, "epsilon must be a number >= 0, got -1.0"),
    ],
)
def test_bad_input_is_named(counts: object, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score(counts, **{"n": 6, "epsilon": 1.0, **arguments})  # type: ignore[arg-type]


def test_the_report_has_what_is_promised_and_what_is_learned() -> None:
    report = linkage_report(100, 21_840, 10, 1.0, trials=200)
    worst, friendliest = report.views
    assert report.promised_advantage == pytest.approx(math.tanh(0.5))
    assert report.pure_epsilon == 218_400
    assert (worst.weights_needed, friendliest.weights_needed) == (244, 311)
    assert (worst.weights_surely, friendliest.weights_surely) == (338, 431)
    assert worst.bounds is not None
    assert worst.bounds[0] > 1 - 1e-15
    assert worst.central_epsilon > friendliest.central_epsilon > 1000
    assert worst.clients_needed > friendliest.clients_needed > 10**6
    assert all(view.simulated is not None and view.simulated.low > 0.9 for view in report.views)
    assert all(str(number) in report.describe() for number in (244, 311, 21_840, 218_400))


def test_the_promise_holds_where_the_report_says_that_it_would() -> None:
    """Break-even clients, put in again: the central epsilon is the epsilon of one report."""
    needed = linkage_report(100, 1000, 10, 1.0).views[0].clients_needed
    again = linkage_report(int(needed), 1000, 10, 1.0).views[0]
    assert again.central_epsilon == pytest.approx(1.0, rel=0.01)
    assert again.clients_needed == needed


@together("epsilon", [0.0, 1e-9, 50.0, math.inf])
@together(("n", "d"), [(1, 1), (2, 10**6), (10**9, 3)])
def test_the_ends_give_a_report_too(n: int, d: int, epsilon: float) -> None:
    report = linkage_report(n, d, 1, epsilon)
    assert "promised" in report.describe()
    for view in report.views:
        assert 0 <= view.advantage <= 1
        assert 0 <= view.central_epsilon <= report.pure_epsilon
        assert view.clients_needed >= 1


@together(
    ("arguments", "message"),
    [
        ({"d": 0}, "d must be a whole number >= 1, got 0"),
        ({"trials": -1}, "trials must be a whole number >= 0, got -1"),
        ({"delta": 1.0}, r"delta must be in \[0, 1\), got 1.0"),
        ({"epsilon": math.nan}, "epsilon must be a number >= 0, got nan"),
        ({"window": 3.0}, "window and offset must be given together, got window=3.0, offset=None"),
    ],
)
def test_bad_input_of_the_report_is_named(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        linkage_report(**{"n": 3, "d": 2, "rounds": 1, "epsilon": 1.0, **arguments})
