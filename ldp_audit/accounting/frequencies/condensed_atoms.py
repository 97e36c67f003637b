"""Very many losses by some hundred: good enough to choose tilts for any number of them; no bound rests on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.loss_atoms import LossAtoms

_GROUPS = 512
"""Of so many groups of equal width, and of so many of equal size, each is two losses."""


def condensed(law: LossAtoms) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Losses, in any order, and ln of their masses, shape (m,) each: few, with the first three moments of the law's.

    Two losses for each group, with its mass, mean and variance. So the mean of a billion losses is right to a part of
    their deviation, also under a tilt that changes little within a group.
    """
    losses, logs = law.losses, law.log_probabilities
    if losses.size <= 2 * _GROUPS:
        return losses, logs
    evenly = np.searchsorted(losses, np.linspace(losses[0], losses[-1], _GROUPS))
    starts = np.unique(np.concatenate([evenly, np.linspace(0, losses.size - 1, _GROUPS).astype(np.int64)]))
    tops = np.maximum.reduceat(logs, starts)
    groups = np.repeat(np.arange(starts.size), np.diff(starts, append=losses.size))
    shares = np.exp(logs - tops[groups])
    totals = np.add.reduceat(shares, starts)
    means = np.add.reduceat(shares * losses, starts) / totals
    spreads = np.sqrt(np.add.reduceat(shares * (losses - means[groups]) ** 2, starts) / totals)
    half = tops + np.log(totals / 2)
    return np.concatenate([means - spreads, means + spreads]), np.concatenate([half, half])
