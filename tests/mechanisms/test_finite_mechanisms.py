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


@together("row", ROWS)
def test_epsilon_and_delta_are_the_largest_over_all_pairs_and_the_worst_pair_attains_them(row: Row) -> None:
    m, laws = row.mechanism, [row.law(x) for x in row.inputs]
    assert [math.fsum(p) for p in laws] == pytest.approx([1.0] * len(laws), abs=4e-15)
    brute = max(float(np.max(np.log(p) - np.log(q))) for p, q in product(laws, laws))
    assert m.exact_epsilon() == pytest.approx(brute, rel=1e-9, abs=1e-14)
    p, q = (row.law(x) for x in m.worst_pair())
    assert np.max(np.abs(np.log(p) - np.log(q))) == pytest.approx(brute, rel=1e-9, abs=1e-14)
    for level in np.array([0.0, 0.3, 0.9, 1.5]) * m.exact_epsilon():
        brute = max(float(np.maximum(a - math.exp(level) * b, 0).sum()) for a, b in product(laws, laws))
        assert m.delta(level) == pytest.approx(brute, rel=1e-9, abs=1e-15), f"epsilon {level}"
    assert np.maximum(p - q, 0).sum() == pytest.approx(m.delta(0.0), rel=1e-9, abs=1e-15)
    implemented = m.implemented().exact_epsilon()
    assert min(m.exact_epsilon() * (1 - 1e-6), 40.0) <= implemented <= m.exact_epsilon() or m.exact_epsilon() < 1e-6


@together(
    ("build", "message"),
    [
        (lambda: RandomizedResponse(1.0, 1), "k must be a whole number >= 2, got 1"),
        (lambda: PerturbedSampling(1.0, 3, 3), "k must be a whole number from 1 to d - 1 = 2, got 3"),
        (lambda: PerturbedEncoding(1.0, 3, 0), "k must be a whole number >= 1, got 0"),
        (lambda: ExponentialSelection(1.0, 1), "d must be a whole number >= 2, got 1"),
        (lambda: RandomizedResponse(1.0).log_prob(0, 2), "x must be whole numbers in 0..1, got 2"),
        (lambda: PerturbedSampling(1.0, 3, 1).log_prob(0, [1, 1, 0]), "with exactly 1 ones in each vector"),
        (lambda: PerturbedSampling(1.0, 3, 1).log_prob(5, [1, 0, 0]), "y must be an index in 0..2, or None"),
        (lambda: PerturbedSampling(1.0, 3, 1).log_prob(0, [0.5, 0.5, 0]), "x must be status vectors"),
        (lambda: ExponentialSelection(1.0, 3).log_prob(0, [1, 1, 3]), "x must be rankings"),
        (lambda: ExponentialSelection(1.0, 3).log_prob(0, [1, 2]), "x must be whole numbers of shape"),
    ],
)
def test_bad_input_is_named(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        build()
