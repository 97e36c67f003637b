"""The grid of additive noise: rounding that costs no privacy, in floats as on paper, and keeps the mean."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms.noise.noise_grid import NoiseGrid
from ldp_audit.mechanisms.randomness import NumpySource, source_of
from tests.frequency import assert_frequency
from tests.together import together


class Scripted(NumpySource):
    """Gives every value the same U: of 53 bits for the cells, a whole number for the spacings."""

    def __init__(self, word: int, cell: int) -> None:
        super().__init__(np.random.default_rng(0))
        self.word, self.cell = word, cell

    def words(self, shape: Any, bits: int = 64) -> np.ndarray:
        assert bits == 53
        return np.full(tuple(shape), self.word, np.int64)

    def below(self, bound: int, shape: Any) -> np.ndarray:
        return np.full(tuple(shape), self.cell % bound, np.int64)


inputs = st.floats(-100, 100) | st.integers(-400, 400).map(lambda k: k / 4) | st.floats(-1e-300, 1e-300)


@given(
    inputs,
    inputs,
    st.floats(1e-3, 10.0),
    st.integers(1, 40),
    st.integers(-(2**52), 2**52 - 1),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_rounding_never_moves_inputs_further_apart_than_whole_spacings(
    x: float, away: float, sensitivity: float, parts: int, word: int, cell: int, tight: bool
) -> None:
    """For every U: |x - z| <= D gives steps that differ by D / g, rounded up; also at distances of just D."""
    grid = NoiseGrid.dividing(sensitivity, parts)
    z = x + math.copysign(sensitivity if tight else min(abs(away), sensitivity), away)
    while abs(Fraction(z) - Fraction(x)) > Fraction(sensitivity):
        z = math.nextafter(z, x)
    first, second = grid.rounded(np.array([x, z]), Scripted(word, cell)).tolist()
    assert abs(first - second) <= parts


@given(st.floats(1e-3, 1e3), st.integers(1, 10**6))
def test_a_whole_number_of_spacings_makes_a_sensitivity(sensitivity: float, parts: int) -> None:
    exact = Fraction(sensitivity) / NoiseGrid.dividing(sensitivity, parts).spacing()
    assert parts * (1 - Fraction(1, 2**31)) < exact <= parts


@together("grid", [NoiseGrid(-2), NoiseGrid(-3, 5)])
@together("x", [0.3, -0.3, 7.0, -1e-9, 0.0])
def test_rounding_keeps_the_mean(grid: NoiseGrid, x: float) -> None:
    """False alarm 1e-6; with 20,000 draws a chance off by 0.03 is missed with a chance below 1e-3."""
    below, fraction = grid.between(x)
    assert float(grid.spacing()) * (below + fraction) == pytest.approx(x, abs=1e-15)
    for values, source in (
        (np.full(20_000, x), source_of(np.random.default_rng(1))),
        (torch.full((20_000,), x, dtype=torch.float64), source_of(torch.Generator().manual_seed(1))),
    ):
        up = np.asarray(grid.rounded(values, source)) - below
        assert set(up.tolist()) <= {0, 1}
        assert_frequency(int(up.sum()), 20_000, float(fraction))


def test_grid_points_stay_where_they_are_and_are_known() -> None:
    for grid in (NoiseGrid(-40), NoiseGrid(3), NoiseGrid(-41, 3**19)):
        steps = np.array([0, 1, -1, 12345, -(2**20)])
        reports = grid.reports(steps, np.zeros(5), source_of(np.random.default_rng(0)).xp)
        assert grid.rounded(reports, source_of(np.random.default_rng(0))).tolist() == steps.tolist()
        found, known = grid.step_of(reports)
        assert found.tolist() == steps.tolist()
        assert known.all()
        assert not grid.step_of(reports + float(grid.spacing()) / 3)[1].any()
    assert not NoiseGrid(0).step_of([math.nan, math.inf, 1e300])[1].any()


@together("value", [math.nan, math.inf, 2.0**62 * 1.01, -(2.0**63)])
def test_inputs_out_of_range_are_named_with_the_range(value: float) -> None:
    for dtype in (np.float64, np.float32):
        with pytest.raises(ValueError, match=r"x must lie in \[-4.611686018427388e\+18, 4.61.*\], got"):
            NoiseGrid(0).rounded(np.array([0.0, value], dtype), source_of(np.random.default_rng(0)))
    with pytest.raises(ValueError, match="x must lie in"):
        NoiseGrid(0).rounded(torch.tensor(value), source_of(torch.Generator()))


def test_whole_numbers_that_floats_cannot_hold_are_refused() -> None:
    source = source_of(np.random.default_rng(0))
    assert NoiseGrid(0).rounded(np.array([2**52, -3]), source).tolist() == [2**52, -3]
    with pytest.raises(ValueError, match="x must lie in"):
        NoiseGrid(0).rounded(np.array([2**53 + 1]), source)
    for wrong in (np.array([True]), np.array(["a"]), np.array([1j])):
        with pytest.raises(ValueError, match=r"x must lie in .* got dtype"):
            NoiseGrid(0).rounded(wrong, source)


@together(("exponent", "cells"), [(601, 1), (0.5, 1), (0, 0), (0, 2**33), (True, 1)])
def test_bad_grids_are_refused(exponent: Any, cells: Any) -> None:
    with pytest.raises(ValueError, match="must be a whole number in"):
        NoiseGrid(exponent, cells)
