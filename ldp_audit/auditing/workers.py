"""Counting on several processes of this machine, or on a Dask cluster.

Chunks are handed out in ascending order, in shards of some tenths of a second of work; every chunk's generators come
from the seed and the chunk's number, so that the sums depend neither on how many count nor on how shards fall. A shard
whose worker is lost is counted again by another one: only counts that arrive are counted.

In a process one shard is counted at a time: a program under audit need not be safe for threads.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import time
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from threading import Lock
from typing import Any

from ldp_audit.auditing.arguments import check_count
from ldp_audit.auditing.program import NamedSampler, Program, ProgramError, name_of
from ldp_audit.auditing.test import Part, Pending, Range, Runner, Tally, Test, count_part

_NEVER_READY = (
    " and nothing before; does the program end its process, or does a script call audit(workers=...) outside "
    "`if __name__ == '__main__':`?"
)
LOSSES = 3
"""Workers that one shard may take down with it."""

_SECONDS = 0.1
_SPREAD = 4  # shards a worker that are left to hand out, at least, so that all end at about the same time
Message = tuple[int, int, Tally | None, float, str | None]
"""A part as it travels: first, last, tally, seconds, the error's text."""

_AHEAD = 2  # shards that a worker has in its queue
_JOIN_SECONDS = 30.0
_LOOK_SECONDS = 5.0  # between two looks at how many workers there are


def runner_of(workers: int = 1, scheduler: str | None = None) -> Runner | None:
    """Who counts; None for this process.   workers: processes here.   scheduler: address of a Dask scheduler."""
    check_count("workers", workers, 1)
    if scheduler is not None:
        if workers != 1:
            raise ValueError(f"workers must not be given with a scheduler, whose workers count, got {workers!r}")
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
    if isinstance(program.sampler, NamedSampler):
        program.sampler.prepare()
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


@dataclass(frozen=True)
class DaskCluster:
    """A `Runner` on the workers of a Dask scheduler (dask.distributed), which must be able to import the target.

    address: such as tcp://host:8786. Lost workers are replaced by the scheduler; workers may come and go.
    """

    address: str

    def parts(self, test: Test, program: Program, pending: Pending) -> Generator[Part, None, None]:
        """See `Runner`."""
        if not len(pending):
            return
        from distributed import as_completed

        client = client_of(self.address)
        try:
            job = pickled(test, program, by_value=True)
            pace, failed, looked = Pace(len(client.nthreads())), False, time.monotonic()
            shards: dict[str, Range] = {}
            running = as_completed(loop=client.loop)

            def hand_out() -> None:
                while len(pending) and not failed and len(shards) < _AHEAD * pace.workers:
                    shard = pending.take(pace.size(len(pending)))
                    future = client.submit(counted, job, shard, pure=False)
                    shards[future.key] = shard
                    running.add(future)

            hand_out()
            for future in running:
                shard = shards.pop(future.key)
                part = _gathered(future, shard, program)
                pace.note(part)
                failed = failed or part.error is not None
                if time.monotonic() - looked > _LOOK_SECONDS:
                    with suppress(OSError):  # a scheduler that is lost cancels the futures, which tell
                        pace.workers = max(1, len(client.nthreads()))
                    looked = time.monotonic()
                hand_out()
                yield part
        finally:
            client.close()


def client_of(address: str) -> Any:
    """A client of the scheduler at this address, once a worker is there. Raises ValueError where there is none."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError(f"scheduler needs dask.distributed: pip install '.[dask]', in a clone ({error})") from None
    try:
        client = Client(address, set_as_default=False, timeout=_JOIN_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"scheduler {address!r} cannot be reached: {error}") from None
    try:
        client.wait_for_workers(1, timeout=_JOIN_SECONDS)
    except TimeoutError:
        client.close()
        raise ValueError(f"scheduler {address!r} has no workers after {_JOIN_SECONDS:g} s") from None
    return client


def _gathered(future: Any, shard: Range, program: Program) -> Part:
    """The part; where the cluster could not count it, one with an error."""
    from distributed import KilledWorker

    try:
        return part_of(future.result())
    except KilledWorker:
        return died(shard, program, "")
    except Exception as error:  # noqa: BLE001  (whatever the cluster raised: the counts so far must not be lost)
        failure = f"the cluster could not count chunks {shard[0]} .. {shard[1] - 1}: {type(error).__name__}: {error}"
        return Part(shard[0], shard[0], None, 0.0, ProgramError(failure))
