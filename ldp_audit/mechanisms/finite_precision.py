"""Finite-precision samplers: tables of integer thresholds and one method to draw from them, on numpy and torch.

Each class of outputs gets a whole number of 2**bits equally likely words; comparing a random word with the cumulative
counts draws a class with probability exactly count / 2**bits. Large tables, and tables of several inputs, are drawn
from in constant time (`AliasTable`). For numpy arrays some mechanisms decide most reports from the first 16 bits of a
word (`short_words.py`).
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.mechanism import Adjacency, Mechanism
from ldp_audit.mechanisms.randomness import BITS, WORDS, NumpySource, Source, source_of
from ldp_audit.mechanisms.short_words import Draw, by_blocks


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Word counts of the classes of outputs; the lowest words lead to the first class.

    counts: whole numbers >= 0.   bits: word length, where the counts add up to 2**bits; None to draw a uniform number
        below their sum (at most 2**62) instead.
    """

    counts: Sequence[int] | NDArray[np.int64]
    bits: int | None = None

    def draw(self, source: Source, shape: Sequence[int]) -> Any:
        """The class of an independent random word for each element of `shape`; int64."""
        words = source.below(int(np.sum(self.counts)), shape) if self.bits is None else source.words(shape, self.bits)
        starts = source.constant(self._starts(), source.xp.int64)
        return source.xp.searchsorted(starts, words, side="right")

    def _starts(self) -> NDArray[np.int64]:
        """The first word of every class but the first; trailing classes without words have none."""
        if self.bits is None:
            return np.cumsum(self.counts)[:-1]
        lowest = -(2 ** (self.bits - 1))
        starts = [lowest + total for total in itertools.accumulate(map(int, self.counts[:-1]))]
        return np.array([start for start in starts if start < -lowest], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Walker's alias method with integer counts: constant-time draws from distributions over 2**64 words, one a row.

    The words are cut into 2**k slots of equal size, at least as many as there are outputs. Each slot is shared by at
    most two outputs (Vose 1991): its words below the threshold lead to the output of the slot's own number, the others
    to one other output. `of` builds the table from counts without rounding.

    slot_bits: k.   thresholds, others: by row and slot; shape (rows * 2**k,), int64.
    """

    slot_bits: int
    thresholds: NDArray[np.int64]
    others: NDArray[np.int64]

    @classmethod
    def of(cls, counts: Sequence[Sequence[int]]) -> AliasTable:
        """The table for rows of word counts; ValueError for a negative count or a row whose sum is not 2**64."""
        for row in counts:
            if sum(row) != WORDS or min(row) < 0:
                raise ValueError(f"counts must be whole numbers >= 0 that add up to 2**64, got a row of sum {sum(row)}")
        slot_bits = max(2, (len(counts[0]) - 1).bit_length())  # int64 must hold a slot's size
        shared = [_share_out(row, slot_bits) for row in counts]
        thresholds, others = (np.array([one[i] for one in shared], dtype=np.int64).reshape(-1) for i in (0, 1))
        return cls(slot_bits, thresholds, others)

    def draw(self, source: Source, shape: Sequence[int], rows: Any = None) -> Any:
        """A random output number for each place, distributed as its row (int64 of that shape; None: the first)."""
        xp, within = source.xp, 64 - self.slot_bits
        words = source.words(shape)
        slot = (words >> within) & (2**self.slot_bits - 1)
        place = slot if rows is None else slot + (rows << self.slot_bits)
        own = (words & (2**within - 1)) < source.constant(self.thresholds, xp.int64)[place]
        return xp.where(own, slot, source.constant(self.others, xp.int64)[place])


class FinitePrecision(Mechanism):
    """A distribution that a sampler draws from exactly: probabilities that are counts of words, or an exact algorithm.

    A subclass defines `draw`, and optionally `blocks`, a faster algorithm for numpy arrays with the same distribution.
    """

    @abstractmethod
    def draw(self, x: Any, source: Source) -> Any:
        """One report for each input; x is an array of the source's library. Raises ValueError for an invalid input."""

    def implemented(self, bits: int = 64) -> Self:
        """The distribution itself. ValueError unless bits are 2..64."""
        BITS.check(bits)
        return self

    def fits_blocks(self, dtype: Any) -> bool:  # noqa: ARG002
        """Whether `blocks` supports numpy arrays of this dtype."""
        return False

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """A function that draws reports for blocks of up to `size` inputs, by `short_words`."""
        raise NotImplementedError

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report for each input; see the mechanism's `sample`."""
        source = source_of(rng)
        return self.drawn(source.array("x", x), source)

    def drawn(self, x: Any, source: Source) -> Any:
        """`draw`, or `blocks` where it applies."""
        if isinstance(source, NumpySource) and self.fits_blocks(x.dtype):
            return by_blocks(x, lambda size: self.blocks(x.dtype, size, source))
        return self.draw(x, source)


class FinitePrecisionNoise(FinitePrecision):
    """The distribution that a sampler of additive noise draws from."""

    mechanism: Any
    adjacency: ClassVar[Adjacency | None] = "add/remove"

    def replaced_loss(self) -> PairLoss:
        """See base; where both sensitivities are one, as the sampler's profile is that of the first."""
        if self.mechanism.replaced != self.mechanism.sensitivity:
            raise ValueError(f"{self!r} is known for a record present or absent alone; take its mechanism")
        return self.pair_loss()

    def domain(self) -> tuple[float, float]:
        """See `mechanism`."""
        return self.mechanism.domain()


@dataclass(frozen=True)
class WholeWords(FinitePrecision):
    """A mechanism whose probabilities are rounded to counts of `bits`-bit words such that no likelihood ratio grows.

    mechanism: the ideal one.   bits: word length, 2..64. Raises ValueError for anything else.
    """

    mechanism: Any
    bits: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", BITS.check(self.bits))

    def worst_pair(self) -> tuple[Any, Any]:
        """See `mechanism`."""
        return self.mechanism.worst_pair()

    def domain(self) -> tuple[float, float]:
        """See `mechanism`."""
        return self.mechanism.domain()

    def reports(self) -> Sequence[Any] | None:
        """See `mechanism`."""
        return self.mechanism.reports()


def are_whole(weights: NDArray, words: int) -> bool:
    """Whether every probability is a whole number of words."""
    return not any(bool(np.any(row * words % row.sum())) for row in weights)


def word_counts(weights: NDArray, ratio: Fraction | None, words: int) -> list[list[int]]:
    """The number of words for each output at each input; rows add up to `words`.

    weights: shape (inputs, outputs), Python integers; a row's probabilities are its entries divided by their sum.
    ratio: e**epsilon, the largest ratio of an output's probabilities at two inputs; None for infinity.
    """
    rows = weights.tolist()
    if are_whole(weights, words):
        return [[weight * words // sum(row) for weight in row] for row in rows]
    if ratio is None:
        return [_shared_out(row, 1, words) for row in rows]
    floor = math.inf if ratio == 1 else math.ceil((ratio + 1) / (ratio - 1))
    if floor * int(np.count_nonzero(weights.any(axis=0))) > words:
        return [_shared_out(rows[0], 1, words)] * len(rows)
    return [_shared_out(row, int(floor), words) for row in rows]


def _shared_out(row: list[int], floor: int, words: int) -> list[int]:
    """`floor` words for each possible output, if they suffice; the rest in proportion, by largest remainders."""
    total, outputs = sum(row), sum(map(bool, row))
    floor = floor if floor * outputs <= words else 0
    rest = words - floor * outputs
    counts = [floor + weight * rest // total if weight else 0 for weight in row]
    remainders = [-(weight * rest % total) for weight in row]
    for place in sorted(range(len(row)), key=remainders.__getitem__)[: words - sum(counts)]:
        counts[place] += 1
    return counts


def _share_out(counts: Sequence[int], slot_bits: int) -> tuple[list[int], list[int]]:
    """For each slot, its own output's number of words, and the output of the others, by Vose's construction."""
    size = 2 ** (64 - slot_bits)
    left = [*counts, *([0] * (2**slot_bits - len(counts)))]
    own, other = [size] * len(left), list(range(len(left)))
    scarce = [slot for slot, count in enumerate(left) if count < size]
    ample = [slot for slot, count in enumerate(left) if count > size]
    while scarce:
        slot, giver = scarce.pop(), ample[-1]
        own[slot], other[slot] = left[slot], giver
        left[giver] -= size - left[slot]
        if left[giver] <= size:
            ample.pop()
            if left[giver] < size:
                scarce.append(giver)
    return own, other
