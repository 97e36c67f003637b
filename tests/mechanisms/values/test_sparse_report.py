"""Indices and values as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms.values.sparse_report import SparseReport, scattered
from tests.together import together


@given(st.integers(1, 6), st.integers(0, 4), st.data())
def test_scattered_values_stand_at_their_indices(d: int, rows: int, data: st.DataObject) -> None:
    """One row at a time, numpy and torch: the same vectors."""
    m = data.draw(st.integers(0, d))
    sets = [data.draw(st.permutations(range(d)))[:m] for _ in range(rows)]
    index = np.array(sets, dtype=np.int64).reshape(rows, m)
    index = np.where(np.arange(rows * m).reshape(rows, m) % 3 == 2, -1, index)
    value = np.arange(1.0, rows * m + 1).reshape(rows, m)
    expected = np.zeros((rows, d))
    for row, (places, numbers) in enumerate(zip(index, value, strict=True)):
        for place, number in zip(places, numbers, strict=True):
            if place >= 0:
                expected[row, place] = 2 * number
    assert np.array_equal(scattered(index, value, d, 2.0), expected)
    tensor = scattered(torch.from_numpy(index), torch.from_numpy(value), d, 2.0)
    assert isinstance(tensor, torch.Tensor)
    assert np.array_equal(tensor.numpy(), expected)


@together("dtype", [np.float32, np.float64])
def test_the_dtype_is_that_of_the_values(dtype: Any) -> None:
    report = SparseReport(np.array([[1]]), np.array([[3]], dtype=dtype))
    assert scattered(*report, 2, 1.5).dtype == dtype
    assert scattered(np.array([0]), np.array([3]), 2, 1.5).tolist() == [4.5, 0.0]
    assert scattered([2], [1.0], 4).tolist() == [0.0, 0.0, 1.0, 0.0]


def test_wrong_indices_are_refused() -> None:
    with pytest.raises(ValueError, match=r"index must be whole numbers in -1\.\.2"):
        scattered([3], [1.0], 3)
    with pytest.raises(ValueError, match=r"index must be whole numbers in -1\.\.2"):
        scattered([0.5], [1.0], 3)
    with pytest.raises(ValueError, match=r"index and value must have one shape, got \(1,\) and \(2,\)"):
        scattered([0], [1.0, 2.0], 3)
