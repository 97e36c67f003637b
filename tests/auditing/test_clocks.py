"""Outputs that carry a clock or a counter: a sound program is neither accused nor refused, its broken twin is found.

Each sound program has the claimed epsilon, 1, so that a bound above it has a probability of at most 1e-6.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import numpy as np
import pytest

from ldp_audit import audit
from ldp_audit.auditing.clocks import is_clock
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.structure import learned_structure
from tests.together import together

Clock = Callable[[], Any]
_BEGUN, _NUMBERS = time.monotonic(), count(7_000)
CLOCKS: dict[str, Clock] = {
    "ISO time": lambda: datetime.now(UTC).isoformat(),
    "ISO time in seconds": lambda: datetime.now().isoformat(timespec="seconds"),
    "seconds": time.time,
    "whole seconds": lambda: int(time.time()),
    "milliseconds": lambda: int(time.time() * 1e3),
    "nanoseconds": time.time_ns,
    "seconds since the start": time.monotonic,
    "a counter": lambda: next(_NUMBERS),
    "a UUID": lambda: str(uuid.uuid4()),
    "the level of a battery": lambda: int(100 - 2 * (time.monotonic() - _BEGUN)),
    "a log's sequence number": lambda: f"0/{next(_NUMBERS):08X}",
}


@dataclass(frozen=True)
class Report:
    at: Any
    answer: int


FORMS: dict[str, Callable[[Any, int], Any]] = {
    "JSON": lambda at, answer: json.dumps({"id": str(uuid.uuid4()), "at": at, "answer": answer}),
    "JSON without an id": lambda at, answer: json.dumps({"at": at, "answer": answer}),
    "a dictionary": lambda at, answer: {"at": at, "answer": answer},
    "a row": lambda at, answer: (at, answer),
    "an object": Report,
}


def answers(clock: Clock, form: Callable[[Any, int], Any], epsilon: float) -> Any:
    """Randomised response, beside the clock."""

    def sampler(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        kept = rng.random(n) < 1 / (1 + math.exp(-epsilon))
        return [form(clock(), answer) for answer in np.where(kept, x, 1 - x).tolist()]

    return sampler


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.covering(1)
def test_a_clock_beside_an_answer_defeats_no_audit(clock: str, form: str) -> None:
    """Would catch that either is inconclusive: all were, but for four of these clocks in a dictionary."""
    sound, broken = (
        audit(answers(CLOCKS[clock], FORMS[form], epsilon), (0, 1), 1.0, samples=6_000, confidence=1 - 1e-6)
        for epsilon in (1.0, 2.0)
    )
    assert sound.verdict == "consistent", sound.describe()
    assert broken.verdict == "violated", broken.describe()


def test_the_inputs_take_turns_in_a_search() -> None:
    """Would catch that one input is asked for all of its samples before the other is asked for any."""
    asked: list[tuple[int, int]] = []

    def sampler(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        asked.append((x, n))
        return rng.integers(0, 2, n)

    audit(sampler, (0, 1), 1.0, samples=10_000)
    searched = asked[1:193]  # 32 parts of three samples of two inputs, after the call that learns the dimension
    assert sum(n for x, n in searched if x == 0) == sum(n for x, n in searched if x == 1) == 4_000
    for first in range(0, 192, 12):  # the second of two parts has the order of the first one turned round
        one, two = searched[first : first + 6], searched[first + 6 : first + 12]
        assert [x for x, _ in two] == [1 - x for x, _ in one]
    assert {x for x, _ in searched[::12]} == {0, 1}


NOW = datetime.now(UTC)


@together(
    ("values", "clock"),
    [
        ([*range(30)], True),
        ([*range(30, 0, -1)], True),
        ([100] * 200 + [99] * 200, True),
        ([2**60 + k for k in range(30)], True),
        ([f"{k:06X}" for k in range(200)], True),
        ([NOW.isoformat()] * 5, True),
        ([NOW.isoformat(sep=" ", timespec="seconds")] * 5, True),
        ([int(NOW.timestamp() * unit) for unit in (1, 1_000, 10**6, 10**9)], True),
        ([(NOW - timedelta(hours=12)).date()] * 3, True),
        ([1987, 1987, 2001], False),
        (["1987-05-03", "1987-05-03"], False),
        ([*range(8)], False),
        ([0.5] * 100, False),
        ([0, 1] * 100, False),
        ([100] * 400 + [99], False),
        ([True] * 100 + [False] * 100, False),
        ([None] * 5, False),
        ([], False),
    ],
)
def test_what_is_a_clock(values: Sequence[Any], clock: bool) -> None:
    """By hand: 30! orders are 2.7e32, 400!/200!**2 are 1e119, 8! are 40,320, and one change in 401 values has 401."""
    assert is_clock(values) == clock


def test_what_depends_on_the_input_alone_is_no_clock() -> None:
    """Would catch that an answer in the clear is set aside, since the second input is asked after the first."""

    def clear(x: int, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        return [{"id": str(uuid.UUID(bytes=rng.bytes(16))), "x": x} for _ in range(n)]

    assert audit(clear, (0, 1), 1.0, samples=1_000).violated


def test_a_clock_among_numbers_is_set_aside_whether_they_are_rows_or_an_array() -> None:
    def array(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.column_stack([[time.time() for _ in range(n)], rng.normal(size=n), np.full(n, x)])

    for sampler in (array, lambda x, n, rng: array(x, n, rng).tolist()):
        program = Program(sampler, inputs=(0, 1))
        found = program.outputs(0, 100, (0,))
        assert program.structure is not None
        assert program.structure.aside == ("y[0] (a counter or a clock)",)
        assert found.known_numbers.shape == (100, 3)  # the two others, and what the look did not show
        assert np.std(found.known_numbers[:, 0]) > 0.5
    rows = np.random.default_rng(0).normal(size=(50, 3)).tolist()
    assert learned_structure(rows) is None  # vectors, as they are
