"""Bounds from recorded scores and from guesses: never above the truth more often than stated, and near it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from math import comb

import numpy as np
import pytest
import torch
from numpy.random import Generator
from scipy.optimize import linprog
from scipy.special import expit, logit
from scipy.stats import binom, norm

from ldp_audit.auditing import audit_guesses, audit_scores
from tests.frequency import assert_at_most
from tests.together import together

Pair = Callable[[int, Generator], tuple[np.ndarray, np.ndarray]]


def responses(epsilon: float) -> Pair:
    """Randomised response on the membership: two tied scores, of this pure epsilon."""

    def draw(n: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        keep = expit(epsilon)
        return (rng.random(n) < keep).astype(float), (rng.random(n) < 1 - keep).astype(float)

    return draw


def least_of(says: Callable[[int], bool], canaries: int) -> int:
    """The least number of right guesses of which this is said, as it then is of all above; one more, if of none."""
    few, many = 0, canaries + 1
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if says(middle) else (middle, many)
    return many


def laplace(epsilon: float) -> Pair:
    return lambda n, rng: (rng.laplace(epsilon, 1, n), rng.laplace(0, 1, n))


@together(
    ("draw", "epsilon", "n"),
    [(responses(1.0), 1.0, 20), (responses(1.0), 1.0, 400), (responses(0.0), 0.0, 400), (laplace(0.5), 0.5, 400)],
)
def test_bounds_from_scores_exceed_the_truth_no_more_often_than_stated(draw: Pair, epsilon: float, n: int) -> None:
    """Catches an event counted on the scores that chose it, and an error that is spent twice."""
    runs, error = 60, 0.1
    above = 0
    for seed in range(runs):
        found = audit_scores(*draw(n, np.random.default_rng(seed)), epsilon, confidence=1 - error, seed=seed)
        above += found.epsilon_lower > epsilon or (found.delta_lower or 0.0) > 0
    assert_at_most(above, runs, error)


@together(
    ("draw", "least"),
    [
        (responses(2.0), 1.7),
        (lambda n, rng: responses(2.0)(n, rng)[::-1], 1.7),  # the other direction
        (lambda n, rng: (np.where(rng.random(n) < 0.3, math.inf, rng.random(n)), rng.random(n)), 4.0),
        (lambda n, rng: (-np.abs(rng.normal(0, 3, n)), rng.normal(0, 0.1, n)), 3.0),  # unlikely values on both sides
    ],
)
def test_scores_that_tell_members_are_seen(draw: Pair, least: float) -> None:
    """Catches a search that misses a direction, an atom, an infinite score, or sides of unequal size."""
    members, others = draw(5000, np.random.default_rng(1))
    for found in (audit_scores(members, others, 1.0), audit_scores(members[:4000], others, 1.0)):
        assert found.violated
        assert found.epsilon_lower > least
        json.dumps(found.to_dict(), allow_nan=False)
        assert "assumed: the scores are independent" in found.describe()


@together("n", [1, 2, 5])
def test_few_scores_show_nothing(n: int) -> None:
    """Catches an error where there is nothing to choose from, and a verdict that pretends power."""
    found = audit_scores(np.ones(n), np.zeros(3 * n), 0.0)
    assert (found.epsilon_lower, found.verdict) == (0.0, "inconclusive")
    assert math.isinf(found.detectable_epsilon)


@together(
    ("arguments", "says"),
    [
        (([1.0, math.nan], [0.0]), "members must not have NaN, got NaN first at place 1"),
        (([[1.0], [2.0]], [0.0]), r"members must be one row of real numbers, one at least, got shape \(2, 1\)"),
        (([1.0], []), r"non_members must be one row of real numbers, one at least, got shape \(0,\)"),
        ((["a"], [0.0]), "members must be one row of real numbers, one at least, got shape"),
        (([1.0], [[1.0], [1.0, 2.0]]), "non_members must be a number, or an array or nested lists of one shape"),
        (([1.0], [1j]), "non_members must be one row of real numbers"),
        (([1.0], [0.0], -1.0), "claimed_epsilon must be a number >= 0"),
    ],
)
def test_wrong_scores_are_named(arguments: tuple, says: str) -> None:
    """Catches silent acceptance."""
    with pytest.raises(ValueError, match=says):
        audit_scores(*arguments)


@together("split", [0.0, 1.0, True, math.nan])
def test_a_wrong_split_is_named(split: float) -> None:
    """Catches silent acceptance."""
    with pytest.raises(ValueError, match=r"split must be in \(0, 1\)"):
        audit_scores([1.0], [0.0], split=split)


@together(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (4.0, 0.0), (1.0, 1e-3), (0.5, 0.02)])
@together("canaries", [30, 1000])
def test_bounds_from_guesses_exceed_the_truth_no_more_often_than_stated(
    epsilon: float, delta: float, canaries: int
) -> None:
    """Randomised response of each bit, which is told with probability delta: an exact (epsilon, delta)."""
    error = 0.05

    def exceeds(right: int) -> bool:
        found = audit_guesses(right, canaries, epsilon, delta, canaries=canaries, confidence=1 - error)
        return found.epsilon_lower > epsilon or (found.delta_lower or 0.0) > delta

    least = least_of(exceeds, canaries)
    assert binom.sf(least - 1, canaries, delta + (1 - delta) * expit(epsilon)) <= error


@together("canaries", [1000, 10_000, 100_000])
def test_the_bound_of_randomised_response_is_as_near_as_its_deviation(canaries: int) -> None:
    """Catches a bound that is valid and too low: of pure epsilon it is that of one binomial proportion."""
    right, deviation = canaries * expit(1.0), math.sqrt(canaries * expit(1.0) * expit(-1.0))
    found = audit_guesses(round(right), canaries, confidence=0.95)
    assert found.epsilon_lower == pytest.approx(logit((right - norm.isf(0.05) * deviation) / canaries), abs=0.01)
    with_delta = audit_guesses(round(right), canaries, claimed_delta=1e-6, canaries=canaries, confidence=0.95)
    assert found.epsilon_lower - 0.001 < with_delta.epsilon_lower < found.epsilon_lower


def worst_case(correct: int, guesses: int, canaries: int, *claims: tuple[float, float]) -> float:
    """The greatest P(C >= correct) of any game that is (epsilon, delta)-private for each of these pairs.

    Averaged over the signs and places of the canaries, a game is told by the law w of C, and a single report with c
    right has probability a_c = w_c / comb(guesses, c), but for a common factor. Two coins that differ in a guessed
    canary turn c right into c - 1 or c + 1; one that was not guessed changes nothing.
    """
    r, size = guesses, guesses + 1 + 2 * guesses * len(claims)
    rows, limits = [], []
    for which, (epsilon, delta) in enumerate(claims):
        first, slope = r + 1 + 2 * r * which, math.exp(epsilon)
        for place, (c, other) in enumerate([(c, c - 1) for c in range(1, r + 1)] + [(c, c + 1) for c in range(r)]):
            row, times = np.zeros(size), comb(r - 1, min(c, other))
            row[c], row[other], row[first + place] = times / comb(r, c), -slope * times / comb(r, other), -1.0
            rows.append(row)
        excess = np.zeros(size)
        excess[first : first + 2 * r] = r / canaries
        rows.append(excess)
        limits += [*np.zeros(2 * r), delta]
    best = linprog(
        -np.r_[np.arange(r + 1) >= correct, np.zeros(size - r - 1)],
        A_ub=np.array(rows),
        b_ub=limits,
        A_eq=[np.r_[np.ones(r + 1), np.zeros(size - r - 1)]],
        b_eq=[1.0],
    )
    return -best.fun


@together(("guesses", "canaries"), [(1, 1), (2, 2), (5, 5), (5, 2000), (12, 12), (12, 100), (40, 60)])
@together("delta", [0.0, 1e-4, 1e-2])
def test_no_private_game_beats_the_bound(guesses: int, canaries: int, delta: float) -> None:
    """Below the bound, even the worst game is right so often with at most the error; well above it, with more.

    Catches a wrong term of delta, whatever the mechanism: the worst game is found by linear programming.
    """
    for correct in {guesses, round(0.8 * guesses)}:
        for confidence in (0.6, 0.95, 0.999):
            found = audit_guesses(correct, guesses, 0.5, delta, canaries=canaries, confidence=confidence)
            error = 1 - confidence
            if found.epsilon_lower > 0:
                assert worst_case(correct, guesses, canaries, (found.epsilon_lower, delta)) <= error * (1 + 1e-6) + 1e-9
                assert worst_case(correct, guesses, canaries, (1.5 * found.epsilon_lower + 1, delta)) > error
            if found.delta_lower:
                assert worst_case(correct, guesses, canaries, (0.5, found.delta_lower)) <= error * (1 + 1e-6) + 1e-9


def delta_of(mu: float, epsilon: float) -> float:
    """Of Gaussian noise (Balle and Wang 2018)."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize(("guesses", "canaries"), [(1, 1), (5, 5), (5, 200), (12, 12), (25, 40)])
@pytest.mark.parametrize("error", [0.3, 0.05, 1e-3])
def test_no_game_of_a_trade_off_curve_beats_its_bound(guesses: int, canaries: int, error: float) -> None:
    """The curve has 12 corners, so that the worst game is found by linear programming. Catches a wrong recursion, and
    one far too cautious: at 1.5 times the refuted mu, and a quarter more, the worst game is right oftener."""
    epsilons = np.linspace(0, 4, 12)

    def pairs(mu: float) -> list[tuple[float, float]]:
        return [(float(epsilon), delta_of(mu, epsilon)) for epsilon in epsilons]

    def curve(mu: float) -> Callable[[float], float]:
        lines = [(1 - delta, math.exp(epsilon)) for epsilon, delta in pairs(mu)]
        return lambda alpha: max(0.0, *(max(one - t * alpha, (one - alpha) / t) for one, t in lines))

    for correct in {guesses, round(0.8 * guesses)}:
        refuted = 0.0
        for mu in np.linspace(0.1, 2.5, 13):
            found = audit_guesses(
                correct, guesses, canaries=canaries, confidence=1 - error, claimed_trade_off=curve(float(mu))
            )
            refuted = float(mu) if found.trade_off_refuted else refuted
        if refuted:
            assert worst_case(correct, guesses, canaries, *pairs(refuted)) <= error * (1 + 1e-6) + 1e-9
            assert worst_case(correct, guesses, canaries, *pairs(1.5 * refuted + 0.25)) > error


@together("canaries", [50, 1000, 20_000])
@together("mu", [0.1, 1.0, 3.0])
def test_gaussian_noise_is_refuted_once_in_a_million_trainings_at_most(mu: float, canaries: int) -> None:
    """Each canary gets noise of its own and is guessed by its sign: C is binomial, so that the share is exact."""

    def refutes(right: int) -> bool:
        return audit_guesses(right, canaries, canaries=canaries, confidence=1 - 1e-6, claimed_mu=mu).violated

    assert binom.sf(least_of(refutes, canaries) - 1, canaries, norm.cdf(mu / 2)) <= 1e-6


@together(("mu", "right"), [(1.0, 900), (2.0, 995), (4.0, 1000)])
def test_the_bound_on_mu_is_tighter_than_that_on_epsilon(mu: float, right: int) -> None:
    """The 1,000 surest of 10,000 guesses about Gaussian noise, the median of such trainings. Catches a bound that is
    valid and of no use: delta at the epsilon that the guesses refute themselves is above the one claimed."""
    found = audit_guesses(right, 1000, claimed_delta=1e-5, canaries=10_000, confidence=0.95, claimed_mu=mu / 3)
    assert found.violated
    assert found.mu_lower is not None
    assert mu / 3 < found.mu_lower < mu
    assert delta_of(found.mu_lower, 1.15 * found.epsilon_lower) > 1e-5


def test_a_curve_of_gaussian_noise_is_that_of_mu() -> None:
    """Catches a curve read the wrong way round."""
    common = {"canaries": 1000, "confidence": 0.95}
    for mu in (0.3, 0.6, 0.7, 1.2):
        curve = audit_guesses(92, 100, claimed_trade_off=lambda alpha, mu=mu: norm.cdf(norm.isf(alpha) - mu), **common)
        by_mu = audit_guesses(92, 100, claimed_mu=mu, **common)
        assert by_mu.mu_lower is not None
        assert (curve.verdict, curve.mu_lower) == (by_mu.verdict, by_mu.mu_lower)
        assert curve.trade_off_refuted == by_mu.violated == (by_mu.mu_lower > mu)
    assert "violated: claimed mu 0.3" in audit_guesses(92, 100, claimed_mu=0.3, **common).describe()
    assert audit_guesses(3, 3, claimed_mu=1.0, canaries=10).verdict == "inconclusive"


def test_guesses_give_verdicts_that_say_what_is_assumed() -> None:
    """Catches a verdict without its assumption, and one of so few guesses that nothing could be seen."""
    found = audit_guesses(900, 1000, 1.0, 1e-5, canaries=5000)
    assert found.violated
    assert "violated: claimed epsilon 1 at delta 1e-05" in found.describe()
    assert "assumed: each canary was included by a fair coin of its own" in found.describe()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["kind"] == "guesses"
    assert audit_guesses(0, 1000, 1.0).verdict == "consistent"
    assert audit_guesses(5, 5, 1.0).verdict == "inconclusive"
    assert audit_guesses(1000, 1000, math.inf, canaries=1000).verdict == "inconclusive"


@together(
    ("arguments", "says"),
    [
        ({"correct": 3, "guesses": 2}, "guesses must be a whole number >= 3, got 2"),
        ({"correct": -1, "guesses": 2}, "correct must be a whole number >= 0, got -1"),
        ({"correct": 0, "guesses": 0}, "guesses must be a whole number >= 1, got 0"),
        ({"correct": 1, "guesses": 2, "canaries": 1}, "canaries must be a whole number >= 2, got 1"),
        ({"correct": 1, "guesses": 2, "claimed_delta": 0.1}, "canaries must be given where claimed_delta is above 0"),
        ({"correct": 1, "guesses": 2, "confidence": 1.0}, "confidence must be in"),
        ({"correct": 1, "guesses": 2, "claimed_mu": 1.0}, "canaries must be given where a mu or a trade-off curve"),
        ({"correct": 1, "guesses": 2, "canaries": 2, "claimed_mu": -1.0}, "claimed_mu must be a number >= 0, got -1.0"),
        (
            {"correct": 1, "guesses": 2, "canaries": 2, "claimed_trade_off": lambda alpha: 1 - alpha**2},
            "claimed_trade_off must be a convex, falling",
        ),
    ],
)
def test_wrong_guesses_are_named(arguments: dict, says: str) -> None:
    """Catches silent acceptance."""
    with pytest.raises(ValueError, match=says):
        audit_guesses(**arguments)


def test_hidden_scores_are_refused_and_tensors_are_read() -> None:
    """What a mask hides would tell the two apart."""
    rng = np.random.default_rng(5)
    hidden = np.ma.MaskedArray(rng.normal(9, 1, 500), mask=np.arange(500) > 9)
    with pytest.raises(ValueError, match=r"^members must have no hidden values, got a masked array"):
        audit_scores(hidden, rng.normal(0, 1, 500), claimed_epsilon=1.0)
    scores = rng.normal(0, 1, (2, 500)).astype(np.float32)
    tensors = [torch.tensor(one, requires_grad=True) for one in scores]
    found, same = audit_scores(*tensors, claimed_epsilon=1.0), audit_scores(*scores, claimed_epsilon=1.0)
    assert (found.verdict, found.epsilon_lower) == (same.verdict, same.epsilon_lower)


def test_whole_numbers_that_a_float_would_round_are_refused() -> None:
    """2**60 and 2**60 + 1 would be one score, and the audit consistent."""
    with pytest.raises(ValueError, match=r"members must be numbers that float64 holds"):
        audit_scores([2**60] * 40, [2**60 + 1] * 40)
    assert audit_scores([2**60] * 40, [2**61] * 40).epsilon_lower > 0
