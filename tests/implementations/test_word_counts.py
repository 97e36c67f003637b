"""Counting by sorting, and joining in blocks, against a dictionary."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.implementations import enumerate_map as word_counts
from ldp_audit.implementations.enumerate_map import SideBySide, WordCounts


@pytest.fixture(params=[1, 7, 2**15])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that every test crosses their ends, and the size that is used."""
    monkeypatch.setattr(word_counts, "_BLOCK", request.param)


def counted(keys: list[int], dtype: str = "uint32") -> WordCounts:
    return word_counts.word_counts(np.array(keys, dtype=dtype))


def as_dict(counts: WordCounts) -> dict[int, int]:
    return dict(zip(counts.keys.tolist(), counts.words.tolist(), strict=True))


@pytest.mark.usefixtures("block")
def test_counts_are_those_of_a_dictionary() -> None:
    """Would catch a run cut at the end of a block, or keys overwritten before they were read."""
    rng = np.random.default_rng(3)
    for size, values in ((1, 1), (2, 1), (40, 1), (40, 5), (40, 200), (41, 40)):
        for keys in (rng.integers(0, values, size), np.sort(rng.integers(0, values, size)), np.arange(size)[::-1]):
            assert as_dict(counted(keys.tolist())) == Counter(keys.tolist())


def joint(first: list[int], second: list[int]) -> Counter[tuple[int, int]]:
    a, b = Counter(first), Counter(second)
    return Counter((a[key], b[key]) for key in a | b)


SIDES = st.integers(1, 24).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(0, 20), min_size=size, max_size=size)] * 2)
)


@pytest.mark.parametrize("size", [1, 3, 2**15])
@given(SIDES)
@settings(max_examples=60)
def test_joint_counts_are_those_of_dictionaries(size: int, sides: tuple[list[int], list[int]]) -> None:
    """Would catch a key lost between two blocks, or taken twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_counts, "_BLOCK", size)
        joined = SideBySide(counted(sides[0]), counted(sides[1]), len(sides[0]))
        assert {row[:2]: row[2] for row in joined.counts.rows} == joint(*sides)
        for row in joined.counts.rows:
            key = int(joined.key_in(row))
            assert (sides[0].count(key), sides[1].count(key)) == row[:2]


def test_many_different_counts_are_tallied_too() -> None:
    """Would catch a slip where counts are too large to be tallied by one array."""
    first = np.repeat(np.arange(300), np.arange(300)).tolist()
    second = np.repeat(np.arange(300), np.arange(300)[::-1]).tolist()
    joined = SideBySide(counted(first), counted(second), len(first))
    assert {row[:2]: row[2] for row in joined.counts.rows} == joint(first, second)


@pytest.mark.usefixtures("block")
def test_rows_of_bytes_are_counted_and_joined() -> None:
    def rows(keys: list[int]) -> WordCounts:
        return word_counts.word_counts(np.array([(key, key) for key in keys], dtype=">u8").view("V16")[:, 0])

    joined = SideBySide(rows([5, 1, 5, 300]), rows([1, 2, 300, 300]), 4)
    assert {row[:2]: row[2] for row in joined.counts.rows} == {(2, 0): 1, (1, 1): 1, (0, 1): 1, (1, 2): 1}
    assert np.frombuffer(bytes(joined.key_in((2, 0, 1))), dtype=">u8").tolist() == [5, 5]


def test_the_key_in_the_middle_of_a_row_is_shown() -> None:
    joined = SideBySide(counted(list(range(100))), counted(list(range(50, 150))), 100)
    assert joined.key_in((1, 0, 50)) == 25
    assert joined.key_in((0, 1, 50)) == 125
    with pytest.raises(ValueError, match="row must be one of the counts"):
        joined.key_in((7, 7, 1))


def test_neighbours_are_the_nearest_keys() -> None:
    counts = counted([10, 20, 30])
    assert counts.neighbours(np.uint32(5)) == (None, 10)
    assert counts.neighbours(np.uint32(21)) == (20, 30)
    assert counts.neighbours(np.uint32(31)) == (30, None)
