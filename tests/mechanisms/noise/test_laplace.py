"""Laplace noise on the line: profile against quadrature in high precision, density, moments, what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import Laplace
from ldp_audit.mechanisms.noise.laplace import LaplaceGrid
from tests.frequency import assert_frequency
from tests.together import together


@together(("scale", "sensitivity"), [(1.0, 1.0), (0.1, 2.0), (50.0, 1.0)])
def test_the_profile_by_quadrature(scale: float, sensitivity: float) -> None:
    m = Laplace(scale, sensitivity)
    for share in (0.0, 0.4, 0.99, 1.5):
        level = share * m.exact_epsilon()
        # The integrand is positive up to the point where the densities' ratio is e**level.
        turn = (sensitivity - level * scale) / 2

        def gap(z: Any, level: float = level) -> Any:
            return mpmath.exp(-abs(z) / scale) - mpmath.exp(level - abs(z - sensitivity) / scale)

        edges = [-mpmath.inf, min(0.0, turn), turn] if turn > 0 else [-mpmath.inf, turn]
        exact = mpmath.quad(gap, edges) / (2 * scale) if share < 1 else 0
        assert m.delta(level) == pytest.approx(float(exact), rel=1e-10, abs=1e-14)


def test_the_density_ratio_is_epsilon() -> None:
    m = Laplace(0.5, 1.5)
    x, z = m.worst_pair()
    assert m.log_prob(-10.0, x) - m.log_prob(-10.0, z) == pytest.approx(m.exact_epsilon(), rel=1e-12, abs=0)


@together("bad", [0.0, -1.0, math.inf, math.nan, "1"])
def test_bad_parameters_are_named(bad: Any) -> None:
    with pytest.raises(ValueError, match="scale must be a finite number > 0"):
        Laplace(bad)
    with pytest.raises(ValueError, match="sensitivity must be a finite number > 0"):
        Laplace(1.0, bad)


COARSE = LaplaceGrid(Laplace(1.0), -2)  # g = 1/4, m = 4, t = 8
UNEVEN = LaplaceGrid(Laplace(1.3, 0.7), -3)  # the sensitivity is 5.6 spacings
coarse = together("m", [COARSE, UNEVEN, LaplaceGrid(Laplace(2.0, 9.0), -1)])

scales = st.floats(-200, 200).map(lambda power: 2.0**power)


def reports(m: LaplaceGrid) -> np.ndarray:
    """All that matter: beyond 40 scales there is less than 1e-17."""
    steps = math.ceil(40 * m.width())
    return np.arange(-steps, steps + 1) * 2.0**m.exponent


@given(scales, st.floats(-25, 25).map(math.exp), st.integers(2, 64))
def test_no_epsilon_is_above_the_ideal_one(scale: float, epsilon: float, bits: int) -> None:
    """In exact fractions, for numbers and, with a step of slack, for arrays; and hardly below it."""
    ideal = Laplace(scale, scale * epsilon)
    m = ideal.implemented(bits)
    exact = Fraction(ideal.sensitivity) / Fraction(ideal.scale)
    assert Fraction(m.shift(), m.width() - 1) <= exact
    assert m.exact_epsilon() <= ideal.exact_epsilon()
    assert Fraction(m.shift(), m.width()) > exact * (1 - Fraction(10, 2**40))
    assert m.shift() * m.grid().spacing() >= Fraction(ideal.sensitivity)
    assert m.shift() * m.grid().spacing() <= Fraction(ideal.sensitivity) * (1 + Fraction(1, 2**10))


@coarse
@together("x", [0.0, 0.1, -0.3, 1 / 3])
def test_the_law_adds_up_with_its_moments(m: LaplaceGrid, x: float) -> None:
    y = reports(m)
    p = np.exp(m.log_prob(y, x))
    assert math.fsum(p) == pytest.approx(1, abs=1e-13)
    assert p @ y == pytest.approx(m.mean(x), abs=1e-12)
    assert p @ (y - x) ** 2 == pytest.approx(m.variance(x), rel=1e-12, abs=0)


@coarse
def test_on_the_grid_it_is_discrete_laplace_noise(m: LaplaceGrid) -> None:
    y, t = reports(m), m.width()
    q = mpmath.exp(mpmath.mpf(-1) / t)
    for step in (0, 1, -1, 5, -3 * t):
        exact = mpmath.log((1 - q) / (1 + q) * q ** abs(step))
        assert m.log_prob(y[len(y) // 2 + step], 0.0) == pytest.approx(float(exact), rel=1e-13, abs=0)


@coarse
def test_epsilon_and_profile_by_brute_force(m: LaplaceGrid) -> None:
    """Over inputs on the grid and between its points, in both orders: none is worse than m whole spacings."""
    y, far = reports(m), m.worst_pair()[1]
    inputs = np.linspace(0, far, 23)
    laws = {x: m.log_prob(y, x) for x in inputs}
    inside = np.abs(y) < 20 * m.width() * 2.0**m.exponent
    losses = [float(np.max((laws[a] - laws[b])[inside])) for a in inputs for b in inputs]
    assert max(losses) == pytest.approx(m.exact_epsilon(), rel=1e-12, abs=0)
    for level in np.array([0.0, 0.2, 0.55, 0.97, 1.0, 1.4]) * m.exact_epsilon():
        found = [
            float(np.maximum(np.exp(laws[a]) - math.exp(level) * np.exp(laws[b]), 0).sum())
            for a in inputs
            for b in inputs
        ]
        assert m.delta(level) == pytest.approx(max(found), rel=1e-9, abs=1e-14)


@together(("scale", "sensitivity"), [(1.0, 1.0), (1e9, 1.0), (0.02, 1.0), (0.7, 1.3)])
def test_the_profile_in_sixty_digits(scale: float, sensitivity: float) -> None:
    """1 - min over k of (q**(k+1) + e**e q**(m-k))/(1 + q); also next to epsilon, where it vanishes."""
    m = Laplace(scale, sensitivity).implemented()
    shift, t = m.shift(), m.width()
    for share in (0.0, 0.3, 0.999, 1 - 1e-9):
        level = share * m.exact_epsilon()
        with mpmath.workdps(60):
            q, e = mpmath.exp(mpmath.mpf(-1) / t), mpmath.mpf(level)
            middle = int(mpmath.floor((shift - e * t) / 2))
            exact = max(
                1 - (q ** (k + 1) + mpmath.exp(e) * q ** (shift - k)) / (1 + q) for k in range(middle - 2, middle + 3)
            )
        assert m.delta(level) == pytest.approx(float(exact), rel=1e-12, abs=0)
    assert m.delta([m.exact_epsilon() * (1 + 1e-12), math.inf]).tolist() == [0.0, 0.0]


@given(scales, st.floats(-20, 5).map(math.exp), st.floats(0, 1))
def test_the_profile_is_at_most_the_ideal_one(scale: float, epsilon: float, share: float) -> None:
    ideal = Laplace(scale, scale * epsilon)
    level = share * epsilon
    assert ideal.implemented().delta(level) <= ideal.delta(level) * (1 + 1e-12) + 1e-16


@coarse
def test_spreading_the_distance_over_coordinates_costs_no_epsilon(m: LaplaceGrid) -> None:
    """Between grid points a small step costs more than its share of m / t, which the slack of one spacing pays for."""
    y, ideal = reports(m), m.mechanism
    edges = 2.0**m.exponent * (np.arange(5) + np.array([[-1e-4], [1e-4]]))
    step, steepest = 1e-5, 0.0
    for x in edges.ravel():
        slope = np.max(np.abs(m.log_prob(y, x + step) - m.log_prob(y, x))) / step
        assert slope <= 1 / ideal.scale * (1 + 1e-9)
        steepest = max(steepest, slope)
    assert steepest * m.worst_pair()[1] > m.exact_epsilon()


@together("library", ["numpy", "torch"])
@together("m", [COARSE, UNEVEN, Laplace(0.3).implemented(), Laplace(1e6, 1e-3).implemented()])
def test_both_samplers_draw_from_the_law(m: LaplaceGrid, library: str) -> None:
    """Upper tails from the exact law. False alarm 1e-6 an event; 0.03 is missed with a chance below 1e-3."""
    trials, g, b = 20_000, 2.0**m.exponent, m.mechanism.scale
    x = 0.3 * g + round(b / g) * g
    drawn = draw(m, np.full(trials, x), library)
    assert set((drawn / g % 1).tolist()) == {0.0}
    q, point = math.exp(-1 / m.width()), round(b / g)

    def above(step: int, center: int) -> float:
        k = step - center
        return q ** (k + 1) / (1 + q) if k >= 0 else 1 - q**-k / (1 + q)

    for step in (point - m.width(), point - 1, point, point + m.width() // 2, point + 2 * m.width()):
        exact = 0.7 * above(step, point) + 0.3 * above(step, point + 1)
        assert_frequency(int(np.sum(drawn > step * g)), trials, exact)


def draw(m: Any, x: np.ndarray, library: str) -> np.ndarray:
    if library == "torch":
        return m.sample(torch.from_numpy(x), rng=torch.Generator().manual_seed(6)).numpy()
    return m.sample(x, rng=np.random.default_rng(6))


def test_what_is_no_grid_point_has_no_probability() -> None:
    assert COARSE.log_prob([0.1, math.nan, math.inf], 0.0).tolist() == [-math.inf] * 3
    assert COARSE.log_prob(np.zeros((2, 1)), np.zeros(3)).shape == (2, 3)


@together(
    ("call", "message"),
    [
        (lambda: Laplace(1.0).implemented(1), "bits must be a whole number >= 2 and <= 64"),
        (lambda: Laplace(1e14).implemented(), r"scale must be below 2\*\*42 sensitivities to be sampled, got Laplace"),
        (lambda: Laplace(1e-200, 1e-200).implemented(), r"scale must lie in 2\*\*-500 .. 2\*\*500 to be sampled"),
        (lambda: Laplace(1.0, 1e200).implemented(), r"sensitivity must lie in 2\*\*-500 .. 2\*\*500 to be sampled"),
        (lambda: LaplaceGrid(Laplace(1.0), -60), "exponent must give a scale of fewer than"),
        (lambda: LaplaceGrid(Laplace(1.0), 0.5), r"exponent must be a whole number in -600 \.\. 600"),
        (lambda: Laplace(1.0).sample([1e7], rng=np.random.default_rng(0)), r"x must lie in \[-4194304.0, 4194304.0\]"),
        (lambda: Laplace(1.0).sample([math.nan], rng=np.random.default_rng(0)), "x must lie in"),
        (lambda: Laplace(1.0).sample([0.0], rng=0), "rng must be a numpy.random.Generator or a torch.Generator"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
