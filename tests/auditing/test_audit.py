from __future__ import annotations

import json
import math
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from ldp_audit import audit, search
from ldp_audit.auditing import ProgramError
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.test import FIRST_CALLS
from tests.auditing import samplers
from tests.together import together

CASES = {
    "RandomizedResponse": (samplers.randomized_response(1.0), (0, 1), 1.0, 0.98),
    "k-RR": (samplers.randomized_response(2.0, 10), (0, 1), 2.0, 0.975),
    "TwoPoint": (samplers.two_point(4.0), (-1, 1), 4.0, 0.98),
    "Piecewise": (samplers.piecewise(1.0), (-1, 1), 1.0, 0.97),
    "Laplace": (samplers.laplace(1.0), (0, 1), 1.0, 0.97),
    "labels and None": (samplers.labels, (0, 1), samplers.LOG_3, 0.98),
    "atom and density": (samplers.atom_and_density, (0, 1), samplers.LOG_3, 0.98),
    "noisy max that releases its value": (samplers.noisy_max_value, ([0] * 5, [1] * 5), 2.5, 0.9),
}
"""sampler, inputs, true epsilon, the share of it that the bound must reach at 200,000 samples (seed 0)."""


@together("name", CASES)
def test_the_bound_comes_close_to_the_truth_from_below_and_a_claim_between_them_is_violated(name: str) -> None:
    """Each bound errs with probability 1e-6 at most; how close it comes is fixed by the seed."""
    sampler, inputs, epsilon, share = CASES[name]
    tight = audit(sampler, inputs, 0.8 * epsilon, samples=200_000, confidence=0.95, stateless=True)
    assert tight.violated
    assert tight.epsilon_lower > share * epsilon
    assert tight.delta_lower is not None
    assert tight.delta_lower > 0
    safe = audit(sampler, inputs, epsilon, samples=20_000, confidence=1 - 1e-6)
    assert safe.verdict == "consistent"
    assert safe.epsilon_lower <= epsilon


def test_the_worst_pair_of_several_inputs_is_reported() -> None:
    result = audit(samplers.laplace(1.0), [0.0, 0.1, -1.0, 1.0], 2.0, samples=100_000)
    assert set(result.witness.inputs) == {-1.0, 1.0}
    searched = 4 * 5_000  # of each of the other inputs, whose events are not compared again
    assert result.samples_used == 2 * 100_000 + 2 * searched + 2 * FIRST_CALLS


def test_a_search_screens_many_pairs() -> None:
    def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        """A leak between 0 and everything else, and none otherwise."""
        return (rng.random(n) < (0.9 if x == 0 else 0.2)).astype(int)

    result = audit(sampler, search(-1, 1, grid=5, random=3), 1.0, samples=50_000)
    assert result.violated
    assert 0.0 in result.witness.inputs


def test_only_pairs_that_are_neighbours_are_compared() -> None:
    def total(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return x + rng.laplace(size=n)

    neighbours = search(values=[0, 1, 2, 3], adjacent=lambda x, y: abs(x - y) == 1)
    result = audit(total, neighbours, 1.0, samples=50_000, confidence=1 - 1e-6)
    assert result.verdict == "consistent"
    assert abs(result.witness.inputs[0] - result.witness.inputs[1]) == 1


def test_delta_is_accounted_for() -> None:
    """With probability 0.01 the input is released: (0, 0.01) at best, and never pure."""

    def leak(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(n) < 0.01, x, rng.integers(0, 2, n))

    pure = audit(leak, (0, 1), 0.0, samples=500_000)
    assert pure.violated
    assert pure.delta_lower is not None
    assert 0.005 < pure.delta_lower <= 0.01
    assert not audit(leak, (0, 1), 0.0, 0.01, samples=500_000, confidence=1 - 1e-6).violated


def test_supports_that_differ_give_a_bound_that_grows_with_the_samples() -> None:
    def certain(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return x + 0.5 * rng.random(n)

    few, many = (audit(certain, (0, 1), samples=n).epsilon_lower for n in (1000, 100_000))
    assert few > 4
    assert many > few + 4


def test_a_vector_that_repeats_is_caught_too() -> None:
    def cached(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        rng.random()  # a program that draws nothing would be asked again in a new process
        return np.tile(x + np.random.default_rng(1).laplace(size=3), (n, 1))

    result = audit(cached, (0.0, 1.0), 3.0, samples=5000)
    assert result.violated


def test_the_result_survives_json_and_names_its_budget() -> None:
    result = audit(samplers.labels, (0, 1), math.inf, samples=1000)
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert data["claimed_epsilon"] == "inf"
    assert sum(data["budget"].values()) == pytest.approx(1 - data["confidence"], rel=1e-9, abs=0)
    event = Event.from_dict(data["witness"]["event"])
    assert event == result.witness.event


def test_without_a_claim_only_the_bound_is_given() -> None:
    result = audit(samplers.labels, (0, 1), samples=1000)
    assert result.delta_lower is None
    assert result.verdict == "consistent"
    assert result.describe().startswith("no claim to compare with")


def test_progress_is_reported_on_long_work() -> None:
    lines: list[str] = []
    audit(samplers.randomized_response(8.0), (0, 1), 8.0, samples=600_000, progress=lines.append)
    told = [line.split() for line in lines if line.startswith("search: ")]
    asked, more = ([int(words[place]) for words in told] for place in (1, 5))
    assert len(told) > 6  # more than one round of three calls of each input
    assert asked == [0, *accumulate(more)][:-1]


@together(
    ("change", "complaint"),
    [
        ({"inputs": [0]}, "inputs must be two or more"),
        ({"claimed_epsilon": -1.0}, "claimed_epsilon must be a number >= 0, or None, got -1.0"),
        ({"claimed_epsilon": math.nan}, "claimed_epsilon must be"),
        ({"claimed_delta": 1.0}, r"claimed_delta must be in \[0, 1\), got 1.0"),
        ({"samples": 5}, "samples must be a whole number >= 10, got 5"),
        ({"samples": 1e6}, "samples must be a whole number >= 10, got 1000000.0"),
        ({"confidence": 1.0}, r"confidence must be in \[0.5, 1\), got 1.0"),
        ({"confidence": 0.49}, r"confidence must be in \[0.5, 1\), got 0.49"),
        ({"confidence": math.nan}, r"confidence must be in \[0.5, 1\), got nan"),
        ({"samples": 9, "sequential": True}, "samples must be a whole number >= 10, got 9"),
        ({"confidence": 1.0, "sequential": True}, r"confidence must be in \[0.5, 1\), got 1.0"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], complaint: str) -> None:
    arguments: dict[str, Any] = {"inputs": (0, 1), "claimed_epsilon": 1.0, "samples": 100} | change
    with pytest.raises(ValueError, match=complaint):
        audit(samplers.labels, **arguments)


@together("sequential", [False, True])
def test_a_program_that_fails_in_the_test_is_named(sequential: bool) -> None:
    calls = [0]

    def fragile(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        calls[0] += 1
        if calls[0] > 20:
            raise RuntimeError("out of order")
        return rng.integers(0, 2, n)

    with pytest.raises(ProgramError, match=r"on input . \(call .*\): it raised RuntimeError: out of order"):
        audit(fragile, (0, 1), 1.0, samples=2_000_000, sequential=sequential)
