"""The exponential mechanism against the definition, its profile against all two-level pairs, and its sampler."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from ldp_audit.accounting import compose, privacy_loss, shuffle
from ldp_audit.mechanisms import ExponentialMechanism
from ldp_audit.mechanisms.randomness import NumpySource
from ldp_audit.mechanisms.selection.score_selection import below_each, fades
from tests.frequency import assert_frequency
from tests.mechanisms.selection.score_pairs import assert_no_pair_is_worse, best_of_levels
from tests.together import together

EPSILONS = (0.01, 0.3, 1.0, 5.0, 50.0)


def test_the_law_is_the_definition_in_high_precision() -> None:
    """McSherry and Talwar 2007; scores of very different size, so that a sum that overflows is seen."""
    m, scores = ExponentialMechanism(3.0, 5, sensitivity=0.25), [1000.0, 999.5, 0.0, 1000.25, -7.0]
    weights = [mpmath.exp(mpmath.mpf(3) * (mpmath.mpf(u) - 1000) / (2 * mpmath.mpf("0.25"))) for u in scores]
    wanted = [float(mpmath.log(w / mpmath.fsum(weights))) for w in weights]
    assert m.log_prob(np.arange(5), scores) == pytest.approx(wanted, rel=1e-14)
    assert m.log_prob(None, scores) == -math.inf
    assert m.log_prob([[0], [1]], [scores, scores[::-1]]).shape == (2, 2)


def test_the_definition_in_symbols_has_these_probabilities() -> None:
    m = ExponentialMechanism(1.0, 4)
    law = m.symbolic()
    scores = np.array([2.0, 1.0, -1.0, 1.5])
    point = dict(zip(law.inputs, np.exp((scores[1:] - 2.0) / 2), strict=True))
    found = [float(atom.probability.subs(point)) for atom in law.atoms]
    assert np.log(found) == pytest.approx(m.log_prob(np.arange(4), scores), rel=1e-12)


@together("epsilon", EPSILONS)
def test_the_profile_is_that_of_the_worst_pair(epsilon: float) -> None:
    """Of pairs of two levels, the best reaches the closed form; the share of probability is known from the level."""
    for n in (2, 7):
        m = ExponentialMechanism(epsilon, n, sensitivity=2.0)
        for level in (0.0, 0.1 * epsilon, 0.5 * epsilon, 0.9 * epsilon):
            delta = float(m.delta(level))
            loss = (epsilon + level) / 2  # of candidate 0, which has the probability p = (e**h - e**l)/(e**h - 1)
            odds = epsilon - loss + math.log(-math.expm1(loss - epsilon)) - math.log(-math.expm1(-loss))
            first = np.where(np.arange(n) == 0, m.scale() * (math.log(n - 1) + odds), 0.0)
            found = best_of_levels(m, first, first + np.where(np.arange(n) == 0, -2.0, 2.0), level)
            assert found == pytest.approx(delta, rel=1e-9), (n, level)
    assert float(m.delta(epsilon)) == 0


@together("epsilon", EPSILONS)
def test_no_pair_of_neighbours_is_worse(epsilon: float) -> None:
    """Of 2,000 random pairs, moved by the whole sensitivity in each coordinate: the worst that are."""
    assert_no_pair_is_worse(ExponentialMechanism(epsilon, 4, sensitivity=0.5))


def test_epsilon_is_approached_and_not_attained() -> None:
    m, told = ExponentialMechanism(2.0, 3), []
    for lead in (0.0, 5.0, 20.0):
        first, second = np.array([0.0, lead, lead]), np.array([1.0, lead - 1, lead - 1])
        told.append(float(m.log_prob(0, second) - m.log_prob(0, first)))
    assert told == sorted(told)
    assert told[-1] < 2.0 == m.exact_epsilon()
    assert told[-1] == pytest.approx(2.0, abs=1e-7)


def test_fifty_uses_cost_less_than_fifty_pure_ones_and_at_least_what_one_pair_shows() -> None:
    """Dong, Durfee, Rogers 2020: between the best of the fixed pairs and Laplace noise of the same epsilon."""
    loss = compose([(ExponentialMechanism(0.2, 100), 50)])
    low, high = loss.epsilon_bounds(1e-6)
    assert loss.epsilon(1e-6) == high
    one = math.exp(0.1) / (1 + math.exp(0.1))
    bits = np.arange(51)
    logs = np.array([math.log(math.comb(50, k)) + k * math.log(one) + (50 - k) * math.log(1 - one) for k in bits])
    pair = float(np.sum(np.exp(logs) * np.maximum(0, -np.expm1(low - 0.1 * (2 * bits - 50)))))
    assert pair == pytest.approx(1e-6, rel=1e-6)  # fifty times the worst pair of delta(0)
    concentrated = 50 * 0.2**2 / 8  # Cesar and Rogers 2021: bounded range is epsilon**2/8 zCDP
    assert low < high < concentrated + 2 * math.sqrt(concentrated * math.log(1e6))
    assert loss.adjacency == "add/remove"


def test_a_replaced_record_is_counted_where_it_is_stated_how_far_it_moves_a_score() -> None:
    m = ExponentialMechanism(1.0, 3, sensitivity=2.0, replaced=4.0)
    assert privacy_loss(m, "replace").delta(0.5) == pytest.approx(float(ExponentialMechanism(2.0, 3).delta(0.5)))
    with pytest.raises(ValueError, match=r"^replaced must be stated .* at most 4.0"):
        privacy_loss(replace(m, replaced=None), "replace")
    with pytest.raises(ValueError, match="mechanism must protect any two inputs"):  # others' scores may be anything
        shuffle(m, 10)
    with pytest.raises(ValueError, match=r"^replaced must be a number > 0, at most twice the sensitivity 2.0"):
        ExponentialMechanism(1.0, 3, 2.0, 5.0)


@together(
    ("arguments", "message"),
    [
        ((0.0, 2), r"^epsilon must be a finite number > 0"),
        ((math.inf, 2), r"^epsilon must be a finite number > 0"),
        ((1.0, 1), r"^candidates must be a whole number >= 2, got 1"),
        ((1.0, 2.5), r"^candidates must be a whole number >= 2, got 2.5"),
        ((1.0, 2, 0.0), r"^sensitivity must be a finite number > 0"),
    ],
)
def test_arguments_that_are_none_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ExponentialMechanism(*arguments)


@together("x", [[1.0, 2.0], [1.0, 2.0, math.nan], [1.0, 2.0, math.inf], 1.0, ["a", "b", "c"], [1e30, 0.0, 0.0]])
def test_scores_that_are_none_are_refused(x: Any) -> None:
    m = ExponentialMechanism(1.0, 3)
    with pytest.raises(ValueError, match=r"^x must "):
        m.sample(x, rng=np.random.default_rng(0))
    if x != [1e30, 0.0, 0.0]:  # which has a law, but lies off the grid
        with pytest.raises(ValueError, match=r"^x must "):
            m.log_prob(0, x)


@together("sensitivity", [1.0, 0.1, 3.0, 1e-9, 7e20])
@together("epsilon", [*EPSILONS, 1e-6, 1e4])
def test_the_grid_spends_at_most_epsilon_for_any_floats_a_sensitivity_apart(epsilon: float, sensitivity: float) -> None:
    """In exact arithmetic. Would catch a grid whose steps round a sensitivity down."""
    m = ExponentialMechanism(epsilon, 2, sensitivity)
    grid = m.implemented()
    assert grid.width() % 8 == 0
    assert Fraction(2 * grid.shift(), grid.width()) <= Fraction(epsilon)
    assert epsilon * (1 - 1e-3) < grid.exact_epsilon() <= epsilon
    bases = np.random.default_rng(0).uniform(-50, 50, 2000) * sensitivity
    moved = bases + sensitivity
    near = np.array([Fraction(b) - Fraction(a) <= Fraction(sensitivity) for a, b in zip(bases, moved, strict=True)])
    steps = grid.steps(np.stack([bases, moved], axis=-1))
    assert near.sum() > 500
    assert (steps[near, 1] - steps[near, 0]).max() <= grid.shift()
    assert (steps[near, 1] - steps[near, 0]).max() >= grid.shift() - 1


def test_an_epsilon_too_small_for_the_grid_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^epsilon must be at least 2\*\*-25 to be sampled, got 1e-09"):
        ExponentialMechanism(1e-9, 3).implemented()


@together("library", ["numpy", "torch"])
@together("epsilon", [0.01, 1.0, 50.0])
def test_the_sampler_draws_from_the_law(epsilon: float, library: str) -> None:
    """False alarm 1e-6 each; with 40,000 draws a probability off by 0.02 is missed below 1e-4."""
    m, trials = ExponentialMechanism(epsilon, 5, sensitivity=0.3), 40_000
    scores = np.array([0.2, 0.19, 0.0, 0.21, -3.0])
    batch = np.tile(scores, (trials, 1))
    if library == "torch":
        drawn = np.asarray(m.sample(torch.from_numpy(batch), rng=torch.Generator().manual_seed(5)))
    else:
        drawn = m.sample(batch, rng=np.random.default_rng(5))
    for y in range(5):
        assert_frequency(int((drawn == y).sum()), trials, math.exp(m.log_prob(y, scores)))


def test_a_coin_without_its_fraction_is_seen() -> None:
    """The coin e**-(n/t) for n below and beyond t; a planted one, of whole eighths alone, has another frequency."""
    t, trials, source = 8 * 5, 60_000, NumpySource(np.random.default_rng(2))
    for n in (0, 3, 19, 40, 97):
        hits = int(fades(np.full(trials, n), t, source).sum())
        assert_frequency(hits, trials, math.exp(-n / t))
    planted = int(fades(np.full(trials, 19 // 5 * 5), t, source).sum())
    with pytest.raises(AssertionError, match=r"where 0\.62"):
        assert_frequency(planted, trials, math.exp(-19 / t))


def test_whole_numbers_below_their_own_bounds_are_uniform() -> None:
    trials, bounds = 30_000, np.tile([1, 2, 3, 7], 30_000)
    drawn = below_each(bounds, NumpySource(np.random.default_rng(3))).reshape(-1, 4)
    for place, bound in enumerate((1, 2, 3, 7)):
        for value in range(bound):
            assert_frequency(int((drawn[:, place] == value).sum()), trials, 1 / bound)
