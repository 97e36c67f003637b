"""The programs that plant faults and change constants: what they plant, what they call caught, and what they list."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = """
MOST = 10  # a reason
_NEAR, _FAR = 0.5, 2.0
NAME = "text"


@staticmethod
def clipped(x, low, high):
    if x < low and high > 0:
        return max(low, -1.5)
    total = 0
    for one in range(3):
        total += one
    if not total:
        raise ValueError(f"low must be {low + 1}")
    return x - low + MOST
"""
TEST = """
from ldp_audit.losses.toy import clipped


def test_the_sum():
    assert clipped(3, 1, 1) == 12
"""


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import constants
    import mutants

    return mutants, constants


def copied(folder: Path) -> Path:
    """A package of one room with one file and one test."""
    for place, text in (("ldp_audit/losses/toy.py", SOURCE), ("tests/losses/test_toy.py", TEST)):
        (folder / place).parent.mkdir(parents=True)
        (folder / place).write_text(text, encoding="utf-8")
    for package in ("ldp_audit", "ldp_audit/losses"):
        (folder / package / "__init__.py").touch()
    return folder


def test_each_kind_of_fault_is_planted_in_code_that_can_be_read(programs: tuple, tmp_path: Path) -> None:
    mutants, _ = programs
    found = list(mutants.faults(copied(tmp_path) / "ldp_audit/losses/toy.py", tmp_path))
    assert Counter(one.kind for one in found) == {
        "comparison": 2, "condition": 2, "bound": 2, "sign": 3, "constant": 4, "step": 2,
    }  # fmt: skip
    texts = {one.planted(SOURCE) for one in found}
    assert len(texts) == len(found)
    assert all(ast.parse(text) and "low + 1" in text for text in texts if "pass" not in text)
    assert any("(x > low)" in text for text in texts)


def test_a_seed_draws_the_same_faults_and_as_many_of_each_kind(programs: tuple) -> None:
    mutants, _ = programs
    drawn = mutants.chosen("losses", 60, 3)
    assert drawn == mutants.chosen("losses", 60, 3) != mutants.chosen("losses", 60, 4)
    assert set(Counter(one.kind for one in drawn).values()) == {10}


def test_a_fault_is_caught_by_the_test_that_sees_it_and_survives_otherwise(programs: tuple, tmp_path: Path) -> None:
    mutants, _ = programs
    folder, map_ = copied(tmp_path / "copy"), tmp_path / "map"
    map_.mkdir()
    entered = mutants.entered_by("losses", folder, map_)
    (name,) = entered
    assert entered[name][1] == {"losses/toy.py:7"}
    found = {one.after: one for one in mutants.faults(folder / "ldp_audit/losses/toy.py", folder)}
    seen, unseen = found["(x - low - MOST)"], found["(min(low, -1.5))"]
    assert "test_the_sum" in mutants.caught(seen, [name], folder, 60.0)
    assert mutants.caught(unseen, [name], folder, 60.0) is None
    assert (folder / "ldp_audit/losses/toy.py").read_text(encoding="utf-8") == SOURCE


def test_constants_are_listed_with_their_reasons_and_changed(programs: tuple, tmp_path: Path) -> None:
    mutants, constants = programs
    folder = copied(tmp_path)
    listed = constants.constants("losses", folder)
    assert [(one.name, one.value, one.reason) for one in listed] == [
        ("MOST", "10", "a reason"), ("_NEAR", "0.5", ""), ("_FAR", "2.0", ""),
    ]  # fmt: skip
    assert [one.readers for one in listed] == [{"losses/toy.py:7"}, set(), set()]
    names = {}
    for one in listed:
        for fault in one.changed(SOURCE):
            exec(fault.planted(SOURCE), scope := {})
            names.setdefault(one.name, []).append(scope[one.name])
    assert names == {"MOST": [5, 20], "_NEAR": [0.25, 1.0], "_FAR": [1.0, 4.0]}
    fault = next(iter(listed[0].changed(SOURCE)))
    assert "test_the_sum" in mutants.caught(fault, ["tests/losses/test_toy.py"], folder, 60.0)
