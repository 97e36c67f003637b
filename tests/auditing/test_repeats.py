"""The calls that look for repetition: fewer where samples are few, and as sure where something is suspected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldp_audit import audit
from ldp_audit.auditing import PrivacyViolation, assert_private
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.test import FIRST_CALLS, first_calls, repeated
from tests.together import together

ERROR = 0.0005


class Counting:
    """A sampler that counts its calls for one output, which is no memory: its pickle is that of a new one."""

    def __init__(self, seed_bits: int | None) -> None:
        self.seed_bits, self.calls = seed_bits, 0

    def __reduce__(self) -> Any:
        return Counting, (self.seed_bits,)

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> Any:
        self.calls += n == 1
        own = rng if self.seed_bits is None else np.random.default_rng(int(rng.integers(2**8)) % 2**self.seed_bits)
        return x + own.laplace(size=n)


@together("samples", [1, 500, 1_950, 1_951, 3_333, 6_400, 10**6])
def test_calls_grow_with_the_samples_and_are_even(samples: int) -> None:
    """They are halved: an odd number once made more hits than calls."""
    found = first_calls(samples)
    assert 16 <= found <= FIRST_CALLS
    assert found % 2 == 0
    assert found <= max(16, samples // 50)
    assert first_calls(samples + 100) >= found


@together("samples", [500, 1_953, 3_906, 100_000])
@together("seed_bits", [0, 1, 2])
def test_a_program_of_few_seeds_is_suspected_whatever_the_samples(samples: int, seed_bits: int) -> None:
    sampler = Counting(seed_bits)
    witness, calls = repeated(Program(sampler), (0.0, 1.0), (0, 1), ERROR, 1.0, samples)
    assert witness is not None
    assert calls == 2 * (FIRST_CALLS + witness.counts.trials)  # a suspicion is looked at with all of them
    assert sampler.calls == calls


def test_an_honest_program_is_left_in_peace_after_few_calls() -> None:
    sampler = Counting(None)
    assert repeated(Program(sampler), (0.0, 1.0), (0, 1), ERROR, 1.0, 500) == (None, 32)
    assert sampler.calls == 32


def test_few_calls_and_all_of_them_end_in_the_same_test() -> None:
    both = [Program(Counting(1), seed=3) for _ in range(2)]
    few, all_of_them = (
        repeated(one, (0.0, 1.0), (0, 1), ERROR, 1.0, n) for one, n in zip(both, (500, 10**6), strict=True)
    )
    assert few == all_of_them


@together(("samples", "options"), [(500, {}), (1_953, {}), (10_000, {"confidence": 0.999, "sequential": True})])
def test_a_fixed_seed_is_caught(samples: int, options: dict[str, Any]) -> None:
    found = audit(Counting(0), (0.0, 1.0), 1.0, samples=samples, **{"confidence": 0.95, **options})
    assert found.violated


def test_a_violation_by_single_calls_stands_where_outputs_of_a_call_depend() -> None:
    """The event has the larger bound, and is withdrawn."""

    def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.array([x]) if n == 1 else x + rng.laplace(scale=0.1, size=n) + rng.normal(scale=0.3)

    found = audit(sampler, (0.0, 1.0), 0.5, samples=20_000)
    assert found.violated
    assert found.witness.calls_for_one
    assert "each output by a call of its own" in found.describe()
    with pytest.raises(PrivacyViolation) as caught:
        assert_private(sampler, 0.5, (0.0, 1.0), detects=2.0)
    assert caught.value.result.witness.calls_for_one


@together("samples", [1_953, 1_999, 2_750, 3_999])
def test_an_audit_of_any_size_counts_its_calls(samples: int) -> None:
    found = audit(Counting(None), (0.0, 1.0), 1.0, samples=samples, confidence=0.95)
    assert found.samples_used == 2 * samples + 2 * first_calls(samples)
