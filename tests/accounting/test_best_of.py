"""Private selection: no bound below what enumeration finds, and none looser than Renyi accounting's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from ldp_audit.accounting import DiscreteLoss, Pure, best_of, compose, privacy_loss, subsample
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse
from tests.together import together

NUMBERS = ("geometric", "logarithmic", "poisson")
RENYI_CASES = [(mu, runs, mean) for mu in (0.1, 0.5, 1.0, 3.0) for runs in NUMBERS for mean in (3.0, 30.0)]


def gamma_of(runs: str, mean: float) -> float:
    """The parameter of the geometric or the logarithmic distribution."""
    if runs == "geometric":
        return 1 / mean
    return float(brentq(lambda one: (1 / one - 1) / math.log(1 / one) - mean, 1e-9, 1 - 1e-9, xtol=1e-16))


def generating(runs: str, mean: float, z: np.ndarray) -> np.ndarray:
    """E[z**K], from the distributions' definitions."""
    if runs == "poisson":
        return np.exp(mean * (z - 1))
    gamma = gamma_of(runs, mean)
    if runs == "geometric":
        return gamma * z / (1 - (1 - gamma) * z)
    return np.log1p(-(1 - gamma) * z) / math.log(gamma)


def released(runs: str, mean: float, law: np.ndarray) -> np.ndarray:
    """The distribution of the best output, of outcomes in ascending order of their scores, and of none."""
    below = np.minimum(np.concatenate([[0.0], np.cumsum(law)]), 1.0)
    best = np.diff(generating(runs, mean, below))
    return np.append(best, generating(runs, mean, np.zeros(1)))


def hostile_law(rng: np.random.Generator, size: int) -> np.ndarray:
    """Near and far from uniform, some outcomes impossible."""
    weights = rng.dirichlet(np.full(size, 10.0 ** rng.uniform(-1.5, 1.5)))
    weights[rng.random(size) < rng.choice([0.0, 0.2])] = 0.0
    return weights / weights.sum() if weights.sum() > 0 else np.full(size, 1 / size)


def check_random_case(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, runs = int(rng.integers(2, 12)), NUMBERS[seed % 3]
    mean = float(1 + 10 ** rng.uniform(-2, 3)) if runs != "poisson" else float(10 ** rng.uniform(-2, 2.5))
    first = hostile_law(rng, size)
    second = hostile_law(rng, size)
    if rng.random() < 0.6:  # neighbours that are close
        second = first * np.exp(rng.uniform(-1, 1, size) * 10 ** rng.uniform(-2, 0.5))
        second = second / second.sum()
    if rng.random() < 0.3:  # the order that favours the first
        ratio = np.divide(first, second, out=np.full(size, np.inf), where=second > 0)
        first, second = first[np.argsort(ratio)], second[np.argsort(ratio)]
    names = range(size)
    loss = PrivacyLoss((DiscreteLoss.of_laws(dict(zip(names, first)), dict(zip(names, second))),))  # noqa: B905
    bound = best_of(loss, runs, mean=mean)  # type: ignore[arg-type]
    one, two = released(runs, mean, first), released(runs, mean, second)
    for epsilon in (0.0, *10 ** rng.uniform(-2, 1.2, 4)):
        truth = math.fsum(np.maximum(one - math.exp(epsilon) * two, 0.0))
        assert bound.delta(epsilon) >= truth * (1 - 1e-9) - 1e-14, (seed, epsilon)
    assert bound.delta(0.0) <= 1


def test_no_bound_lies_below_the_truth() -> None:
    """Planted: `phi'` of the run's own share in place of the neighbour's fails here for most seeds."""
    for seed in range(24):
        check_random_case(seed)


@pytest.mark.slow
def test_no_bound_lies_below_the_truth_at_length() -> None:
    for seed in range(24, 1024):
        check_random_case(seed)


def test_the_random_cases_would_see_the_run_alone() -> None:
    """The loss of one run is no bound for the best of several, and the enumeration says so."""
    law, other = np.array([0.1, 0.9]), np.array([0.3, 0.7])
    run = DiscreteLoss.of_laws({0: 0.1, 1: 0.9}, {0: 0.3, 1: 0.7})
    one, two = released("geometric", 10.0, law[::-1]), released("geometric", 10.0, other[::-1])
    truth = max(math.fsum(np.maximum(a - math.exp(0.2) * b, 0.0)) for a, b in ((one, two), (two, one)))
    assert truth > privacy_loss(run).delta(0.2) + 0.01
    assert best_of(run, "geometric", mean=10.0).delta(0.2) >= truth


def renyi_epsilon(mu: float, runs: str, mean: float, delta: float) -> float:
    """Papernot and Steinke (ICLR 2022), Theorems 2 and 6, for Gaussian noise of sensitivity/sigma = mu.

    By Canonne, Kamath, Steinke's conversion, over a grid of orders.
    """
    best = math.inf
    for order in np.geomspace(1.02, 400, 500):
        own = order * mu * mu / 2
        if runs == "poisson":
            level = math.log1p(1 / (order - 1))
            small = ndtr(mu / 2 - level / mu) - math.exp(level) * ndtr(-mu / 2 - level / mu)
            spent = own + mean * small + math.log(mean) / (order - 1)
        else:
            eta, gamma, other = (
                {"geometric": 1, "logarithmic": 0}[runs],
                gamma_of(runs, mean),
                np.geomspace(1.001, 1e4, 800),
            )
            more = (1 - 1 / other) * other * mu * mu / 2 + math.log(1 / gamma) / other
            spent = own + (1 + eta) * float(more.min()) + math.log(mean) / (order - 1)
        best = min(best, spent + math.log1p(-1 / order) - math.log(delta * order) / (order - 1))
    return best


@together(("mu", "runs", "mean"), RENYI_CASES)
def test_renyi_accounting_is_never_tighter_by_more_than_two_thousandths(mu: float, runs: Any, mean: float) -> None:
    ours, renyi = best_of(Gaussian(1 / mu), runs, mean=mean).epsilon(1e-6), renyi_epsilon(mu, runs, mean, 1e-6)
    assert ours < renyi * (1.002 if runs == "poisson" else 0.995)


def test_pure_runs_have_the_theorems_epsilons() -> None:
    """Papernot and Steinke, Corollary 3: 3 epsilon for a geometric number, 2 epsilon for a logarithmic one."""
    for epsilon in (0.01, 1.0, 5.0):
        for runs, factor in (("geometric", 3), ("logarithmic", 2)):
            for mean in (2.0, 1e6):
                spent = best_of(Pure(epsilon), runs, mean=mean).epsilon(0.0)  # type: ignore[arg-type]
                assert epsilon < spent <= factor * epsilon * (1 + 1e-9)


def test_one_run_is_itself() -> None:
    loss = privacy_loss(Laplace(1.0))
    for runs in ("geometric", "logarithmic"):
        assert best_of(loss, runs, mean=1).directions == loss.directions  # type: ignore[arg-type]


def test_what_protects_nothing_or_everything() -> None:
    assert best_of(Pure(math.inf), "geometric", mean=3.0).delta(5.0) == 1
    for runs in NUMBERS:
        nothing = best_of(Pure(0.0), runs, mean=3.0)  # type: ignore[arg-type]
        assert nothing.epsilon(0.0) == 0
    some = best_of(compose([(subsample(RandomizedResponse(3.0), rate=0.1), 2)]), "poisson", mean=5.0)
    assert some.adjacency == "add/remove"
    assert len(some.directions) == 2
    assert "best of a poisson number of runs, 5 on average" in repr(some)


def test_the_best_of_runs_composes_from_above() -> None:
    once = best_of(Gaussian(10.0), "geometric", mean=10.0)
    twice = compose([(once, 2)])
    low, high = twice.epsilon_bounds(1e-6)
    assert low == 0
    assert once.epsilon(1e-6) < high < 2 * once.epsilon(5e-7)


@pytest.mark.parametrize(
    ("runs", "mean", "message"),
    [
        ("uniform", 2.0, "runs must be geometric, logarithmic or poisson, got 'uniform'"),
        (None, 2.0, "runs must be"),
        ("geometric", 0.5, r"mean must be a finite number >= 1, got 0.5"),
        ("poisson", 0.0, r"mean must be a finite number > 0, got 0"),
        ("poisson", math.inf, "mean must be a finite number > 0"),
        ("logarithmic", math.nan, "mean must be a finite number >= 1"),
        ("logarithmic", 1e13, r"mean must be at most 1e\+12"),
        ("geometric", "many", "mean must be a finite number >= 1"),
    ],
)
def test_bad_numbers_of_runs_are_refused(runs: Any, mean: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        best_of(Laplace(1.0), runs, mean=mean)
