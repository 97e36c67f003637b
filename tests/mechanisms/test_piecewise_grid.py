"""PM on a grid: its whole channel, exactly, and every way to draw from it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import Piecewise
from ldp_audit.mechanisms.piecewise import PiecewiseGrid
from tests.frequency import assert_frequency
from tests.together import together

ENDS = [1e-20, 1e-12, 1e-9, 0.1, 1.0, 4.0, 14.0, 20.0, 30.0, 44.0, 50.0, 200.0, 700.0]
SMALL = [PiecewiseGrid(4, 3, 4, 6), PiecewiseGrid(1, 2, 5, 6), PiecewiseGrid(4, 1, 8, 6), PiecewiseGrid(8, 2, 8, 7)]
"""Grids that can be written out, among them some whose windows always overlap."""


def law(grid: PiecewiseGrid, place: Fraction) -> list[Fraction]:
    """The cells' probabilities where the window's place is this, from -half to half: two windows, mixed."""
    inside, outside = grid.probabilities()
    below = math.floor(place)
    weights = {below: 1 - (place - below), below + 1: place - below}
    return [
        sum((w * (inside if 0 <= j - grid.half - z < grid.inner else outside) for z, w in weights.items()), Fraction(0))
        for j in range(grid.cells())
    ]


def places(grid: PiecewiseGrid) -> list[Fraction]:
    return [Fraction(k, 3) for k in range(-3 * grid.half, 3 * grid.half + 1)]


@together("grid", [*SMALL, *(PiecewiseGrid.of(e, bits) for e in (0.5, 1.0, 3.0) for bits in (5, 8))])
def test_the_whole_channel_is_private_and_unbiased(grid: PiecewiseGrid) -> None:
    """epsilon and delta are the largest over all pairs, with exact fractions; the mean is the input."""
    if not grid.half:
        assert grid.exact_epsilon() == 0
        return
    laws = {place: law(grid, place) for place in places(grid)}
    outputs = [(2 * j - (grid.cells() - 1)) * grid.spacing() / 2 for j in range(grid.cells())]
    for place, p in laws.items():
        assert sum(p) == 1
        assert sum(y * mass for y, mass in zip(outputs, p, strict=True)) == place / grid.half
    pairs = list(itertools.product(laws.values(), repeat=2))
    worst = max(p / q for first, second in pairs for p, q in zip(first, second, strict=True))
    assert math.log1p(worst - 1) == pytest.approx(grid.exact_epsilon(), rel=1e-12)
    for level in (0.0, 0.3, 0.9, 1.5):
        t = Fraction(math.exp(level * grid.exact_epsilon()))
        gap = max(sum(max(p - t * q, Fraction(0)) for p, q in zip(a, b, strict=True)) for a, b in pairs)
        assert grid.delta(level * grid.exact_epsilon()) == pytest.approx(float(gap), rel=1e-9, abs=1e-13)
    a, b = (laws[Fraction(round(x * grid.half))] for x in grid.worst_pair())
    assert max(p / q for p, q in zip(a, b, strict=True)) == worst


@given(st.floats(1e-12, 60.0), st.integers(2, 64))
def test_the_implemented_epsilon_is_at_most_the_claimed_one(epsilon: float, bits: int) -> None:
    grid = Piecewise(epsilon).implemented(bits)
    inside, outside = grid.probabilities()
    assert inside * grid.inner + outside * 2 * grid.half == 1
    if not grid.half:
        assert grid.exact_epsilon() == 0
        return
    with mpmath.workdps(60):
        ratio = mpmath.mpf((inside / outside).numerator) / (inside / outside).denominator
        assert 0 < mpmath.log(ratio) <= mpmath.mpf(epsilon)
        assert grid.exact_epsilon() == pytest.approx(float(mpmath.log(ratio)), rel=1e-13)


@together("epsilon", ENDS)
def test_64_bits_cost_little_epsilon(epsilon: float) -> None:
    grid = Piecewise(epsilon).implemented()
    assert grid.exact_epsilon() <= epsilon
    if epsilon >= 1e-9:
        assert grid.exact_epsilon() >= min(epsilon * (1 - 1e-5), 40.0)
    if 1e-3 < epsilon < 13:
        assert grid.inner == 2**12


def test_every_report_is_0_where_no_count_is_safe() -> None:
    grid = Piecewise(0.01).implemented(4)
    x = np.linspace(-1, 1, 7)
    assert (grid.exact_epsilon(), grid.delta(0.0), grid.cells()) == (0.0, 0.0, 1)
    assert np.array_equal(grid.sample(x, rng=np.random.default_rng(0)), np.zeros(7))
    assert np.array_equal(grid.log_prob([0.0, 1.0], 0.3), [0.0, -math.inf])
    assert np.array_equal(grid.variance(x), np.zeros(7))
    assert np.array_equal(grid.mean(x), np.zeros(7))
    assert Piecewise(1e-20).implemented() == PiecewiseGrid(1, 0, 0)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0, 12.0, 25.0])
def test_its_moments_are_those_of_the_line(epsilon: float) -> None:
    """PM's variance to a few parts in 10,000; the mean to what 15 bits of rounding leave."""
    m, x = Piecewise(epsilon), np.linspace(-1, 1, 1001)
    grid = m.implemented()
    assert np.max(np.abs(grid.mean(x) - x)) <= 2.0**-16 / grid.half + 1e-15
    assert grid.variance(x) == pytest.approx(m.variance(x), rel=5e-4)
    assert list(grid.mean([-1.0, 0.0, 1.0])) == [-1.0, 0.0, 1.0]


@given(st.floats(0.01, 44.0), st.floats(-1, 1))
def test_log_prob_adds_up_to_one(epsilon: float, x: float) -> None:
    grid = Piecewise(epsilon).implemented(16)
    if grid.half:
        assert np.exp(grid.log_prob(grid.outputs(), x)).sum() == pytest.approx(1, rel=1e-11)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_log_prob_knows_the_reports_of_a_dtype(dtype: type) -> None:
    grid = PiecewiseGrid.of(1.0, 16)
    reports = grid.sample(np.full(500, 0.4, dtype), rng=np.random.default_rng(1))
    assert reports.dtype == dtype
    assert np.all(np.isfinite(grid.log_prob(reports, 0.4)))
    beside = np.nextafter(reports, dtype(np.inf))
    for off in (beside, np.full(3, np.nan), np.array([np.inf, -np.inf]), np.array([1e30])):
        assert np.all(np.isneginf(grid.log_prob(off, 0.4)))
    with pytest.raises(ValueError, match="y has dtype float16, which cannot tell the 10850 outputs apart"):
        PiecewiseGrid.of(1.0).log_prob(np.float16(0), 0.4)


@pytest.mark.parametrize("kind", ["blocks", "float32 blocks", "32 bits", "torch"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("x", [-1.0, 0.3, 1.0])
def test_every_way_to_sample_draws_from_the_law(kind: str, epsilon: float, x: float) -> None:
    """False alarm 1e-6 a count; with 40,000 draws a probability off by 0.02 is missed with a chance below 1e-3."""
    m, trials = Piecewise(epsilon), 40_000
    grid = m.implemented(32 if kind == "32 bits" else 64)
    if kind == "torch":
        drawn = m.sample(torch.full((trials,), x), rng=torch.Generator().manual_seed(4)).numpy()
    else:
        dtype = np.float32 if kind == "float32 blocks" else np.float64
        drawn = grid.sample(np.full(trials, x, dtype), rng=np.random.default_rng(8))
    assert np.all(np.isfinite(grid.log_prob(drawn, x)))
    masses = np.exp(grid.log_prob(grid.outputs(), x))
    cells = np.searchsorted(grid.outputs(dtype=drawn.dtype), drawn)
    first = round(x * grid.half) + grid.half
    middle, end = first + grid.inner // 2, first + grid.inner
    for low, high in itertools.pairwise([0, first, middle, end, grid.cells()]):
        expected = min(float(masses[low:high].sum()), 1.0)
        assert_frequency(int(np.sum((cells >= low) & (cells < high))), trials, expected)
    assert_frequency(int(np.sum(cells % 2 == 0)), trials, float(masses[::2].sum()))


@pytest.mark.parametrize("a", [0.3, -0.7])
def test_two_inputs_reach_the_same_outputs(a: float) -> None:
    """The textbook float sampler gives a fifth to a half of its outputs to one of two inputs only."""
    m, trials = Piecewise(1.0), 400_000
    first, second = (set(m.sample(np.full(trials, x), rng=np.random.default_rng(4)).tolist()) for x in (a, 0.31))
    cells = set(m.implemented().outputs().tolist())
    assert first <= cells
    assert second <= cells


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 1, 4)])
@pytest.mark.parametrize("epsilon", [1.0, 40.0])
def test_samples_have_the_shape_and_dtype_of_the_input(epsilon: float, dtype: type, shape: tuple[int, ...]) -> None:
    m, x = Piecewise(epsilon), np.full(shape, 0.5, dtype)
    first, second = (m.sample(x, rng=np.random.default_rng(2)) for _ in range(2))
    assert np.array_equal(first, second)
    assert (first.shape, first.dtype) == (shape, dtype)
    tensor = m.sample(torch.zeros(shape, dtype=torch.bfloat16), rng=torch.Generator().manual_seed(0))
    assert (tensor.shape, tensor.dtype) == (torch.Size(shape), torch.bfloat16)


def test_integers_and_lists_give_float64() -> None:
    assert Piecewise(1.0).sample([-1, 0, 1], rng=np.random.default_rng(0)).dtype == np.float64
    whole = Piecewise(1.0).sample(torch.tensor([-1, 0, 1]), rng=torch.Generator())
    assert whole.dtype == torch.float64


def test_bad_input_is_named() -> None:
    m, rng = Piecewise(1.0), np.random.default_rng(2)
    for bad in ([1.5], [0.0, math.nan], np.float32([-1.01]), [math.inf], ["a"]):
        with pytest.raises(ValueError, match=r"x must lie in \[-1, 1\], got"):
            m.sample(bad, rng=rng)
    with pytest.raises(ValueError, match=r"x must lie in \[-1, 1\], got"):
        m.sample(torch.tensor([2.0]), rng=torch.Generator())
    with pytest.raises(ValueError, match=r"rng must be a numpy.random.Generator"):
        m.sample([0.0], rng=None)
    with pytest.raises(ValueError, match="x has dtype float16, which cannot hold the reports"):
        Piecewise(1e-6).sample(np.zeros(3, np.float16), rng=rng)
    for counts in ((3, 1, 3, 8), (4, 1, 2, 8), (4, 1, 44, 8), (4, 0, 4, 8), (4, 1, 0, 8), (0, 1, 1, 8), (2, 0, 0, 8)):
        with pytest.raises(ValueError, match="inner, half, each must share out"):
            PiecewiseGrid(*counts)
    with pytest.raises(ValueError, match="bits must be a whole number"):
        m.implemented(1)
