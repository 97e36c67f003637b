"""Protocols read from TOML: nothing in the file is executed, and each misfit is one clear error.

    name = "two questions"
    unit = "client"
    rounds = 30

    [[step]]
    name = "answer"
    mechanism = "RandomizedResponse(epsilon=0.5, k=4)"    # a shipped one, or a channel.csv beside the file
    times = ["rounds", 2]

The keys are the arguments of `Protocol`, `Step`, `Sampling`, `Shuffling` and `Split`.
"""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, Field, fields
from functools import partial
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ldp_audit import registry
from ldp_audit.accounting.protocols.protocol import Protocol, Sampling, Shuffling, Split, Step
from ldp_audit.numerics import meant

_LARGEST = 100_000  # bytes; a protocol is some hundred
_DOTS = 100  # in a line; tomllib takes the square of a dotted key's length


def load_protocol(name: str | Path) -> Protocol:
    """A shipped protocol by its name, or one from a file.

    Raises ValueError that names the file, the key, the value and what is accepted; OSError where a file cannot be read.
    """
    if isinstance(name, str) and name in shipped():
        return parse_protocol(_shipped()[name].read_bytes(), f"{name}.toml")
    path = Path(name)
    if not path.exists() and path.suffix != ".toml":
        listed = meant(str(name)[:200], shipped()) or f"; shipped: {named()}"
        raise ValueError(f"{str(name)[:200]!r} is neither a file nor a shipped protocol{listed}")
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    return parse_protocol(content, str(path), path.parent)


def shipped() -> tuple[str, ...]:
    """The names of the protocols that papers and other packages bring, sorted."""
    return tuple(sorted(_shipped()))


def named() -> str:
    """The names of the shipped protocols in one line, for messages."""
    return ", ".join(shipped()) or "none"


def _shipped() -> dict[str, Traversable]:
    """The files of the protocols that papers and other packages bring, by name."""
    folders = reversed(registry.usable(registry.PROTOCOLS, partial(registry.folder, registry.PROTOCOLS)).values())
    found = [file for folder in folders for file in folder.iterdir() if file.name.endswith(".toml")]
    return {file.name.removesuffix(".toml"): file for file in found}  # of one name, the first paper's


def parse_protocol(content: bytes, where: str = "protocol", folder: Path = Path()) -> Protocol:
    """The protocol that a TOML document describes.

    content: UTF-8.   where: its name in errors.   folder: the folder of its channel files.
    Raises ValueError as `load_protocol`.
    """
    if len(content) > _LARGEST:
        raise ValueError(f"{where}: a protocol has at most {_LARGEST} bytes")
    if any(line.count(b".") > _DOTS for line in content.splitlines()):
        raise ValueError(f"{where}: a line has at most {_DOTS} full stops")
    try:
        document = tomllib.loads(content.decode("utf-8-sig"))
        return _protocol(document, folder)
    except UnicodeDecodeError:
        raise ValueError(f"{where}: is not a text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{where}: is not TOML: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: {error}") from None


def _protocol(document: dict[str, Any], folder: Path) -> Protocol:
    rest = dict(document)
    tables = rest.pop("step", None)
    if not isinstance(tables, list) or not tables:
        raise ValueError(f"step must be one [[step]] table or more, got {tables!r}")
    rest["steps"] = tuple(_step(table, f"[[step]] {place}", folder) for place, table in enumerate(tables, start=1))
    if "split" in rest:
        rest["split"] = _built(Split, rest["split"], "[split]")
    return _built(Protocol, rest, "", renamed={"steps": "step"})


def _step(table: Any, place: str, folder: Path) -> Step:
    rest = dict(_table(table, place))
    for key, kind in (("sampling", Sampling), ("shuffling", Shuffling)):
        if key in rest:
            rest[key] = _built(kind, rest[key], f"{place} {key}")
    if "mechanism" in rest:
        rest["mechanism"] = _mechanism(rest["mechanism"], place, folder)
    return _built(Step, rest, place)


def _mechanism(text: Any, place: str, folder: Path) -> str:
    """The TARGET, unless it is one that would run somebody's code."""
    if isinstance(text, str) and text.endswith((".csv", ".npz")):
        if not (folder / text).is_file():
            raise ValueError(f"{place}: mechanism {text!r} is no file beside the protocol")
        return str(folder / text)
    if not isinstance(text, str) or "(" not in text:
        raise ValueError(
            f"{place}: mechanism must be a shipped one such as 'TwoPoint(epsilon=1)', or a .csv or .npz channel beside "
            f"the file, got {text!r}; objects of your own are for Protocol(...) in Python"
        )
    return text


def _built(kind: Any, table: Any, place: str, renamed: dict[str, str] | None = None) -> Any:
    """The dataclass from a table whose keys are its fields."""
    names = renamed or {}
    known = {part.name: part for part in fields(kind) if part.init}
    table = _table(table, place)
    prefix = f"{place}: " if place else ""
    for key in table:
        if key not in known:
            accepted = ", ".join(names.get(name, name) for name in known)
            raise ValueError(f"{prefix}unknown key {key!r} = {table[key]!r}; accepted: {accepted}")
    missing = [name for name, part in known.items() if name not in table and _required(part)]
    if missing:
        raise ValueError(f"{prefix}the key {missing[0]!r} is missing")
    try:
        return kind(**table)
    except ValueError as error:
        raise ValueError(f"{prefix}{error}") from None


def _required(part: Field[Any]) -> bool:
    return part.default is MISSING and part.default_factory is MISSING


def _table(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{place} must be a table of keys and values, got {value!r}")
    return value
