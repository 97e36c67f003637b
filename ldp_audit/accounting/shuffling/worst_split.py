"""The split of the other clients that tells most: blocks of splits are bounded, and the promising ones cut.

Where a block's upper end lies below what is known of a split, nothing in it is looked at. So the worst split is found
exactly among few clients; among many it is enclosed as closely as asked for, or as the number of blocks allows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.shuffling.split_counts import SplitCounts

_CUTS = 32
"""Splits known at first, evenly; and others ever closer to both ends, where the worst ones lie."""

_SHARE = 1e-3
"""How far apart the ends may be where delta is nearly 1, as a share of its logarithm."""

_PARTS, _MORE_PARTS, _MANY = 8, 32, 2000
"""Of a block that is cut; more where there are not many splits."""

_FAR = 2.0
"""How far below the worst split ln delta of a block is that may grow, on the way from one level to the next."""

Numbers = NDArray[np.float64]


class WorstSplit(NamedTuple):
    """Ends of ln delta of the worst split; and the blocks that told them, which serve a level near by as well."""

    low: float
    high: float
    least: Numbers
    last: Numbers


def worst_split(
    level: SplitCounts, others: int, *, precision: float, most: int, near: WorstSplit | None = None
) -> WorstSplit:
    """The worst split of so many other clients.

    precision: how far apart the ends may be, if they are not near 0; 0 for the worst split itself.
    most: blocks that may be looked at.   near: that of a level near by, to begin with its blocks.
    """
    least, last = _first_blocks(others) if near is None else (near.least, near.last)
    low = target = -math.inf
    count, parts = 0, _PARTS if others > _MANY or near is not None else _MORE_PARTS
    seen: list[tuple[Numbers, Numbers, Numbers]] = []
    while least.size:
        below, above = level.log_delta_of_blocks(least, last, others)
        single = least == last
        low = max(low, float(below[single].max(initial=-math.inf)))
        if not count:
            settled = float(above[single].max(initial=-math.inf))
            target = settled + min(precision, _SHARE * abs(settled))
        alive, count = ~single & (above > target), count + least.size
        left = (most - count) // max(1, np.count_nonzero(alive))
        if left < 2:
            alive[:], most = False, 0
        seen.append((least[~alive], last[~alive], above[~alive]))
        least, last = _cut(least[alive], last[alive], max(1, int(min(left, parts))))
    least, last, above = (np.concatenate(one) for one in zip(*seen, strict=True))
    high = float(above.max())
    # blocks that were too many are no good beginning
    return WorstSplit(low, high, *(_coarser(least, last, above, high) if most else _first_blocks(others)))


def _first_blocks(others: int) -> tuple[Numbers, Numbers]:
    """Single splits, and all those between two of them."""
    near = 2.0 ** np.arange(max(1, others).bit_length())
    cuts = np.concatenate([np.linspace(0, others, _CUTS + 1).round(), near, others + 1 - near])
    known = np.unique(np.clip(cuts, 0, others)).astype(np.float64)
    between = np.diff(known) > 1
    return np.append(known, known[:-1][between] + 1), np.append(known, known[1:][between] - 1)


def _coarser(least: Numbers, last: Numbers, above: Numbers, high: float) -> tuple[Numbers, Numbers]:
    """Two blocks after each other as one where both lie far below."""
    order = np.argsort(least)
    least, last, far = least[order], last[order], above[order] < high - _FAR
    joins = np.zeros(least.size, dtype=bool)  # with the one before
    joins[1::2] = far[1::2] & far[:-1:2]
    return least[~joins], last[~np.append(joins[1:], False)]


def _cut(least: Numbers, last: Numbers, parts: int) -> tuple[Numbers, Numbers]:
    """Each block as so many, or as its splits if these are fewer: the ends of these."""
    steps = np.arange(parts + 1) / parts
    edges = least[:, None] + np.floor((last - least + 1)[:, None] * steps)
    starts, ends = edges[:, :-1].ravel(), edges[:, 1:].ravel() - 1
    filled = ends >= starts
    return starts[filled], ends[filled]
