"""Programs whose outputs depend on each other are not accused on the strength of their number; the others are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit
from ldp_audit.auditing.dependence import Pristine
from ldp_audit.auditing.program import Program


class Rappor:
    """A permanent answer on eight bits, remembered for each value, and a fresh one from it: epsilon 1.02 a report."""

    def __init__(self) -> None:
        self.memory: dict[Any, np.ndarray] = {}

    def __call__(self, x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        if x not in self.memory:
            told = np.arange(8) == x
            self.memory[x] = np.where(rng.random(8) < 0.5, rng.random(8) < 0.5, told)
        return (rng.random((n, 8)) < np.where(self.memory[x], 0.75, 0.5)).astype(int)


def closure() -> Any:
    """The same, remembered by a closure, which no copy of an object would hold."""
    client = Rappor()
    return lambda x, n, rng: client(x, n, rng)


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


@pytest.mark.parametrize("make", [Rappor, closure], ids=["object", "closure"])
@pytest.mark.parametrize("sequential", [False, True])
def test_a_client_that_remembers_is_not_accused(make: Callable[[], Any], sequential: bool) -> None:
    """Would catch "violated, at least 2.4" of a sound program."""
    result = audit(make(), (0, 1), 1.02, samples=30_000, sequential=sequential)
    assert result.verdict == "inconclusive"
    assert result.epsilon_lower == 0
    assert "fresh copies of the process" in result.notes[0]


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


def test_where_processes_cannot_be_copied_calls_alone_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.fork")
    with Pristine(Program(one_draw)) as pristine:
        witness = audit(too_little_noise, (0.0, 1.0), 1.0, samples=20_000).witness
        assert pristine.counts(Program(one_draw), witness) is None
    assert not audit(one_draw, (0.0, 1.0), 1.0, samples=20_000).violated
