"""Histogram encoding: the value as k numbers of which its own is 1, the others 0, each with Laplace noise.

The noise has scale 2/epsilon. Two values change two numbers by 1 each, so the privacy loss is that of two Laplace
mechanisms of epsilon/2, whatever k:

    delta(level) = 1 - (1 + g/4) e**(-g/2),   g = (epsilon - level)_+.

Summed (SHE), the report is the k numbers. With a threshold (THE), it is k bits: whether each number exceeds the
threshold. They are ones with probability p = 1 - e**((threshold - 1) epsilon/2) / 2 at the value's own place, and with
q = e**(-threshold epsilon/2) / 2 at another, independently: unary encoding. By post-processing its epsilon is smaller:

    p (1 - q) / ((1 - p) q) = e**epsilon a (2 - a) c (2 - c),   a = 2 (1 - p) and c = 2 q in (0, 1], not both 1.

The variance of a rare value is least where a = (1 + m + sqrt(1 - m + m**2)) / 3, m = a c = e**(-epsilon/2): the larger
root of the derivative's numerator 3 a**2 - 2 (1 + m) a + m.

Source: Wang, Blocki, Li, Jha, "Locally Differentially Private Protocols for Frequency Estimation" (USENIX Security
2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import exp, oo

from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import TwoLaplaceLoss
from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.finite_precision import FinitePrecision
from ldp_audit.mechanisms.frequency.unary_encoding import UnaryEncoding
from ldp_audit.mechanisms.frequency.values import VALUES, OfValues, values_of
from ldp_audit.mechanisms.inputs import array_of, numbers_of
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Losses, Mechanism, upper_profile
from ldp_audit.mechanisms.noise.laplace import Laplace, LaplaceGrid
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.supports import Sums, Supports
from ldp_audit.mechanisms.variable import EPSILON, Variable
from ldp_audit.numerics import as_float, shown

_OWN = Variable("z", 0, 1, integer=True)
"""Whether the number is the value's own."""

HISTOGRAM = SymbolicChannel(
    "summed histogram encoding, one number",
    inputs=_OWN,
    pieces=[
        (-oo, _OWN, EPSILON / 4 * exp((OUTPUT - _OWN) * EPSILON / 2)),
        (_OWN, oo, EPSILON / 4 * exp((_OWN - OUTPUT) * EPSILON / 2)),
    ],
)


@dataclass(frozen=True)
class HistogramEncoding(OfValues):
    """Values 0 .. k-1; the report is k numbers, float64, or k bits, uint8: one more axis at the end.

    epsilon: nats, > 0, finite; of the summed form. `exact_epsilon()` of the thresholded form is strictly less.
    k: a whole number >= 2.   threshold: None for the numbers; a number in (1/2, 1]; or "optimal", that of the least
    variance of rare values. Raises ValueError for anything else, and for an epsilon so small or so large that floats
    do not hold p and q.
    """

    epsilon: float
    k: int
    threshold: float | Literal["optimal"] | None = None

    parameters = (BUDGET, VALUES)
    example = FamilyExample(
        "HistogramEncoding(epsilon=1, k=3)",
        "one number; z is 1 at the value's own place, else 0",
        composed="epsilon/2 of each of the two numbers that change",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is None:
            return
        if self.threshold != "optimal":
            number = as_float(self.threshold)
            if not 0.5 < number <= 1:
                accepted = 'None, "optimal" or a number > 1/2 and <= 1'
                raise ValueError(f"threshold must be {accepted}, got {shown(self.threshold)}")
            object.__setattr__(self, "threshold", number)
        own, other = self._ones()
        if not 0 < other < own < 1:
            raise ValueError(f"epsilon must lie in about 1e-14 .. 1400 with a threshold, got {self.epsilon!r}")

    def form(self) -> SummedHistogram | UnaryEncoding:
        """The same law: of numbers, or of bits."""
        return SummedHistogram(self) if self.threshold is None else UnaryEncoding.of(*self._ones(), self.k)

    def cut(self) -> float:
        """The threshold as a number; ValueError for the summed form, which has none."""
        if self.threshold is None:
            raise ValueError(f"threshold must be given, got {self!r}")
        if self.threshold != "optimal":
            return self.threshold
        m = math.exp(-self.epsilon / 2)
        own = (1 + m + math.sqrt((1 - m) ** 2 + m)) / 3
        return min(1.0, max(1 + 2 * math.log(own) / self.epsilon, math.nextafter(0.5, 1.0)))

    def _ones(self) -> tuple[float, float]:
        """p and q, rounded towards each other, so that their epsilon is below that of real numbers."""
        cut = self.cut()
        own = -math.expm1((cut - 1) * self.epsilon / 2 - math.log(2))
        other = math.exp(-cut * self.epsilon / 2) / 2
        return own * (1 - 2.0**-50), other * (1 + 2.0**-50)

    def symbolic(self) -> SymbolicChannel:
        """The law of one number; of two bits with a threshold."""
        return self.form().symbolic()

    def exact_epsilon(self) -> float:
        """See base: epsilon, or that of the bits."""
        return self.form().exact_epsilon()

    def losses(self) -> Losses | None:
        """See base."""
        return self.form().losses()

    def pair_loss(self) -> PairLoss:
        """See base."""
        return self.form().pair_loss()

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """See base."""
        return self.form().delta(epsilon)

    def blanket(self) -> Blanket | None:
        """See base: of bits."""
        return self.form().blanket()

    def supports(self) -> Supports | Sums:
        """See base: of bits, their ones; numbers are summed."""
        return self.form().supports()

    def report_bits(self) -> float:
        """See base: 64 for a number, 1 for a bit."""
        return self.form().report_bits()

    def reports(self) -> Sequence[Any] | None:
        """See base: of bits, for up to ten values."""
        return self.form().reports()

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density (or log probability) of the report y, shape (..., k), at the value x, shape (...); broadcasts."""
        return self.form().log_prob(y, x)

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """The numbers without noise, shape (..., k); ValueError for bits."""
        return self.form().mean(x)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """8/epsilon**2 for each number, shape (..., k); ValueError for bits."""
        return self.form().variance(x)

    def implemented(self, bits: int = 64) -> Any:
        """The finite-precision distribution of `sample`: Laplace's grid for numbers, whole words for bits."""
        return self.form().implemented(bits)


@dataclass(frozen=True)
class SummedHistogram(Mechanism):
    """The k numbers.   mechanism: the encoding, whose epsilon and k they have."""

    mechanism: HistogramEncoding

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """See `HistogramEncoding`."""
        return HISTOGRAM

    def noise(self) -> Laplace:
        """Of one number: the scale is 2/epsilon, rounded up, so that two numbers give at most epsilon."""
        epsilon = self.mechanism.epsilon
        scale = 2 / epsilon
        return Laplace(math.nextafter(scale, math.inf) if Fraction(scale) * Fraction(epsilon) < 2 else scale)

    def exact_epsilon(self) -> float:
        """See base: epsilon."""
        return self.mechanism.epsilon

    def pair_loss(self) -> PairLoss:
        """See base: that of two numbers."""
        return TwoLaplaceLoss(self.mechanism.epsilon)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """1 - (1 + g/4) e**(-g/2), g = (epsilon of the mechanism - level)_+; shape of `epsilon`, nats, >= 0."""
        return upper_profile(self.pair_loss(), epsilon)

    def supports(self) -> Sums:
        """See base: numbers are summed."""
        return Sums(self.mechanism.k, 2 * self.noise().scale ** 2)

    def worst_pair(self) -> tuple[int, int]:
        """See `HistogramEncoding`."""
        return self.mechanism.worst_pair()

    def report_bits(self) -> float:
        """See base: 64 for each number."""
        return 64.0 * self.mechanism.k

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """See `HistogramEncoding`."""
        return self.log_prob_of(y, x, self.noise())

    def log_prob_of(self, y: ArrayLike, x: ArrayLike, noise: Laplace | LaplaceGrid) -> Any:
        """`log_prob`, for given noise on each number."""
        numbers = numbers_of("y", y)
        if numbers.ndim == 0 or numbers.shape[-1] != self.mechanism.k:
            raise ValueError(f"y must be numbers of shape (..., {self.mechanism.k}), got shape {numbers.shape}")
        return np.sum(noise.log_prob(numbers, self.mean(x)), axis=-1)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """See `HistogramEncoding`."""
        values = values_of(array_of("x", x), self.mechanism.k)
        return (np.asarray(values)[..., None] == np.arange(self.mechanism.k)).astype(np.float64)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """See `HistogramEncoding`."""
        return np.full_like(self.mean(x), 2 * self.noise().scale ** 2)

    def implemented(self, bits: int = 64) -> SummedGrid:
        """The finite-precision distribution of `sample`: each number's noise on the grid of `LaplaceGrid`.

        bits: 2..64, without effect. Raises ValueError for other bits, and as `Laplace.implemented`.
        """
        return SummedGrid(self, self.noise().implemented(bits))


@dataclass(frozen=True)
class SummedGrid(FinitePrecision):
    """Discrete Laplace noise on each of k numbers.

    0 and 1 are points of the grid, m spacings apart, and the noise has scale t. With s = i + j, where the two numbers'
    losses are (m - 2 i)/t and (m - 2 j)/t, the loss (2 m - 2 s)/t has for 0 < s < m the probability

        q**s (1 - q) (2 + (s - 1) (1 - q)) / (1 + q)**2,   q = e**(-1/t),   and 1 / (1 + q)**2 for s = 0.

    Summing it over 0 .. K, the last s of a loss above a level >= 0, under both inputs, gives, with r = 1 - q,

        delta(level) = 1 - (q**(K+1) (2 + q + K r) + e**level q**(2 m - K) (1 + K r)) / (1 + q)**2.

    mechanism: the ideal numbers.   noise: the grid.
    """

    mechanism: SummedHistogram
    noise: LaplaceGrid

    def exact_epsilon(self) -> float:
        """2 m / t, nats, at most the mechanism's."""
        return min(2 * self.noise.exact_epsilon(), self.mechanism.exact_epsilon())

    def worst_pair(self) -> tuple[int, int]:
        """See `HistogramEncoding`."""
        return self.mechanism.worst_pair()

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """See the class; shape of `epsilon`, nats, >= 0."""
        asked = levels(epsilon)
        return np.array([self._delta_at(float(level)) for level in asked.flat]).reshape(asked.shape)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the numbers y, unrounded, at the value x; broadcasts; -inf off the grid."""
        return self.mechanism.log_prob_of(y, x, self.noise)

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """See `HistogramEncoding`."""
        return self.mechanism.mean(x)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """The grid's, for each number."""
        return np.asarray(self.noise.variance(self.mean(x)))

    def draw(self, x: Any, source: Source) -> Any:
        """k numbers for each value."""
        xp, k = source.xp, self.mechanism.mechanism.k
        values = xp.astype(values_of(x, k, xp), xp.int64)
        ones = values[..., None] == source.constant(np.arange(k), xp.int64)
        return self.noise.draw(xp.astype(ones, xp.float64), source)

    def _delta_at(self, level: float) -> float:
        shift, width = self.noise.shift(), self.noise.width()
        if math.isinf(level) or Fraction(level) * width >= 2 * shift:
            return 0.0
        last = math.ceil(shift - Fraction(level) * width / 2) - 1
        q, r = math.exp(-1 / width), -math.expm1(-1 / width)
        first = math.exp(-(last + 1) / width) * (2 + q + last * r)
        second = math.exp(float(Fraction(level) - Fraction(2 * shift - last, width))) * (1 + last * r)
        return max(0.0, 1 - (first + second) / (1 + q) ** 2)
