"""Counts add up whoever counts what, and whatever goes wrong on the way."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.test import (
    CountedChunks,
    IncompleteError,
    Part,
    Pending,
    Range,
    Test,
    count_all,
    count_part,
)

CHUNKS, ROWS = 7, 100
EVENTS = (Event(((0.5, math.inf),)), Event(((-math.inf, 0.1),)))


def uniform(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.random(n) ** (1 + x)


TEST = Test(EVENTS, (0.0, 1.0), (0, 1), CHUNKS * ROWS - 30, ROWS)
PROGRAM = Program(uniform, seed=5)


class Memory:
    """A keeper that remembers what it was told."""

    def __init__(self, ledger: CountedChunks | None = None) -> None:
        self.kept, self.told = ledger or CountedChunks(), 0

    def ledger(self, test: Test) -> CountedChunks:
        return self.kept

    def keep(self, ledger: CountedChunks, *, now: bool = False) -> None:
        self.kept, self.told = ledger, self.told + 1


class InOrder:
    """A runner that counts given ranges, in the given order."""

    def __init__(self, ranges: list[Range]) -> None:
        self.ranges, self.closed = ranges, False

    def parts(self, test: Test, program: Program, pending: Pending) -> Generator[Part, None, None]:
        try:
            for chunks in self.ranges:
                yield count_part(test, program, chunks)
        finally:
            self.closed = True


def test_the_last_chunk_holds_what_is_left_of_the_trials() -> None:
    tally = count_all(TEST, PROGRAM)
    assert [(counts.trials, counts.other_trials) for counts in tally] == [(TEST.trials, TEST.trials)] * 2


@given(st.permutations(range(CHUNKS)), st.sets(st.integers(1, CHUNKS - 1)))
def test_counts_depend_neither_on_the_shards_nor_on_their_order(order: list[int], cuts: set[int]) -> None:
    edges = [0, *sorted(cuts), CHUNKS]
    shards = list(pairwise(edges))
    shuffled = [shards[place] for place in order if place < len(shards)]
    assert count_all(TEST, PROGRAM, runner=InOrder(shuffled)) == count_all(TEST, PROGRAM)


def test_what_a_state_holds_is_not_counted_again() -> None:
    calls: list[int] = []

    def noted(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        calls.append(n)
        return uniform(x, n, rng)

    memory = Memory(CountedChunks().plus(count_part(TEST, PROGRAM, (2, 6))))
    assert count_all(TEST, Program(noted, seed=5), state=memory) == count_all(TEST, PROGRAM)
    assert len(calls) == 2 * (CHUNKS - 4)
    assert memory.kept.done == ((0, CHUNKS),)
    calls.clear()
    count_all(TEST, Program(noted, seed=5), state=memory)
    assert not calls


def test_a_chunk_that_is_counted_twice_is_refused() -> None:
    ledger = CountedChunks().plus(count_part(TEST, PROGRAM, (0, 3)))
    with pytest.raises(ValueError, match="chunk 2 was counted twice"):
        ledger.plus(count_part(TEST, PROGRAM, (2, 4)))


@given(st.sets(st.integers(0, CHUNKS - 1)))
def test_done_and_missing_chunks_are_all_chunks(done: set[int]) -> None:
    ledger = CountedChunks()
    for chunk in done:
        ledger = ledger.plus(Part(chunk, chunk + 1, (TALLY,), 0.0))
    missing = {chunk for first, last in ledger.missing(CHUNKS) for chunk in range(first, last)}
    assert missing == set(range(CHUNKS)) - done
    assert all(a[1] < b[0] for a, b in pairwise(ledger.done))


TALLY = count_all(replace(TEST, trials=ROWS), PROGRAM)[0]


def test_pending_chunks_are_handed_out_once_and_the_lowest_first() -> None:
    pending = Pending([(4, 9), (0, 2)])
    assert (len(pending), pending.take(5)) == (7, (0, 2))
    assert [pending.take(2), pending.take(2), pending.take(2)] == [(4, 6), (6, 8), (8, 9)]
    assert len(pending) == 0


def failing(*chunks: int) -> Any:
    """Fails in these chunks, which it knows by their generators."""
    keys = {Program(uniform, 5).outputs(0.0, 1, (1, 0, chunk)).known_numbers[0] for chunk in chunks}

    def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        outputs = uniform(x, n, rng)
        if outputs[0] in keys:
            raise ArithmeticError("boom")
        return outputs

    return sampler


def test_counts_before_a_failure_are_kept_and_handed_on() -> None:
    memory = Memory()
    with pytest.raises(IncompleteError) as caught:
        count_all(TEST, Program(failing(4), seed=5), state=memory)
    assert str(caught.value) == ("the sampler, on input 0.0 (call 1.0.4, n = 100): it raised ArithmeticError: boom")
    assert isinstance(caught.value, ProgramError)
    assert memory.kept == CountedChunks().plus(count_part(TEST, PROGRAM, (0, 4)))
    assert caught.value.partial is not None
    assert caught.value.partial["trials"] == [400, 400]
    assert caught.value.partial["event"] == EVENTS[0].to_dict()
    # what is kept and what is left add up to the whole, once the program is well again
    assert count_all(TEST, PROGRAM, state=memory) == count_all(TEST, PROGRAM)


def test_a_failure_in_the_first_chunk_leaves_nothing_to_keep() -> None:
    with pytest.raises(IncompleteError) as caught:
        count_all(TEST, Program(failing(0), seed=5))
    assert caught.value.partial is None


def test_of_several_failures_the_lowest_chunk_is_named() -> None:
    runner = InOrder([(5, 7), (2, 5), (0, 2)])
    with pytest.raises(IncompleteError, match=r"call 1\.0\.3,") as caught:
        count_all(TEST, Program(failing(3, 6), seed=5), runner=runner)
    assert caught.value.partial is not None
    assert caught.value.partial["trials"] == [400, 400]  # chunks 0, 1, 2 and 5


def test_an_interruption_is_kept_and_ends_the_runner() -> None:
    memory, runner = Memory(), InOrder([(0, 2), (2, 7)])

    def interrupt(tally: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_all(TEST, PROGRAM, interrupt, runner=runner, state=memory)
    assert (memory.kept.done, runner.closed) == (((0, 2),), True)


def test_reports_hold_the_counts_so_far_and_the_last_is_the_result() -> None:
    seen: list[int] = []
    count_all(TEST, PROGRAM, lambda tally: seen.append(tally[0].trials))
    assert seen == [ROWS * chunks for chunks in range(1, CHUNKS)]


def test_a_runner_that_leaves_chunks_out_is_noticed() -> None:
    with pytest.raises(RuntimeError, match="were not counted"):
        count_all(TEST, PROGRAM, runner=InOrder([(0, 3), (5, 7)]))
