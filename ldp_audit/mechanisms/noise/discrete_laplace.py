"""Discrete Laplace noise on whole numbers, the geometric mechanism; also truncated, with its ends as atoms.

Definition: the whole number x is reported as x + z, where P(z) = (1 - a)/(1 + a) a**|z| for whole z and a = e**(-1/b).
The truncated mechanism reports what is below its range as the lower end, and what is above as the upper end.

Loss. Of the inputs 0 and d, the report y has the loss (|y - d| - |y|)/b: d/b at all y <= 0, with probability 1/(1 + a)
in all; (d - 2 k)/b at y = k in between; -d/b at all y >= d. Clamping to a range that holds both inputs merges reports
of one loss only, so it changes no loss: the truncated mechanism's epsilon and delta are those of the noise alone, for
inputs as far apart as the sensitivity and the range allow. Inputs that are nearer have less, as the noise is log-
concave.

Sampling rounds the scale up to a quotient t/s of few digits, which costs no privacy. The noise has the characteristic
function f(a) = (1 - a)**2/(1 + a**2 - 2 a cos). For a' > a, as (1 + a**2)/a decreases,

    f(a')/f(a) = p + (1 - p) f(a'),   p = (1 - a')**2 a/((1 - a)**2 a') in (0, 1).

So noise of the wider scale is that of the narrower one plus an independent number, which is 0 with probability p and
else noise of the wider scale: a post-processing of the report.

Sources: Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms" (STOC 2009), for the
noise and for the truncated mechanism; Canonne, Kamath, Steinke (NeurIPS 2020), Algorithm 2, for the sampler.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Abs, exp

from ldp_audit.losses.discrete_loss import symmetric_loss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.inputs import numbers_of, whole_numbers
from ldp_audit.mechanisms.mechanism import FamilyExample, Losses, Parameter
from ldp_audit.mechanisms.noise.integer_noise import MOST_INPUT, STEPS, IntegerNoise
from ldp_audit.mechanisms.noise.laplace import SCALE
from ldp_audit.mechanisms.noise.laplace_noise import discrete_laplace, quotient_above
from ldp_audit.mechanisms.randomness import BITS, Source
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.numerics import whole

_LEAST = 1e-290
"""The least scale, for which quotients by it are floats."""
_FEW = 1e-5
"""The steps, in scales, below which three powers give a sum to 1e-15 of itself."""


@dataclass(frozen=True, repr=False)
class DiscreteLaplace(IntegerNoise):
    """x + z, with P(z) proportional to e**(-|z|/scale), for whole numbers x; clamped to lower .. upper where given.

    Each number of an array gets independent noise; the array's pure epsilon is that of one number if `sensitivity`
    bounds the l1 distance of whole arrays.

    scale: 1e-290 or more, finite.   sensitivity, replaced: see `IntegerNoise`.
    lower, upper: whole numbers of size at most 2**53, lower < upper, or None for no clamping at this end. Inputs lie
        between them. Raises ValueError for anything else.
    """

    scale: float
    sensitivity: int = 1
    lower: int | None = None
    upper: int | None = None
    replaced: int | None = None

    parameters = (Parameter("scale", SCALE, typical=(0.1, 10.0)), STEPS)
    mirrored = True
    example = FamilyExample(
        "DiscreteLaplace(scale=1)",
        "x: the input, one of two neighbours, 0 and 1; b: the scale; reports below 0 count as 0, those above 1 as 1",
        worst=((0, {"x": 0}), (0, {"x": 1})),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale < _LEAST:
            raise ValueError(f"scale must be at least {_LEAST!r}, got {self.scale!r}")
        for name, end in (("lower", self.lower), ("upper", self.upper)):
            if end is not None:
                object.__setattr__(self, name, whole(end, name, -MOST_INPUT, MOST_INPUT))
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ValueError(f"lower must be less than upper, got lower={self.lower!r}, upper={self.upper!r}")

    @property
    def any_pair(self) -> bool:
        """See base: not where the stated range is longer than `replaced`, as inputs may then be farther apart."""
        return math.isinf(self._length()) or self._length() <= (self.replaced or self.sensitivity)

    def symbolic(self) -> SymbolicChannel:
        """The definition on the range, in x and the scale b; without a range, clamped to the inputs of the worst pair.

        By the module's docstring clamping merges reports of one loss.
        """
        low, high = self._range() if math.isfinite(self._length()) else self.worst_pair()
        x, ratio = Variable("x", int(low), int(high), integer=True), exp(-1 / SCALE)
        inner = [(y, (1 - ratio) / (1 + ratio) * exp(-Abs(y - x) / SCALE)) for y in range(int(low) + 1, int(high))]
        first, last = ((int(end), exp(-away / SCALE) / (1 + ratio)) for end, away in ((low, x - low), (high, high - x)))
        return SymbolicChannel("discrete Laplace noise", inputs=x, public=SCALE, atoms=[first, *inner, last])

    def losses(self) -> Losses:
        """Those of two inputs as far apart as sensitivity and range allow; see the module's docstring."""
        return self._losses(self.sensitivity)

    def blanket(self) -> Blanket | None:
        """See base; clamping at an end of the inputs leaves the reports beyond it as they are: of one ratio."""
        apart = min(self.replaced or self.sensitivity, self._length())
        return Blanket.of_discrete_laplace(self.scale, int(apart))

    def moved(self, distance: float) -> PairLoss:
        """See `AdditiveNoise`."""
        found = self._losses(distance)
        return symmetric_loss(found.positive, found.log_probs, rest=found.rest)

    def worst_pair(self) -> tuple[int, int]:
        """Two inputs at distance `sensitivity`, or at the ends of a shorter range."""
        apart = int(min(self.sensitivity, self._length()))
        if self.lower is None and self.upper is not None:
            return self.upper - apart, self.upper
        return self.lower or 0, (self.lower or 0) + apart

    def domain(self) -> tuple[float, float]:
        """The range, or the interval between the inputs of the worst pair."""
        return self._range() if math.isfinite(self._length()) else super().domain()

    def reports(self) -> Sequence[int] | None:
        """See base: lower .. upper, where both are given."""
        return None if self.lower is None or self.upper is None else range(self.lower, self.upper + 1)

    def reach(self) -> int:
        """See `IntegerNoise`: 40 scales."""
        return math.ceil(40 * self.scale) + 1

    def log_mass(self, away: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `IntegerNoise`; |z|/scale keeps its digits beside the constant."""
        return math.log(math.tanh(0.5 / self.scale)) - np.abs(away) / self.scale

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at x, nats; broadcasts; -inf off the whole numbers and off the range."""
        found, given, (low, high) = super().log_prob(y, x), numbers_of("y", y).astype(np.float64), self._range()
        tail = math.log1p(math.exp(-1 / self.scale))
        for end in (low, high):
            if math.isfinite(end):
                found = np.where(given == end, -np.abs(self._whole(x) - end) / self.scale - tail, found)
        return np.where((given < low) | (given > high), -np.inf, found)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x + (a**(x - lower + 1) - a**(upper - x + 1))/(1 - a**2), a = e**(-1/scale): x without a range."""
        center = self._whole(x)
        return (center + self._bias(center))[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """2 a/(1 - a)**2, a = e**(-1/scale), without a range; shape of x.

        With one, E[min(z, u)**2; z > 0] is the sum over j = 1 .. u of (2 j - 1) P(z >= j), for u = upper - x, and for u
        = x - lower likewise; right to 1e-10 of itself.
        """
        center, (low, high) = self._whole(x), self._range()
        return (self._squares(center - low) + self._squares(high - center) - self._bias(center) ** 2)[()]

    def implemented(self, bits: int = 64) -> DiscreteLaplace:
        """The distribution of `sample`: this one, at a scale that is rounded up to 51 digits (2**-50 of itself).

        bits: 2..64, without effect, as all decisions are exact. Raises ValueError for other bits, and for a scale
            outside 2**-30 .. 2**52.
        """
        BITS.check(bits)
        t, s = quotient_above(self.scale)
        return replace(self, scale=t / s)

    def noise(self, shape: tuple[int, ...], source: Source) -> Any:
        """See `IntegerNoise`; at the scale of `implemented()`."""
        t, s = quotient_above(self.scale)
        return discrete_laplace(t, shape, source, s)

    def draw(self, x: Any, source: Source) -> Any:
        """See base; clamped to the range."""
        drawn = super().draw(x, source)
        if self.lower is not None:
            drawn = source.xp.where(drawn < self.lower, self.lower, drawn)
        return drawn if self.upper is None else source.xp.where(drawn > self.upper, self.upper, drawn)

    def checked(self, x: Any, xp: Any) -> Any:
        """See base; within the range."""
        low = -MOST_INPUT if self.lower is None else self.lower
        return whole_numbers("x", x, low, MOST_INPUT if self.upper is None else self.upper, xp)

    def _range(self) -> tuple[float, float]:
        """The ends, infinite where there are none."""
        return (
            -math.inf if self.lower is None else float(self.lower),
            math.inf if self.upper is None else float(self.upper),
        )

    def _length(self) -> float:
        low, high = self._range()
        return high - low

    def _losses(self, distance: float) -> Losses:
        apart = int(min(distance, self._length()))
        k = np.arange(0.0, (apart + 1) // 2)
        log_masses = self.log_mass(k)
        log_masses[0] = -math.log1p(math.exp(-1 / self.scale))
        rest = math.exp(float(self.log_mass(np.array(apart / 2)))) if apart % 2 == 0 else 0.0
        return Losses((apart - 2 * k) / self.scale, log_masses, rest)

    def _bias(self, center: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = self._range()
        if self.lower is None and self.upper is None:
            return np.zeros_like(center)
        below, above = center - low, high - center
        nearer = np.exp(-(np.minimum(below, above) + 1) / self.scale)
        away = -np.expm1(-np.abs(above - below) / self.scale) / -math.expm1(-2 / self.scale)
        return np.sign(above - below) * nearer * away

    def _squares(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over j = 1 .. steps of (2 j - 1) a**j, divided by 1 + a; by its powers where terms would cancel."""
        ratio, lacking = math.exp(-1 / self.scale), np.float64(-math.expm1(-1 / self.scale))
        n, left = np.where(np.isfinite(steps), steps, 0.0), np.exp(-steps / self.scale)
        first, second, third = n * (n + 1) / 2, n * (n + 1) * (2 * n + 1) / 6, (n * (n + 1) / 2) ** 2
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            few = n * n - ((2 * second - first) - (2 * third - second) / (2 * self.scale)) / self.scale
            many = ratio * (1 + ratio) / lacking**2 * -np.expm1(-steps / self.scale) - 2 * ratio / lacking * n * left
        return np.where(steps < _FEW * self.scale, few, many) / (1 + ratio)
