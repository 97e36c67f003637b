"""Matrix factorisations: the largest move by enumeration of all sets of steps, and trees."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.accounting import compose, factorised, privacy_loss, tree
from ldp_audit.mechanisms import Gaussian


def allowed_sets(steps: int, most: int, apart: int) -> list[tuple[int, ...]]:
    return [
        one
        for size in range(1, most + 1)
        for one in itertools.combinations(range(steps), size)
        if all(b - a >= apart for a, b in itertools.pairwise(one))
    ]


def largest_moves(matrix: np.ndarray, most: int, apart: int) -> tuple[float, float]:
    """The largest move by one vector with signs, which is attained, and the bound by absolute values."""
    gram = matrix.T @ matrix
    attained, bound = 0.0, 0.0
    for one in allowed_sets(matrix.shape[1], most, apart):
        part = gram[np.ix_(one, one)]
        signs = itertools.product((-1, 1), repeat=len(one) - 1)
        attained = max(attained, *(float(np.array((1, *s)) @ part @ np.array((1, *s))) for s in signs))
        bound = max(bound, float(np.abs(part).sum()))
    return math.sqrt(attained), math.sqrt(bound)


def test_random_strategies_enclose_the_largest_move() -> None:
    rng = np.random.default_rng(0)
    exact = 0
    for _ in range(150):
        steps, apart = int(rng.integers(1, 8)), int(rng.integers(1, 4))
        most = int(rng.integers(1, steps + 1))
        matrix = rng.normal(size=(int(rng.integers(1, 6)), steps)) * 10.0 ** rng.integers(-2, 3)
        if rng.random() < 0.5:
            matrix = np.abs(matrix)
        if rng.random() < 0.5 and len(matrix) <= steps:
            matrix = np.tril(np.resize(matrix, (steps, steps)))
        attained, bound = largest_moves(matrix, most, apart)
        loss = factorised(matrix, 2.0, participations=most, separation=apart)
        low, high = loss.delta_bounds(0.1)
        if attained > 0:
            below = privacy_loss(Gaussian(2.0 / attained)).delta_bounds(0.1)[0]
            assert high >= below * (1 - 1e-9)
        if bound > 0:
            assert low <= privacy_loss(Gaussian(2.0 / bound)).delta_bounds(0.1)[1] * (1 + 1e-9)
        exact += loss.exact
    assert exact > 50


def test_independent_noise_is_a_composition() -> None:
    loss, steps = factorised(np.eye(30), 4.0), compose([(Gaussian(4.0), 30)])
    assert loss.epsilon(1e-6) == pytest.approx(steps.epsilon(1e-6), rel=1e-9)
    assert loss.exact
    once = factorised(np.eye(30), 4.0, participations=1)
    assert once.epsilon(1e-6) == pytest.approx(privacy_loss(Gaussian(4.0)).epsilon(1e-6), rel=1e-9)
    epochs = factorised(np.eye(30), 4.0, separation=10)
    assert epochs.epsilon(1e-6) == pytest.approx(compose([(Gaussian(4.0), 3)]).epsilon(1e-6), rel=1e-9)


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 13, 64])
def test_a_record_of_one_step_lies_below_the_nodes_of_its_path(steps: int) -> None:
    matrix = tree(steps)
    assert set(np.unique(matrix)) <= {0.0, 1.0}
    assert matrix[:steps].tolist() == np.eye(steps).tolist()
    depth = 1 + math.ceil(math.log2(steps))
    assert matrix.sum(axis=0).max() == depth
    loss = factorised(matrix, 3.0, participations=1)
    assert loss.epsilon(1e-6) == pytest.approx(privacy_loss(Gaussian(3.0 / math.sqrt(depth))).epsilon(1e-6), rel=1e-9)


def test_prefix_sums_by_a_square_root_are_exact_for_epochs() -> None:
    """The Toeplitz square root of the prefix sums, of falling entries >= 0: evenly spaced steps from the first on.

    Kalinin, Lampert, "Banded Square Root Matrix Factorization" (NeurIPS 2024), Theorem 2.
    """
    steps, apart = 60, 20
    entries = np.cumprod(np.concatenate([[1.0], 1 - 0.5 / np.arange(1, steps)]))
    matrix = np.array([[entries[i - j] if i >= j else 0.0 for j in range(steps)] for i in range(steps)])
    move = np.linalg.norm(matrix[:, ::apart].sum(axis=1))
    low, high = factorised(matrix, 1.0, separation=apart).epsilon_bounds(1e-6)
    truth = privacy_loss(Gaussian(1 / move)).epsilon(1e-6)
    assert low <= truth * (1 + 1e-9) <= high * (1 + 2e-9)
    assert high < low * 1.03


def test_what_contributes_nothing_shows_nothing() -> None:
    assert factorised(np.zeros((2, 3)), 1.0).epsilon(0.0) == 0
    assert "takes part in 2 steps at most, 5 or more apart" in repr(factorised(np.eye(8), 1.0, separation=5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strategy": [1.0]}, r"strategy must be a matrix of a column for each step, got shape \(1,\)"),
        ({"strategy": np.zeros((0, 3))}, "strategy must be a matrix"),
        ({"strategy": [[math.nan]]}, "strategy must be finite real numbers"),
        ({"sigma": 0}, "sigma must be a finite number > 0, got 0"),
        ({"participations": 0}, r"participations must be a whole number in 1 .. 3, got 0"),
        ({"participations": 4}, r"participations must be a whole number in 1 .. 3, got 4"),
        ({"separation": 0}, "separation must be a whole number >= 1, got 0"),
    ],
)
def test_bad_factorisations_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        factorised(**{"strategy": np.eye(3), "sigma": 1.0, **change})
