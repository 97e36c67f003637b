"""PM on a grid: its whole channel, exactly, and the samples that are drawn from it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from ldp_audit.mechanisms import Hybrid, Piecewise
from ldp_audit.mechanisms.piecewise_grid import PiecewiseGrid
from tests.frequency import assert_frequency

EPSILONS = [1e-9, 0.1, 1.0, 4.0, 20.0, 50.0, 69.0, 200.0]


def law(grid: PiecewiseGrid, x: Fraction) -> list[Fraction]:
    """The cells' probabilities at x: the mixture of the two neighbouring windows."""
    a, b = grid.probabilities()
    place = (x + 1) / 2 * (grid.cells - grid.inner)
    start = min(math.floor(place), grid.cells - grid.inner - 1)
    weights = {start: 1 - (place - start), start + 1: place - start}
    return [
        sum((w * (a if s <= j < s + grid.inner else b) for s, w in weights.items()), Fraction(0))
        for j in range(grid.cells)
    ]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_whole_channel_is_private_and_unbiased(epsilon: float) -> None:
    grid = PiecewiseGrid.of(epsilon, inner=6)
    inputs = [Fraction(k, 13) for k in range(-13, 14)]
    laws = {x: law(grid, x) for x in inputs}
    outputs = [(2 * j - (grid.cells - 1)) * grid.spacing() / 2 for j in range(grid.cells)]
    for x, p in laws.items():
        assert sum(p) == 1
        assert sum(y * mass for y, mass in zip(outputs, p, strict=True)) == x
    worst = max(
        p / q for first in laws.values() for second in laws.values() for p, q in zip(first, second, strict=True)
    )
    assert math.log1p(worst - 1) == pytest.approx(grid.epsilon(), rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_implemented_epsilon_is_at_most_the_claimed_one(epsilon: float) -> None:
    grid = PiecewiseGrid.of(epsilon)
    a, b = grid.probabilities()
    with mpmath.workdps(60):
        ratio = mpmath.mpf((a / b).numerator) / (a / b).denominator
        assert mpmath.log(ratio) <= mpmath.mpf(epsilon)
    assert Piecewise(epsilon).implemented_epsilon() == grid.epsilon()
    assert Hybrid(epsilon).implemented_epsilon() <= epsilon
    assert grid.epsilon() >= min(epsilon, 30.0) * (1 - 1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_variance_is_that_of_the_line_to_a_few_parts_in_ten_thousand(epsilon: float) -> None:
    grid = PiecewiseGrid.of(epsilon)
    cells = (2 * np.arange(grid.cells) - (grid.cells - 1)) * float(grid.spacing()) / 2
    a, b = (float(p) for p in grid.probabilities())
    for start, x in ((0, -1.0), ((grid.cells - grid.inner) // 2, None), (grid.cells - grid.inner, 1.0)):
        at = -1 + 2 * start / (grid.cells - grid.inner) if x is None else x
        masses = np.full(grid.cells, b)
        masses[start : start + grid.inner] = a
        assert float((masses * cells**2).sum()) - at**2 == pytest.approx(
            float(Piecewise(epsilon).variance(at)), rel=5e-4
        )


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("x", [-1.0, 0.3, 1.0])
def test_samples_fall_into_the_window_as_often_as_they_should(epsilon: float, x: float) -> None:
    """False alarm 1e-6; with 40,000 draws a probability off by 0.02 is missed with a chance below 1e-3."""
    m, trials = Piecewise(epsilon), 40_000
    drawn = m.sample(np.full(trials, x), rng=np.random.default_rng(8))
    left, right = (float(end) for end in m.inner(x))
    step = float(PiecewiseGrid.of(epsilon).spacing())
    s = math.exp(epsilon / 2)
    assert_frequency(int(np.sum((drawn >= left - step) & (drawn <= right + step))), trials, s / (s + 1) + 2e-4)
    assert_frequency(int(np.sum(drawn < 0)), trials, _below_zero(epsilon, x))


def _below_zero(epsilon: float, x: float) -> float:
    m = Piecewise(epsilon)
    left, right = (float(end) for end in m.inner(x))
    s, low = math.exp(epsilon / 2), math.exp(float(m.log_prob(m.reach(), -1.0)))
    inner_share = min(max((0 - left) / (right - left), 0.0), 1.0) * s / (s + 1)
    outside = max(min(0.0, left) + m.reach(), 0.0) + max(0.0 - right, 0.0)
    return inner_share + low * outside


@pytest.mark.parametrize("a", [0.3, -0.7])
def test_two_inputs_reach_the_same_outputs(a: float) -> None:
    """The textbook float sampler gives a fifth to a half of its outputs to one of two inputs only."""
    m, trials = Piecewise(1.0), 400_000
    first, second = (set(m.sample(np.full(trials, x), rng=np.random.default_rng(4))) for x in (a, 0.31))
    grid = PiecewiseGrid.of(1.0)
    cells = set((2 * np.arange(grid.cells) - (grid.cells - 1)) * (float(grid.spacing()) / 2))
    assert first <= cells
    assert second <= cells


@pytest.mark.parametrize("m", [Piecewise(1.0), Hybrid(1.0), Hybrid(0.3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shape_dtype_and_seed(m: Any, dtype: type) -> None:
    x = np.linspace(-1, 1, 12, dtype=dtype).reshape(3, 4)
    first, second = (m.sample(x, rng=np.random.default_rng(2)) for _ in range(2))
    assert np.array_equal(first, second)
    assert (first.shape, first.dtype) == (x.shape, x.dtype)
    assert m.sample(np.zeros((0,)), rng=np.random.default_rng(2)).shape == (0,)
    with pytest.raises(ValueError, match="rng must be"):
        m.sample(x, rng=None)
    with pytest.raises(ValueError, match="x must lie in"):
        m.sample([1.5], rng=np.random.default_rng(2))


def test_the_hybrid_mixes_as_it_says() -> None:
    """False alarm 1e-6: the share of reports at one of the two points."""
    m, trials = Hybrid(2.0), 40_000
    drawn = m.sample(np.full(trials, 0.2), rng=np.random.default_rng(9))
    reach = 1 / math.tanh(1.0)
    assert_frequency(int(np.sum(np.abs(np.abs(drawn) - reach) < 1e-12)), trials, 1 - m.mixing())
