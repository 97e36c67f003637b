"""A table as one test: every row runs, every failed one is named, fixtures arrive."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.together import Length, together


def test_all_rows_run_and_those_that_fail_are_listed_with_their_errors() -> None:
    seen = []

    @together(("first", "second"), [(1, 1), (1, 2), (3, 3), ("a", "b")])
    def equal(first: object, second: object) -> None:
        seen.append(first)
        assert first == second

    @together("number", ["1", "one"])
    def is_refused(number: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(number)

    with pytest.raises(AssertionError, match=r"(?s)^2 of 4 rows fail\n1, 2: AssertionError.*\n'a', 'b': Assertion"):
        equal()
    assert seen == [1, 1, 3, "a"]
    with pytest.raises(AssertionError, match=r"(?s)^1 of 2 rows fail\n'1': Failed: DID NOT RAISE"):
        is_refused()


@together("number", [1, 2])
def test_fixtures_arrive_beside_the_rows(tmp_path: Path, number: int) -> None:
    assert tmp_path.is_dir()
    assert number in (1, 2)


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="a test of no rows"):
        together("number", [])


def test_of_dear_rows_the_first_run_and_all_at_full_length(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    @together("number", [1, 2, 3], quick=2)
    def note(number: int) -> None:
        seen.append(number)

    for full in (False, True):
        monkeypatch.setattr(Length, "full", full)
        note()
    assert seen == [1, 2, 1, 2, 3]
