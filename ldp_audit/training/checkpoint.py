"""A run's state in a file after each round, so that a killed run goes on and ends as if nothing had happened.

The file is written under a temporary name and then renamed: it is a whole round's, or it is not there. It is a line,
the digest of what follows, and what torch.save writes. The digest shows damage, which torch.load does not look for;
that reads the rest with weights_only=True: it builds tensors, numbers, texts, lists and dicts, and runs no code.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldp_audit.accounting.whole_file import write_whole

KIND = "training-state"
SCHEMA_VERSION = 1
HEAD = b"ldp-audit training-state\n"
_DIGEST = 32  # bytes
_NAMED = 8  # differences in an error
DAMAGE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RuntimeError)
"""What a document that was edited may run into."""


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
    content = io.BytesIO()
    torch.save(document, content)  # not to the file: a full disk is a RuntimeError to torch
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole({path: sealed(content.getvalue())}, durable=False)


def sealed(content: bytes) -> bytes:
    """With its digest before it."""
    return HEAD + hashlib.blake2b(content, digest_size=_DIGEST).digest() + content


def read(path: Path, identity: Mapping[str, Any]) -> Checkpoint:
    """The checkpoint of this run.

    Raises ValueError, naming what differs, where the file is of another run, and where it is no checkpoint.
    """
    document = document_in(path)
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise ValueError(f"{path} is not the state of a training run")
    if document.get("schema_version") != SCHEMA_VERSION:
        raise ValueError(f"{path} has schema_version {document.get('schema_version')!r}; accepted: {SCHEMA_VERSION}")
    try:
        was, rounds = json.loads(document["identity"]), json.loads(document["rounds"])
        seconds, state = float(document["seconds"]), document["state"]
        check_rounds(rounds)
        if not (isinstance(state, dict) and 0 <= seconds < math.inf):
            raise ValueError(f"seconds {seconds!r} or the state is none")
    except (*DAMAGE, RecursionError) as error:
        raise damaged(path, error) from None
    check_same(str(path), was, identity)
    return Checkpoint(identity, rounds, seconds, state)


def damaged(path: Path, error: BaseException) -> ValueError:
    """The error for a file that was ours, with a way out."""
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:160]
    return ValueError(f"{path} is damaged: {reason}; delete it, and the run is computed again")


def check_rounds(rounds: Any) -> None:
    """ValueError unless these are the records of rounds 1, 2, ..., each with an accuracy."""
    if not isinstance(rounds, list):
        raise ValueError(f"rounds must be a list, got {type(rounds).__name__}")
    for number, record in enumerate(rounds, start=1):
        accuracy = record.get("accuracy") if isinstance(record, dict) else None
        known = isinstance(accuracy, int | float) and not isinstance(accuracy, bool) and 0 <= accuracy <= 1
        if not known or record.get("round") != number:
            raise ValueError(f"the record of round {number} must have its number and an accuracy, got {record!r:.80}")


def document_in(path: Path) -> Any:
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


def check_same(where: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """ValueError that names every part in which a stored run differs from this one."""
    if not isinstance(was, Mapping):
        raise ValueError(f"{where} is of another run, or is damaged: it holds {type(was).__name__}")
    before, after = _flat(was), _flat(json.loads(json.dumps(now, allow_nan=False)))
    parts = [name for name in {**before, **after} if before.get(name, _MISSING) != after.get(name, _MISSING)]
    if parts:
        said = (
            f"{name} was {before.get(name, 'missing')!r:.200} and is {after.get(name, 'missing')!r:.200}"
            for name in parts[:_NAMED]
        )
        more = f"; and {len(parts) - _NAMED} more" if len(parts) > _NAMED else ""
        raise ValueError(f"{where} is of another run: {'; '.join(said)}{more}")


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
