"""Resumable checkpoints: the state of a run in a file, so that an interrupted run continues to the same result.

The file is replaced atomically, so it always has a complete state. It also has all arguments on which the results
depend, and only a run with the same arguments continues it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldp_audit.files import write_whole

SCHEMA_VERSION = 1
DAMAGE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RuntimeError)
"""Errors of reading a damaged document: a missing key, a text for a number, an infinite count, a deep list."""

_NAMED = 8  # most differences named in an error


@dataclass(frozen=True)
class Checkpoint:
    """The file of one run's states.

    kind: of the document.   says: a description of such files, "the state of an audit".   other: the beginning of the
        error for other arguments.   arguments: all that the run depends on, JSON-ready.   read, packed: convert file
        contents to the document and back.   free: arguments, by dotted names, in which a run that continues may differ.
    """

    path: Path
    kind: str
    says: str
    other: str
    arguments: Mapping[str, Any]
    read: Callable[[Path], Any]
    packed: Callable[[dict[str, Any]], str | bytes]
    free: frozenset[str] = frozenset()

    def held(self, *parts: str) -> dict[str, Any] | None:
        """The document of this run, None without a file; ValueError for a damaged file, and for another run's."""
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
        check_same(f"{self.path} {self.other}", document["arguments"], self.arguments, self.free)
        return document

    def write(self, parts: Mapping[str, Any], *, durable: bool = True) -> None:
        """Write the document atomically.   durable: see `files.write_whole`. Raises CannotWriteError."""
        head = {"kind": self.kind, "schema_version": SCHEMA_VERSION, "arguments": plain(self.arguments)}
        content = self.packed(head | dict(parts))
        write_whole({self.path: content}, durable=durable)


def plain(value: Any) -> Any:
    """The value after a round trip through JSON. Raises ValueError or TypeError for what JSON cannot represent."""
    return json.loads(json.dumps(value, allow_nan=False))


def damaged(path: Path, error: BaseException, remedy: str = "delete it, and the run is computed again") -> ValueError:
    """The error for a damaged checkpoint, with a remedy."""
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    reason = " ".join(f"{kind}{error}".split())[:160]
    return ValueError(f"{path} is damaged: {reason}; {remedy}")


def check_same(other: str, was: Any, now: Mapping[str, Any], free: Collection[str] = ()) -> None:
    """ValueError that names every argument, but those in `free`, in which a stored run differs from this one.

    other: the error's beginning.
    """
    before, after = _flat(was) if isinstance(was, Mapping) else {}, _flat(plain(now))
    held = [name for name in {**after, **before} if name not in free]
    names = [name for name in held if before.get(name, _MISSING) != after.get(name, _MISSING)]
    if names:
        said = [f"{name} was {_cut(before, name)} and is {_cut(after, name)}" for name in names[:_NAMED]]
        more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
        raise ValueError(f"{other}: {'; '.join(said + more)}")


_MISSING = object()


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Nested dictionaries as one, with dotted keys."""
    if not isinstance(value, Mapping):
        return {name: value}
    found: dict[str, Any] = {}
    for key, part in value.items():
        found |= _flat(part, f"{name}.{key}" if name else str(key))
    return found


def _cut(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    return "unknown" if value is None else f"{value!r:.200}"
