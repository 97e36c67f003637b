"""Gaussian noise on the line: profile in high precision at both ends, density, moments, what is refused."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import pytest

from ldp_audit.mechanisms import Gaussian
from tests.together import together


@pytest.mark.covering(1)
@pytest.mark.parametrize("sigma", [0.05, 0.5, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("level", [0.0, 1e-9, 0.3, 1.0, 8.0, 50.0])
def test_the_profile_in_four_hundred_digits(sigma: float, level: float) -> None:
    with mpmath.workdps(400):
        m, e = 1 / mpmath.mpf(sigma), mpmath.mpf(level)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    value = float(Gaussian(sigma).delta(level))
    if exact < mpmath.mpf(10) ** -300:
        assert value == 0
    else:
        assert value == pytest.approx(float(exact), rel=1e-14, abs=0)


def test_facts() -> None:
    assert Gaussian(1.0).exact_epsilon() == math.inf
    assert Gaussian(1.0).delta(0.0) == pytest.approx(math.erf(1 / (2 * math.sqrt(2))), rel=1e-14, abs=0)
    assert Gaussian(1.0).delta([[0.0, math.inf]]).shape == (1, 2)
    assert Gaussian(2.0).log_prob(1.0, 1.0) == pytest.approx(-math.log(2 * math.sqrt(2 * math.pi)))


def test_the_definition_is_symbolic_and_agrees() -> None:
    law = Gaussian.symbolic()
    x, sigma = (next(v for v in law.variables() if v.name == name) for name in ("x", "sigma"))
    assert law.total() == 1
    assert law.mean() - x == 0
    assert (law.variance() - sigma**2).simplify() == 0


def test_moments() -> None:
    m = Gaussian(2.0)
    assert m.mean([0.5, 1.0]).tolist() == [0.5, 1.0]
    assert m.variance(0.0) == 4.0
    with pytest.raises(ValueError, match="x must be finite real numbers"):
        m.mean(math.nan)


@together("bad", [0.0, -1.0, math.inf, math.nan, "1"])
def test_bad_parameters_are_named(bad: Any) -> None:
    with pytest.raises(ValueError, match="sigma must be a finite number > 0"):
        Gaussian(bad)
    with pytest.raises(ValueError, match="sensitivity must be a finite number > 0"):
        Gaussian(1.0, bad)
