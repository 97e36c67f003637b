"""SW: law and moments against integration of the density, the optimal width of Li et al.; and as it is sampled."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sympy import exp

from ldp_audit.mechanisms import SquareWave
from ldp_audit.mechanisms.values.square_wave import SquareWaveGrid
from tests.frequency import assert_frequency
from tests.together import together

epsilons = st.one_of(st.floats(1e-3, 30), st.sampled_from([1e-9, 0.01, 0.5, 1.0, 50.0]))
inputs = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))


def width(epsilon: float) -> Any:
    """The paper's closed form, in high precision."""
    e, t = mpmath.mpf(epsilon), mpmath.exp(mpmath.mpf(epsilon))
    return (e * t - t + 1) / (2 * t * (t - 1 - e))


def pieces(epsilon: float, x: float) -> list[tuple[Any, Any, Any]]:
    """The definition in high precision: (from, to, density)."""
    t, b, at = mpmath.exp(mpmath.mpf(epsilon)), width(epsilon), mpmath.mpf(x)
    low = 1 / (2 * b * t + 1)
    return [(-b, at - b, low), (at - b, at + b, t * low), (at + b, 1 + b, low)]


@given(epsilons, inputs)
def test_total_mean_and_variance(epsilon: float, x: float) -> None:
    with mpmath.workdps(80):
        total, mean, second = (
            sum(p * (b ** (k + 1) - a ** (k + 1)) / (k + 1) for a, b, p in pieces(epsilon, x)) for k in range(3)
        )
        variance = second - mean**2
    assert float(total) == pytest.approx(1, rel=1e-14)
    assert SquareWave(epsilon).mean(x) == pytest.approx(float(mean), rel=1e-13)
    assert SquareWave(epsilon).variance(x) == pytest.approx(float(variance), rel=1e-12)


@given(epsilons, inputs)
def test_log_prob_is_the_density(epsilon: float, x: float) -> None:
    m = SquareWave(epsilon)
    with mpmath.workdps(60):
        for a, b, p in pieces(epsilon, x):
            if b - a > mpmath.mpf(10) ** -9:
                assert m.log_prob(float((a + b) / 2), x) == pytest.approx(float(mpmath.log(p)), rel=1e-12, abs=1e-12)
    assert m.log_prob(-m.half_width() - 1e-9, x) == m.log_prob(1 + m.half_width() + 1e-9, x) == -math.inf


@given(epsilons, inputs, inputs, st.floats(0, 1.2))
def test_delta_is_the_largest_over_pairs(epsilon: float, x: float, z: float, share: float) -> None:
    m, level = SquareWave(epsilon), share * epsilon
    with mpmath.workdps(60):
        edges = sorted({edge for w in (x, z) for a, b, _ in pieces(epsilon, w) for edge in (a, b)})

        def density(w: float, y: Any) -> Any:
            return next(p for a, b, p in pieces(epsilon, w) if a <= y <= b)

        gap = mpmath.mpf(0)
        for a, b in itertools.pairwise(edges):
            middle = (a + b) / 2
            gap += max(0, density(x, middle) - mpmath.exp(mpmath.mpf(level)) * density(z, middle)) * (b - a)
        apart = abs(x - z) >= 2 * width(epsilon)
    assert float(gap) <= float(m.delta(level)) * (1 + 1e-9) + 1e-15
    if apart and share < 1:
        assert float(gap) == pytest.approx(float(m.delta(level)), rel=1e-7, abs=1e-13)


@together("epsilon", [0.01, 0.5, 1.0, 2.5, 5.0, 50.0])
def test_the_width_maximises_the_bound_on_the_mutual_information(epsilon: float) -> None:
    """ln(1 + 2 b), of a uniform report, minus the entropy of a report of one input, as Li et al. choose b."""
    with mpmath.workdps(60):
        t = mpmath.exp(mpmath.mpf(epsilon))

        def information(b: Any) -> Any:
            return mpmath.log(1 + 2 * b) - mpmath.log(2 * b * t + 1) + epsilon * 2 * b * t / (2 * b * t + 1)

        best = width(epsilon)
        assert abs(mpmath.diff(information, best)) < mpmath.mpf(10) ** -15 * t
        assert information(best) > max(information(best * mpmath.mpf(0.99)), information(best * mpmath.mpf(1.01)))
        assert SquareWave(epsilon).half_width() == pytest.approx(float(best), rel=1e-13, abs=0)


def test_the_published_width_and_its_limits() -> None:
    """0.256 at epsilon 1; 1/2 at epsilon 0, 0 at infinity, as Li et al. say."""
    assert SquareWave(1.0).half_width() == pytest.approx(0.256, abs=5e-4)
    assert SquareWave(1e-12).half_width() == pytest.approx(0.5)
    widths = [SquareWave(epsilon).half_width() for epsilon in (1e-6, 0.1, 0.999, 1.0, 3.0, 700.0)]
    assert sorted(widths, reverse=True) == widths
    assert all(0 < width < 0.5 for width in widths)


@together("epsilon", [0.3, 1.0, 4.0])
def test_the_definition_has_these_moments(epsilon: float) -> None:
    m, law = SquareWave(epsilon), SquareWave.symbolic()
    for x in (0, 0.3, 1):
        values = {"x": x, "b": m.half_width(), "t": exp(epsilon)}
        point = {v: values.get(v.name, epsilon) for v in law.variables()}
        assert float(law.mean().subs(point)) == pytest.approx(m.mean(x), rel=1e-12)
        assert float(law.variance().subs(point)) == pytest.approx(m.variance(x), rel=1e-11)


@together("epsilon", [1e-9, 30.0, 100.0, 700.0, 5000.0])
def test_the_ends_of_epsilon_are_computed_without_overflow(epsilon: float) -> None:
    m, x = SquareWave(epsilon), np.linspace(0, 1, 5)
    assert m.log_prob(x, x) - m.log_prob(1 - x, x)[0] == pytest.approx(np.full(5, epsilon), rel=1e-12)
    with mpmath.workdps(400):
        b, t = width(epsilon), mpmath.exp(mpmath.mpf(epsilon))
        assert 1 - (m.mean(1.0) - m.mean(0.0)) == pytest.approx(float((1 + 2 * b) / (1 + 2 * b * t)), abs=1e-15)
    assert np.all((m.variance(x) > 0) & (m.variance(x) < 0.34))


@together("bad", [0.0, -1.0, math.inf, math.nan, "1"])
def test_bad_parameters_are_named(bad: Any) -> None:
    with pytest.raises(ValueError, match="epsilon must be a finite number > 0"):
        SquareWave(bad)


@together("bad", [-0.1, 1.1, math.nan, [0.5, 2.0]])
def test_inputs_outside_are_refused(bad: Any) -> None:
    m = SquareWave(1.0)
    calls = (m.mean, m.variance, lambda x: m.log_prob(0.5, x), lambda x: m.sample(x, rng=np.random.default_rng(2)))
    for call in calls:
        with pytest.raises(ValueError, match=r"^x must lie in \[0(.0)?, 1(.0)?\], got"):
            call(bad)
    with pytest.raises(ValueError, match=r"^x must lie in \[0(.0)?, 1(.0)?\], got"):
        m.sample(np.full(3, -0.5, np.float32), rng=np.random.default_rng(2))


@together("grid", [SquareWaveGrid(4, 3, 4, 6), SquareWaveGrid(1, 2, 5, 6), *(SquareWaveGrid.of(e, 8) for e in (1, 3))])
def test_the_whole_channel_is_private(grid: SquareWaveGrid) -> None:
    """epsilon and delta are the largest over all pairs of windows' places, mixtures of two adjacent ones among them."""
    x = np.linspace(0, 1, 6 * grid.half + 1)
    laws = np.exp([grid.log_prob(grid.outputs(), one) for one in x])
    assert laws.sum(axis=1) == pytest.approx(np.ones(x.size), rel=1e-12)
    assert laws @ grid.outputs() == pytest.approx(grid.mean(x), rel=1e-12)
    assert laws @ grid.outputs() ** 2 - grid.mean(x) ** 2 == pytest.approx(grid.variance(x), rel=1e-10)
    ratios = laws.max(axis=0) / laws.min(axis=0)
    assert math.log(ratios.max()) == pytest.approx(grid.exact_epsilon(), rel=1e-12)
    for level in (0.0, 0.3, 0.9):
        t = math.exp(level * grid.exact_epsilon())
        gap = np.maximum(laws[:, None] - t * laws[None], 0).sum(axis=-1).max()
        assert grid.delta(level * grid.exact_epsilon()) == pytest.approx(gap, rel=1e-9)


@given(st.floats(1e-12, 60.0), st.integers(2, 64))
def test_the_implemented_epsilon_is_at_most_the_claimed_one(epsilon: float, bits: int) -> None:
    grid = SquareWave(epsilon).implemented(bits)
    inside, outside = grid.probabilities()
    assert inside * grid.inner + outside * 2 * grid.half == 1
    if grid.half:
        with mpmath.workdps(60):
            ratio = mpmath.mpf((inside / outside).numerator) / (inside / outside).denominator
            assert 0 < mpmath.log(ratio) <= mpmath.mpf(epsilon)
    else:
        assert grid.exact_epsilon() == 0


@together("epsilon", [0.01, 1.0, 4.0, 12.0, 25.0])
def test_its_moments_are_those_of_the_line(epsilon: float) -> None:
    m, x = SquareWave(epsilon), np.linspace(0, 1, 1001)
    grid = m.implemented()
    assert grid.exact_epsilon() == pytest.approx(epsilon, rel=1e-6)
    assert grid.mean(x) == pytest.approx(m.mean(x), abs=3e-5)
    assert grid.variance(x) == pytest.approx(m.variance(x), rel=5e-4)


def test_a_large_epsilon_has_the_law_of_32() -> None:
    """More cells than 2**41 would be told apart badly by floats."""
    assert SquareWave(50.0).implemented() == SquareWave(32.0).implemented()
    assert np.unique(SquareWave(50.0).implemented().outputs(np.arange(10**6))).size == 10**6


def below(reports: Any, x: float, epsilon: float, trials: int) -> None:
    """At each of three places in and around the window, how many reports lie below: false alarm 1e-6 for each."""
    grid = SquareWave(epsilon).implemented()
    law = np.exp(grid.log_prob(grid.outputs(), x))
    for place in (x - grid.half_width() + 1e-3, x, x + grid.half_width() - 1e-3):
        hits = int((np.asarray(reports, dtype=np.float64) < place).sum())
        assert_frequency(hits, trials, float(law[grid.outputs() < place].sum()))


@together("x", [0.0, 0.375, 1.0])
@together("dtype", [np.float32, np.float64, torch.float32, torch.float64])
def test_samples_have_the_law(x: float, dtype: Any) -> None:
    """By blocks on numpy, by whole words on torch; with 200,000 draws a share off by 0.01 is missed below 1e-6."""
    trials = 200_000
    if isinstance(dtype, torch.dtype):
        drawn = SquareWave(1.0).sample(torch.full((trials,), x, dtype=dtype), rng=torch.Generator().manual_seed(3))
    else:
        drawn = SquareWave(1.0).sample(np.full(trials, x, dtype), rng=np.random.default_rng(3))
    below(drawn, x, 1.0, trials)


def test_samples_of_another_epsilon_do_not_pass() -> None:
    drawn = SquareWave(1.1).sample(np.full(200_000, 0.375), rng=np.random.default_rng(3))
    with pytest.raises(AssertionError, match="where"):
        below(drawn, 0.375, 1.0, 200_000)


@together("dtype", [np.float32, np.float64])
def test_two_inputs_reach_the_same_outputs(dtype: Any) -> None:
    """The float sampler x - b + 2 b u gives most of its outputs to one of two inputs only."""
    m, trials = SquareWave(1.0), 400_000
    cells = set(m.implemented().outputs(dtype=dtype).tolist())
    for x in (0.3, 0.31):
        assert set(m.sample(np.full(trials, x, dtype), rng=np.random.default_rng(4)).tolist()) <= cells


@pytest.mark.parametrize("epsilon", [5.0, 15.0, 20.0, 25.0, 50.0])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_samples_of_a_narrow_window_are_reports_in_every_dtype(epsilon: float, dtype: Any) -> None:
    """At 0 and epsilon 20 a float32 sample is -2**-24, rounded to three times the half-width, and was refused."""
    m = SquareWave(epsilon)
    reports = m.sample(np.linspace(0, 1, 5001).astype(dtype), rng=np.random.default_rng(1))
    assert np.all(np.isfinite(m.log_prob(reports, 0.0)))
    assert m.estimate(reports, bins=2).mean == pytest.approx(0.5, abs=0.05)
