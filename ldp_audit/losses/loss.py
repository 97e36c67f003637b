"""The contracts of a privacy loss, `PairLoss` and `KnownLoss`, and of its moment-generating function, `Transform`.

For an ordered pair (P, Q) of output distributions the privacy loss is L = ln (dP/dQ)(Y) with Y drawn from P; it is
infinite outside the support of Q. Its hockey-stick divergence is

    delta(epsilon) = E[(1 - e**(epsilon - L))_+].

A pair dominates a mechanism if its delta is at least that of every pair of neighbours, in this direction, at every
epsilon; domination is kept by composition (Zhu, Dong, Wang, AISTATS 2022, Theorem 10).

A loss with mass at infinity (`LossWithInfinity`). Let a be P's mass on the support of Q, and b Q's mass on the support
of P. The loss is infinite with probability 1 - a, and else that of the two conditional distributions plus ln(a/b).
Under T-fold composition the conditional losses compose, and the masses are a**T and b**T; so a method for finite losses
applies to these too.

The transform is M(s) = E[e**(s L)], for s = c + i y with c >= 0; where it is finite, |M(s)| <= M(c).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.numerics import log1mexp

EPS = 2.0**-52
VAGUE = 1.0
"""An error of a logarithm from which on only a bound on the size is known."""
_FALLEN = 15.0
"""Nats by which |M| must fall for its inversion to be finite."""


class CellMasses(NamedTuple):
    """Masses of cells of the loss, as logarithms.

    first, second: ln P(cell) and ln Q(cell) for (-inf, e_0], (e_0, e_1], ..., (e_last, inf), shape (m + 1,).
    infinite: ln P(loss = inf), which no cell contains.   missing: ln of Q's mass outside the support of P, likewise.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    infinite: float
    missing: float


class Atoms(NamedTuple):
    """All values of a loss, nats, ascending, and ln of their probabilities under P, shape (m,) each.

    log_infinite, log_missing, error: see `DiscreteLoss`.
    """

    losses: NDArray[np.float64]
    log_probabilities: NDArray[np.float64]
    log_infinite: float
    log_missing: float
    error: float


class Sides(NamedTuple):
    """Two losses between which a loss lies, at every epsilon and in both orders of the pair; composition keeps that.

    largest: the delta of a single report is the upper loss's, the largest of several pairs, none of which may have it
        at every epsilon. All reports of a sum may be those of one pair, `lower`, so sums lie between.
    summands: of a bound on a sum whose distribution is not known, the losses with their times; else none.
    """

    lower: PairLoss
    upper: PairLoss
    largest: bool = False
    summands: Sequence[tuple[PairLoss, int]] = ()


Divergence = tuple[float, bool]
"""Nats, and whether it is exact but for rounding; else an upper bound."""


class PairLoss(ABC):
    """The privacy loss of one ordered pair (P, Q) of distributions: all that is asked of every loss.

    `supremum`, `log_delta_bounds` and `reversed` are abstract. The others have a default here, which a class overrides
    if it knows more. What is asked of a known distribution is in `KnownLoss`.
    """

    @abstractmethod
    def supremum(self) -> float:
        """The supremum of the loss, nats: infinite where P leaves the support of Q, or the ratio is unbounded."""

    @abstractmethod
    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Natural logarithms of a lower and an upper bound of delta(epsilon); -inf for a true 0 alone.

        epsilon: nats, any real number or an infinity.
        """

    @abstractmethod
    def reversed(self) -> PairLoss:
        """The loss of the pair (Q, P); this object itself where that is the same.

        `self` alone says so: of any other result both orders are computed, and a relation of neighbours in either
        order, as of local privacy or of replaced records, refuses it where it needs one loss for both.
        """

    @property
    def exact(self) -> bool:
        """Whether both bounds on delta are one number, right to 1e-12 of itself for losses rounded as floats are."""
        return False

    def epsilon_near(self, log_delta: float) -> float:  # noqa: ARG002
        """About the epsilon with this ln delta, nats: an uncertified start for a search; not a number for none."""
        return math.nan

    def sides(self) -> Sides:
        """The losses between which this one lies; this one on both sides, unless it was made of two others."""
        return Sides(self, self)

    def known(self, end: int | None = None) -> KnownLoss | None:  # noqa: ARG002
        """This loss, where its distribution is known; else None, or with an end a known loss below (0) or above it (1).

        That is None as well where only delta is known: `hulls.known_bound` makes one.
        """
        return None

    def divergence(self, alpha: float) -> Divergence | None:  # noqa: ARG002
        """The Renyi divergence of a finite order >= 1, rounded as floats are; None where it follows from other losses.

        `hulls.divergence_of` has it of every loss and order.
        """
        return None

    def rho(self) -> float:
        """An upper bound of D_a/a over all orders a >= 1, where one is stated; else infinity."""
        return math.inf


class KnownLoss(PairLoss):
    """A loss whose distribution is known, by its atoms, by the masses of cells, or as a sum of such losses.

    A loss made of others is known if these are; `known` has the answer.
    """

    @abstractmethod
    def reversed(self) -> KnownLoss:
        """See `PairLoss`."""

    def known(self, end: int | None = None) -> KnownLoss | None:  # noqa: ARG002
        """See `PairLoss`."""
        return self

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """The masses between the edges, right to about 1e-15 of themselves; of a sum only its summands have them.

        edges: nats, ascending, finite, shape (m,), m >= 1.
        """
        raise NotImplementedError(f"{type(self).__name__} knows no masses between {edges!r}")

    def atoms(self, most: int = 1000) -> Atoms | None:  # noqa: ARG002
        """All values of the loss with their probabilities; None for infinitely many, or more than `most`."""
        return None

    def summands(self) -> Sequence[tuple[KnownLoss, int]]:
        """The losses of a sum with their times; any other loss is its only summand."""
        return ((self, 1),)

    def finite_part(self) -> tuple[KnownLoss, float, float]:
        """The loss given that it is finite in both orders, and ln of the masses of P and of Q there."""
        return self, 0.0, 0.0

    def repeated(self, times: int) -> KnownLoss | None:
        """The sum of `times` >= 1 independent copies, where it is of the same kind; else None."""
        return self if times == 1 else None

    def transform(self) -> Transform | None:
        """The moment-generating function on vertical lines of the complex plane, with its error; None where unknown."""
        return None

    def dominating_gaussian(self) -> tuple[float, bool]:
        """The mu of Gaussian noise that dominates for epsilon >= 0 in both orders, and whether it is this loss itself.

        returns: infinity where none is known.
        """
        return math.inf, False

    def group(self, records: int) -> KnownLoss | None:
        """The loss of a group of `records`, from that of one record; None where only its supremum gives a bound."""
        return self if records == 1 else None


def side(loss: PairLoss, end: int) -> PairLoss:
    """The loss whose lower (0) or upper (1) bound on delta is this one's, without the other bound's work."""
    sides = loss.sides()
    chosen = sides.upper if end or sides.largest else sides.lower
    return loss if chosen is loss else side(chosen, end)


def attained(loss: PairLoss) -> tuple[PairLoss, ...]:
    """Losses of certain pairs of neighbours, in both orders where either is meant; none where this one is a pair's."""
    lower = loss.sides().lower
    if lower is loss:
        return ()
    back = lower.reversed()
    return (lower, back) if loss.reversed() is loss and back is not lower else (lower,)


def known_atoms(loss: PairLoss, most: int = 1000) -> Atoms | None:
    """The atoms of a loss, where they are known and at most `most`."""
    known = loss.known()
    return None if known is None else known.atoms(most)


def cells_known(loss: PairLoss) -> bool:
    """Whether the masses of cells are known: of a known loss that is no sum, but for mass at infinity."""
    known = loss.known()
    return known is not None and (common := known.finite_part()[0]).summands()[0][0] is common


@dataclass(frozen=True)
class LossWithInfinity(KnownLoss):
    """A loss with mass at infinity, in either order, from the loss on the common support.

    common: the loss of the two conditional distributions, never infinite in either order.
    log_first, log_second: ln of a and of b, at most 0; minus infinity for disjoint supports.
    Raises ValueError for logarithms above 0, and where only one is minus infinity.
    """

    common: KnownLoss
    log_first: float
    log_second: float

    def __post_init__(self) -> None:
        ends = (self.log_first, self.log_second)
        if not all(end <= 0 for end in ends) or (self.log_first == -math.inf) != (self.log_second == -math.inf):
            raise ValueError(f"log_first and log_second must be logarithms of masses, got {ends!r}")

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return self.common.exact

    @property
    def shift(self) -> float:
        """ln(a/b), which is added to the common loss."""
        return self.log_first - self.log_second if self.log_first > -math.inf else 0.0

    def supremum(self) -> float:
        """See `PairLoss`."""
        if self.log_first < 0:
            return math.inf
        top, shift = self.common.supremum(), self.shift
        return top + shift + (2 * math.ulp(abs(top) + abs(shift)) if top and shift and top < math.inf else 0.0)

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: as the common loss."""
        common = self.common.known(end)
        return self if common is self.common else None if common is None else replace(self, common=common)

    def finite_part(self) -> tuple[KnownLoss, float, float]:
        """See `KnownLoss`."""
        return self.common, self.log_first, self.log_second

    def atoms(self, most: int = 1000) -> Atoms | None:
        """See `KnownLoss`."""
        common = self.common.atoms(most)
        if common is None:
            return None
        logs = common.log_probabilities + self.log_first
        infinite, missing = log1mexp(self.log_first), log1mexp(self.log_second)
        return Atoms(common.losses + self.shift, logs, infinite, missing, common.error)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`: the mass at infinity counts in full at every epsilon."""
        infinite = log1mexp(self.log_first)
        if self.log_first == -math.inf:
            return infinite, infinite
        if self.log_first == 0 and epsilon >= self.supremum():  # the shifted epsilon may be rounded below the supremum
            return -math.inf, -math.inf
        low, high = self.common.log_delta_bounds(epsilon - self.shift)
        return float(np.logaddexp(infinite, self.log_first + low)), float(np.logaddexp(infinite, self.log_first + high))

    def epsilon_near(self, log_delta: float) -> float:
        """See `PairLoss`."""
        return self.shift + self.common.epsilon_near(log_delta - self.log_first)

    def reversed(self) -> LossWithInfinity:
        """See `PairLoss`."""
        common = self.common.reversed()
        if common is self.common and self.log_first == self.log_second:
            return self
        return LossWithInfinity(common, self.log_second, self.log_first)

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `KnownLoss`."""
        inner = self.common.masses(edges - self.shift)
        return CellMasses(
            inner.first + self.log_first,
            inner.second + self.log_second,
            log1mexp(self.log_first),
            log1mexp(self.log_second),
        )


def log_finite(logs: NDArray[np.float64], log_rest: float) -> float:
    """ln of the sum of e**logs, which with e**log_rest adds up to 1: computed from the smaller of the two."""
    return min(0.0, float(np.logaddexp.reduce(logs))) if log_rest > -0.7 and logs.size else log1mexp(log_rest)


_ROUNDING = 16 * 2.0**-52


def log_delta_from_reversed(epsilon: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Bounds on ln delta(epsilon) at a negative epsilon, from the reversed pair.

    delta(epsilon) = 1 - e**epsilon (1 - delta'), with delta' of the reversed pair at -epsilon.
    epsilon: nats, < 0, minus infinity allowed.   ends: bounds on ln delta'. The result is rounded outwards.
    """
    if epsilon == -math.inf:
        return 0.0, 0.0
    rest = [epsilon + log1mexp(end) for end in ends]
    low, high = (log1mexp(one) for one in rest)
    least, most = (
        _ROUNDING * (abs(value) * (1 + abs(one)) + math.exp(one)) for value, one in zip((low, high), rest, strict=True)
    )
    return low - least - math.ulp(0.0), min(0.0, high + most + math.ulp(0.0))


class Values(NamedTuple):
    """ln M at some points, in any branch, and a bound on its errors; shape (m,) each.

    |M| is at most e**(Re log + error); where the error is below `VAGUE`, e**log is right up to a factor e**w, |w| at
    most the error.
    """

    log: NDArray[np.complex128]
    error: NDArray[np.float64]


class Transform(ABC):
    """The moment-generating function M of one loss."""

    @abstractmethod
    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """ln M(c + i y).   y: >= 0, ascending, shape (m,).   None where it takes too many numbers, or is too large."""

    def about(self, c: float) -> float:
        """About ln M(c), uncertified, for choosing tilts. Infinite where it is unknown."""
        return self.log_mean(c)

    def log_mean(self, c: float) -> float:
        """An upper bound of ln M(c); infinite where none is known. ln M(0) is 0 but for rounding."""
        found = self.at(c, np.zeros(1))
        value = math.inf if found is None else float(found.log[0].real) + float(found.error[0])
        return value if value == value else math.inf

    def decays(self) -> bool:
        """Whether M decays along a line; for larger c it decays less, if the largest losses are atoms."""
        return self.log_limit(0.0) < self.about(0.0) - _FALLEN

    @abstractmethod
    def log_tail_bound(self, c: float, y: float) -> float:
        """ln of an upper bound of |M(c + i x)| for all x >= y, for y >= 0; infinite where none is known."""

    @abstractmethod
    def log_limit(self, c: float) -> float:
        """About ln of the limit superior of |M(c + i y)| for large y, for choosing tilts; minus infinity for 0."""


def from_excess(excess: NDArray[np.complex128], error: NDArray[np.float64]) -> Values:
    """ln(1 + excess) as `Values`, each excess right to the error."""
    real, imaginary = excess.real, excess.imag
    size = np.hypot(1 + real, imaginary)
    known = error < 0.25 * size
    with np.errstate(divide="ignore"):
        near = 0.5 * np.log1p(np.maximum(real * (2 + real) + imaginary**2, -1.0))
        height = np.where(size > 0.5, near, np.log(size))
    turn = np.arctan2(imaginary, 1 + real)
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = 1.5 * error / size + 4 * EPS * (np.abs(height) + np.abs(turn) + np.hypot(real, imaginary) / size)
        most = np.log(size + error)
    return Values(np.where(known, height + 1j * turn, most - VAGUE), np.where(known, wrong, VAGUE))


def from_scaled(sums: NDArray[np.complex128], error: NDArray[np.float64], top: float) -> Values:
    """ln(e**top sums) as `Values`, each sum right to the error."""
    size = np.abs(sums)
    known = error < 0.25 * size
    with np.errstate(divide="ignore", invalid="ignore"):
        height = np.log(size)
        wrong = 1.5 * error / size + 4 * EPS * (np.abs(height) + abs(top) + 4)
        most = np.log(size + error)
    log = np.asarray(top + np.where(known, height + 1j * np.angle(sums), most - VAGUE), dtype=np.complex128)
    return Values(log, np.where(known, wrong, VAGUE))


def log_sum(logs: NDArray[np.float64]) -> float:
    """ln of the sum of e**logs; minus infinity for an empty sum."""
    top = float(logs.max(initial=-math.inf))
    return top if not math.isfinite(top) else top + math.log(float(np.exp(logs - top).sum()))


def log_expm1(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(e**x - 1), elementwise; minus infinity for x <= 0."""
    positive = np.maximum(x, 0.0)
    with np.errstate(divide="ignore"):
        return positive + np.log(-np.expm1(-positive))


_NEAR, _USUAL = 8e-16, 64.0
"""Losses within this share of themselves, or of this multiple of the mean absolute loss, differ by rounding alone."""


def merged(losses: NDArray[np.float64], logs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The atoms in ascending order, those that differ by rounding alone merged, with the sums of both masses.

    By post-processing no divergence grows by merging outputs, and none falls by more than the rounding.
    """
    order = np.argsort(losses, kind="stable")
    losses, logs = losses[order], logs[order]
    sizes = np.abs(losses)
    # the sum below is at most 3 times the total variation, which so changes by 2e-13 of itself at most
    usual = _USUAL * float(np.exp(logs) @ np.minimum(sizes, 1.0))
    reach = _NEAR * np.maximum(sizes, min(float(np.max(sizes, initial=0.0)), usual))
    near = np.diff(losses) <= np.maximum(reach[1:], reach[:-1])
    if not near.any():
        return losses, logs
    if np.any(near[1:] & near[:-1]):
        near = _unchained(losses, reach, near)
    group = np.concatenate([[0], np.cumsum(~near)])
    first = np.full(group[-1] + 1, -math.inf)
    np.logaddexp.at(first, group, logs)
    base = losses[np.flatnonzero(np.concatenate([[True], ~near]))]
    offsets = np.bincount(group, np.exp(logs - first[group]) * (losses - base[group]))
    return base + offsets, first


def _unchained(losses: NDArray[np.float64], reach: NDArray[np.float64], near: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which losses join the one before, such that no group is wider than its first one's reach."""
    places = np.flatnonzero(near)
    begins = np.diff(places, prepend=-2) > 1  # of chains of near ones
    bases = places[begins][np.cumsum(begins) - 1]
    wide = losses[places + 1] - losses[bases] > np.maximum(reach[bases], reach[places + 1])
    if not wide.any():
        return near
    kept, base, begin = near.copy(), 0, -1
    for i, first in zip(places.tolist(), bases.tolist(), strict=True):
        if first != begin:
            base = begin = first
        if losses[i + 1] - losses[base] > max(reach[base], reach[i + 1]):
            kept[i], base = False, i + 1
    return kept
