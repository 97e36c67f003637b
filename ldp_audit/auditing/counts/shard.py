"""Shards: the test and the program as they travel to a worker, and the counts of some chunks as they travel back."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

from ldp_audit.auditing.counts.counting import Part, Range, Tally, Test, count_part
from ldp_audit.auditing.counts.target_sampler import name_of, prepare
from ldp_audit.auditing.program import Program, ProgramError

LOSSES = 3
"""Workers that one shard may take down with it."""

_SECONDS = 0.1
_SPREAD = 4  # shards a worker that are left to hand out, at least, so that all end at about the same time

Message = tuple[int, int, Tally | None, float, str | None]
"""A part as it travels: first, last, tally, seconds, the error's text."""


@dataclass
class Pace:
    """How many chunks make a shard, from what the parts so far took."""

    workers: int
    chunks: int = 0
    seconds: float = 0.0

    def note(self, part: Part) -> None:
        """Learn from a part."""
        self.chunks += part.last - part.first
        self.seconds += part.seconds

    def size(self, left: int) -> int:
        """Chunks of the next shard, where so many are left; the first shards, of unknown length, have one."""
        if not self.chunks:
            return 1
        worth = int(_SECONDS * self.chunks / max(self.seconds, 1e-9))
        return max(1, min(worth, left // (_SPREAD * self.workers)))


def pickled(test: Test, program: Program, *, by_value: bool = False) -> bytes:
    """By name where that will do; by value, which takes cloudpickle, what only this process knows.

    by_value: also for what is defined in `__main__`, which is another module in a worker of Dask's.
    """
    reason: Exception | None = None
    for dumps in (_dumps_by_value,) if by_value else (pickle.dumps, _dumps_by_value):
        try:
            return dumps((test, program))
        except (pickle.PicklingError, AttributeError, TypeError, ImportError) as error:
            reason = reason or error
    raise ValueError(f"sampler must be one that other processes can load, such as package.module:name; {reason}")


def _dumps_by_value(job: tuple[Test, Program]) -> bytes:
    import cloudpickle

    return cloudpickle.dumps(job)


_ONE_AT_A_TIME = Lock()


def counted(job: bytes, shard: Range) -> Message:
    """Count a shard; runs in a worker, where the program must have no other call at the same time."""
    with _ONE_AT_A_TIME:
        try:
            test, program = _unpickled(job)
        except Exception as error:  # noqa: BLE001  (the user's module may raise anything)
            return shard[0], shard[0], None, 0.0, f"a worker cannot load the sampler: {type(error).__name__}: {error}"
        part = count_part(test, program, shard)
    return part.first, part.last, part.tally, part.seconds, None if part.error is None else str(part.error)


@lru_cache(maxsize=4)
def _unpickled(job: bytes) -> tuple[Test, Program]:
    test, program = pickle.loads(job)  # noqa: S301  (written by the process that started this one, or its client)
    prepare(program.sampler)
    return test, program


def part_of(message: Message) -> Part:
    """What `counted` found."""
    first, last, tally, seconds, error = message
    return Part(first, last, tally, seconds, None if error is None else ProgramError(error))


def died(shard: Range, program: Program, when: str) -> Part:
    """A failure: nothing is left of the shard but its workers' end."""
    chunks = f"chunk {shard[0]}" if shard[1] - shard[0] == 1 else f"chunks {shard[0]} .. {shard[1] - 1}"
    failure = f"{name_of(program.sampler)}: {LOSSES} worker processes died while they counted {chunks}{when}"
    return Part(shard[0], shard[0], None, 0.0, ProgramError(failure))
