"""Counting by a pool of workers: processes of this machine, or a Dask cluster.

Chunks are handed out in ascending order, in shards of some tenths of a second of work; every chunk's generators come
from the seed and the chunk's number, so that the sums depend neither on how many count nor on how shards fall. A shard
whose worker is lost is counted again by another one: only counts that arrive are counted.
"""

from __future__ import annotations

import pickle
from collections.abc import Generator
from dataclasses import dataclass
from functools import lru_cache

from ldp_audit.auditing.adapters.sampler import NamedSampler, ProgramError, name_of
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.test import Part, Pending, Range, Test, count_part
from ldp_audit.workers import Ended, Pool, Say, SchedulerLostError, ThisProcess, pool_of

_SECONDS = 0.1  # of a shard
_SPREAD = 4  # shards a worker that are left to hand out, at least, so that all end at about the same time
_AHEAD = 2  # shards that a worker of a cluster has in its queue


@dataclass(frozen=True)
class Counting:
    """A `Runner` on a pool, to which the sampler is sent by pickle."""

    pool: Pool

    def parts(self, test: Test, program: Program, pending: Pending) -> Generator[Part, None, None]:
        """See `Runner`."""
        if not len(pending):
            return
        job = pickled(test, program, by_value=not self.pool.local)
        chunks, seconds, failed = 0, 0.0, False  # of the parts so far

        def take(workers: int, running: int) -> Range | None:
            if failed or not len(pending) or running >= _AHEAD * workers:
                return None
            worth = int(_SECONDS * chunks / max(seconds, 1e-9))  # the first shards, of unknown length, have one
            return pending.take(max(1, min(worth, len(pending) // (_SPREAD * workers))))

        ends = self.pool.run(counted, job, take, _unheard)
        try:
            for ended in ends:
                part = _part(ended, program)
                chunks, seconds = chunks + part.last - part.first, seconds + part.seconds
                failed = failed or part.error is not None
                yield part
        except SchedulerLostError as error:
            yield Part(0, 0, None, 0.0, ProgramError(str(error)))
        finally:
            ends.close()


def counting(workers: int, scheduler: str | None) -> Counting | None:
    """Who counts: None for this process.   workers, scheduler: as of `audit`. Raises ValueError for bad ones."""
    pool = pool_of(workers, scheduler)
    return None if pool == ThisProcess() else Counting(pool)


def _unheard(_: object) -> None:
    """Shards say nothing on the way."""


def pickled(test: Test, program: Program, *, by_value: bool = False) -> bytes:
    """By name where that will do; by value, by cloudpickle, what only this process knows.

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


def counted(job: bytes, shard: Range, say: Say) -> Part:  # noqa: ARG001
    """Count a shard; runs in a worker."""
    try:
        test, program = _unpickled(job)
    except Exception as error:  # noqa: BLE001  (the user's module may raise anything)
        text = f"a worker cannot load the sampler: {type(error).__name__}: {error}"
        return Part(shard[0], shard[0], None, 0.0, ProgramError(text))
    return count_part(test, program, shard)


@lru_cache(maxsize=4)
def _unpickled(job: bytes) -> tuple[Test, Program]:
    test, program = pickle.loads(job)  # noqa: S301  (written by the process that started this one, or its client)
    if isinstance(program.sampler, NamedSampler):
        program.sampler.prepare()
    return test, program


def _part(ended: Ended, program: Program) -> Part:
    """What `counted` found; where nothing is left of the shard but its workers' end, or an error, a failure."""
    if ended.value is not None:
        return ended.value
    first, last = ended.task
    chunks = f"chunk {first}" if last - first == 1 else f"chunks {first} .. {last - 1}"
    failure = f"{name_of(program.sampler)}: {ended.lost} while they counted {chunks}{ended.hint}"
    if ended.error is not None:
        failure = f"workers could not count {chunks}: {ended.error}"
    return Part(first, first, None, 0.0, ProgramError(failure))
