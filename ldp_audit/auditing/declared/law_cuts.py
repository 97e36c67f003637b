"""What a declared law promises of the events {ratio >= c}, its log-likelihood ratio cut at different levels c.

Search samples of the program on x give p = P(ratio >= c | x). The law gives p/q without the noise of a second sample,
as q = E[1_{ratio >= c} e**-ratio | x]; so that the best of many cuts does not win by luck.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_MOST_CUTS = 64


@dataclass(frozen=True)
class Cuts:
    """Values in ascending order with their ratios, and for each level the gain ln(p/q) and its variance in the test."""

    values: np.ndarray
    ratios: np.ndarray
    levels: np.ndarray
    gains: np.ndarray
    variances: np.ndarray


def cuts_of(values: np.ndarray, ratios: np.ndarray, likelier: np.ndarray, trials: int) -> Cuts:
    """values: distinct, ascending, shape (k,).   ratios: theirs, nats, infinite ones allowed.
    likelier: the sample on x, among the values.   trials: of each input, that the test will have.
    """
    times = np.bincount(np.searchsorted(values, likelier), minlength=len(values))
    with np.errstate(over="ignore"):
        weights = times * np.exp(np.where(times > 0, -ratios, 0.0))
    order = np.argsort(-ratios, kind="stable")
    levels = _levels(ratios[order])
    ends = np.searchsorted(-ratios[order], -levels, side="right") - 1
    hits, other = np.cumsum(times[order])[ends], np.cumsum(weights[order])[ends]
    p = np.clip(hits, 0.5, len(likelier) - 0.5) / len(likelier)
    q = np.clip(p * other / np.maximum(hits, 0.5), 1 / trials, 1.0)
    gains = np.where(hits > 0, np.log(p / q), -math.inf)
    return Cuts(values, ratios, levels, gains, ((1 - p) / p + (1 - q) / q) / trials)


def _levels(descending: np.ndarray) -> np.ndarray:
    """Distinct ratios; of many those at equal shares, and those at ranks 1, 2, 4 ..., where events are rare."""
    distinct = np.unique(descending)[::-1]
    if len(distinct) <= _MOST_CUTS:
        return distinct
    even = np.linspace(0, len(distinct) - 1, _MOST_CUTS).astype(int)
    rare = 2 ** np.arange(int(math.log2(len(distinct))))
    return distinct[np.unique(np.concatenate([even, rare]))]
