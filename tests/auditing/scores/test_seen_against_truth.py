"""What a search has seen of a learned score's event is what fresh samples show of it, within chance."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ldp_audit import audit
from ldp_audit.auditing.choice import Choice, Judge, Sample, choose_score
from ldp_audit.auditing.outputs import Outputs
from ldp_audit.auditing.scores import LEARNERS, NUMBER_LEARNERS, Score
from ldp_audit.auditing.scores.additive import Additive
from ldp_audit.auditing.scores.coordinate import Coordinate
from ldp_audit.auditing.scores.floating_point import UnitInLastPlace
from ldp_audit.auditing.scores.linear import Linear
from ldp_audit.auditing.scores.pattern import Pattern
from ldp_audit.auditing.scores.residuals import Residuals
from ldp_audit.auditing.scores.summary import Summary

ROWS, FRESH = 10_000, 100_000
SEARCHES, DEVIATIONS = 6, 4.6

Program = Callable[[int, int, np.random.Generator], np.ndarray]


def nearly_alike(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Laplace noise on three coordinates, epsilon 0.18: little more than a table of cells learns from noise."""
    return 0.06 * x + rng.laplace(size=(n, 3))


def nearly_alike_together(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Noise that three coordinates share, but for a tenth: differences of coordinates tell a little."""
    true = np.array([0.06 * x, 0.0, 0.0])
    return true + rng.laplace(size=(n, 1)) + 0.1 * rng.laplace(size=(n, 3))


def running_sums(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Sums of independent noise, each over one number more."""
    return np.cumsum(np.array([0.06 * x, 0.0, 0.0]) + rng.laplace(size=(n, 3)), axis=1)


def float_noise(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """A number plus textbook Laplace noise, whose last bits depend on the number."""
    u = rng.random(n) - 0.5
    return x / 3 - np.sign(u) * np.log1p(-2 * np.abs(u))


CASES: list[tuple[type[Score], Program]] = [
    (Coordinate, nearly_alike),
    (Additive, nearly_alike),
    (Pattern, nearly_alike),
    (Summary, nearly_alike),
    (Linear, nearly_alike_together),
    (Residuals, running_sums),
    (UnitInLastPlace, float_noise),
]


def _choice(kind: type[Score], program: Program, seed: int) -> Choice | None:
    rng = np.random.default_rng(seed)
    first, second = (Sample(*(Outputs(program(x, k * ROWS, rng)) for k in (1, 1, 2))) for x in (0, 1))
    scores = tuple(kind.learn(first.learn.known_numbers, second.learn.known_numbers, rng))
    return choose_score(first, second, Judge(10**6, 0.05, 0.0), rng, scores=scores) if scores else None


def _deviations(choice: Choice, program: Program, seed: int) -> float:
    """By how many standard deviations the log ratio that was seen exceeds that of fresh samples."""
    rng = np.random.default_rng([seed, 1])
    hits, other = (
        int(choice.event.contains(Outputs(program(x, FRESH, rng))).sum())
        for x in ((1, 0) if choice.swapped else (0, 1))
    )
    seen, p, q = choice.seen, (hits + 0.5) / (FRESH + 1), (other + 0.5) / (FRESH + 1)
    of_seen = math.log((seen.hits + 0.5) / (seen.trials + 1)) - math.log(
        (seen.other_hits + 0.5) / (seen.other_trials + 1)
    )
    variance = (1 - p) / p * (1 / seen.trials + 1 / FRESH) + (1 - q) / q * (1 / seen.other_trials + 1 / FRESH)
    return (of_seen - math.log(p / q)) / math.sqrt(variance)


def test_every_learner_has_a_case() -> None:
    learners = {learner.__qualname__.partition(".")[0] for learner in (*LEARNERS, *NUMBER_LEARNERS)}
    assert learners == {kind.__name__ for kind, _ in CASES}


@pytest.mark.parametrize(("kind", "program"), CASES, ids=lambda one: one.__name__)
def test_seen_is_true_for_every_learned_score(kind: type[Score], program: Program) -> None:
    """The mean of six searches. Each takes the best of at most 2,000 nested events, so that chance alone reaches a mean
    of 4.6 deviations with probability 1e-6 at most (a union bound over the events, and a chi-square tail over the six).

    Power: patterns whose half-lines are counted on the samples that they were learned on have a mean of 5.5.
    """
    choices = [_choice(kind, program, seed) for seed in range(SEARCHES)]
    found = [_deviations(choice, program, seed) for seed, choice in enumerate(choices) if choice is not None]
    assert len(found) == SEARCHES, "the learner proposed nothing"
    assert sum(found) / SEARCHES < DEVIATIONS, found


def test_a_small_violation_in_one_of_five_coordinates_is_found() -> None:
    """Twice the claim, a million samples. 8 of 8 seeds; 1 of 8 where a table of cells flatters itself and is chosen."""

    def program(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.array([0.08 * x, 0.0, 0.0, 0.0, 0.0]) + rng.laplace(size=(n, 5))

    result = audit(program, (0, 1), claimed_epsilon=0.04, samples=1_000_000, seed=0)
    assert result.violated, result.describe()
