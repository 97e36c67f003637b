"""The fifteen mistakes of auditing tools that are known, each with a test that it is not made here.

Where a statement is about a rate, it goes through an exact binomial test with a false-alarm rate of 1e-6, or through an
exact sum over all counts, with no chance in it. Numbers in brackets are what a tool with the mistake did.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldp_audit.auditing import Counts, Region, audit, plan
from ldp_audit.auditing.bounds import lower_limit, upper_limit
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import read
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.test import FIRST_CALLS, added, count_all
from ldp_audit.auditing.test import Test as Count
from tests.auditing.samplers import piecewise, randomized_response, two_point
from tests.frequency import FALSE_ALARM, assert_at_most
from tests.together import together
from tests.zoo import encodings

ERROR = 0.1


def test_the_event_is_tested_on_other_samples_than_those_that_chose_it():
    """Trap 1 (98% of the bounds above the truth): outputs that say nothing, among which the best would look good."""
    assert_at_most(bounds_above(0.0, _uniform, (0, 1), samples=400, audits=30), 30, ERROR)
    naive = sum(_bound_of_the_best_cell(seed) > 0 for seed in range(25))
    assert stats.binom.sf(naive - 1, 25, ERROR) < FALSE_ALARM, "the mistake itself would not be noticed here"


def test_searching_pairs_and_directions_is_paid_for():
    """Trap 2 (one failure probability stated for a maximum over many trials)."""
    inputs = tuple(range(4))  # 12 ordered pairs
    assert_at_most(bounds_above(0.0, _uniform, inputs, samples=500, audits=16), 16, ERROR)
    for sequential in (False, True):
        result = audit(_uniform, inputs, 1.0, samples=500, confidence=1 - ERROR, sequential=sequential)
        assert math.fsum(result.budget.values()) == pytest.approx(ERROR, rel=1e-9)


def test_a_program_that_leaks_nothing_gets_the_bound_zero():
    """Trap 3 (a credible set that excludes 0 in 85% of runs): 100 fair coins on either side, all counts summed."""
    assert rejection_probability(100, 100, 0.5, 0.5, 0.05, bound_above=0.0) <= 0.05


def test_no_family_of_mechanisms_is_assumed():
    """Trap 4 (a Gaussian trade-off 'proves' 1.59 of randomised response with 1.0, in 40 of 40 runs).

    Eight of ten, or seven of eight, fail it.
    """
    assert_at_most(bounds_above(1.0, randomized_response(1.0), (0, 1), samples=2_000, audits=10), 10, ERROR)
    assert_at_most(bounds_above(1.0, two_point(1.0), (-1.0, 1.0), samples=2_000, audits=8), 8, ERROR)


@together(("p", "claim", "error"), [(0.5, 0.0, 0.5), (0.5, 1.0, 0.05), (0.7, 1.0, 0.001), (0.2, 0.5, 0.2)])
def test_one_test_decides_and_its_error_is_the_stated_one(p: float, claim: float, error: float):
    """Trap 5 (a mean of p-values): at the edge of the claim, at several levels, all counts summed."""
    found = rejection_probability(100, 100, p, p * math.exp(-claim), error, bound_above=claim)
    assert found <= error
    assert found >= error / 20, "a test that never rejects would pass as well"


def test_the_direction_is_fixed_before_the_counts_are_seen():
    """Trap 6 (a true null rejected 85% of the time, because each process put its larger count first)."""
    test = Count((Event(((0.0, 100.0),)),), (0, 1), (0, 1), trials=4_000, rows=500)
    counts = [count_all(test, Program(_uniform, seed))[0] for seed in range(60)]
    first = sum(one.hits > one.other_hits for one in counts)
    assert stats.binom.sf(first - 1, 60, 0.5) > FALSE_ALARM
    assert_at_most(sum(Region(one, ERROR).epsilon_lower() > 0 for one in counts), 60, ERROR)


def test_counts_do_not_depend_on_who_counts_which_part():
    """Trap 6, its other half: two workers that take turns, in any order, find what one finds."""
    test = Count((Event(((0.0, 100.0),)),), (0, 1), (0, 1), trials=3_700, rows=500)
    workers = [Program(_uniform, 3), Program(_uniform, 3)]
    parts = [test.count(workers[chunk % 2], chunk) for chunk in reversed(range(test.chunks))]
    total = parts[0]
    for part in parts[1:]:
        total = added(total, part)
    assert total == count_all(test, Program(_uniform, 3))


def test_an_output_is_in_the_event_or_not_even_where_outputs_tie():
    """Trap 7 (fractional counts from tie-breaks, rounded the wrong way): half of all outputs are one number."""
    result = audit(_half_one_number, (0, 1), samples=20_000, confidence=0.95)
    counts = result.witness.counts
    assert all(type(count) is int for count in (counts.hits, counts.trials, counts.other_hits, counts.other_trials))
    event = result.witness.event
    repeated = read(np.zeros(1_000), 1_000)
    assert event.count(repeated) in (0, 1_000)
    assert_at_most(bounds_above(math.log(1.5), _half_one_number, (0, 1), samples=2_000, audits=20), 20, ERROR)


def test_a_large_epsilon_is_reported_as_large():
    """Trap 8 (a floor of 0.01 on probabilities caps every bound at 4.6): true 10, and a leak of probability 0.02."""
    result = audit(randomized_response(10.0), (0, 1), samples=2_000_000, confidence=0.95, stateless=True)
    assert 9.4 < result.epsilon_lower < 10.2, result.describe()
    rare = audit(_tells_once_in_fifty, (0, 1), 1.0, samples=300_000)
    assert rare.epsilon_lower > math.log(1 / 0.01), rare.describe()


def test_what_is_too_rare_to_be_seen_is_said():
    """Trap 8, its other half: no verdict without the probability below which nothing was looked for."""
    result = audit(randomized_response(1.0), (0, 1), 1.0, samples=10_000)
    assert 0 < result.coverage_floor < 0.01
    assert f"events rarer than {result.coverage_floor:.2g}" in result.describe()
    fewer = audit(randomized_response(1.0), (0, 1), 1.0, samples=1_000)
    assert fewer.coverage_floor > result.coverage_floor


@together("specimen", [encodings.TWO_BITS_TWICE, encodings.SYMMETRIC_TWICE])
def test_a_unary_encoding_with_twice_its_budget_is_caught(specimen: Any):
    """Trap 9 (the fixed event 'the value is guessed right' shows half of it, which is the claim)."""
    result = audit(specimen.broken, specimen.inputs, specimen.claimed_epsilon, samples=50_000)
    assert result.violated, result.describe()
    assert result.epsilon_lower > 1.5 * specimen.claimed_epsilon


@together(
    ("one", "other"),
    [(2.16, 2.95), (-2.16, 2.16), (1, "1"), (True, None), ("", None), (1e300, 1e301), (0.0, 5e-324), ("a", "a ")],
)
def test_different_outputs_stay_different(one: Any, other: Any):
    """Trap 10 (floats cast to whole numbers, values cut to a range by hand): each pair tells the inputs apart."""

    def tells(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        rng.random()  # a program that draws nothing would be asked again in a new process
        return [other if x else one] * n

    result = audit(tells, (0, 1), 1.0, samples=2_000)
    assert result.violated, result.describe()
    assert result.epsilon_lower > 4


def test_nearly_all_samples_are_used_for_the_bound():
    """Trap 11 (1.8% of one input's samples kept at epsilon 4)."""
    for epsilon in (1.0, 4.0):
        result = audit(two_point(epsilon), (-1.0, 1.0), epsilon, samples=500_000)
        counts = result.witness.counts
        assert min(counts.trials, counts.other_trials) >= 0.75 * 500_000
        assert result.samples_used <= 2 * 500_000 + 2 * FIRST_CALLS  # and the calls for a single output


@together(("epsilon", "share"), [(0.5, 0.75), (1.0, 0.75), (2.0, 0.76), (4.0, 0.87)])
def test_the_bound_is_tighter_than_two_separate_intervals(epsilon: float, share: float):
    """Trap 11, its other half (two halves of alpha): the gap to the truth, at the most likely counts."""
    n = 1_000_000
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    counts = Counts(round(p * n), n, round((1 - p) * n), n)
    union = math.log(lower_limit(counts.hits, n, 0.025) / upper_limit(counts.other_hits, n, 0.025))
    assert epsilon - Region(counts, 0.05, epsilon).epsilon_lower() <= share * (epsilon - union)


def test_no_two_calls_share_their_randomness():
    """Trap 12 (both inputs, and every epsilon, with one stream)."""
    drawn: list[tuple[int, int]] = []

    def notes(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        drawn.append((x, int(rng.integers(0, 2**63))))
        return (rng.random(n) < 0.5).astype(float)

    audit(notes, (0, 1, 2), 1.0, samples=200_000)
    audit(notes, (0, 1, 2), 1.0, samples=200_000, seed=1)
    words = [word for _, word in drawn]
    assert len(drawn) > 20
    assert {x for x, _ in drawn} == {0, 1, 2}
    assert len(set(words)) == len(words)


def test_one_bad_pair_among_many_is_a_violation():
    """Trap 13 (5% of the comparisons may fail, and the test passes): one input of ten is told in the clear."""

    def one_bad(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.full(n, 7) if x == 7 else rng.integers(0, 10, n)

    result = audit(one_bad, tuple(range(10)), 1.0, samples=20_000)
    assert result.violated, result.describe()
    assert 7 in result.witness.inputs


def test_consistent_comes_with_the_violation_that_would_have_been_caught():
    """Trap 14 (no violation found, by a test that could not have found one); test_power.py measures that power."""
    result = audit(randomized_response(1.0), (0, 1), 1.0, samples=10_000, confidence=0.99)
    assert result.verdict == "consistent"
    assert 1.0 < result.detectable_epsilon < math.inf
    shown = f"smallest epsilon that this event would have shown with probability 0.95: {result.detectable_epsilon:.6g}"
    assert shown in result.describe()
    worse = randomized_response(1.2 * result.detectable_epsilon)
    assert audit(worse, (0, 1), 1.0, samples=10_000, confidence=0.99).violated


def test_a_run_that_can_see_nothing_says_so():
    """Trap 14: ten samples, and a claim that no ten samples contradict."""
    result = audit(randomized_response(1.0), (0, 1), 5.0, samples=10)
    assert result.verdict == "inconclusive"
    assert result.detectable_epsilon == math.inf
    assert "probability 0.95: none" in result.describe()


@together("sequential", [False, True])
def test_a_seed_gives_one_result_and_another_seed_another(sequential: bool):
    """Trap 15: repeatable on request, but for the seconds, and not a constant."""
    first, again, other = (
        audit(piecewise(1.0), (-1, 1), 1.0, samples=20_000, seed=seed, sequential=sequential).to_dict() | {"seconds": 0}
        for seed in (5, 5, 6)
    )
    assert first == again
    assert first["seed"] == 5
    assert other["witness"]["hits"] != first["witness"]["hits"]


def test_the_rate_of_a_verdict_is_stated_and_can_be_planned_for():
    """Trap 15, its other half (neither fixed nor drawn seeds come with a rate)."""
    result = audit(randomized_response(1.0), (0, 1), 1.0, samples=5_000, confidence=1 - 1e-9)
    assert "confidence 0.999999999" in result.describe()
    assert result.to_dict()["confidence"] == 1 - 1e-9
    assert plan(1.0, 1.1, confidence=1 - 1e-9, power=0.99) > plan(1.0, 1.1, confidence=0.99, power=0.99)


def bounds_above(truth: float, sampler: Callable[..., Any], inputs: Any, *, samples: int, audits: int) -> int:
    """In how many of so many whole audits, search and all, the bound at error 0.1 exceeds the truth."""
    return sum(
        audit(sampler, inputs, samples=samples, confidence=1 - ERROR, seed=seed, stateless=True).epsilon_lower > truth
        for seed in range(audits)
    )


def rejection_probability(n: int, m: int, p: float, q: float, error: float, *, bound_above: float) -> float:
    """The probability that the bound exceeds a number, at X ~ Binomial(n, p) and Y ~ Binomial(m, q), exactly.

    For p >= q. The bound grows with x and falls with y: the least x that is rejected grows with y, from y
    at least. What lies outside the central 1 - 1e-9 of Y counts as a rejection.
    """
    low, high = (int(stats.binom.ppf(tail, m, q)) for tail in (5e-10, 1 - 5e-10))
    total, least = 1e-9, low
    for y in range(low, high + 1):
        while least <= n and Region(Counts(least, n, y, m), error, bound_above).epsilon_lower() <= bound_above:
            least += 1
        total += float(stats.binom.pmf(y, m, q) * stats.binom.sf(least - 1, n, p))
    return total


def _uniform(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """One of 200 numbers, whatever x is: epsilon 0."""
    return rng.integers(0, 200, n)


def _half_one_number(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """0 with probability 1/2, else 1 or 2 with odds 3 : 2 one way or the other: epsilon ln(3/2)."""
    rest = 1.0 + (rng.random(n) < (0.4 if x == 0 else 0.6))
    return np.where(rng.random(n) < 0.5, 0.0, rest)


def _tells_once_in_fifty(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """The input with probability 0.02, else 2: epsilon infinite, by a rare event alone."""
    return np.where(rng.random(n) < 0.02, x, 2)


def _bound_of_the_best_cell(seed: int) -> float:
    """The mistake: the cell that looks best, judged by the samples that it looks best in."""
    rng = np.random.default_rng(seed)
    first, second = (np.bincount(_uniform(x, 2_000, rng), minlength=200) for x in (0, 1))
    best = int(np.argmax((first + 0.5) / (second + 0.5)))
    return Region(Counts(int(first[best]), 2_000, int(second[best]), 2_000), ERROR).epsilon_lower()
