"""One table of mechanisms with finitely many outputs; every row is held to brute force over all inputs and outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest

from ldp_audit.mechanisms import (
    ExponentialSelection,
    PerturbedEncoding,
    PerturbedSampling,
    RandomizedResponse,
    TwoPoint,
)
from tests.frequency import assert_frequency
from tests.together import together


@dataclass(frozen=True)
class Row:
    """A mechanism with all of its inputs (or those that matter) and all of its outputs."""

    mechanism: Any
    inputs: list
    outputs: list

    def law(self, x: Any) -> np.ndarray:
        return np.exp([float(self.mechanism.log_prob(y, x)) for y in self.outputs])


def sets(d: int, k: int) -> list[np.ndarray]:
    return [np.isin(np.arange(d), chosen) for chosen in combinations(range(d), k)]


def rankings(d: int) -> list[np.ndarray]:
    return [np.array(order) for order in permutations(range(1, d + 1))]


RESPONSES = ((1e-9, 2), (0.5, 3), (1.0, 2), (5.0, 7), (50.0, 4))
SELECTIONS = ((1e-9, 4, 2), (1.0, 2, 1), (0.3, 5, 2), (4.0, 5, 4))
RANKINGS = ((1e-9, 3), (1.0, 2), (0.3, 4), (6.0, 4))

ROWS = [
    *(Row(RandomizedResponse(e, k), list(range(k)), list(range(k))) for e, k in RESPONSES),
    *(Row(TwoPoint(e), [-1.0, -0.4, 0.0, 1.0], list(TwoPoint(e).outputs())) for e in (1e-9, 0.5, 3.0)),
    *(Row(PerturbedSampling(e, d, k), sets(d, k), list(range(d))) for e, d, k in SELECTIONS),
    *(Row(PerturbedEncoding(e, d, k), sets(d, k), [None, *range(d)]) for e, d, k in (*SELECTIONS, (1.0, 5, 1))),
    *(Row(ExponentialSelection(e, d), rankings(d), list(range(d))) for e, d in RANKINGS),
]

rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: repr(row.mechanism))


@rows
def test_the_probabilities_add_up_to_one(row: Row) -> None:
    for x in row.inputs:
        assert math.fsum(row.law(x)) == pytest.approx(1, abs=4e-15)


@rows
def test_exact_epsilon_is_the_largest_log_ratio(row: Row) -> None:
    laws = [row.law(x) for x in row.inputs]
    brute = max(float(np.max(np.log(p) - np.log(q))) for p, q in product(laws, laws))
    assert row.mechanism.exact_epsilon() == pytest.approx(brute, rel=1e-9, abs=1e-14)


@rows
def test_delta_is_the_largest_hockey_stick_divergence(row: Row) -> None:
    laws = [row.law(x) for x in row.inputs]
    for level in np.array([0.0, 0.3, 0.9, 1.5]) * row.mechanism.exact_epsilon():
        brute = max(float(np.maximum(p - math.exp(level) * q, 0).sum()) for p, q in product(laws, laws))
        assert row.mechanism.delta(level) == pytest.approx(brute, rel=1e-9, abs=1e-15), f"epsilon {level}"


@rows
def test_the_worst_pair_attains_both(row: Row) -> None:
    p, q = (row.law(x) for x in row.mechanism.worst_pair())
    epsilon = row.mechanism.exact_epsilon()
    attained = max(np.max(np.log(p) - np.log(q)), np.max(np.log(q) - np.log(p)))
    assert attained == pytest.approx(epsilon, rel=1e-9, abs=1e-14)
    delta = max(np.maximum(p - q, 0).sum(), np.maximum(q - p, 0).sum())
    assert delta == pytest.approx(row.mechanism.delta(0.0), rel=1e-9, abs=1e-15)


@rows
def test_the_sampler_draws_from_the_law(row: Row) -> None:
    """False alarm 1e-6 an output; with 20,000 draws a probability off by 0.03 is missed with a chance below 1e-4."""
    x, trials = row.inputs[-1], 20_000
    drawn = row.mechanism.sample(np.array([x] * trials), rng=np.random.default_rng(11))
    for y, probability in zip(row.outputs, row.law(x), strict=True):
        assert_frequency(int(np.sum(drawn == (-1 if y is None else y))), trials, float(probability))


@rows
def test_the_implemented_epsilon_is_close_below_the_exact_one(row: Row) -> None:
    exact, implemented = row.mechanism.exact_epsilon(), row.mechanism.implemented().exact_epsilon()
    assert implemented <= exact * (1 + 1e-15)
    assert implemented >= min(exact * (1 - 1e-6), 40.0) or exact < 1e-6


@rows
def test_a_seed_gives_the_same_reports(row: Row) -> None:
    x = np.array([row.inputs[0]] * 50)
    first, second = (row.mechanism.sample(x, rng=np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, second)


@rows
def test_levels_must_be_levels(row: Row) -> None:
    assert row.mechanism.delta([[0.0, 1.0]]).shape == (1, 2)
    for bad in (-1.0, math.nan):
        with pytest.raises(ValueError, match="epsilon must be >= 0 everywhere"):
            row.mechanism.delta(bad)


@together(
    ("build", "message"),
    [
        (lambda: RandomizedResponse(1.0, 1), "k must be a whole number >= 2, got 1"),
        (lambda: RandomizedResponse(1.0, 2.5), "k must be a whole number >= 2, got 2.5"),
        (lambda: RandomizedResponse(-1.0), "epsilon must be a number >= 0, got -1.0"),
        (lambda: PerturbedSampling(0.0, 3, 1), "epsilon must be a finite number > 0, got 0.0"),
        (lambda: PerturbedSampling(1.0, 3, 3), "k must be a whole number from 1 to d - 1 = 2, got 3"),
        (lambda: PerturbedEncoding(1.0, 3, 0), "k must be a whole number >= 1, got 0"),
        (lambda: PerturbedEncoding(math.inf, 3, 1), "epsilon must be a finite number > 0, got inf"),
        (lambda: ExponentialSelection(1.0, 1), "d must be a whole number >= 2, got 1"),
        (lambda: RandomizedResponse(1.0).mean(2), "x must be whole numbers in 0..1, got 2"),
        (lambda: PerturbedSampling(1.0, 3, 1).log_prob(0, [1, 1, 0]), "with exactly 1 ones in each vector"),
        (lambda: PerturbedSampling(1.0, 3, 1).log_prob(5, [1, 0, 0]), "y must be an index in 0..2, or None"),
        (lambda: PerturbedSampling(1.0, 3, 1).log_prob(0, [0.5, 0.5, 0]), "x must be status vectors"),
        (lambda: ExponentialSelection(1.0, 3).log_prob(0, [1, 1, 3]), "x must be rankings"),
        (lambda: ExponentialSelection(1.0, 3).log_prob(0, [1, 2]), "x must be whole numbers of shape"),
        (lambda: PerturbedEncoding(1.0, 3, 1).sample([[1, 0, 0]], rng=None), "rng must be a numpy.random.Generator"),
    ],
)
def test_bad_input_is_named(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        build()
