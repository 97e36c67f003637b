"""Orders of the cells, whose prefixes are the events that are tried: by likelihood ratio, and by value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ldp_audit.auditing.events.cells import Cells

_COARSER = (1, 4, 16, 64)  # neighbouring bins are tried in groups of so many


@dataclass(frozen=True)
class Order:
    """Cells in an order, shape (k,), and how many of them each prefix has, ascending: those at which it may be cut."""

    cells: np.ndarray
    ends: np.ndarray

    def prefixes(self, counts: np.ndarray) -> np.ndarray:
        """The counts of each prefix together."""
        return np.cumsum(counts[self.cells])[self.ends - 1]


def ratio_orders(cells: Cells, hits: np.ndarray, other: np.ndarray) -> Iterator[Order]:
    """Cells by descending likelihood ratio, at several resolutions; cells that were never seen stay out."""
    before = math.inf
    for size in _COARSER:
        group = _groups(cells, size)
        x, y = (np.bincount(group, weights=counts[: len(group)]) for counts in (hits, other))
        if len(x) == before:  # no run is longer than the last size: the rest would be the same
            return
        before = len(x)
        order = np.argsort(-(x + 0.5) / (y + 0.5), kind="stable")
        order = order[(x + y)[order] > 0]
        if len(order):
            place = np.full(len(x), len(order))
            place[order] = np.arange(len(order))
            sizes = np.bincount(group)[order]
            members = np.argsort(place[group], kind="stable")[: int(sizes.sum())]
            yield Order(members, np.cumsum(sizes))
        if len(x) <= 2:
            return


def half_lines(cells: Cells) -> tuple[Order, Order]:
    """All numbers below, and all above, each edge: two orders whose prefixes they are."""
    upwards = np.arange(cells.numbers)
    return Order(upwards, upwards + 1), Order(upwards[::-1], upwards + 1)


def _groups(cells: Cells, size: int) -> np.ndarray:
    """Which run of neighbouring bins, so many in one, each cell is in; one of a single value, or a label, is alone."""
    places = np.arange(cells.numbers)
    run_starts = cells.atom | np.concatenate([[True], cells.atom[:-1]])
    since = places - np.maximum.accumulate(np.where(run_starts, places, 0))
    of_numbers = np.cumsum(since % size == 0) - 1
    return np.concatenate([of_numbers, of_numbers[-1] + 1 + np.arange(len(cells.labels))])
