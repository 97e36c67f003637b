"""Gaussian noise: the classical additive mechanism for inputs that differ by at most a sensitivity in l2.

Definition: the input x is reported as x plus normal noise of mean 0 and standard deviation sigma.

Source: Balle, Wang, "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018), Theorem 8 (the profile).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import ArrayLike, NDArray
from sympy import exp, oo, pi, sqrt

from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.finite_precision import AliasTable, FinitePrecision
from ldp_audit.mechanisms.hockey_stick import Doubled, doubled, hockey_stick
from ldp_audit.mechanisms.inputs import finite, numbers_of, single
from ldp_audit.mechanisms.laplace import INPUT, SENSITIVITY
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import Example, Mechanism
from ldp_audit.mechanisms.noise_grid import NoiseGrid, floor_log2, require_moderate
from ldp_audit.mechanisms.parameter import Parameter
from ldp_audit.mechanisms.randomness import BITS, Source
from ldp_audit.mechanisms.variable import Variable

SIGMA = Variable("sigma", 0, oo, open="left", latex=r"\sigma")

GAUSSIAN = SymbolicChannel(
    "Gaussian mechanism",
    inputs=INPUT,
    public=SIGMA,
    pieces=[(-oo, oo, exp(-((OUTPUT - INPUT) ** 2) / (2 * SIGMA**2)) / (SIGMA * sqrt(2 * pi)))],
)


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """x + noise of standard deviation sigma; inputs differ by at most `sensitivity` in l2.

    Inputs may be numbers or arrays: each coordinate gets noise of its own. The profile is then that of the whole array,
    provided that `sensitivity` bounds the l2 distance of whole arrays; that is the user's statement. A sample has the
    shape and floating dtype of the numbers; ValueError, with the range, for those beyond 2**17 sigma or more from 0.
    Its delta at levels from 0 to 20, for two numbers, is at most 1e-13 above the ideal one (3e-9 for a sensitivity
    below sigma / 4096).

    sigma, sensitivity: > 0, finite. Raises ValueError for anything else.
    """

    sigma: float
    sensitivity: float = 1.0

    parameters = (Parameter("sigma", SIGMA, typical=(0.1, 10.0)), SENSITIVITY)
    example = Example(
        "Gaussian(sigma=1)",
        "x: the input; sigma: the standard deviation",
    )

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x and sigma."""
        return GAUSSIAN

    def exact_epsilon(self) -> float:
        """No pure epsilon holds: infinity."""
        return math.inf

    def pair_loss(self) -> PairLoss:
        """See base."""
        return GaussianLoss(self.sensitivity / self.sigma)

    def worst_pair(self) -> tuple[float, float]:
        """Two inputs a whole sensitivity apart."""
        return 0.0, self.sensitivity

    def domain(self) -> tuple[float, float]:
        """An interval as long as the sensitivity, around 0."""
        return -self.sensitivity / 2, self.sensitivity / 2

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Phi(m/2 - e/m) - e**e Phi(-m/2 - e/m), m = sensitivity/sigma; shape of `epsilon`, nats, >= 0.

        By `GaussianLoss`, without the cancellation of the two terms. What is below the smallest float is 0.
        """
        asked, loss = levels(epsilon), self.pair_loss()
        logs = [loss.log_delta_bounds(float(level))[0] for level in asked.flat]
        return np.exp(np.reshape(logs, asked.shape))[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts."""
        z = (finite("y", y) - finite("x", x)) / self.sigma
        return (-(z**2) / 2 - math.log(self.sigma) - math.log(2 * math.pi) / 2)[()]

    def breakpoints(self, x: Any) -> list[float]:
        """The input, and two, five and nine standard deviations from it."""
        return [single(x, self) + self.sigma * away for away in (-9.0, -5.0, -2.0, 0.0, 2.0, 5.0, 9.0)]

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


_REACH, _PRECISION = 12, 320


@dataclass(frozen=True)
class GaussianGrid(FinitePrecision):
    """Gaussian noise as it is sampled: a table of whole words on a grid that does not depend on the input.

    The grid's spacing g is about sigma / 1024 for words of 64 bits, and the sensitivity a whole number of spacings, if
    it is not less than one (`noise_grid.py` says how inputs are rounded). Of W = 2**bits equally likely words, those
    that lead to a noise of k spacings number the normal law's mass of the cell ((k - 1/2) g, (k + 1/2) g) times W,
    rounded up, for 1 <= |k| <= K; the words that are left lead to 0. K is so large (12 sigma) that what lies beyond
    counts for nothing.

    Rounding the mass of each cell up, but for the middle one, is what keeps delta down. The cells of two normal laws
    are a function of two normal reports, so their hockey-stick divergence is at most the ideal one. The divergence of
    the tables is a sum over cells of (P - t Q)_+, and P in words has grown by less than 1 in each, while t Q is at
    least what it was; but for the middle cell of Q, where P <= Q. So delta grows by at most (2 K + 1) / W, about
    2**-49, and by what lies beyond K.

    mechanism: the ideal one.   grid: what reports lie on.   bits: of a word, 2..64.
    Raises ValueError for bits outside 2..64, for a spacing outside sigma / 8192 .. 8 sigma or too fine for words of so
    many bits, and for a mechanism whose sigma or sensitivity lies outside 2**-500 .. 2**500.
    """

    mechanism: Gaussian
    grid: NoiseGrid
    bits: int = 64

    def __post_init__(self) -> None:
        require_moderate("sigma", self.mechanism.sigma)
        require_moderate("sensitivity", self.mechanism.sensitivity)
        object.__setattr__(self, "bits", BITS.check(self.bits))
        if not Fraction(1, 8) <= self.width() <= 8192 or _counts(self.width(), self.bits) is None:
            raise ValueError(f"grid must have a spacing as documented, got {self.grid!r} for {self.mechanism!r}")

    @classmethod
    def of(cls, mechanism: Gaussian, bits: int = 64) -> GaussianGrid:
        """The grid with about 2**(bits // 6) points a sigma; coarser where the words do not suffice.

        A sensitivity is a whole number of spacings, but for a 2**-31th, or else less than one.
        """
        require_moderate("sigma", mechanism.sigma)
        require_moderate("sensitivity", mechanism.sensitivity)
        bits = int(BITS.check(bits))
        fineness = bits // 6
        while _counts(Fraction(mechanism.sigma) / (grid := _grid(mechanism, fineness)).spacing(), bits) is None:
            fineness -= 1
        return cls(mechanism, grid, bits)

    def width(self) -> Fraction:
        """Sigma in spacings."""
        return Fraction(self.mechanism.sigma) / self.grid.spacing()

    def counts(self) -> tuple[int, ...]:
        """How many words lead to a noise of -K .. K spacings: symmetric, falling from the middle, 2**bits in all."""
        return _counts(self.width(), self.bits) or ()

    def table(self) -> AliasTable:
        """The sampler's table of the counts, for words of 64 bits."""
        return _table(self.width(), self.bits)

    def domain(self) -> tuple[float, float]:
        """The mechanism's."""
        return self.mechanism.domain()

    def exact_epsilon(self) -> float:
        """Infinity: the noise has a largest value."""
        return math.inf

    def worst_pair(self) -> tuple[float, float]:
        """Two inputs a whole sensitivity apart, the first on the grid; delta() has this pair, in both orders."""
        return 0.0, self.mechanism.sensitivity

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The hockey-stick divergence, largest over pairs of numbers a sensitivity apart or less; from the counts.

        shape of `epsilon`, nats, >= 0. For words of 64 bits and levels from 0 to 20 at most 1e-13 above the ideal one,
        or 3e-9 for a sensitivity below sigma / 4096.
        In arrays of d coordinates, rounding can move each by up to a spacing, and distances by sqrt(d) of them: their
        profile is at most that of Gaussian(sigma, sensitivity + sqrt(d) g), + (1 + e**epsilon) d 2**-47.
        """
        asked = levels(epsilon)
        on_grid, between_points = self._pair()
        found = [
            max(_divergence(on_grid, between_points, float(e)), _divergence(between_points, on_grid, float(e)))
            for e in asked.flat
        ]
        return np.array(found, dtype=np.float64).reshape(asked.shape)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability, nats, of the report y at the input x, before its rounding to a dtype; broadcasts.

        -inf for what is no report.
        """
        (step, known), (below, fraction) = self.grid.step_of(y), self.grid.between(x)
        away, law = step - below, np.array([0, *self.counts(), 0], dtype=np.float64) / 2.0**self.bits
        near, other = (law[np.clip(k + len(law) // 2, 0, len(law) - 1)] for k in (away, away - 1))
        with np.errstate(divide="ignore"):
            found = np.log((1 - fraction) * near + fraction * other)
        return np.where(known, found, -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias but the 2**-53 spacings of the rounding. Shape of x."""
        self.grid.between(x)
        return numbers_of("x", x).astype(np.float64)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """g**2 (V + f (1 - f)), V the table's variance, f the fraction that rounding decides on. Shape of x."""
        fraction, counts = self.grid.between(x)[1], self.counts()
        noise = sum(count * (place - len(counts) // 2) ** 2 for place, count in enumerate(counts)) / 2**self.bits
        return ((noise + fraction * (1 - fraction)) * float(self.grid.spacing()) ** 2)[()]

    def draw(self, x: Any, source: Source) -> Any:
        """One report per number."""
        steps = self.grid.rounded(x, source)
        noise = self.table().draw(source, steps.shape) - len(self.counts()) // 2
        return self.grid.reports(steps + noise, x, source.xp)

    def _pair(self) -> tuple[Doubled, Doubled]:
        """The laws of the reports at a grid point, and at a whole sensitivity above it, n + f spacings.

        These two, in one order or the other, are the worst of all. As an input moves from one grid point to the next,
        its law moves on a line, and a divergence is convex in both laws. So the worst pairs are those of two grid
        points, and those of a grid point and an input a whole sensitivity away; by symmetry, above. Two grid points are
        no worse: let p be the table and q its mixture moved by n and n + 1. In the sum of (p(k) - t q(k))_+ only k <= n
        counts, for beyond, p(k) <= p(k - n), p(k - n - 1), as p falls from its middle; and up to there p(k - n) falls
        as n grows. So the sum grows with the distance, from one whole number to the next as well as in between.
        """
        return _laws(self.width(), self.bits, Fraction(self.mechanism.sensitivity) / self.grid.spacing())


def _grid(mechanism: Gaussian, fineness: int) -> NoiseGrid:
    """2**fineness points a sigma, or up to twice as many, that divide the sensitivity; see `GaussianGrid.of`.

    A sensitivity that is less than a spacing, but no less than a quarter, becomes the spacing. Spacings of a quarter
    serve the smallest ones, as then rounding makes the reports' variance depend on the input more than on the table.
    """
    steps = Fraction(mechanism.sensitivity) / Fraction(mechanism.sigma) * Fraction(2) ** fineness
    if steps < Fraction(1, 4):
        return NoiseGrid(floor_log2(mechanism.sigma) - fineness - 2)
    return NoiseGrid.dividing(mechanism.sensitivity, math.ceil(steps))


def _divergence(first: Doubled, second: Doubled, level: float) -> float:
    if math.isinf(level):
        return float(np.where(second[0] == 0, first[0], 0.0).sum())
    return float(hockey_stick(first, second, level))


@lru_cache(maxsize=8)
def _laws(width: Fraction, bits: int, distance: Fraction) -> tuple[Doubled, Doubled]:
    """The tables of two inputs so many spacings apart, the first on the grid, over the same reports."""
    counts = _counts(width, bits) or ()
    whole, part = int(distance), distance % 1
    moved = min(whole, len(counts))  # no further: the laws have no report in common
    first = [*counts, *([0] * (moved + 1))]
    below, above = [*([0] * moved), *counts, 0], [*([0] * (moved + 1)), *counts]
    scale, up = part.denominator, part.numerator
    second = [(scale - up) * one + up * other for one, other in zip(below, above, strict=True)]
    return doubled(first, [2**bits] * len(first)), doubled(second, [scale * 2**bits] * len(second))


@lru_cache(maxsize=8)
def _table(width: Fraction, bits: int) -> AliasTable:
    return AliasTable.of([[count << (64 - bits) for count in _counts(width, bits) or ()]])


@lru_cache(maxsize=64)
def _counts(width: Fraction, bits: int) -> tuple[int, ...] | None:
    """How many of 2**bits words lead to each of -K .. K, for a sigma of so many spacings.

    None where too few are left for the middle: fewer than its neighbours have.
    """
    farthest = math.ceil(_REACH * math.sqrt(bits / 64) * width)
    with ctx.workprec(_PRECISION):
        step = 1 / (arb(fmpq(width.numerator, width.denominator)) * arb(2).sqrt())
        beyond = [((2 * k + 1) * step / 2).erfc() / 2 for k in range(farthest + 1)]
        side = [int(((near - far) * 2**bits).ceil().unique_fmpz()) for near, far in itertools.pairwise(beyond)]
    middle = 2**bits - 2 * sum(side)
    return (*reversed(side), middle, *side) if middle >= side[0] else None
