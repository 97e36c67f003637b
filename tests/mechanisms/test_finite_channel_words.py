"""A finite channel as it is sampled: whole words, no ratio larger than the channel's, and the sampler itself."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import FiniteChannel
from ldp_audit.mechanisms.randomness import WORDS
from tests.frequency import assert_frequency
from tests.together import together

rows_of_weights = st.integers(1, 6).flatmap(
    lambda outputs: st.lists(
        st.lists(st.integers(0, 9) | st.integers(1, 10**30), min_size=outputs, max_size=outputs).filter(any),
        min_size=1,
        max_size=4,
    )
)


def probabilities(rows: list[list[int]]) -> list[list[Fraction]]:
    return [[Fraction(weight, sum(row)) for weight in row] for row in rows]


def largest_ratio(table: list[list[Fraction]]) -> Fraction | float:
    """e**epsilon by brute force over pairs of inputs and outputs."""
    pairs = [(p, q) for a, b in product(table, table) for p, q in zip(a, b, strict=True) if p]
    return max(p / q if q else math.inf for p, q in pairs)


@given(rows_of_weights, st.integers(2, 64))
def test_no_ratio_is_larger_than_the_channels(rows: list[list[int]], bits: int) -> None:
    """In exact fractions, and as the floats that exact_epsilon() returns."""
    table = probabilities(rows)
    c = FiniteChannel(table)
    implemented = c.implemented(bits)
    counts = [[p * 2**bits for p in row] for row in implemented.matrix]
    assert all(count.denominator == 1 and count >= 0 for row in counts for count in row)
    assert all(sum(row) == 2**bits for row in counts)
    assert largest_ratio(implemented.matrix) <= largest_ratio(table)
    assert implemented.exact_epsilon() <= c.exact_epsilon()
    assert implemented.implemented(bits) is implemented


@given(rows_of_weights)
def test_words_of_64_bits_give_nearly_the_law(rows: list[list[int]]) -> None:
    """Off by a share of a uniform law of m coth(epsilon/2) / 2**64, and a word; the first row where epsilon is tiny."""
    table = probabilities(rows)
    c = FiniteChannel(table)
    implemented = c.implemented().matrix
    ratio = largest_ratio(table)
    if ratio == 1 or (ratio < math.inf and (ratio + 1) / (ratio - 1) * len(rows[0]) > 2**40):
        return
    slack = Fraction(2 * len(rows[0]), WORDS) * (1 if ratio == math.inf else math.ceil((ratio + 1) / (ratio - 1)))
    for row, ideal in zip(implemented, table, strict=True):
        for p, wanted in zip(row, ideal, strict=True):
            assert abs(p - wanted) <= slack


@given(rows_of_weights)
def test_supports_are_kept_where_epsilon_is_infinite(rows: list[list[int]]) -> None:
    c = FiniteChannel(probabilities(rows))
    if c.exact_epsilon() < math.inf:
        return
    for bits in (3, 64):
        for row, weights in zip(c.implemented(bits).matrix, rows, strict=True):
            assert [p > 0 for p in row] == [weight > 0 for weight in weights]


def test_too_few_words_for_the_supports_still_share_out_all_words() -> None:
    c = FiniteChannel([["1/9"] * 9, [1, *[0] * 8]]).implemented(3)
    assert sorted(float(p) for p in c.matrix[0]) == [0, *[1 / 8] * 8]
    assert c.matrix[1][0] == 1


def test_too_few_words_for_the_ratio_ignore_the_input() -> None:
    """At epsilon = ln(51/49), coth(epsilon/2) = 50 words an output: 100 do not fit into 64."""
    c = FiniteChannel([["51/100", "49/100"], ["49/100", "51/100"]])
    assert c.implemented(6).exact_epsilon() == 0
    assert c.implemented(6).matrix[0] == c.implemented(6).matrix[1] == [Fraction(33, 64), Fraction(31, 64)]
    assert 0 < c.implemented(8).exact_epsilon() <= c.exact_epsilon()


def test_an_output_of_no_input_gets_no_words() -> None:
    c = FiniteChannel([["1/3", 0, "2/3"], ["2/3", 0, "1/3"]])
    assert all(row[1] == 0 < row[0] for row in c.implemented(8).matrix)


def test_whole_words_are_used_as_they_are() -> None:
    c = FiniteChannel([["3/4", "1/4"], ["1/4", "3/4"]])
    assert c.implemented() is c.implemented(2) is c
    assert FiniteChannel([["3/8", "5/8"], ["1/4", "3/4"]]).implemented(2).exact_epsilon() <= math.log(1.5)


@pytest.mark.parametrize("bits", [1, 65, 2.5, "8"])
def test_bits_are_checked(bits: Any) -> None:
    with pytest.raises(ValueError, match="bits must be a whole number >= 2 and <= 64"):
        FiniteChannel([[1]]).implemented(bits)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("bits", [3, 64])
def test_both_samplers_draw_from_the_law(library: str, bits: int) -> None:
    """False alarm 1e-6 a frequency; with 20,000 draws each a probability off by 0.03 is missed with chance 1e-3."""
    c = FiniteChannel([[0, 1, 0], ["1/3", "1/3", "1/3"], ["9/10", "1/20", "1/20"]], outputs=[-1.5, 0, 7])
    c, rows = c.implemented(bits), np.array([[0, 1, 2]] * 20_000)
    if library == "numpy":
        drawn = c.sample(rows, rng=np.random.default_rng(1))
    else:
        drawn = c.sample(torch.from_numpy(rows), rng=torch.Generator().manual_seed(1)).numpy()
    assert (drawn.shape, drawn.dtype) == (rows.shape, np.float64)
    for row, label in product(range(3), c.outputs or ()):
        assert_frequency(int(np.sum(drawn[:, row] == label)), len(rows), math.exp(c.log_prob(label, row)))


@together(
    ("labels", "dtype"),
    [
        (["a", "bb"], np.dtype("<U2")),
        ([0, 5], np.int64),
        ([0.5, 1], np.float64),
        ([True, False], np.bool_),
        ([None, "a"], object),
        ([1, "a"], object),
        ([(0, 1), (1, 0)], object),
        ([2**70, 1], object),
    ],
)
def test_labels_keep_their_kind(labels: list[Any], dtype: Any) -> None:
    c = FiniteChannel([["1/2", "1/2"]], outputs=labels)
    drawn = c.sample(np.zeros((8, 4), dtype=np.uint8), rng=np.random.default_rng(0))
    assert (drawn.shape, drawn.dtype) == ((8, 4), dtype)
    assert set(drawn.ravel().tolist()) == set(labels)
    assert c.sample(0, rng=np.random.default_rng(0)) in labels
    assert np.exp(c.log_prob(drawn, 0)) == pytest.approx(0.5)


def test_tensors_hold_numbers_only() -> None:
    c, rng = FiniteChannel([["1/2", "1/2"]], outputs=["a", "b"]), torch.Generator().manual_seed(0)
    with pytest.raises(ValueError, match=r"outputs must be numbers for tensors, got .* use sample_indices"):
        c.sample(torch.zeros(3, dtype=torch.int64), rng=rng)
    drawn = c.sample_indices(torch.zeros(30, dtype=torch.int32), rng=rng)
    assert drawn.dtype == torch.int64
    assert set(drawn.tolist()) == {0, 1}
    for shape in [(), (0,), (2, 3)]:
        assert c.sample_indices(torch.zeros(shape, dtype=torch.int64), rng=rng).shape == shape


@pytest.mark.parametrize("x", [[0, 1], [-1], [0.5], [math.nan]])
def test_inputs_must_be_rows(x: list[float]) -> None:
    with pytest.raises(ValueError, match=r"x must be whole numbers in 0\.\.0"):
        FiniteChannel([["1/2", "1/2"]]).sample(x, rng=np.random.default_rng(0))
