"""The test: one event (or more), fixed before the first of these samples is drawn, counted on two inputs.

Chunk i of an input has a generator of its own, so that the counts do not depend on who counts which chunk, or when:
one process or many, at once or after an interruption, the sums are the same.

Programs that repeat themselves (a fixed seed, a small one, a cache) have a test of their own (`repeated`): many small
calls show what one large one hides. Each call asks for one output, with a fresh generator. An honest program's outputs
are then as independent as ever, and this is one more test of an event; a program that ignores the generator, or keeps
few of its bits, gives outputs that it gave before on the one input and not on the other. Seeds of more than about ten
bits are beyond these few calls.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import NOT_A_LABEL, Outputs
from ldp_audit.auditing.program import CALLS, TEST, Program
from ldp_audit.auditing.result import Witness
from ldp_audit.auditing.scores.equals import Equals

Tally = tuple[Counts, ...]
"""Counts of several events on the same outputs."""

Range = tuple[int, int]
"""The chunks first .. last - 1."""

_SECONDS = 1.0  # between two lines of progress, at least
FIRST_CALLS = 128
"""Calls of each input before a test is proposed."""

_FEWEST_CALLS = 16  # and where samples are few: a fixed seed shows in these, one of 8 bits in the usual number
_MOST_CALLS = 1000

_TEST_CALLS, LEAST_SIZE = 32, 16
"""About the fewest calls of each input of a test, unless they had fewer outputs than this."""


def call_size(trials: int, most: int) -> int:
    """Outputs a call of a test of so many outputs of each input.   most: what a call may hold."""
    return min(most, max(LEAST_SIZE, -(-trials // _TEST_CALLS)))


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
        """The counts of one chunk, an entry an event: one call on either input.

        Which input comes first is a coin's toss, so that a program that counts its calls, or whose memory fills up,
        does not differ between the inputs by their turns.
        """
        size = min(self.rows, self.trials - chunk * self.rows)
        turns = sorted(zip(self.places, self.pair, strict=True), reverse=program.coin((self.stage, chunk)))
        found = {place: program.outputs(x, size, (self.stage, place, chunk)) for place, x in turns}
        outputs, others = (found[place] for place in self.places)
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
class CountedChunks:
    """Which chunks are counted, as ascending ranges that lie apart, and what they add up to."""

    done: tuple[Range, ...] = ()
    tally: Tally | None = None

    def plus(self, part: Part) -> CountedChunks:
        """With one more part. Raises ValueError where a chunk would be counted twice."""
        if part.tally is None:
            return self
        tally = part.tally if self.tally is None else added(self.tally, part.tally)
        return CountedChunks(joined([*self.done, (part.first, part.last)]), tally)

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


class Runner(Protocol):
    """Who counts: this process, others on this machine, or a cluster."""

    def parts(self, test: Test, program: Program, pending: Pending) -> Generator[Part, None, None]:
        """All that is pending, in any order. After a part with an error nothing more is handed out.

        Closing the generator ends whatever was started for it.
        """
        ...


class Keeper(Protocol):
    """Where counts outlive this process."""

    def ledger(self, test: Test) -> CountedChunks:
        """What is counted of this test already."""
        ...

    def keep(self, ledger: CountedChunks, *, now: bool = False) -> None:
        """Take note of it; at once, or when it is time again."""
        ...


class Unkept:
    """A `Keeper` that keeps nothing: a run that starts afresh, and is not continued."""

    found: None = None
    """What an earlier search settled on."""

    def keep_found(self, found: object) -> None:
        """Take note of what the search settled on."""

    def fix(self, test: Test, design_epsilon: float) -> None:
        """Take note of the test."""

    def ledger(self, test: Test) -> CountedChunks:  # noqa: ARG002  (nothing is kept of any test)
        """See `Keeper`."""
        return CountedChunks()

    def keep(self, ledger: CountedChunks, *, now: bool = False) -> None:
        """See `Keeper`."""


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
    keeper: Keeper = Unkept() if state is None else state
    ledger = keeper.ledger(test)
    failed: Part | None = None
    try:
        with closing((runner or Serial()).parts(test, program, Pending(ledger.missing(test.chunks)))) as parts:
            for part in parts:
                ledger = ledger.plus(part)
                if part.error is not None:
                    failed = part if failed is None or part.last < failed.last else failed
                keeper.keep(ledger)
                if report is not None and ledger.tally is not None and ledger.missing(test.chunks):
                    report(ledger.tally)
    finally:
        keeper.keep(ledger, now=True)
    if failed is not None:
        raise IncompleteError(str(failed.error), partial_counts(test, ledger)) from failed.error
    if ledger.tally is None or ledger.missing(test.chunks):
        raise RuntimeError(f"chunks {ledger.missing(test.chunks)} were not counted")
    return ledger.tally


def partial_counts(test: Test, ledger: CountedChunks) -> dict[str, Any] | None:
    """For JSON: what is counted of the first event; None where nothing is."""
    if ledger.tally is None:
        return None
    return {"event": test.events[0].to_dict(), **ledger.tally[0].to_dict()}


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


def reporter(
    progress: Callable[[str], None] | None, error: float, design_epsilon: float, delta: float
) -> Callable[[Tally], None] | None:
    """What `count_all` hands its counts to; None without a progress.

    error, design_epsilon: of the test of the first event.   delta: the claimed one.
    """
    if progress is None:
        return None
    last = [time.perf_counter()]

    def report(tally: Tally) -> None:
        if time.perf_counter() - last[0] < _SECONDS:
            return
        bound = Region(tally[0], error, design_epsilon, delta, fineness=0.05).epsilon_lower(delta)
        progress(f"test: {tally[0].trials} samples of each input, epsilon at least {bound:.4g} so far")
        last[0] = time.perf_counter()

    return report


def first_calls(samples: int) -> int:
    """Calls of each input that an audit of so many samples begins with: one for fifty samples, 16 to 128, even."""
    return min(FIRST_CALLS, max(_FEWEST_CALLS, samples // 100 * 2))


def repeated(
    program: Program, inputs: Sequence[Any], places: tuple[int, int], error: float, claimed: float, samples: int
) -> tuple[Witness | None, int]:
    """Outputs that one input gives again and the other does not, counted on calls for one; and how many calls.

    None where no such outputs promise a violation: in `first_calls`, and, where these do, in all of them. The first
    half of the calls names the outputs, the second says whether they come again.   samples: of an input, of the audit.
    """
    few = first_calls(samples)
    seen = _seen(program, inputs, places, range(few))
    test = _proposed(seen, inputs, places, error, claimed)
    if test is not None and few < FIRST_CALLS:
        more = _seen(program, inputs, places, range(few, FIRST_CALLS))
        seen = [one + two for one, two in zip(seen, more, strict=True)]
        test = _proposed(seen, inputs, places, error, claimed)
    if test is None:
        return None, 2 * len(seen[0])
    (counts,) = count_all(test, program)
    return Witness(test.pair, test.events[0], counts, calls_for_one=True), 2 * (len(seen[0]) + test.trials)


def _seen(program: Program, inputs: Sequence[Any], places: tuple[int, int], calls: range) -> list[list[Hashable]]:
    """What these calls gave, on either input."""
    return [[_key(program.outputs(inputs[place], 1, (CALLS, 0, place, call))) for call in calls] for place in places]


def _proposed(
    seen: list[list[Hashable]], inputs: Sequence[Any], places: tuple[int, int], error: float, claimed: float
) -> Test | None:
    half = len(seen[0]) // 2
    for one, two in ((0, 1), (1, 0)):
        usual = _own(seen[one][:half], seen[two][:half])
        hits, other = (sum(key in usual for key in keys[half:]) for keys in (seen[one], seen[two]))
        if not hits:
            continue
        needed = 4 * -math.log(error) * (1 + math.exp(min(claimed, 10.0)) * half / hits)
        calls = min(_MOST_CALLS, math.ceil(needed))
        expected = Counts(calls * hits // half, calls, calls * other // half, calls)
        if Region(expected, error, max(1.0, claimed), fineness=0.02).exceeds(claimed):
            pair = (inputs[places[one]], inputs[places[two]])
            return Test((_event(usual),), pair, (places[one], places[two]), calls, 1, CALLS)
    return None


def _own(keys: list[Any], others: list[Any]) -> set[Any]:
    """What is seen on the one input alone; of vectors only the most frequent."""
    known = set(others)
    counts = Counter(key for key in keys if key not in known)
    if counts and isinstance(next(iter(counts)), tuple) and next(iter(counts))[:1] != ("label",):
        return {counts.most_common(1)[0][0]}
    return set(counts)


def _key(outputs: Outputs) -> Hashable:
    if outputs.labels is not None and outputs.labels[0] is not NOT_A_LABEL:
        return ("label", outputs.labels[0])
    numbers = outputs.known_numbers
    return float(numbers[0]) if numbers.ndim == 1 else tuple(map(float, numbers[0]))


def _event(keys: set[Any]) -> Event:
    numbers = sorted(key for key in keys if isinstance(key, float))
    labels: tuple[Any, ...] = tuple(
        sorted((key[1] for key in keys if not isinstance(key, float) and key[:1] == ("label",)), key=repr)
    )
    if numbers or labels:
        return Event(tuple((number, math.nextafter(number, math.inf)) for number in numbers), labels)
    return Event(intervals=((0.5, math.inf),), score=Equals(next(iter(keys))))
