"""Outputs as keys: the same where an observer sees the same, in the outputs' order, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from ldp_audit.implementations.output_keys import OutputKeys, array_of_numbers
from tests.together import together

FLOATS = ["float16", "float32", "float64"]


@given(
    st.sampled_from(FLOATS).flatmap(lambda dtype: of_numpy.arrays(dtype, 20, elements=st.just(0.0) | _floats(dtype)))
)
def test_keys_are_in_the_order_of_the_numbers_and_lead_back(numbers: np.ndarray) -> None:
    """Would catch the usual slip of bit patterns: negative numbers in reverse order."""
    keys, places = OutputKeys(), np.argsort(numbers, kind="stable")
    read = keys.read(numbers, 20)
    assert read.dtype.itemsize == numbers.dtype.itemsize
    assert [keys.output(key).tobytes() for key in read] == [number.tobytes() for number in numbers]
    increasing = numbers[places][1:] > numbers[places][:-1]
    assert (read[places][1:] > read[places][:-1])[increasing].all()


def _floats(dtype: str) -> st.SearchStrategy[float]:
    return st.floats(allow_nan=False, width=8 * np.dtype(dtype).itemsize)


@together("dtype", FLOATS)
def test_zeros_have_signs_and_nans_have_not(dtype: str) -> None:
    """-0.0 and 0.0 print differently, so an observer can tell them apart; NaNs are one output, the last."""
    numbers = np.array([np.nan, -np.nan, np.inf, 0.0, -0.0, -np.inf], dtype=dtype)
    keys = OutputKeys()
    read = keys.read(numbers, 6)
    assert read[0] == read[1]
    assert len(set(read.tolist())) == 5
    assert sorted(set(read.tolist())) == [read[5], read[4], read[3], read[2], read[0]]
    assert math.copysign(1, keys.output(read[4])) == -1
    assert math.isnan(keys.output(read[0]))


@together("dtype", ["int8", "int64", "uint8", "uint64", "bool"])
def test_whole_numbers_and_booleans_lead_back(dtype: str) -> None:
    numbers = np.array([0, 1, 1, 2**63 if dtype == "uint64" else 100], dtype=dtype)
    keys = OutputKeys()
    read = keys.read(numbers, 4)
    assert [keys.output(key) for key in read] == numbers.tolist()
    assert read[1] == read[2]


@together("dtype", ["bool", "float16", "bfloat16", "float32", "float64", "int64"])
@together("columns", [1, 2, 3, 5])
def test_rows_lead_back(dtype: str, columns: int) -> None:
    """Would catch columns packed into too few bits, in the wrong order, or cut off."""
    rows = torch.tensor([[0.0, -1.0, 2.0, 1.5, -0.5], [-0.0, -1.0, 2.0, 1.5, 0.5]])[:, :columns]
    tensor = rows.to(getattr(torch, dtype)).repeat(2, 1)
    keys = OutputKeys()
    read = keys.read(tensor, 4)
    assert [keys.output(key) for key in read] == [tuple(row) for row in tensor.tolist()]
    assert (read[0] == read[1]) == (dtype in ("bool", "int64"))  # floats have a signed zero
    assert read[0] == read[2]


def test_torch_tensors_are_read_by_their_bits() -> None:
    numbers = torch.tensor([-1.5, 0.0, -0.0, 3.14, math.inf, math.nan], dtype=torch.bfloat16, requires_grad=True)
    keys = OutputKeys()
    read = keys.read(numbers, 6)
    assert read.dtype == np.uint16
    assert [keys.output(key) for key in read[:5]] == [-1.5, 0.0, -0.0, 3.140625, math.inf]
    assert read[0] < read[2] < read[1] < read[3] < read[4] < read[5]


def test_labels_are_told_apart_by_type_and_value() -> None:
    labels = [1, 1.0, True, "1", None, (1, 2), (1, 2.0), -0.0, 0.0, math.nan, frozenset({1}), np.float32(1), b"1"]
    keys = OutputKeys()
    read = keys.read(labels, len(labels))
    assert len(set(read.tolist())) == len(labels)
    assert keys.read([math.nan, (1, 2), np.float32(1)], 3).tolist() == [read[9], read[5], read[11]]
    assert keys.output(read[3]) == "1"
    assert not keys.ordered


def test_text_of_any_width_is_one_kind() -> None:
    keys = OutputKeys()
    assert keys.read(np.array(["a", "b", "a"]), 3).tolist() == [0, 1, 0]
    assert keys.read(np.array(["long text", "a"]), 2).tolist() == [2, 0]
    assert keys.read(["b", None], 2).tolist() == [1, 3]
    assert [keys.output(key) for key in range(4)] == ["a", "b", "long text", None]


def test_numbers_in_a_list_that_held_labels_stay_labels() -> None:
    """Would catch a batch that decides what an output is: the same list without its None."""
    keys = OutputKeys()
    assert keys.read([1, None], 2).tolist() == [0, 1]
    assert keys.read([1, 1], 2).tolist() == [0, 0]


class Tagged:
    """An object whose text does not tell what it holds."""

    def __init__(self, held: int) -> None:
        self.held = held

    def __repr__(self) -> str:
        return "Tagged"


@together(
    "outputs",
    [
        [-1, 2**63, 2**63 + 1],
        [(2**53, 0.5), (2**53 + 1, 0.5)],
        [(1, 2), (True, 2)],
        [(1, 0.5), (1.0, 0.5)],
        [True, 1],
        [np.array([0.5], dtype=np.float32), np.array([0.5])],
        [np.float32(0.5), 0.5],
        [{"a": 1}, {"a": True}],
        [np.datetime64("2020-01-01", "ns"), np.datetime64("2020-01-01", "us")],
    ],
)
def test_outputs_that_differ_have_keys_that_differ(outputs: list[Any]) -> None:
    """Would catch numbers that a common dtype makes equal: an observer of the outputs themselves tells them apart."""
    assert len(set(OutputKeys().read(outputs, len(outputs)).tolist())) == len(outputs)


def test_rows_of_numbers_of_one_type_are_numbers_and_others_labels() -> None:
    assert [array_of_numbers(one) is None for one in ([(1, 2), (3, 4)], [[0.5], [1.0]], [np.float32(1)] * 2)] == [
        False
    ] * 3
    assert [array_of_numbers(one) is None for one in ([(1, 2), [3, 4]], [(1,), (1, 2)], [2**64], ["a"], [])] == [
        True
    ] * 5


@together(
    ("raw", "message"),
    [
        (np.ma.array([0.0, 1.0], mask=[False, True]), "a masked array"),
        ([np.ma.array([0.0], mask=[True]), np.ma.array([0.0], mask=[False])], "a masked array"),
        ([Tagged(1), Tagged(2)], "class Tagged, of which only the text is known"),
        ([np.longdouble(1), np.longdouble(2)], "cannot be read exactly|float128"),
        (np.array([np.longdouble(1), None], dtype=object), "longdouble, which cannot be read exactly"),
        (3.0, "it returned 3.0, not an array of outputs"),
        ("text", "it returned text, not an array"),
        (np.zeros(3), "it returned 3 outputs for 2 words"),
        (np.array(1.0), "a single value for 2 words"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.zeros((2, 0)), r"shape \(2, 0\)"),
        (np.zeros(2, dtype=complex), "dtype complex128; accepted"),
        (np.zeros(2, dtype="datetime64[s]"), "datetime64"),
        (np.array([["a"], ["b"]]), "labels of shape"),
        ([object(), object()], "cannot be compared"),
        (torch.zeros(2, dtype=torch.complex64), "complex64"),
        (torch.zeros(2).to_sparse(), "torch float32, which cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named(raw: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OutputKeys().read(raw, 2)


@together("second", [np.zeros(2, dtype=np.float32), np.zeros((2, 1)), np.zeros(2, dtype=int), np.array(["a", "b"])])
def test_another_kind_of_output_is_refused(second: np.ndarray) -> None:
    """Bits of float32 and float64 must not be compared with each other."""
    keys = OutputKeys()
    keys.read(np.zeros(2), 2)
    with pytest.raises(ValueError, match="after float64; outputs must be of one kind"):
        keys.read(second, 2)


def test_bytes_of_another_machine_are_the_same_outputs() -> None:
    keys = OutputKeys()
    numbers = np.array([1.5, -2.0])
    assert keys.read(numbers, 2).tolist() == keys.read(numbers.astype(">f8"), 2).tolist()
