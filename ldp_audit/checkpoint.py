"""A resumable checkpoint: what a run has reached, in a file, so that a killed run ends as if nothing had happened.

The file is written under a temporary name and then renamed: it holds a whole state, or it is not there. Beside the
state stands all that the run's numbers depend on, and only the run of the same arguments goes on with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldp_audit.files import write_whole

SCHEMA_VERSION = 1
DAMAGE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RuntimeError)
"""What reading an edited document may run into: a missing key, a text for a number, an infinite count, a deep list."""

_NAMED = 8  # differences in an error


@dataclass(frozen=True)
class Checkpoint:
    """The file of one run's states.

    kind: of the document.   says: what such a file is, "the state of an audit".   other: what it is where its arguments
    are others.   arguments: all that the run depends on, JSON-ready.   read, packed: between the file and the document.
    """

    path: Path
    kind: str
    says: str
    other: str
    arguments: Mapping[str, Any]
    read: Callable[[Path], Any]
    packed: Callable[[dict[str, Any]], str | bytes]

    def held(self, *parts: str) -> dict[str, Any] | None:
        """The document of this run, with these parts; None where there is no file.

        Raises ValueError for a file that is none, and for another run's, naming what differs.
        """
        if not self.path.exists():
            return None
        document = self.read(self.path)
        if not isinstance(document, dict) or document.get("kind") != self.kind:
            raise ValueError(f"{self.path} is not {self.says}")
        if document.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(
                f"{self.path} has schema_version {document.get('schema_version')!r}; accepted: {SCHEMA_VERSION}"
            )
        missing = [name for name in ("arguments", *parts) if name not in document]
        if missing:
            raise damaged(self.path, ValueError(f"it has no {missing[0]}"))
        check_same(f"{self.path} {self.other}", document["arguments"], self.arguments)
        return document

    def write(self, parts: Mapping[str, Any], *, durable: bool = True) -> None:
        """All of it, or nothing.   durable: see `files.write_whole`. Raises CannotWriteError."""
        head = {"kind": self.kind, "schema_version": SCHEMA_VERSION, "arguments": plain(self.arguments)}
        content = self.packed(head | dict(parts))
        write_whole({self.path: content}, durable=durable)


def plain(value: Any) -> Any:
    """As JSON gives it back. Raises ValueError or TypeError for what JSON does not have."""
    return json.loads(json.dumps(value, allow_nan=False))


def damaged(path: Path, error: BaseException) -> ValueError:
    """The error for a file that was ours, with a way out."""
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    reason = " ".join(f"{kind}{error}".split())[:160]
    return ValueError(f"{path} is damaged: {reason}; delete it, and the run is computed again")


def check_same(other: str, was: Any, now: Mapping[str, Any]) -> None:
    """ValueError that names every argument in which a stored run differs from this one.   other: how it begins."""
    before, after = _flat(was) if isinstance(was, Mapping) else {}, _flat(plain(now))
    names = [name for name in {**after, **before} if before.get(name, _MISSING) != after.get(name, _MISSING)]
    if names:
        said = [f"{name} was {_cut(before, name)} and is {_cut(after, name)}" for name in names[:_NAMED]]
        more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
        raise ValueError(f"{other}: {'; '.join(said + more)}")


_MISSING = object()


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Nested parts by dotted names."""
    if not isinstance(value, Mapping):
        return {name: value}
    found: dict[str, Any] = {}
    for key, part in value.items():
        found |= _flat(part, f"{name}.{key}" if name else str(key))
    return found


def _cut(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    return "unknown" if value is None else f"{value!r:.200}"
