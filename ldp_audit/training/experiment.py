"""A whole experiment in one document: the runs of several sweeps, their spends, their audits and the paper's findings.

from ldp_audit.training.data import load
from ldp_audit.training.experiment import run_experiment
from ldp_audit.training.sweep import Sweep

sweeps = (Sweep({"rounds": 5}, {"epsilon": (0.5, 1.0, 2.0)}, repeats=3),)
document = run_experiment("ldp-fl", sweeps, load("digits"), seed=1)
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ldp_audit.files import write_whole
from ldp_audit.progress import duration
from ldp_audit.training import results
from ldp_audit.training.device import device_of
from ldp_audit.training.kept_model import keep_model
from ldp_audit.training.mapped_data import MappedData
from ldp_audit.training.pipeline import comparing_of, findings_of, judge, plan_class
from ldp_audit.training.runs import (
    Canaries,
    Spending,
    Training,
    Work,
    WorkerMessage,
    data_of,
    spread,
    stored,
    undamaged,
)
from ldp_audit.training.sweep import Job, Sweep, doubts_of, jobs_of
from ldp_audit.training.sweep_folder import (
    asked,
    check_equal,
    check_folder,
    computing,
    device_name,
    lengthened,
    locked,
    manifest_file,
    stored_manifest,
)
from ldp_audit.workers import Pool, Processes, cores, pool_of

if TYPE_CHECKING:
    from ldp_audit.training.datasets import Images, Table


_RUNS = "runs"
_MODELS = "models"


def run_experiment(
    pipeline: str,
    sweeps: Sequence[Sweep],
    data: Images | Table,
    *,
    seed: int = 0,
    device: str = "auto",
    threads: int = 1,
    workers: int | None = None,
    scheduler: str | None = None,
    folder: Path | None = None,
    resume: bool = False,
    audit: bool = False,
    evaluate_every: int = 1,
    keep_models: bool = False,
    finished: bool = False,
    progress: Say | None = None,
) -> dict[str, Any]:
    """Run the sweeps and return the document that `results` describes.

    pipeline: a shipped one's name, or module:Class.   threads: of torch in each run; rounding depends on it.
    workers: processes of this machine; None: one per core on a CPU, one on a GPU.   scheduler: of a Dask cluster.
    folder: where finished runs and checkpoints are stored.   resume: continue the sweep that the folder holds, also
        one of fewer rounds if the plan is `pipeline.Extendable`.
    audit: bound the epsilon of each point's first run from below, by canaries.
    evaluate_every: see `pipeline.Paced`; the last round is always evaluated.
    keep_models: write every run's model into the folder, for `kept_model.load_model`.
    finished: train nothing; the document is about the runs that the folder holds, even while another process trains
        the others.   progress: called with lines.
    Raises ValueError for bad settings, for data that do not fit, and for a folder that holds another sweep.
    """
    if folder is not None and not finished:  # before the data set's digest, which takes seconds of a large one
        how: dict[str, Any] = {"seed": seed, "device": device, "threads": threads, "scheduler": scheduler}
        check_folder(folder, pipeline, sweeps, **how, resume=resume)
    plan = plan_class(pipeline)
    jobs = jobs_of(plan, sweeps, seed)
    name = device_name(device, scheduler)
    work = Work.of(pipeline, data, name, threads, evaluate_every)
    described = {**data.describe(), "digest": work.data_digest}
    pool = _pool(workers, scheduler, name, len(jobs))
    if keep_models and (folder is None or not pool.local):
        raise ValueError("models are kept in the folder --out by workers of this machine: give --out, no --scheduler")
    kept = None if folder is None else folder / _RUNS
    if finished:
        jobs = _stored_jobs(work, jobs, kept)
    with _shared(work, pool) as work, nullcontext() if folder is None or finished else locked(folder):
        if folder is not None and not finished:
            manifest = {**asked(pipeline, seed, threads, jobs), **computing(name), "data": described}
            _write_manifest(folder, manifest, work, jobs, resume=resume)
        data = data_of(work)  # the mapped one, so that the memory of the other is free
        document = _run(work, jobs, pool, kept, data, seed, described, audit=audit, progress=progress)
        if keep_models and folder is not None and kept is not None:
            _keep_models(folder / _MODELS, kept, work, jobs, document)
    document["findings"] = [finding.to_dict() for finding in judge(findings_of(plan), document)]
    document["doubts"] = doubts_of(sweeps)
    document["printed"] = [row.to_dict() for row in comparing_of(plan)(document)]
    return document


def _run(
    work: Work,
    jobs: Sequence[Job],
    pool: Pool,
    kept: Path | None,
    data: Images | Table,
    seed: int,
    described: Mapping[str, Any],
    *,
    audit: bool,
    progress: Say | None,
) -> dict[str, Any]:
    """The runs, spends and audits; the findings are computed from them.   kept: the folder of finished runs."""
    plan = plan_class(work.pipeline)
    said = SweepProgress(jobs, progress)
    records = spread(work, [Training(job) for job in jobs], pool, folder=kept, progress=said.heard)
    first = _first_jobs(jobs)
    protocols = [plan(**job.settings).start(data, seed=job.seed, device=device_of("cpu")).protocol() for job in first]
    distinct: list[Any] = []
    for protocol in protocols:
        if protocol is not None and protocol not in distinct:
            distinct.append(protocol)
    said.next("spend", "protocols", len(distinct))
    spent = spread(work, [Spending(protocol) for protocol in distinct], pool, folder=kept, progress=said.heard)
    spend = [None if protocol is None else spent[distinct.index(protocol)] for protocol in protocols]
    audits = None
    if audit:
        said.next("audit", "points", len(first))
        audits = spread(work, [Canaries(job) for job in first], pool, folder=kept, progress=said.heard)
    return results.build(work.pipeline, seed, described, records, spend, audits)


def _keep_models(models: Path, kept: Path, work: Work, jobs: Sequence[Job], document: Mapping[str, Any]) -> None:
    """Write the runs' models, numbered as the runs."""
    spent = {repr(one["settings"]): one for one in document["spend"]}
    varied = results.varied_fields(document["runs"])
    for number, (job, run) in enumerate(zip(jobs, document["runs"], strict=True), 1):
        spend = spent.get(repr({name: run["settings"][name] for name in varied}))
        keep_model(kept / f"{Training(job).file(work)}.state", models / f"run-{number}.pt", spend)


def _stored_jobs(work: Work, jobs: Sequence[Job], kept: Path | None) -> list[Job]:
    """The runs that are stored.   kept: where. ValueError if there is none."""
    runs = [(job, Training(job)) for job in jobs]
    found = [job for job, run in runs if kept is not None and undamaged(stored(kept, run, work), run)]
    if not found:
        raise ValueError(f"folder must hold a finished run or more, got {'none' if kept is None else kept.parent}")
    return found


@contextmanager
def _shared(work: Work, pool: Pool) -> Iterator[Work]:
    """The work with its data in a file, if several processes of this machine are to read them."""
    if not isinstance(pool, Processes):
        yield work
        return
    with TemporaryDirectory(prefix="ldp-audit-") as folder:
        work = replace(work, data=MappedData.of(work.data, Path(folder) / "data"))
        yield work


def _write_manifest(
    folder: Path, manifest: Mapping[str, Any], work: Work, jobs: Sequence[Job], *, resume: bool
) -> None:
    """Write the sweep's manifest into the folder.

    ValueError if another sweep's is there, or this one's without `resume`. A sweep of fewer rounds is extended.
    """
    was = stored_manifest(folder, resume=resume)
    if was is not None:
        check_equal(folder, was, manifest)
        _extend(folder / _RUNS, lengthened(was, plan_class(work.pipeline), jobs), work)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole({manifest_file(folder): json.dumps(manifest, indent=1, allow_nan=False) + "\n"})


def _extend(kept: Path, longer: Sequence[tuple[Job, Job]], work: Work) -> None:
    """Let runs that had fewer rounds go on from their checkpoints, under the names of those that they become."""
    moved: list[tuple[float, Path, Path]] = []
    for before, after in longer:
        old, new = (kept / f"{Training(one).file(work)}.state" for one in (before, after))
        rounds = after.settings["rounds"]
        moved.append((math.inf if rounds is None else rounds, old, new))
    for _, old, new in sorted(moved, reverse=True):  # one run's new name may be a shorter one's old name
        if old.exists():
            old.replace(new)


def _pool(workers: int | None, scheduler: str | None, device: str, jobs: int) -> Pool:
    if workers is None:
        alone = scheduler is not None or not device.startswith("cpu")
        workers = 1 if alone else max(1, min(jobs, cores()))
    return pool_of(workers, scheduler)


def _first_jobs(jobs: Sequence[Job]) -> list[Job]:
    """The first run of each point, in the order of the points."""
    return list({repr(job.settings): job for job in reversed(jobs)}.values())[::-1]


Say = Callable[[str], None]


class SweepProgress:
    """Progress lines of a sweep, with an estimate of the time left."""

    def __init__(self, jobs: Sequence[Job], say: Say | None) -> None:
        self._jobs, self._say = jobs, say
        self._varied = [name for name in jobs[0].settings if len({repr(job.settings[name]) for job in jobs}) > 1]
        self._begun: dict[int, tuple[float, float]] = {}  # fraction done at the first event, and now
        self._start: float | None = None  # time of the first event: workers start slowly
        self._kept, self._ended, self._of = 0, 0, len(jobs)
        self._after = ("", "", 0)

    def heard(self, event: WorkerMessage, finished: int) -> None:
        """Report an event of a run, or of the stage that `next` announced."""
        if self._say is None:
            return
        if self._after[0]:
            self._say("{0}: {3} of {2} {1}".format(*self._after, finished))
            return
        self._ended += event.record is not None
        self._kept = finished - self._ended
        if event.record is not None:
            self._note(event.number, 1.0)
            self._say(f"{finished} of {self._of} runs{self._left()}")
            return
        job = self._jobs[event.number]
        point = "".join(f"{name} {job.settings[name]}, " for name in self._varied)
        if not event.rounds:
            self._say(f"{finished} of {self._of} runs; {point}dealing the data")
            return
        self._note(event.number, event.done / event.rounds)
        share = round(100 * (event.done % 1))
        where = f"round {math.ceil(event.done) or 1}{f' ({share}%)' if share else ''} of {event.rounds}"
        accuracy = "" if event.accuracy is None else f", accuracy {event.accuracy:.3f}"
        self._say(f"{finished} of {self._of} runs; {point}{where}{accuracy}{self._left()}")

    def next(self, what: str, of: str, count: int) -> None:
        """Announce the stage after the runs: spends of protocols, or audits of points."""
        self._after = (what, of, count)
        if self._say is not None and count:
            self._say(f"{what}: 0 of {count} {of}")

    def _note(self, number: int, share: float) -> None:
        if self._start is None:
            self._start = time.perf_counter()
        self._begun[number] = (self._begun.get(number, (share, 0.0))[0], share)

    def _left(self) -> str:
        """Estimated time left at the rate so far; runs that were finished before this sweep do not count."""
        done = sum(now - first for first, now in self._begun.values())
        under_way = sum(1 - now for _, now in self._begun.values() if now < 1)
        waiting = self._of - self._kept - len(self._begun)
        if done <= 0 or self._start is None:
            return ""
        return f"; {duration((time.perf_counter() - self._start) / done * (under_way + waiting))} left"
