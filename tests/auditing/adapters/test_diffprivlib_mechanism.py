from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit
from ldp_audit.auditing.adapters import from_diffprivlib
from tests.auditing.adapters.stand_ins import DPMechanism, DPTransformer
from tests.together import together


def draws(mechanism: Any, x: Any, *seeds: int) -> list[Any]:
    return [from_diffprivlib(mechanism)(x, 12, np.random.default_rng(seed)) for seed in seeds]


@together("wrapped", [0, 1, 2])
def test_a_mechanism_with_a_state_is_seeded_through_its_transformers(wrapped: int) -> None:
    mechanism: Any = DPMechanism(scale=100.0, random_state=5)
    for _ in range(wrapped):
        mechanism = DPTransformer(mechanism)
    first, again, other = draws(mechanism, 1.0, 3, 3, 4)
    assert first == again
    assert first != other
    assert from_diffprivlib(mechanism).repeatable


def test_the_mechanism_itself_is_left_as_it_was() -> None:
    mechanism, twin = DPMechanism(scale=1.0, random_state=5), DPMechanism(scale=1.0, random_state=5)
    draws(DPTransformer(mechanism), 1.0, 3)
    assert mechanism.randomise(0.0) == twin.randomise(0.0)


def test_without_a_state_no_seed_decides_the_outputs_and_the_sampler_says_so() -> None:
    mechanism = DPTransformer(DPMechanism(scale=1e9))
    first, again = draws(mechanism, 1.0, 3, 3)
    assert first != again
    assert not from_diffprivlib(mechanism).repeatable


@together("candidate", [3, DPMechanism, lambda x: x])
def test_what_is_no_mechanism_is_refused(candidate: Any) -> None:
    with pytest.raises(ValueError, match=r"mechanism must be a diffprivlib mechanism, with randomise\(value\), got"):
        from_diffprivlib(candidate)


@pytest.fixture
def mechanisms() -> Any:
    return pytest.importorskip("diffprivlib.mechanisms", reason="diffprivlib is not installed")


def test_diffprivlibs_laplace_is_audited_at_its_epsilon(mechanisms: Any) -> None:
    """Epsilon is 1: the first fails once in 1e6 seeds. At 0.2 the event y > 1 has 0.5 and 0.18: missed below 1e-9."""
    for state in (None, 0):
        sampler = from_diffprivlib(mechanisms.Laplace(epsilon=1.0, sensitivity=1.0, random_state=state))
        assert sampler.repeatable is (state is not None)
        for claim, verdict in ((1.0, "consistent"), (0.2, "violated")):
            assert audit(sampler, (0.0, 1.0), claim, samples=4_000, confidence=1 - 1e-6).verdict == verdict


def test_diffprivlibs_mechanisms_of_all_kinds_are_repeatable_with_a_state(mechanisms: Any) -> None:
    rounded = pytest.importorskip("diffprivlib.mechanisms.transforms").RoundedInteger
    cases = [
        (mechanisms.Binary(epsilon=1.0, value0="no", value1="yes", random_state=0), "no"),
        (mechanisms.ExponentialCategorical(epsilon=1.0, utility_list=[["a", "b", 1.0]], random_state=0), "a"),
        (mechanisms.GeometricTruncated(epsilon=0.1, lower=0, upper=1000, random_state=0), 500),
        (mechanisms.Exponential(epsilon=1.0, sensitivity=1, utility=[1.0, 2.0, 3.0], random_state=0), None),
        (mechanisms.Snapping(epsilon=1.0, sensitivity=1, lower=0, upper=10, random_state=0), 5.0),
        (mechanisms.Bingham(epsilon=1.0, sensitivity=1.0, random_state=0), np.eye(2)),
        (rounded(mechanisms.Laplace(epsilon=0.01, sensitivity=1, random_state=0)), 5),
    ]
    for mechanism, x in cases:
        first, again, other = draws(mechanism, x, 3, 3, 4)
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)
