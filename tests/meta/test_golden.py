"""The rules by which `benchmarks/golden.py` compares answers, on pairs made by hand; each holds and fails."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.together import together

FILE = Path(__file__).parents[2] / "benchmarks" / "golden.py"
_SPEC = importlib.util.spec_from_file_location("golden", FILE)
assert _SPEC is not None
assert _SPEC.loader is not None
golden = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(golden)

WIDE, EXACT = [1.0, 1.1], [2.0, 2.0]


@together(
    ("before", "after", "expected"),
    [
        (WIDE, WIDE, "equal"),
        (WIDE, [1.0, 1.1 * (1 + 5e-7)], "moved"),  # the upper bound rises
        (WIDE, [1.0, 1.1 * (1 + 2e-6)], "broken"),
        (WIDE, [1.0 - 5e-7, 1.1], "moved"),  # the lower bound falls
        (WIDE, [1.0 - 2e-6, 1.1], "broken"),
        (WIDE, [1.05, 1.06], "moved"),  # tighter
        (WIDE, [0.9999999, 1.0], "moved"),  # the least upper bound that the old interval allows
        (WIDE, [0.9999999, 0.9999999], "broken"),  # the upper bound fell out of the interval
        (WIDE, [1.1000001, 1.1000001], "broken"),  # the lower bound rose out of it
        (WIDE, [1.06, 1.05], "broken"),  # no interval
        (EXACT, [2.0 + 1e-12, 2.0 + 1e-12], "moved"),
        (EXACT, [2.0 + 1e-9, 2.0 + 1e-9], "broken"),
        (EXACT, [2.0 - 1e-9, 2.0 + 1e-9], "moved"),  # bounds around what was exact
        ([0.0, 0.0], [0.0, 1e-9], "broken"),
        ([1.0, "inf"], [1.0, "inf"], "equal"),
        ([1.0, "inf"], [1.0, 5.0], "moved"),
        ([1.0, 5.0], [1.0, "inf"], "broken"),
        (["inf", "inf"], [1.0, "inf"], "broken"),
    ],
)
def test_bounds(before: list, after: list, expected: str) -> None:
    assert golden.judged({"bounds": before}, {"bounds": after}) == expected


@together(
    ("before", "after", "expected"),
    [
        ({"upper": 3.0}, {"upper": 3.0 * (1 + 5e-7)}, "moved"),
        ({"upper": 3.0}, {"upper": 3.0 * (1 + 2e-6)}, "broken"),
        ({"upper": 3.0}, {"upper": 3.0 * (1 - 5e-7)}, "moved"),
        ({"upper": 3.0}, {"upper": 3.0 * (1 - 2e-6)}, "broken"),
        ({"upper": "inf"}, {"upper": 3.0}, "broken"),
        ({"exact": [1.0, "inf"]}, {"exact": [1.0 + 5e-13, "inf"]}, "moved"),
        ({"exact": [1.0, "inf"]}, {"exact": [1.0 + 5e-12, "inf"]}, "broken"),
        ({"exact": [1.0]}, {"exact": [1.0, 1.0]}, "broken"),
        ({"exact": 1.0}, {"exact": None}, "broken"),
        ({"exact": "array of shape (20,)"}, {"exact": "array of shape (21,)"}, "broken"),
        ({"verdict": "PROVED"}, {"verdict": "PROVED"}, "equal"),
        ({"verdict": "PROVED"}, {"verdict": "UNDECIDED"}, "broken"),
        ({"verdict": ["PROVED", "REFUTED"]}, {"verdict": ["PROVED"]}, "broken"),
        ({"error": "ValueError: too many"}, {"error": "ValueError: more than can be"}, "moved"),
        ({"error": "ValueError: too many"}, {"error": "KeyError: 'many'"}, "broken"),
        ({"error": "ValueError: too many"}, {"bounds": [1.0, 1.1]}, "broken"),
        ({"bounds": [1.0, 1.1]}, {"upper": 1.1}, "broken"),
        ({"note": 0.93}, {"note": 0.95}, "moved"),
    ],
)
def test_other_answers(before: dict, after: dict, expected: str) -> None:
    assert golden.judged(before, after) == expected


@together(("answer", "expected"), [("PROVED", 0), ("REFUTED", 1), (None, 1)])
def test_a_broken_answer_and_one_that_is_gone_are_listed(
    answer: str | None, expected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {"answers": {"check": {"LF-L1": {"verdict": "PROVED"}}}, "seconds": {"check": {"ldp-fl": 1.0}}}
    found = {"answers": {"check": {"LF-L1": {"verdict": answer}} if answer else {}}, "seconds": {}}
    assert golden.compared(known, found, {"broken"}) == expected
    assert ("broken  check: LF-L1" in capsys.readouterr().out) == bool(expected)


@together(("after", "apart"), [([1.0, 1.2], False), ([1.2, 1.3], True), ([0.8, 0.9], True)])
def test_a_false_interval_is_told_from_a_loose_one(
    after: list, apart: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    known, found = ({"answers": {"sums": {"one": {"bounds": one}}}, "seconds": {}} for one in (WIDE, after))
    assert golden.compared(known, found, {"broken"}) == 1
    assert ("DISJOINT" in capsys.readouterr().out) == apart


def test_the_file_has_a_line_for_each_answer_and_only_known_rules() -> None:
    text = FILE.with_suffix(".json").read_text(encoding="utf-8")
    document = json.loads(text)
    assert golden.as_text(document) == text
    keys = {key for answers in document["answers"].values() for answer in answers.values() for key in answer}
    assert keys <= golden.RULES.keys()
    assert len(text) < 400_000
