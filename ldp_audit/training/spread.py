"""The runs of a sweep, what they spend and their audits, by a pool of workers, and kept in a folder.

A run's numbers come from its settings and its seed, on one number of threads, so that they do not depend on who
computes it. A run whose worker is lost is computed again by another one. Finished runs are kept in the output folder,
and so is the last round of those that are under way, so that an interrupted sweep goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import math
import pickle
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ldp_audit.checkpoint import DAMAGE, damaged
from ldp_audit.files import write_whole
from ldp_audit.training.device import check_threads, device_of, repeatable
from ldp_audit.training.driver import check_rounds, digest, plain_settings, train
from ldp_audit.training.pipeline import plan_class
from ldp_audit.training.spend import protocol_spend
from ldp_audit.training.sweep import Job
from ldp_audit.workers import Pool

if TYPE_CHECKING:
    from ldp_audit.accounting.protocols.protocol import Protocol as SpendingProtocol


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


def ends_of(work: Work, tasks: Sequence[Task], pool: Pool, say: Say) -> Generator[Event, None, None]:
    """The ends of these tasks, in any order; rounds are said on the way, where the pool hears of them.

    A cluster's workers keep no checkpoints: a run that is lost there begins anew.
    """
    if not tasks:
        return
    waiting = iter(tasks if pool.local else [task._replace(keep=None) for task in tasks])
    ends = pool.run(computed, work, lambda *_: next(waiting, None), say)
    try:
        for task, event, error, lost, hint in ends:
            if lost:
                error = f"{lost} while they computed a run ({task.job}){hint}"
            elif error is not None:
                error = f"{error} ({task.job})"
            yield event if error is None else Event(task.number, error=error)
    finally:
        ends.close()


def spread(
    work: Work,
    jobs: Sequence[Job | Spending | Canaries],
    pool: Pool,
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

    events = ends_of(work, pending, pool, say)
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
    except DAMAGE as error:
        raise damaged(file, error) from None
    return record


def _check_run(record: Any, job: Job) -> None:
    wanted = json.loads(json.dumps(plain_settings(job.settings)))
    if record["settings"] != wanted or record["seed"] != job.seed:
        raise ValueError("it is of other settings, or of another seed")
    if not record["rounds"] or not isinstance(record["device"], dict) or not 0 <= record["seconds"] < math.inf:
        raise ValueError("it has no rounds, seconds or device")
    check_rounds(record["rounds"])


def _refused(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which JSON does not have")


def _store(file: Path | None, record: dict[str, Any]) -> None:
    """The finished run, all of it or nothing; its checkpoints are needed no more."""
    if file is None:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole({file: json.dumps(record, allow_nan=False)})
    file.with_suffix(".state").unlink(missing_ok=True)
