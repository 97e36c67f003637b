"""No forged part is taken: some hundreds here, 30,000 with `--slow`; and a checker with a hole is found out."""

from __future__ import annotations

import random

import pytest

from ldp_audit.claims import recheck
from tests.fuzz.forging import forge, honest, is_false, kinds


def test_the_honest_parts_have_every_kind_of_evidence_and_are_true() -> None:
    settled = [one for one in honest() if one["verdict"] != "UNDECIDED"]
    assert set().union(*(kinds(one["evidence"]) for one in settled)) == {
        *recheck.RULES, "value", "counterexample", "example", "denial", "constant", "escape",
    }  # fmt: skip
    assert [one for one in settled if recheck.part(one) != one["verdict"]] == []
    assert [one for one in settled if is_false(one, one["verdict"], random.Random(0))] == []


@pytest.mark.parametrize("count", [600, pytest.param(30_000, marks=pytest.mark.slow)])
def test_no_forged_part_is_falsely_accepted(count: int) -> None:
    """A quarter of the forged parts says something true, of every kind: what is accepted is not what is unchanged."""
    found, false = forge(count, seed=count)
    assert [wrong for _, wrong in false] == []
    assert 0.15 * count < found["accepted"] < 0.5 * count, found
    assert found["accepted certificate"] > 0.05 * count


def _logarithms_never_touch(slacks: recheck.Slacks, v: recheck.DomainVariable) -> None:
    if v.function == "log":
        slacks.signs[f"hi_{v.name}"] = 2


def _ends_are_open(slacks: recheck.Slacks, v: recheck.DomainVariable) -> None:
    slacks.signs |= {name: 2 for name in (f"lo_{v.name}", f"hi_{v.name}") if name in slacks.signs and v.is_free}


def _exponentials_never_touch(slacks: recheck.Slacks, v: recheck.DomainVariable) -> None:
    if v.function == "exp":
        slacks.signs |= {name: 2 for name in (f"lo_{v.name}", f"hi_{v.name}") if name in slacks.signs}


@pytest.mark.parametrize("hole", [_logarithms_never_touch, _ends_are_open, _exponentials_never_touch])
def test_a_checker_with_a_hole_is_found_out(hole: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is the hole that there was: u - 1 - ln u counted as never 0."""
    add = recheck.Slacks._add  # noqa: SLF001  (a hole is made there)

    def holed(slacks: recheck.Slacks, v: recheck.DomainVariable) -> None:
        add(slacks, v)
        hole(slacks, v)  # type: ignore[operator]

    monkeypatch.setattr(recheck.Slacks, "_add", holed)
    assert forge(3000, seed=1, most=1)[1]


def test_a_checker_that_does_not_ask_whether_a_side_is_defined_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recheck, "undivided", lambda *_: None)
    assert forge(3000, seed=1, most=1)[1]
