"""Laplace noise: the classical additive mechanism for inputs that differ by at most a sensitivity in l1.

Definition: the input x is reported as x plus noise of density e**(-|z|/b) / (2 b).

Source: Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis" (TCC 2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import exp, oo

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.inputs import finite
from ldp_audit.mechanisms.laplace_grid import LaplaceGrid
from ldp_audit.mechanisms.log_space import excess, levels
from ldp_audit.mechanisms.parameter import Parameter, check_parameters
from ldp_audit.mechanisms.randomness import BITS
from ldp_audit.mechanisms.variable import Variable

SCALE = Variable("b", 0, oo, open="left")
INPUT = Variable("x", -oo, oo)
SENSITIVITY = Parameter("sensitivity", Variable("D", 0, oo, open="left"), typical=(0.1, 2.0))

LAPLACE = SymbolicChannel(
    "Laplace mechanism",
    inputs=INPUT,
    public=SCALE,
    pieces=[
        (-oo, INPUT, exp((OUTPUT - INPUT) / SCALE) / (2 * SCALE)),
        (INPUT, oo, exp((INPUT - OUTPUT) / SCALE) / (2 * SCALE)),
    ],
)


@dataclass(frozen=True)
class Laplace:
    """x + noise of density e**(-|z|/scale) / (2 scale); inputs differ by at most `sensitivity` in l1.

    Inputs may be numbers or arrays: each coordinate gets noise of its own. The profile is then that of the whole array,
    provided that `sensitivity` bounds the l1 distance of whole arrays; that is the user's statement.

    scale, sensitivity: > 0, finite. Raises ValueError for anything else.
    """

    scale: float
    sensitivity: float = 1.0

    parameters = (Parameter("scale", SCALE, typical=(0.1, 10.0)), SENSITIVITY)

    def __post_init__(self) -> None:
        check_parameters(self)

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x and the scale b."""
        return LAPLACE

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: sensitivity / scale."""
        return self.sensitivity / self.scale

    def worst_pair(self) -> tuple[float, float]:
        """Two inputs a whole sensitivity apart."""
        return 0.0, self.sensitivity

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """(1 - e**((epsilon - sensitivity/scale)/2))_+; shape of `epsilon`, nats, >= 0.

        For two numbers a sensitivity apart; arrays that spread the same distance over several coordinates have less.
        """
        return excess(levels(epsilon) / 2, self.exact_epsilon() / 2)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts."""
        return (-np.abs(finite("y", y) - finite("x", x)) / self.scale - math.log(2 * self.scale))[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return finite("x", x)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """2 scale**2, everywhere; shape of x."""
        return np.full_like(finite("x", x), 2 * (self.scale * self.scale))[()]

    def implemented(self, bits: int = 64) -> LaplaceGrid:
        """What the sampler draws from, as a mechanism: discrete noise on a grid of about 2**40 points a scale.

        bits: accepted for the sake of uniform calls, 2..64, and without effect: decisions are exact, none is rounded to
        whole words. Raises ValueError for other bits; for a scale of 2**42 sensitivities or more; and where scale or
        sensitivity lies outside 2**-500 .. 2**500.
        """
        BITS.check(bits)
        return LaplaceGrid.of(self)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report per number; shape, floating dtype and device of x.

        x: array or tensor; ValueError, with the range, beyond 2**21 scales or more from 0 (2**51 sensitivities, if that
        is less).   rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Draws from `implemented()`, with an epsilon of at most the ideal one.
        """
        return self.implemented().sample(x, rng=rng)
