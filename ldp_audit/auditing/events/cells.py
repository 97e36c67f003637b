"""A partition of the outputs into cells, learned from samples: labels, repeated values, and bins of what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldp_audit.auditing.event import Event
from ldp_audit.auditing.outputs import NOT_A_LABEL, Label
from ldp_audit.auditing.scores import Score

_BINS = 256
_MOST_ATOMS = 1024
_MOST_LABELS = 4096


@dataclass(frozen=True)
class Cells:
    """Number cells, ascending, then one cell a label; every number lies in one, a label never seen in none.

    edges: cell i of the numbers is [edges[i-1], edges[i]), the first and the last without end.
    atom:  for each number cell, whether it holds a single value.
    """

    edges: np.ndarray
    atom: np.ndarray
    labels: tuple[Label, ...] = ()

    @property
    def numbers(self) -> int:
        """How many of the cells hold numbers."""
        return len(self.edges) + 1

    def counts(self, numbers: np.ndarray | None, labels: np.ndarray | None) -> np.ndarray:
        """How many outputs lie in each cell: int64, shape (cells,)."""
        found = np.zeros(self.numbers + len(self.labels), dtype=np.int64)
        if numbers is not None:
            known = numbers[~np.isnan(numbers)] if labels is not None else numbers
            places = np.searchsorted(self.edges, known, side="right")
            found[: self.numbers] = np.bincount(places, minlength=self.numbers)
        if labels is not None and self.labels:
            place_of = {label: place for place, label in enumerate(self.labels)}
            places = [place_of[label] for label in labels if label is not NOT_A_LABEL and label in place_of]
            found[self.numbers :] = np.bincount(places, minlength=len(self.labels)) if places else 0
        return found

    def event(self, member: np.ndarray, occupied: np.ndarray, score: Score | None) -> Event:
        """The cells of the mask as an event; an empty cell between two members belongs to it."""
        inside = _closed_over_gaps(member[: self.numbers], occupied[: self.numbers])
        bounds = np.concatenate([[-math.inf], self.edges, [math.inf]])
        starts = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
        ends = np.flatnonzero(inside & ~np.concatenate([inside[1:], [False]]))
        intervals = tuple((float(bounds[a]), float(bounds[b + 1])) for a, b in zip(starts, ends, strict=True))
        labels = tuple(
            self.labels[place] for place in np.flatnonzero(member[self.numbers : self.numbers + len(self.labels)])
        )
        return Event(intervals, labels, score)


def learned(numbers: np.ndarray | None, labels: np.ndarray | None) -> Cells:
    """The cells for a pooled sample. A value that repeats is a cell of its own; the others are cut at quantiles."""
    known = np.zeros(0) if numbers is None else numbers[~np.isnan(numbers)]
    values, times = np.unique(known, return_counts=True)
    often = times >= _often(times) if len(values) > _BINS else np.ones(len(values), dtype=bool)
    if np.count_nonzero(often) > _MOST_ATOMS:
        often &= times >= np.sort(times)[-_MOST_ATOMS]
    atoms = values[often][:_MOST_ATOMS]
    rest = np.repeat(values[~often], times[~often])
    with np.errstate(over="ignore"):
        after = np.nextafter(atoms, math.inf)
    edges = np.unique(np.concatenate([atoms, after[np.isfinite(after)], _quantiles(rest)]))
    edges = edges[edges > -math.inf]
    starts = np.concatenate([[-math.inf], edges])
    return Cells(edges, np.isin(starts, atoms), _labels(labels))


def _often(times: np.ndarray) -> int:
    """How often a value must come to be a cell of its own: clearly oftener than the values of most outputs.

    One in a thousand is always enough. So a value that slips through once in some thousand runs of a continuous
    program has a cell, and the values of a grid, each of which comes a few times, have none.
    """
    ascending = np.sort(times)
    usual = int(ascending[np.searchsorted(np.cumsum(ascending), ascending.sum() / 2)])
    return max(3, min(10 * (usual - 1), int(ascending.sum()) // 1000))


def _quantiles(rest: np.ndarray) -> np.ndarray:
    """Cuts at equal shares, and at ranks 1, 2, 4 ... from both ends, where rare events lie."""
    if len(rest) == 0:
        return rest
    even = np.linspace(0, len(rest) - 1, min(_BINS, len(rest))).astype(int)
    tail = 2 ** np.arange(max(1, int(math.log2(len(rest)))))
    ranks = np.unique(np.concatenate([even, tail, len(rest) - 1 - tail]))
    return rest[ranks[(ranks >= 0) & (ranks < len(rest))]]


def _labels(labels: np.ndarray | None) -> tuple[Label, ...]:
    if labels is None:
        return ()
    times: dict[Label, int] = {}
    for label in labels:
        if label is not NOT_A_LABEL:
            times[label] = times.get(label, 0) + 1
    by_frequency = sorted(times, key=lambda label: (-times[label], repr(label)))
    return tuple(by_frequency[:_MOST_LABELS])


def _closed_over_gaps(inside: np.ndarray, occupied: np.ndarray) -> np.ndarray:
    """An empty cell joins where its nearest occupied neighbours are both members, or the only one that there is."""
    places = np.flatnonzero(occupied | inside)
    if len(places) == 0 or not inside.any():
        return inside
    cells = np.arange(len(inside))
    after = np.searchsorted(places, cells)
    right = places[np.minimum(after, len(places) - 1)]
    left = places[np.maximum(np.searchsorted(places, cells, side="right") - 1, 0)]
    return inside[left] & inside[right]
