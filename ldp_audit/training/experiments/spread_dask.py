"""The runs of a sweep on a Dask cluster (dask.distributed), which brings its own scheduling, retries and dashboards.

Workers must be able to import the pipeline. They keep no checkpoints: a run that is lost begins anew.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from ldp_audit.auditing.workers import client_of
from ldp_audit.training.experiments.spread import LOSSES, Event, Say, Task, Work, computed

_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class DaskCrew:
    """A `Crew` of the workers of a Dask scheduler.   address: such as tcp://host:8786.

    Lost workers are replaced by the scheduler; workers may come and go.
    """

    address: str
    workers: int = 1

    def events(self, work: Work, jobs: Sequence[Task], say: Say) -> Generator[Event, None, None]:  # noqa: ARG002
        """See `Crew`; rounds are not heard of."""
        if not jobs:
            return
        from distributed import as_completed

        client = client_of(self.address)
        try:
            # A task of its own, so that the scheduler can make the data again where a worker that held them is lost.
            data = client.submit(_held, work.data, pure=False)
            light, running = replace(work, data=b""), as_completed(loop=client.loop)
            tasks: dict[str, Task] = {}
            for task in jobs:
                future = client.submit(_computed, light, task._replace(keep=None), data, pure=False)
                tasks[future.key] = task
                running.add(future)
            for future in running:
                yield _gathered(future, tasks[future.key])
        finally:
            client.close()


def _held(data: bytes) -> bytes:
    return data


def _computed(work: Work, task: Task, data: bytes) -> Event:
    """Runs in a worker, where torch's settings are one run's at a time."""
    with _ONE_AT_A_TIME:
        return computed(replace(work, data=data), task, lambda _: None)


def _gathered(future: Any, task: Task) -> Event:
    """The end of the run; where the cluster could not compute it, one with an error."""
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker:
        return Event(task.number, error=f"{LOSSES} workers of the cluster died while they computed a run ({task.job})")
    except Exception as error:  # noqa: BLE001  (whatever the cluster or the pipeline raised)
        return Event(task.number, error=f"{type(error).__name__}: {error} ({task.job})")
