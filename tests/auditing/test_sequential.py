"""The audit that stops when it knows: what it finds, how soon, and what it never says."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np

from ldp_audit.auditing.audit_program import audit
from ldp_audit.auditing.event_search import search
from ldp_audit.auditing.result import AuditResult
from ldp_audit.auditing.test import FIRST_CALLS
from tests.auditing.samplers import (
    LOG_3,
    atom_and_density,
    labels,
    laplace,
    noisy_max_value,
    piecewise,
    randomized_response,
    two_point,
)
from tests.frequency import FALSE_ALARM, assert_at_most
from tests.together import together

QUERIES = ((0.0,) * 5, (1.0,) * 5)


def audited(sampler: Any, inputs: Any, claim: float | None, delta: float = 0.0, **options: Any) -> AuditResult:
    """At confidence 1 - 10**-6, unless said otherwise: a sound test then fails once in 10**6 choices of its seed."""
    given = {"samples": 100_000, "confidence": 1 - FALSE_ALARM, **options}
    return audit(sampler, inputs, claim, delta, sequential=True, **given)


def unary(epsilon: float, length: int = 8) -> Any:
    """Symmetric unary encoding: two bits differ between inputs, epsilon/2 each."""

    def sample(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        lies = rng.random((n, length)) < 1 / (1 + math.exp(epsilon / 2))
        return np.where(np.arange(length) == x, ~lies, lies).astype(np.int64)

    return sample


def leaky(share: float) -> Any:
    """Randomised response of 1 that, with this probability, tells the input: (1, share)-private at best."""

    def sample(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(n) < share, 10 + x, randomized_response(1.0)(x, n, rng))

    return sample


def coin(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Randomised response of 1 in numpy alone, which takes a tenth of the shipped sampler's time for one output."""
    return np.where(rng.random(n) < math.e / (1 + math.e), x, 1 - x)


def rare(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform on 0 .. 4, but for a 9 with probability 0.002 or 0.0001: epsilon = ln 20."""
    return np.where(rng.random(n) < (2e-3 if x else 1e-4), 9, rng.integers(0, 5, n))


@together("seed", range(4))
def test_a_noisy_maximum_with_its_value_is_found_within_a_few_thousand_samples(seed: int) -> None:
    """Claim 1, truth 2.5. Seeded; every seed tried so far passes. With both inputs' search, and what is asked before a
    program is accused, it is some 28,000."""
    result = audited(noisy_max_value, QUERIES, 1.0, samples=1_000_000, confidence=0.95, seed=seed)
    assert result.violated
    assert 1.0 < result.epsilon_lower < 2.5
    run = result.sections["sequential"]
    assert run["path"][-1]["samples"] <= 4_000
    assert result.samples_used <= 30_000
    assert run["stopped"] == "violation"


SOUND = {
    "randomised response": (randomized_response(1.0), (0, 1), 1.0, 0.0),
    "ten values": (randomized_response(4.0, 10), (0, 1, 2), 4.0, 0.0),
    "laplace": (laplace(1.0), (0.0, 1.0), 1.0, 0.0),
    "piecewise": (piecewise(1.0), (-1.0, 1.0), 1.0, 0.0),
    "two points": (two_point(2.0), (-1.0, 1.0), 2.0, 0.0),
    "labels": (labels, (0, 1), LOG_3, 0.0),
    "atom and density": (atom_and_density, (0, 1), LOG_3, 0.0),
    "same on all inputs": (lambda x, n, rng: rng.normal(size=n), (0, 1), 0.0, 0.0),
    "delta": (leaky(0.1), (0, 1), 1.0, 0.1),
    "rare": (rare, (0, 1), math.log(20), 0.0),
    "vectors": (unary(1.0), (0, 1), 1.0, 0.0),
    "claim of 50": (randomized_response(3.0), (0, 1), 50.0, 0.0),
    "claim of infinity": (randomized_response(3.0), (0, 1), math.inf, 0.0),
}


@together("name", SOUND)
def test_a_sound_program_is_consistent_and_its_power_is_stated(name: str) -> None:
    sampler, inputs, claim, delta = SOUND[name]
    result = audited(sampler, inputs, claim, delta, samples=10_000)
    shows_some = not math.isinf(result.detectable_epsilon)  # no bets of 10,000 samples refute a claim of 50
    assert result.verdict == ("consistent" if shows_some else "inconclusive")
    assert shows_some == (claim < 50)
    assert result.epsilon_lower <= claim
    assert result.detectable_epsilon > claim or claim == math.inf
    assert 0 < result.coverage_floor <= 1
    assert shows_some == (result.coverage_floor < 1)  # see test_lone_events.py for what it promises
    assert result.sections["sequential"]["stopped"] == "samples spent"
    assert result.samples_used >= 2 * 10_000
    json.dumps(result.to_dict())


BROKEN = {
    "randomised response": (randomized_response(1.5), (0, 1), 1.0, 0.0),
    "labels": (labels, (0, 1), 0.5, 0.0),
    "atom and density": (atom_and_density, (0, 1), 0.5, 0.0),
    "no privacy claimed": (randomized_response(0.5), (0, 1), 0.0, 0.0),
    "delta": (leaky(0.3), (0, 1), 1.0, 0.1),
    "vectors": (unary(2.0), (0, 1), 1.0, 0.0),
    "rare": (rare, (0, 1), 0.5, 0.0),
    "one bad pair of many": (
        lambda x, n, rng: (rng.random(n) < {3: 0.9, 5: 0.1}.get(x, 0.5)).astype(int),
        tuple(range(8)),
        1.5,
        0.0,
    ),
}


@together("name", BROKEN)
def test_a_broken_program_is_caught_before_its_samples_are_spent(name: str) -> None:
    """Each exceeds what the run states as detectable, so that it is missed with probability 0.05 at most; seeded."""
    sampler, inputs, claim, delta = BROKEN[name]
    result = audited(sampler, inputs, claim, delta, samples=200_000, stateless=True)
    assert result.violated
    assert result.epsilon_lower > claim
    assert result.witness.counts.trials < 200_000


def test_the_bad_pair_is_the_witness() -> None:
    result = audited(*BROKEN["one bad pair of many"])
    assert set(result.witness.inputs) == {3, 5}


def test_an_event_too_rare_for_the_first_search_is_learned_from_the_past() -> None:
    """The first 1,000 samples show two of the leak, or none; later ones show it, and the bets turn to it."""
    result = audited(rare, (0, 1), 0.5, samples=400_000)
    assert result.violated
    assert result.sections["sequential"]["events"] > 1
    assert "9" in result.witness.event.describe()
    assert any("in turn" in note for note in result.notes)


def test_pairs_of_a_search_alone_are_compared() -> None:
    """Inputs 0 and 2 differ by 2, their neighbours by 1: with neighbours alone nothing is wrong."""
    neighbours = search(values=(0.0, 1.0, 2.0), adjacent=lambda one, two: abs(one - two) == 1)
    assert not audited(laplace(1.0), neighbours, 1.2, samples=30_000).violated
    assert audited(laplace(1.0), (0.0, 1.0, 2.0), 1.2, samples=30_000).violated


def test_without_a_claim_all_samples_are_spent_and_the_sequence_never_falls() -> None:
    result = audited(randomized_response(1.0), (0, 1), None, samples=300_000)
    path = result.sections["sequential"]["path"]
    assert result.verdict == "consistent"
    assert result.sections["sequential"]["stopped"] == "samples spent"
    assert path[-1]["samples"] == 300_000
    assert path[-1]["epsilon_lower"] == result.epsilon_lower
    assert all(one["epsilon_lower"] <= two["epsilon_lower"] for one, two in pairwise(path))
    assert 12 <= len(path) <= 40
    assert 0.96 < result.epsilon_lower <= 1.0


def test_audits_of_a_true_claim_say_violated_no_more_often_than_allowed() -> None:
    """The whole procedure, search and re-learning included, stopped wherever it likes; at confidence 0.8."""
    runs = 20
    alarms = sum(audited(coin, (0, 1), 1.0, samples=2_000, confidence=0.8, seed=seed).violated for seed in range(runs))
    assert_at_most(alarms, runs, 0.2)


def test_no_more_samples_than_planned_are_drawn_of_an_input() -> None:
    """Counted by the sampler itself; the calls for one output, of the test for repetition, apart."""
    drawn = {0: 0, 1: 0, 2: 0}

    def counting(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        drawn[x] += n
        return randomized_response(1.0, 3)(x, n, rng)

    result = audited(counting, (0, 1, 2), 1.0, samples=5_000)
    assert max(drawn.values()) <= 5_000 + FIRST_CALLS
    assert sum(drawn.values()) == result.samples_used


def test_ten_samples_are_enough_to_run() -> None:
    assert not audited(randomized_response(1.0), (0, 1), 1.0, samples=10).violated
