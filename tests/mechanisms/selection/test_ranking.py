"""Rankings, top-k sets and members, on numpy and on torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.mechanisms import PerturbedSampling
from ldp_audit.mechanisms.randomness import source_of
from ldp_audit.mechanisms.selection.ranking import indices, ranking, require_ranking, require_status, top_set
from tests.frequency import assert_frequency
from tests.together import together

libraries = pytest.mark.parametrize("to_array", [np.array, torch.tensor], ids=["numpy", "torch"])


@libraries
def test_ties_are_ranked_by_index_so_that_sets_have_exactly_k(to_array: Any) -> None:
    assert ranking(to_array([0.0, 0.0, 0.0])).tolist() == [1, 2, 3]
    assert ranking(to_array([3.0, 1.0, 3.0, 2.0])).tolist() == [3, 1, 4, 2]
    assert ranking(to_array([[2, 1], [-5, 7]])).tolist() == [[2, 1], [1, 2]]
    assert top_set(to_array([0.0, 0.0, 5.0, 0.0]), 2).tolist() == [False, False, True, True]
    assert top_set(to_array(np.zeros((3, 4))), 2).sum(-1).tolist() == [2, 2, 2]


def test_lists_are_read_as_numpy_arrays() -> None:
    assert isinstance(ranking([3, 1, 2]), np.ndarray)
    assert top_set([[3, 1, 2]], 1).tolist() == [[True, False, False]]


@libraries
def test_whole_numbers_beyond_the_floats_keep_their_order(to_array: Any) -> None:
    assert ranking(to_array([2**53 + 1, 2**53])).tolist() == [2, 1]


@libraries
def test_results_stay_in_the_library(to_array: Any) -> None:
    values = to_array([[0.5, 0.25, 0.75]])
    for result in (ranking(values), top_set(values, 1), require_ranking(ranking(values), 3)):
        assert type(result) is type(values)


@libraries
@together(
    ("magnitudes", "k", "message"),
    [
        ([1.0, 2.0, 3.0], 4, "k must be a whole number from 1 to d = 3, got 4"),
        ([1.0, 2.0, 3.0], 0, "k must be a whole number from 1 to d = 3, got 0"),
        ([1.0, 2.0, 3.0], 1.5, "k must be a whole number from 1 to d = 3, got 1.5"),
        ([1.0, math.nan], 1, r"magnitudes must be finite numbers of shape \(..., d\), got nan"),
        ([1.0, math.inf], 1, r"magnitudes must be finite numbers of shape \(..., d\), got inf"),
        (1.0, 1, "magnitudes must be finite numbers of shape"),
        ([True, False], 1, "magnitudes must be finite numbers of shape"),
    ],
)
def test_bad_magnitudes_are_named(to_array: Any, magnitudes: Any, k: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        top_set(to_array(magnitudes), k)


@libraries
@together(
    ("x", "message"),
    [
        ([1, 2, 2], r"x must be rankings, permutations of 1..3, got one without 3"),
        ([[1, 2, 3], [3, 3, 1]], r"x must be rankings, permutations of 1..3, got one without 2"),
        ([0, 1, 2], r"x must be rankings, permutations of 1..3, got 0 in one"),
        ([1, 2, 9], r"x must be rankings, permutations of 1..3, got 9 in one"),
        ([1.0, 2.0, 3.0], r"x must be whole numbers of shape \(..., 3\)"),
        ([1, 2], r"x must be whole numbers of shape \(..., 3\), got .*int64 of shape \(2,\)"),
        (1, r"x must be whole numbers of shape \(..., 3\)"),
    ],
)
def test_what_is_no_ranking_is_named(to_array: Any, x: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        require_ranking(to_array(x), 3)


@libraries
def test_rankings_of_narrow_dtypes_are_accepted(to_array: Any) -> None:
    for dtype in ("uint8", "int16"):
        x = to_array(np.array([[2, 1, 3], [3, 2, 1]], dtype=dtype))
        assert require_ranking(x, 3).tolist() == [[2, 1, 3], [3, 2, 1]]


@libraries
@together(
    ("x", "message"),
    [
        ([1, 1, 0], "x must have shape .* with exactly 1 ones in each vector, got one with 2"),
        ([[1, 0, 0], [0, 0, 0]], "x must have shape .* with exactly 1 ones in each vector, got one with 0"),
        ([1, 0], r"x must have shape .* with exactly 1 ones in each vector, got shape \(2,\)"),
        ([2, 0, 0], "x must be status vectors of zeros and ones, got 2 in one"),
        ([-1, 0, 0], "x must be status vectors of zeros and ones, got -1 in one"),
        ([1.0, 0.0, 0.0], "x must be status vectors of zeros and ones, got dtype .*float"),
    ],
)
def test_what_is_no_status_vector_is_named(to_array: Any, x: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        require_status(to_array(x), 3, 1)


@together("rng", [np.random.default_rng(7), torch.Generator().manual_seed(7)])
@together("k", [1, 3, 4])
def test_members_are_uniform_in_and_outside_every_set(rng: Any, k: int) -> None:
    """False alarm 1e-6 an index; with 20,000 rows a probability off by 0.03 is missed with a chance below 1e-4."""
    source, rows, d = source_of(rng), 20_000, 5
    sets = np.array([np.roll(np.arange(d) < k, shift) for shift in range(d)])
    status = sets[np.arange(2 * rows) % d]
    inside = np.arange(2 * rows) < rows
    given = source.constant(status, source.xp.bool), source.constant(inside, source.xp.bool)
    drawn = np.asarray(PerturbedSampling(1.0, d, k).draw(*given, source))
    assert np.array_equal(np.take_along_axis(status, drawn[:, None], axis=-1)[:, 0], inside)
    first = np.arange(2 * rows) % d == 0
    for part, members in ((first & inside, np.flatnonzero(sets[0])), (first & ~inside, np.flatnonzero(~sets[0]))):
        for index in members:
            assert_frequency(int(np.sum(drawn[part] == index)), int(part.sum()), 1 / len(members))


def test_reports_are_indices_or_none() -> None:
    assert indices(None, 3).tolist() == -1
    assert indices([0, None, -1, 2], 3).tolist() == [0, -1, -1, 2]
    assert indices(np.array([1.0, 2.0]), 3).tolist() == [1, 2]
    assert indices([], 3).shape == (0,)
    for bad in (3, -2, 1.5, math.nan, "1", [True]):
        with pytest.raises(ValueError, match=r"y must be an index in 0..2, or None, got"):
            indices(bad, 3)
