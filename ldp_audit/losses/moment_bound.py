"""Bounds on delta of a sum from Renyi divergences, beside a loss that dominates the sum.

The divergences of order a of independent losses add up, so for every a > 1 (Canonne, Kamath, Steinke 2020, Proposition
12)

    ln delta(epsilon) <= (a - 1)(sum of D_a - epsilon) + a ln(1 - 1/a) - ln(a - 1).

A loss that dominates every neighbourhood at once is worse than each of them. In a sum of very many it lies further
above them than this bound, which is that of the worst neighbourhood at each order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS
from ldp_audit.losses.hulls import divergence_of, known_bound
from ldp_audit.losses.loss import Divergence, KnownLoss, PairLoss, Sides, log_delta_from_reversed, side
from ldp_audit.numerics import log1mexp

_PER_OCTAVE, _OCTAVES = 16, (-40, 40)
"""Orders are 1 + 2**(k/16)."""
_CLEARLY = 4.0
"""Where the hints for ln delta of the two bounds differ by this, only the smaller bound is computed: `epsilon_near` may
be wrong by 3."""

_ROUNDING, _OF_DIVERGENCE = 1e-13, 1e-11
"""The rounding of the exponent, and of a divergence that is the sum of thousands of logarithms."""

Part = tuple[PairLoss, int]


@dataclass(frozen=True, eq=False)
class MomentBound(PairLoss):
    """A sum with the smaller of two upper bounds, a dominating loss's and that of the moments; no lower bound.

    loss: dominates the sum.   parts: the summands with their times, as in `of_sum`.
    """

    loss: PairLoss
    parts: tuple[Part, ...]
    _near: dict[int, float] = field(default_factory=dict, init=False, repr=False)
    _sure: dict[int, float] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of_sum(cls, upper: PairLoss, losses: Sequence[Part]) -> PairLoss:
        """The loss that dominates a sum, with the moment bound of its summands beside it.

        Unchanged for a single loss, where a divergence would follow from a dominating list alone, or where all are
        known.
        """
        parts = [(one, count * times) for loss, times in losses for one, count in cls._summands(loss)]
        if sum(times for _, times in parts) == 1 or all(loss.known() for loss, _ in parts):
            return upper
        return upper if any(loss.divergence(2.0) is None for loss, _ in parts) else cls(upper, tuple(parts))

    @staticmethod
    def _summands(loss: PairLoss) -> Sequence[Part]:
        upper = side(loss, 1)
        known = upper.known()
        inner: Sequence[Part] = upper.sides().summands if known is None else known.summands()
        return inner if inner and inner[0][0] is not upper else ((loss, 1),)

    def supremum(self) -> float:
        """See `PairLoss`."""
        return self.loss.supremum()

    def reversed(self) -> MomentBound:
        """See `PairLoss`."""
        loss, parts = self.loss.reversed(), tuple((loss.reversed(), times) for loss, times in self.parts)
        same = loss is self.loss and all(one is two for (one, _), (two, _) in zip(parts, self.parts, strict=True))
        return self if same else MomentBound(loss, parts)

    def sides(self) -> Sides:
        """See `PairLoss`."""
        return Sides(self, self, summands=self.parts)

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: `ZERO_LOSS`, or the dominating loss."""
        return None if end is None else known_bound(self.loss, 1) if end else ZERO_LOSS

    def divergence(self, alpha: float) -> Divergence:
        """See `PairLoss`: the sum of the parts'."""
        return math.fsum(times * divergence_of(loss, alpha)[0] for loss, times in self.parts), False

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`."""
        if not 0 < epsilon < self.loss.supremum():
            return -math.inf, self.loss.log_delta_bounds(epsilon)[1]
        place = self._best(lambda k: self._log_delta(k, self._about(k), epsilon))
        about = self._log_delta(place, self._about(place), epsilon)
        law_is_above = about < -_CLEARLY and self.loss.epsilon_near(about + _CLEARLY) > epsilon
        law_is_below = self.loss.epsilon_near(min(0.0, about) - _CLEARLY) < epsilon
        of_law = 0.0 if law_is_above else self.loss.log_delta_bounds(epsilon)[1]
        of_moments = 0.0 if law_is_below else self._log_delta(place, self._bound(place), epsilon)
        return -math.inf, min(0.0, of_law, of_moments)

    def epsilon_near(self, log_delta: float) -> float:
        """See `PairLoss`."""

        def epsilon(k: int) -> float:
            return self._about(k) + (_log_lack(k) - log_delta) / _order(k)

        found = epsilon(self._best(epsilon))
        other = self.loss.epsilon_near(log_delta)
        return min(found, other) if not math.isnan(other) else found

    def _best(self, value: Callable[[int], float]) -> int:
        """The place of about the least value, which falls before it and rises after."""
        low, high = (octave * _PER_OCTAVE for octave in _OCTAVES)
        while high - low > 2:
            left, right = low + (high - low) // 3, high - (high - low) // 3
            low, high = (low, right) if value(left) <= value(right) else (left, high)
        return min(range(low, high + 1), key=value)

    @staticmethod
    def _log_delta(k: int, divergence: float, epsilon: float) -> float:
        exponent = _order(k) * (divergence - epsilon)
        return exponent + _log_lack(k) + _ROUNDING * (1 + abs(exponent))

    def _about(self, k: int) -> float:
        """About the sum's divergence: that of losses which the parts dominate."""
        if k not in self._near:
            lower = [(known_bound(loss, 0), loss, times) for loss, times in self.parts]
            # a loss of which only divergences are known has no distribution below it
            near = [(loss if bound is ZERO_LOSS else bound, times) for bound, loss, times in lower]
            self._near[k] = self._added(k, near)
        return self._near[k]

    def _bound(self, k: int) -> float:
        """An upper bound of the sum's divergence."""
        if k not in self._sure:
            self._sure[k] = self._added(k, self.parts) * (1 + _OF_DIVERGENCE)
        return self._sure[k]

    @staticmethod
    def _added(k: int, parts: Sequence[Part]) -> float:
        return math.fsum(times * divergence_of(loss, 1 + _order(k))[0] for loss, times in parts)


@dataclass(frozen=True, eq=False)
class RenyiLoss(PairLoss):
    """The loss of any pair whose Renyi divergences, in both orders, have these bounds; an upper bound alone.

    bound: from an order a >= 1 to an upper bound of D_a, nats, which does not fall with a; infinite where unknown.
    most: D_a <= most a for every order; infinite where unknown.

    delta is the least of the moment bound over orders, and at most sqrt(1 - e**-D_1), the Bretagnolle-Huber bound on
    the total variation, which delta(0) is.
    """

    bound: Callable[[float], float]
    most: float = math.inf

    def supremum(self) -> float:
        """See `PairLoss`: that of the divergences."""
        return self.bound(math.inf)

    def rho(self) -> float:
        """See `PairLoss`."""
        return self.most

    def reversed(self) -> RenyiLoss:
        """See `PairLoss`: the same."""
        return self

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: nothing is known below it."""
        return ZERO_LOSS if end == 0 else None

    def divergence(self, alpha: float) -> Divergence:
        """See `PairLoss`."""
        return self.bound(alpha), False

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`."""
        if epsilon < 0:
            return log_delta_from_reversed(epsilon, self.log_delta_bounds(-epsilon))
        first = self.bound(1.0)
        apart = 0.5 * log1mexp(-first) if first > 0 else -math.inf
        if epsilon >= self.supremum() or apart == -math.inf:
            return -math.inf, -math.inf
        moments = MomentBound(INFINITE_LOSS, ((self, 1),)).log_delta_bounds(epsilon)[1]
        return -math.inf, min(apart + _ROUNDING, moments)


def _order(k: int) -> float:
    """a - 1."""
    return 2.0 ** (k / _PER_OCTAVE)


def _log_lack(k: int) -> float:
    """a ln(1 - 1/a) - ln(a - 1)."""
    order = _order(k)
    return -(order + 1) * math.log1p(1 / order) - math.log(order)
