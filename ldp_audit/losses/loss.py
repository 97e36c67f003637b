"""The contract of a privacy loss, `PairLoss`, and of its moment-generating function, `Transform`.

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
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.numerics import log1mexp, refuse_class

if TYPE_CHECKING:
    from ldp_audit.losses.discrete_loss import DiscreteLoss

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


Divergence = tuple[float, bool]
"""Nats, and whether it is exact but for rounding; else an upper bound."""


class PairLoss(ABC):
    """The privacy loss of one ordered pair (P, Q) of distributions.

    Three members are abstract: `supremum`, `log_delta_bounds` and `reversed`. All others are derived from these three
    here, and a class overrides those for which it knows more:

    * bounds on delta: `exact` where both are one number; `epsilon_near`, `side`, `supremum_lower_bound` for a search;
    * the distribution: `discretisable` with `masses`, `atoms` where it is a short list, `known_bound` where only delta
      is known;
    * sums: `summands` of a sum, `finite_part` of a loss with mass at infinity, `repeated`, and `transform`;
    * closed forms: `divergence` (by `_divergence`), `dominating_gaussian`, `group`.
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

    def side(self, end: int) -> PairLoss:  # noqa: ARG002
        """The loss whose lower (0) or upper (1) bound on delta is this one's, without the other bound's work."""
        return self

    def attained(self) -> tuple[PairLoss, ...]:
        """Losses of certain pairs of neighbours, where this one need be no pair's; none where it is."""
        return ()

    def supremum_lower_bound(self) -> float:
        """A lower bound of the supremum, nats."""
        lower = self if self.exact else self.known_bound(0)
        return self.supremum() if lower is self else lower.supremum_lower_bound()

    @property
    def discretisable(self) -> bool:
        """Whether `masses` is implemented."""
        return False

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """The masses between the edges, right to about 1e-15 of themselves, for a discretisable loss.

        edges: nats, ascending, finite, shape (m,), m >= 1.
        """
        raise NotImplementedError(f"{type(self).__name__} knows no masses between {edges!r}")

    def atoms(self, most: int = 1000) -> DiscreteLoss | None:  # noqa: ARG002
        """All values of the loss with their probabilities; None for infinitely many, or more than `most`."""
        return None

    @property
    def known(self) -> bool:
        """Whether the distribution is known; if not, a sum is bounded by those of the two `known_bounds`."""
        return self.discretisable

    def known_bound(self, end: int) -> PairLoss:
        """A known loss dominated by this one (0), or one that dominates it (1); itself where it is known."""
        return self if self.known else self._enclosures[end]

    def known_bounds(self) -> tuple[PairLoss, PairLoss]:
        """Both known bounds."""
        return self.known_bound(0), self.known_bound(1)

    @cached_property
    def _enclosures(self) -> tuple[PairLoss, PairLoss]:
        from ldp_audit.losses.hulls import atoms_above, atoms_below

        return atoms_below(self), atoms_above(self)

    @cached_property
    def _deep_atoms(self) -> DiscreteLoss:
        from ldp_audit.losses.hulls import DEEPEST_FOR_ORDERS, dominating_atoms

        return dominating_atoms(self, DEEPEST_FOR_ORDERS)

    def summands(self) -> Sequence[tuple[PairLoss, int]]:
        """The losses of a sum with their times; any other loss is its only summand."""
        return ((self, 1),)

    def finite_part(self) -> tuple[PairLoss, float, float]:
        """The loss given that it is finite in both orders, and ln of the masses of P and of Q there."""
        return self, 0.0, 0.0

    def repeated(self, times: int) -> PairLoss | None:
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

    def group(self, records: int) -> PairLoss | None:
        """The loss of a group of `records`, from that of one record; None where only its supremum gives a bound."""
        return self if records == 1 else None

    @property
    def moments_known(self) -> bool:
        """Whether `divergence` is tighter than that of a dominating `DiscreteLoss`."""
        return False

    def divergence(self, alpha: float) -> Divergence:
        """The Renyi divergence of order alpha, >= 1 or infinite; 0 only for a loss that is always 0."""
        value, exact = (self.supremum(), self.exact) if math.isinf(alpha) else self._divergence(alpha)
        if value < sys.float_info.min and self.supremum() > 0:  # subnormal or underflowed
            return max(value, 0.0) + 2 * math.ulp(0.0), False
        return value, exact

    def _divergence(self, alpha: float) -> Divergence:
        """The divergence of a finite order, rounded as floats are."""
        from ldp_audit.losses.hulls import dominating_divergence

        parts = self.summands()
        if parts[0][0] is self:
            return dominating_divergence(self, self._deep_atoms, alpha), False
        found = [(times, *one.divergence(alpha)) for one, times in parts]
        return math.fsum(times * value for times, value, _ in found), all(exact for _, _, exact in found)


def pair_loss_of(mechanism: Any) -> PairLoss:
    """The loss of the pair that dominates a mechanism: its own, or that of its stated profile.

    mechanism: a `Mechanism`, a loss, or any object with `delta(epsilon)` and `exact_epsilon()`, whose values are
    trusted; ValueError for others.
    """
    if isinstance(mechanism, PairLoss):
        return mechanism
    refuse_class(mechanism, "mechanism")
    own: Callable[[], PairLoss] | None = getattr(mechanism, "pair_loss", None)
    if own is not None:
        return own()
    if not all(callable(getattr(mechanism, name, None)) for name in ("delta", "exact_epsilon")):
        raise ValueError(f"mechanism must have delta and exact_epsilon, or be a loss, got {mechanism!r}")
    from ldp_audit.losses.profile_loss import loss_of_profile

    return loss_of_profile(mechanism)


@dataclass(frozen=True)
class LossWithInfinity(PairLoss):
    """A loss with mass at infinity, in either order, from the loss on the common support.

    common: the loss of the two conditional distributions, never infinite in either order.
    log_first, log_second: ln of a and of b, at most 0; minus infinity for disjoint supports.
    Raises ValueError for logarithms above 0, and where only one is minus infinity.
    """

    common: PairLoss
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

    def finite_part(self) -> tuple[PairLoss, float, float]:
        """See `PairLoss`."""
        return self.common, self.log_first, self.log_second

    def atoms(self, most: int = 1000) -> DiscreteLoss | None:
        """See `PairLoss`."""
        common = self.common.atoms(most)
        if common is None:
            return None
        logs = common.log_probabilities + self.log_first
        infinite, missing = log1mexp(self.log_first), log1mexp(self.log_second)
        losses = common.losses + self.shift
        return replace(common, losses=losses, log_probabilities=logs, log_infinite=infinite, log_missing=missing)

    def _divergence(self, alpha: float) -> Divergence:
        if self.log_first < 0:
            return math.inf, True
        value, exact = self.common.divergence(alpha)
        return value + self.shift, exact

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

    @property
    def discretisable(self) -> bool:
        """See `PairLoss`."""
        return self.common.discretisable

    @property
    def known(self) -> bool:
        """See `PairLoss`."""
        return self.common.known

    def known_bound(self, end: int) -> PairLoss:
        """See `PairLoss`."""
        return self if self.known else replace(self, common=self.common.known_bound(end))

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `PairLoss`."""
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
