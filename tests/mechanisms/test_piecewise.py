"""PM: law and moments against integration of the density, and the known facts of Wang et al."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import Piecewise, TwoPoint

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


@pytest.mark.parametrize("epsilon", [1e-9, 30.0, 100.0, 700.0, 5000.0])
def test_the_ends_of_epsilon_are_computed_without_overflow(epsilon: float) -> None:
    m, x = Piecewise(epsilon), np.linspace(-1, 1, 5)
    left, right = m.inner(x)
    assert np.all((-m.reach() * (1 + 1e-15) <= left) & (left <= right) & (right <= m.reach() * (1 + 1e-15)))
    assert (right - left) == pytest.approx(2 * math.exp(-epsilon / 2) / -math.expm1(-epsilon / 2), rel=1e-6, abs=1e-15)
    assert m.log_prob(0.0, 0.0) - m.log_prob(m.reach(), 0.0) == pytest.approx(epsilon, rel=1e-12)
    with mpmath.workdps(30):
        s = mpmath.exp(mpmath.mpf(epsilon) / 2)
        assert m.variance(0.0) == pytest.approx(float((s + 3) / (3 * (s - 1) ** 2)), rel=1e-12)


def test_bad_input_is_named() -> None:
    for bad in (0, -1, math.inf, math.nan, "1"):
        with pytest.raises(ValueError, match="epsilon must be a finite number > 0"):
            Piecewise(bad)
    for bad in (1.1, math.nan, [0.0, -2.0], "a"):
        for method in (Piecewise(1.0).mean, Piecewise(1.0).variance, Piecewise(1.0).inner):
            with pytest.raises(ValueError, match=r"x must lie in \[-1, 1\]"):
                method(bad)
    assert Piecewise(1.0).exact_epsilon() == 1.0
    assert Piecewise(1.0).delta(1.0) == 0
