"""A law with what it leaves out: losses so rare that no float tells their chance, and no larger than a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldp_audit.accounting.laws.bracketed_loss import known_end
from ldp_audit.accounting.laws.finite_losses import EVERYTHING
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.sampling.loss_mixture import mixture


@dataclass(frozen=True, eq=False)
class RareLoss:
    """Nearly the told law, in both orders of the pair.

    told: the law without them.   log_rare: ln of the chance of others under P, below that of any float.
    bound: the supremum of all, nats.   back: that of the mirrored law.
    back_first: whether it is the mirrored law, of whose own losses none is rare.
    """

    told: LossLaw
    log_rare: float
    bound: float
    back: float
    back_first: bool = False

    exact = False

    def largest(self) -> float:
        """See `LossLaw`."""
        return self.bound

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`: above, the rare losses count whole at every level below their bound."""
        if epsilon >= self.bound:
            return -math.inf, -math.inf
        low, high = self.told.log_delta_bounds(epsilon)
        return low, high if self.back_first else min(0.0, float(np.logaddexp(high, self.log_rare)))

    def mirrored(self) -> RareLoss:
        """The loss of (Q, P)."""
        return RareLoss(self.told.mirrored(), self.log_rare, self.back, self.bound, not self.back_first)

    def enclosed(self) -> tuple[LossLaw, LossLaw]:
        """The told law, and that with the rare losses as infinite ones."""
        return self.enclosed_end(0), self.enclosed_end(1)

    def enclosed_end(self, end: int) -> LossLaw:
        """One of these alone: the lower (0) or the upper (1) one."""
        told = known_end(self.told, end)
        if not end or self.back_first:
            return told
        return mixture([(0.0, 0.0, told), (self.log_rare, 0.0, EVERYTHING)])
