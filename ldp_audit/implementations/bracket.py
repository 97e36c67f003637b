"""Where a map of one uniform would have to give an output: the two words between whose outputs it lies.

Under monotonicity an output strictly between those of two consecutive words has no word. Bisection finds the two; then
the words around them are looked at one by one, as a logarithm may be out of order by a unit in the last place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldp_audit.implementations.one_uniform import BLOCK, OneUniform, step_back
from ldp_audit.implementations.step_function import WINDOW, window_of

_ROOM = 16.0  # times the largest step back that an output must lie inside of its window's ends, to count as unreachable


@dataclass(frozen=True)
class Search:
    """What a search for some outputs found.

    seen: whether a word was seen that gives the output.   excluded: whether no word does, given the order; neither
    where the order is too frayed to tell.
    below, above: the nearest outputs of an excluded one. Valid where has_below, has_above say so, which they do not
    beyond the map's least and greatest output.   step_back: the largest between words that were looked at.
    """

    seen: np.ndarray
    excluded: np.ndarray
    below: np.ndarray
    above: np.ndarray
    has_below: np.ndarray
    has_above: np.ndarray
    step_back: float


def search(one: OneUniform, wanted: np.ndarray, allowed: float, window: int = WINDOW) -> Search:
    """Look for numbers among the outputs.

    one: with its direction.   wanted: shape (m,).   allowed: a step back that is no error.
    """
    ranks, has_below, has_above = first_not_below(one, wanted)
    nearest = one.at_ranks(ranks)
    before = one.at_ranks(np.where(has_below & has_above, ranks, np.uint64(1)) - np.uint64(1))
    seen = nearest == wanted
    missing = np.flatnonzero(~seen)
    near, margins, back = _in_windows(one, ranks[missing], wanted[missing], allowed, window)
    seen[missing] = near
    excluded = ~seen
    excluded[missing] &= margins >= _ROOM * back
    return Search(seen, excluded, np.where(has_above, before, nearest), nearest, has_below, has_above, back)


def first_not_below(one: OneUniform, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first rank whose output is at least the wanted one; whether some output is below, and whether some is not.

    The last rank where all are below.
    """
    last = np.uint64(one.size - 1)
    ends = one.at_ranks(np.array([0, last], dtype=np.uint64))
    has_below, has_above = ends[0] < wanted, ends[1] >= wanted
    low, high = np.zeros(len(wanted), dtype=np.uint64), np.full(len(wanted), last)
    high[~has_below] = 0
    inside = has_below & has_above
    while True:
        apart = np.flatnonzero(inside & (high - low > 1))
        if not len(apart):
            return high, has_below, has_above
        middle = low[apart] + (high[apart] - low[apart]) // np.uint64(2)
        less = one.at_ranks(middle) < wanted[apart]
        low[apart[less]] = middle[less]
        high[apart[~less]] = middle[~less]


def words_below(one: OneUniform, wanted: np.ndarray, window: int = WINDOW) -> tuple[list[int], np.ndarray]:
    """How many words have an output below each of the wanted ones, and whether all words around are in order."""
    ranks, _, has_above = first_not_below(one, wanted)
    near = window_of(one.size, ranks, window)
    less = one.at_ranks(near.ravel()).reshape(near.shape) < wanted[:, None]
    clean = (less == ((near < ranks[:, None]) | ~has_above[:, None])).all(axis=1)
    return [rank if some else one.size for rank, some in zip(ranks.tolist(), has_above.tolist(), strict=True)], clean


def _in_windows(
    one: OneUniform, ranks: np.ndarray, wanted: np.ndarray, allowed: float, window: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Whether the outputs have words around those ranks, how far they lie from the windows' ends, and the step back."""
    found = np.zeros(len(ranks), dtype=bool)
    margins = np.full(len(ranks), np.inf)
    back, rows = 0.0, max(1, BLOCK // (2 * window))
    for first in range(0, len(ranks), rows):
        part = slice(first, first + rows)
        near = window_of(one.size, ranks[part], window)
        outputs = one.at_ranks(near.ravel()).reshape(near.shape)
        found[part] = (outputs == wanted[part, None]).any(axis=1)
        back = max(back, step_back(one, one.words(near), outputs, allowed))
        margins[part] = _margins(near, outputs, wanted[part], one.size)
    return found, margins, back


def _margins(near: np.ndarray, outputs: np.ndarray, wanted: np.ndarray, size: int) -> np.ndarray:
    """How far the wanted outputs lie inside of what their windows span; without end where a window reaches an end."""
    with np.errstate(invalid="ignore", over="ignore"):
        lower = np.where(near[:, 0] == 0, np.inf, wanted - outputs[:, 0].astype(np.float64))
        upper = np.where(near[:, -1] == np.uint64(size - 1), np.inf, outputs[:, -1].astype(np.float64) - wanted)
    return np.fmin(lower, upper)
