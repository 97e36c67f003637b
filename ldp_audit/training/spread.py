"""The runs of a sweep: here one after another, on several processes of this machine, or on a Dask cluster.

A run's numbers come from its settings and its seed, on one number of threads, so that they do not depend on who
computes it. A run whose worker is lost is computed again by another one. Finished runs are kept in the output folder,
and so is the last round of those that are under way, so that an interrupted sweep goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import pickle
import signal
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from ldp_audit.accounting.whole_file import write_whole
from ldp_audit.auditing.workers import client_of
from ldp_audit.training import checkpoint
from ldp_audit.training.device import check_threads, device_of, repeatable
from ldp_audit.training.driver import digest, plain_settings, train
from ldp_audit.training.pipeline import plan_class
from ldp_audit.training.spend import protocol_spend
from ldp_audit.training.sweep import Job

if TYPE_CHECKING:
    from ldp_audit.accounting.protocols.protocol import Protocol as SpendingProtocol


LOSSES = 3
"""Workers that one run may take down with it."""


@dataclass(frozen=True)
class Work:
    """What all runs of a sweep have in common, as it travels to the workers.

    pipeline: its name.   data: the data set, pickled.   device: its name, which each worker looks up.
    threads: of torch, for each run.   data_digest: of the data set.
    """

    pipeline: str
    data: bytes
    device: str
    threads: int
    data_digest: str

    @staticmethod
    def of(pipeline: str, data: Any, device: str, threads: int) -> Work:
        """From the data set itself. ValueError for threads that are no number of threads."""
        check_threads(threads)
        return Work(pipeline, pickle.dumps(data), device, threads, digest(data))


@dataclass(frozen=True)
class Event:
    """What a worker says: after a round, and at the end with the record, or with what went wrong.

    number: the task's.   round, rounds, accuracy: of the round just done.   bad_input: of an error, whether it is a
    ValueError.
    """

    number: int
    round: int = 0
    rounds: int = 0
    accuracy: float = 0.0
    record: dict[str, Any] | None = None
    error: str | None = None
    bad_input: bool = False


@dataclass(frozen=True)
class Spending:
    """What a protocol spends, which may take as long as a run."""

    protocol: SpendingProtocol

    def __str__(self) -> str:
        return f"spend of {self.protocol.name}"


@dataclass(frozen=True)
class Canaries:
    """The audit of a run by its canaries."""

    job: Job

    def __str__(self) -> str:
        return f"audit of {self.job}"


_KEYS: dict[type, set[str]] = {Spending: {"seconds"}, Canaries: {"verdict"}}
"""What a finished record has at least."""


class Task(NamedTuple):
    """What to compute: its number, a run or something about it, and the file of the run's checkpoints."""

    number: int
    job: Job | Spending | Canaries
    keep: Path | None = None


Say = Callable[[Event], None]


class Crew(Protocol):
    """Who computes."""

    @property
    def workers(self) -> int:
        """How many compute at a time."""
        ...

    def events(self, work: Work, jobs: Sequence[Task], say: Say) -> Generator[Event, None, None]:
        """The ends of these runs, in any order; rounds are said on the way, where the crew hears of them."""
        ...


def crew_of(workers: int = 1, scheduler: str | None = None) -> Crew:
    """Who computes.   workers: processes here; 1: this one.   scheduler: address of a Dask scheduler.

    Raises ValueError for fewer than one, and for both.
    """
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise ValueError(f"workers must be a whole number >= 1, got {workers!r}")
    if scheduler is not None:
        if workers != 1:
            raise ValueError(f"workers must not be given with a scheduler, whose workers count, got {workers!r}")
        from ldp_audit.training.spread import DaskCrew

        return DaskCrew(scheduler)
    if workers > 1:
        from ldp_audit.training.spread import LocalCrew

        return LocalCrew(workers)
    return ThisProcess()


@dataclass(frozen=True)
class ThisProcess:
    """A `Crew` of this process alone."""

    workers: int = 1

    def events(self, work: Work, jobs: Sequence[Task], say: Say) -> Generator[Event, None, None]:
        """See `Crew`."""
        for task in jobs:
            yield computed(work, task, say)


def spread(
    work: Work,
    jobs: Sequence[Job | Spending | Canaries],
    crew: Crew,
    *,
    folder: Path | None = None,
    progress: Callable[[Event, int], None] | None = None,
) -> list[dict[str, Any]]:
    """The records of the runs, of what protocols spend, or of audits, in the order of the jobs.

    folder: where finished runs are kept, and looked for.   progress: called with each event, and how many runs are
    finished. Raises ValueError for what a run refuses, RuntimeError for what goes wrong otherwise, naming the run.
    """
    files = [None if folder is None else folder / f"{key(work, job)}.json" for job in jobs]
    records = [
        None if file is None or not file.exists() else _read(file, job) for file, job in zip(files, jobs, strict=True)
    ]
    pending = [
        Task(number, job, None if file is None else file.with_suffix(".state"))
        for number, (job, file, record) in enumerate(zip(jobs, files, records, strict=True))
        if record is None
    ]
    finished = len(jobs) - len(pending)

    def say(event: Event) -> None:
        if progress is not None:
            progress(event, finished)

    events = crew.events(work, pending, say)
    try:
        for event in events:
            if event.record is None:
                raise (ValueError if event.bad_input else RuntimeError)(event.error)
            records[event.number] = event.record
            finished += 1
            _store(files[event.number], event.record)
            say(event)
    finally:
        events.close()
    return [record for record in records if record is not None]


def key(work: Work, job: Job | Spending | Canaries) -> str:
    """The name of a run's files: of all that its numbers depend on."""
    if isinstance(job, Spending):
        return f"spend-{_digest([repr(job.protocol)])}"
    run = job.job if isinstance(job, Canaries) else job
    parts = [work.pipeline, plain_settings(run.settings), run.seed, work.data_digest, work.device, work.threads]
    return f"{'audit' if isinstance(job, Canaries) else 'run'}-{_digest(parts)}"


def _digest(parts: Sequence[Any]) -> str:
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=8).hexdigest()


def computed(work: Work, task: Task, say: Say) -> Event:
    """The end of a task, which is computed here; the rounds of a run are said on the way."""
    try:
        if isinstance(task.job, Spending):
            return Event(task.number, record=protocol_spend(task.job.protocol))
        if isinstance(task.job, Canaries):
            return Event(task.number, record=_audited(work, task.job.job))
        return Event(task.number, record=_trained(work, task, task.job, say))
    except (ValueError, OSError) as error:  # a full disk too is no defect of the pipeline
        return Event(task.number, error=str(error), bad_input=True)


def _trained(work: Work, task: Task, job: Job, say: Say) -> dict[str, Any]:
    def after(number: int, rounds: int, accuracy: float, _: float) -> None:
        say(Event(task.number, number, rounds, accuracy))

    return train(
        work.pipeline,
        plan_class(work.pipeline)(**job.settings),
        _data(work.data),
        seed=job.seed,
        device=device_of(work.device),
        threads=work.threads,
        keep=task.keep,
        progress=after,
    )


def _audited(work: Work, job: Job) -> dict[str, Any]:
    from ldp_audit.training.canary import audit_run

    device = device_of(work.device)
    with repeatable(device, work.threads):
        return audit_run(plan_class(work.pipeline)(**job.settings), _data(work.data), job.seed, device=device)


@lru_cache(maxsize=1)
def _data(pickled: bytes) -> Any:
    return pickle.loads(pickled)  # noqa: S301  (written by the process that started this one, or its client)


def _read(file: Path, job: Job | Spending | Canaries) -> dict[str, Any]:
    """A finished record. ValueError where it is none, or of another run than its name says."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"), parse_constant=_refused)
        if isinstance(job, Job):
            _check_run(record, job)
        elif not isinstance(record, dict) or not record.keys() >= _KEYS[type(job)]:
            raise ValueError(f"it must hold {', '.join(sorted(_KEYS[type(job)]))}")
    except (*checkpoint.DAMAGE, RecursionError) as error:
        raise checkpoint.damaged(file, error) from None
    return record


def _check_run(record: Any, job: Job) -> None:
    wanted = json.loads(json.dumps(plain_settings(job.settings)))
    if record["settings"] != wanted or record["seed"] != job.seed:
        raise ValueError("it is of other settings, or of another seed")
    if not record["rounds"] or not isinstance(record["device"], dict) or not 0 <= record["seconds"] < math.inf:
        raise ValueError("it has no rounds, seconds or device")
    checkpoint.check_rounds(record["rounds"])


def _refused(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which JSON does not have")


def _store(file: Path | None, record: dict[str, Any]) -> None:
    """The finished run, all of it or nothing; its checkpoints are needed no more."""
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole({file: json.dumps(record, allow_nan=False)})
    file.with_suffix(".state").unlink(missing_ok=True)


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
