"""Events: sets of outputs, fixed before they are counted, readable, and the same again when read back from JSON."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ldp_audit.auditing.outputs import NOT_A_LABEL, Label, Outputs
from ldp_audit.auditing.scores import Score, score_from_dict
from ldp_audit.auditing.scores.said import folded, in_python, in_words, readable
from ldp_audit.auditing.scores.score import NOT_A_NUMBER
from ldp_audit.auditing.structure import Structure
from ldp_audit.auditing.structure_source import in_structure, named

_BINS = 256
_MOST_ATOMS = 1024
_MOST_LABELS = 4096
_SINGLE = 8  # values that are events by themselves
_COARSER = (1, 4, 16, 64)  # neighbouring bins are tried in groups of so many


@dataclass(frozen=True)
class Event:
    """A number is in it if it lies in one of the intervals, a label if it is among the labels.

    intervals: half-open [low, high), ascending, apart from each other; high = inf includes inf.
    labels:    labels.
    score:     what is compared with the intervals: the number itself (None), or a score of the number or vector.
    structure: how a program's outputs are taken apart into these numbers or vectors; None where they are.
    """

    intervals: tuple[tuple[float, float], ...] = ()
    labels: tuple[Label, ...] = ()
    score: Score | None = None
    structure: Structure | None = None

    def contains(self, outputs: Outputs) -> np.ndarray:
        """Boolean, shape (n,)."""
        member = np.zeros(len(outputs), dtype=bool)
        if outputs.labels is not None and self.labels:
            wanted = set(self.labels)
            member |= np.fromiter((_among(label, wanted) for label in outputs.labels), bool, len(outputs))
        if outputs.numbers is not None and self.intervals:
            member |= self._inside(outputs.numbers if self.score is None else self.score.of(outputs.numbers))
        return member

    def count(self, outputs: Outputs) -> int:
        """How many of the outputs are in it."""
        return int(np.count_nonzero(self.contains(outputs)))

    def _inside(self, numbers: np.ndarray) -> np.ndarray:
        if len(self.intervals) <= 3:
            inside = np.zeros(len(numbers), dtype=bool)
            for low, high in self.intervals:
                above = numbers >= low
                inside |= above if high == math.inf else above & (numbers < high)
            return inside
        edges = np.array([edge for interval in self.intervals for edge in interval])
        if edges[-1] == math.inf:
            edges = edges[:-1]
        return (np.searchsorted(edges, numbers, side="right") % 2 == 1) & ~np.isnan(numbers)

    def describe(self) -> str:
        """In words, of an output y or of its fields."""
        if self.score is None:
            alone = "y" if self.structure is None else readable(self.structure.names[0])
            words = in_words(alone, self.intervals)
        else:
            words = self.score.says(self.intervals)
            words = words or in_words(self.score.describe(), self.intervals, exact=self.score.COMPLETE)
            words = folded(named(self.structure, words))
        parts = [words] if words else []
        if self.labels:
            shown = ", ".join(repr(label) for label in self.labels[:12])
            more = f", and {len(self.labels) - 12} more" if len(self.labels) > 12 else ""
            parts.append(f"y in {{{shown}{more}}}" if len(self.labels) > 1 else f"y = {shown}")
        return " or ".join(parts) or "never"

    @property
    def complete(self) -> bool:
        """Whether the words are all of it; else `python` is, or the JSON."""
        words = self.describe()
        return (self.score is None or self.score.COMPLETE) and not re.search(r" more( intervals)?\b|,\.\.\.", words)

    @property
    def python(self) -> str | None:
        """The source of a function event(y) of an output as the program returned it: plain Python, nothing of ours.

        None where there is none: of the level of a declared law, or of what a look did not show of structured outputs.
        """
        if self.score is None:
            apart = in_structure(self.structure, [], self._of_number())
        elif (source := self.score.source()) is None:
            return None
        else:
            lines, value = source
            if self.score.TRUTH:
                fails, holds = (any(low <= one < high for low, high in self.intervals) for one in (0, 1))
                condition = value if holds else f"not ({value})"
                apart = in_structure(self.structure, lines, str(holds) if fails == holds else condition)
            elif lines:
                lines = [*lines, f"score = {value}"]
                apart = in_structure(self.structure, lines, in_python("score", self.intervals))
            else:
                apart = in_structure(self.structure, lines, in_python(value, self.intervals))
        if apart is None:
            return None
        before, condition = apart
        return "\n".join(["def event(y):", *(f"    {line}" for line in before), f"    return bool({condition})"])

    def _of_number(self) -> str:
        """The condition on a number or a label."""
        others = [label for label in self.labels if isinstance(label, str) and label.startswith("(")]
        plain = [repr(label) for label in self.labels if label not in others]
        parts = [f"y in ({', '.join(plain)},)"] if plain else []
        parts += [f"isinstance(y, list | tuple) and repr(tuple(y)) == {one!r}" for one in others]
        if self.intervals:
            text = in_python("y", self.intervals)
            number = "hasattr(y, '__float__')"  # not a label
            guarded = self.labels or text == "True"
            parts.insert(0, number if text == "True" else f"({number} and ({text}))" if guarded else text)
        return " or ".join(parts) or "False"

    def to_dict(self) -> dict[str, Any]:
        """For JSON: an end without end is null."""
        return {
            "words": self.describe(),
            "intervals": [[_end(low), _end(high)] for low, high in self.intervals],
            "labels": list(self.labels),
            "score": None if self.score is None else self.score.to_dict(),
            **({} if self.structure is None else {"structure": self.structure.to_dict()}),
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Event:
        """The event that `to_dict` wrote. Raises ValueError for anything else."""
        try:
            intervals = tuple(
                (-math.inf if low is None else float(low), math.inf if high is None else float(high))
                for low, high in data["intervals"]
            )
            labels = tuple(data["labels"])
            score, apart = data["score"], data.get("structure")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"event must be one that an audit wrote, got {data!r:.200}") from error
        edges = [edge for interval in intervals for edge in interval]
        if any(not low < high for low, high in pairwise(edges)):
            raise ValueError(f"event's intervals must ascend and lie apart, got {data['intervals']!r:.200}")
        if not all(label is None or isinstance(label, str | bool | int) for label in labels):
            raise ValueError(f"event's labels must be text, true, false or null, got {data['labels']!r:.200}")
        structure = None if apart is None else Structure.from_dict(apart)
        return Event(intervals, labels, None if score is None else score_from_dict(score), structure)


def _among(label: Any, wanted: set[Label]) -> bool:
    return label is not NOT_A_LABEL and label in wanted


def _end(edge: float) -> float | None:
    return edge if math.isfinite(edge) else None


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
        if len(self.edges) and self.edges[0] == NOT_A_NUMBER:  # which 'all below a number' does not mean
            inside[0] &= bool(occupied[0])
        bounds = np.concatenate([[-math.inf], self.edges, [math.inf]])
        starts = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
        ends = np.flatnonzero(inside & ~np.concatenate([inside[1:], [False]]))
        intervals = tuple((float(bounds[a]), float(bounds[b + 1])) for a, b in zip(starts, ends, strict=True))
        labels = tuple(
            self.labels[place] for place in np.flatnonzero(member[self.numbers : self.numbers + len(self.labels)])
        )
        return Event(intervals, labels, score)


def learned(numbers: np.ndarray | None, labels: np.ndarray | None) -> Cells:
    """The cells for a pooled sample. A value that repeats is a cell of its own; the others are cut at quantiles.

    Infinity shares its cell with the largest float.
    """
    known = np.zeros(0) if numbers is None else numbers[~np.isnan(numbers)]
    known = np.minimum(known, sys.float_info.max)  # an interval without end has infinity in it: no edge lies there
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


def single_values(cells: Cells, hits: np.ndarray, other: np.ndarray) -> list[Order]:
    """The values and labels of greatest likelihood ratio, less its standard deviation, each as an order of its own."""
    x, y = (counts[: cells.numbers + len(cells.labels)] + 0.5 for counts in (hits, other))
    least = np.log(x / y) - np.sqrt(1 / x + 1 / y)
    least[: cells.numbers][~cells.atom] = -np.inf
    best = np.argsort(-least, kind="stable")[:_SINGLE]
    return [Order(best[i : i + 1], np.ones(1, dtype=np.int64)) for i in np.flatnonzero(least[best] > -np.inf)]


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
