"""What the benchmarks of everyday questions and of reading decide; their measurements are not run here."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.together import together


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a benchmark by its name."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module


QUESTION = "README: RR x 100, Laplace x 50"
TIGHT = (1.0, 1.0 + 1e-8, 0.5, 10.0)


@together(
    ("ours", "default", "refined", "limits"),
    [
        (TIGHT, (None, 1.1, 0.6, 10.0), None, []),
        ((1.0, 1.0, 1.5, 10.0), (None, 1.0, 2.0, 10.0), None, ["1.5 x time"]),
        ((1.0, 1.0, 0.5, 750.0), (None, 1.0, 2.0, 10.0), None, ["1.5 x memory"]),
        ((1.0, 1.2, 0.5, 10.0), (None, 1.1, 2.0, 10.0), None, ["looser by 0.1"]),
        (TIGHT, (None, 1.1, 0.1, 10.0), (None, 1.0 + 1.5e-8, 0.4, 10.0), ["slower at equal error"]),
        (TIGHT, (None, 1.1, 0.1, 10.0), (None, 1.01, 0.6, 10.0), []),  # as slow before it is as tight
        (TIGHT, (None, 0.9, 0.1, 10.0), None, []),  # below our lower bound: no upper bound
        ((1.0, 1.0, 0.015, 10.0), (None, 1.0, 0.001, 10.0), None, []),  # an instant
    ],
)
def test_each_limit_is_broken_where_it_should_be(
    benchmark: Any, ours: tuple, default: tuple, refined: tuple | None, limits: list[str]
) -> None:
    everyday = benchmark("everyday")
    answers = [everyday.Answer(*numbers) for numbers in (ours, default, refined or default)]
    assert everyday.broken(everyday.Comparison(QUESTION, *answers)) == limits


def test_an_answer_that_fails_is_a_broken_limit_and_the_peers_is_not(benchmark: Any) -> None:
    everyday = benchmark("everyday")
    assert everyday.broken(everyday.Comparison(QUESTION, "no answer in 60 s", "not asked")) == ["no answer in 60 s"]
    assert everyday.broken(everyday.Comparison(QUESTION, everyday.Answer(*TIGHT), "no memory")) == []


def test_the_peer_is_refined_until_it_is_as_tight(benchmark: Any) -> None:
    everyday = benchmark("everyday")

    class Linear:
        """A peer whose error is its discretisation."""

        def ours(self, name: str) -> Any:
            return everyday.Answer(1.0, 1.0 + 3e-6, 0.5, 0.0)

        def peers(self, name: str, discretisation: str) -> Any:
            return everyday.Answer(None, 1.0 + float(discretisation), 0.1, 0.0)

    found = everyday.compared(QUESTION, Linear())
    assert (found.discretisation, found.refined.upper) == ("3e-6", 1.0 + 3e-6)
    assert everyday.broken(found) == ["slower at equal error"]


def _values() -> Iterator[int]:
    yield from (value for value in map(lambda x: x, [1]))  # noqa: C417


def test_the_trace_counts_functions_of_every_thread_and_the_files_of_lambdas(benchmark: Any) -> None:
    reading, here = benchmark("reading"), Path(__file__)
    with reading.entered_codes() as codes:
        thread = threading.Thread(target=lambda: list(_values()))
        thread.start()
        thread.join()
    _values()
    names = {code.co_name for code in codes if code.co_filename == __file__}
    assert names == {"<lambda>", "_values", "<genexpr>"}
    assert reading.by_file(codes, here.parent)[here.name] == 1
    assert reading.by_file([code for code in codes if code.co_name == "<lambda>"], here.parent)[here.name] == 0


def test_nothing_is_traced_afterwards(benchmark: Any) -> None:
    with benchmark("reading").entered_codes() as codes:
        pass
    before = len(codes)
    list(_values())
    assert len(codes) == before


def test_the_picture_of_the_rooms_is_what_the_imports_are(benchmark: Any) -> None:
    picture = Path(__file__).parents[2] / "docs" / "assets" / "rooms.svg"
    assert picture.read_text(encoding="utf-8") == benchmark("rooms").drawn() + "\n", "run `make docs`"


def test_rooms_that_import_each_other_cannot_be_drawn(benchmark: Any) -> None:
    rooms = benchmark("rooms")
    assert rooms.floors({"a": {"b"}, "b": set(), "c": {"a", "b"}}) == {"b": 0, "a": 1, "c": 2}
    assert rooms.shortest({"a": {"b"}, "b": set(), "c": {"a", "b"}}) == {("a", "b"), ("c", "a")}
    with pytest.raises(ValueError, match="a, b"):
        rooms.floors({"a": {"b"}, "b": {"a"}})
