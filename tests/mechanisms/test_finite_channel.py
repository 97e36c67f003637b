"""Any finite channel: its numbers against brute force, its files, and what is no channel."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import FiniteChannel, RandomizedResponse
from tests.frequency import assert_frequency

weights = st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=4)


def channel(rows: list[list[int]]) -> FiniteChannel:
    return FiniteChannel([[f"{w}/{sum(row)}" for w in row] for row in rows])


@given(weights, st.floats(0, 3))
def test_epsilon_and_delta_by_brute_force(rows: list[list[int]], level: float) -> None:
    c = channel(rows)
    table = [[w / sum(row) for w in row] for row in rows]
    ratios = [p / q if q else math.inf for a in table for b in table for p, q in zip(a, b, strict=True) if p]
    assert c.exact_epsilon() == pytest.approx(math.log(max(ratios)), rel=1e-12, abs=1e-15)
    brute = max(sum(max(p - math.exp(level) * q, 0) for p, q in zip(a, b, strict=True)) for a in table for b in table)
    assert c.delta(level) == pytest.approx(brute, rel=1e-12, abs=1e-15)


@given(weights)
def test_the_worst_pair_attains_epsilon(rows: list[list[int]]) -> None:
    c = channel(rows)
    i, j = c.worst_pair()
    gaps = [float(c.log_prob(y, i)) - float(c.log_prob(y, j)) for y in range(3) if c.log_prob(y, i) > -math.inf]
    assert max(gaps) == pytest.approx(c.exact_epsilon(), rel=1e-12, abs=1e-15)


@given(weights)
def test_what_is_implemented_has_the_same_supports(rows: list[list[int]]) -> None:
    c = channel(rows)
    assert math.isinf(c.implemented_epsilon()) == math.isinf(c.exact_epsilon())
    if not math.isinf(c.exact_epsilon()):
        assert c.implemented_epsilon() == pytest.approx(c.exact_epsilon(), rel=1e-9, abs=1e-9)


def test_it_agrees_with_a_mechanism_written_down_otherwise() -> None:
    m = RandomizedResponse(1.3, 4)
    c = FiniteChannel([[math.exp(m.log_prob(y, x)) for y in range(4)] for x in range(4)])
    assert c.exact_epsilon() == pytest.approx(1.3, rel=1e-12)
    for level in (0.0, 0.5, 1.3, 2.0):
        assert c.delta(level) == pytest.approx(float(m.delta(level)), rel=1e-9, abs=1e-15)
    assert c.mean([0, 3]) == pytest.approx(m.mean([0, 3]))
    assert c.variance([0, 3]) == pytest.approx(m.variance([0, 3]))


def test_an_output_without_mass_is_never_drawn() -> None:
    c = FiniteChannel([[0, 1, 0], ["1/3", "1/3", "1/3"]], outputs=["a", "b", "c"])
    drawn = c.sample(np.array([0, 1] * 3000), rng=np.random.default_rng(1))
    assert set(drawn[::2]) == {"b"}
    for label in "abc":
        assert_frequency(int(np.sum(drawn[1::2] == label)), 3000, 1 / 3)


def test_labels_and_infinite_levels() -> None:
    c = FiniteChannel([[1, 0], ["1/2", "1/2"]], outputs=["yes", "no"])
    assert c.exact_epsilon() == math.inf
    assert list(c.delta([0.0, math.inf])) == [0.5, 0.5]
    assert c.log_prob("maybe", 0) == -math.inf
    with pytest.raises(ValueError, match="moments need numbers as outputs"):
        c.mean(0)
    with pytest.raises(ValueError, match=r"x must be row numbers in 0\.\.1"):
        c.log_prob("yes", 2)


def test_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("3/4, 1/4\n0.25,0.75\n\n", encoding="utf-8")
    np.savez(tmp_path / "c.npz", matrix=[[0.75, 0.25], [0.25, 0.75]], outputs=["a", "b"])
    assert FiniteChannel.from_file(tmp_path / "c.csv").exact_epsilon() == pytest.approx(math.log(3), rel=1e-15)
    assert FiniteChannel.from_file(tmp_path / "c.npz").outputs == ("a", "b")


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([], "at least one row and one column"),
        ([[]], "at least one row and one column"),
        ([[1, 0], [1]], "rows of numbers of one length"),
        ([["x", "y"]], "rows of numbers of one length"),
        ([["1/0", "1"]], "rows of numbers of one length"),
        (3, "rows of numbers of one length"),
        ([[math.nan, 1.0]], "entries must be probabilities, got nan in row 0, column 0"),
        ([[0.5, 0.5], [1.5, -0.5]], "entries must be probabilities, got 1.5 in row 1, column 0"),
        ([[0.5, 0.4]], "rows must add up to 1, got 0.9 in row 0"),
    ],
)
def test_what_is_no_channel_is_refused(matrix: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FiniteChannel(matrix)


def test_labels_must_fit() -> None:
    for labels in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="outputs must be 2 different labels"):
            FiniteChannel([[0.5, 0.5]], outputs=labels)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04broken", b"\x93NUMPY", b"0.5,0.5"])
def test_a_damaged_file_is_one_clear_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"c\.npz"):
        FiniteChannel.from_file(path)


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "c.npz", matrix=np.array([[{}]], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        FiniteChannel.from_file(tmp_path / "c.npz")
    with pytest.raises(ValueError, match=r"must end in \.csv or \.npz"):
        FiniteChannel.from_file(tmp_path / "c.pkl")
