"""Counts of several runs add up to one bound, and whatever would not be a bound is refused in words."""

from __future__ import annotations

import copy
import json
import math
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldp_audit.auditing import audit
from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.confirm import Retest, confirm, merge, witness_in
from ldp_audit.auditing.events import Event
from tests.together import together

Json = dict[str, Any]
SAMPLES = 40_000


def coin(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(n) < 0.9, x, -x)


def read_back(document: Json) -> Json:
    return json.loads(json.dumps(document))


@cache
def first() -> Json:
    return read_back(audit(coin, (-1.0, 1.0), 1.0, samples=SAMPLES).to_dict())


@cache
def confirmed(seed: int, samples: int = SAMPLES) -> Json:
    again = replace(witness_in(first(), "first.json"), samples=samples)
    return read_back(confirm(coin, again, seed=seed).to_dict())


def test_the_counts_are_added_and_bounded_once() -> None:
    parts = [first(), confirmed(1), confirmed(2, 1000)]
    merged = merge([(f"{place}.json", part) for place, part in enumerate(parts)])
    hits, trials = (
        [sum(part["witness"][name][side] for part in parts) for side in (0, 1)] for name in ("hits", "trials")
    )
    assert merged.witness.counts == Counts(hits[0], trials[0], hits[1], trials[1])
    region = Region(merged.witness.counts, 1 - 0.999, first()["counted"]["design_epsilon"], 0.0)
    assert merged.epsilon_lower == region.epsilon_lower()
    assert merged.epsilon_lower > first()["epsilon_lower"]
    assert merged.violated
    assert merged.samples_used == 2 * trials[0]
    assert merged.coverage_floor == first()["coverage_floor"]
    assert "merged from 0.json, 1.json, 2.json; seeds 0, 1, 2" in merged.describe()


def test_what_was_merged_can_be_merged_again_but_never_with_a_part_of_it() -> None:
    pair = read_back(merge([("a", first()), ("b", confirmed(1))]).to_dict())
    at_once = merge([("a", first()), ("b", confirmed(1)), ("c", confirmed(2))])
    assert merge([("ab", pair), ("c", confirmed(2))]).epsilon_lower == at_once.epsilon_lower
    with pytest.raises(ValueError, match=r"ab and b counted the same samples \(seed 1\), which must count only once"):
        merge([("ab", pair), ("b", confirmed(1))])


def test_an_audit_and_a_confirmation_of_the_same_seed_share_no_sample() -> None:
    assert merge([("a", first()), ("b", confirmed(0))]).violated


def test_a_longer_run_of_the_same_seed_shares_samples() -> None:
    with pytest.raises(ValueError, match="counted the same samples"):
        merge([("a", confirmed(1)), ("b", confirmed(1, 1000))])


def test_states_are_merged_as_results_are(tmp_path: Path) -> None:
    state, stopped = tmp_path / "state.json", tmp_path / "stopped.json"
    audit(coin, (-1.0, 1.0), 1.0, samples=SAMPLES, resume=state)
    again, calls = replace(witness_in(first(), "a"), samples=500_000), []

    def stops(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        calls.append(n)
        if len(calls) > 8:
            raise KeyboardInterrupt
        return coin(x, n, rng)

    stops.__module__, stops.__qualname__ = coin.__module__, coin.__qualname__
    with pytest.raises(KeyboardInterrupt):
        confirm(stops, again, seed=1, resume=stopped)
    documents = [json.loads(path.read_text()) for path in (state, stopped)]
    merged = merge([("state", documents[0]), ("stopped", documents[1])])
    assert merged.witness.counts.trials == first()["witness"]["trials"][0] + documents[1]["tally"][0][1]
    assert merge([("a", first()), ("stopped", documents[1])]).to_dict()["witness"] == merged.to_dict()["witness"]


def changed(document: Json, **changes: Any) -> Json:
    document = copy.deepcopy(document)
    document["counted"] |= changes
    return document


@together(
    ("changes", "message"),
    [
        ({"target": "m:g"}, r"differ in target: .* and 'm:g'; only runs of one event"),
        ({"inputs": [1.0, -1.0]}, "differ in inputs"),
        ({"claimed_epsilon": 2.0}, "differ in claimed_epsilon: 1.0 and 2.0"),
        ({"claimed_delta": 0.1}, "differ in claimed_delta"),
        ({"confidence": 0.9}, "differ in confidence"),
        ({"design_epsilon": 1.5}, "differ in design_epsilon"),
        ({"calls_for_one": True}, "differ in calls_for_one"),
        (
            {"event": {"words": "", "intervals": [[0.5, None]], "labels": [], "score": None}},
            r"are of different events, y = -1 and y >= 0.5; .*run the others with --confirm a.json",
        ),
    ],
)
def test_runs_of_anything_else_are_refused(changes: Json, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        merge([("a.json", first()), ("b.json", changed(confirmed(1), **changes))])


def test_two_audits_that_searched_for_themselves_are_refused() -> None:
    alone = read_back(audit(coin, (-1.0, 1.0), 1.0, samples=SAMPLES, seed=9).to_dict())
    with pytest.raises(ValueError, match="run the others with --confirm a and seeds of their own"):
        merge([("a", first()), ("b", alone)])


@together(
    "part", [{"trials": [36_800, 10]}, {"trials": [10**9, 10**9]}, {"hits": [10**9, 1]}, {"chunks": [[0, 2], [1, 3]]}]
)
def test_counts_that_cannot_be_are_refused(part: Json) -> None:
    forged = copy.deepcopy(confirmed(1))
    forged["counted"]["parts"][0] |= part
    with pytest.raises(ValueError, match=r"b\.json is damaged"):
        merge([("a.json", first()), ("b.json", forged)])


def test_one_file_is_not_enough() -> None:
    with pytest.raises(ValueError, match="merge needs two files or more, got 1"):
        merge([("a", first())])


def test_the_bound_of_a_merger_exceeds_the_truth_as_rarely_as_it_says() -> None:
    """50 mergers of three at confidence 0.9; a right bound fails with a chance below 1e-6, one of rate 0.5 in 0.98."""
    truth = math.log(0.9 / 0.1)
    again = Retest(Event(((0.0, math.inf),)), (1, -1), False, truth, None, 0.0, 0.9, 150)
    bounds = []
    for trial in range(50):
        parts = [confirm(coin, again, seed=3 * trial + part, stateless=True).to_dict() for part in range(3)]
        bounds.append(merge([(str(place), part) for place, part in enumerate(parts)]).epsilon_lower)
    assert sum(bound > truth for bound in bounds) <= stats.binom.isf(1e-6, 50, 0.1)
    assert max(bounds) > 0.9 * truth


def test_many_ranges_of_chunks_are_compared_quickly() -> None:
    """Every second chunk of a long run, and the others: comparing each with each would take an hour."""
    count = 20_000
    both = [copy.deepcopy(first()) for _ in range(2)]
    for place, document in enumerate(both):
        ranges = [[2 * chunk + place, 2 * chunk + place + 1] for chunk in range(count)]
        part = {"rows": 1, "chunks": ranges, "hits": [10, 1], "trials": [count, count]}
        document["counted"]["parts"][0] |= part
    start = time.process_time()
    merge([("a.json", both[0]), ("b.json", both[1])])
    assert time.process_time() - start < 20
    both[1]["counted"]["parts"][0]["chunks"][7] = [14, 15]
    with pytest.raises(ValueError, match=r"a.json and b.json counted the same samples \(seed 0\)"):
        merge([("a.json", both[0]), ("b.json", both[1])])
