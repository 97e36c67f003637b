"""Whether one client took part, from anonymous counts alone: no report is linked to another.

The server knows, for each weight and round, how many of the n reports were upper ones. For each count it takes the
log-likelihood ratio of two hypotheses about the client, and adds them up (Neyman and Pearson: no test does better).
Weights may differ in all: the sum is over what is observed, and the client's weights are what the server suspects.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.membership_simulation import SimulatedTest, simulate
from ldp_audit.accounting.shuffling.anonymous_counts import Chance, check_clients, hypotheses, loss_of_count
from ldp_audit.mechanisms.inputs import in_interval, whole_numbers

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
    """The summed log-likelihood ratio, nats: above 0 the counts speak for `client`, below for `instead`.

    counts: upper reports among n, whole numbers 0 .. n, shape (..., m): m weights or rounds.   n: clients.
    epsilon: of each report, nats, > 0.   client: the suspected weights, in [-1, 1] as (w - c)/r, shape (m,) or one.
    instead: what the client has sent otherwise; None: nothing, so that n - 1 others reported.
    others: the other clients' weights on average, likewise; the global model is a good guess. Where they are not alike,
    the score is no longer the exact ratio, but still a test.
    returns: shape (...).   Raises ValueError for bad input.
    """
    check_clients(n)
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
    """Of an upper report, at weights in [-1, 1]."""
    x = in_interval(name, np.asarray(weights, dtype=np.float64), -1.0, 1.0)
    end, _ = hypotheses(epsilon, "other end")
    above, below = (1 + x) / 2, (1 - x) / 2
    return Chance(above * end.upper + below * end.lower, below * end.upper + above * end.lower)
