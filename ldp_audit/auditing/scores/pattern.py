"""Whole rows as labels, where few of them carry the mass: answers to a list of questions, small discrete vectors.

Each coordinate is cut into cells, repeated values alone; the row of cell numbers is the pattern. A table
holds the patterns seen, by ascending likelihood ratio; the score is the pattern's place in it, or -1. Where whole rows
are too many, the most informative coordinates, alone or in
pairs, make a shorter row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.learning import codes, cuts, interactions
from ldp_audit.auditing.scores.said import literal
from ldp_audit.auditing.scores.score import CODED, Score, ascend

_VALUES = 512  # cells of a coordinate such as the index of a hash function, whose values are not alike if they are near
_BINS = (16, 6, 2)  # and of one whose values are, tried in this order
_CUT_ROWS = 5000  # of each input; fewer of long vectors
_CUT_VALUES = 2**19
_MOST_INFORMATIVE = 24  # coordinates of a shorter row
_MOST_PATTERNS = 1024
_MOST_CODES = 32_768  # patterns times coordinates: what an event may take in JSON
_OFTEN, _SELDOM = 10, 4  # a pattern is seen well if it was seen so often; and one of single values
_MASS = 0.9  # of the sample, in patterns that are seen well


@dataclass(frozen=True)
class Pattern(Score):
    """The place in `rows` of the codes of y[places], or -1.

    places: coordinates.   edges: their cuts.   rows: codes, one tuple a pattern, by ascending ratio.
    """

    KIND: ClassVar[str] = "pattern"
    COMPLETE: ClassVar[bool] = False
    places: tuple[int, ...]
    edges: tuple[tuple[float, ...], ...]
    rows: tuple[tuple[int, ...], ...]

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[Pattern]:  # noqa: ARG004
        """Whole rows, and rows of the most informative coordinates; either where few patterns carry the mass."""
        rows = max(200, min(_CUT_ROWS, _CUT_VALUES // first.shape[1]))
        both = np.concatenate([first[:rows], second[:rows]])
        found: list[Pattern] = []
        for bins, often in ((_VALUES, _SELDOM), *((bins, _OFTEN) for bins in _BINS)):
            edges = [cuts(both[:, place], bins) for place in range(both.shape[1])]
            places = [place for place, edge in enumerate(edges) if len(edge)]
            if len(places) <= _MOST_CODES // 16 and _carried(_keys_of(both, places, edges), often):
                found.append(_table(first, second, places, edges))
                if bins in _BINS or max(map(len, edges)) < _BINS[0]:
                    break
        edges = [cuts(both[:, place], _BINS[1]) for place in range(both.shape[1])]
        informative = _shorter(both, interactions(first, second).informative(_MOST_INFORMATIVE), edges)
        if len(informative) > 1 and (not found or set(informative) != set(found[-1].places)):
            found.append(_table(first, second, informative, edges))
        return [pattern for pattern in found if len(pattern.rows) > 1]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        ascending, place_of = self._lookup
        keys = np.zeros(len(numbers), dtype=np.uint64)
        for multiplier, place, edges in zip(_multipliers(), self.places, self.edges, strict=False):
            keys += codes(numbers[:, place], np.array(edges)).astype(np.uint64) * multiplier
        found = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
        return np.where(ascending[found] == keys, place_of[found], -1).astype(np.float64)

    @cached_property
    def _lookup(self) -> tuple[np.ndarray, np.ndarray]:
        """Keys of the patterns, ascending, and the place in the table of each."""
        rows = np.array(self.rows, dtype=np.uint64).reshape(len(self.rows), len(self.places))
        keys = np.zeros(len(rows), dtype=np.uint64)
        for multiplier, column in zip(_multipliers(), rows.T, strict=False):
            keys += column * multiplier
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def describe(self) -> str:
        """See `Score`."""
        shown = ", ".join(f"y[{place}]" for place in self.places[:4])
        more = f", ... {len(self.places)} coordinates" if len(self.places) > 4 else ""
        return f"place of ({shown}{more}) in a table of {len(self.rows)}"

    def source(self) -> tuple[list[str], str]:
        """See `Score`."""
        columns = [
            f"    ({place}, [{', '.join(map(literal, edges))}]),"
            for place, edges in zip(self.places, self.edges, strict=True)
        ]
        lines = ["from bisect import bisect_right", *CODED, "columns = [  # place, edges", *columns, "]"]
        lines += ["table = {  # cells between the edges, and the place in the table"]
        lines += [f"    {row!r}: {place}," for place, row in enumerate(self.rows)] + ["}"]
        return lines, "table.get(tuple(bisect_right(edges, coded(y[place])) for place, edges in columns), -1)"

    def fits(self) -> bool:
        """See `Score`: cuts and a code for each place, and rows that differ."""
        sizes = {len(self.places), len(self.edges), *map(len, self.rows)}
        return sizes != {0} and len(sizes) == 1 and 0 < len(self.rows) == len({*self.rows}) and ascend(*self.edges)


def _multipliers() -> Iterator[np.uint64]:
    """Odd numbers, always the same: a row's key is its codes times these, modulo 2^64.

    Two rows may share a key, with a chance of about 2^-64 for rows that were not made to; they are then one pattern,
    in every sample alike.
    """
    state = 0x9E3779B97F4A7C15
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield np.uint64((state ^ (state >> 32)) | 1)


def _keys_of(numbers: np.ndarray, places: list[int], edges: list[np.ndarray]) -> np.ndarray:
    keys = np.zeros(len(numbers), dtype=np.uint64)
    for multiplier, place in zip(_multipliers(), places, strict=False):
        keys += codes(numbers[:, place], edges[place]).astype(np.uint64) * multiplier
    return keys


def _carried(keys: np.ndarray, often: int = _OFTEN) -> bool:
    """Whether patterns that are seen well, no more than a table may hold, carry the mass."""
    times = np.sort(np.unique(keys, return_counts=True)[1])[::-1][:_MOST_PATTERNS]
    return len(times) > 1 and times[times >= min(often, len(keys) // 20)].sum() >= _MASS * len(keys)


def _shorter(both: np.ndarray, informative: list[int], edges: list[np.ndarray]) -> list[int]:
    """The first of the informative coordinates, as many as leave the mass to patterns that are seen well."""
    keys = np.zeros(len(both), dtype=np.uint64)
    for taken, (multiplier, place) in enumerate(zip(_multipliers(), informative, strict=False)):
        keys = keys + codes(both[:, place], edges[place]).astype(np.uint64) * multiplier
        if not _carried(keys):
            return informative[:taken]
    return informative


def _table(first: np.ndarray, second: np.ndarray, places: list[int], edges: list[np.ndarray]) -> Pattern:
    """The patterns of both samples, the commonest where they are too many, by ascending ratio."""
    keys = [_keys_of(sample, places, edges) for sample in (first, second)]
    found, where, times = np.unique(np.concatenate(keys), return_index=True, return_counts=True)
    most = max(1, min(_MOST_PATTERNS, _MOST_CODES // max(1, len(places))))
    kept = np.sort(np.argsort(-times, kind="stable")[:most])
    x, y = (_times_of(found[kept], key) for key in keys)
    order = kept[np.argsort((x + 0.5) / (y + 0.5), kind="stable")]
    examples = where[order]
    rows = np.concatenate(
        [first[examples[examples < len(first)]], second[examples[examples >= len(first)] - len(first)]]
    )
    rows = rows[np.argsort(np.argsort(examples >= len(first), kind="stable"), kind="stable")]
    each = np.stack([codes(rows[:, place], edges[place]) for place in places], axis=1)
    return Pattern(
        tuple(places),
        tuple(tuple(map(float, edges[place])) for place in places),
        tuple(tuple(map(int, row)) for row in each),
    )


def _times_of(found: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """How often each of the ascending keys is among the others."""
    ordered = np.sort(keys)
    return np.searchsorted(ordered, found, side="right") - np.searchsorted(ordered, found, side="left")
