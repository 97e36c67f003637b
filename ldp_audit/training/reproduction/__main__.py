"""python -m ldp_audit.training.reproduction run|plan|record|page; `make reproduce`."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ldp_audit.files import write_whole
from ldp_audit.progress import Progress, duration
from ldp_audit.training.data import load
from ldp_audit.training.device import device_of
from ldp_audit.training.experiment import run_experiment
from ldp_audit.training.pipeline import plan_class
from ldp_audit.training.reproduction.page import page
from ldp_audit.training.reproduction.record import (
    Experiment,
    condensed,
    expanded,
    experiment_named,
    experiments,
    recorded,
    written,
)
from ldp_audit.training.runs import Training, Work, plain_settings, stored, undamaged, write_record
from ldp_audit.training.sweep import Job, jobs_of


def main(typed: Sequence[str] | None = None) -> int:
    """Run the command; 0, or 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m ldp_audit.training.reproduction", description=__doc__)
    add = parser.add_argument
    add(
        "what",
        choices=["run", "plan", "record", "page"],
        help="run what is left, and record it; only say what is left; record what is finished; print the page",
    )
    add("--only", nargs="+", metavar="NAME", help="these experiments")
    add("--data", type=Path, default=Path("data"), metavar="DIR", help="the data sets' folders, by `make data`")
    add("--out", type=Path, default=Path("build/reproduction"), metavar="DIR", help="runs and checkpoints")
    add(
        "--records",
        type=Path,
        metavar="DIR",
        help="the records to go on from and to write: the papers' own",
    )
    add("--page", type=Path, default=Path("docs/reproduction.md"), metavar="FILE", help="the page to write")
    add("--workers", type=int, metavar="N", help="processes; one a core by default")
    add("--device", default="auto", help="auto, cpu, cuda")
    options = parser.parse_args(typed)
    try:
        chosen = [experiment_named(name) for name in options.only] if options.only else experiments()
        if options.what == "page":
            sys.stdout.write(page(options.records))
            return 0
        return _planned_and_run(chosen, options)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _planned_and_run(chosen: Sequence[Experiment], options: argparse.Namespace) -> int:
    device = str(device_of(options.device))
    left = {one.name: _left(one, options, device) for one in chosen}
    for one in chosen:
        done, asked, seconds = left[one.name]
        time = (
            "" if done == asked else f"; some {duration(seconds)} of one core left" if seconds else "; time not known"
        )
        sys.stdout.write(f"{one.name}: {done} of {asked} runs{time}\n")
    sys.stdout.flush()
    for one in chosen if options.what != "plan" else ():
        if options.what == "run" or left[one.name][0]:
            _run(one, options, finished=options.what == "record")
    return 0


def _left(one: Experiment, options: argparse.Namespace, device: str) -> tuple[int, int, float]:
    """Runs that are finished, all runs, and the estimated seconds that the others take, 0 if nothing is known."""
    work = Work.of(one.pipeline, load(one.data, one.folder(options.data)), device, 1)
    jobs = jobs_of(plan_class(one.pipeline), one.sweeps(), 0)
    files = [stored(options.out / one.name / "runs", Training(job), work) for job in jobs]
    for other in experiments():  # whose runs may be the same
        if (other.pipeline, other.data) == (one.pipeline, one.data):
            _restore(_file(other, options.records), work, dict(zip(files, jobs, strict=True)))
    records = [undamaged(file, Training(job)) for file, job in zip(files, jobs, strict=True)]
    seconds = [record["seconds"] for record in records if record is not None]
    alike = [recorded(other.name) for other in experiments() if other.pipeline == one.pipeline]
    known = seconds or [run["seconds"] for record in alike if record is not None for run in record["runs"]]
    return len(seconds), len(jobs), (len(jobs) - len(seconds)) * statistics.fmean(known or [0.0])


def _file(one: Experiment, folder: Path | None) -> Path:
    """The file of an experiment's record.   folder: of all records; None: the paper's own."""
    return (folder or Path(str(one.records))) / f"{one.name}.json"


def _restore(record: Path, work: Work, jobs: Mapping[Path, Job]) -> None:
    """Write the runs of a record into the files of these jobs that are missing, so that another machine goes on.

    Runs of other settings or data are no runs of these jobs. Those of another device or version of torch are: they
    differ by rounding, and each run tells its device.
    """
    if not record.exists():
        return
    known = expanded(json.loads(record.read_text(encoding="utf-8")))
    for file, job in jobs.items() if known["data"]["digest"] == work.data_digest else ():
        for run in known["runs"]:
            if not file.exists() and (run["settings"], run["seed"]) == (plain_settings(job.settings), job.seed):
                write_record(file, run)


def _run(one: Experiment, options: argparse.Namespace, *, finished: bool) -> None:
    """Run what is left of an experiment, unless only what is finished is asked for, and write record and page."""
    folder = options.out / one.name
    with Progress() as progress:
        results = run_experiment(
            one.pipeline,
            one.sweeps(),
            load(one.data, one.folder(options.data)),
            device=options.device,
            workers=options.workers,
            folder=folder,
            resume=(folder / "sweep.json").exists(),
            finished=finished,
            progress=progress,
        )
    file = _file(one, options.records)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole({file: written(condensed(results))})
    recorded.cache_clear()
    write_whole({options.page: page(options.records)})


if __name__ == "__main__":
    sys.exit(main())
