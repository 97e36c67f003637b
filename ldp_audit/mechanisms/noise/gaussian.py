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

from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.finite_precision import AliasTable, FinitePrecisionNoise
from ldp_audit.mechanisms.hockey_stick import Doubled, doubled, hockey_stick
from ldp_audit.mechanisms.inputs import finite, numbers_of, single
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import INPUT, SENSITIVITY, AdditiveNoise, FamilyExample, Parameter, upper_profile
from ldp_audit.mechanisms.noise.noise_grid import NoiseGrid, floor_log2, require_moderate
from ldp_audit.mechanisms.randomness import BITS, Source
from ldp_audit.mechanisms.variable import Variable

SIGMA = Variable("sigma", 0, oo, open="left", latex=r"\sigma")

GAUSSIAN = SymbolicChannel(
    "Gaussian mechanism",
    inputs=INPUT,
    public=SIGMA,
    pieces=[(-oo, oo, exp(-((OUTPUT - INPUT) ** 2) / (2 * SIGMA**2)) / (SIGMA * sqrt(2 * pi)))],
)


@dataclass(frozen=True, repr=False)
class Gaussian(AdditiveNoise):
    """x + noise of standard deviation sigma; inputs differ by at most `sensitivity` in l2.

    Inputs may be numbers or arrays; each coordinate gets independent noise. For arrays, `sensitivity` must bound the l2
    distance of whole arrays; the profile is then that of the array. A sample has the shape and floating dtype of the
    input; ValueError for inputs 2**17 sigma or more from 0. Its delta at epsilon from 0 to 20, for two numbers, exceeds
    the ideal one by at most 1e-13 (3e-9 for a sensitivity below sigma / 4096).

    sigma: > 0, finite.   sensitivity, replaced: see `AdditiveNoise`. Raises ValueError for anything else.
    """

    sigma: float
    sensitivity: float = 1.0
    replaced: float | None = None

    parameters = (Parameter("sigma", SIGMA, typical=(0.1, 10.0)), SENSITIVITY)
    example = FamilyExample(
        "Gaussian(sigma=1)",
        "x: the input; sigma: the standard deviation",
    )

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x and sigma."""
        return GAUSSIAN

    def exact_epsilon(self) -> float:
        """Infinity: the mechanism has no pure epsilon."""
        return math.inf

    def moved(self, distance: float) -> GaussianLoss:
        """See `AdditiveNoise`."""
        return GaussianLoss(distance / self.sigma)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Phi(m/2 - e/m) - e**e Phi(-m/2 - e/m), m = sensitivity/sigma; shape of `epsilon`, nats, >= 0.

        By `GaussianLoss`, without the cancellation of the two terms. What is below the smallest float is 0.
        """
        return upper_profile(self.pair_loss(), epsilon)

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts."""
        with np.errstate(over="ignore"):  # a density below the least float is 0
            z = (finite("y", y) - finite("x", x)) / self.sigma
            return (-(z**2) / 2 - math.log(self.sigma) - math.log(2 * math.pi) / 2)[()]

    def breakpoints(self, x: Any) -> list[float]:
        """The input, and two, five and nine standard deviations from it."""
        return [single(x, self) + self.sigma * away for away in (-9.0, -5.0, -2.0, 0.0, 2.0, 5.0, 9.0)]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """sigma**2; shape of x."""
        return np.full_like(finite("x", x), self.sigma * self.sigma)[()]

    def implemented(self, bits: int = 64) -> GaussianGrid:
        """The finite-precision distribution of `sample`; ValueError for scales outside 2**-500 .. 2**500, or bits."""
        return GaussianGrid.of(self, bits)


_REACH = 12
"""The table's half-width in sigma, for 64-bit words: the mass beyond is below 2**-100."""

_PRECISION = 320
"""Bits of the cells' masses before they are rounded up to words."""


@dataclass(frozen=True)
class GaussianGrid(FinitePrecisionNoise):
    """The finite-precision Gaussian: noise from a table of word counts, on a grid that does not depend on the input.

    For 64-bit words the spacing g is about sigma / 1024, and the sensitivity a whole number of spacings unless it is
    below one (`noise_grid.py` describes the rounding of inputs). Of W = 2**bits words, the number that lead to a noise
    of k spacings, 1 <= |k| <= K, is W times the normal mass of the cell ((k - 1/2) g, (k + 1/2) g), rounded up; the
    remaining words lead to 0. The mass beyond K (12 sigma) is negligible.

    Rounding all but the middle cell up bounds delta. Cells are post-processing of normal reports, so their hockey-stick
    divergence is at most the ideal one. The tables' divergence is a sum over cells of (P - t Q)_+, where P grows by
    less than one word in each cell, and t Q does not decrease, except in the middle cell of Q, where P <= Q. So delta
    grows by at most (2 K + 1) / W, about 2**-49, plus the mass beyond K.

    mechanism: the ideal one.   grid: the possible reports.   bits: word length, 2..64.
    Raises ValueError for other bits, for a spacing outside sigma / 8192 .. 8 sigma or too fine for `bits`-bit words,
    and for a sigma or sensitivity outside 2**-500 .. 2**500.
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
        """The grid with about 2**(bits // 6) points a sigma; coarser if the words do not suffice.

        A sensitivity of at least one spacing is a whole number of spacings, to a relative 2**-31.
        """
        require_moderate("sigma", mechanism.sigma)
        require_moderate("sensitivity", mechanism.sensitivity)
        bits = int(BITS.check(bits))
        fineness = bits // 6
        while _counts(Fraction(mechanism.sigma) / (grid := _grid(mechanism, fineness)).spacing(), bits) is None:
            fineness -= 1
        return cls(mechanism, grid, bits)

    def width(self) -> Fraction:
        """sigma / g."""
        return Fraction(self.mechanism.sigma) / self.grid.spacing()

    def counts(self) -> tuple[int, ...]:
        """The numbers of words for a noise of -K .. K spacings: symmetric, unimodal, 2**bits in all."""
        return _counts(self.width(), self.bits) or ()

    def table(self) -> AliasTable:
        """The sampler's table, scaled to 64-bit words."""
        return _table(self.width(), self.bits)

    def exact_epsilon(self) -> float:
        """Infinity: the noise is bounded."""
        return math.inf

    def worst_pair(self) -> tuple[float, float]:
        """Two inputs at distance `sensitivity`, the first on the grid; they attain delta(), in one of both orders."""
        return 0.0, self.mechanism.sensitivity

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The privacy profile for numbers up to a sensitivity apart, from the counts; shape of `epsilon`, nats, >= 0.

        With 64-bit words, for epsilon up to 20, it exceeds the ideal one by at most 1e-13 (3e-9 for a sensitivity below
        sigma / 4096). In arrays of d coordinates, rounding moves each coordinate by up to a spacing and distances by up
        to sqrt(d) g: their profile is at most that of Gaussian(sigma, sensitivity + sqrt(d) g), plus (1 + e**epsilon) d
        2**-47.
        """
        asked = levels(epsilon)
        on_grid, between_points = self._pair()
        found = [
            max(_divergence(on_grid, between_points, float(e)), _divergence(between_points, on_grid, float(e)))
            for e in asked.flat
        ]
        return np.array(found, dtype=np.float64).reshape(asked.shape)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y, unrounded, at the input x, nats; broadcasts; -inf off the grid."""
        (step, known), (below, fraction) = self.grid.step_of(y), self.grid.between(x)
        away, table = step - below, np.array([0, *self.counts(), 0], dtype=np.float64) / 2.0**self.bits
        near, other = (table[np.clip(k + len(table) // 2, 0, len(table) - 1)] for k in (away, away - 1))
        with np.errstate(divide="ignore"):
            found = np.log((1 - fraction) * near + fraction * other)
        return np.where(known, found, -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x, to 2**-53 spacings. Shape of x."""
        self.grid.between(x)
        return numbers_of("x", x).astype(np.float64)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """g**2 (V + f (1 - f)), V the table's variance, f the fraction of x above its grid point. Shape of x."""
        fraction, counts = self.grid.between(x)[1], self.counts()
        noise = sum(count * (place - len(counts) // 2) ** 2 for place, count in enumerate(counts)) / 2**self.bits
        return ((noise + fraction * (1 - fraction)) * float(self.grid.spacing()) ** 2)[()]

    def draw(self, x: Any, source: Source) -> Any:
        """One report per number."""
        steps = self.grid.rounded(x, source)
        noise = self.table().draw(source, steps.shape) - len(self.counts()) // 2
        return self.grid.reports(steps + noise, x, source.xp)

    def _pair(self) -> tuple[Doubled, Doubled]:
        """The distributions of the worst pair: a grid point, and the input a sensitivity, n + f spacings, above it.

        Proof. As an input moves from one grid point to the next, its distribution moves on a line, and a divergence is
        jointly convex. So a worst pair is two grid points, or a grid point and an input at distance `sensitivity`,
        above it by symmetry. Two grid points are no worse: let p be the table and q the mixture of its shifts by n and
        n + 1. Only k <= n contribute to the sum of (p(k) - t q(k))_+, as for larger k unimodality gives p(k) <= p(k -
        n), p(k - n - 1); and for k <= n, p(k - n) decreases in n. So the sum increases with the distance.
        """
        return _pair_tables(self.width(), self.bits, Fraction(self.mechanism.sensitivity) / self.grid.spacing())


def _grid(mechanism: Gaussian, fineness: int) -> NoiseGrid:
    """2**fineness points a sigma, or up to twice as many, that divide the sensitivity; see `GaussianGrid.of`.

    A sensitivity between 1/4 and 1 spacing becomes the spacing. For smaller ones the spacing is divided by 4, because
    rounding makes the variance depend on the input.
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
def _pair_tables(width: Fraction, bits: int, distance: Fraction) -> tuple[Doubled, Doubled]:
    """The tables of two inputs at this distance in spacings, the first on the grid, over the same reports."""
    counts = _counts(width, bits) or ()
    whole, part = int(distance), distance % 1
    moved = min(whole, len(counts))  # beyond this the supports are disjoint anyway
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
    """The word counts of a noise of -K .. K spacings; None where the middle would get fewer than its neighbours."""
    farthest = math.ceil(_REACH * math.sqrt(bits / 64) * width)
    with ctx.workprec(_PRECISION):
        step = 1 / (arb(fmpq(width.numerator, width.denominator)) * arb(2).sqrt())
        beyond = [((2 * k + 1) * step / 2).erfc() / 2 for k in range(farthest + 1)]
        side = [int(((near - far) * 2**bits).ceil().unique_fmpz()) for near, far in itertools.pairwise(beyond)]
    middle = 2**bits - 2 * sum(side)
    return (*reversed(side), middle, *side) if middle >= side[0] else None
