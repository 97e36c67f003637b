"""Laplace and Gaussian: profiles against quadrature in high precision, at both ends."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest

from ldp_audit.mechanisms import Gaussian, Laplace


@pytest.mark.parametrize("sigma", [0.05, 0.5, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("level", [0.0, 1e-9, 0.3, 1.0, 8.0, 50.0])
def test_the_gaussian_profile_in_sixty_digits(sigma: float, level: float) -> None:
    with mpmath.workdps(400):
        m, e = 1 / mpmath.mpf(sigma), mpmath.mpf(level)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    value = float(Gaussian(sigma).delta(level))
    if exact < mpmath.mpf(10) ** -300:
        assert value == 0
    else:
        assert value == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize(("scale", "sensitivity"), [(1.0, 1.0), (0.1, 2.0), (50.0, 1.0)])
def test_the_laplace_profile_by_quadrature(scale: float, sensitivity: float) -> None:
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


def test_the_laplace_density_ratio_is_epsilon() -> None:
    m = Laplace(0.5, 1.5)
    x, z = m.worst_pair()
    assert m.log_prob(-10.0, x) - m.log_prob(-10.0, z) == pytest.approx(m.exact_epsilon(), rel=1e-12)


def test_gaussian_facts() -> None:
    assert Gaussian(1.0).exact_epsilon() == math.inf
    assert Gaussian(1.0).delta(0.0) == pytest.approx(math.erf(1 / (2 * math.sqrt(2))), rel=1e-14)
    assert Gaussian(1.0).delta([[0.0, math.inf]]).shape == (1, 2)
    assert Gaussian(2.0).log_prob(1.0, 1.0) == pytest.approx(-math.log(2 * math.sqrt(2 * math.pi)))


@pytest.mark.parametrize("m", [Laplace(2.0), Gaussian(2.0)])
def test_moments(m: Any) -> None:
    assert m.mean([0.5, 1.0]).tolist() == [0.5, 1.0]
    assert m.variance(0.0) == (8.0 if isinstance(m, Laplace) else 4.0)
    with pytest.raises(ValueError, match="x must be finite real numbers"):
        m.mean(math.nan)


@pytest.mark.parametrize("build", [Laplace, Gaussian])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan, "1"])
def test_bad_parameters_are_named(build: Any, bad: Any) -> None:
    with pytest.raises(ValueError, match="must be a finite number > 0"):
        build(bad)
    with pytest.raises(ValueError, match="sensitivity must be a finite number > 0"):
        build(1.0, bad)
