"""Draws with replacement: against the worst mechanism of all, found by linear programming, and against quadrature."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.stats import binom, laplace, norm

from ldp_audit.accounting.compose import compose
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.bracketed_loss import BracketedLoss, ends_of
from ldp_audit.accounting.laws.finite_losses import as_atoms, symmetric_law
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.accounting.sampling.copies_loss import copies_loss
from ldp_audit.accounting.sampling.copy_counts import copy_counts
from ldp_audit.accounting.sampling.subsample import subsample
from ldp_audit.accounting.sampling.symmetric_loss import symmetric
from ldp_audit.mechanisms import RandomizedResponse


def random_law(rng: np.random.Generator) -> LossLaw:
    """Its own mirror image, with up to three losses above 0, and perhaps infinite ones."""
    count = int(rng.integers(1, 4))
    losses, masses = np.sort(rng.uniform(0.05, 2, count)), rng.uniform(0.1, 1, count)
    infinite = 0.0 if rng.random() < 0.5 else float(rng.uniform(0, 0.2))
    masses *= rng.uniform(0.5, 1) * (1 - infinite) / float(masses @ (1 + np.exp(-losses)))
    return symmetric_law(losses, np.log(masses), infinite=infinite)


def tangents(law: LossLaw) -> list[tuple[float, float]]:
    """The power curve as the least of lines (at 0, slope)."""
    atoms = as_atoms(law)
    assert atoms is not None
    size, power, found = 0.0, math.exp(atoms.log_infinite), []
    for loss, log in zip(atoms.losses[::-1].tolist(), atoms.log_probabilities[::-1].tolist(), strict=True):
        found.append((power - size * math.exp(loss), math.exp(loss)))
        size, power = size + math.exp(log - loss), power + math.exp(log)
    return found


def most_of_any_mechanism(law: LossLaw, k: int, gain: dict[tuple[int, int], float]) -> float:
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
def test_no_mechanism_gives_away_more_and_one_gives_away_as_much(seed: int) -> None:
    """At every level t >= 1; which mechanism it is may depend on t."""
    rng = np.random.default_rng(seed)
    law, n, k = random_law(rng), int(rng.integers(2, 5)), int(rng.integers(2, 5))
    weights = binom.pmf(np.arange(k + 1), k, 1 / n)
    replace = subsample(PrivacyLoss((law,)), kind="with", n=n, k=k, adjacency="replace")
    remove, add = subsample(PrivacyLoss((law,)), kind="with", n=n, k=k).directions
    for t in (1.0, 1.1, 1.5, 3.0):
        other = {(0, j): -t * w for j, w in enumerate(weights)}
        gains = {(j, 0): float(w) for j, w in enumerate(weights)}
        both = gains | other | {(0, 0): float(weights[0]) * (1 - t)}
        assert replace.delta_bounds(math.log(t)) == pytest.approx((most_of_any_mechanism(law, k, both),) * 2, abs=1e-9)
        there = gains | {(0, 0): float(weights[0]) - t}
        assert math.exp(remove.log_delta_bounds(math.log(t))[1]) == pytest.approx(
            most_of_any_mechanism(law, k, there), abs=1e-9
        )
        back = {state: -t * worth for state, worth in gains.items()} | {(0, 0): 1 - t * float(weights[0])}
        assert math.exp(add.log_delta_bounds(math.log(t))[1]) == pytest.approx(
            most_of_any_mechanism(law, k, back), abs=1e-9
        )


def shifted(noise: LossLaw, x: float, copies: int) -> float:
    if isinstance(noise, GaussianLoss):
        return float(norm.pdf(x - copies * noise.mu))
    assert isinstance(noise, LaplaceLoss)
    return float(laplace.pdf(x - copies * noise.epsilon))


NOISES = [GaussianLoss(0.4), GaussianLoss(2.5), LaplaceLoss(0.3), LaplaceLoss(2.0)]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("n", "k"), [(3, 3)])
def test_noise_on_the_number_of_copies_has_the_quadratures_delta(noise: LossLaw, n: int, k: int) -> None:
    weights = binom.pmf(np.arange(k + 1), k, 1 / n)
    law = copies_loss(noise, n, k, replaced=False)
    step = noise.mu if isinstance(noise, GaussianLoss) else noise.epsilon  # type: ignore[attr-defined]
    for level in (-0.3, 0.0, 0.6):

        def gains(x: float, t: float = math.exp(level)) -> tuple[float, float]:
            with_record = sum(w * shifted(noise, x, j) for j, w in enumerate(weights))
            return max(0.0, with_record - t * shifted(noise, x, 0)), max(0.0, shifted(noise, x, 0) - t * with_record)

        points = sorted({j * step for j in range(k + 1)} | {-12.0, 12.0 + k * step})
        for one, which in ((law, 0), (law.mirrored(), 1)):
            exact = sum(
                quad(lambda x, i=which: gains(x)[i], a, b, epsabs=1e-13, limit=400)[0] for a, b in pairwise(points)
            )
            found = math.exp(one.log_delta_bounds(level)[1])
            assert found == pytest.approx(exact, rel=1e-5, abs=1e-5)  # where the noise was cut off


@pytest.mark.parametrize(
    "noise", [GaussianLoss(1e-9), *NOISES, GaussianLoss(50.0), LaplaceLoss(1e-9), LaplaceLoss(50.0)]
)
@pytest.mark.parametrize(("n", "k"), [(10**8, 10**8), (3, 4)])
@pytest.mark.parametrize("replaced", [True, False])
def test_finitely_many_losses_enclose_those_of_noise(noise: LossLaw, n: int, k: int, replaced: bool) -> None:
    law = copies_loss(noise, n, k, replaced=replaced)
    for one in [symmetric(law)] if replaced else [law, law.mirrored()]:
        lower, upper = ends_of(one)
        top = min(one.largest(), 60.0)
        for level in (-0.5 * top, -0.1 * top, 0.0, 1e-3 * top, 0.1 * top, 0.4 * top, 0.9 * top):
            least, (low, high), most = lower.log_delta_bounds(level)[0], one.log_delta_bounds(level), upper
            assert least <= low + 1e-9 <= high + 2e-9 <= most.log_delta_bounds(level)[1] + 3e-9
            if low > -12:
                assert most.log_delta_bounds(level)[1] - least < 0.02
        assert lower.largest() <= one.largest() * (1 + 1e-12) <= upper.largest() * (1 + 1e-9)
        if isinstance(noise, LaplaceLoss) and n < 10**8:
            assert upper.largest() <= one.largest() * (1 + 1e-12)


@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
@pytest.mark.parametrize("base", [LaplaceLoss(1.0), BinomialLoss(1.0, -1.0, 1)])
def test_the_largest_loss_is_that_of_a_pure_mechanism_drawn_again_and_again(base: LossLaw, adjacency: Any) -> None:
    """k ln(1 + (t - 1)/n), where Theorem 10 of Balle et al. has k."""
    n = k = 10**8
    loss = subsample(PrivacyLoss((base,)), kind="with", n=n, k=k, adjacency=adjacency)
    assert loss.largest() == pytest.approx(k * math.log1p(math.expm1(1.0) / n), rel=1e-9)


@pytest.mark.parametrize("times", [2, 1000, 10**6])
def test_composed_rounds_have_ends_that_are_near(times: int) -> None:
    """From below it was the loss of one copy, from above that of each number of copies told."""
    for base in (GaussianLoss(1.0), LaplaceLoss(1.0), BinomialLoss(1.0, -1.0, 1)):
        loss = subsample(PrivacyLoss((base,)), kind="with", n=10**8, k=10**8, adjacency="replace")
        low, high = compose([(loss, times)]).epsilon_bounds(1e-6)
        assert 0 < low <= high <= low * 1.01


def test_laws_that_are_no_noise_and_no_list_are_enclosed() -> None:
    base = compose([(PrivacyLoss((GaussianLoss(0.5),)), 1), (PrivacyLoss((LaplaceLoss(0.3),)), 2)])
    pure = [GaussianLoss(0.5), GaussianLoss(0.8)]  # less, and more
    for adjacency in ("add/remove", "replace"):
        loss, less, more = (
            subsample(one, kind="with", n=10, k=5, adjacency=adjacency)
            for one in (base, *(PrivacyLoss((law,)) for law in pure))
        )
        for level in (0.0, 0.3, 1.0):
            low, high = loss.delta_bounds(level)
            assert less.delta(level) * (1 - 1e-9) <= high
            assert low <= more.delta(level)
            assert 0 < low <= high <= low * 1.05


@pytest.mark.parametrize("base", [RandomizedResponse(1e-5), RandomizedResponse(1e-5, 3)])
def test_very_many_copies_are_bracketed(base: RandomizedResponse) -> None:
    loss = subsample(base, kind="with", n=100, k=10**6, adjacency="replace")
    (law,) = loss.directions
    assert isinstance(law, BracketedLoss)
    low, high = loss.delta_bounds(1e-3)
    assert 0 < low < high < 1
    # ten thousand steps of a geometric mechanism, give or take some hundred
    if base.k == 2:
        near = [LaplaceLoss(1e-5 * copies).log_delta_bounds(1e-3)[1] for copies in (9_400, 10_600)]
        assert math.exp(near[0]) < low < high < math.exp(near[1])


@pytest.mark.parametrize(("n", "k"), [(7, 12), (10**8, 10**8), (10, 10**4), (3, 10**9), (10**12, 10**12)])
def test_counts_of_copies_are_binomial(n: int, k: int) -> None:
    """Those that are listed; of the others each end lies on its side."""
    for end in (0, 1):
        found = copy_counts(n, k, end)
        assert np.logaddexp(np.logaddexp.reduce(found.logs), found.log_more) == pytest.approx(0.0, abs=1e-7)
        assert np.all(np.diff(found.counts) > 0)
        masses = np.exp(found.logs)
        if found.exact:
            assert masses == pytest.approx(binom.pmf(found.counts, k, 1 / n), rel=1e-6, abs=1e-300)
        else:
            below = np.cumsum(masses)
            truth = binom.cdf(found.counts, k, 1 / n)
            assert np.all(below <= truth + 1e-9) if end else np.all(below >= truth - 1e-9)


def test_the_rest_of_the_copies_counts_as_a_pure_loss_or_as_a_rare_infinite_one() -> None:
    rare = copies_loss(privacy_loss(RandomizedResponse(50.0)).directions[0], 10**8, 10**8, replaced=False)
    assert not rare.exact
    assert 1e9 < rare.largest() < 5e9 + 1
    assert rare.log_delta_bounds(rare.largest()) == (-math.inf, -math.inf)
    lower, upper = ends_of(rare)
    assert lower.largest() < rare.largest() < upper.largest() == math.inf
    assert upper.log_delta_bounds(1e6)[1] == pytest.approx(-744.44, abs=0.01)
    back = rare.mirrored()
    assert back.largest() == pytest.approx(1.0, rel=1e-6)
    assert ends_of(back)[1].largest() == pytest.approx(1.0, rel=1e-6)
