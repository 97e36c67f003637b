"""Rare leaks: what one input gives and the other never is found and shown as often as an audit states."""

from __future__ import annotations

import numpy as np
import pytest

from ldp_audit import audit
from ldp_audit.auditing.choice import Judge, Sample, coverage_floor, hits_needed, lone_event, sightings_needed
from ldp_audit.auditing.outputs import NOT_A_LABEL, Outputs
from tests.together import together


def leaky(dimension, rare, kind):
    """Laplace noise, epsilon 1 in the first coordinate; the last one tells the input 1 so rarely."""

    def sampler(x, n, rng):
        y = rng.laplace(size=(n, dimension))
        y[:, 0] += x
        told = (rng.random(n) < rare) & (x == 1)
        y[told, -1] = 0.123 if kind == "value" else 60 + y[told, -1]
        return y[:, 0] if dimension == 1 else y

    return sampler


@together("kind", ["value", "tail"])
@pytest.mark.parametrize("dimension", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_a_leak_as_probable_as_the_stated_floor_is_found(dimension, kind):
    """Each audit finds it with probability 0.95 by design; 2 of 5 are missed or more with probability 0.023 at most.

    At the fixed seeds all are found. Before, of eight such audits up to four were, at a stated floor of 3e-4 to 6e-4.
    """
    floor = audit(leaky(dimension, 0.0, kind), (0, 1), 1.0, samples=100_000, stateless=True).coverage_floor
    assert 5e-4 < floor < 2e-3
    found = [
        audit(leaky(dimension, floor, kind), (0, 1), 1.0, samples=100_000, seed=seed, stateless=True).violated
        for seed in range(5)
    ]
    assert sum(found) >= 4


@together("kind", ["value", "tail"])
def test_bets_find_a_leak_as_probable_as_they_state(kind):
    """As above: a floor of test and search, of which bets keep what they state. At six seeds of each all are found."""

    def bet(rare, seed):
        given = {"samples": 20_000, "seed": seed, "sequential": True, "stateless": True}
        return audit(leaky(1, rare, kind), (0, 1), 1.0, **given)

    floor = bet(0.0, 0).coverage_floor
    assert 5e-3 < floor < 2e-2
    assert sum(bet(floor, seed).violated for seed in range(3)) >= 2


def test_the_lone_event_is_the_longest_run_of_a_value_a_label_or_an_end():
    rng = np.random.default_rng(5)

    def sample(change):
        parts = [rng.laplace(size=(4_000, 3)) for _ in range(3)]
        for part in parts:
            change(part)
        return Sample(*map(Outputs, parts))

    def far(part):
        part[:10, 2] = -50 - np.arange(10)

    def value(part):
        part[:12, 1] = 0.5

    judge = Judge(100_000, 1e-3, 0.0)
    same = sample(lambda part: None)
    for change, words, hits in ((far, "y[2] <= -50", 30), (value, "y[1] = 0.5", 36)):
        choice, asked = lone_event(same, sample(change), judge)
        assert choice.event.describe() == words
        assert choice.swapped
        assert (choice.seen.hits, choice.seen.other_hits) == (hits, 0)
        assert asked in (6, 7)
    numbers, labels = np.full(9, np.nan), np.array(["a", "b", "b"] * 3, dtype=object)
    one, other = (Sample(*[Outputs(numbers, names)] * 3) for names in (labels, np.full(9, "a", dtype=object)))
    choice, _ = lone_event(one, other, judge)
    assert choice.event.labels == ("b",)
    assert choice.seen.hits == 18
    nothing = Sample(*[Outputs(np.zeros(9), np.full(9, NOT_A_LABEL, dtype=object))] * 3)
    assert lone_event(nothing, nothing, judge)[0] is None


def test_a_floor_grows_with_what_is_asked_claimed_and_allowed():
    assert sightings_needed(40, 10**5, 1.0, 0.0) == 29  # ln(80 / 0.01) / ln(1 + 1/e) = 28.7
    assert sightings_needed(400, 10**5, 1.0, 0.0) > 29
    assert sightings_needed(40, 10**5, 2.0, 0.0) > 29
    assert sightings_needed(40, 10**5, 1.0, 1e-4) > 39
    assert sightings_needed(40, 10**5, 600.0, 0.0) > 1e100
    needed = hits_needed(50_000, 2e-5, 1.0, 0.0)
    assert 34 < needed < 40  # no test needs fewer than ln(2e-5) / ln(e / (1 + e)) = 34.5
    assert hits_needed(20, 2e-5, 1.0, 0.0) == np.inf
    assert coverage_floor(1, np.inf, 1, 1) == 1.0
    assert coverage_floor(10**5, 3, 10**5, 1) == pytest.approx(6.5e-5, rel=0.05)  # of 3, where 6.5 are expected
    assert coverage_floor(10**5, 29, 50_000, needed) > needed / 50_000
