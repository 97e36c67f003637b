"""How long an audit takes is said beforehand, and kept to: what its time does not suffice for is no verdict."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import assert_private, audit
from ldp_audit.auditing.pace import Pace
from ldp_audit.auditing.program import Program
from tests.together import together


class Slow:
    """Answers with the truth so often, and takes this long for each output."""

    def __init__(self, truth: float, an_output: float) -> None:
        self.truth, self.an_output, self.drawn = truth, an_output, 0

    def __call__(self, x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        time.sleep(n * self.an_output)
        self.drawn += n
        return np.where(rng.random(n) < self.truth, x, 1 - x)


def paced(program: Program, seconds: float | None) -> Pace:
    pace = Pace(program, seconds, stateless=False, begun=time.perf_counter())
    pace.pilot(0)
    return pace


def test_what_an_audit_takes_is_said_after_seventeen_outputs() -> None:
    said: list[str] = []
    program = Program(Slow(0.7, 0.005))
    line = paced(program, None).line(said.append, 10_000, 30_000)
    assert program.drawn == 17
    assert said[0].startswith("up to 10000 outputs at ")
    assert "if the claim is refuted" in said[0]
    assert line is not None
    line("search")
    assert said[1].startswith("search; about ")
    assert said[1].endswith(" left")


def test_nothing_is_said_of_what_takes_no_time() -> None:
    said: list[str] = []
    line = paced(Program(Slow(0.7, 0.0)), None).line(said.append, 100, 100)
    assert line is not None
    line("search")
    assert said == ["search"]


def test_a_budget_allows_for_fewer_samples_and_the_result_says_so() -> None:
    """Would catch 2,000,000 outputs, of two milliseconds each: an hour."""
    sampler = Slow(0.7, 0.002)
    result = audit(sampler, (0, 1), 1.0, seconds=2.0)
    assert result.verdict == "consistent"
    assert sampler.drawn < 2.0 / 0.002
    assert 1.0 < result.detectable_epsilon < 10
    assert any(note.startswith("within 2 s, at ") for note in result.notes)


def test_a_budget_accuses_a_program_only_once_its_independence_is_looked_at() -> None:
    """Copies would take some twenty seconds; of what is stated to keep nothing, none are asked."""
    result = audit(Slow(1.0, 0.005), (0, 1), 1.0, seconds=1.0)
    assert (result.verdict, result.epsilon_lower) == ("inconclusive", 0.0)
    assert "refute the claim if they are independent" in result.notes[0]
    assert audit(Slow(1.0, 0.0005), (0, 1), 1.0, seconds=4.0, stateless=True).violated


def test_a_quick_program_that_breaks_its_claim_is_accused_within_a_budget() -> None:
    result = audit(Slow(0.95, 0.0), (0, 1), 1.0, seconds=30.0)
    assert result.violated
    assert result.samples_used < 200_000


def test_bets_that_could_have_shown_no_epsilon_are_inconclusive() -> None:
    """Of ten samples, a sequential audit said "consistent", and that it would have caught nothing."""
    result = audit(Slow(0.7, 0.0), (0, 1), 3.0, samples=10, sequential=True, seed=1)
    assert result.verdict == "inconclusive"
    assert "would have shown no epsilon with probability 0.95: it takes more" in result.notes[0]


def test_an_assertion_says_which_budget_its_promise_needs() -> None:
    with pytest.raises(ValueError, match=r"^seconds must be about \d\S* for \d+ samples of an input, got 2, which at "):
        assert_private(Slow(0.7, 0.002), 1.0, (0, 1), detects=2.0, rarest=0.2, seconds=2.0)
    with pytest.raises(ValueError, match=r"^seconds must be about .*rarest=0\.\d+"):
        assert_private(Slow(0.7, 0.002), 1.0, (0, 1), detects=2.0, rarest=0.001, seconds=2.0)
    assert not assert_private(Slow(0.7, 0.0), 1.0, (0, 1), detects=2.0, rarest=0.2, seconds=60.0).violated


@together("seconds", [0, -1.0, float("inf"), float("nan"), "5", True])
def test_a_budget_that_is_none_is_refused(seconds: Any) -> None:
    with pytest.raises(ValueError, match="seconds must be a number of seconds above 0"):
        audit(Slow(0.7, 0.0), (0, 1), 1.0, seconds=seconds)
