"""Laplace noise on the line: profile against quadrature in high precision, density, moments, what is refused."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest

from ldp_audit.mechanisms import Laplace
from tests.together import together


@pytest.mark.parametrize(("scale", "sensitivity"), [(1.0, 1.0), (0.1, 2.0), (50.0, 1.0)])
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


def test_the_definition_is_symbolic_and_agrees() -> None:
    law = Laplace.symbolic()
    x, b = (next(v for v in law.variables() if v.name == name) for name in "xb")
    assert law.at({x: 1, b: 2}).total() == 1
    assert law.mean() - x == 0
    assert (law.variance() - 2 * b**2).simplify() == 0


def test_moments() -> None:
    m = Laplace(2.0)
    assert m.mean([0.5, 1.0]).tolist() == [0.5, 1.0]
    assert m.variance(0.0) == 8.0
    with pytest.raises(ValueError, match="x must be finite real numbers"):
        m.mean(math.nan)


@together("bad", [0.0, -1.0, math.inf, math.nan, "1"])
def test_bad_parameters_are_named(bad: Any) -> None:
    with pytest.raises(ValueError, match="scale must be a finite number > 0"):
        Laplace(bad)
    with pytest.raises(ValueError, match="sensitivity must be a finite number > 0"):
        Laplace(1.0, bad)
