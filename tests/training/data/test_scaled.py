"""Numbers scaled into [-1, 1] by declared bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.training.data.recipe import LeftOut, Ordinal, Scaled, numbers
from tests.together import together


@together(
    ("column", "value", "expected"),
    [
        (Scaled("v", 0, 10), "0", -1.0),
        (Scaled("v", 0, 10), "7.5", 0.5),
        (Scaled("v", 2, 10), "10", 1.0),
        (Scaled("v", 0, 10, "ratio"), "0", 0.0),
        (Scaled("v", -5, 10, "ratio"), "-5", -0.5),
        (Scaled("v", 0, 99, "log"), "9", 0.5),
        (Scaled("v", -99, 99, "log"), "-9", -0.5),
        (Scaled("v", 0, 99, "log"), "0", 0.0),
    ],
)
def test_a_number_is_scaled_as_its_column_says(column: Scaled, value: str, expected: float) -> None:
    """Would catch a zero that moves, a lost sign, a factor of two."""
    assert column.encode([value]).item() == pytest.approx(expected, abs=1e-15)


@given(
    st.floats(-1e12, 1e12),
    st.floats(1e-3, 1e12),
    st.lists(st.floats(0, 1), min_size=1),
    st.sampled_from(["centred", "ratio", "log"]),
)
def test_what_is_within_the_bounds_lies_in_one_and_minus_one(low, length, shares, how) -> None:
    """Would catch rounding that leads just beyond 1, which a table refuses."""
    high = low + length
    values = [min(max(low + share * length, low), high) for share in shares]
    coded = Scaled("v", low, high, how).encode(values)
    assert coded.shape == (len(values), 1)
    assert np.abs(coded).max() <= 1
    order = np.argsort(values, kind="stable")
    assert (np.diff(coded[order, 0]) >= 0).all()


@together("value", ["-0.001", "10.001", "1e300"])
@together("how", ["centred", "ratio", "log"])
def test_a_number_beyond_the_bounds_is_refused_and_not_clipped(value: str, how) -> None:
    """Would catch silent clipping."""
    with pytest.raises(
        ValueError, match=rf"v must be a number from 0 to 10, got {float(value):.12g}".replace("+", r"\+")
    ):
        Scaled("v", 0, 10, how).encode(["5", value])


@together("value", ["nan", "inf", "-inf", "1e999", "", "x", "1_0", "0x1", "1,5"])
def test_what_is_no_finite_number_is_refused(value: str) -> None:
    """Would catch a NaN that passes every comparison, and what only Python reads as a number."""
    with pytest.raises(ValueError, match=f"v must be a finite number, got '{value}'"):
        Scaled("v", 0, 10).encode(["5", value])


@together(("low", "high"), [(1, 1), (2, 1), (math.nan, 1)])
def test_bounds_must_ascend(low: float, high: float) -> None:
    """Would catch a division by zero."""
    with pytest.raises(ValueError, match="v: low must be below high"):
        Scaled("v", low, high)


def test_numbers_are_taken_as_they_are() -> None:
    """Would catch digits lost on the way from an array of numbers."""
    assert numbers("v", [0.1, 2]).tolist() == [0.1, 2.0]


def test_ordinal_values_are_even_steps_from_minus_one_to_one() -> None:
    """Would catch months in the alphabet's order."""
    month = Ordinal.of("month", "jan feb mar")
    assert month.encode(["mar", "jan", "feb"]).tolist() == [[1], [-1], [0]]
    with pytest.raises(ValueError, match="month must be one of jan, feb, mar, got 'apr'"):
        month.encode(["jan", "apr"])
    for values in ("jan", "jan jan"):
        with pytest.raises(ValueError, match="month: values must be two or more different ones"):
            Ordinal.of("month", values)


def test_a_field_that_is_left_out_has_no_column() -> None:
    """Would catch a column of zeros in its place."""
    column = LeftOut("v", "always 0")
    assert column.encode(["1", "2"]).shape == (2, 0)
    assert column.outputs == ()
    assert "always 0" in column.describe()
