"""Duchi's mechanism for vectors as it is sampled: a whole number of words for the rarer side, then a uniform corner.

Of W = 2**bits equally likely words, R lead to the rarer side of v, the corners y.v <= 0, the others to the side of v.
R is rounded up, so that the ratio of one corner's probabilities on the two sides, which is the implemented epsilon, is
at most the mechanism's. Where no whole number keeps that ratio at 1 or above (few words, or a tiny epsilon) the corner
is uniform over all, whatever the input.

The corner on the side is uniform without bias: one of all corners is drawn, and turned to its opposite or drawn again
if it lies on the other side. The corner v that the input is rounded to is no private decision, and takes 53 bits a
coordinate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import as_reports, vectors
from ldp_audit.mechanisms.log_space import excess, levels
from ldp_audit.mechanisms.randomness import BITS, Source, log_ratio, occurs, rarer_words, source_of

if TYPE_CHECKING:
    from ldp_audit.mechanisms.duchi_vector import DuchiVector


@dataclass(frozen=True)
class DuchiVectorWords:
    """What `DuchiVector.sample` draws from, exactly.

    mechanism: whose probabilities are rounded; not the printed form.   bits: of a word, 2..64.
    Raises ValueError for anything else.
    """

    mechanism: DuchiVector
    bits: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", BITS.check(self.bits))
        if self.mechanism.printed:
            raise ValueError("the printed form is not sampled; use DuchiVector(epsilon, d)")

    def rarer(self) -> int | None:
        """R: the words that lead to the rarer side; None where the corner ignores the input."""
        likely, corners = self.mechanism.likely(), 2**self.mechanism.d
        return rarer_words(self.mechanism.epsilon, Fraction(corners - likely, likely), 2**self.bits)

    def probabilities(self) -> tuple[Fraction, Fraction]:
        """Of one corner on the side of v, and of one on the rarer side; exact."""
        rarer, words, likely, corners = self.rarer(), 2**self.bits, self.mechanism.likely(), 2**self.mechanism.d
        if rarer is None:
            return Fraction(1, corners), Fraction(1, corners)
        return Fraction(words - rarer, words * likely), Fraction(rarer, words * (corners - likely))

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats: at most the mechanism's."""
        same, other = self.probabilities()
        return min(math.log1p(float(same / other - 1)), self.mechanism.epsilon)

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Opposite corners."""
        return self.mechanism.worst_pair()

    def reach(self) -> float:
        """B, the mechanism's: the size of each reported coordinate."""
        return self.mechanism.reach()

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """(W - R - e**epsilon R N / (M - N))_+ / W, with N of the M corners on v's side; shape of `epsilon`, nats."""
        mass = float(self.probabilities()[0] * self.mechanism.likely())
        return (excess(levels(epsilon), self.exact_epsilon()) * mass)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability, nats, of the report y at the input x; both of shape (..., d), broadcast to shape (...)."""
        same, other = (log_ratio(p.numerator, p.denominator) for p in self.probabilities())
        return self.mechanism.log_prob_by_side(y, x, (same, other, other))

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """E[report | x] = B comb(d - 1, floor(d/2)) (P_same - P_other) x: x, but for R's rounding. Shape (..., d).

        The rounding of x to a corner adds at most a 2**-52th of B.
        """
        same, other = self.probabilities()
        return self.reach() * float(self.mechanism.net_agreement() * (same - other)) * self.mechanism.mean(x)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Of each coordinate: B**2 - E[report | x]**2. Shape (..., d)."""
        mean = self.mean(x)
        return (self.reach() - mean) * (self.reach() + mean)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report for each input; see `DuchiVector.sample`."""
        source = source_of(rng)
        xp, d = source.xp, self.mechanism.d
        values = vectors("x", source.array("x", x), d, -1, 1, xp)
        size = as_reports(source.constant([self.reach()], xp.float64), values, xp)
        signs = xp.reshape(self._signs(xp.reshape(values, (-1, d)), source), values.shape)
        return xp.where(signs > 0, size, -size)

    def _signs(self, x: Any, source: Source) -> Any:
        """The reported corners, +1 and -1; shape (n, d), int64."""
        xp, rarer = source.xp, self.rarer()
        signs = _corners(x.shape, source)
        if rarer is None:
            return signs
        rounded = xp.astype(source.words(x.shape, 53), xp.float64) < xp.astype(x, xp.float64) * 2.0**52
        v = xp.where(rounded, xp.ones_like(signs), -xp.ones_like(signs))
        away = occurs(source.words(x.shape[:1], self.bits), rarer, self.bits)
        waiting = xp.nonzero(away == away)[0]
        while waiting.shape[0]:
            tried = _corners((waiting.shape[0], self.mechanism.d), source)
            tried, kept = self._turned(tried, v[waiting], away[waiting], xp)
            signs[waiting] = tried
            waiting = waiting[~kept]
        return signs

    def _turned(self, tried: Any, v: Any, away: Any, xp: Any) -> tuple[Any, Any]:
        """Uniform corners, turned to v's side or away from it, and which of them are uniform there; the others fail.

        Turning y to -y maps y.v > 0 onto y.v < 0. For even d the corners y.v = 0 lie on the rarer side, and a turned
        corner would be twice as likely as one of them, so there it is not turned but fails.
        """
        product = xp.sum(tried * v, axis=-1)
        wrong = xp.where(away, product > 0, product < 0)
        turn = wrong if self.mechanism.d % 2 else wrong & ~away
        return xp.where(turn[:, None], -tried, tried), (turn | ~wrong) & (away | (product != 0))


def _corners(shape: Any, source: Source) -> Any:
    """+1 and -1, uniform; int64."""
    return source.words(shape, 1) * 2 + 1
