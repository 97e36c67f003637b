"""Discrete Gaussian noise on whole numbers.

Definition: the whole number x is reported as x + z, where P(z) is proportional to e**(-z**2/(2 sigma**2)) for whole z.

Sampling (Algorithm 3 of the source, for any scale b of the proposal). A draw y of discrete Laplace noise of scale b, a
fraction of about sigma, is kept with probability e**-g, g = (|y| - sigma**2/b)**2/(2 sigma**2): the product of the two
is proportional to e**(-y**2/(2 sigma**2)). A uniform real number R is compared with e**-g, of which 53 bits are drawn
first. They decide unless e**-g, which floats give to 2**-39 of itself, is within 2**-30 of itself of R; then more bits
are drawn, and e**-g is computed to as many. So the sampler draws from the mechanism itself.

Source: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (NeurIPS 2020), Theorem 7 for the
profile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq, fmpz
from numpy.typing import ArrayLike, NDArray
from sympy import Integer, Sum, exp, oo

from ldp_audit.losses.discrete_gaussian import DiscreteGaussianLoss, discrete_gaussian_variance, log_normaliser
from ldp_audit.mechanisms.mechanism import FamilyExample, Parameter, upper_profile
from ldp_audit.mechanisms.noise.gaussian import SIGMA
from ldp_audit.mechanisms.noise.integer_noise import STEPS, IntegerNoise
from ldp_audit.mechanisms.noise.laplace_noise import discrete_laplace, quotient_above, until_kept
from ldp_audit.mechanisms.randomness import WORDS, Source
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights

_Z = Variable("z", -oo, oo, integer=True)
_WEIGHT = exp(-(_Z**2) / (2 * SIGMA**2))

DISCRETE_GAUSSIAN = SymbolicWeights(
    "discrete Gaussian noise",
    [OutputClass("the report x + z", Integer(1), _WEIGHT / Sum(_WEIGHT, (_Z, -oo, oo)), (_Z, -oo, oo))],
)

_NARROWEST, _WIDEST = -30, 40
_FIRST, _MARGIN = 53, 2.0**-30
"""The bits that are drawn first, and the share of e**-g within which they do not decide."""


@dataclass(frozen=True, repr=False)
class DiscreteGaussian(IntegerNoise):
    """x + z, with P(z) proportional to e**(-z**2/(2 sigma**2)), for whole numbers x.

    Each coordinate of an array gets independent noise; the profile is that of one number.

    sigma: 2**-30 .. 2**40; the standard deviation is a little less.   sensitivity, replaced: see `IntegerNoise`.
    Raises ValueError for anything else.
    """

    sigma: float
    sensitivity: int = 1
    replaced: int | None = None

    parameters = (Parameter("sigma", SIGMA, typical=(0.1, 10.0)), STEPS)
    example = FamilyExample("DiscreteGaussian(sigma=1)", "z: the noise, a whole number; sigma: about its deviation")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2.0**_NARROWEST <= self.sigma <= 2.0**_WIDEST:
            raise ValueError(f"sigma must lie in 2**{_NARROWEST} .. 2**{_WIDEST}, got {self.sigma!r}")

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in sigma."""
        return DISCRETE_GAUSSIAN

    def exact_epsilon(self) -> float:
        """Infinity: the mechanism has no pure epsilon."""
        return math.inf

    def moved(self, distance: float) -> DiscreteGaussianLoss:
        """See `AdditiveNoise`."""
        return DiscreteGaussianLoss(self.sigma, int(distance))

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """P(z > e s - D/2) - e**e P(z > e s + D/2), s = sigma**2/D, D = sensitivity; shape of `epsilon`, nats, >= 0.

        By `DiscreteGaussianLoss`, without the cancellation of the two terms; an upper bound for sigma > 4096.
        """
        return upper_profile(self.pair_loss(), epsilon)

    def reach(self) -> int:
        """See `IntegerNoise`: 9 sigma."""
        return math.ceil(9 * self.sigma) + 1

    def log_mass(self, away: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `IntegerNoise`."""
        return -((away / self.sigma) ** 2) / 2 - log_normaliser(self.sigma)

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The sum of z**2 P(z), a little below sigma**2 (the source, Corollary 9), right to rounding; shape of x."""
        return np.full_like(self.mean(x), discrete_gaussian_variance(self.sigma))[()]

    def noise(self, shape: tuple[int, ...], source: Source) -> Any:
        """See `IntegerNoise`."""
        t, s = quotient_above(self.sigma)

        def proposed(count: int) -> tuple[Any, Any]:
            drawn = discrete_laplace(t, (count,), source, s)
            return drawn, self.kept(source.xp.abs(drawn), source)

        return source.xp.reshape(until_kept(proposed, math.prod(shape), source), shape)

    def kept(self, sizes: Any, source: Source) -> Any:
        """True with probability e**-g exactly, for each |y|; shape (count,)."""
        xp, (t, s) = source.xp, quotient_above(self.sigma)
        words = source.words(sizes.shape, _FIRST)
        first = xp.astype(words, xp.float64) + 2.0 ** (_FIRST - 1)
        away = (xp.astype(sizes, xp.float64) - self.sigma / (t / s) * self.sigma) / self.sigma
        chance = xp.exp(away * away / -2) * 2.0**_FIRST
        found = first + 1 <= chance * (1 - _MARGIN)
        # where the chance underflows, only a first word of 0 leaves the decision open
        undecided = xp.nonzero(~found & (first < chance * (1 + _MARGIN) + _MARGIN))[0]
        for at in undecided.tolist():
            found[at] = _settled(self.sigma, int(sizes[at]), int(first[at]), source)
        return found


def _settled(sigma: float, size: int, value: int, source: Source) -> bool:
    """Whether R < e**-g, for a real number R with these first bits; further bits are drawn until it is determined."""
    power, bits = -_exponent(sigma, size), _FIRST
    while True:
        value, bits = value * WORDS + int(source.words(())) + WORDS // 2, bits + 64
        with ctx.workprec(bits + 64):
            chance = arb(fmpq(power.numerator, power.denominator)).exp() * fmpz(2) ** bits
            if chance >= value + 1:
                return True
            if chance <= value:
                return False


@lru_cache(maxsize=1024)
def _exponent(sigma: float, size: int) -> Fraction:
    """g."""
    square, (t, s) = Fraction(sigma) ** 2, quotient_above(sigma)
    return (size - square * s / t) ** 2 / (2 * square)
