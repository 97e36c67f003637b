"""Any finite channel: its numbers against brute force, its files, and what is no channel."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import FiniteChannel, RandomizedResponse
from tests.together import together

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


@given(weights, st.integers(1, 45))
def test_delta_keeps_its_digits_where_it_nearly_vanishes(rows: list[list[int]], nearness: int) -> None:
    """At levels next to a loss, P - e**level Q has lost up to 45 bits to cancellation; sixty digits have not."""
    c = channel(rows)
    table = [[Fraction(w, sum(row)) for w in row] for row in rows]
    losses = {p / q for a in table for b in table for p, q in zip(a, b, strict=True) if q and p > q}
    for loss in losses:
        level = math.log(loss) * (1 - 2.0**-nearness)
        with mpmath.workdps(60):
            t = mpmath.exp(mpmath.mpf(level))
            exact = max(
                mpmath.fsum(max(mpmath.mpf(p.numerator) / p.denominator - t * q.numerator / q.denominator, 0)
                            for p, q in zip(a, b, strict=True))
                for a in table for b in table
            )  # fmt: skip
        assert c.delta(level) == pytest.approx(float(exact), rel=1e-13, abs=0)


def test_it_agrees_with_a_mechanism_written_down_otherwise() -> None:
    m = RandomizedResponse(1.3, 4)
    c = FiniteChannel([[math.exp(m.log_prob(y, x)) for y in range(4)] for x in range(4)])
    assert c.exact_epsilon() == pytest.approx(1.3, rel=1e-12, abs=0)
    for level in (0.0, 0.5, 1.3, 2.0):
        assert c.delta(level) == pytest.approx(float(m.delta(level)), rel=1e-9, abs=1e-15)
    assert c.mean([0, 3]) == pytest.approx(m.mean([0, 3]))
    assert c.variance([0, 3]) == pytest.approx(m.variance([0, 3]))


def test_labels_and_infinite_levels() -> None:
    c = FiniteChannel([[1, 0], ["1/2", "1/2"]], outputs=["yes", "no"])
    assert c.exact_epsilon() == math.inf
    assert list(c.delta([0.0, math.inf])) == [0.5, 0.5]
    assert c.log_prob("maybe", 0) == -math.inf
    with pytest.raises(ValueError, match="moments need numbers as outputs"):
        c.mean(0)
    with pytest.raises(ValueError, match=r"x must be whole numbers in 0\.\.1, got 2"):
        c.log_prob("yes", 2)


def test_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("3/4, 1/4\n0.25,0.75\n\n", encoding="utf-8")
    np.savez(tmp_path / "c.npz", matrix=[[0.75, 0.25], [0.25, 0.75]], outputs=["a", "b"])
    assert FiniteChannel.from_file(tmp_path / "c.csv").exact_epsilon() == pytest.approx(math.log(3), rel=1e-15, abs=0)
    assert FiniteChannel.from_file(tmp_path / "c.npz").outputs == ("a", "b")


def test_log_prob_takes_arrays_of_labels() -> None:
    c = FiniteChannel([["1/4", "3/4", 0], ["1/2", "1/2", 0]], outputs=["a", None, (1, 2)])
    log = math.log
    assert c.log_prob(["a", None, "b"], 0) == pytest.approx([log(0.25), log(0.75), -math.inf])
    assert c.log_prob(np.array([["a"], [None]], dtype=object), [0, 1]) == pytest.approx(
        np.log([[0.25, 0.5], [0.75, 0.5]])
    )
    assert c.log_prob((1, 2), [0, 1]).tolist() == [-math.inf, -math.inf]
    assert c.log_prob([(1, 2), "a"], 1) == pytest.approx([-math.inf, log(0.5)])
    numbers = FiniteChannel([[0.5, 0.25, 0.25]], outputs=[0.1, 3, -2.5])
    assert np.exp(numbers.log_prob([-2.5, 0.1, 3, 4, math.nan], 0)) == pytest.approx([0.25, 0.5, 0.25, 0, 0])
    assert np.exp(numbers.log_prob(np.float32(0.1), 0)) == 0.5  # a report rounded to a narrower dtype
    assert np.exp(FiniteChannel([[0.5, 0.5]], outputs=["1", 1]).log_prob(["1", 1, 2], 0)).tolist() == [0.5, 0.5, 0]


def test_entries_are_the_exact_numbers_that_they_are() -> None:
    """Sums of probabilities that floats cannot hold; 0.1 as a float is another number than 1/10."""
    tiny = Fraction(1, 10**30)
    c = FiniteChannel([[Fraction(1, 2) + tiny, Fraction(1, 2) - tiny], ["1/2", "1/2"]])
    assert c.exact_epsilon() == pytest.approx(2e-30, rel=1e-14, abs=0)
    assert c.delta(0.0) == pytest.approx(1e-30, rel=1e-14, abs=0)
    assert 0 < FiniteChannel([["1/10", "9/10"], [0.1, 0.9]]).exact_epsilon() < 1e-16
    assert FiniteChannel([[0.1] * 10, ["1/10"] * 10]).exact_epsilon() == 0  # rows of floats are divided by their sum
    assert FiniteChannel(np.eye(2, dtype=np.int64)).exact_epsilon() == math.inf
    assert FiniteChannel([[Fraction(1, 10**400), 1 - Fraction(1, 10**400)], ["1/2", "1/2"]]).delta(1e3) == 0
    assert FiniteChannel([[Fraction(1, 10**400), 1 - Fraction(1, 10**400)], ["1/2", "1/2"]]).exact_epsilon() == (
        pytest.approx(400 * math.log(10) - math.log(2), rel=1e-14, abs=0)
    )


@together(
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


@together("entry", ["1e999999999", "1e-999999999", np.complex128(0.5), 0.5j, b"1"])
def test_entries_with_huge_exponents_and_complex_ones_are_refused(entry: Any) -> None:
    with pytest.raises(ValueError, match="matrix must be rows of numbers of one length"):
        FiniteChannel([[entry, 0], [0, 1]])
