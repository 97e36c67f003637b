from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import read
from ldp_audit.auditing.scores.boxes import Boxes
from ldp_audit.auditing.scores.coordinate import Coordinate
from ldp_audit.auditing.scores.score import MINUS_ZERO
from tests.together import together

AFTER_ONE, AFTER_TWO = math.nextafter(1.0, 2), math.nextafter(2.0, 3)
ONE = (1, 1.0, AFTER_ONE)


@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=12, unique=True).map(sorted),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=20),
)
def test_membership_is_that_of_half_open_intervals(edges: list[float], values: list[float]) -> None:
    intervals = tuple(zip(edges[::2], edges[1::2], strict=False))
    expected = [any(low <= value < high for low, high in intervals) for value in values]
    assert Event(intervals).contains(read(values, len(values))).tolist() == expected


@together("count", [1, 4])
def test_infinite_outputs_belong_to_the_open_ends(count: int) -> None:
    inner = tuple((float(place), place + 0.5) for place in range(1, count))
    event = Event(((-math.inf, 0.0), *inner, (10.0, math.inf)))
    assert event.contains(read([-math.inf, -1.0, 0.0, 0.75, 9.0, 10.0, math.inf], 7)).tolist() == [
        True, True, False, False, False, True, True,
    ]  # fmt: skip


def test_a_label_is_in_no_interval_and_a_number_among_no_labels() -> None:
    outputs = read([None, 1.0, "1.0", True], 4)
    assert Event(((-math.inf, math.inf),)).contains(outputs).tolist() == [False, True, False, True]
    assert Event(labels=(None, "1.0")).contains(outputs).tolist() == [True, False, True, False]  # True is 1


def test_an_event_survives_json() -> None:
    event = Event(((-math.inf, -0.1), (0.1 + 0.2, math.inf)), (None, "a", True), Coordinate(2))
    again = Event.from_dict(json.loads(json.dumps(event.to_dict())))
    assert again == event


@together(
    ("event", "words"),
    [
        (Event(((-math.inf, 1.0),)), "y < 1"),
        (Event(((2.0, math.inf),)), "y >= 2"),
        (Event(((3.0, math.nextafter(3.0, 9)),)), "y = 3"),
        (Event(((-math.inf, math.nextafter(0.0, 1)),)), "y <= 0"),
        (Event(((math.nextafter(1.5, 2), math.inf),)), "y > 1.5"),
        (Event(labels=(None,)), "y = None"),
        (Event(labels=("a", "b")), "y in {'a', 'b'}"),
        (Event(((0.5, 1.0),), (), Coordinate(3)), "0.5 <= y[3] < 1"),
        (Event(), "never"),
    ],
)
def test_an_event_is_described_in_words(event: Event, words: str) -> None:
    assert event.describe() == words


ODD_NUMBERS = [-math.inf, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf, math.nan]
EDGES = [-math.inf, -2.0, MINUS_ZERO, 0.0, math.nextafter(0.0, 1), 1.0, math.nextafter(1.5, 2), 2.5, math.inf]


@given(st.lists(st.sampled_from(EDGES), min_size=2, max_size=6, unique=True).map(sorted))
def test_its_text_counts_what_it_counts(edges: list[float]) -> None:
    """Signed zeros, NaN (which counts as below all numbers) and infinities among them."""
    event = Event(tuple(zip(edges[::2], edges[1::2], strict=False)))
    assert [_by_text(event, y) for y in ODD_NUMBERS] == event.contains(read(ODD_NUMBERS, len(ODD_NUMBERS))).tolist()


@together(
    ("event", "inside"),
    [
        (Event(labels=(None, "a")), [True, True, False, False, False]),
        (Event(((-math.inf, math.inf),), ("a",)), [False, True, False, True, True]),
        (Event(labels=("(1, 2)",)), [False, False, True, False, False]),
        (Event(((0.0, 1.0),), (None,)), [True, False, False, False, True]),
    ],
)
def test_so_it_does_among_labels(event: Event, inside: list[bool]) -> None:
    outputs = [None, "a", (1, 2), 1.0, 0.5]
    assert [_by_text(event, y) for y in outputs] == inside == event.contains(read(outputs, 5)).tolist()


def _by_text(event: Event, y: Any) -> bool:
    scope: dict[str, Any] = {}
    assert event.python is not None
    exec(event.python, scope)
    return scope["event"](y)


@together(
    ("boxes", "words"),
    [
        ([[(0, 1.0, math.inf), (1, -math.inf, 2.0)]], "y[0] >= 1 and y[1] < 2"),
        ([[(k, MINUS_ZERO, math.nextafter(0.0, 1)) for k in (0, 1)]], "y[0] = y[1] = 0"),
        ([[(k, 2.0, math.inf) for k in (0, 1, 2, 4)]], "all of y[0..2], y[4] >= 2"),
        ([[(0, 1.0, AFTER_ONE), (1, 0.0, 0.5)], [(0, 3.0, 4.0)]], "y[0] = 1 and 0 <= y[1] < 0.5 or 3 <= y[0] < 4"),
        ([[(0, 1.0, AFTER_ONE), ONE], [(0, 2.0, AFTER_TWO), ONE]], "y in {(1,1), (2,1)}"),
    ],
)  # fmt: skip
def test_a_condition_is_said_in_one_line(boxes: Any, words: str) -> None:
    event = Event(((1.0, math.inf),), (), Boxes.of_boxes(boxes))
    assert event.describe() == words
    assert Event(((0.0, 1.0),), (), Boxes.of_boxes(boxes)).describe() == f"not ({words})"


@together(
    "change",
    [
        {"intervals": [[1, 0]]},
        {"intervals": [[0, 1], [1, 2]]},
        {"intervals": [[0, float("nan")]]},
        {"intervals": "x"},
        {"labels": [[1]]},
        {"score": {"kind": "pickle"}},
        {"score": {"kind": "coordinate", "place": -1}},
    ],
)
def test_a_file_that_no_audit_wrote_is_refused(change: dict) -> None:
    data = Event(((0.0, 1.0),)).to_dict() | change
    with pytest.raises(ValueError, match=r"must|one of"):
        Event.from_dict(data)


def test_counts_are_the_number_of_members() -> None:
    assert Event(((0.5, 1.0),)).count(read(np.linspace(0, 1, 11), 11)) == 5
