"""The loss of FedSel's EXP: a ranking against its reverse, where rank i meets rank d + 1 - i.

The j-th rank from the top has the loss (d + 1 - 2j) epsilon / (d - 1), its probability falls geometrically. Where d is
too large for a list, neighbouring ranks are taken together: as one output, which only loses information, for a law that
is dominated; and, for one that dominates, as the two outputs at the ends of the block between which its two
probabilities are divided such that both sums are kept ('connecting the dots', Doroshenko et al., PETS 2022). With the
half-width h of the block's losses the upper end then has the share e**h / (1 + e**h).
"""

from __future__ import annotations

import math

import numpy as np

from ldp_audit.losses.enclosed_loss import BracketedLoss
from ldp_audit.losses.finite_losses import symmetric_law
from ldp_audit.losses.loss import LossLaw
from ldp_audit.mechanisms.exponential_selection import ExponentialSelection

_MOST_RANKS, _BLOCKS = 200_000, 20_000


def selection_loss(mechanism: ExponentialSelection, most: int = _MOST_RANKS, blocks: int = _BLOCKS) -> LossLaw:
    """Exactly for d up to twice `most`; else between two laws of `blocks` blocks, or `most` if these are fewer.

    A block's losses are epsilon / `blocks` wide, and the laws differ as the square of that.
    """
    m, half = mechanism, mechanism.d // 2
    if half <= most:
        ahead = np.arange(m.d - 1, 0, -2)
        return symmetric_law(m.epsilon * (ahead / (m.d - 1)), m.rank_log_probs()[::-1][:half])
    edges = np.linspace(0, half, min(blocks, most) + 1).astype(np.int64)
    start, width, step = edges[:-1], np.diff(edges), m.epsilon / (m.d - 1)
    together = np.log(np.expm1(-step * width) / math.expm1(-step)) if step else np.log(width)
    logs = m.top_log_prob() - step * start + together
    first, apart = m.d - 1 - 2 * start, width - 1  # the block's largest loss and half its width, in steps
    middle, top, bottom = (m.epsilon * (steps / (m.d - 1)) for steps in (first - apart, first, first - 2 * apart))
    share = -np.log1p(np.exp(-step * apart))
    upper = symmetric_law(np.append(top, bottom), np.append(logs + share, logs + share - step * apart))
    return BracketedLoss(symmetric_law(middle, logs), upper)
