"""Privacy assertions: what they promise, measured; and what they refuse."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.auditing.assertions import LawMismatch, PrivacyViolation, assert_fits, assert_private
from ldp_audit.auditing.looks import LOOKS, Goal, Room
from ldp_audit.auditing.test import FIRST_CALLS
from tests.frequency import assert_at_least, assert_at_most
from tests.together import together

Sampler = Callable[[Any, int, np.random.Generator], np.ndarray]


def randomised_response(epsilon: float) -> Sampler:
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return lambda x, n, rng: np.where(rng.random(n) < keep, x, 1 - x)


def laplace(epsilon: float) -> Sampler:
    return lambda x, n, rng: x + rng.laplace(0, 1 / epsilon, n)


def hidden(epsilon: float, share: float = 0.05) -> Sampler:
    """Mostly randomised response, well below the claim; its epsilon shows in a rare third output."""
    common = randomised_response(0.95)

    def sampler(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        rare = rng.random(n) < (share if x == 0 else share * math.exp(-epsilon))
        return np.where(rare, 2, common(x, n, rng))

    return sampler


def one_constant(x: object, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.zeros(n)


def caught(sampler: Sampler, seed: int, **options: Any) -> bool:
    try:
        assert_private(sampler, 1.0, (0, 1), seed=seed, stateless=True, **options)
    except PrivacyViolation:
        return True
    return False


@pytest.mark.parametrize(("name", "runs"), [("randomised_response", 20), ("laplace", 6), ("hidden", 6)])
def test_a_violation_of_the_promised_size_is_caught_with_the_promised_power(name: str, runs: int) -> None:
    sampler = {"randomised_response": randomised_response, "laplace": laplace, "hidden": hidden}[name](1.5)
    hits = sum(caught(sampler, seed, detects=1.5, false_alarm=1e-6) for seed in range(runs))
    assert_at_least(hits, runs, 0.99)


def test_this_check_of_power_can_fail() -> None:
    with pytest.raises(AssertionError, match=r"7 of 12 where 0\.99 is promised"):
        assert_at_least(7, 12, 0.99)


def test_half_of_the_promised_violation_is_mostly_caught_by_the_later_looks() -> None:
    results = [caught(randomised_response(1.25), seed, detects=1.5) for seed in range(20)]
    assert_at_least(sum(results), 20, 0.9)


def test_a_sampler_at_its_claim_fails_no_more_often_than_stated() -> None:
    hits = sum(caught(randomised_response(1.0), seed, detects=4.0, false_alarm=0.05) for seed in range(40))
    assert_at_most(hits, 40, 0.05)


def test_all_looks_together_keep_the_false_alarm() -> None:
    result = assert_private(laplace(1.0), 1.0, (0, 1), detects=1.5, false_alarm=1e-6)
    assert sum(result.budget.values()) <= 1e-6 * (1 + 1e-12)
    assert set(result.budget) == {"calls", *(name for name, _, _ in LOOKS)}
    assert result.confidence == 1 - 1e-6


def test_a_sound_result_says_what_it_would_have_caught() -> None:
    result = assert_private(laplace(1.0), 1.0, (0, 1), detects=1.5)
    assert not result.violated
    assert result.epsilon_lower <= 1
    assert 1 < result.detectable_epsilon <= 1.5  # with power 0.95, where 0.99 was planned for 1.5
    assert "planned to catch a true epsilon of 1.5 with probability 0.99" in result.describe()


def test_the_same_seed_gives_the_same_result() -> None:
    results = [assert_private(laplace(1.0), 1.0, (0, 1), detects=1.5, seed=seed) for seed in (3, 3, 4)]
    counts = [result.witness.counts for result in results]
    assert counts[0] == counts[1] != counts[2]


def test_the_violation_shows_inputs_event_frequencies_and_bound() -> None:
    with pytest.raises(PrivacyViolation) as raised:
        assert_private(randomised_response(2.0), 1.0, (0, 1), detects=1.5, seed=9)
    result, text = raised.value.result, str(raised.value)
    p, q = result.witness.counts.frequencies
    assert result.violated
    assert text.startswith(f"epsilon is at least {result.epsilon_lower:.6g}, and 1 was claimed\n")
    assert f"event:  {result.witness.event.describe()}\n" in text
    assert f"{p:.6g} on input {result.witness.inputs[0]}" in text
    assert f"{q:.6g} on input {result.witness.inputs[1]}" in text
    assert text.endswith("chance that a sound sampler fails so: 1e-09; seed 9")
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == text
    assert again.result == result


def test_a_gross_violation_takes_an_eighth_of_the_planned_test() -> None:
    sound = assert_private(randomised_response(1.0), 1.0, (0, 1), detects=1.5)
    with pytest.raises(PrivacyViolation) as raised:
        assert_private(randomised_response(4.0), 1.0, (0, 1), detects=1.5)
    early = raised.value.result.witness.counts.trials
    assert early <= 0.15 * sound.witness.counts.trials


def test_a_sampler_that_ignores_its_generator_is_caught() -> None:
    def seeded(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return randomised_response(0.5)(x, n, np.random.default_rng(1 + x))

    with pytest.raises(PrivacyViolation, match="each by a call of its own"):
        assert_private(seeded, 1.0, (0, 1), detects=4.0)


def test_a_delta_beyond_the_claimed_one_is_caught_and_one_within_is_not() -> None:
    def leaks(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(n) < 0.1, 2 + x, randomised_response(1.0)(x, n, rng))

    assert not assert_private(leaks, 1.0, (0, 1), delta=0.1, detects=1.5).violated
    with pytest.raises(PrivacyViolation, match=r"epsilon at delta 0\.05 is at least"):
        assert_private(leaks, 1.0, (0, 1), delta=0.05, detects=1.5)


def test_a_claim_of_epsilon_0_needs_the_violation_in_nats() -> None:
    assert not assert_private(one_constant, 0.0, (0, 1), detects_epsilon=0.3, constant=True).violated
    with pytest.raises(PrivacyViolation, match="and 0 was claimed"):
        assert_private(randomised_response(0.3), 0.0, (0, 1), detects_epsilon=0.3)
    with pytest.raises(ValueError, match="detects is a factor of epsilon, which is 0: say detects_epsilon"):
        assert_private(one_constant, 0.0, (0, 1))


def test_a_plan_beyond_max_samples_is_refused_and_its_advice_is_good() -> None:
    def refused(**options: Any) -> str:
        with pytest.raises(ValueError, match="max_samples must be at least") as raised:
            assert_private(laplace(1.0), 1.0, (0, 1), max_samples=300_000, **options)
        return str(raised.value)

    text = refused()
    needed, detects = re.search(r"at least (\d+) ", text), re.search(r"; or detects=([\d.]+)", text)
    assert needed is not None
    assert detects is not None
    assert 1.1 < float(detects[1]) < 2
    assert not assert_private(laplace(1.0), 1.0, (0, 1), max_samples=300_000, detects=float(detects[1])).violated
    rarest = re.search(r"; or rarest=([\d.]+)", refused(detects=1.3))
    assert rarest is not None
    options = {"max_samples": 300_000, "detects": 1.3, "rarest": float(rarest[1])}
    assert not assert_private(laplace(1.0), 1.0, (0, 1), **options).violated


def test_no_more_than_max_samples_are_drawn_of_an_input() -> None:
    drawn = {0: 0, 1: 0}

    def counted(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        drawn[x] += n
        return randomised_response(1.03)(x, n, rng)

    room = Room(1000, 1, 0.02)
    most = room.needed(Goal(1.0, 0.0, 1.4, 0.99, 1e-9))
    result = assert_private(counted, 1.0, (0, 1), detects=1.4, max_samples=most)
    assert max(drawn.values()) <= most + FIRST_CALLS + 1  # calls for one output, of the test for repeats
    assert 0 <= sum(drawn.values()) - result.samples_used <= 2


@together(
    ("options", "says"),
    [
        ({"epsilon": -1.0}, "epsilon must be a finite number >= 0, got -1.0"),
        ({"epsilon": math.inf}, "epsilon must be a finite number >= 0, got inf"),
        ({"epsilon": "1"}, "epsilon must be a finite number >= 0, got '1'"),
        ({"delta": 1.0}, r"delta must be in \[0, 1\), got 1.0"),
        ({"detects": 1.0}, "detects must be a factor above 1, such as 1.1, got 1.0"),
        ({"detects": math.nan}, "detects must be a factor above 1, such as 1.1, got nan"),
        ({"detects_epsilon": 0.9}, "detects_epsilon must be finite and above epsilon, which is 1.0, got 0.9"),
        ({"power": 1.0}, r"power must be in \(0, 1\), got 1.0"),
        ({"false_alarm": 0.0}, r"false_alarm must be in \[1e-12, 0.5\], got 0.0"),
        ({"rarest": 0.0}, r"rarest must be in \(0, 1\), got 0.0"),
        ({"rarest": 0.001, "max_samples": 1000}, "rarest must be at least 20 / max_samples, 0.02, got 0.001"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"seed": 1.5}, "seed must be a whole number >= 0, got 1.5"),
        ({"max_samples": 0}, "max_samples must be a whole number >= 1, got 0"),
        ({"max_samples": 1e6}, "max_samples must be a whole number >= 1, got 1000000.0"),
        ({"inputs": (0,)}, "inputs must be two or more"),
        ({"detects": 1 + 1e-9}, "detects must be further above the claim: epsilon 1.000000001 cannot be told from 1"),
    ],
)
def test_bad_arguments_are_named_with_their_value(options: dict[str, Any], says: str) -> None:
    arguments = {"epsilon": 1.0, "inputs": (0, 1), "detects": 1.5, **options}
    with pytest.raises(ValueError, match=says):
        assert_private(laplace(1.0), **arguments)


def test_a_sampler_that_fails_is_no_violation_but_an_error() -> None:
    with pytest.raises(ProgramError, match=r"on input 0 .*: it returned 3 outputs, 1000 were asked for"):
        assert_private(lambda x, n, rng: [1, 2, 3], 1.0, (0, 1))


def test_a_sampler_fits_its_law_or_does_not() -> None:
    from ldp_audit.mechanisms import RandomizedResponse

    law = RandomizedResponse(1.0)
    result = assert_fits(randomised_response(1.0), law, (0, 1), samples=20_000)
    assert result.verdict == "consistent"
    assert result.confidence == 1 - 1e-9
    with pytest.raises(LawMismatch, match="differs") as raised:
        assert_fits(randomised_response(0.8), law, (0, 1), samples=20_000)
    assert raised.value.result.verdict == "differs"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    assert not assert_fits(randomised_response(0.8), law, (0, 1), samples=20_000, tolerance=0.1).differs
    for name, value in (("false_alarm", 0.0), ("seed", -1)):
        with pytest.raises(ValueError, match=f"{name} must be"):
            assert_fits(randomised_response(1.0), law, (0, 1), **{name: value})


def test_a_fit_fails_for_nothing_no_more_often_than_stated() -> None:
    from ldp_audit.mechanisms import RandomizedResponse

    def fails(seed: int) -> bool:
        try:
            assert_fits(
                randomised_response(1.0), RandomizedResponse(1.0), (0, 1), samples=500, false_alarm=0.05, seed=seed
            )
        except LawMismatch:
            return True
        return False

    hits = sum(fails(seed) for seed in range(60))
    assert_at_most(hits, 60, 0.05)
