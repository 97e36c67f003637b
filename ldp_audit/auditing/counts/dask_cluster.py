"""Counting on a Dask cluster (dask.distributed), an engine that brings its own scheduling, retries and dashboards."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ldp_audit.auditing.counts.counting import Part, Pending, Range, Test
from ldp_audit.auditing.counts.shard import Pace, counted, died, part_of, pickled
from ldp_audit.auditing.program import Program, ProgramError

_AHEAD = 2  # shards that a worker has in its queue
_JOIN_SECONDS = 30.0
_LOOK_SECONDS = 5.0  # between two looks at how many workers there are


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
