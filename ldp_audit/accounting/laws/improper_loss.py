"""A loss that may be infinite, as a finite one and the two masses that never meet.

If P puts the mass a on outputs that Q has too, and Q the mass b on outputs that P has too, then the loss is infinite
with probability 1 - a, and else that of the two conditional laws, moved by ln(a/b). T independent ones: the
conditional laws compose, and the masses are a**T and b**T. So whatever is exact for finite losses is exact for these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.loss_law import CellMasses, DiscretisableLaw, LossLaw


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


def log_lacking(log_mass: float) -> float:
    """ln(1 - e**log_mass), right to the last digits at both ends; 0 for no mass alone."""
    if log_mass >= 0:
        return -math.inf
    if log_mass > -0.7:
        return math.log(-math.expm1(log_mass))
    return min(math.log1p(-math.exp(log_mass)), -math.ulp(0.0)) if log_mass > -math.inf else 0.0


def log_finite(logs: NDArray[np.float64], log_rest: float) -> float:
    """ln of what the masses e**logs add up to, which with e**log_rest make 1: from whichever of the two is smaller."""
    return min(0.0, float(np.logaddexp.reduce(logs))) if log_rest > -0.7 and logs.size else log_lacking(log_rest)
