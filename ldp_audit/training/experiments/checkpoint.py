"""A run's state in a file after each round, so that a killed run goes on and ends as if nothing had happened.

The file is written by torch.save under a temporary name and then renamed: it is a whole round's, or it is not there.
It is read by torch.load(weights_only=True), which builds tensors, numbers, texts, lists and dicts, and runs no code.
"""

from __future__ import annotations

import json
import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KIND = "training-state"
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Checkpoint:
    """A run after some of its rounds.

    identity: all that its numbers depend on (settings, seed, data, device, ...), JSON-ready.
    rounds: the records of the rounds so far.   seconds: that they took.   state: the run's own.
    """

    identity: Mapping[str, Any]
    rounds: Sequence[Mapping[str, Any]]
    seconds: float
    state: Mapping[str, Any]


def write(path: Path, checkpoint: Checkpoint) -> None:
    """All of it, or nothing. Raises ValueError for a state that could not be read back."""
    import torch

    document = {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "identity": json.dumps(checkpoint.identity, allow_nan=False),
        "rounds": json.dumps(checkpoint.rounds, allow_nan=False),
        "seconds": float(checkpoint.seconds),
        "state": checked_state(checkpoint.state),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            torch.save(document, file)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path, identity: Mapping[str, Any]) -> Checkpoint:
    """The checkpoint of this run.

    Raises ValueError, naming what differs, where the file is of another run, and where it is no checkpoint.
    """
    import torch

    try:
        document = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, AttributeError) as error:
        reason = str(error).partition("\n")[0][:120]
        raise ValueError(f"{path} is not the state of a training run, or is damaged: {reason}") from None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise ValueError(f"{path} is not the state of a training run")
    if document["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"{path} has schema_version {document['schema_version']!r}; accepted: {SCHEMA_VERSION}")
    check_same(str(path), json.loads(document["identity"]), identity)
    return Checkpoint(identity, json.loads(document["rounds"]), document["seconds"], document["state"])


def check_same(where: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """ValueError that names every part in which a stored run differs from this one."""
    before, after = _flat(was), _flat(json.loads(json.dumps(now, allow_nan=False)))
    parts = [name for name in {**before, **after} if before.get(name, _MISSING) != after.get(name, _MISSING)]
    if parts:
        said = (f"{name} was {before.get(name, 'missing')!r} and is {after.get(name, 'missing')!r}" for name in parts)
        raise ValueError(f"{where} is of another run: {'; '.join(said)}")


def checked_state(value: Any, place: str = "state") -> Any:
    """The state, if torch.load(weights_only=True) will read it back. ValueError that names the place otherwise."""
    import torch

    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu" or value.requires_grad:
            raise ValueError(f"{place} must be a CPU tensor without gradient, got one on {value.device}")
        # A view would be saved with all the memory that it looks into.
        return value.clone() if value.untyped_storage().nbytes() > value.nbytes else value
    if value is None or type(value) in (bool, int, float, str):  # numpy's are none of these
        return value
    if isinstance(value, Mapping) and all(type(key) in (str, int) for key in value):
        return {key: checked_state(part, f"{place}[{key!r}]") for key, part in value.items()}
    if type(value) in (list, tuple):
        parts = [checked_state(part, f"{place}[{i}]") for i, part in enumerate(value)]
        return tuple(parts) if isinstance(value, tuple) else parts
    raise ValueError(
        f"{place} must be made of CPU tensors, numbers, texts, lists and dicts, got {type(value).__name__}"
    )


_MISSING = object()


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Nested parts by dotted names."""
    if not isinstance(value, Mapping):
        return {name: value}
    found: dict[str, Any] = {}
    for key, part in value.items():
        found |= _flat(part, f"{name}.{key}" if name else str(key))
    return found
