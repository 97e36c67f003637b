"""Finite-precision samplers: a table of integer thresholds, and one way to draw from it, on numpy and on torch.

Of so many equally likely words, whole numbers of them lead to each class of outputs. A draw compares a fresh word with
the running totals of these counts, so that every probability is the count divided by the number of words, exactly.
Tables of many outputs, and of several inputs, are drawn from in constant time (`AliasTable`); numpy arrays and 64-bit
words, for some mechanisms, by the first 16 bits of a word wherever these settle the comparison (`short_words.py`).
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.mechanisms.randomness import BITS, WORDS, NumpySource, Source, source_of
from ldp_audit.mechanisms.short_words import Draw, by_blocks


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Classes of outputs and the words that lead to each, the lowest words to the first class.

    counts: whole numbers >= 0.   bits: of a word, where the counts add up to 2**bits; None where a uniform number below
    their sum (at most 2**62) is drawn instead.
    """

    counts: Sequence[int] | NDArray[np.int64]
    bits: int | None = None

    def draw(self, source: Source, shape: Sequence[int]) -> Any:
        """The class of a fresh word for each place; int64."""
        words = source.below(int(np.sum(self.counts)), shape) if self.bits is None else source.words(shape, self.bits)
        starts = source.constant(self._starts(), source.xp.int64)
        return source.xp.searchsorted(starts, words, side="right")

    def _starts(self) -> NDArray[np.int64]:
        """The first word of every class but the first; none for classes at the end that have no words."""
        if self.bits is None:
            return np.cumsum(self.counts)[:-1]
        lowest = -(2 ** (self.bits - 1))
        starts = [lowest + total for total in itertools.accumulate(map(int, self.counts[:-1]))]
        return np.array([start for start in starts if start < -lowest], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Laws of whole counts of 2**64 words, one a row, drawn from in constant time: Walker's alias method, exact.

    The words are cut into 2**k slots of equal size, at least as many as there are outputs, and each slot is shared by
    at most two outputs (Vose 1991): the first so many words of a slot lead to the output that it is named after, the
    others to one other output. Built from counts by `of`, without any rounding.

    slot_bits: k.   thresholds, others: one for each row and slot, row after row; shape (rows * 2**k,), int64.
    """

    slot_bits: int
    thresholds: NDArray[np.int64]
    others: NDArray[np.int64]

    @classmethod
    def of(cls, counts: Sequence[Sequence[int]]) -> AliasTable:
        """The table of laws with so many words for each output; each row adds up to 2**64.

        Raises ValueError for a row that does not, or has a negative count.
        """
        for row in counts:
            if sum(row) != WORDS or min(row) < 0:
                raise ValueError(f"counts must be whole numbers >= 0 that add up to 2**64, got a row of sum {sum(row)}")
        slot_bits = max(2, (len(counts[0]) - 1).bit_length())  # a slot's size must be below 2**63
        shared = [_share_out(row, slot_bits) for row in counts]
        thresholds, others = (np.array([one[i] for one in shared], dtype=np.int64).reshape(-1) for i in (0, 1))
        return cls(slot_bits, thresholds, others)

    def draw(self, source: Source, shape: Sequence[int], rows: Any = None) -> Any:
        """One output's number for each place, from the law of its row (the only one, where rows is None); int64.

        rows: int64, of that shape.
        """
        xp, within = source.xp, 64 - self.slot_bits
        words = source.words(shape)
        slot = (words >> within) & (2**self.slot_bits - 1)
        place = slot if rows is None else slot + (rows << self.slot_bits)
        own = (words & (2**within - 1)) < source.constant(self.thresholds, xp.int64)[place]
        return xp.where(own, slot, source.constant(self.others, xp.int64)[place])


class FinitePrecision(Mechanism):
    """What a sampler draws from exactly: every probability is a whole number of words, or has an exact sampler.

    A subclass states how one report is drawn for each input; numpy arrays may have a faster way to the same reports.
    """

    @abstractmethod
    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats, from whole counts: at most the mechanism's."""

    @abstractmethod
    def draw(self, x: Any, source: Source) -> Any:
        """One report for each input; x is an array of the source's library. Raises ValueError for what is no input."""

    def implemented(self, bits: int = 64) -> Self:
        """Itself. ValueError unless bits are 2..64."""
        BITS.check(bits)
        return self

    def fits_blocks(self, dtype: Any) -> bool:  # noqa: ARG002
        """Whether `blocks` draws reports for numpy arrays of this dtype."""
        return False

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """The function that draws blocks of at most so many inputs of this dtype, by `short_words`."""
        raise NotImplementedError

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report for each input; see the mechanism's `sample`."""
        source = source_of(rng)
        return self.drawn(source.array("x", x), source)

    def drawn(self, x: Any, source: Source) -> Any:
        """`draw`, or the faster way where there is one."""
        if isinstance(source, NumpySource) and self.fits_blocks(x.dtype):
            return by_blocks(x, lambda size: self.blocks(x.dtype, size, source))
        return self.draw(x, source)


@dataclass(frozen=True)
class WholeWords(FinitePrecision):
    """A mechanism with its probabilities rounded to whole numbers of `bits`-bit words, so that no ratio grows.

    mechanism: the ideal one.   bits: of a word, 2..64. Raises ValueError for anything else.
    """

    mechanism: Any
    bits: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", BITS.check(self.bits))

    def worst_pair(self) -> tuple[Any, Any]:
        """The mechanism's."""
        return self.mechanism.worst_pair()

    def domain(self) -> tuple[float, float]:
        """The mechanism's."""
        return self.mechanism.domain()

    def reports(self) -> Sequence[Any] | None:
        """The mechanism's."""
        return self.mechanism.reports()


def _share_out(counts: Sequence[int], slot_bits: int) -> tuple[list[int], list[int]]:
    """For each slot, how many of its words lead to its own output, and where the others lead.

    Each step fills one slot that has too few words of its own with words of an output that has too many.
    """
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
