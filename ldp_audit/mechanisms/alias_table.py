"""Finite laws in whole numbers of words, drawn from in constant time: Walker's alias method, exact in whole numbers.

Of 2**64 equally likely words, so many lead to each output. The words are cut into 2**k slots of equal size, at least as
many as there are outputs, and each slot is shared by at most two outputs (Vose 1991): the first so many words of a slot
lead to the output that it is named after, the others to one other output. Counts that are whole numbers of words are
shared out without any rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.randomness import WORDS, Source


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Some laws, one a row. Built from counts by `of`.

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
