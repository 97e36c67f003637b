"""Driving one run: round after round, with progress, and a checkpoint after each."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldp_audit.accounting.conversion.converted import plain
from ldp_audit.training import checkpoint
from ldp_audit.training.device import described, repeatable

if TYPE_CHECKING:
    import torch

    from ldp_audit.training.datasets import Images, Table
    from ldp_audit.training.pipeline import Plan, Run


Advance = Callable[[int, int, float, float], None]
"""Called after each round with its number, how many there are, the accuracy, and the seconds that are left."""


def train(
    pipeline: str,
    plan: Plan,
    data: Images | Table,
    *,
    seed: int,
    device: torch.device,
    threads: int = 1,
    keep: Path | None = None,
    progress: Advance | None = None,
) -> dict[str, Any]:
    """The record of a whole run: settings, seed, rounds, seconds, device; JSON-ready.

    keep: the file of its checkpoints, one after each round; a run that it holds goes on from there.
    Raises ValueError where the data do not fit the plan, or the file is another run's, or no run's.
    """
    identity = identity_of(pipeline, plan, data, seed, device, threads)
    with repeatable(device, threads):
        run = plan.start(data, seed=seed, device=device)
        rounds, seconds = _restored(run, keep, identity)
        before, start = len(rounds), time.perf_counter()
        for number in range(before + 1, run.rounds + 1):
            record = run.advance(number)
            rounds.append({"round": number, **checked_record(record, number)})
            spent = time.perf_counter() - start
            if keep is not None:
                checkpoint.write(keep, checkpoint.Checkpoint(identity, rounds, seconds + spent, run.state()))
            if progress is not None:
                left = spent / (number - before) * (run.rounds - number)
                progress(number, run.rounds, float(record["accuracy"]), left)
        seconds += time.perf_counter() - start
    return {
        "settings": identity["settings"],
        "seed": seed,
        "rounds": rounds,
        "seconds": seconds,
        "device": identity["device"],
    }


def identity_of(
    pipeline: str, plan: Plan, data: Images | Table, seed: int, device: torch.device, threads: int
) -> dict[str, Any]:
    """All that the run's numbers depend on."""
    return {
        "pipeline": pipeline,
        "settings": plain_settings(dataclasses.asdict(plan)),  # type: ignore[call-overload]  (a Plan is a dataclass)
        "seed": seed,
        "data": {**data.describe(), "digest": digest(data)},
        "device": described(device, threads),
    }


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON holds them: infinities are written as text."""
    return {name: plain(value) if isinstance(value, float) else value for name, value in settings.items()}


def digest(data: Images | Table) -> str:
    """Of the arrays of a data set, 16 hexadecimal digits."""
    import hashlib

    import numpy as np

    found = hashlib.blake2b(digest_size=8)
    for one in dataclasses.fields(data):
        value = getattr(data, one.name)
        if isinstance(value, np.ndarray):
            found.update(f"{one.name} {value.dtype} {value.shape}".encode())
            found.update(np.ascontiguousarray(value).data)
    return found.hexdigest()


def checked_record(record: Any, number: int) -> dict[str, Any]:
    """The record, as JSON gives it back. ValueError where it is not JSON-ready or has no accuracy in [0, 1]."""
    import json

    try:
        plain = json.loads(json.dumps(record, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"the record of round {number} must be JSON-ready, without NaN: {error}") from None
    accuracy = plain.get("accuracy") if isinstance(plain, dict) else None
    if not isinstance(accuracy, int | float) or isinstance(accuracy, bool) or not 0 <= accuracy <= 1:
        raise ValueError(f"the record of round {number} must have an accuracy in [0, 1], got {accuracy!r}")
    return plain


def _restored(run: Run, keep: Path | None, identity: dict[str, Any]) -> tuple[list[dict[str, Any]], float]:
    """The rounds that the file holds, and the seconds that they took; the run stands after them."""
    if keep is None or not keep.exists():
        return [], 0.0
    held = checkpoint.read(keep, identity)
    try:
        if len(held.rounds) > run.rounds:
            raise ValueError(f"it holds {len(held.rounds)} rounds of {run.rounds}")
        run.restore(held.state)
    except checkpoint.DAMAGE as error:
        raise checkpoint.damaged(keep, error) from None
    return [dict(record) for record in held.rounds], held.seconds
