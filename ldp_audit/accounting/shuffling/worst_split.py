"""The split of the other clients that tells most: blocks of splits are bounded, and the promising ones cut.

Where a block's upper end lies below what is known of a split, nothing in it is looked at. So the worst split is found
exactly among few clients; among many it is enclosed as closely as asked for, or as the number of blocks allows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.shuffling.split_counts import SplitCounts

_CUTS = 32
"""Splits known at first, evenly; and others ever closer to both ends, where the worst ones lie."""

_SHARE = 1e-3
"""How far apart the ends may be where delta is nearly 1, as a share of its logarithm."""

_PARTS, _MORE_PARTS, _MANY = 8, 32, 2000
"""Of a block that is cut; more where there are not many splits."""

Numbers = NDArray[np.float64]


def log_worst_split(level: SplitCounts, others: int, *, precision: float, most: int) -> tuple[float, float]:
    """A lower and an upper end of ln delta of the worst split of so many other clients.

    precision: how far apart the ends may be, if they are not near 0; 0 for the worst split itself.
    most: blocks that may be looked at.
    """
    known = _first_cuts(others)
    least, last = np.concatenate([known, known]), np.concatenate([known, known[1:] - 1, [others]])
    low = settled = target = -math.inf
    count, parts = 0, _PARTS if others > _MANY else _MORE_PARTS
    while least.size:
        below, above = level.log_delta_of_blocks(least, last, others)
        single = least == last
        low = max(low, float(below[single].max(initial=-math.inf)))
        settled = max(settled, float(above[single].max(initial=-math.inf)))
        if not count:
            target = settled + min(precision, _SHARE * abs(settled))
        alive, count = ~single & (above > target), count + least.size
        left = (most - count) // max(1, np.count_nonzero(alive))
        if left < 2:
            settled = max(settled, float(above[alive].max(initial=-math.inf)))
            break
        least, last = _cut(least[alive], last[alive], int(min(left, parts)))
    return low, max(target, settled)


def _first_cuts(others: int) -> Numbers:
    near = 2.0 ** np.arange(max(1, others).bit_length())
    cuts = np.concatenate([np.linspace(0, others, _CUTS + 1).round(), near, others + 1 - near])
    return np.unique(np.clip(cuts, 0, others)).astype(np.float64)


def _cut(least: Numbers, last: Numbers, parts: int) -> tuple[Numbers, Numbers]:
    """Each block as so many, or as its splits if these are fewer: the ends of these."""
    steps = np.arange(parts + 1) / parts
    edges = least[:, None] + np.floor((last - least + 1)[:, None] * steps)
    starts, ends = edges[:, :-1].ravel(), edges[:, 1:].ravel() - 1
    filled = ends >= starts
    return starts[filled], ends[filled]
