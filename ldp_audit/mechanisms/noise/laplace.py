"""Laplace noise: the classical additive mechanism for inputs that differ by at most a sensitivity in l1.

Definition: the input x is reported as x plus noise of density e**(-|z|/b) / (2 b).

Source: Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis" (TCC 2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import exp, oo

from ldp_audit.losses.noise_losses import LaplaceLoss
from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.finite_precision import FinitePrecisionNoise
from ldp_audit.mechanisms.inputs import finite, numbers_of, single
from ldp_audit.mechanisms.log_space import excess, levels
from ldp_audit.mechanisms.mechanism import INPUT, SENSITIVITY, AdditiveNoise, FamilyExample, Parameter
from ldp_audit.mechanisms.noise.laplace_noise import PARTS, discrete_laplace
from ldp_audit.mechanisms.noise.noise_grid import NoiseGrid, floor_log2, require_moderate
from ldp_audit.mechanisms.randomness import BITS, Source
from ldp_audit.mechanisms.variable import Variable

SCALE = Variable("b", 0, oo, open="left")

LAPLACE = SymbolicChannel(
    "Laplace mechanism",
    inputs=INPUT,
    public=SCALE,
    pieces=[
        (-oo, INPUT, exp((OUTPUT - INPUT) / SCALE) / (2 * SCALE)),
        (INPUT, oo, exp((INPUT - OUTPUT) / SCALE) / (2 * SCALE)),
    ],
)


@dataclass(frozen=True, repr=False)
class Laplace(AdditiveNoise):
    """x + noise of density e**(-|z|/scale) / (2 scale); inputs differ by at most `sensitivity` in l1.

    Inputs may be numbers or arrays; each coordinate gets independent noise. For arrays, `sensitivity` must bound the l1
    distance of whole arrays; the profile is then that of the array. A sample has the shape and floating dtype of the
    input; ValueError for inputs 2**21 scales or more (or 2**51 sensitivities) from 0.

    scale: > 0, finite.   sensitivity, replaced: see `AdditiveNoise`. Raises ValueError for anything else.
    """

    scale: float
    sensitivity: float = 1.0
    replaced: float | None = None

    parameters = (Parameter("scale", SCALE, typical=(0.1, 10.0)), SENSITIVITY)
    mirrored = True
    example = FamilyExample(
        "Laplace(scale=1)",
        "x: the input; b: the scale; neighbours lie within D",
        worst=((0, {"x": 0, "y": 0}), (0, {"x": SENSITIVITY.variable, "y": 0})),
    )

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x and the scale b."""
        return LAPLACE

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: sensitivity / scale."""
        return self.sensitivity / self.scale

    def blanket(self) -> Blanket | None:
        """See base."""
        return None if self.replaced is None else Blanket.of_laplace(self.replaced / self.scale)

    def moved(self, distance: float) -> LaplaceLoss:
        """See `AdditiveNoise`."""
        return LaplaceLoss(distance / self.scale)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """(1 - e**((epsilon - sensitivity/scale)/2))_+, for two numbers; less for arrays. Shape of `epsilon`, nats."""
        return excess(levels(epsilon) / 2, self.exact_epsilon() / 2)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts."""
        return (-np.abs(finite("y", y) - finite("x", x)) / self.scale - math.log(2 * self.scale))[()]

    def breakpoints(self, x: Any) -> list[float]:
        """The input, and the points where the density falls by factors e**-4, e**-15 and e**-40."""
        return [single(x, self) + self.scale * away for away in (-40.0, -15.0, -4.0, 0.0, 4.0, 15.0, 40.0)]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """2 scale**2; shape of x."""
        return np.full_like(finite("x", x), 2 * (self.scale * self.scale))[()]

    def implemented(self, bits: int = 64) -> LaplaceGrid:
        """The finite-precision distribution of `sample`: discrete noise on a grid of about 2**40 points a scale.

        bits: 2..64, without effect, as all decisions are exact. Raises ValueError for other bits; for a scale of 2**42
            sensitivities or more; and where scale or sensitivity lies outside 2**-500 .. 2**500.
        """
        BITS.check(bits)
        return LaplaceGrid.of(self)


_FINE = 40
"""log2 of the usual number of spacings in a scale."""
_FEW = 10
"""log2 of the least number of spacings in a sensitivity."""
_WIDEST = 54
"""log2 of the largest number of spacings in a scale, the limit of `discrete_laplace`."""


@dataclass(frozen=True)
class LaplaceGrid(FinitePrecisionNoise):
    """The finite-precision Laplace mechanism: discrete Laplace noise on a grid that does not depend on the input.

    The spacing g is a power of two, so that floats are divided by it exactly (`noise_grid.py`). The sensitivity D is m
    = ceil(D / g) spacings, and the noise has scale t spacings, for the least multiple t of 8 with

        m / (t - 1) <= D / scale,   in exact arithmetic.

    Reports of two numbers at distance D then have a likelihood ratio of at most e**(m/t), the implemented epsilon. The
    slack of 1 is for arrays. Let q = e**(-1/t). As an input moves between two grid points, the probability of a report
    changes linearly from p to p q or back, so its logarithm changes by at most 1/q - 1 <= 1/(t - 1) for each spacing.
    However the l1 distance D is spread over coordinates, the ratio is thus at most e**((D/g)/(t - 1)) <= e**(D/scale):
    rounding the coordinates costs no epsilon (up to 2**-53 / t a coordinate, for its 53 bits).

    mechanism: the ideal one.   exponent: a whole number in -600 .. 600; the spacing is 2**exponent.
    Raises ValueError for another exponent, for a noise scale above 2**54 spacings, and for a scale or sensitivity
    outside 2**-500 .. 2**500.
    """

    mechanism: Laplace
    exponent: int

    def __post_init__(self) -> None:
        require_moderate("scale", self.mechanism.scale)
        require_moderate("sensitivity", self.mechanism.sensitivity)
        self.grid()
        if self.width() > 2**_WIDEST:
            raise ValueError(f"exponent must give a scale of fewer than 2**54 spacings, got {self.exponent!r}")

    @classmethod
    def of(cls, mechanism: Laplace) -> LaplaceGrid:
        """The grid with 2**40 to 2**41 points a scale, and at least 2**10 points a sensitivity.

        Raises ValueError for a scale of 2**42 sensitivities or more, and as the class.
        """
        require_moderate("scale", mechanism.scale)
        require_moderate("sensitivity", mechanism.sensitivity)
        if mechanism.scale / mechanism.sensitivity >= 2.0 ** (_WIDEST - _FEW - 2):
            raise ValueError(f"scale must be below 2**42 sensitivities to be sampled, got {mechanism!r}")
        return cls(mechanism, min(floor_log2(mechanism.scale) - _FINE, floor_log2(mechanism.sensitivity) - _FEW))

    def grid(self) -> NoiseGrid:
        """The possible reports."""
        return NoiseGrid(self.exponent)

    def shift(self) -> int:
        """m: the sensitivity in spacings, rounded up."""
        return math.ceil(Fraction(self.mechanism.sensitivity) / self.grid().spacing())

    def width(self) -> int:
        """t: the noise's scale in spacings."""
        least = self.shift() * Fraction(self.mechanism.scale) / Fraction(self.mechanism.sensitivity) + 1
        return math.ceil(least / PARTS) * PARTS

    def exact_epsilon(self) -> float:
        """m / t, nats, at most the mechanism's: tight for numbers m spacings apart, an upper bound for nearer ones.

        For arrays the bound is m / (t - 1), also at most the mechanism's.
        """
        return self.shift() / self.width()

    def worst_pair(self) -> tuple[float, float]:
        """Two inputs m spacings apart."""
        return 0.0, math.ldexp(self.shift(), self.exponent)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The hockey-stick divergence of two numbers m spacings apart; shape of `epsilon`, nats, >= 0.

        1 - (q**(k+1) + e**epsilon q**(m-k)) / (1 + q), q = e**(-1/t), k the last point with ratio above e**epsilon. An
        upper bound for nearer numbers.
        """
        asked = levels(epsilon)
        return np.array([self._delta_at(float(level)) for level in asked.flat]).reshape(asked.shape)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y, unrounded, at the input x, nats; broadcasts; -inf off the grid."""
        (step, known), (below, fraction) = self.grid().step_of(y), self.grid().between(x)
        away = step - below
        nearer = np.where(away >= 1, fraction, 1 - fraction)  # weight of the grid point on the report's side
        steps = np.where(away >= 1, away - 1, -away)
        decay = math.expm1(-1 / self.width())
        with np.errstate(divide="ignore"):
            found = -steps / self.width() + np.log1p((1 - nearer) * decay) + math.log(math.tanh(0.5 / self.width()))
        return np.where(known, found, -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x, to 2**-53 spacings. Shape of x."""
        self.grid().between(x)
        return numbers_of("x", x).astype(np.float64)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """g**2 (2 q / (1 - q)**2 + f (1 - f)), q = e**(-1/t), f the fraction of x above its grid point. Shape of x."""
        fraction = self.grid().between(x)[1]
        noise = 0.5 / math.sinh(0.5 / self.width()) ** 2
        return ((noise + fraction * (1 - fraction)) * math.ldexp(1.0, self.exponent) ** 2)[()]

    def draw(self, x: Any, source: Source) -> Any:
        """One report per number."""
        steps = self.grid().rounded(x, source)
        noise = discrete_laplace(self.width(), steps.shape, source)
        return self.grid().reports(steps + noise, x, source.xp)

    def _delta_at(self, level: float) -> float:
        shift, width = self.shift(), self.width()
        if math.isinf(level) or Fraction(level) >= Fraction(shift, width):
            return 0.0
        last = math.ceil((shift - Fraction(level) * width) / 2) - 1
        if last == 0:
            return -math.expm1(float(Fraction(level) - Fraction(shift, width))) / (1 + math.exp(-1 / width))
        first = -math.expm1(-(last + 1) / width)
        second = -math.expm1(float(Fraction(level) - Fraction(shift - last - 1, width))) * math.exp(-1 / width)
        return (first + second) / (1 + math.exp(-1 / width))
