"""Membership of one client from anonymous counts alone, without linking reports.

For each weight and round the server knows the number of upper reports among n. The test adds up the counts'
log-likelihood ratios of two hypotheses about the client (optimal by Neyman and Pearson).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.shuffling.anonymous_counts import Chance, hypotheses, loss_of_count
from ldp_audit.mechanisms.inputs import in_interval, whole_numbers
from ldp_audit.numerics import whole
from ldp_audit.papers.ldp_fl.attacks.membership_simulation import SimulatedTest, simulate

__all__ = ["SimulatedTest", "score", "simulate"]


def score(
    counts: ArrayLike,
    n: int,
    epsilon: float,
    *,
    client: ArrayLike = 1.0,
    instead: ArrayLike | None = -1.0,
    others: ArrayLike = 0.0,
) -> NDArray[np.float64]:
    """The summed log-likelihood ratio, nats: positive values favour `client`, negative ones `instead`.

    counts: upper reports among n, whole numbers 0 .. n, shape (..., m): m weights or rounds.   n: clients.
    epsilon: of each report, nats, > 0.   client: the hypothetical weights, in [-1, 1] as (w - c)/r, shape (m,) or one.
    instead: the alternative weights; None: no reports, so that n - 1 others reported.
    others: the other clients' average weights, in the same units, which the global model approximates. Unless they are
        all equal the score is not the exact ratio, but still a test.
    returns: shape (...).   Raises ValueError for bad input.
    """
    whole(n, "n")
    seen = whole_numbers("counts", np.asarray(counts), 0, n)
    if seen.ndim == 0 or seen.shape[-1] == 0:
        raise ValueError(f"counts must have shape (..., m) with m >= 1, got shape {seen.shape}")
    first = _chance("client", client, epsilon)
    second = Chance(0.0, 1.0) if instead is None else _chance("instead", instead, epsilon)
    losses = loss_of_count(seen, n, first, second, _chance("others", others, epsilon))
    if losses.shape != seen.shape:
        raise ValueError(f"client, instead and others must broadcast to counts of shape {seen.shape}")
    return losses.sum(axis=-1)


def _chance(name: str, weights: ArrayLike, epsilon: float) -> Chance:
    x = in_interval(name, np.asarray(weights, dtype=np.float64), -1.0, 1.0)
    end, _ = hypotheses(epsilon, "other end")
    above, below = (1 + x) / 2, (1 - x) / 2
    return Chance(above * end.upper + below * end.lower, below * end.upper + above * end.lower)
