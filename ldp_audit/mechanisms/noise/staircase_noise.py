"""Staircase noise: of all additive noise of a pure epsilon, the one of least expected size, or of least variance.

Definition: x is reported as x plus noise of density c t**-m where its size, in sensitivities, lies from m - 1 + gamma
to m + gamma, for whole m >= 0; t = e**epsilon. So there is a plateau of half-width gamma, and steps of width 1 beside.

Loss. Of two inputs D apart, D the sensitivity, the size of the noise differs by D at most, so m differs by 1 at most:
the loss is epsilon, 0 or -epsilon, and epsilon at all reports behind the first input. Nearer inputs have less: the
density falls with the size of the noise, so a report counts in delta, the integral of (p - e**e q)_+, only where it is
nearer to the first input, and there q falls as the second input moves away.

The noise is not the combinations of Kairouz, Oh and Viswanath that `Staircase` is the base of.

Source: Geng, Kairouz, Oh, Viswanath, "The staircase mechanism in differential privacy" (IEEE Journal of Selected Topics
in Signal Processing 9(7), 2015); Theorem 3 for the gamma of least expected size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from flint import arb, ctx, fmpq, fmpz
from numpy.typing import ArrayLike, NDArray
from sympy import Integer, Sum, exp, oo

from ldp_audit.losses.discrete_loss import symmetric_loss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.finite_precision import FinitePrecisionNoise
from ldp_audit.mechanisms.inputs import finite, numbers_of, single
from ldp_audit.mechanisms.mechanism import SENSITIVITY, AdditiveNoise, FamilyExample, Losses, Parameter
from ldp_audit.mechanisms.noise.laplace_noise import either_sign, geometric, quotient_above
from ldp_audit.mechanisms.noise.noise_grid import NoiseGrid, floor_log2, require_moderate
from ldp_audit.mechanisms.randomness import BITS, WORDS, NumpySource, Source
from ldp_audit.mechanisms.variable import EPSILON, Variable
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights
from ldp_audit.numerics import between

_GAMMA, _M = Variable("g", 0, 1, latex=r"\gamma"), Variable("m", 1, oo, integer=True)
_D, _FALL = SENSITIVITY.variable, exp(-_M * EPSILON)
_HEIGHT = 1 / (2 * _GAMMA * _D + 2 * _D * Sum(_FALL, (_M, 1, oo)))

STAIRCASE_NOISE = SymbolicWeights(
    "staircase noise",
    [
        OutputClass("the plateau around the input", 2 * _GAMMA * _D, _HEIGHT),
        OutputClass("the two steps m, on either side", 2 * _D, _HEIGHT * _FALL, (_M, Integer(1), oo)),
    ],
)

_LARGEST = 700
"""Beyond this epsilon heights leave the range of floats."""
_MOST_STEPS = 10_000
"""The most steps on a side that are listed as places where the density jumps."""


@dataclass(frozen=True, repr=False)
class StaircaseNoise(AdditiveNoise):
    """x + noise whose density falls by e**-epsilon from step to step; inputs differ by at most `sensitivity`.

    Inputs may be numbers or arrays; each number gets independent noise, and the profile is that of one number. (Arrays
    may lose epsilon in each coordinate that differs, however little.) A sample has the shape and floating dtype of the
    input; ValueError for inputs 2**29 sensitivities or more from 0, 2**13 for a large epsilon.

    epsilon: nats, > 0, at most 700.   sensitivity, replaced: see `AdditiveNoise`.
    gamma: the plateau's half-width in sensitivities, 0 .. 1; None for that of the least expected size, 1/(1 +
        e**(epsilon/2)). Raises ValueError for anything else.
    """

    epsilon: float
    sensitivity: float = 1.0
    gamma: float | None = None
    replaced: float | None = None

    parameters = (Parameter("epsilon", Variable("epsilon", 0, _LARGEST, open="left"), typical=(0.1, 10.0)), SENSITIVITY)
    mirrored = True
    smooth: ClassVar[bool] = False
    example = FamilyExample(
        "StaircaseNoise(epsilon=1)",
        "m: a step; g: half the plateau's width, in sensitivities D; neighbours lie within D",
        worst=((0, {}), (1, {"index": "first"})),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma is not None:
            found = between(self.gamma, "gamma", "a number in [0, 1], or None", lambda one: 0 <= one <= 1)
            object.__setattr__(self, "gamma", found)

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in D, gamma and epsilon; counts are lengths, and probabilities densities."""
        return STAIRCASE_NOISE

    def plateau(self) -> float:
        """gamma."""
        half = math.exp(-self.epsilon / 2)
        return half / (1 + half) if self.gamma is None else self.gamma

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon."""
        return self.epsilon

    def losses(self) -> Losses:
        """epsilon, behind the first input and on its plateau beside that of the second; and 0 in the middle."""
        gamma = self.plateau()
        beside = self._height() * min(gamma, 1 - gamma)
        middle = self._height() * abs(1 - 2 * gamma) * (math.exp(-self.epsilon) if gamma < 0.5 else 1.0)
        return Losses([self.epsilon], [math.log(0.5 + beside)], middle)

    def pair_loss(self) -> PairLoss:
        """See base."""
        return self.moved(self.sensitivity)

    def moved(self, distance: float) -> PairLoss:
        """See `AdditiveNoise`. At n + r sensitivities the loss is (n or n + 1) epsilon behind the first input."""
        apart, gamma, b = distance / self.sensitivity, self.plateau(), math.exp(-self.epsilon)
        steps, rest = int(apart), apart % 1
        more = self._height() * (min(rest, gamma) + rest * b / -math.expm1(-self.epsilon))
        masses = {steps: 0.5 - more, steps + 1: more}
        ends = [end for k in range(steps + 1) for end in (k + gamma, apart - k - gamma) if 0 < end < apart / 2]
        for low, high in pairwise(sorted({0.0, *ends, apart / 2})):
            near = self._step((low + high) / 2)
            gained = int(self._step(apart - (low + high) / 2) - near)
            masses[gained] = masses.get(gained, 0.0) + self._height() * math.exp(-self.epsilon * near) * (high - low)
        kept = {gained: mass for gained, mass in masses.items() if gained > 0 and mass > 0}
        zero = 2 * masses.get(0, 0.0)  # and as much on the other side of the middle
        return symmetric_loss([k * self.epsilon for k in kept], [math.log(mass) for mass in kept.values()], rest=zero)

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts."""
        size = np.abs(finite("y", y) - finite("x", x)) / self.sensitivity
        return (math.log(self._height() / self.sensitivity) - self.epsilon * self._step(size))[()]

    def breakpoints(self, x: Any) -> list[float] | None:
        """The ends of the steps; see base. None for a small epsilon, whose steps are too many."""
        center, count = single(x, self), math.ceil(30 / self.epsilon) + 1
        if count > _MOST_STEPS:
            return None
        ends = self.sensitivity * (np.arange(count) + self.plateau())
        return np.unique(np.concatenate([center - ends, center + ends])).tolist()

    def mean_size(self) -> float:
        """E|noise|; sensitivity e**(epsilon/2)/(e**epsilon - 1) for the default gamma, the least of all."""
        b, lacking, gamma = math.exp(-self.epsilon), -math.expm1(-self.epsilon), self.plateau()
        steps = b * (b / lacking + gamma + 0.5)
        return self.sensitivity * (lacking * gamma * gamma / 2 + steps) / self._mixed()

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The sum over the steps of their integrals of z**2, in closed form; shape of x."""
        b, lacking, gamma = math.exp(-self.epsilon), np.float64(-math.expm1(-self.epsilon)), self.plateau()
        with np.errstate(over="ignore", divide="ignore"):  # infinity for the least epsilons
            squares = b * (1 + b) / lacking**2 + (2 * gamma + 1) * b / lacking + gamma * gamma + gamma + 1 / 3
            found = (lacking * gamma**3 / 3 + b * squares) / self._mixed() * self.sensitivity**2
        return np.full_like(finite("x", x), found)[()]

    def implemented(self, bits: int = 64) -> StaircaseGrid:
        """The finite-precision distribution of `sample`: a staircase on a grid of 2**32 points a sensitivity or more.

        bits: 2..64, without effect, as all decisions are exact. Raises ValueError for other bits, for an epsilon
            below 2**-20, and where the sensitivity lies outside 2**-500 .. 2**500.
        """
        BITS.check(bits)
        return StaircaseGrid.of(self)

    def _height(self) -> float:
        """The density around 0, times the sensitivity."""
        return -math.expm1(-self.epsilon) / (2 * self._mixed())

    def _mixed(self) -> float:
        """gamma + (1 - gamma) b, b = e**-epsilon: the mass of the first sensitivity, over the height and 2."""
        b, gamma = math.exp(-self.epsilon), self.plateau()
        return gamma + (1 - gamma) * b

    def _step(self, size: Any) -> Any:
        """m, of sizes in sensitivities."""
        return np.maximum(np.ceil(size - self.plateau()), 0.0)


_FINE, _FINEST = 32, 48
"""log2 of the usual number of spacings in a sensitivity, and of the largest."""


@dataclass(frozen=True)
class StaircaseGrid(FinitePrecisionNoise):
    """The finite-precision staircase noise: z spacings with a probability proportional to e**(-m s/t).

    m is 0 for |z| < G, and else 1 more than the quotient of |z| - G and M. M is the sensitivity in spacings, rounded
    up, and G = gamma M, rounded, 1 .. M. The spacing is a power of two, and inputs are rounded to it at random
    (`noise_grid.py`); s/t is epsilon, rounded down. So the losses of two inputs are -s/t, 0 and s/t.

    Let r = e**(-s/t). With the probability c = G/(G + M r/(1 - r)) a draw of |z| is uniform on 0 .. G - 1, and else it
    is G + M A + B, with P(A >= a) = r**a and B uniform on 0 .. M - 1; the sign is uniform, and -0 is redrawn. A uniform
    real number is compared with c, by 64 bits and by more where these are those of c.

    mechanism: the ideal one.   exponent: a whole number in -600 .. 600; the spacing is 2**exponent.
    Raises ValueError for a sensitivity of more than 2**49 spacings, and as `StaircaseNoise.implemented`.
    """

    mechanism: StaircaseNoise
    exponent: int
    mirrored: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_moderate("sensitivity", self.mechanism.sensitivity)
        if self.mechanism.epsilon < 2.0**-20:
            raise ValueError(f"epsilon must be at least 2**-20 to be sampled, got {self.mechanism.epsilon!r}")
        if self.steps() > 2 ** (_FINEST + 1):
            raise ValueError(f"exponent must give at most 2**{_FINEST + 1} spacings, got {self.exponent!r}")

    @classmethod
    def of(cls, mechanism: StaircaseNoise) -> StaircaseGrid:
        """The grid with 2**32 to 2**33 points a sensitivity, up to 2**49 for the small plateaus of a large epsilon."""
        require_moderate("sensitivity", mechanism.sensitivity)
        fine = min(_FINEST, _FINE + int(min(mechanism.epsilon, 100.0) / math.log(4)))
        return cls(mechanism, floor_log2(mechanism.sensitivity) - fine)

    def grid(self) -> NoiseGrid:
        """The possible reports."""
        return NoiseGrid(self.exponent)

    def steps(self) -> int:
        """M."""
        return math.ceil(Fraction(self.mechanism.sensitivity) / self.grid().spacing())

    def plateau(self) -> int:
        """G."""
        return min(max(round(Fraction(self.mechanism.plateau()) * self.steps()), 1), self.steps())

    def quotient(self) -> tuple[int, int]:
        """t and s: s/t <= epsilon in exact arithmetic."""
        return quotient_above(math.nextafter(1 / self.mechanism.epsilon, math.inf))

    def exact_epsilon(self) -> float:
        """s/t, nats, at most the mechanism's: tight for numbers M spacings apart, an upper bound for nearer ones."""
        t, s = self.quotient()
        return s / t

    def losses(self) -> Losses:
        """Of two points M spacings apart, which bounds those of nearer numbers; as `StaircaseNoise.losses`."""
        whole, flat, middle = self.steps(), self.plateau(), self._middle()
        beside = (1 + middle) / 2 + middle * min(flat - 1, whole - flat)
        rest = middle * (2 * flat - 1 - whole if 2 * flat > whole else (whole + 1 - 2 * flat) * self._ratio())
        return Losses([self.exact_epsilon()], [math.log(beside)], rest)

    def worst_pair(self) -> tuple[float, float]:
        """Two inputs M spacings apart."""
        return 0.0, math.ldexp(self.steps(), self.exponent)

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y, unrounded, at the input x, nats; broadcasts; -inf off the grid."""
        (step, known), (below, fraction) = self.grid().step_of(y), self.grid().between(x)
        near, other = (self._log_mass(step - below - k) for k in (0, 1))
        with np.errstate(divide="ignore"):
            found = np.logaddexp(np.log1p(-fraction) + near, np.log(fraction) + other)
        return np.where(known, found, -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x, to 2**-53 spacings. Shape of x."""
        self.grid().between(x)
        return numbers_of("x", x).astype(np.float64)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """g**2 (V + f (1 - f)), V that of the noise, f the fraction of x above its grid point. Shape of x."""
        fraction, r, lacking = self.grid().between(x)[1], self._ratio(), self._lacking()
        whole, flat = float(self.steps()), float(self.plateau())
        sums = 1 / lacking, r / lacking**2, r * (1 + r) / lacking**3  # of r**n, n r**n, n**2 r**n
        first = flat * flat * sums[0] + 2 * flat * whole * sums[1] + whole * whole * sums[2]
        second = flat * sums[0] + whole * sums[1]
        last = (whole - 1) * (2 * whole - 1) / 6 * sums[0]
        side = (flat - 1) * flat * (2 * flat - 1) / 6 + r * whole * (first + (whole - 1) * second + last)
        noise = 2 * self._middle() * side
        return ((noise + fraction * (1 - fraction)) * math.ldexp(1.0, self.exponent) ** 2)[()]

    def draw(self, x: Any, source: Source) -> Any:
        """One report per number."""
        steps = self.grid().rounded(x, source)
        noise = either_sign(lambda count: self._sizes(count, source), steps.shape, source)
        return self.grid().reports(steps + noise, x, source.xp)

    def _sizes(self, count: int, source: Source) -> Any:
        (t, s), inner = self.quotient(), source.below(self.plateau(), (count,))
        steps, within = geometric(t, count, source, s), source.below(self.steps(), (count,))
        return self.size_of(self._on_plateau(count, source), inner, steps, within, source.xp)

    def size_of(self, plateau: Any, inner: Any, steps: Any, within: Any, xp: Any = NumpySource.xp) -> Any:
        """Cells from the input: `inner` on the plateau, else `within` the step of so many steps beyond it."""
        return xp.where(plateau, inner, self.plateau() + self.steps() * steps + within)

    def _on_plateau(self, count: int, source: Source) -> Any:
        """True with probability c exactly; shape (count,)."""
        words, bits = source.words((count,)), 64
        first = _first_bits(*self.quotient(), self.steps(), self.plateau(), bits)
        found = words < first - WORDS // 2
        for at in source.xp.nonzero(words == first - WORDS // 2)[0].tolist():
            value = first
            while value == _first_bits(*self.quotient(), self.steps(), self.plateau(), bits):
                value, bits = value * WORDS + int(source.words(())) + WORDS // 2, bits + 64
            found[at] = value < _first_bits(*self.quotient(), self.steps(), self.plateau(), bits)
            bits = 64
        return found

    def _ratio(self) -> float:
        return math.exp(-self.exact_epsilon())

    def _lacking(self) -> float:
        return -math.expm1(-self.exact_epsilon())

    def _middle(self) -> float:
        """The probability of no noise."""
        return 1 / (2 * self.plateau() - 1 + 2 * self.steps() * self._ratio() / self._lacking())

    def _log_mass(self, noise: NDArray[np.int64]) -> NDArray[np.float64]:
        step = np.maximum((np.abs(noise) - self.plateau()) // self.steps() + 1, 0)
        return math.log(self._middle()) - self.exact_epsilon() * step


@lru_cache(maxsize=64)
def _first_bits(t: int, s: int, whole: int, flat: int, bits: int) -> int:
    """The first bits of c = G (1 - r)/(G (1 - r) + M r), as a whole number."""
    precision = bits + 128
    while True:
        with ctx.workprec(precision):
            r = arb(fmpq(-s, t)).exp()
            found = (flat * (1 - r) / (flat * (1 - r) + whole * r) * fmpz(2) ** bits).floor().unique_fmpz()
        if found is not None:
            return int(found)
        precision *= 2
