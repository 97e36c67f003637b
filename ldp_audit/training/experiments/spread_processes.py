"""The runs of a sweep on fresh processes of this machine (spawned, so that no state of this one is shared)."""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from ldp_audit.training.experiments.spread import LOSSES, Event, Say, Task, Work, computed

_NEVER_READY = (
    " and nothing before; does the pipeline end its process, or does a script call spread(...) outside "
    "`if __name__ == '__main__':`?"
)


@dataclass(frozen=True)
class LocalCrew:
    """A `Crew` of processes of this machine.   workers: at most so many, >= 2."""

    workers: int

    def events(self, work: Work, jobs: Sequence[Task], say: Say) -> Generator[Event, None, None]:
        """See `Crew`."""
        pending, losses = deque(jobs), Counter[int]()
        crew = {one.connection: one for one in (_Process(work) for _ in range(min(self.workers, len(jobs))))}
        try:
            while True:
                for process in crew.values():
                    if process.task is None and pending:
                        process.send(pending.popleft())
                busy = [connection for connection, one in crew.items() if one.task is not None]
                if not busy:
                    return
                for connection in wait(busy):
                    process = crew[connection]  # type: ignore[index]
                    event = process.received()
                    if event is None:
                        event = _lost(process, losses, pending)
                        del crew[process.connection]
                        process.end()
                        replacement = _Process(work)
                        crew[replacement.connection] = replacement
                    if event is None:
                        continue
                    if event.record is None and event.error is None:
                        say(event)
                    else:
                        yield event
        finally:
            for process in crew.values():
                process.end()


class _Process:
    """One worker process, and the run that it computes at present."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.task: Task | None = None
        self.ready = False
        # Not a daemon, as a pipeline may start processes of its own, which daemons may not.
        self._process = context.Process(target=_serve, args=(theirs, work))
        self._process.start()
        theirs.close()

    def send(self, task: Task) -> None:
        """Have it computed."""
        self.task = task
        with suppress(OSError):  # where it is gone, `received` will tell
            self.connection.send(task)

    def received(self) -> Event | None:
        """What it says; None where it is gone."""
        try:
            event: Event = self.connection.recv()
        except (EOFError, OSError):
            return None
        self.ready = True
        if event.record is not None or event.error is not None:
            self.task = None
        return event

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


def _lost(process: _Process, losses: Counter[int], pending: deque[Task]) -> Event | None:
    """None, and the run is pending again; a failure once it has taken too many workers down."""
    task = process.task
    if task is None:
        raise RuntimeError("a worker without a run was waited for")
    losses[task.number] += 1
    if losses[task.number] < LOSSES:
        pending.appendleft(task)
        return None
    when = "" if process.ready else _NEVER_READY
    return Event(task.number, error=f"{LOSSES} worker processes died while they computed a run ({task.job}){when}")


def _serve(connection: Connection, work: Work) -> None:
    """The life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):  # the parent is gone
            return
        try:
            event = computed(work, task, connection.send)
        except BrokenPipeError:
            return
        except Exception as error:  # noqa: BLE001  (a user's pipeline may raise anything)
            event = Event(task.number, error=f"{type(error).__name__}: {error} ({task.job})")
        try:
            connection.send(event)
        except OSError:
            return
