"""k of d coordinates: laws summed over all sets, profiles against products of laws, samplers against both."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Rational

from ldp_audit.mechanisms import Piecewise, SymbolicChannel, TwoPoint, Variable
from ldp_audit.mechanisms.values.coordinate_sampling import CoordinateSampling
from ldp_audit.mechanisms.values.hybrid import Hybrid
from ldp_audit.mechanisms.values.two_point import TWO_POINT
from tests.frequency import assert_frequency
from tests.mechanisms.four_points import FourPoints
from tests.together import together


def reports_of(m: CoordinateSampling) -> tuple[np.ndarray, np.ndarray]:
    """Every set with every combination of two values."""
    values = m.coordinate().outputs()
    every = list(product(combinations(range(m.d), m.k), product(values, repeat=m.k)))
    return np.array([index for index, _ in every]), np.array([value for _, value in every])


def channel(m: CoordinateSampling, inputs: Any) -> np.ndarray:
    return np.exp(m.log_prob(reports_of(m), np.asarray(inputs, dtype=float)[:, None, :]))


@together(("epsilon", "d", "k"), [(0.1, 5, 1), (2.4, 9, 1), (5.0, 9, 2), (7.4, 9, 2), (50.0, 9, 9), (50.0, 100, 20)])
def test_k_is_chosen_as_in_the_source(epsilon: float, d: int, k: int) -> None:
    assert CoordinateSampling(Piecewise, epsilon, d).k == k


@together(("d", "k"), [(1, 1), (3, 1), (3, 2), (4, 4)])
@together("epsilon", [0.3, 4.0])
def test_the_law_its_epsilon_profile_and_moments_by_enumeration(epsilon: float, d: int, k: int) -> None:
    """All corners of the cube and an inner point; every report; the worst pair has the largest ratio and divergence."""
    m = CoordinateSampling(TwoPoint, epsilon, d, k)
    inputs = [*product((-1.0, 1.0), repeat=d), tuple(np.linspace(-0.8, 0.5, d))]
    rows, worst = channel(m, inputs), channel(m, m.worst_pair())
    assert rows.sum(axis=1) == pytest.approx(1.0, rel=1e-12)
    logs = np.log(rows)
    assert np.max(logs[:, None] - logs[None]) == pytest.approx(m.exact_epsilon(), rel=1e-12)
    assert m.exact_epsilon() == pytest.approx(epsilon, rel=1e-15, abs=0)
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        gaps = np.maximum(rows[:, None] - math.exp(share * epsilon) * rows[None], 0).sum(axis=-1)
        assert m.delta(share * epsilon) == pytest.approx(float(np.max(gaps)), rel=1e-11, abs=1e-14)
        gap = np.maximum(worst[0] - math.exp(share * epsilon) * worst[1], 0).sum()
        assert m.delta(share * epsilon) == pytest.approx(float(gap), rel=1e-11, abs=1e-14)
    dense, x = m.dense(reports_of(m)), np.array(inputs)
    assert m.mean(x) == pytest.approx(rows @ dense, abs=1e-12)
    assert m.mean(x) == pytest.approx(x, abs=1e-15)
    assert m.variance(x) == pytest.approx(rows @ dense**2 - x**2, rel=1e-10)
    assert m.variance(x) == pytest.approx(d / k * (m.coordinate().variance(x) + x**2) - x**2, rel=1e-12)


@together(
    ("make", "k", "epsilon"),
    [
        ((TwoPoint, Piecewise, Hybrid)[(i + j) % 3], k, epsilon)
        for i, epsilon in enumerate([1e-9, 0.7, 12.0, 50.0, 700.0])
        for j, k in enumerate([2, 3, 40])
    ],
)
def test_the_profile_of_k_values_is_the_exact_multinomial_sum(make: Any, k: int, epsilon: float) -> None:
    """At 60 digits: i losses up and j down, i - j of them above the level; to 1e-12 relative."""
    m = CoordinateSampling(make, epsilon, 50, k)
    part = m.coordinate()
    shares = np.array([0.0, 0.2, 0.5, 0.77])
    with mpmath.workdps(60):
        e0 = mpmath.mpf(part.epsilon)
        t, s = mpmath.exp(e0), mpmath.exp(e0 / 2)
        mixing = mpmath.mpf(0)
        if make is Piecewise or (make is Hybrid and part.mixing() > 0):
            mixing = mpmath.mpf(1) if make is Piecewise else 1 - 1 / s
        up = mixing * t / (t + s) + (1 - mixing) * t / (t + 1)
        down, rest = up / t, 1 - up - up / t
        rest = max(rest, mpmath.mpf(0)) if mixing else mpmath.mpf(0)
        law: dict[int, Any] = {}
        for i in range(k + 1):
            for j in range(k - i + 1):
                ways = mpmath.binomial(k, i) * mpmath.binomial(k - i, j)
                law[i - j] = law.get(i - j, mpmath.mpf(0)) + ways * up**i * down**j * rest ** (k - i - j)
        for share, found in zip(shares, m.delta(shares * epsilon), strict=True):
            level = mpmath.mpf(float(share * epsilon))
            expected = sum(p * (1 - mpmath.exp(level - n * e0)) for n, p in law.items() if n * e0 > level)
            assert found == pytest.approx(float(expected), rel=1e-12, abs=0)


def test_other_losses_are_bounded_from_above() -> None:
    """Two reports of a loss that bends between 0 and epsilon, or has another form in the reversed order (0.208 at ln
    1.2), against their listed products; for one coordinate the profile is the value mechanism's own."""
    x = Variable("x", 0, 1)
    coin = SymbolicChannel("coin", x, {1: Rational(1, 5) + x / 5, 0: Rational(4, 5) - x / 5}).bind()
    for value, outputs, most in ((FourPoints(), FourPoints().outputs, 1.05), (coin, coin.outputs(), 1.2)):
        m = CoordinateSampling(lambda epsilon, value=value: value, 3.0, 4, 2)
        rows = [np.exp(value.log_prob(np.array(outputs), end)) for end in value.worst_pair()]
        first, second = (np.multiply.outer(row, row) for row in rows)
        for level in (0.1, math.log(1.2)):
            pairs = ((first, second), (second, first))
            exact = max(np.maximum(p - math.exp(level) * q, 0).sum() for p, q in pairs)
            assert exact * (1 - 1e-12) <= m.delta(level) <= exact * most
        one = CoordinateSampling(lambda epsilon, value=value: value, 3.0, 4, 1)
        assert one.delta(0.1) == value.delta(0.1)
        assert one.exact_epsilon() == value.exact_epsilon()
    known = TWO_POINT.bind(epsilon=1.0, c=0, r=1)
    found = CoordinateSampling(lambda epsilon: known, 2.0, 2, 2).delta(0.3)
    assert found == pytest.approx(CoordinateSampling(TwoPoint, 2.0, 2, 2).delta(0.3), rel=1e-12)


@given(st.floats(1e-9, 50.0), st.integers(1, 40))
def test_the_shares_never_add_up_to_more_than_epsilon(epsilon: float, k: int) -> None:
    m = CoordinateSampling(TwoPoint, epsilon, 40, k)
    assert Fraction(m.coordinate().epsilon) * k <= Fraction(epsilon)
    assert m.exact_epsilon() <= epsilon
    assert m.exact_epsilon() == pytest.approx(epsilon, rel=1e-15, abs=0)
    assert m.delta(epsilon) == 0


@together("bits", [2, 8, 64])
def test_what_is_implemented_has_the_law_of_its_values(bits: int) -> None:
    ideal = CoordinateSampling(TwoPoint, 3.0, 3, 2)
    m = ideal.implemented(bits)
    rows = channel(m, [*product((-1.0, 1.0), repeat=3)])
    assert rows.sum(axis=1) == pytest.approx(1.0, rel=1e-12)
    logs = np.log(rows)
    assert np.max(logs[:, None] - logs[None]) == pytest.approx(m.exact_epsilon(), rel=1e-12, abs=1e-12)
    assert m.exact_epsilon() <= ideal.exact_epsilon() * (1 + 1e-14)
    gaps = np.maximum(rows[:, None] - math.exp(0.3) * rows[None], 0).sum(axis=-1)
    assert m.delta(0.3) == pytest.approx(float(np.max(gaps)), rel=1e-11, abs=1e-15)
    assert m == ideal.implemented(bits)
    drawn = m.sample(np.zeros((5, 3)), rng=np.random.default_rng(0))
    assert np.all(np.isfinite(m.log_prob(drawn, np.zeros(3))))


@together("bits", [8, 13])
def test_what_is_implemented_of_pm_has_the_profile_of_its_cells(bits: int) -> None:
    """k = 2: all pairs of cells at the two ends."""
    m = CoordinateSampling(Piecewise, 4.0, 3, 2).implemented(bits)
    cells = m.coordinate().outputs()
    one, two = (np.exp(m.coordinate().log_prob(cells, x[0])) for x in m.worst_pair())
    first, second = np.multiply.outer(one, one), np.multiply.outer(two, two)
    for level in (0.0, 1.0, 2.5, 3.5):
        gap = np.maximum(first - math.exp(level) * second, 0).sum()
        assert m.delta(level) == pytest.approx(float(gap), rel=1e-9, abs=1e-15)


@together("make", [TwoPoint, Piecewise, Hybrid])
@together("dtype", [np.float32, np.float64])
def test_what_is_sampled_has_a_probability_in_its_own_dtype(make: Any, dtype: Any) -> None:
    m = CoordinateSampling(make, 4.0, 7, 3)
    x = np.linspace(-1, 1, 7).astype(dtype)
    drawn = m.sample(np.tile(x, (200, 1)), rng=np.random.default_rng(3))
    assert drawn.value.dtype == dtype
    assert np.all(np.isfinite(m.implemented().log_prob(drawn, x)))


@together(("d", "k"), [(6, 1), (6, 3), (7, 5), (3, 3)])
def test_the_sets_are_uniform(d: int, k: int) -> None:
    """Each set's frequency, numpy; false alarm 1e-6 each. A set off by a third of its probability is missed with a
    chance below 1e-3."""
    trials, ways = 20_000, math.comb(d, k)
    drawn = CoordinateSampling(TwoPoint, 1.0, d, k).sample(np.zeros((trials, d)), rng=np.random.default_rng(5)).index
    assert np.array_equal(drawn, np.sort(drawn, axis=-1))
    sets, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(sets) == ways
    assert all(len(set(one)) == k for one in sets.tolist())
    for count in counts:
        assert_frequency(int(count), trials, 1 / ways)


def test_reports_are_sets() -> None:
    m = CoordinateSampling(TwoPoint, 1.0, 4, 2)
    low, high = m.coordinate().outputs()
    x = [0.1, 0.2, 0.3, 0.4]
    assert m.log_prob(([1, 3], [low, high]), x) == m.log_prob(([3, 1], [high, low]), x)
    assert m.log_prob(([1, 1], [low, low]), x) == -math.inf
    assert m.log_prob(([1, 3], [low, 0.0]), x) == -math.inf
    with pytest.raises(ValueError, match=r"y must have indices in 0..3, got \[1, 4\]"):
        m.log_prob(([1, 4], [low, low]), x)
    with pytest.raises(ValueError, match="y must be 2 indices and as many values"):
        m.log_prob(([1], [low]), x)


def test_bad_input_is_refused_whichever_coordinates_are_drawn() -> None:
    m = CoordinateSampling(TwoPoint, 1.0, 3, 1)
    for seed in range(5):
        with pytest.raises(ValueError, match=r"x must lie in \[-1.0, 1.0\], got 1.5; clip first"):
            m.sample([0.0, 1.5, 0.0], rng=np.random.default_rng(seed))
    assert m.clip([0.0, 1.5, 0.0]).tolist() == [0.0, 1.0, 0.0]
    with pytest.raises(ValueError, match=r"x must be real vectors of shape \(..., 3\)"):
        m.sample([0.0], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="k must be a whole number from 1 to d = 3, got 4"):
        CoordinateSampling(TwoPoint, 1.0, 3, 4)
    with pytest.raises(ValueError, match="k must be a whole number >= 1, got 0"):
        CoordinateSampling(TwoPoint, 1.0, 3, 0)
    with pytest.raises(ValueError, match="value must make a value mechanism from an epsilon"):
        CoordinateSampling(TwoPoint(1.0), 1.0, 3)
    with pytest.raises(ValueError, match="value must be a mechanism with"):
        CoordinateSampling(float, 1.0, 3)
