"""Driving one run: round after round, with progress, and a checkpoint after each.

A checkpoint is a line, the digest of what follows, and what torch.save writes. The digest shows damage, which
torch.load does not look for; that reads the rest with weights_only=True: it builds tensors, numbers, texts, lists and
dicts, and runs no code.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldp_audit.accounting.conversion.converted import plain
from ldp_audit.checkpoint import DAMAGE, Checkpoint, damaged
from ldp_audit.checkpoint import plain as as_json
from ldp_audit.training.device import described, repeatable

if TYPE_CHECKING:
    import torch

    from ldp_audit.training.datasets import Images, Table
    from ldp_audit.training.pipeline import Plan, Run


KIND = "training-state"
HEAD = b"ldp-audit training-state\n"
_DIGEST = 32  # bytes

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
                keep.parent.mkdir(parents=True, exist_ok=True)
                parts = {"rounds": rounds, "seconds": seconds + spent, "state": run.state()}
                checkpoint_of(keep, identity).write(parts, durable=False)
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
    try:
        plain = as_json(record)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the record of round {number} must be JSON-ready, without NaN: {error}") from None
    accuracy = plain.get("accuracy") if isinstance(plain, dict) else None
    if not isinstance(accuracy, int | float) or isinstance(accuracy, bool) or not 0 <= accuracy <= 1:
        raise ValueError(f"the record of round {number} must have an accuracy in [0, 1], got {accuracy!r}")
    return plain


def checkpoint_of(path: Path, identity: Mapping[str, Any]) -> Checkpoint:
    """The file of a run's states: the records of the rounds so far, the seconds that they took, the run's own state."""
    return Checkpoint(path, KIND, "the state of a training run", "is of another run", identity, read, packed)


def packed(document: Mapping[str, Any]) -> bytes:
    """The file's content. Raises ValueError for what could not be read back."""
    import torch

    content = io.BytesIO()
    torch.save(checked_state(document, ""), content)  # not to the file: a full disk is a RuntimeError to torch
    return sealed(content.getvalue())


def sealed(content: bytes) -> bytes:
    """With its digest before it."""
    return HEAD + hashlib.blake2b(content, digest_size=_DIGEST).digest() + content


def read(path: Path) -> Any:
    """What the file holds, unchecked but for its digest. ValueError where it is no such file, or damaged."""
    import torch

    content = path.read_bytes()
    body = content[len(HEAD) + _DIGEST :]
    if not content.startswith(HEAD) or sealed(body) != content:
        raise ValueError(f"{path} is not the state of a training run, or is damaged; delete it to begin anew")
    try:
        return torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001  (what torch says of a file that it cannot read is of many kinds)
        reason = str(error).partition("\n")[0][:120]
        raise ValueError(f"{path} is not the state of a training run, or is damaged: {reason}") from None


def checked_state(value: Any, place: str) -> Any:
    """The value, if torch.load(weights_only=True) will read it back. ValueError that names the place otherwise."""
    import torch

    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu" or value.requires_grad:
            raise ValueError(f"{place} must be a CPU tensor without gradient, got one on {value.device}")
        # A view would be saved with all the memory that it looks into.
        return value.clone() if value.untyped_storage().nbytes() > value.nbytes else value
    if value is None or type(value) in (bool, int, float, str):  # numpy's are none of these
        return value
    if isinstance(value, Mapping) and all(type(key) in (str, int) for key in value):
        return {key: checked_state(part, f"{place}[{key!r}]" if place else key) for key, part in value.items()}
    if type(value) in (list, tuple):
        parts = [checked_state(part, f"{place}[{i}]") for i, part in enumerate(value)]
        return tuple(parts) if isinstance(value, tuple) else parts
    raise ValueError(
        f"{place} must be made of CPU tensors, numbers, texts, lists and dicts, got {type(value).__name__}"
    )


def check_rounds(rounds: Any) -> None:
    """ValueError unless these are the records of rounds 1, 2, ..., each with an accuracy."""
    if not isinstance(rounds, list):
        raise ValueError(f"rounds must be a list, got {type(rounds).__name__}")
    for number, record in enumerate(rounds, start=1):
        accuracy = record.get("accuracy") if isinstance(record, dict) else None
        known = isinstance(accuracy, int | float) and not isinstance(accuracy, bool) and 0 <= accuracy <= 1
        if not known or record.get("round") != number:
            raise ValueError(f"the record of round {number} must have its number and an accuracy, got {record!r:.80}")


def _restored(run: Run, keep: Path | None, identity: dict[str, Any]) -> tuple[list[dict[str, Any]], float]:
    """The rounds that the file holds, and the seconds that they took; the run stands after them."""
    held = None if keep is None else checkpoint_of(keep, identity).held("rounds", "seconds", "state")
    if keep is None or held is None:
        return [], 0.0
    try:
        rounds, seconds = held["rounds"], float(held["seconds"])
        check_rounds(rounds)
        if len(rounds) > run.rounds:
            raise ValueError(f"it holds {len(rounds)} rounds of {run.rounds}")
        if not (isinstance(held["state"], dict) and 0 <= seconds < math.inf):
            raise ValueError(f"seconds {seconds!r} or the state is none")
        run.restore(held["state"])
    except DAMAGE as error:
        raise damaged(keep, error) from None
    return rounds, seconds
