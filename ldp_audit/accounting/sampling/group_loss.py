"""The loss of the worst mechanism of a pure epsilon: all that is known of some groups of records.

A group of j records has at most the two losses j e0 and -j e0 if one record's are at most e0.
"""

from __future__ import annotations

import math

from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.finite_losses import EVERYTHING, NOTHING
from ldp_audit.accounting.laws.loss_law import LossLaw


def pure_loss(epsilon: float) -> LossLaw:
    """The loss of the worst mechanism of a pure epsilon, nats, >= 0 or infinite."""
    if epsilon == 0:
        return NOTHING
    return BinomialLoss(epsilon, -epsilon, 1) if math.isfinite(epsilon) else EVERYTHING
