from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ldp_audit.auditing import audit_scores
from ldp_audit.auditing.outputs import NOT_A_LABEL, Outputs, canonical, concatenated, read
from tests.together import together


def labels_of(outputs: Outputs) -> list[object]:
    assert outputs.labels is not None
    return outputs.labels.tolist()


@together(
    ("raw", "expected"),
    [
        ([1, 2], [1.0, 2.0]),
        (np.array([True, False]), [1.0, 0.0]),
        (np.array([1.5, math.inf], dtype=np.float32), [1.5, math.inf]),
        (torch.tensor([3, 4]), [3.0, 4.0]),
        (np.array([[1.0], [2.0]]), [1.0, 2.0]),
        ([2**100, 1], [2.0**100, 1.0]),
        (np.array([2**62, -(2**63)]), [2.0**62, -(2.0**63)]),
        ([torch.tensor(1.5), torch.tensor(2)], [1.5, 2.0]),
        ([torch.tensor([3.0], requires_grad=True), 4.0], [3.0, 4.0]),
        ((value for value in (1, 2)), [1.0, 2.0]),
    ],
)
def test_numbers_are_read_as_they_are(raw: object, expected: list[float]) -> None:
    outputs = read(raw, 2)
    assert outputs.labels is None
    assert outputs.known_numbers.tolist() == expected


def test_vectors_keep_their_rows() -> None:
    outputs = read([(1, 2, 3), (4, 5, 6)], 2)
    assert outputs.known_numbers.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert outputs.dimension == 3
    assert outputs.shape == "vectors of 3"


def test_rows_of_torch_are_vectors_also_one_by_one() -> None:
    """Their repr would be a label, and no two vectors would be comparable."""
    rows = torch.arange(6.0).reshape(2, 3)
    for raw in (rows, list(rows), tuple(rows), iter(rows)):
        assert read(raw, 2).known_numbers.tolist() == rows.tolist()


def test_a_tensor_beside_a_label_is_a_number() -> None:
    assert read([None, torch.tensor(2.0)], 2).known_numbers[1] == 2.0


@together(
    "raw",
    [
        np.array([2**53 + 1, 0]),
        np.array([2**64 - 1, 0], dtype=np.uint64),
        torch.tensor([-(2**53) - 1, 0]),
        [2**53 + 1, 0],
        [2**53 + 1, 0.5],
        [-1, 2**64 - 1],
        [2**53 + 1, None],
        [10**400, 0.5],
        [(0.5, 1), (2, 2**53 + 1)],
        [[2**53 + 1], [0.5]],
    ],
)
def test_whole_numbers_that_a_float_would_round_are_refused(raw: object) -> None:
    """2**53 and 2**53 + 1 would be one output, so that a program which tells its input by them would go unseen."""
    with pytest.raises(ValueError, match=r"a whole number that float64 would round; accepted: a row of two numbers"):
        read(raw, 2)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is double here")
def test_numbers_of_more_digits_than_float64_has_are_refused() -> None:
    fine = np.longdouble(1) + np.longdouble(2) ** -60
    for raw in (np.array([fine, 0]), [fine, np.longdouble(0)], [fine, None], [[fine, 1], [0, 1]]):
        with pytest.raises(ValueError, match="it returned numbers of more digits than float64 has"):
            read(raw, 2)
    with pytest.raises(ValueError, match="members must be numbers that float64 holds"):
        audit_scores(np.array([fine, 0]), [1.0, 0.0], claimed_epsilon=1.0)
    assert read(np.array([1.5, 0], dtype=np.longdouble), 2).known_numbers.tolist() == [1.5, 0]


def test_whole_numbers_up_to_where_floats_hold_them_are_read() -> None:
    assert read(np.array([2**53, 2**53 - 1]), 2).known_numbers.tolist() == [2.0**53, 2.0**53 - 1]


def test_labels_and_numbers_may_be_mixed() -> None:
    outputs = read([None, 1.5, "a", 2], 4)
    assert labels_of(outputs) == [None, NOT_A_LABEL, "a", NOT_A_LABEL]
    assert np.isnan(outputs.known_numbers).tolist() == [True, False, True, False]
    assert outputs.known_numbers[[1, 3]].tolist() == [1.5, 2.0]


def test_text_that_looks_like_a_number_stays_text() -> None:
    assert labels_of(read(["1", "1.0"], 2)) == ["1", "1.0"]
    assert read(np.array(["1", "2"]), 2).numbers is None


def test_equal_sets_are_one_label_however_they_were_built() -> None:
    assert canonical({3, 1, 2}) == canonical(frozenset([2, 3, 1])) == "{1, 2, 3}"
    assert canonical((1, "a")) == canonical([1, "a"]) == "(1, 'a')"
    assert canonical(np.str_("a")) == "a"


def test_tuples_of_different_lengths_are_labels() -> None:
    assert labels_of(read([(1, 2), (1, 2, 3)], 2)) == ["(1, 2)", "(1, 2, 3)"]


@together(
    ("raw", "complaint"),
    [
        ([1.0], "it returned 1 outputs, 2 were asked for"),
        (3.0, "it returned 3.0, not 2 outputs"),
        ("ab", "it returned 'ab', not 2 outputs"),
        (None, "it returned None, not 2 outputs"),
        (np.float64(3), "it returned np.float64(3.0), not 2 outputs"),
        (np.zeros((2, 2, 2)), "shape (2, 2, 2)"),
        (np.zeros((2, 0)), "shape (2, 0)"),
        (np.array([1j, 2]), "dtype complex128"),
        ([object(), object()], "which cannot be compared"),
        (np.ma.array([1.0, 2.0], mask=[True, False]), "it returned a masked array"),
        ([1.0, np.ma.masked], "it returned a masked array"),
        ([np.ma.array([1.0, 2.0], mask=True)] * 2, "it returned a masked array"),
        (torch.eye(2).to_sparse(), "to_dense()"),
        (torch.zeros(2, device="meta"), "no data"),
    ],
)
def test_what_cannot_be_read_is_named(raw: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=r"^it returned") as caught:
        read(raw, 2)
    assert complaint in str(caught.value)


def test_calls_are_joined_with_their_labels_in_place() -> None:
    joined = concatenated([read([1.0, 2.0], 2), read(["a", None], 2), read([3.0, "b"], 2)])
    assert len(joined) == 6
    assert labels_of(joined) == [NOT_A_LABEL, NOT_A_LABEL, "a", None, NOT_A_LABEL, "b"]
    assert joined.known_numbers[[0, 1, 4]].tolist() == [1, 2, 3]


def test_outputs_that_are_labels_alone_have_no_numbers() -> None:
    with pytest.raises(ValueError, match="labels alone"):
        _ = Outputs(None, np.array(["a"], dtype=object)).known_numbers
