"""Duchi's mechanism for vectors in [-1, 1]^d: report B times a corner of the cube.

Definition: the input is rounded to a corner v with independent P(v_j = 1) = (1 + x_j)/2. A corner y on v's side is
reported with t times the probability of any other. As usually printed the sides are the closed half-spaces y.v >= 0 and
y.v <= 0; for even d the corners with y.v = 0 lie in both, and the exact epsilon is ln(t + 1). With these ties on the
less likely side it is epsilon; that form is sampled, by drawing a uniform corner and, if it lies on the wrong side,
reflecting it (odd d) or drawing again (even d). Rounding to v is no private decision, and takes 53 bits a coordinate.

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

from ldp_audit.mechanisms.inputs import array_of, as_reports, clip, report_dtype, vectors
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Losses, Parameter
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
"""N of the M = 2**d corners are on v's side."""

DUCHI_VECTOR_PRINTED = SymbolicWeights(
    "Duchi's mechanism for vectors, closed half-spaces, even d",
    [
        ("a corner on v's side", _SIDE, T / ((T + 1) * (_SIDE + _TIES))),
        ("a corner at right angles to v", _TIES, 1 / (_SIDE + _TIES)),
        ("a corner on the other side", _SIDE, 1 / ((T + 1) * (_SIDE + _TIES))),
    ],
)
"""N corners have y.v > 0, as many y.v < 0, and N_0 have y.v = 0."""


@dataclass(frozen=True)
class DuchiVector(Staircase):
    """Inputs in [-1, 1]^d, shape (..., d); reports in {-B, B}^d, of the same shape and floating dtype.

    epsilon: nats, > 0, finite.   d: 1 .. 100,000.   printed: use the closed half-spaces, for comparison.
    Raises ValueError for anything else.
    """

    epsilon: float
    d: int
    printed: bool = False

    parameters = (BUDGET, Parameter("d", Variable("d", 1, 100_000, integer=True), typical=(1, 50)))
    example = FamilyExample(
        "DuchiVector(epsilon=1, d=4)",
        "v: the input, rounded to a corner; N corners of all M = 2^d lie on its side; t = e^epsilon",
        worst=((0, {}), (1, {})),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.printed, bool):
            raise ValueError(f"printed must be True or False, got {self.printed!r}")

    def symbolic(self) -> SymbolicWeights:
        """The definition, in t and the numbers of corners on each side of v."""
        return DUCHI_VECTOR_PRINTED if self.printed and self.ties() else DUCHI_VECTOR

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs clipped to [-1, 1]^d. Shape and dtype of x."""
        return clip(x, -1.0, 1.0)

    def reach(self) -> float:
        """B, the size of each reported coordinate that makes the mean the input."""
        at_infinity, more = self._reach_parts()
        return at_infinity + more

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon; for the printed form with even d, ln(t + 1)."""
        return self._epsilon_with_ties() if self.printed and self.ties() else self.epsilon

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corners that attain exact_epsilon() and delta(): opposite; printed, even d: equal in one coordinate only."""
        first, second = np.ones(self.d), -np.ones(self.d)
        if self.printed and self.ties():
            second[-1] = 1.0
        return first, second

    def losses(self) -> Losses:
        """The loss epsilon with probability N t / (N t + M - N), for N of the M corners on one side; three losses if
        printed.

        For even d, with N corners y.v > 0 and N_0 corners y.v = 0 of L = N + N_0, the printed form has the losses
        epsilon (corners on opposite sides), ln(t + 1) and ln((t + 1)/t) (corners orthogonal to one input); the worst
        pair are corners v, w that differ in d - 1 places.

        Proof. By symmetry as many corners y have y.v = 0 > y.w as y.v = 0 < y.w: at most N_0/2, with equality if v and
        w differ in an odd number h of places, as then no y is orthogonal to both. The number of corners with y.v > 0 >
        y.w increases from an odd h to the next, by comb(d - h - 1, (d - h - 1)/2) comb(h, (h + 1)/2), and is constant
        from an even h to h + 1. So no other h < d gives more than h = d - 1; and h = d gives N (t - e**epsilon)_+ / ((t
        + 1) L), which is less because of (t + 1 - e**epsilon)_+.
        """
        likely, ties = self.likely(), self.ties()
        if not (self.printed and ties):
            return super().losses()
        strict, tied = 2 * (likely - ties) - ties, math.log(ties / (2 * likely))
        apart = math.log(strict / (2 * likely)) if strict else -math.inf  # for d = 2
        shrunk = math.log1p(math.exp(-self.epsilon))
        return Losses([self.epsilon, self.exact_epsilon(), shrunk], [apart - shrunk, tied, tied])

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of y at x; shapes (..., d), broadcast to (...); -inf off the support. Time of order d**2."""
        if not self.printed:
            return super().log_prob(y, x)
        likelier = -math.log1p(math.exp(-self.epsilon))  # ln(t / (t + 1)), of v's side
        corners = math.log(self.likely())
        return self._log_prob(y, x, (likelier - corners, -corners, likelier - self.epsilon - corners))

    def log_prob_by_side(self, y: ArrayLike, x: ArrayLike, logs: Logs) -> NDArray[np.float64] | np.float64:
        """`log_prob`, for given log probabilities of one corner on v's side and of one on the other."""
        return self._log_prob(y, x, (logs[0], logs[1], logs[1]))

    def _log_prob(
        self, y: ArrayLike, x: ArrayLike, of_corner: tuple[float, float, float]
    ) -> NDArray[np.float64] | np.float64:
        """`log_prob`, for given log probabilities of one corner with y.v > 0, = 0 and < 0."""
        given = vectors("y", array_of("y", y), self.d, -math.inf, math.inf)
        values = vectors("x", array_of("x", x), self.d, -1, 1).astype(np.float64)
        known = np.all(np.abs(given) == np.asarray(self.reach(), report_dtype(given)), axis=-1)
        signs, values = np.broadcast_arrays(np.sign(given), values)
        agreements = _agreements((1 + values * signs) / 2)
        beyond = self.d // 2 + 1  # the least number of agreements with y.v > 0
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
        """Var of each coordinate, B**2 - x_j**2, without cancellation at large epsilon. Shape (..., d)."""
        sizes, (at_infinity, more) = np.abs(self.mean(x)), self._reach_parts()
        return ((at_infinity - sizes) + more) * (self.reach() + sizes)

    def implemented(self, bits: int = 64) -> FiniteDuchiVector:
        """The finite-precision distribution of `sample`; ValueError for the printed form, and bits not 2..64."""
        if self.printed:
            raise ValueError("the printed form is not sampled; use DuchiVector(epsilon, d)")
        return FiniteDuchiVector(self, bits)

    def sides(self) -> tuple[int, int]:
        """The numbers of corners on v's side and on the other."""
        return self.likely(), 2**self.d - self.likely()

    def only_first(self) -> int:
        """All corners on v's side: none is also on the opposite corner's side."""
        return self.likely()

    def reports(self) -> Sequence[tuple[float, ...]] | None:
        """All reports, for up to ten dimensions."""
        return list(product((-self.reach(), self.reach()), repeat=self.d)) if self.d <= 10 else None

    def checked(self, x: Any) -> tuple[Any, tuple[int, ...]]:
        """The vectors, and their number as a shape."""
        values = vectors("x", x, self.d, -1, 1, array_namespace(x))
        return values, tuple(values.shape[:-1])

    def draw(self, x: Any, favoured: Any, source: Source) -> Any:
        """B times a uniform corner of the drawn side."""
        xp = source.xp
        size = as_reports(source.constant([self.reach()], xp.float64), x, xp)
        flat = xp.reshape(x, (-1, self.d))
        signs = _corners(flat.shape, source) if favoured is None else self._on_side(flat, favoured, source)
        return xp.where(xp.reshape(signs, x.shape) > 0, size, -size)

    def _on_side(self, x: Any, favoured: Any, source: Source) -> Any:
        """Uniform corners of +1 and -1 on the side of v, the random rounding of x, or off it; shape (n, d), int64.

        For odd d, reflection y -> -y maps one side onto the other. For even d it would make corners off the side twice
        as likely as those with y.v = 0; there corners are drawn again instead.
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
        """The number of corners with y.v = 0."""
        return 0 if self.d % 2 else math.comb(self.d, self.d // 2)

    def likely(self) -> int:
        """The number of corners on the likelier side: y.v > 0, or y.v >= 0 if printed."""
        strict = (2**self.d - self.ties()) // 2
        return strict + self.ties() if self.printed else strict

    def net_agreement(self) -> int:
        """The sum of y_j v_j over the corners y.v > 0, the same for every j."""
        return math.comb(self.d - 1, self.d // 2)

    def _reach_parts(self) -> tuple[float, float]:
        """The limit of B for large epsilon, and B minus this limit."""
        decay = math.exp(-self.epsilon) / -math.expm1(-self.epsilon)  # 1 / (t - 1)
        if self.printed:
            return self.likely() / self.net_agreement(), 2 * decay * (self.likely() / self.net_agreement())
        return self.likely() / self.net_agreement(), decay * (2**self.d / self.net_agreement())

    def _epsilon_with_ties(self) -> float:
        return self.epsilon + math.log1p(math.exp(-self.epsilon))


def _agreements(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Poisson binomial distribution of the number of coordinates where v equals the report.

    shares: the probability of each coordinate's agreement, shape (..., d).   returns: shape (..., d + 1).
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
    """Duchi's mechanism with probabilities in whole words, and the ideal mechanism's B."""

    mechanism: DuchiVector

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """E[report | x] = B comb(d - 1, floor(d/2)) (P_same - P_other) x, x up to rounding. Shape (..., d)."""
        same, other, _ = self.probabilities()
        m = self.mechanism
        return m.reach() * float(m.net_agreement() * (same - other)) * m.mean(x)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Var of each coordinate: B**2 - E[report | x]**2. Shape (..., d)."""
        mean, reach = self.mean(x), self.mechanism.reach()
        return (reach - mean) * (reach + mean)


def _corners(shape: Any, source: Source) -> Any:
    return source.words(shape, 1) * 2 + 1
