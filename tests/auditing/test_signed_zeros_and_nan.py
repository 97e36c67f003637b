"""-0.0 and NaN are values that a receiver sees: each is an event that can be told, written down and counted again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ldp_audit import audit
from ldp_audit.auditing.confirm import confirm, witness_in
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import read
from tests.together import together

Show = Callable[[float, np.random.Generator], Any]
SHOWN: dict[str, Show] = {
    "a number": lambda y, _: y,
    "a vector": lambda y, rng: [rng.normal(), y],
    "a row with a text": lambda y, _: ("a", y),
    "a dictionary": lambda y, rng: {"t": rng.random(), "v": y},
    "JSON": lambda y, rng: json.dumps({"t": rng.random(), "v": y}),
}
ODD = {"-0.0": (-0.0, 0.0), "NaN": (math.nan, 0.0), "NaN or a small number": (math.nan, -1e300)}


@together("odd", list(ODD))
@together("shown", list(SHOWN), quick=1)
def test_what_one_input_gives_half_of_the_time_is_found_and_found_again(odd: str, shown: str) -> None:
    """Would catch "consistent" of a program whose zeros are negative for one input alone, and an error for NaN."""
    one, other = ODD[odd]

    def leaks(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        return [SHOWN[shown](one if x and seen else other, rng) for seen in (rng.random(n) < 0.5).tolist()]

    def sound(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        return [SHOWN[shown](one if seen else other, rng) for seen in (rng.random(n) < 0.5).tolist()]

    found = audit(leaks, (0, 1), 1.0, samples=3_000, stateless=True)
    assert found.violated, found.describe()
    document = json.loads(json.dumps(found.to_dict()))
    assert Event.from_dict(document["witness"]["event"]) == found.witness.event
    again = confirm(leaks, witness_in(document, "found"), seed=5, stateless=True)
    assert again.violated
    assert not audit(sound, (0, 1), 0.0, samples=3_000, confidence=1 - 1e-6).violated  # once in a million seeds


def test_the_witness_names_them() -> None:
    signed = audit(lambda x, n, rng: np.where(rng.random(n) < 0.5, 0.0, -0.0 if x else 0.0), (0, 1), 1.0, samples=2_000)
    assert "y = -0.0:" in signed.witness.describe() or "y <= -0.0:" in signed.witness.describe()
    missing = audit(lambda x, n, rng: np.where(rng.random(n) < 0.5, 1.0, math.nan if x else 1.0), (0, 1), samples=2_000)
    assert "y is NaN" in missing.witness.describe()


def test_they_are_apart_from_all_other_numbers() -> None:
    numbers = [math.nan, -math.inf, -1.0, -5e-324, -0.0, 0.0, 5e-324, math.inf]
    seen = read(numbers, len(numbers)).known_numbers
    assert len(set(seen.tolist())) == len(numbers)
    assert [read([one], 1).known_numbers[0] for one in numbers] == seen.tolist()
    assert read(["a", -0.0], 2).known_numbers[1] == seen[4]
    assert read([("a", -0.0), ("a", 0.0)], 2).labels is not None
    assert len(set(read([("a", -0.0), ("a", 0.0)], 2).labels.tolist())) == 2  # type: ignore[union-attr]


def test_half_lines_say_whether_nan_is_in_them() -> None:
    code = float(read([math.nan], 1).known_numbers[0])
    for event, words, inside in (
        (Event(((code, 2.0),)), "y is NaN or y < 2", [True, True, False]),
        (Event(((math.nextafter(code, math.inf), 2.0),)), "y < 2", [False, True, False]),
    ):
        assert event.describe() == words
        assert event.contains(read([math.nan, 1.0, 3.0], 3)).tolist() == inside
