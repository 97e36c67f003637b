"""Laplace and Gaussian noise: the profiles of the classical additive mechanisms, exact to the last digits.

Sources: Dwork, McSherry, Nissim, Smith (2006); Balle, Wang (ICML 2018), Theorem 8, for the Gaussian profile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.parameter import Parameter, check_parameters
from ldp_audit.mechanisms.variable import Variable

SENSITIVITY = Parameter("sensitivity", Variable("D", 0, oo, open="left"), typical=(0.1, 2.0))
_PRECISIONS = (128, 512, 2048, 8192, 32768)


@dataclass(frozen=True)
class Laplace:
    """x + noise of density e**(-|z|/scale) / (2 scale); inputs differ by at most `sensitivity` in l1.

    scale, sensitivity: > 0, finite. Raises ValueError for anything else.
    """

    scale: float
    sensitivity: float = 1.0

    parameters = (Parameter("scale", Variable("b", 0, oo, open="left"), typical=(0.1, 10.0)), SENSITIVITY)

    def __post_init__(self) -> None:
        check_parameters(self)

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: sensitivity / scale."""
        return self.sensitivity / self.scale

    def worst_pair(self) -> tuple[float, float]:
        """Two inputs a whole sensitivity apart."""
        return 0.0, self.sensitivity

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """(1 - e**((epsilon - sensitivity/scale)/2))_+; shape of `epsilon`, nats, >= 0."""
        return (-np.expm1(np.minimum((levels(epsilon) - self.exact_epsilon()) / 2, 0.0)) + 0.0)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts."""
        return (-np.abs(_real("y", y) - _real("x", x)) / self.scale - math.log(2 * self.scale))[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return _real("x", x)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """2 scale**2, everywhere; shape of x."""
        return np.full_like(_real("x", x), 2 * self.scale**2)[()]


@dataclass(frozen=True)
class Gaussian:
    """x + noise of standard deviation sigma; inputs differ by at most `sensitivity` in l2.

    sigma, sensitivity: > 0, finite. Raises ValueError for anything else.
    """

    sigma: float
    sensitivity: float = 1.0

    parameters = (Parameter("sigma", Variable("sigma", 0, oo, open="left"), typical=(0.1, 10.0)), SENSITIVITY)

    def __post_init__(self) -> None:
        check_parameters(self)

    def exact_epsilon(self) -> float:
        """No pure epsilon holds: infinity."""
        return math.inf

    def worst_pair(self) -> tuple[float, float]:
        """Two inputs a whole sensitivity apart."""
        return 0.0, self.sensitivity

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Phi(m/2 - e/m) - e**e Phi(-m/2 - e/m), m = sensitivity/sigma; shape of `epsilon`, nats, >= 0.

        The two terms nearly cancel at large levels, so they are enclosed in balls whose precision grows until the
        difference is known to 15 digits. Below 1e-300 the value is returned as 0.
        """
        asked = levels(epsilon)
        found = [_gaussian_delta(self.sensitivity, self.sigma, float(level)) for level in asked.flat]
        return np.array(found, dtype=np.float64).reshape(asked.shape)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts."""
        z = (_real("y", y) - _real("x", x)) / self.sigma
        return (-(z**2) / 2 - math.log(self.sigma) - math.log(2 * math.pi) / 2)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return _real("x", x)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """sigma**2, everywhere; shape of x."""
        return np.full_like(_real("x", x), self.sigma**2)[()]


def _gaussian_delta(sensitivity: float, sigma: float, level: float) -> float:
    if math.isinf(level):
        return 0.0
    before = ctx.prec
    try:
        for precision in _PRECISIONS:
            ctx.prec = precision
            m, e = arb(sensitivity) / arb(sigma), arb(level)
            root = arb(2).sqrt()
            upper = ((e / m - m / 2) / root).erfc() / 2
            lower = e.exp() * ((e / m + m / 2) / root).erfc() / 2
            difference = upper - lower
            if difference.rel_accuracy_bits() > 52:
                return float(difference.mid())
            if difference < arb(10) ** -300:
                return 0.0
    finally:
        ctx.prec = before
    raise ArithmeticError(f"the profile at {level!r} could not be enclosed")


def _real(name: str, values: ArrayLike) -> NDArray[np.float64]:
    given = np.asarray(values)
    if given.dtype.kind not in "fiu" or not np.all(np.isfinite(given)):
        raise ValueError(f"{name} must be finite real numbers, got {values!r}")
    return given.astype(np.float64)
