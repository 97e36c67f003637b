"""PM: law and moments against integration of the density, and the known facts of Wang et al; and as it is sampled."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import Piecewise, TwoPoint
from ldp_audit.mechanisms.values.piecewise import PiecewiseGrid
from tests.together import together

epsilons = st.one_of(st.floats(1e-3, 20), st.sampled_from([1e-9, 0.5, 50.0]))
inputs = st.one_of(st.floats(-1, 1), st.sampled_from([-1.0, 0.0, 1.0]))


def pieces(epsilon: float, x: float) -> list[tuple[Any, Any, Any]]:
    """The definition in high precision: (from, to, density)."""
    s = mpmath.exp(mpmath.mpf(epsilon) / 2)
    reach, high = (s + 1) / (s - 1), s * (s - 1) / (2 * (s + 1))
    left, right = (s * mpmath.mpf(x) - 1) / (s - 1), (s * mpmath.mpf(x) + 1) / (s - 1)
    return [(-reach, left, high / s**2), (left, right, high), (right, reach, high / s**2)]


def moment(epsilon: float, x: float, order: int) -> Any:
    return sum(p * (b ** (order + 1) - a ** (order + 1)) / (order + 1) for a, b, p in pieces(epsilon, x))


@given(epsilons, inputs)
def test_total_mean_and_variance(epsilon: float, x: float) -> None:
    with mpmath.workdps(80):
        total, mean, second = (moment(epsilon, x, order) for order in range(3))
        variance = second - mean**2
    assert float(total) == pytest.approx(1, rel=1e-14)
    assert Piecewise(epsilon).mean(x) == pytest.approx(float(mean), abs=1e-14)
    assert Piecewise(epsilon).variance(x) == pytest.approx(float(variance), rel=1e-12)


@given(epsilons, inputs)
def test_log_prob_is_the_density(epsilon: float, x: float) -> None:
    with mpmath.workdps(60):
        for a, b, p in pieces(epsilon, x):
            if b - a > mpmath.mpf(10) ** -9 * (abs(a) + abs(b)):
                value = Piecewise(epsilon).log_prob(float((a + b) / 2), x)
                assert value == pytest.approx(float(mpmath.log(p)), rel=1e-12, abs=1e-12)
    assert Piecewise(epsilon).log_prob(2 * Piecewise(epsilon).reach(), x) == -math.inf


@given(epsilons, inputs, inputs, st.floats(0, 1.2))
def test_delta_is_the_largest_over_pairs(epsilon: float, x: float, z: float, share: float) -> None:
    m = Piecewise(epsilon)
    level = share * epsilon
    with mpmath.workdps(60):
        edges = sorted({edge for w in (x, z) for a, b, _ in pieces(epsilon, w) for edge in (a, b)})

        def density(w: float, y: Any) -> Any:
            return next(p for a, b, p in pieces(epsilon, w) if a <= y <= b)

        gap = mpmath.mpf(0)
        for a, b in itertools.pairwise(edges):
            middle = (a + b) / 2
            gap += max(0, density(x, middle) - mpmath.exp(mpmath.mpf(level)) * density(z, middle)) * (b - a)
    assert float(gap) <= float(m.delta(level)) * (1 + 1e-9) + 1e-15
    if abs(x - z) >= 2 * math.exp(-epsilon / 2) and share < 1:
        assert float(gap) == pytest.approx(float(m.delta(level)), rel=1e-7, abs=1e-13)


def test_worst_case_variances_of_wang_et_al() -> None:
    table = {0.1: 533.222, 0.5: 21.2226, 1: 5.22360, 2: 1.22756, 4: 0.241354}
    for epsilon, worst in table.items():
        assert Piecewise(epsilon).variance(1.0) == pytest.approx(worst, rel=5e-6)


def test_the_crossover_of_the_worst_cases() -> None:
    star = 2 * math.acosh((1 + math.sqrt(7)) / 3)
    for epsilon, better in ((star * 0.999, False), (star * 1.001, True)):
        assert (Piecewise(epsilon).variance(1.0) < TwoPoint(epsilon).variance(0.0)) == better


@together("epsilon", [1e-9, 30.0, 100.0, 700.0, 5000.0])
def test_the_ends_of_epsilon_are_computed_without_overflow(epsilon: float) -> None:
    m, x = Piecewise(epsilon), np.linspace(-1, 1, 5)
    left, right = m.inner(x)
    assert np.all((-m.reach() * (1 + 1e-15) <= left) & (left <= right) & (right <= m.reach() * (1 + 1e-15)))
    assert (right - left) == pytest.approx(2 * math.exp(-epsilon / 2) / -math.expm1(-epsilon / 2), rel=1e-6, abs=1e-15)
    assert m.log_prob(0.0, 0.0) - m.log_prob(m.reach(), 0.0) == pytest.approx(epsilon, rel=1e-12)
    with mpmath.workdps(30):
        s = mpmath.exp(mpmath.mpf(epsilon) / 2)
        assert m.variance(0.0) == pytest.approx(float((s + 3) / (3 * (s - 1) ** 2)), rel=1e-12)


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


@together("epsilon", [0.01, 1.0, 4.0, 12.0, 25.0])
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


@together("dtype", [np.float16, np.float32, np.float64])
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


@together("a", [0.3, -0.7])
def test_two_inputs_reach_the_same_outputs(a: float) -> None:
    """The textbook float sampler gives a fifth to a half of its outputs to one of two inputs only."""
    m, trials = Piecewise(1.0), 400_000
    first, second = (set(m.sample(np.full(trials, x), rng=np.random.default_rng(4)).tolist()) for x in (a, 0.31))
    cells = set(m.implemented().outputs().tolist())
    assert first <= cells
    assert second <= cells


def test_counts_that_do_not_share_out_all_words_are_refused() -> None:
    for counts in ((3, 1, 3, 8), (4, 1, 2, 8), (4, 1, 44, 8), (4, 0, 4, 8), (4, 1, 0, 8), (0, 1, 1, 8), (2, 0, 0, 8)):
        with pytest.raises(ValueError, match="inner, half, each must share out"):
            PiecewiseGrid(*counts)
