"""Counting on several processes of this machine, or on a Dask cluster.

Chunks are handed out in ascending order, in shards of some tenths of a second of work; every chunk's generators come
from the seed and the chunk's number, so that the sums depend neither on how many count nor on how shards fall. A shard
whose worker is lost is counted again by another one: only counts that arrive are counted.

In a process one shard is counted at a time: a program under audit need not be safe for threads.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

from ldp_audit.auditing.arguments import check_count
from ldp_audit.auditing.counts.counting import Part, Pending, Range, Runner, Test
from ldp_audit.auditing.counts.shard import LOSSES, Message, Pace, counted, died, part_of, pickled
from ldp_audit.auditing.program import Program

_NEVER_READY = (
    " and nothing before; does the program end its process, or does a script call audit(workers=...) outside "
    "`if __name__ == '__main__':`?"
)


def runner_of(workers: int = 1, scheduler: str | None = None) -> Runner | None:
    """Who counts; None for this process.   workers: processes here.   scheduler: address of a Dask scheduler."""
    check_count("workers", workers, 1)
    if scheduler is not None:
        if workers != 1:
            raise ValueError(f"workers must not be given with a scheduler, whose workers count, got {workers!r}")
        from ldp_audit.auditing.counts.dask_cluster import DaskCluster

        return DaskCluster(scheduler)
    return LocalProcesses(workers) if workers > 1 else None


@dataclass(frozen=True)
class LocalProcesses:
    """A `Runner` on fresh processes of this machine (spawned, so that no state of this one is shared).

    The sampler is sent to them by pickle. Where audit(workers=...) is called by a script, the call must stand under
    `if __name__ == "__main__":`, as for every spawned process.
    """

    workers: int

    def parts(self, test: Test, program: Program, pending: Pending) -> Generator[Part, None, None]:
        """See `Runner`."""
        if not len(pending):
            return
        job = pickled(test, program)
        pace, losses, failed = Pace(self.workers), _Losses(), False
        crew = {one.connection: one for one in (_Process(job) for _ in range(min(self.workers, len(pending))))}
        try:
            while True:
                for idle in [one for one in crew.values() if one.shard is None and len(pending) and not failed]:
                    if len(pending):
                        idle.send(pending.take(pace.size(len(pending))))
                if all(one.shard is None for one in crew.values()):
                    return
                for connection in wait([key for key, one in crew.items() if one.shard is not None]):
                    process = crew[connection]  # type: ignore[index]
                    part = process.received()
                    if part is None:
                        del crew[process.connection]
                        process.end()
                        part = losses.part(process, pending, program)
                        if part is None:
                            replacement = _Process(job)
                            crew[replacement.connection] = replacement
                            continue
                    pace.note(part)
                    failed = failed or part.error is not None
                    yield part
        finally:
            for process in crew.values():
                process.end()


class _Process:
    """One worker process, and the shard that it counts at present."""

    def __init__(self, job: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.shard: Range | None = None
        self.ready = False
        # Not a daemon, as a program may start processes of its own, which daemons may not.
        self._process = context.Process(target=_serve, args=(theirs, job))
        self._process.start()
        theirs.close()

    def send(self, shard: Range) -> None:
        """Have it counted."""
        self.shard = shard
        with suppress(OSError):  # where it is gone, `received` will tell
            self.connection.send(shard)

    def received(self) -> Part | None:
        """What it counted; None where it is gone."""
        try:
            message: Message = self.connection.recv()
        except (EOFError, OSError):
            return None
        self.ready, self.shard = True, None
        return part_of(message)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


@dataclass
class _Losses:
    """How often a shard's worker was lost."""

    times: dict[int, int] = field(default_factory=dict)

    def part(self, lost: _Process, pending: Pending, program: Program) -> Part | None:
        """None, and the shard is pending again; a failure once it has taken too many workers down."""
        if lost.shard is None:
            raise RuntimeError("a worker without a shard was waited for")
        times = self.times[lost.shard[0]] = self.times.get(lost.shard[0], 0) + 1
        if times < LOSSES:
            pending.put_back(lost.shard)
            return None
        return died(lost.shard, program, "" if lost.ready else _NEVER_READY)


def _serve(connection: Connection, job: bytes) -> None:
    """The life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    while True:
        try:
            shard = connection.recv()
            connection.send(counted(job, shard))
        except (EOFError, OSError):  # the parent is gone
            return
