"""What papers and other packages add to the core: entry points, of the folders in `ldp_audit.papers` and installed.

A paper of ours registers as anybody's does. `entry_points.toml` in its folder has the tables that another package has
under [project.entry-points] in its pyproject.toml, and a number that orders the papers in lists. The groups:

    ldp_audit.papers        name = "module:object"     a `claims.Paper`, for `check --paper name`
    ldp_audit.mechanisms    Name = "module:Name"       a class of mechanisms, for TARGETs: `exact "Name(1)"`
    ldp_audit.protocols     name = "package"           its files NAME.toml, for `account NAME`
    ldp_audit.conventions   name = "module:function"   a paper's own accounting of protocols that say paper = "name"
    ldp_audit.presets       name = "package"           its presets.toml, for `train name --preset`
    ldp_audit.experiments   name = "package"           its experiments.toml and records, for `make reproduce`
    ldp_audit.commands      name = "module"            a command: `add_arguments`, `run`, and a docstring that says what

Nothing is imported before it is asked for by name.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

T = TypeVar("T")

PAPERS, MECHANISMS, PROTOCOLS, CONVENTIONS, PRESETS, EXPERIMENTS, COMMANDS = (
    f"ldp_audit.{one}"
    for one in ("papers", "mechanisms", "protocols", "conventions", "presets", "experiments", "commands")
)


@cache
def entries(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name: those of the papers' folders in their order, then those installed, by name.

    A name of the folders' is theirs; of two installed packages with one name the first counts.
    """
    found: dict[str, EntryPoint] = {}
    for document in _folders():
        for name, value in document.get(group, {}).items():
            found.setdefault(name, EntryPoint(name, value, group))
    for entry in sorted(entry_points(group=group), key=lambda one: one.name):
        found.setdefault(entry.name, entry)
    return found


def load(group: str, name: str) -> Any:
    """The object that an entry point names. Raises ValueError, naming the entry point, where it cannot be imported."""
    entry = entries(group)[name]
    try:
        return entry.load()
    except (Exception, SystemExit) as error:  # a stranger's module may raise anything, and its message says most
        raise _unusable(entry, error) from error


def folder(group: str, name: str) -> Traversable:
    """The folder of the package that an entry point names. Raises ValueError, naming the entry point, without one."""
    entry = entries(group)[name]
    try:
        return files(entry.module)
    except (Exception, SystemExit) as error:
        raise _unusable(entry, error) from error


def usable(group: str, read: Callable[[str], T]) -> dict[str, T]:
    """What `read` makes of each name of a group, without those for which it raises OSError or ValueError.

    A stranger's package that is broken takes nothing from the others: a RuntimeWarning says why it is left out.
    """
    found: dict[str, T] = {}
    for name in entries(group):
        try:
            found[name] = read(name)
        except (OSError, ValueError) as error:
            said = str(error) if group in str(error) else f"entry point {name!r} in {group} cannot be read: {error}"
            warnings.warn(said, RuntimeWarning, stacklevel=2)
    return found


def _unusable(entry: EntryPoint, error: BaseException) -> ValueError:
    whose = f" of the package {entry.dist.name}" if entry.dist else ""
    return ValueError(
        f"entry point {entry.name!r} = {entry.value!r} in {entry.group}{whose} cannot be loaded: "
        f"{type(error).__name__}: {error}"
    )


@cache
def _folders() -> list[dict[str, Any]]:
    """The entry points of each paper's folder, in the order of the papers."""
    import tomllib

    documents = []
    for one in (one / "entry_points.toml" for one in files("ldp_audit.papers").iterdir() if one.is_dir()):
        try:
            documents += [tomllib.loads(one.read_text(encoding="utf-8"))] if one.is_file() else []
        except ValueError as error:
            warnings.warn(f"{one} cannot be read: {error}", RuntimeWarning, stacklevel=2)
    return sorted(documents, key=lambda one: one.get("order", math.inf))
