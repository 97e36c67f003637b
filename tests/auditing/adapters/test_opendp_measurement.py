from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit
from ldp_audit.auditing.adapters import from_opendp
from ldp_audit.auditing.outputs import read
from tests.auditing.adapters.stand_ins import Measurement
from tests.together import together


def test_numbers_and_vectors_are_measured_once_for_each_output() -> None:
    sampler = from_opendp(Measurement())
    assert len(set(sampler(1.0, 5, np.random.default_rng(0)))) == 5
    vectors = sampler([1.0, 2.0], 5, np.random.default_rng(0))
    assert np.array(vectors).shape == (5, 2)
    assert len(np.unique(vectors)) == 10


def test_no_seed_decides_the_outputs_and_the_sampler_says_so() -> None:
    sampler = from_opendp(Measurement())
    assert not sampler.repeatable
    assert sampler(1.0, 5, np.random.default_rng(0)) != sampler(1.0, 5, np.random.default_rng(0))


@together("candidate", [3, Measurement, lambda x: x])
def test_what_is_no_measurement_is_refused(candidate: Any) -> None:
    with pytest.raises(ValueError, match="measurement must be an OpenDP measurement, with all its arguments, got"):
        from_opendp(candidate)


@pytest.fixture
def opendp() -> Any:
    module = pytest.importorskip("opendp.prelude", reason="opendp is not installed")
    module.enable_features("contrib")
    return module


def test_opendps_laplace_is_audited_at_its_epsilon(opendp: Any) -> None:
    """Epsilon is 1: the first fails once in 1e6 runs. At 0.2 the event y > 1 has 0.5 and 0.18: missed below 1e-9."""
    space = opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float)
    sampler = from_opendp(opendp.m.make_laplace(*space, scale=1.0))
    for claim, verdict in ((1.0, "consistent"), (0.2, "violated")):
        assert audit(sampler, (0.0, 1.0), claim, samples=4_000, confidence=1 - 1e-6, stateless=True).verdict == verdict


def test_opendps_randomised_response_gives_labels(opendp: Any) -> None:
    """Epsilon is log 6; missed below 1e-9 at 1."""
    sampler = from_opendp(opendp.m.make_randomized_response(["a", "b", "c"], 0.75))
    assert set(sampler("a", 200, np.random.default_rng(0))) == {"a", "b", "c"}  # one is missing once in 1e11 runs
    for claim, verdict in ((math.log(6), "consistent"), (1.0, "violated")):
        assert audit(sampler, ("a", "b"), claim, samples=2_000, confidence=1 - 1e-6, stateless=True).verdict == verdict


def test_opendps_vectors_are_vectors(opendp: Any) -> None:
    space = opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.l1_distance(T=float)
    sampler = from_opendp(opendp.m.make_laplace(*space, scale=1.0))
    for x in ([0.0, 1.0], (0.0, 1.0), np.array([0.0, 1.0])):
        assert read(sampler(x, 4, np.random.default_rng(0)), 4).shape == "vectors of 2"


def test_a_transformation_is_no_measurement(opendp: Any) -> None:
    space = opendp.vector_domain(opendp.atom_domain(bounds=(0, 1))), opendp.symmetric_distance()
    with pytest.raises(ValueError, match="measurement must be an OpenDP measurement"):
        from_opendp(opendp.t.make_sum(*space))
