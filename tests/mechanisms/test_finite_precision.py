"""The alias table: every word accounted for, and the draw at the ends of each share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms.finite_precision import AliasTable
from ldp_audit.mechanisms.randomness import WORDS, NumpySource


@given(st.lists(st.lists(st.integers(0, 2**40), min_size=9, max_size=9), min_size=1, max_size=3))
def test_the_alias_table_holds_exactly_the_counts(rows: list[list[int]]) -> None:
    """Every word leads to one output: the slots' words, added up over own and other outputs."""
    counts = [[*row[:-1], WORDS - sum(row[:-1])] for row in rows]
    table = AliasTable.of(counts)
    size, slots = 2 ** (64 - table.slot_bits), 2**table.slot_bits
    for i, row in enumerate(counts):
        found = [0] * slots
        for slot in range(slots):
            own = int(table.thresholds[i * slots + slot])
            found[slot] += own
            found[int(table.others[i * slots + slot])] += size - own
        assert found == [*row, *[0] * (slots - len(row))]


def test_a_slots_first_words_lead_to_its_own_output() -> None:
    """The words at both ends of each share, handed out one by one."""
    counts = [WORDS // 2 + 1, WORDS // 4 - 5, 4, WORDS // 4]
    table = AliasTable.of([counts])
    for slot in range(4):
        own, start = int(table.thresholds[slot]), slot * 2**62
        inside = [start, start + own - 1] if own else []
        outside = [start + own, start + 2**62 - 1] if own < 2**62 else []
        words = np.array([*inside, *outside], dtype=np.uint64).view(np.int64)
        drawn = table.draw(_Scripted(words), words.shape)
        assert drawn.tolist() == [slot] * len(inside) + [table.others[slot]] * len(outside)


def test_counts_must_add_up() -> None:
    for row in ([WORDS - 1], [WORDS + 1, -1]):
        with pytest.raises(ValueError, match=r"counts must be whole numbers >= 0 that add up to 2\*\*64"):
            AliasTable.of([row])


class _Scripted(NumpySource):
    """Hands out the words that it was given."""

    def __init__(self, given: np.ndarray) -> None:
        super().__init__(np.random.default_rng(0))
        self.given = given

    def words(self, shape: Any, bits: int = 64) -> np.ndarray:
        return self.given >> (64 - bits)
