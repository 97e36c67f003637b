"""What every kind of score promises: it survives JSON, never answers NaN, and answers row by row."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import Outputs, read
from ldp_audit.auditing.scores import KINDS, score_from_dict
from ldp_audit.auditing.scores.floating_point import UnitInLastPlace
from ldp_audit.auditing.scores.law_score import LawScore
from ldp_audit.auditing.scores.linear import Linear
from ldp_audit.auditing.scores.summary import PLAIN, WITH_VALUE, Summary
from tests.auditing.scores.examples import EXAMPLES
from tests.together import together

ELSEWHERE = (UnitInLastPlace, LawScore)  # one of single numbers; one of a law that JSON cannot hold
NAMES = [kind.KIND for kind in KINDS if kind not in ELSEWHERE]
ODD = np.array(list(itertools.product([-math.inf, -1e308, 0.0, 1.0, 1e300, math.inf], repeat=4)))
BROKEN = {
    "coordinate": [{"place": -1}, {"place": True}, {"place": 1.5}],
    "boxes": [
        {"places": [], "lows": [], "highs": []},
        {"places": [[]], "lows": [[]], "highs": [[]]},
        {"places": [[0]], "lows": [[1.0]], "highs": [[1.0]]},
        {"places": [[0, 1]], "lows": [[1.0]], "highs": [[2.0]]},
    ],
    "equals": [{"vector": None}, {"vector": [math.nan]}, {"vector": ["wide"]}],
    "additive": [
        {"places": [], "edges": [], "weights": []},
        {"places": [0], "edges": [[1.0, 1.0]], "weights": [[0.0, 1.0, 2.0]]},
        {"places": [0], "edges": [[1.0]], "weights": [[0.0]]},
        {"places": [0], "edges": [[1.0]], "weights": [[0.0, "inf"]]},
        {"places": [0], "edges": [[10**400]], "weights": [[0.0, 1.0]]},
        {"places": [0, 1], "edges": [[1.0]], "weights": [[0.0, 1.0]]},
    ],
    "pattern": [
        {"places": [], "edges": [], "rows": []},
        {"places": [0], "edges": [[1.0]], "rows": [[0], [0]]},
        {"places": [0], "edges": [], "rows": [[0]]},
        {"places": [0], "edges": [[1.0]], "rows": [[0, 1]]},
    ],
    "summary": [{"name": "median"}, {"name": ["sum"]}, {"name": "sum", "value": 1.0}, {"name": "first_equal"}],
    "linear": [
        {"places": [], "centres": [], "scales": [], "weights": []},
        {"places": [0], "centres": [0.0], "scales": [0.0], "weights": [1.0]},
        {"places": [0], "centres": [0.0], "scales": [1.0], "weights": []},
        {"places": [0], "centres": [math.nan], "scales": [1.0], "weights": [1.0]},
    ],
    "residuals": [
        {"centre": [0.0], "rows": [], "table": EXAMPLES["additive"].to_dict()},
        {"centre": [0.0], "rows": [[1.0, 2.0]], "table": EXAMPLES["additive"].to_dict()},
        {"centre": [0.0], "rows": [[1.0]], "table": None},
        {"centre": [0.0], "rows": [[1.0]], "table": EXAMPLES["additive"].to_dict()},
    ],
}


@together("name", NAMES)
def test_a_score_is_the_same_after_json(name):
    """Catches an infinite edge written as bare Infinity, and a field that is forgotten."""
    score = EXAMPLES[name]
    again = score_from_dict(json.loads(json.dumps(score.to_dict(), allow_nan=False)))
    assert again == score
    assert np.array_equal(again.of(ODD), score.of(ODD))


@together("name", NAMES)
def test_a_score_is_a_number_for_every_vector(name):
    """Catches inf - inf, an overflow, and a wrong shape or dtype."""
    values = EXAMPLES[name].of(ODD)
    assert values.shape == (len(ODD),)
    assert values.dtype == np.float64
    assert not np.isnan(values).any()
    assert EXAMPLES[name].of(ODD[:0]).shape == (0,)


@together("name", NAMES)
def test_a_row_has_the_same_score_alone_and_among_others(name):
    """Catches sums whose rounding depends on the size of the block: counts would depend on how samples are split."""
    rows = np.random.default_rng(5).laplace(size=(9001, 4))
    score = EXAMPLES[name]
    together = score.of(rows)
    assert np.array_equal(together[:257], np.concatenate([score.of(rows[i : i + 1]) for i in range(257)]))
    assert np.array_equal(together[8190:], score.of(rows[8190:]))


@together("name", NAMES)
def test_an_event_on_a_score_is_the_same_after_json(name):
    event = Event(((0.0, 1.0), (2.0, math.inf)), (), EXAMPLES[name])
    again = Event.from_dict(json.loads(json.dumps(event.to_dict(), allow_nan=False)))
    assert np.array_equal(again.contains(Outputs(ODD)), event.contains(Outputs(ODD)))
    assert again.describe() == event.describe()
    assert EXAMPLES[name].TRUTH or EXAMPLES[name].describe() in again.describe()


@together("name", NAMES)
def test_the_text_of_a_score_counts_the_same_outputs(name):
    """Plain Python against numpy, on ordinary rows and on rows with infinities, signed zeros and NaN."""
    rows = np.concatenate([np.random.default_rng(7).integers(-1, 6, (400, 4)) + 0.0, ODD])
    rows = np.concatenate(
        [rows, np.where(rows[:50] == 0, -0.0, rows[:50]), np.where(rows[:50] == 5, math.nan, rows[:50])]
    )
    values = EXAMPLES[name].of(read(rows, len(rows)).known_numbers)
    middle = float(np.median(values))
    for intervals in (((middle, math.inf),), ((-math.inf, middle),), ((middle, math.nextafter(middle, math.inf)),)):
        event = Event(intervals, (), EXAMPLES[name])
        scope = {}
        exec(event.python, scope)
        with np.errstate(all="ignore"):
            counted = [scope["event"](row) for row in rows]
        assert counted == event.contains(read(rows, len(rows))).tolist()


@together(("name", "number"), [(name, i) for name in NAMES for i in range(len(BROKEN[name]))])
def test_what_no_score_wrote_is_refused(name, number):
    with pytest.raises(ValueError, match=name):
        score_from_dict({"kind": name, **BROKEN[name][number]})


@together("data", [None, [], {"kind": "neural"}, {"kind": ["sum"]}])
def test_an_unknown_kind_is_refused(data):
    with pytest.raises(ValueError, match="kind must be one of"):
        score_from_dict(data)


@together("name", sorted(PLAIN) + sorted(WITH_VALUE))
def test_every_summary_is_a_number_for_every_vector(name):
    values = Summary(name, 1.0 if name in WITH_VALUE else None).of(ODD)
    assert not np.isnan(values).any()
    assert len(np.unique(values)) > 1


def test_summaries_are_what_their_names_say():
    y = np.array([[3.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    expected = {"sum": [7, 0], "max": [4, 0], "min": [0, 0], "norm": [5, 0], "spread": [4, 0], "argmax": [2, 0]}
    expected |= {"argmin": [1, 0], "zeros": [2, 4], "distinct": [3, 1]}
    assert {name: Summary(name).of(y).tolist() for name in PLAIN} == expected
    with_value = {"first_equal": [2, 4], "first_at_least": [2, 4], "count_equal": [1, 0]}
    assert {name: Summary(name, 4.0).of(y).tolist() for name in WITH_VALUE} == with_value


def test_additive_pattern_and_linear_compute_what_they_say():
    y = np.array([[1.0, 1.0, 0.0, -1.0], [0.0, -1.0, 9.0, 3.0]])
    assert EXAMPLES["additive"].of(y).tolist() == [1.25, 0.75]
    assert EXAMPLES["pattern"].of(y).tolist() == [-1.0, -1.0]
    assert EXAMPLES["pattern"].of(np.array([[0.0, -1.0, 4.0, 0.0], [0.0, 1.0, 5.0, 0.0]])).tolist() == [0.0, 1.0]
    grid = 2.0**-30
    assert EXAMPLES["linear"].of(y).tolist() == [round(v / grid) * grid for v in (30.5 + 0.25 / 3, 30 + 0.25 * 5 / 3)]


def test_noise_that_cancels_leaves_one_value():
    """In floating point a difference of two numbers with the same noise is a cloud; a cut at its edge loses outputs."""
    noise = np.random.default_rng(2).laplace(0, 10, (5000, 1))
    y = noise + np.array([1.0, 0.0, 0.0, 0.0])
    assert len(np.unique(y[:, 0] - y[:, 1])) > 1
    for score in (Summary("spread"), Linear((0, 1), (0.0, 0.0), (1.0, 1.0), (1.0, -1.0))):
        assert np.unique(score.of(y[np.abs(noise[:, 0]) < 29])).tolist() == [1.0]
