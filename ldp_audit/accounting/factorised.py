"""Correlated noise over the steps of a stream: a matrix factorisation, and tree aggregation as one of its strategies.

The sums A x of a stream x of steps are released as B(C x + sigma z), A = B C, with Gaussian z; privacy is that of C x +
sigma z. A record contributes a vector of norm at most 1 to some of the steps, its participations: at most so many, and
any two at least so many steps apart (min-separation). With G = C^T C, it moves C x by at most

    the largest over its sets of steps S of sqrt(sum over i, j in S of |G_ij|),

which is attained, by one vector in all its steps, where no G_ij is negative. The loss is that of Gaussian noise moved
so far, for steps that depend on what was released before, too.

That maximum is enclosed. From above, each i in S counts at most r_i, the largest sum over j of |G_ij| that a set with i
allows, and the largest sum of r_i over a set follows step by step. From below, sets that are tried.

Sources: Denisov, McMahan, Rush, Smith, Thakurta (NeurIPS 2022), Theorem 2.1, on adaptive streams; Choquette-Choo,
McMahan, Rush, Thakurta (ICML 2023) and Choquette-Choo et al. (NeurIPS 2023) on participations; Dwork, Naor, Pitassi,
Rothblum (STOC 2010), Chan, Shi, Song (TISSEC 2011) on trees.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.discrete_loss import ZERO_LOSS
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.mechanisms.inputs import finite
from ldp_audit.numerics import positive, whole

UNIT = "a record's contribution to a step has norm 1 at most, and one that is absent contributes 0"
_ROUNDING = 1e-12
_TRIED = 64
"""Sets of evenly spaced steps that are tried."""


def tree(steps: int) -> NDArray[np.float64]:
    """The strategy of tree aggregation: a row for each node of a binary tree over the steps, of ones at its leaves.

    steps: >= 1.   returns: shape (nodes, steps); a step lies below at most 1 + ceil(log2 steps) nodes.
    """
    count, width, rows = whole(steps, "steps", 1, 2**14), 1, []
    while True:
        starts = np.arange(0, count, width)
        rows.append((np.arange(count) // width == np.arange(len(starts))[:, None]).astype(np.float64))
        if width >= count:
            return np.concatenate(rows)
        width *= 2


def factorised(
    strategy: ArrayLike, sigma: float, *, participations: int | None = None, separation: int = 1
) -> PrivacyLoss:
    """The privacy loss of a matrix factorisation, or of tree aggregation, by add/remove.

    strategy: C, shape (m, n), for n steps; `tree(n)`, or the identity for independent noise.
    sigma: the noise's standard deviation in each of the m entries, > 0, finite.
    participations: the most steps that a record takes part in, in 1 .. n; by default as many as the separation allows.
    separation: the least distance of two of them, >= 1; b where each epoch has b steps in a fixed order.
    returns: Gaussian noise's loss, exact where the largest move is known, else two bounds.
    Raises ValueError for anything else.
    """
    matrix = finite("strategy", strategy)
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"strategy must be a matrix of a column for each step, got shape {matrix.shape}")
    steps = matrix.shape[1]
    apart = whole(separation, "separation", 1)
    allowed = -(-steps // apart)
    most = allowed if participations is None else min(whole(participations, "participations", 1, steps), allowed)
    low, high = _largest_move(matrix, most, apart)
    noise = positive(sigma, "sigma")
    if not 0 <= high / noise < math.inf or (high and not low / noise > 0):
        raise ValueError(f"sigma must be within the range of floats of the largest move, {high:g}, got {sigma!r}")
    times = "once" if most == 1 else f"in {most} steps at most, {apart} or more apart"
    words = f"a factorisation of {steps} steps with sigma {noise:g}, in which a record takes part {times}"
    below, above = (GaussianLoss(size / noise) if size else ZERO_LOSS for size in (low, high))
    loss: PairLoss = above if low == high else EnclosedLoss(below, above)
    return PrivacyLoss((loss,), (UNIT, f"a record takes part {times}"), "add/remove", words)


def _largest_move(matrix: NDArray[np.float64], most: int, apart: int) -> tuple[float, float]:
    """Bounds of the largest move of C x by one record; the same number where they differ by rounding alone."""
    signed = matrix.T @ matrix
    sizes, steps = np.abs(signed), np.arange(matrix.shape[1])
    beside = np.where(np.abs(steps[:, None] - steps) >= apart, sizes, 0.0)
    passes = most if most * apart < len(steps) else None  # else the separation alone limits them
    others = _heaviest(beside, None if passes is None else most - 1, apart)
    upper = _heaviest(np.diag(sizes) + others, passes, apart)
    starts = sorted({0, *np.linspace(0, apart - 1, _TRIED).astype(int).tolist(), int(np.diag(sizes).argmax())})
    sets = [np.arange(start, len(steps), apart)[:most] for start in starts if start < len(steps)]
    lower = max(float(signed[np.ix_(one, one)].sum()) for one in sets)
    high = math.sqrt(float(upper)) * (1 + _ROUNDING)
    low = math.sqrt(max(0.0, lower))
    return (high, high) if low >= high * (1 - 4 * _ROUNDING) else (low, high)


def _heaviest(weights: NDArray[np.float64], most: int | None, apart: int) -> Any:
    """The largest sum of at most so many weights, or any number, along the last axis, whose places are so far apart."""
    shape = (*weights.shape[:-1], weights.shape[-1] + 1)
    best = np.zeros(shape)
    for _ in range(1 if most is None else most):
        found = np.zeros(shape)
        best = found if most is None else best
        for place in range(weights.shape[-1]):
            with_it = weights[..., place] + best[..., max(0, place + 1 - apart)]
            found[..., place + 1] = np.maximum(found[..., place], with_it)
        best = found
    return best[..., -1]
