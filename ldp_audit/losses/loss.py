"""What a privacy-loss law must answer: the two roles that every law of this room plays.

For an ordered pair (P, Q) of output laws the privacy loss is L = ln (dP/dQ)(Y) with Y drawn from P; it is infinite
where Q has nothing. Its hockey-stick divergence is

    delta(epsilon) = E[(1 - e**(epsilon - L))_+].

A pair dominates a mechanism if its delta is at least that of every pair of neighbours, in this direction, at every
epsilon; domination is kept by composition (Zhu, Dong, Wang, AISTATS 2022, Theorem 10).

A loss that may be infinite, as a finite one and the two masses that never meet.

If P puts the mass a on outputs that Q has too, and Q the mass b on outputs that P has too, then the loss is infinite
with probability 1 - a, and else that of the two conditional laws, moved by ln(a/b). T independent ones: the
conditional laws compose, and the masses are a**T and b**T. So whatever is exact for finite losses is exact for these.

Levels below 0, from those above 0 of the pair in the other order; of a symmetric law, from its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ldp_audit.numerics import log_lacking


class LossLaw(Protocol):
    """The privacy loss of one ordered pair that dominates.

    exact: the two ends of `log_delta_bounds` are one number, right to 1e-12 of itself for losses rounded as floats are:
    it is that of an epsilon within a few units in the last place of the largest loss.
    """

    @property
    def exact(self) -> bool:
        """Whether the two ends below are the same."""
        ...

    def largest(self) -> float:
        """The supremum of the loss, nats: infinite where P has mass that Q lacks, or where no ratio is the last."""
        ...

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Natural logarithms of a lower and an upper end of delta(epsilon); -inf for a true 0 alone.

        epsilon: nats, any real number or an infinity.
        """
        ...

    def mirrored(self) -> LossLaw:
        """The law of the pair (Q, P)."""
        ...


class CellMasses(NamedTuple):
    """Masses of cells of the loss, as logarithms.

    first, second: ln P(cell) and ln Q(cell) for (-inf, e_0], (e_0, e_1], ..., (e_last, inf), shape (m + 1,).
    infinite: ln P(loss = inf), which no cell contains.   missing: ln of the mass that Q has where P has none, likewise.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    infinite: float
    missing: float


class DiscretisableLaw(LossLaw, Protocol):
    """A law that also knows the masses of cells, so that it can be put on a grid."""

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """The masses between the edges, right to about 1e-15 of themselves.

        edges: nats, ascending, finite, shape (m,), m >= 1.
        """
        ...


@dataclass(frozen=True)
class ImproperLoss:
    """The loss of two laws of which parts have nothing in common.

    common: the law of the finite loss, of the two conditional laws; itself never infinite in either order.
    log_first, log_second: ln of a and of b, at most 0; minus infinity where the laws have nothing in common at all.
    Raises ValueError for logarithms above 0, and where only one is minus infinity.
    """

    common: LossLaw
    log_first: float
    log_second: float

    def __post_init__(self) -> None:
        ends = (self.log_first, self.log_second)
        if not all(end <= 0 for end in ends) or (self.log_first == -math.inf) != (self.log_second == -math.inf):
            raise ValueError(f"log_first and log_second must be logarithms of masses, got {ends!r}")

    @property
    def exact(self) -> bool:
        """See `LossLaw`."""
        return self.common.exact

    @property
    def shift(self) -> float:
        """ln(a/b): how far the finite loss is moved."""
        return self.log_first - self.log_second if self.log_first > -math.inf else 0.0

    def largest(self) -> float:
        """See `LossLaw`."""
        if self.log_first < 0:
            return math.inf
        top, shift = self.common.largest(), self.shift
        return top + shift + (2 * math.ulp(abs(top) + abs(shift)) if top and shift and top < math.inf else 0.0)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`: the infinite loss counts whole at every level."""
        infinite = log_lacking(self.log_first)
        if self.log_first == -math.inf:
            return infinite, infinite
        if self.log_first == 0 and epsilon >= self.largest():  # the moved level may be rounded below the top
            return -math.inf, -math.inf
        low, high = self.common.log_delta_bounds(epsilon - self.shift)
        return float(np.logaddexp(infinite, self.log_first + low)), float(np.logaddexp(infinite, self.log_first + high))

    def epsilon_near(self, log_delta: float) -> float:
        """A hint where the level with this ln delta lies, nats; not a number where there is none."""
        return self.shift + hint_of(self.common, log_delta - self.log_first)

    def mirrored(self) -> ImproperLoss:
        """The loss of (Q, P)."""
        return ImproperLoss(self.common.mirrored(), self.log_second, self.log_first)

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `DiscretisableLaw`; for a `common` that is one."""
        common: DiscretisableLaw = self.common  # type: ignore[assignment]
        inner = common.masses(edges - self.shift)
        return CellMasses(
            inner.first + self.log_first,
            inner.second + self.log_second,
            log_lacking(self.log_first),
            log_lacking(self.log_second),
        )


def hint_of(law: LossLaw, log_delta: float) -> float:
    """About the level with this ln delta, nats, if the law can tell; else not a number. No claim rests on it."""
    near = getattr(law, "epsilon_near", None)
    return float(near(log_delta)) if callable(near) else math.nan  # type: ignore[arg-type]


def log_finite(logs: NDArray[np.float64], log_rest: float) -> float:
    """ln of what the masses e**logs add up to, which with e**log_rest make 1: from whichever of the two is smaller."""
    return min(0.0, float(np.logaddexp.reduce(logs))) if log_rest > -0.7 and logs.size else log_lacking(log_rest)


_ROUNDING = 16 * 2.0**-52


def of_mirrored(epsilon: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Both ends of ln delta(epsilon) = ln(1 - e**epsilon (1 - delta')), for delta' at -epsilon of the mirror image.

    epsilon: nats, < 0, minus infinity allowed.   ends: of ln delta'.   They are moved outwards by their rounding.
    """
    if epsilon == -math.inf:
        return 0.0, 0.0
    rest = [epsilon + log_lacking(end) for end in ends]
    low, high = (log_lacking(one) for one in rest)
    least, most = (
        _ROUNDING * (abs(value) * (1 + abs(one)) + math.exp(one)) for value, one in zip((low, high), rest, strict=True)
    )
    return low - least - math.ulp(0.0), min(0.0, high + most + math.ulp(0.0))
