"""The manifest of a sweep's folder, `sweep.json`: only the same sweep goes on there, perhaps for more rounds.

A sweep is compared as soon as it is known: its settings first, then the device, for which torch is loaded, and the data
set last, which may take minutes to read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ldp_audit.checkpoint import check_same
from ldp_audit.files import lock
from ldp_audit.training.device import device_of
from ldp_audit.training.pipeline import Extendable, plan_class
from ldp_audit.training.sweep import Job, Sweep, jobs_of, plain_settings

_MANIFEST = "sweep.json"


def check_folder(
    folder: Path,
    pipeline: str,
    sweeps: Sequence[Sweep],
    *,
    seed: int,
    device: str,
    threads: int,
    scheduler: str | None,
    resume: bool,
) -> None:
    """Raise ValueError if the folder holds another sweep, whatever the data are, or this one without `resume`, and if
    another process trains there.

    For the arguments see `run_experiment`.
    """
    if not manifest_file(folder).exists():
        return
    with locked(folder):  # "in use" comes before "go on with it"
        was = stored_manifest(folder, resume=resume)
    if was is None:
        return
    plan = plan_class(pipeline)
    jobs = jobs_of(plan, sweeps, seed)
    check_equal(folder, was, asked(pipeline, seed, threads, jobs))
    lengthened(was, plan, jobs)
    check_equal(folder, was, computing(device_name(device, scheduler)))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder against other processes until this one ends. ValueError if another process holds the lock."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        if lock(handle) is False:
            raise ValueError(f"{folder} is in use by another process; wait for it, or name another folder")
        yield
    finally:
        os.close(handle)


def manifest_file(folder: Path) -> Path:
    """The file `sweep.json`."""
    return folder / _MANIFEST


def stored_manifest(folder: Path, *, resume: bool) -> dict[str, Any] | None:
    """The manifest in the folder, None if there is none; ValueError without `resume`, and for a damaged one."""
    file = manifest_file(folder)
    if not file.exists():
        return None
    if not resume:
        raise ValueError(f"{folder} holds a sweep; --resume goes on with it, else name another folder")
    try:
        was = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {error}") from None
    if not isinstance(was, dict):
        raise ValueError(f"{file} is damaged: it must hold an object, got {was!r:.80}")
    return was


def asked(pipeline: str, seed: int, threads: int, jobs: Sequence[Job]) -> dict[str, Any]:
    """The part of the manifest that needs neither the data set nor torch."""
    runs = {str(number): {**plain_settings(job.settings), "seed": job.seed} for number, job in enumerate(jobs, 1)}
    return {"pipeline": pipeline, "seed": seed, "threads": threads, "runs": len(jobs), "run": runs}


def computing(device: str) -> dict[str, Any]:
    """The part of the manifest on which rounding depends.   device: its name, see `device_name`."""
    import torch

    return {"device": device, "torch": str(torch.__version__)}


def device_name(device: str, scheduler: str | None) -> str:
    """The name of the device; a cluster's workers resolve it themselves."""
    return str(device_of(device)) if scheduler is None else device


def check_equal(folder: Path, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise ValueError if the stored manifest differs in one of these parts, numbers of rounds apart."""
    before = {name: was[name] for name in now if name in was}
    free = [f"run.{number}.rounds" for number in now.get("run", {})]
    check_same(f"{folder} is of another run", before, now, free)


def lengthened(was: Mapping[str, Any], plan: type, jobs: Sequence[Job]) -> list[tuple[Job, Job]]:
    """The stored runs of another number of rounds, each with the run that it becomes.

    Raises ValueError for one that had more rounds, and for one that cannot be extended.
    """
    found = []
    for number, job in enumerate(jobs, 1):
        had, now = was["run"][str(number)].get("rounds"), job.settings.get("rounds")
        if had == now:
            continue
        if not isinstance(had, int) or (now is not None and had > now):
            raise ValueError(
                f"rounds must be at least the {had or 'whole number'} of the runs that are there, got {now}"
            )
        longer = plan(**job.settings)
        reason = longer.why_not_extended() if isinstance(longer, Extendable) else "its plan does not say how"
        if reason is not None:
            raise ValueError(f"a run of {had} rounds cannot be extended: {reason}")
        found.append((Job({**job.settings, "rounds": had}, job.seed), job))
    return found
