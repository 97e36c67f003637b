"""The test: one event (or more), fixed before the first of these samples is drawn, counted on two inputs.

Chunk i of an input has a generator of its own, so that the counts do not depend on who counts which chunk, or when:
one process or many, at once or after an interruption, the sums are the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from ldp_audit.auditing.event import Event
from ldp_audit.auditing.program import Program, ProgramError
from ldp_audit.auditing.two_proportions import Counts

Tally = tuple[Counts, ...]
"""Counts of several events on the same outputs."""

Range = tuple[int, int]
"""The chunks first .. last - 1."""

SEARCH, TEST, CALLS, CONFIRM = 0, 1, 2, 7
"""First numbers of a call's key: which stage it belongs to."""

CONFIRMED_AGAIN = 1000
"""A confirmation of a confirmation's file has a stage that is higher by this: 1007, then 2007."""


@dataclass(frozen=True)
class Test:
    """What is counted.

    events: the one to be tested first; others are counted in the same outputs.
    pair: the input that makes the event likelier, and the other.   places: their numbers, which their keys contain.
    trials: outputs of each input.   rows: outputs a call.   stage: the first number of the keys.
    """

    __test__ = False  # not a test class of pytest's

    events: tuple[Event, ...]
    pair: tuple[Any, Any]
    places: tuple[int, int]
    trials: int
    rows: int
    stage: int = TEST

    @property
    def chunks(self) -> int:
        """How many calls each input needs."""
        return -(-self.trials // self.rows)

    def count(self, program: Program, chunk: int) -> Tally:
        """The counts of one chunk, an entry an event: one call on either input."""
        size = min(self.rows, self.trials - chunk * self.rows)
        outputs, others = (
            program.outputs(x, size, (self.stage, place, chunk))
            for x, place in zip(self.pair, self.places, strict=True)
        )
        return tuple(Counts(event.count(outputs), size, event.count(others), size) for event in self.events)


@dataclass(frozen=True)
class Part:
    """What counting the chunks first .. last - 1 gave; with an error, last is the chunk that failed, not counted."""

    first: int
    last: int
    tally: Tally | None
    seconds: float
    error: ProgramError | None = None


@dataclass(frozen=True)
class Ledger:
    """Which chunks are counted, as ascending ranges that lie apart, and what they add up to."""

    done: tuple[Range, ...] = ()
    tally: Tally | None = None

    def plus(self, part: Part) -> Ledger:
        """With one more part. Raises ValueError where a chunk would be counted twice."""
        if part.tally is None:
            return self
        tally = part.tally if self.tally is None else added(self.tally, part.tally)
        return Ledger(joined([*self.done, (part.first, part.last)]), tally)

    def missing(self, chunks: int) -> list[Range]:
        """What is left of 0 .. chunks - 1."""
        edges = [0, *(edge for done in self.done for edge in done), chunks]
        return [(first, last) for first, last in zip(edges[::2], edges[1::2], strict=True) if first < last]


class Pending:
    """Chunks that are still to be handed out, the lowest first."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        self._ranges = sorted(ranges)

    def __len__(self) -> int:
        return sum(last - first for first, last in self._ranges)

    def take(self, most: int) -> Range:
        """The next chunks, so many at most."""
        first, last = self._ranges.pop(0)
        if last - first > most:
            self._ranges.insert(0, (first + most, last))
            last = first + most
        return first, last

    def put_back(self, chunks: Range) -> None:
        """To be handed out again."""
        self._ranges = sorted([*self._ranges, chunks])


class Runner(Protocol):
    """Who counts: this process, others on this machine, or a cluster."""

    def parts(self, test: Test, program: Program, pending: Pending) -> Generator[Part, None, None]:
        """All that is pending, in any order. After a part with an error nothing more is handed out.

        Closing the generator ends whatever was started for it.
        """
        ...


class Keeper(Protocol):
    """Where counts outlive this process."""

    def ledger(self, test: Test) -> Ledger:
        """What is counted of this test already."""
        ...

    def keep(self, ledger: Ledger, *, now: bool = False) -> None:
        """Take note of it; at once, or when it is time again."""
        ...


class IncompleteError(ProgramError):
    """The program failed while its outputs were counted.   partial: what was counted before, for JSON."""

    def __init__(self, message: str, partial: dict[str, Any] | None) -> None:
        super().__init__(message)
        self.partial = partial


class Serial:
    """Chunk after chunk, in this process."""

    def parts(self, test: Test, program: Program, pending: Pending) -> Generator[Part, None, None]:
        """See `Runner`."""
        while len(pending):
            part = count_part(test, program, pending.take(1))
            yield part
            if part.error is not None:
                return


def count_part(test: Test, program: Program, chunks: Range) -> Part:
    """Count some chunks in this process, up to the first that fails."""
    start = time.perf_counter()
    tally: Tally | None = None
    for chunk in range(*chunks):
        try:
            counted = test.count(program, chunk)
        except ProgramError as error:
            return Part(chunks[0], chunk, tally, time.perf_counter() - start, error)
        tally = counted if tally is None else added(tally, counted)
    return Part(*chunks, tally, time.perf_counter() - start)


def count_all(
    test: Test,
    program: Program,
    report: Callable[[Tally], None] | None = None,
    *,
    runner: Runner | None = None,
    state: Keeper | None = None,
) -> Tally:
    """The counts of all chunks.

    report: handed the counts so far, after each part but the last.   state: what it holds is not counted again.
    Raises IncompleteError where the program fails: of several failures that of the lowest chunk, so that who counts
    does not change the message.
    """
    ledger = Ledger() if state is None else state.ledger(test)
    failed: Part | None = None
    try:
        with closing((runner or Serial()).parts(test, program, Pending(ledger.missing(test.chunks)))) as parts:
            for part in parts:
                ledger = ledger.plus(part)
                if part.error is not None:
                    failed = part if failed is None or part.last < failed.last else failed
                if state is not None:
                    state.keep(ledger)
                if report is not None and ledger.tally is not None and ledger.missing(test.chunks):
                    report(ledger.tally)
    finally:
        if state is not None:
            state.keep(ledger, now=True)
    if failed is not None:
        raise IncompleteError(str(failed.error), partial_counts(test, ledger)) from failed.error
    if ledger.tally is None or ledger.missing(test.chunks):
        raise RuntimeError(f"chunks {ledger.missing(test.chunks)} were not counted")
    return ledger.tally


def partial_counts(test: Test, ledger: Ledger) -> dict[str, Any] | None:
    """For JSON: what is counted of the first event; None where nothing is."""
    if ledger.tally is None:
        return None
    counts = ledger.tally[0]
    return {
        "event": test.events[0].to_dict(),
        "hits": [counts.hits, counts.other_hits],
        "trials": [counts.trials, counts.other_trials],
    }


def joined(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Ranges as ascending ones that lie apart. Raises ValueError where two of them share a chunk."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first < found[-1][1]:
            raise ValueError(f"chunk {first} was counted twice")
        if found and first == found[-1][1]:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return tuple(found)


def added(tally: Tally, more: Tally) -> Tally:
    """The counts of both, event by event."""
    return tuple(a + b for a, b in zip(tally, more, strict=True))
