"""Draws with replacement: against the worst mechanism, found by linear programming, and against quadrature."""

from __future__ import annotations

import itertools
import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.stats import binom

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose
from ldp_audit.accounting.subsample import subsample
from ldp_audit.losses.discrete_loss import BinomialLoss, symmetric_loss
from ldp_audit.losses.loss import PairLoss, known_atoms
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse
from tests.together import together


def random_law(rng: np.random.Generator) -> PairLoss:
    """A loss that is its own reverse, with up to three values above 0, and perhaps infinite ones."""
    count = int(rng.integers(1, 4))
    losses, masses = np.sort(rng.uniform(0.05, 2, count)), rng.uniform(0.1, 1, count)
    infinite = 0.0 if rng.random() < 0.5 else float(rng.uniform(0, 0.2))
    masses *= rng.uniform(0.5, 1) * (1 - infinite) / float(masses @ (1 + np.exp(-losses)))
    return symmetric_loss(losses, np.log(masses), infinite=infinite)


def tangents(law: PairLoss) -> list[tuple[float, float]]:
    """The power curve as the least of lines (at 0, slope)."""
    atoms = known_atoms(law)
    assert atoms is not None
    size, power, found = 0.0, math.exp(atoms.log_infinite), []
    for loss, log in zip(atoms.losses[::-1].tolist(), atoms.log_probabilities[::-1].tolist(), strict=True):
        found.append((power - size * math.exp(loss), math.exp(loss)))
        size, power = size + math.exp(log - loss), power + math.exp(log)
    return found


def most_of_any_mechanism(law: PairLoss, k: int, gain: dict[tuple[int, int], float]) -> float:
    """The largest sum of gains times the chance of an event, over all mechanisms with the loss.

    A sample holds i copies of one record and j of the other, i + j <= k; neighbours differ in one of its records.
    """
    states = [(i, j) for i in range(k + 1) for j in range(k + 1 - i)]
    place = {state: at for at, state in enumerate(states)}
    rows, limits = [], []
    for (i, j), (x, y) in product(states, ((1, 0), (0, 1), (-1, 0), (0, -1), (1, -1), (-1, 1))):
        if (i + x, j + y) not in place:
            continue
        for start, slope in tangents(law):
            row = np.zeros(len(states))
            row[place[i, j]], row[place[i + x, j + y]] = 1.0, -slope
            rows.append(row)
            limits.append(start)
    value = np.zeros(len(states))
    for state, worth in gain.items():
        value[place[state]] -= worth
    return -float(linprog(value, A_ub=np.array(rows), b_ub=limits, bounds=(0, 1), method="highs").fun)


@pytest.mark.parametrize("seed", range(12))
def test_the_bounds_enclose_the_most_that_any_mechanism_gives_away(seed: int) -> None:
    """At levels t >= 1, by linear programming over all mechanisms with the loss; which one it is may depend on t."""
    rng = np.random.default_rng(seed)
    law, n, k = random_law(rng), int(rng.integers(2, 5)), int(rng.integers(2, 5))
    weights = binom.pmf(np.arange(k + 1), k, 1 / n)
    replace = subsample(PrivacyLoss((law,)), kind="with", n=n, k=k, adjacency="replace")
    remove, add = subsample(PrivacyLoss((law,)), kind="with", n=n, k=k).directions
    for t in (1.0, 1.1, 1.5, 3.0):
        other = {(0, j): -t * w for j, w in enumerate(weights)}
        gains = {(j, 0): float(w) for j, w in enumerate(weights)}
        both = gains | other | {(0, 0): float(weights[0]) * (1 - t)}
        there = gains | {(0, 0): float(weights[0]) - t}
        back = {state: -t * worth for state, worth in gains.items()} | {(0, 0): 1 - t * float(weights[0])}
        for loss, gain in ((replace.directions[0], both), (remove, there), (add, back)):
            low, high = np.exp(loss.log_delta_bounds(math.log(t)))
            assert low <= most_of_any_mechanism(law, k, gain) + 1e-9
            assert most_of_any_mechanism(law, k, gain) <= high + 1e-9


def normal(x: float) -> float:
    """The standard normal density; scipy's takes a hundred times as long for one number."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def two_sided(x: float) -> float:
    """Laplace's density at scale 1."""
    return math.exp(-abs(x)) / 2


@pytest.mark.covering(1)
@pytest.mark.parametrize("noise", [GaussianLoss(0.4), GaussianLoss(2.5), LaplaceLoss(0.3), LaplaceLoss(2.0)])
@pytest.mark.parametrize(("n", "k"), [(3, 3), (50, 4)])
def test_noise_on_the_number_of_copies_gives_away_no_more(noise: GaussianLoss | LaplaceLoss, n: int, k: int) -> None:
    """Both orders of the pair, by quadrature. Would catch a multiplicity that is left out or rounded down."""
    weights = binom.pmf(np.arange(k + 1), k, 1 / n).tolist()
    density, step = (normal, noise.mu) if isinstance(noise, GaussianLoss) else (two_sided, noise.epsilon)
    directions = subsample(PrivacyLoss((noise,)), kind="with", n=n, k=k).directions
    for level in (-0.3, 0.0, 0.6):

        def gains(x: float, t: float = math.exp(level)) -> tuple[float, float]:
            with_record = sum(w * density(x - j * step) for j, w in enumerate(weights))
            return max(0.0, with_record - t * density(x)), max(0.0, density(x) - t * with_record)

        points = sorted({j * step for j in range(k + 1)} | {-12.0, 12.0 + k * step})
        for i, law in enumerate(directions):
            pieces = (quad(lambda x, i=i: gains(x)[i], a, b, epsabs=1e-8, limit=400)[0] for a, b in pairwise(points))
            assert sum(pieces) <= math.exp(law.log_delta_bounds(level)[1]) + 1e-5  # where the noise was cut off


@together(
    ("adjacency", "base"), itertools.product(["add/remove", "replace"], [LaplaceLoss(1.0), BinomialLoss(1.0, -1.0, 1)])
)
def test_the_supremum_is_that_of_a_pure_mechanism_drawn_again_and_again(base: PairLoss, adjacency: Any) -> None:
    """k ln(1 + (t - 1)/n): each draw by itself."""
    loss = subsample(PrivacyLoss((base,)), kind="with", n=10, k=20, adjacency=adjacency)
    bound = 20 * math.log1p(math.expm1(1.0) / 10)
    assert loss.epsilon(0.0) == pytest.approx(bound, rel=1e-9) if isinstance(base, BinomialLoss) else bound


@together(
    ("mechanism", "n", "k"),
    [
        (mechanism, n, k)
        for mechanism in [Gaussian(2.0, replaced=1.0), Laplace(1.0, replaced=1.0), RandomizedResponse(1.0, k=3)]
        for n, k in [(10**4, 10), (100, 100), (2, 1000), (3, 10**9), (10**12, 10**12), (1, 5)]
    ],
)
def test_bounds_are_in_order_however_many_the_draws(mechanism: Any, n: int, k: int) -> None:
    """Between those of one draw and of k; near each other where a record is hardly ever drawn twice."""
    loss = subsample(mechanism, kind="with", n=n, k=k, adjacency="replace")
    once = subsample(mechanism, kind="with", n=n, k=1, adjacency="replace")
    for level in (0.0, 0.01, 1.0):
        low, high = loss.delta_bounds(level)
        assert once.delta(level) * (1 - 1e-9) <= low * (1 + 1e-9) <= high * (1 + 2e-9) <= 1 + 3e-9
    if k < n / 100:
        low, high = loss.delta_bounds(0.0)
        assert high <= low * (1 + 2 * k / n)


def test_rounds_compose() -> None:
    one = subsample(RandomizedResponse(1.0), kind="with", n=1000, k=10)
    low, high = compose([(one, 100)]).epsilon_bounds(1e-6)
    poisson = compose([(subsample(RandomizedResponse(1.0), rate=1 - 0.999**10), 100)]).epsilon(1e-6)
    assert low <= poisson * (1 + 1e-9)
    assert poisson <= high <= 1.05 * poisson
