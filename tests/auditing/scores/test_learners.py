"""Learners on odd samples: nothing raises, nothing warns, and what they propose can be written and used."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from ldp_audit.auditing.scores import LEARNERS, score_from_dict
from ldp_audit.auditing.scores.additive import Additive
from ldp_audit.auditing.scores.coordinate import Coordinate
from ldp_audit.auditing.scores.learning import interactions, joined
from ldp_audit.auditing.scores.pattern import Pattern
from tests.auditing.scores.programs import index_and_value, unary_encoding
from tests.together import together

INF = math.inf


def _odd(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    one, two = rng.laplace(size=(n, 4)), rng.laplace(size=(n, 4))
    index, other = rng.integers(0, 4, n), rng.integers(0, 4, n)
    return {
        "constant": (np.ones((n, 3)), np.ones((n, 3))),
        "two constants": (np.ones((n, 3)), np.zeros((n, 3))),
        "huge": (rng.choice([-1.7e308, 1.7e308, 0.0], (n, 3)), rng.choice([-1.7e308, 1.7e308, 1e300], (n, 3))),
        "tiny": (one * 5e-324, two * 1e-320),
        "infinite": (rng.choice([-INF, INF, 1.0], (n, 3)), rng.choice([-INF, INF, 2.0], (n, 3))),
        "all infinite": (np.full((n, 2), INF), np.full((n, 2), -INF)),
        "some infinite": (np.where(one > 1, INF, one * 1e305), np.where(two > 1, -INF, two)),
        "duplicates": (np.repeat(one[:, :1], 5, axis=1), np.repeat(two[:, :1] + 1, 5, axis=1)),
        "whole numbers": (rng.integers(0, 10**6, (n, 3)) * 1.0, rng.integers(9, 10**6, (n, 3)) * 1.0),
        "separable": (one, two + 1e6),
        "negative zero": (rng.choice([-0.0, 0.0], (n, 2)), rng.choice([-0.0, 0.0, 1.0], (n, 2))),
        "heavy tails": (rng.standard_cauchy((n, 3)) ** 9, rng.standard_cauchy((n, 3)) ** 9 + 1),
        "column order": (np.asfortranarray(one), two[:, ::-1]),
        "unequal": (one, two[: n // 2 + 1]),
        "infinite interaction": (
            np.stack([index, np.where(index % 2 == 0, INF, one[: len(index), 0])], axis=1),
            np.stack([other, np.where(other % 2 == 1, INF, two[: len(other), 0])], axis=1),
        ),
        "wide": (np.tile(one, (1, 30)), np.tile(two, (1, 30))),
    }[name]


NAMES = [
    *("constant", "two constants", "huge", "tiny", "infinite", "all infinite", "some infinite", "duplicates"),
    *("whole numbers", "separable", "negative zero", "heavy tails", "column order", "unequal"),
    *("infinite interaction", "wide"),
]


@pytest.mark.covering(1)
@pytest.mark.parametrize("n", [1, 25, 1000])
@pytest.mark.parametrize("name", NAMES)
def test_learners_bear_odd_samples(name, n):
    first, second = _odd(name, n)
    for learner in LEARNERS:
        for score in learner(first, second, np.random.default_rng(0)):
            again = score_from_dict(json.loads(json.dumps(score.to_dict(), allow_nan=False)))
            assert again == score
            for rows in (first, second, np.full((1, first.shape[1]), INF), first[:0]):
                values = score.of(rows)
                assert values.shape == (len(rows),)
                assert values.dtype == np.float64
                assert not np.isnan(values).any()
                assert np.array_equal(values, again.of(rows))
            assert score.describe()


def test_the_same_seed_proposes_the_same_scores():
    first, second = (index_and_value(x, 4000, np.random.default_rng(x)) for x in (0, 1))
    proposed = [
        [score for learner in LEARNERS for score in learner(first, second, np.random.default_rng(4))] for _ in range(2)
    ]
    assert proposed[0] == proposed[1]
    assert any(isinstance(score, Pattern) for score in proposed[0])


def test_learners_propose_few_scores():
    """Each is tried on all search samples."""
    rng = np.random.default_rng(8)
    for dimension in (2, 60):
        first, second = rng.laplace(0, 1, (5000, dimension)), rng.laplace(0.3, 1.5, (5000, dimension))
        assert sum(len(learner(first, second, rng)) for learner in LEARNERS) <= 14


@together("leak", [lambda y, x: np.full(len(y), float(x)), lambda y, x: y + 30 * x])
def test_a_coordinate_that_seldom_tells_its_input_is_among_those_that_are_tried(leak):
    """100 of 50,000 outputs are in the clear, or far away: 10 deviations, where other coordinates reach 5 or so.

    Would catch a rank by Kolmogorov and Smirnov's distance, of which these are a tenth.
    """
    rng = np.random.default_rng(4)
    samples = [rng.laplace(size=(50_000, 20)) for _ in (0, 1)]
    for x, sample in enumerate(samples):
        sample[:100, 11] = leak(sample[:100, 11], x)
    assert Coordinate.learn(*samples, rng)[0].place == 11


def test_the_additive_score_of_a_unary_encoding_keeps_the_two_bits_that_tell():
    """By design noise adds a bit with probability below 0.05; at the fixed seed it does not."""
    rng = np.random.default_rng(3)
    first, second = (unary_encoding(x, 40_000, rng, bits=20) for x in (0, 1))
    score = Additive.learn(first, second, rng)[0]
    assert score.places == (0, 1)
    assert score.edges == ((1.0,), (1.0,))
    assert score.weights == ((0.0, 1.0), (1.0, 0.0))


def test_interactions_are_found_where_they_are_and_not_where_they_are_not():
    """False alarms have probability 0.001 by design; the deviation where there is one is above 15."""
    rng = np.random.default_rng(12)
    assert interactions(*(index_and_value(x, 10_000, rng) for x in (0, 1))).found
    assert not interactions(*(unary_encoding(x, 10_000, rng, bits=12) for x in (0, 1))).found
    assert not interactions(*(rng.laplace(x, 1, (10_000, 6)) for x in (0, 1))).found


def test_cells_that_differ_stay_apart_and_others_are_joined():
    levels = joined(np.array([500, 500, 100, 0]), np.array([250, 250, 100, 50]), 3.0)
    assert levels.starts.tolist() == [0, 2, 3]
    assert levels.x.tolist() == [1000, 100, 0]
    assert levels.weights[2] == 0
    assert levels.weights[0] > levels.weights[1] > 0
