"""Gaussian noise: the classical additive mechanism for inputs that differ by at most a sensitivity in l2.

Definition: the input x is reported as x plus normal noise of mean 0 and standard deviation sigma.

Source: Balle, Wang, "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018), Theorem 8 (the profile).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray
from sympy import exp, oo, pi, sqrt

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.gaussian_grid import GaussianGrid
from ldp_audit.mechanisms.inputs import finite
from ldp_audit.mechanisms.laplace import INPUT, SENSITIVITY
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.parameter import Parameter, check_parameters
from ldp_audit.mechanisms.variable import Variable

SIGMA = Variable("sigma", 0, oo, open="left", latex=r"\sigma")

GAUSSIAN = SymbolicChannel(
    "Gaussian mechanism",
    inputs=INPUT,
    public=SIGMA,
    pieces=[(-oo, oo, exp(-((OUTPUT - INPUT) ** 2) / (2 * SIGMA**2)) / (SIGMA * sqrt(2 * pi)))],
)

_PRECISIONS = (128, 512, 2048, 8192, 32768)


@dataclass(frozen=True)
class Gaussian:
    """x + noise of standard deviation sigma; inputs differ by at most `sensitivity` in l2.

    Inputs may be numbers or arrays: each coordinate gets noise of its own. The profile is then that of the whole array,
    provided that `sensitivity` bounds the l2 distance of whole arrays; that is the user's statement.

    sigma, sensitivity: > 0, finite. Raises ValueError for anything else.
    """

    sigma: float
    sensitivity: float = 1.0

    parameters = (Parameter("sigma", SIGMA, typical=(0.1, 10.0)), SENSITIVITY)

    def __post_init__(self) -> None:
        check_parameters(self)

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x and sigma."""
        return GAUSSIAN

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
        found = [_delta_at(self.sensitivity, self.sigma, float(level)) for level in asked.flat]
        return np.array(found, dtype=np.float64).reshape(asked.shape)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts."""
        z = (finite("y", y) - finite("x", x)) / self.sigma
        return (-(z**2) / 2 - math.log(self.sigma) - math.log(2 * math.pi) / 2)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return finite("x", x)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """sigma**2, everywhere; shape of x."""
        return np.full_like(finite("x", x), self.sigma * self.sigma)[()]

    def implemented(self, bits: int = 64) -> GaussianGrid:
        """What a sampler with words of so many bits draws from, as a mechanism: a table of whole words on a grid.

        Raises ValueError unless bits are 2..64, and where sigma or sensitivity lies outside 2**-500 .. 2**500.
        """
        return GaussianGrid.of(self, bits)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report per number; shape, floating dtype and device of x.

        x: array or tensor; ValueError, with the range, beyond 2**17 sigma or more from 0.
        rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Draws from `implemented()`: its delta at levels from 0 to 20, for two numbers, is at most 1e-13 above the ideal
        one (3e-9 for a sensitivity below sigma / 4096).
        """
        return self.implemented().sample(x, rng=rng)


def _delta_at(sensitivity: float, sigma: float, level: float) -> float:
    if math.isinf(level):
        return 0.0
    for precision in _PRECISIONS:
        with ctx.workprec(precision):
            m, e = arb(sensitivity) / arb(sigma), arb(level)
            root = arb(2).sqrt()
            upper = ((e / m - m / 2) / root).erfc() / 2
            lower = e.exp() * ((e / m + m / 2) / root).erfc() / 2
            difference = upper - lower
            if difference.rel_accuracy_bits() > 52:
                return float(difference.mid())
            if difference < arb(10) ** -300:
                return 0.0
    raise ArithmeticError(f"the profile at {level!r} could not be enclosed")
