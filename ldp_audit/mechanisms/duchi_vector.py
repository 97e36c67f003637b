"""Duchi's mechanism for vectors in [-1, 1]^d: report B times a corner of the cube.

Definition: the input is rounded to a corner v with independent P(v_j = 1) = (1 + x_j)/2; a corner y is reported,
likelier by t if it lies on v's side. As usually printed the two sides are the closed half-spaces y.v >= 0 and y.v
<= 0, and the corners with y.v = 0 (even d) lie in both: the exact epsilon is then ln(t + 1). With ties on the rarer
side it is epsilon, and that form is sampled: the corner on a side is uniform without bias, as one of all corners is
drawn, and turned to its opposite or drawn again if it lies on the other side. The corner v that the input is rounded to
is no private decision, and takes 53 bits a coordinate.

Sources: Duchi, Jordan, Wainwright, JASA 113 (2018), Section 4.2.3; Nguyen et al. (2016) on even d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.clipping import clip
from ldp_audit.mechanisms.inputs import array_of, as_reports, report_dtype, vectors
from ldp_audit.mechanisms.log_space import excess, expit, levels
from ldp_audit.mechanisms.mechanism import Example
from ldp_audit.mechanisms.parameter import BUDGET, Parameter
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.staircase import FiniteStaircase, Logs, Staircase
from ldp_audit.mechanisms.variable import T, Variable
from ldp_audit.mechanisms.weights import SymbolicWeights

_SIDE = Variable("N", 1, oo, integer=True)
_CORNERS = Variable("M", _SIDE + 1, oo, integer=True)
_TIES = Variable("N_0", 1, oo, integer=True)

DUCHI_VECTOR = SymbolicWeights(
    "Duchi's mechanism for vectors",
    [
        ("a corner on v's side", _SIDE, T / ((T - 1) * _SIDE + _CORNERS)),
        ("another corner", _CORNERS - _SIDE, 1 / ((T - 1) * _SIDE + _CORNERS)),
    ],
)
"""With N of the M = 2**d corners on v's side."""

DUCHI_VECTOR_PRINTED = SymbolicWeights(
    "Duchi's mechanism for vectors, closed half-spaces, even d",
    [
        ("a corner on v's side", _SIDE, T / ((T + 1) * (_SIDE + _TIES))),
        ("a corner at right angles to v", _TIES, 1 / (_SIDE + _TIES)),
        ("a corner on the other side", _SIDE, 1 / ((T + 1) * (_SIDE + _TIES))),
    ],
)
"""With N corners y.v > 0, as many y.v < 0, and N_0 corners y.v = 0."""


@dataclass(frozen=True)
class DuchiVector(Staircase):
    """Inputs in [-1, 1]^d, shape (..., d); reports in {-B, B}^d, of the same shape and floating dtype.

    epsilon: nats, > 0, finite.   d: 1 .. 100,000.   printed: the form with closed half-spaces, for comparison.
    Raises ValueError for anything else.
    """

    epsilon: float
    d: int
    printed: bool = False

    parameters = (BUDGET, Parameter("d", Variable("d", 1, 100_000, integer=True), typical=(1, 50)))
    example = Example(
        "DuchiVector(epsilon=1, d=4)",
        "v: the input, rounded to a corner; N corners of all M = 2^d lie on its side; t = e^epsilon",
        worst=((0, {}), (1, {})),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.printed, bool):
            raise ValueError(f"printed must be True or False, got {self.printed!r}")

    def symbolic(self) -> SymbolicWeights:
        """The definition, by sides of the corner v that the input is rounded to; in counts of corners and t."""
        return DUCHI_VECTOR_PRINTED if self.printed and self.ties() else DUCHI_VECTOR

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs moved into [-1, 1]^d. Shape and dtype of x."""
        return clip(x, -1.0, 1.0)

    def reach(self) -> float:
        """B, the size of each reported coordinate, so that the mean is the input."""
        at_infinity, more = self._reach_parts()
        return at_infinity + more

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon; as printed, ln(t + 1) for even d."""
        return self._epsilon_with_ties() if self.printed and self.ties() else self.epsilon

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corners that attain exact_epsilon() and delta(): opposite ones; as printed, for even d, but for one place."""
        first, second = np.ones(self.d), -np.ones(self.d)
        if self.printed and self.ties():
            second[-1] = 1.0
        return first, second

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The largest hockey-stick divergence over pairs of inputs; shape of `epsilon`, nats, >= 0.

        N (t - e**epsilon)_+ / (N t + M - N), with N of the M corners on one side. As printed, for even d, with N
        corners y.v > 0 and N_0 corners y.v = 0 out of L = N + N_0:

            ((N - N_0/2) (t - e**epsilon)_+ + N_0/2 ((t + 1 - e**epsilon)_+ + (t + 1 - e**epsilon t)_+)) / ((t + 1) L).
        """
        return self._printed_delta(levels(epsilon))[()] if self.printed and self.ties() else super().delta(epsilon)

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability, nats, of the report y at the input x; both of shape (..., d), broadcast to shape (...).

        -inf for what is no report. Takes time in proportion to d**2 for each.
        """
        if not self.printed:
            return super().log_prob(y, x)
        likelier = -math.log1p(math.exp(-self.epsilon))  # of the side: ln(t / (t + 1))
        corners = math.log(self.likely())
        return self._log_prob(y, x, (likelier - corners, -corners, likelier - self.epsilon - corners))

    def log_prob_by_side(self, y: ArrayLike, x: ArrayLike, logs: Logs) -> NDArray[np.float64] | np.float64:
        """`log_prob` for a law that gives one corner on v's side, and one on the other, these log probabilities."""
        return self._log_prob(y, x, (logs[0], logs[1], logs[1]))

    def _log_prob(
        self, y: ArrayLike, x: ArrayLike, of_corner: tuple[float, float, float]
    ) -> NDArray[np.float64] | np.float64:
        """`log_prob` for a law that gives one corner with y.v > 0, = 0, < 0 these log probabilities."""
        given = vectors("y", array_of("y", y), self.d, -math.inf, math.inf)
        values = vectors("x", array_of("x", x), self.d, -1, 1).astype(np.float64)
        known = np.all(np.abs(given) == np.asarray(self.reach(), report_dtype(given)), axis=-1)
        signs, values = np.broadcast_arrays(np.sign(given), values)
        agreements = _agreements((1 + values * signs) / 2)
        beyond = self.d // 2 + 1  # so many agreements, or more, have y.v > 0
        sides = (
            agreements[..., beyond:],
            agreements[..., (self.d + 1) // 2 : beyond],
            agreements[..., : (self.d + 1) // 2],
        )
        with np.errstate(divide="ignore"):
            terms = [np.log(side.sum(axis=-1)) + one for side, one in zip(sides, of_corner, strict=True)]
        return np.where(known, np.logaddexp.reduce(terms), -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """x: no bias. Shape (..., d)."""
        return vectors("x", array_of("x", x), self.d, -1, 1).astype(np.float64)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Of each coordinate: B**2 - x_j**2, without its cancellation for large epsilon. Shape (..., d)."""
        sizes, (at_infinity, more) = np.abs(self.mean(x)), self._reach_parts()
        return ((at_infinity - sizes) + more) * (self.reach() + sizes)

    def implemented(self, bits: int = 64) -> FiniteDuchiVector:
        """The finite-precision distribution that `sample` draws from with `bits`-bit words.

        Raises ValueError unless bits are 2..64, and for the printed form, which is here to be examined, not to be used.
        """
        if self.printed:
            raise ValueError("the printed form is not sampled; use DuchiVector(epsilon, d)")
        return FiniteDuchiVector(self, bits)

    def sides(self) -> tuple[int, int]:
        """The corners on v's side, and the others."""
        return self.likely(), 2**self.d - self.likely()

    def only_first(self) -> int:
        """All corners on v's side: none of them is on the side of the opposite corner."""
        return self.likely()

    def reports(self) -> Sequence[tuple[float, ...]] | None:
        """The corners, B times, in up to ten dimensions."""
        return list(product((-self.reach(), self.reach()), repeat=self.d)) if self.d <= 10 else None

    def checked(self, x: Any) -> tuple[Any, tuple[int, ...]]:
        """The vectors."""
        values = vectors("x", x, self.d, -1, 1, array_namespace(x))
        return values, tuple(values.shape[:-1])

    def draw(self, x: Any, favoured: Any, source: Source) -> Any:
        """B times a corner."""
        xp = source.xp
        size = as_reports(source.constant([self.reach()], xp.float64), x, xp)
        flat = xp.reshape(x, (-1, self.d))
        signs = _corners(flat.shape, source) if favoured is None else self._on_side(flat, favoured, source)
        return xp.where(xp.reshape(signs, x.shape) > 0, size, -size)

    def _on_side(self, x: Any, favoured: Any, source: Source) -> Any:
        """Corners, +1 and -1, on the side of the corner v that x is rounded to, or off it; shape (n, d), int64.

        Turning y to -y maps y.v > 0 onto y.v < 0. For even d the corners y.v = 0 lie on the rarer side, and a turned
        corner would be twice as likely as one of them, so there it is not turned but drawn again.
        """
        xp = source.xp
        rounded = xp.astype(source.words(x.shape, 53), xp.float64) < xp.astype(x, xp.float64) * 2.0**52
        v = xp.astype(rounded, xp.int64) * 2 - 1
        near = xp.reshape(favoured, (-1,))
        signs, waiting = xp.zeros_like(v), xp.nonzero(near == near)[0]
        while waiting.shape[0]:
            tried, close = _corners((waiting.shape[0], self.d), source), near[waiting]
            agreement = xp.sum(tried * v[waiting], axis=-1)
            wrong = xp.where(close, agreement < 0, agreement > 0)
            turn = wrong if self.d % 2 else wrong & close
            signs[waiting] = xp.where(turn[:, None], -tried, tried)
            waiting = waiting[~((turn | ~wrong) & (~close | (agreement != 0)))]
        return signs

    def ties(self) -> int:
        """Corners with y.v = 0."""
        return 0 if self.d % 2 else math.comb(self.d, self.d // 2)

    def likely(self) -> int:
        """Corners on the likelier side: y.v > 0, or y.v >= 0 as printed."""
        strict = (2**self.d - self.ties()) // 2
        return strict + self.ties() if self.printed else strict

    def net_agreement(self) -> int:
        """The sum over the corners y.v > 0 of y_j v_j, the same for every place j."""
        return math.comb(self.d - 1, self.d // 2)

    def _reach_parts(self) -> tuple[float, float]:
        """B in the limit of large epsilon, and what the epsilon at hand adds to it."""
        decay = math.exp(-self.epsilon) / -math.expm1(-self.epsilon)  # 1 / (t - 1)
        if self.printed:
            return self.likely() / self.net_agreement(), 2 * decay * (self.likely() / self.net_agreement())
        return self.likely() / self.net_agreement(), decay * (2**self.d / self.net_agreement())

    def _epsilon_with_ties(self) -> float:
        """ln(t + 1)."""
        return self.epsilon + math.log1p(math.exp(-self.epsilon))

    def _printed_delta(self, asked: NDArray[np.float64]) -> NDArray[np.float64]:
        """Attained by corners v, w that differ in d - 1 places.

        By symmetry a pair has as many corners y with y.v = 0 > y.w as with y.v = 0 < y.w: at most N_0/2, and just so
        many if v and w differ in an odd number h of places, as then no y is at right angles to both. The corners with
        y.v > 0 > y.w grow in number with h, by comb(d - h - 1, (d - h - 1)/2) comb(h, (h + 1)/2) from an odd h to the
        next, and stay the same from an even one. So no other odd h gives more than h = d - 1, nor does an even h < d;
        and h = d gives N (t - e**epsilon)_+ / ((t + 1) L), which is less, as (t + 1 - e**epsilon)_+ is more.
        """
        likely, ties = self.likely(), self.ties()
        apart, tied = (2 * (likely - ties) - ties) / (2 * likely), ties / (2 * likely)
        either = excess(asked, self._epsilon_with_ties()) + excess(asked, math.log1p(math.exp(-self.epsilon)))
        return apart * expit(self.epsilon) * excess(asked, self.epsilon) + tied * either


def _agreements(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The law of the number of places where v agrees with the report, which they do with these probabilities.

    shares: shape (..., d).   returns: shape (..., d + 1), the Poisson binomial law.
    """
    d = shares.shape[-1]
    law = np.zeros((*shares.shape[:-1], d + 1))
    law[..., 0] = 1.0
    for place in range(d):
        share = shares[..., place, None]
        moved = law[..., : place + 1] * share
        law[..., : place + 1] *= 1 - share
        law[..., 1 : place + 2] += moved
    return law


@dataclass(frozen=True)
class FiniteDuchiVector(FiniteStaircase):
    """Duchi's mechanism in whole words; the size of its reports is the mechanism's."""

    mechanism: DuchiVector

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """E[report | x] = B comb(d - 1, floor(d/2)) (P_same - P_other) x: x, but for L's rounding. Shape (..., d).

        The rounding of x to a corner adds at most a 2**-52th of B.
        """
        same, other, _ = self.probabilities()
        m = self.mechanism
        return m.reach() * float(m.net_agreement() * (same - other)) * m.mean(x)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Of each coordinate: B**2 - E[report | x]**2. Shape (..., d)."""
        mean, reach = self.mean(x), self.mechanism.reach()
        return (reach - mean) * (reach + mean)


def _corners(shape: Any, source: Source) -> Any:
    """+1 and -1, uniform; int64."""
    return source.words(shape, 1) * 2 + 1
