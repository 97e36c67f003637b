"""The bounds of a canary: what is certain of it, and that promises which are broken are seen to be."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from ldp_audit.auditing import Counts, Region
from ldp_audit.training.canary import Canary, Promise, canary_bounds
from tests.together import together

ERROR = 1e-6


def lying(epsilon: float):
    """Randomised response of this epsilon on the worlds' numbers, as a canary's draw."""
    keep = 1 / (1 + math.exp(-epsilon))

    def draw(world, n, rng):
        return np.where(rng.random(n) < keep, world, 1 - world).astype(float)

    return draw


def shown(probability: float):
    """A trained model that shows the canary where it was drawn, and a score in [0, 1/2] where not."""

    def draw(world, n, rng):
        return np.where((world == 0) & (rng.random(n) < probability), 1.0, rng.random(n) / 2)

    return draw


def canary(draw, *promises: Promise, trained: bool = False, samples: int = 20_000) -> Canary:
    return Canary("client", "whoever", ("in", "out"), draw, promises, ("nothing",), samples=samples, trained=trained)


def test_a_promise_that_is_broken_is_violated_and_one_that_is_kept_is_consistent():
    """Would catch a verdict that compares with the wrong promise, or never says violated. Power: practically 1."""
    tested = canary(lying(2.0), Promise("exact", "the truth", 2.0), Promise("paper", "too little", 1.5))
    found = canary_bounds(tested, samples=None, error=ERROR, seed=1)
    assert 1.7 < found["epsilon_lower"] <= 2.0
    assert [one["verdict"] for one in found["promised"]] == ["consistent", "violated"]
    assert found["verdict"] == "consistent", "the paper's number is not what the run must keep"
    worse = canary_bounds(canary(lying(2.0), Promise("exact", "", 1.5)), samples=None, error=ERROR, seed=1)
    assert worse["verdict"] == "violated"


def test_results_are_json_with_all_that_a_reader_needs():
    """Would catch infinities, arrays and missing parts."""
    tested = canary(lying(1.0), Promise("exact", "none", math.inf), Promise("exact", "at a delta", 1.0, 0.1))
    found = json.loads(json.dumps(canary_bounds(tested, samples=2000, error=ERROR, seed=2), allow_nan=False))
    assert found["promised"][0]["epsilon"] == "inf"
    for key in ("unit", "observer", "promised", "epsilon_lower", "confidence", "witness", "seconds", "samples"):
        assert key in found
    assert {one["delta"] for one in found["promised"]} == {0.0, 0.1}


def test_few_trainings_bound_the_delta_of_a_record_that_is_shown_when_it_is_drawn():
    """Would catch bounds of the wrong event: at probability 0.3 and 240 tests 0.15 and more is found in 99.9%."""
    tested = canary(shown(0.3), Promise("exact", "one draw", 0.0, 0.3), trained=True, samples=400)
    found = canary_bounds(tested, samples=None, error=1e-3, seed=3)
    assert 0.1 < found["delta_lower"] <= 0.3
    assert found["verdict"] == "consistent"


@together("truth", [0.6, 1.0])
def test_few_trainings_see_a_sample_that_is_larger_than_promised(truth):
    """Would catch a region that is too wide, or the worlds in the wrong order. Power: practically 1."""
    promise = Promise("exact", "one draw", 0.0, 0.2)
    for draw in (shown(truth), lambda world, n, rng: shown(truth)(1 - world, n, rng)):
        found = canary_bounds(canary(draw, promise, trained=True, samples=400), samples=None, error=ERROR, seed=4)
        assert found["verdict"] == "violated"


def test_few_trainings_without_any_difference_give_nothing():
    """Would catch an event that is counted on the samples it was chosen on: such a bound is above 0 nearly always."""
    promise = Promise("exact", "nothing", 0.0)
    tested = canary(shown(0.0), promise, trained=True, samples=100)
    bounds = [canary_bounds(tested, samples=None, error=0.05, seed=seed)["delta_lower"] for seed in range(60)]
    chance = sum(math.comb(60, k) * 0.05**k * 0.95 ** (60 - k) for k in range(16, 61))
    assert chance < 1e-6
    assert sum(bound > 0 for bound in bounds) < 16


def test_the_most_that_could_be_seen_is_what_certainty_shows():
    """Would catch a ceiling below a bound: an event of probability 1 against 0 must reach it."""

    def certain(world, n, rng):
        return np.full(n, float(world))

    found = canary_bounds(canary(certain, Promise("exact", "", 100.0)), samples=5000, error=ERROR, seed=5)
    trials = found["witness"]["trials"][0]
    assert found["epsilon_lower"] <= found["most_that_could_be_seen"] + 0.05
    assert found["most_that_could_be_seen"] == Region(Counts(trials, trials, 0, trials), ERROR, 10.0).epsilon_lower()
    assert found["verdict"] == "consistent"


def test_wrong_promises_and_draws_are_named():
    """Would catch silent acceptance."""
    with pytest.raises(ValueError, match="by must be paper or exact, got 'me'"):
        Promise("me", "", 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="epsilon must be a number >= 0, got nan"):
        Promise("exact", "", math.nan)
    with pytest.raises(ValueError, match=r"claimed_delta must be in \[0, 1\), got 1"):
        Promise("exact", "", 1.0, 1.0)
    with pytest.raises(ValueError, match="promises must be one or more"):
        canary(lying(1.0))
    with pytest.raises(ValueError, match="samples must be a whole number >= 10, got 3"):
        canary(lying(1.0), Promise("exact", "", 1.0), samples=3)
    wrong = canary(lambda world, n, rng: np.zeros(n + 1), Promise("exact", "", 1.0), trained=True)
    with pytest.raises(ValueError, match="draw must give 50 numbers in world 0"):
        canary_bounds(wrong, samples=50, error=ERROR, seed=6)
