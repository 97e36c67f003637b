"""The suprema of a finite channel of which only some pairs of rows are neighbours.

As for a truncated geometric mechanism on counts, whose rows two apart are no neighbours. Ratios are exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.hockey_stick import doubled, hockey_stick
from ldp_audit.numerics import listed, whole

Pairs = Sequence[tuple[int, int]]
Weights = Callable[[list[int]], NDArray[Any]]
"""From row numbers to whole weights of their outputs, an array of Python integers, shape (rows, outputs)."""


def pairs_of(neighbours: Any, count: int) -> tuple[tuple[int, int], ...]:
    """The pairs, each once, the lower row first; ValueError for none, and for what are no pairs of different rows."""
    found = {}
    for pair in listed(neighbours, "neighbours", "pairs of row numbers"):
        try:
            low, high = sorted(whole(row, "neighbours", 0, count - 1) for row in pair)
        except (TypeError, ValueError):
            low = high = 0
        if low == high:
            raise ValueError(f"neighbours must be pairs of different rows in 0..{count - 1}, got {pair!r}")
        found[low, high] = None
    if not found:
        raise ValueError("neighbours must be one pair of rows or more, got none; leave them out for any two")
    return tuple(found)


def in_both_orders(pairs: Pairs) -> Iterator[tuple[int, int]]:
    """Every pair, and every pair reversed."""
    yield from pairs
    yield from (pair[::-1] for pair in pairs)


def worst_neighbours(weights: Weights, pairs: Pairs) -> tuple[int, int, Fraction | None]:
    """Two neighbours and the largest ratio of an output's probabilities, attained there; None for infinity."""
    best, largest = pairs[0], Fraction(1)
    for high, low in in_both_orders(pairs):
        own, other = weights([high, low]).tolist()
        scale = Fraction(sum(other), sum(own))
        for above, below in zip(own, other, strict=True):
            if above and not below:
                return high, low, None
            if above and scale * above > largest * below:
                best, largest = (high, low), scale * Fraction(above, below)
    return (*best, largest)


def largest_divergence(weights: Weights, pairs: Pairs, level: float) -> float:
    """The hockey-stick divergence at the level, nats, the largest over these pairs in both orders."""
    rows = sorted({row for pair in pairs for row in pair})
    table = weights(rows)
    totals = np.broadcast_to(table.sum(axis=1)[:, None], table.shape)
    places = {row: place for place, row in enumerate(rows)}
    if math.isinf(level):
        never, near = table == 0, (table / totals).astype(np.float64)
        both = ((places[one], places[other]) for one, other in in_both_orders(pairs))
        return max(float(near[one][never[other]].sum()) for one, other in both)
    exact = [one.reshape(table.shape) for one in doubled(table.ravel().tolist(), totals.ravel().tolist())]
    first, second = ([places[pair[side]] for pair in pairs] for side in (0, 1))
    one, other = ((exact[0][chosen], exact[1][chosen]) for chosen in (first, second))
    return float(max(hockey_stick(one, other, level).max(), hockey_stick(other, one, level).max()))
