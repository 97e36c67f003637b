"""The loss of FedSel's EXP: a ranking against its reverse, where rank i meets rank d + 1 - i.

The j-th rank from the top has the loss (d + 1 - 2j) epsilon / (d - 1), its probability falls geometrically. Where d is
too large for a list, neighbouring ranks are taken together: as one output, which only loses information, for a law that
is dominated; with the largest of their losses for all of them, for one that dominates. Both keep the probabilities.
"""

from __future__ import annotations

import math

import numpy as np

from ldp_audit.accounting.laws.bracketed_loss import BracketedLoss
from ldp_audit.accounting.laws.finite_losses import symmetric_law
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.mechanisms.exponential_selection import ExponentialSelection

_MOST_RANKS = 200_000


def selection_loss(mechanism: ExponentialSelection, most: int = _MOST_RANKS) -> LossLaw:
    """Exactly for d up to twice `most`; between two laws beyond, epsilon / `most` apart in every loss."""
    m, half = mechanism, mechanism.d // 2
    if half <= most:
        ahead = np.arange(m.d - 1, 0, -2)
        return symmetric_law(m.epsilon * (ahead / (m.d - 1)), m.rank_log_probs()[::-1][:half])
    edges = np.linspace(0, half, most + 1).astype(np.int64)
    start, width, step = edges[:-1], np.diff(edges), m.epsilon / (m.d - 1)
    together = np.log(np.expm1(-step * width) / math.expm1(-step)) if step else np.log(width)
    logs = m.top_log_prob() - step * start + together
    first = m.d - 1 - 2 * start  # the block's largest loss, in steps; the loss of the merged block is the middle one
    lower, upper = (symmetric_law(m.epsilon * (steps / (m.d - 1)), logs) for steps in (first - (width - 1), first))
    return BracketedLoss(lower, upper)
