r"""What a mixture over numbers of copies gives away, given the cells of a chain (`chain_cells`).

A record is drawn j times with probability w_j. Without it the outputs have the law P_0, with it sum_j w_j P_j, so by

    sum over j of w_j P_j(S) <= sum over j of w_j F_j(P_0(S))        for every set S of outputs

no mechanism with the power curve F gives away more than the chain, whose loss is ln sum_j w_j P_j/P_0 in each cell.
That is tight, while Theorem 10 of Balle, Barthe, Gaboardi (2018) takes the best set for each j by itself.

If the record is replaced by another, the law without it is sum_j w_j Q_j, with Q_0 = P_0. By P_j(S) <= F_j(Q_i(S)) for
i <= j only the least of Q_0(S), ..., Q_j(S) matters, so that for t >= 1

    delta(t) = max over c_0 >= c_1 >= ... of   sum over j of w_j (F_j(c_j) - t c_j)  =  sum over cells of
               P_0(cell) max over i of (sum over j <= i of w_j (r_j - t))_+,          r_j = P_j(cell)/P_0(cell).

A mechanism attains it at each t: one with P_j(S) = F_j(c_j), Q_j(S) = c_j for the best c. As ln r_j is concave in j,
the best i pools the first ones, until the next ratio is below their mean, and takes the others singly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.finite_losses import NOTHING, atoms_of, log_sum
from ldp_audit.accounting.laws.improper_loss import log_lacking
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.sampling.chain_cells import ChainCells
from ldp_audit.accounting.sampling.fewer_losses import Masses, fewer

Numbers = NDArray[np.float64]

_LARGE = 700.0
"""Losses whose exponential is still a float."""


class Pools(NamedTuple):
    """How many numbers of copies are pooled in each cell, ln of their weight and of the pool's ratio, shape (m,)."""

    pooled: NDArray[np.int64]
    log_weights: Numbers
    losses: Numbers


def mixture_of_chain(
    cells: ChainCells, counts: NDArray[np.int64], logs: Numbers, *, replaced: bool, merging: int = 0
) -> LossLaw:
    """The law of the loss; for replaced records right above 0 alone, as `symmetric` needs it.

    counts: numbers of copies, ascending, shape (j,).   logs: ln of their probabilities.
    merging: if not 0, to how many losses those of copies that are not pooled are merged, from below.
    """
    ratios = cells.log_ratios[counts]
    infinite = log_sum(cells.log_infinite[counts] + logs)
    if not replaced:
        losses = mean_losses(ratios, logs)
        shared = losses > -np.inf
        finite, sizes = losses[shared], cells.log_sizes[shared]
        return atoms_of(finite, sizes + finite, infinite, log_sum(cells.log_sizes[~shared]))
    pools = pools_of(ratios, logs)
    single = np.arange(counts.size)[:, None] >= pools.pooled
    above = single & (ratios > 0)
    singles = Masses(ratios[above], (cells.log_sizes + logs[:, None])[above])
    if merging:
        singles = fewer(singles, merging, 0)
    losses = np.concatenate([pools.losses, singles.losses])
    seconds = np.concatenate([cells.log_sizes + pools.log_weights, singles.seconds])
    return upper_half(losses, seconds, infinite)


def upper_half(losses: Numbers, log_seconds: Numbers, log_infinite: float) -> LossLaw:
    """A law with these losses above 0 and their masses under Q; the rest of both laws has the loss that is left."""
    kept = losses > 0
    losses, seconds = losses[kept], log_seconds[kept]
    log_first = float(np.logaddexp(log_sum(seconds + losses), log_infinite))
    if log_first == -np.inf:
        return NOTHING
    rest, other = -np.expm1(min(log_first, 0.0)), -np.expm1(min(log_sum(seconds), 0.0))
    if rest <= 0:  # to all digits: what Q has besides, P lacks
        return atoms_of(losses, seconds + losses, log_infinite, log_lacking(log_sum(seconds)))
    losses = np.append(losses, np.log(rest) - np.log(other))
    return atoms_of(losses, np.append(seconds, np.log(other)) + losses, log_infinite)


def pools_of(log_ratios: Numbers, logs: Numbers) -> Pools:
    """For ratios of shape (j, m) and weights of shape (j,)."""
    means = prefix_means(log_ratios, logs)
    last = last_pooled(log_ratios, means)
    return Pools(last + 1, np.logaddexp.accumulate(logs)[last], means[last, np.arange(last.size)])


def last_pooled(log_ratios: Numbers, means: Numbers) -> NDArray[np.int64]:
    """The last of the numbers of copies that are pooled: the next ratio is below their mean. Shape (m,)."""
    ends = np.vstack([log_ratios[1:] <= means[:-1], np.ones(means.shape[1], dtype=bool)])
    return np.argmax(ends, axis=0)


def mean_losses(log_ratios: Numbers, logs: Numbers) -> Numbers:
    """ln of the mean ratio, with all digits also near 0. Shapes (j, m) and (j,); returns (m,)."""
    top = np.max(log_ratios, axis=0)
    small = top <= _LARGE
    near = np.full(top.size, np.inf)
    near[small] = np.exp(logs) @ np.expm1(log_ratios[:, small])
    exact = np.abs(near) < 0.5
    found = np.log1p(np.where(exact, near, 0.0))
    found[~exact] = np.logaddexp.reduce(log_ratios[:, ~exact] + logs[:, None], axis=0)
    return found


def prefix_means(log_ratios: Numbers, logs: Numbers) -> Numbers:
    """ln of the mean of the first ratios, for all numbers of them, shape (j, m)."""
    log_weights = np.logaddexp.accumulate(logs)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        excess = np.cumsum(np.exp(logs)[:, None] * np.expm1(np.minimum(log_ratios, _LARGE)), axis=0)
        near = excess / np.exp(log_weights)
        exact = (np.maximum.accumulate(log_ratios, axis=0) <= _LARGE) & (np.abs(near) < 0.5)
        found = np.log1p(np.where(exact, near, 0.0))
        if not exact.all():
            large = np.logaddexp.accumulate(log_ratios + logs[:, None], axis=0) - log_weights
            found = np.where(exact, found, large)
    return found
