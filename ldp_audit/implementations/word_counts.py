"""How many words lead to each output, counted by sorting, and two inputs' counts side by side, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldp_audit.implementations.joint_counts import JointCounts

_BLOCK = 2**15  # keys that are looked at together: they stay in a processor's cache
_RUN = 64  # keys in order one after the other, on average, from which on runs are merged
_FEW = 2**16  # pairs of counts that are counted without sorting


@dataclass(frozen=True)
class WordCounts:
    """keys: the different outputs' keys, ascending.   words: how many words lead to each, uint32, the same shape."""

    keys: np.ndarray
    words: np.ndarray

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.keys.nbytes + self.words.nbytes

    def neighbours(self, key: Any) -> tuple[Any, Any]:
        """The nearest keys below and above one that is not among them; None at the ends."""
        place = int(np.searchsorted(self.keys, key))
        return self.keys[place - 1] if place else None, self.keys[place] if place < len(self.keys) else None


def word_counts(keys: np.ndarray) -> WordCounts:
    """Count the keys of all words, fewer than 2**32 of them. Sorts them in place."""
    keys.sort(kind="stable" if _mostly_in_order(keys) else None)
    ranges = [slice(first - 1, first + _BLOCK) for first in range(1, len(keys), _BLOCK)]
    distinct = 1 + sum(int(np.count_nonzero(keys[one][1:] != keys[one][:-1])) for one in ranges)
    starts = np.zeros(distinct, dtype=np.uint32)
    filled = 1
    for one in ranges:
        new = np.flatnonzero(keys[one][1:] != keys[one][:-1]) + (one.start + 1)
        starts[filled : filled + len(new)] = new
        keys[filled : filled + len(new)] = keys[new]  # what it overwrites was read, or is the same
        filled += len(new)
    starts[:-1] = starts[1:] - starts[:-1]
    starts[-1] = len(keys) - starts[-1]
    return WordCounts(keys[:distinct] if 2 * distinct > len(keys) else keys[:distinct].copy(), starts)


def _mostly_in_order(keys: np.ndarray) -> bool:
    """Whether the keys rise, or fall, nearly everywhere, as a monotone map's do: merging runs is then faster."""
    rises = falls = 0
    for first in range(1, len(keys), _BLOCK):
        block = keys[first - 1 : first + _BLOCK]
        if block.dtype.kind == "V":
            return False  # bytes have no `<` in numpy
        rises += int(np.count_nonzero(block[1:] > block[:-1]))
        falls += int(np.count_nonzero(block[1:] < block[:-1]))
    return min(rises, falls) * _RUN < len(keys)


class SideBySide:
    """Two inputs' counts joined by their keys, block by block.

    counts: the compressed joint counts.
    """

    def __init__(self, first: WordCounts, second: WordCounts, total: int) -> None:
        self._sides = first, second
        self._blocks = list(_blocks(first, second))
        self._tallies = [_tally(*self._joined(block)[1:]) for block in self._blocks]
        outputs: Counter[tuple[int, int]] = Counter()
        for tally in self._tallies:
            outputs.update(tally)
        self.counts = JointCounts(total, tuple(sorted((*pair, number) for pair, number in outputs.items())))

    def key_in(self, row: tuple[int, int, int]) -> Any:
        """The key in the middle of those that make up a row of the counts: a typical one, where there are many."""
        left = row[2] // 2
        for block, tally in zip(self._blocks, self._tallies, strict=True):
            here = tally.get(row[:2], 0)
            if left < here:
                keys, first, second = self._joined(block)
                return np.sort(keys[(first == row[0]) & (second == row[1])])[left]
            left -= here
        raise ValueError(f"row must be one of the counts, got {row!r}")

    def _joined(self, block: tuple[slice, slice]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The keys of a block, and beside them the words of the first and of the second input."""
        (keys, words), (others, other_words) = (
            (side.keys[part], side.words[part]) for side, part in zip(self._sides, block, strict=True)
        )
        if not len(keys) or not len(others):
            return np.concatenate([keys, others]), _filled(words, len(others), 1), _filled(other_words, len(keys), 0)
        places = np.searchsorted(keys, others)
        np.minimum(places, len(keys) - 1, out=places)
        known = keys[places] == others
        beside = np.zeros_like(words)
        beside[places[known]] = other_words[known]
        alone = ~known
        missing = np.zeros(int(alone.sum()), dtype=words.dtype)
        return (
            np.concatenate([keys, others[alone]]),
            np.concatenate([words, missing]),
            np.concatenate([beside, other_words[alone]]),
        )


def _filled(words: np.ndarray, zeros: int, side: int) -> np.ndarray:
    """The words with so many zeros after them (side 1) or before them (side 0)."""
    none = np.zeros(zeros, dtype=words.dtype)
    return np.concatenate([words, none] if side else [none, words])


def _blocks(first: WordCounts, second: WordCounts) -> Iterator[tuple[slice, slice]]:
    """Ranges of both that hold the same interval of keys, at most `_BLOCK` of each."""
    starts, sides = [0, 0], (first.keys, second.keys)
    while any(start < len(keys) for start, keys in zip(starts, sides, strict=True)):
        windows = [keys[start : start + _BLOCK] for start, keys in zip(starts, sides, strict=True)]
        whole = [start + _BLOCK >= len(keys) for start, keys in zip(starts, sides, strict=True)]
        last = [window[-1:] for window, all_of_it in zip(windows, whole, strict=True) if not all_of_it]
        if last:
            end = np.sort(np.concatenate(last))[0]
            stops = [int(np.searchsorted(window, end, side="right")) for window in windows]
        else:
            stops = [len(window) for window in windows]
        stops = [start + stop for start, stop in zip(starts, stops, strict=True)]
        yield slice(starts[0], stops[0]), slice(starts[1], stops[1])
        starts = stops


def _tally(first: np.ndarray, second: np.ndarray) -> dict[tuple[int, int], int]:
    """How often each pair of counts occurs."""
    base = int(second.max()) + 1
    codes = first.astype(np.int64) * base + second
    if (int(first.max()) + 1) * base <= _FEW:
        outputs = np.bincount(codes)
        codes = np.flatnonzero(outputs)
        outputs = outputs[codes]
    else:
        codes, outputs = np.unique(codes, return_counts=True)
    pairs = (divmod(code, base) for code in codes.tolist())
    return dict(zip(pairs, outputs.tolist(), strict=True))
