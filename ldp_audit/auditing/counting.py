"""The test: one event (or more), fixed before the first of these samples is drawn, counted on two inputs.

Chunk i of an input has a generator of its own, so that the counts do not depend on who counts which chunk, or when.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ldp_audit.auditing.event import Event
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.two_proportions import Counts

Tally = tuple[Counts, ...]
"""Counts of several events on the same outputs."""

TEST, CALLS = 1, 2
"""First numbers of a call's key: which stage it belongs to. Stage 0 is the search."""


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


def count_all(test: Test, program: Program, report: Callable[[Tally], None] | None = None) -> Tally:
    """The counts of all chunks. report is handed the counts so far, after each chunk."""
    total = test.count(program, 0)
    for chunk in range(1, test.chunks):
        if report is not None:
            report(total)
        total = added(total, test.count(program, chunk))
    return total


def added(tally: Tally, more: Tally) -> Tally:
    """The counts of both, event by event."""
    return tuple(a + b for a, b in zip(tally, more, strict=True))
