"""The event that is shortest to say shows nearly as much as the best one, and less is given away near a claim."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldp_audit.auditing.choice import Choice, Judge, Sample, choose_score
from ldp_audit.auditing.outputs import read
from ldp_audit.auditing.plainest import GIVEN_AWAY, plainest
from tests.together import together

JUDGE = Judge(100_000, 1e-3, 0.0)
SIZE = 4_000


def _bits(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Six bits, of which that in the input's place is likelier to be 1."""
    share = np.full(6, 0.25)
    share[x] = 0.75
    return (rng.random((n, 6)) < share).astype(int)


def _pairs(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """A bit, and another that differs from it in a quarter of the outputs, or in half: neither alone tells anything."""
    first, second = rng.integers(0, 2, (2, n))
    return np.stack([first, (first + (second if x else (rng.random(n) < 0.25))) % 2], axis=1)


def _noise(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.laplace(size=n)


def _chosen(program: Any, epsilon: float | None, seed: int = 0) -> tuple[Choice, Choice]:
    rng = np.random.default_rng(seed)
    first, second = (Sample(*(read(program(x, SIZE, rng), SIZE) for _ in range(3))) for x in (0, 1))
    best = choose_score(first, second, JUDGE, rng)
    return best, plainest(best, first, second, JUDGE, epsilon)


@together(
    ("program", "words"),
    [
        (_bits, {"y[0] = 1 and y[1] = 0", "y[0] = 0 and y[1] = 1"}),
        (_pairs, {"y in {(0,1), (1,0)}", "y in {(1,0), (0,1)}"}),
    ],
)
def test_a_learned_score_is_said_as_a_condition(program: Any, words: set[str]) -> None:
    _, plain = _chosen(program, None)
    assert plain.event.describe() in words
    assert plain.event.complete


@together("program", [_bits, _pairs, _noise])
@together("epsilon", [None, 0.0, 0.9, 1.0])
def test_no_more_is_given_away_than_is_allowed(program: Any, epsilon: float | None) -> None:
    best, plain = _chosen(program, epsilon, seed=2)
    most = GIVEN_AWAY * best.predicted
    if epsilon is not None:
        most = min(most, 0.1 * abs(JUDGE.expected(best.seen) - epsilon))
    assert plain.predicted >= best.predicted - most - 1e-9
    assert plain.swapped == best.swapped
    assert plain.predicted == JUDGE.expected(plain.seen, 3.0)  # of the counts that it states


def test_a_threshold_has_few_digits_unless_each_counts() -> None:
    """Would catch an edge rounded across a claim that lies just below the bound."""
    best, plain = _chosen(_noise, None)
    assert len(plain.event.describe()) <= len("y < 0.25") < len(best.event.describe())
    claim = JUDGE.expected(best.seen) - 1e-4
    _, careful = _chosen(_noise, claim)
    assert careful.predicted >= best.predicted - 1.1e-5
    assert math.isfinite(careful.predicted)
