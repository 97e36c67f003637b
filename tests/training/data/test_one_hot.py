"""One-hot columns of categories and of intervals."""

from __future__ import annotations

import numpy as np
import pytest

from ldp_audit.training.data.recipe import Intervals, OneHot
from tests.together import together

COLOURS = OneHot.of("colour", "red green", without="?", merged=(("lime", "green"), ("none", "?")))


def test_each_value_has_its_column() -> None:
    """Would catch a shifted column, a value without one that gets one, a rare value lost."""
    rows = COLOURS.encode(["red", "green", "?", "lime", "none"])
    assert rows.tolist() == [[1, 0], [0, 1], [0, 0], [0, 1], [0, 0]]
    assert rows.dtype == np.float64
    assert COLOURS.outputs == ("colour=red", "colour=green")


@together("value", ["blue", "", "Red", "nan"])
def test_an_unknown_value_is_refused(value: str) -> None:
    """Would catch a misspelt value coded as all zeros."""
    with pytest.raises(ValueError, match=rf"colour must be one of red, green, \?, lime, none, got '{value}'"):
        COLOURS.encode(["red", value])


def test_categories_that_are_none_are_refused() -> None:
    """Would catch two columns for one value, and a rare value merged into nothing."""
    for build in (
        lambda: OneHot.of("colour", "red red"),
        lambda: OneHot.of("colour", "red", without="red"),
        lambda: OneHot.of("colour", ""),
        lambda: OneHot.of("colour", "red", merged=(("red", "red"),)),
        lambda: OneHot.of("colour", "red", merged=(("lime", "green"),)),
    ):
        with pytest.raises(ValueError, match="colour: "):
            build()


def test_intervals_begin_at_their_edges() -> None:
    """Would catch an edge on the wrong side: 26 is in the second interval, 25 in the first."""
    ages = Intervals("age", (26, 33))
    assert ages.encode(["25", "26", "32.5", "33", "-1e9"]).tolist() == [
        [1, 0, 0],
        [0, 1, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 0, 0],
    ]
    assert ages.outputs == ("age:<26", "age:26..33", "age:>=33")


@together("edges", [(), (1, 1), (2, 1), (1, float("nan"))])
def test_edges_must_ascend(edges: tuple[float, ...]) -> None:
    """Would catch an interval that nothing can lie in."""
    with pytest.raises(ValueError, match="age: edges must be ascending"):
        Intervals("age", edges)


@together("value", ["nan", "inf", "?", "", "1_0"])
def test_an_interval_takes_finite_numbers_only(value: str) -> None:
    """Would catch a NaN that falls into the last interval."""
    with pytest.raises(ValueError, match=f"age must be a finite number, got {value!r}".replace("?", r"\?")):
        Intervals("age", (26,)).encode(["30", value])
