"""Permute-and-flip against its definition, the exponential mechanism, and Laplace noise's profile; and its sampler."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import integrate

from ldp_audit.accounting import compose
from ldp_audit.mechanisms import ExponentialMechanism, Laplace, PermuteAndFlip
from ldp_audit.mechanisms.selection.permute_and_flip import first_heads
from tests.frequency import assert_frequency
from tests.mechanisms.selection.score_pairs import assert_no_pair_is_worse, best_of_levels
from tests.together import together

EPSILONS = (0.01, 0.3, 1.0, 5.0, 50.0)
SCORES = np.array([0.2, 0.19, 0.0, 0.21, -3.0])


def by_permutations(coins: np.ndarray) -> np.ndarray:
    """McKenna and Sheldon 2020, Algorithm 1, over all orders."""
    found = np.zeros(len(coins))
    orders = list(itertools.permutations(range(len(coins))))
    for order in orders:
        reached = 1.0
        for i in order:
            found[i] += reached * coins[i] / len(orders)
            reached *= 1 - coins[i]
    return found


@together("epsilon", EPSILONS)
def test_the_law_is_the_algorithm_over_all_orders(epsilon: float) -> None:
    m = PermuteAndFlip(epsilon, 5, sensitivity=0.3)
    wanted = by_permutations(np.exp(-(SCORES.max() - SCORES) * epsilon / 0.6))
    assert np.exp(m.log_prob(np.arange(5), SCORES)) == pytest.approx(wanted, rel=1e-11)


@together("scores", [[1.0, 0.5, -0.5], [0.0, 0.0, 0.0], [0.0, -4.0, -9.0]])
def test_it_is_the_noisy_maximum_with_exponential_noise(scores: list[float]) -> None:
    """Ding et al. 2021, by numerical integrals of the noise's density."""
    m, rate = PermuteAndFlip(2.0, 3), 1.0
    for i in range(3):
        others = [u for j, u in enumerate(scores) if j != i]

        def joint(z: float, i: int = i, others: list[float] = others) -> float:
            return (
                rate
                * math.exp(-rate * z)
                * math.prod(max(0.0, -math.expm1(-rate * (scores[i] + z - u))) for u in others)
            )

        start = max(0.0, max(others) - scores[i])
        wanted = integrate.quad(joint, start, start + 60, epsabs=1e-13, limit=200)[0]
        assert math.exp(m.log_prob(i, scores)) == pytest.approx(wanted, rel=1e-9)


def test_the_definition_in_symbols_has_these_probabilities() -> None:
    m = PermuteAndFlip(1.0, 4)
    law, scores = m.symbolic(), np.array([2.0, 1.0, -1.0, 1.5])
    point = dict(zip(law.inputs, np.exp((scores[1:] - 2.0) / 2), strict=True))
    found = [float(atom.probability.subs(point)) for atom in law.atoms]
    assert np.log(found) == pytest.approx(m.log_prob(np.arange(4), scores), rel=1e-12)
    with pytest.raises(ValueError, match=r"^candidates must be at most 8"):
        PermuteAndFlip(1.0, 9).symbolic()


@together("n", [2, 3, 50, 1000])
def test_probabilities_add_up_to_one_and_equal_scores_are_equally_likely(n: int) -> None:
    logs = np.random.default_rng(0).uniform(-30, 0, n)
    logs[n // 2] = 0
    assert np.exp(first_heads(logs[None])).sum() == pytest.approx(1.0, abs=1e-12)
    assert first_heads(np.zeros((1, n))) == pytest.approx(np.full((1, n), -math.log(n)), rel=1e-12)


@together("epsilon", EPSILONS)
def test_epsilon_is_attained(epsilon: float) -> None:
    for n in (2, 5):
        m = PermuteAndFlip(epsilon, n, sensitivity=2.0)
        first, second = m.worst_pair()
        assert np.abs(first - second).max() <= 2.0
        told = m.log_prob(np.arange(n), first) - m.log_prob(np.arange(n), second)
        assert np.abs(told).max() == pytest.approx(epsilon, rel=1e-12)


@together("epsilon", EPSILONS)
def test_the_profile_is_laplace_noises_attained_by_two_candidates(epsilon: float) -> None:
    m = PermuteAndFlip(epsilon, 2, sensitivity=2.0)
    for level in (0.0, 0.3 * epsilon, 0.9 * epsilon):
        assert m.delta(level) == pytest.approx(float(Laplace(1 / epsilon).delta(level)), rel=1e-12)
        ahead = m.scale() * (epsilon - level) / 2
        found = best_of_levels(m, np.array([ahead, 0.0]), np.array([ahead - 2.0, 2.0]), level)
        assert found == pytest.approx(float(m.delta(level)), rel=1e-9)


@together("epsilon", EPSILONS)
@together("n", [3, 6])
def test_no_pair_of_neighbours_is_worse(n: int, epsilon: float) -> None:
    """2,000 random pairs, moved by the whole sensitivity in each coordinate."""
    assert_no_pair_is_worse(PermuteAndFlip(epsilon, n, sensitivity=0.5))


def test_its_loss_is_not_of_a_bounded_range() -> None:
    """The exponential mechanism's profile would be too small a bound: one pair has more."""
    m, other = PermuteAndFlip(1.0, 2), ExponentialMechanism(1.0, 2)
    found = best_of_levels(m, np.array([0.5, -0.5]), np.array([-0.5, 0.5]), 0.0)
    assert found == pytest.approx(-math.expm1(-0.5), rel=1e-12)
    assert found > 1.5 * float(other.delta(0.0))


@together("n", [2, 4, 30])
def test_its_expected_error_is_never_above_the_exponential_mechanisms(n: int) -> None:
    """McKenna and Sheldon 2020, Theorem 2; scores of random spread, and equal ones. Equal for equal scores."""
    rng = np.random.default_rng(n)
    scores = rng.normal(size=(300, n)) * rng.choice([0, 0.3, 3, 30], size=(300, 1))
    gaps = scores.max(axis=-1, keepdims=True) - scores
    errors = [
        np.sum(np.exp(m.log_prob(np.arange(n), scores[:, None, :])) * gaps, axis=-1)
        for m in (PermuteAndFlip(1.0, n), ExponentialMechanism(1.0, n))
    ]
    assert np.all(errors[0] <= errors[1] * (1 + 1e-12))
    assert np.min(errors[0][errors[1] > 0] / errors[1][errors[1] > 0]) < 0.6


def test_a_sum_of_reports_is_bounded_by_laplace_noise() -> None:
    loss = compose([(PermuteAndFlip(0.2, 100), 50)])
    assert loss.epsilon(1e-6) == pytest.approx(compose([(Laplace(5.0), 50)]).epsilon(1e-6), rel=1e-9)
    assert loss.epsilon_bounds(1e-6)[0] < loss.epsilon_bounds(1e-6)[1]


@together("library", ["numpy", "torch"])
@together("epsilon", [0.01, 1.0, 50.0])
def test_the_sampler_draws_from_the_law(epsilon: float, library: str) -> None:
    """False alarm 1e-6 each; with 40,000 draws a probability off by 0.02 is missed below 1e-4."""
    m, trials = PermuteAndFlip(epsilon, 5, sensitivity=0.3), 40_000
    batch = np.tile(SCORES, (trials, 1))
    if library == "torch":
        drawn = np.asarray(m.sample(torch.from_numpy(batch), rng=torch.Generator().manual_seed(5)))
    else:
        drawn = m.sample(batch, rng=np.random.default_rng(5))
    for y in range(5):
        assert_frequency(int((drawn == y).sum()), trials, math.exp(m.log_prob(y, SCORES)))


def test_the_exponential_mechanism_in_its_place_is_seen() -> None:
    m, trials = PermuteAndFlip(5.0, 5, sensitivity=0.3), 40_000
    drawn = ExponentialMechanism(5.0, 5, 0.3).sample(np.tile(SCORES, (trials, 1)), rng=np.random.default_rng(5))
    hits, chance = int((drawn == 3).sum()), math.exp(m.log_prob(3, SCORES))
    with pytest.raises(AssertionError, match="is expected"):
        assert_frequency(hits, trials, chance)
