"""The loss of a record that draws with replacement took once or more: a mixture over how often, each a group's loss."""

from __future__ import annotations

import math

import numpy as np

from ldp_audit.accounting.laws.binomial_terms import log_binomial
from ldp_audit.accounting.laws.finite_losses import as_atoms, log_sum
from ldp_audit.accounting.laws.improper_loss import log_lacking
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.laws.profile_hull import dominating_atoms
from ldp_audit.accounting.sampling.group_loss import group_losses, pure_loss
from ldp_audit.accounting.sampling.loss_mixture import LossMixture, Part, mixture
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate
from ldp_audit.mechanisms.randomness import log_ratio

_MOST_COPIES, _MOST_ATOMS = 200, 2**18
_LOG_NEGLIGIBLE = -760.0
"""ln of a probability that no float holds."""


def copies_loss(law: LossLaw, n: int, k: int) -> LossLaw:
    """The loss given that a record is drawn by k draws from n records, with each number of copies told.

    law: of one copy, its own mirror image.   returns: a law that dominates, as the groups' losses do, and whose masses
    are known. More copies than 200 count as k.
    """
    law = as_atoms(law, _MOST_ATOMS) or (law if hasattr(law, "masses") else dominating_atoms(law))
    if n == 1:
        return _many(law, k)
    drawn = SamplingRate.with_replacement(n, k).log_drawn
    counts = np.arange(1.0, min(k, _MOST_COPIES) + 1)
    logs = log_binomial(counts, float(k), log_ratio(1, n), log_ratio(n - 1, n)) - drawn
    likely = np.flatnonzero(logs > _LOG_NEGLIGIBLE)
    if not likely.size:
        return _many(law, k)
    kept = int(likely[-1]) + 1
    parts = list(zip(logs[:kept].tolist(), group_losses(law, kept), strict=True))
    if kept == k:
        return mixture([(log, 0.0, part) for log, part in parts])
    told = log_sum(logs[:kept])
    main = mixture([(log - told, 0.0, part) for log, part in parts])
    # kept apart, so that losses k times as large do not take the digits of the others
    return LossMixture((Part(told, 0.0, main), Part(_log_more(n, k, kept, told, drawn), 0.0, _many(law, k))))


def _many(law: LossLaw, k: int) -> LossLaw:
    """The loss of k copies: told exactly for few. Its masses are known."""
    if k <= _MOST_COPIES:
        return list(group_losses(law, k))[-1]
    pure = pure_loss(k * law.largest())
    return as_atoms(pure) or pure


def _log_more(n: int, k: int, kept: int, told: float, drawn: float) -> float:
    """ln of the probability of more copies than are told, at least: the next one's, times a geometric series."""
    following = log_binomial(np.array([kept + 1.0]), float(k), log_ratio(1, n), log_ratio(n - 1, n))[0] - drawn
    ratio = (k - kept - 1) / ((kept + 2) * (n - 1))
    if ratio > 0.5:
        return log_lacking(min(told, 0.0))
    return float(following) - math.log1p(-ratio)
