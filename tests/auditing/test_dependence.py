"""Programs whose outputs of one call depend on each other are not accused on the strength of their number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit


def one_draw(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + np.full(n, rng.laplace())


def used_again(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Each draw of noise is used ten times in a call."""
    return x + np.tile(rng.laplace(size=-(-n // 10)), 10)[:n]


def too_little_noise(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.laplace(scale=0.5, size=n)


def one_seed(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Ignores the generator: each run repeats itself, which is a leak."""
    return x + np.random.default_rng(0).laplace(size=n)


@pytest.mark.parametrize("seed", range(8))
def test_noise_that_is_shared_within_a_call_gives_no_bound_above_the_truth(seed: int) -> None:
    """The true epsilon is 1 for each output alone."""
    for sampler in (one_draw, used_again):
        result = audit(sampler, (0.0, 1.0), 1.0, samples=20_000, seed=seed)
        assert not result.violated
        assert result.epsilon_lower <= 1


@pytest.mark.parametrize("sampler", [too_little_noise, one_seed])
def test_a_broken_program_of_independent_calls_is_still_accused(sampler: Any) -> None:
    assert audit(sampler, (0.0, 1.0), 1.0, samples=20_000).violated


def test_without_a_claim_calls_are_compared_too() -> None:
    for seed in range(4):
        assert audit(one_draw, (0.0, 1.0), samples=20_000, seed=seed).epsilon_lower <= 1


def test_the_note_says_what_was_seen() -> None:
    notes = [audit(one_draw, (0.0, 1.0), 1.0, samples=20_000, seed=seed).notes for seed in range(8)]
    assert any("outputs of one call depend on each other" in text for note in notes for text in note)
