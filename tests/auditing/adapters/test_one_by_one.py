from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.auditing.adapters.adapted_sampler import flattened, one_by_one
from ldp_audit.auditing.outputs import read
from tests.together import together


@together(
    ("output", "expected"),
    [
        (0.1, 0.1),
        ("yes", "yes"),
        (None, None),
        (np.array(7), 7),
        ({1, 2}, frozenset({1, 2})),
        ([], "()"),
        ((1, "a"), (1, "a")),
        ((np.array([0.5, 1.5]), "a"), ([0.5, 1.5], "a")),
    ],
)
def test_an_output_that_is_no_vector_stays_a_number_or_label(output: Any, expected: Any) -> None:
    assert flattened(output) == expected


@together(
    "output",
    [
        [0.1, 2, True],
        (np.float32(0.1).item(), [2.0, 1.0]),
        np.array([[0.1, 2.0, 1.0]]),
        [np.array([0.1, 2.0]), np.array([1.0])],
        torch.tensor([0.1, 2.0, 1.0], dtype=torch.float64, requires_grad=True),
        (torch.tensor(0.1, dtype=torch.float64), torch.tensor([2, 1])),
    ],
)
def test_all_numbers_of_an_output_come_in_one_row_exactly(output: Any) -> None:
    row = flattened(output)
    assert row.shape == (3,)
    assert row.tolist() == [pytest.approx(0.1, abs=1e-8), 2, 1]
    if not isinstance(output, tuple) or not isinstance(output[0], float):
        assert row[0] == 0.1


def test_a_program_that_fills_one_array_anew_is_read_before_the_next_call() -> None:
    buffer = np.zeros(2)

    def program(x: float) -> np.ndarray:
        buffer[:] += x
        return buffer

    assert np.array(one_by_one(program, 3, 1.0)).tolist() == [[1, 1], [2, 2], [3, 3]]


@together("x", [[1.0, 2.0], np.array([1.0, 2.0]), ([1.0], [2.0]), torch.tensor([1.0, 2.0])])
def test_a_program_that_changes_its_input_changes_a_copy(x: Any) -> None:
    def program(x: Any) -> float:
        first = x[0]
        first += 1 if not isinstance(first, list) else [1.0]
        if not isinstance(x, tuple):
            x[0] = first
        return float(np.sum(np.ravel(x[0])))

    assert len(set(one_by_one(program, 5, x))) == 1


def test_no_calls_are_no_outputs() -> None:
    assert one_by_one(lambda x: 1 / 0, 0, 1.0) == []


def test_what_comes_back_can_be_read_by_the_auditor() -> None:
    rng = np.random.default_rng(0)
    assert read(one_by_one(lambda x: [x, rng.random()], 5, 2.0), 5).shape == "vectors of 2"
    assert read(one_by_one(lambda x: [x] * int(rng.integers(1, 3)), 20, 2), 20).shape == "numbers or labels"
    assert read(one_by_one(lambda x: None if rng.random() < 0.5 else x, 20, 2.0), 20).shape == "numbers or labels"


@together("output", [np.ma.masked, np.ma.array([1.0, 2.0], mask=[True, False]), (1.0, np.ma.masked)])
def test_a_masked_array_is_no_output(output: Any) -> None:
    with pytest.raises(ValueError, match="it returned a masked array"):
        one_by_one(lambda _: output, 2, 0.0)
