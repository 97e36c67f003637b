"""Import of a user's object by its name, package.module:name or path/to/file.py:name, from the current folder too."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from ldp_audit.numerics import meant

_SHOWN = 12
"""Names of a module that a message lists."""


def named_object(name: str, what: str) -> Any:
    """The object, perhaps with a dotted name; ValueError, beginning with `what`, where it cannot be imported.

    Class.method is the method of an object of the class, which must need no arguments.
    """
    module, _, attribute = name.rpartition(":")
    if ("/" in module or "\\" in module) and not module.endswith(".py"):
        raise ValueError(f"{what} cannot be loaded: a file's name ends in .py, such as {module}.py:{attribute}")
    found: Any = None
    part = ""
    try:
        found = named_module(module)
        for part in attribute.split("."):
            if isinstance(found, type) and inspect.isfunction(inspect.getattr_static(found, part, None)):
                found = found()
            found = getattr(found, part)
    except AttributeError as error:
        if error.obj is not found or error.name != part:  # of the user's own code
            raise ValueError(f"{what} cannot be loaded: {type(error).__name__}: {error}") from None
        raise ValueError(f"{what} cannot be loaded: {_without(found, part)}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a user's module may raise anything)
        raise ValueError(f"{what} cannot be loaded: {type(error).__name__}: {error}") from None
    return found


def _without(owner: Any, name: str) -> str:
    """That it lacks a name, and what it has: its public names; of a module, without those that it imports."""
    named = owner.__name__ if isinstance(owner, ModuleType | type) else type(owner).__qualname__
    known = [one for one in dir(owner) if not one.startswith("_")]
    if isinstance(owner, ModuleType):
        own = [one for one in known if _is_of(vars(owner).get(one), named)]
        known = sorted(own, key=lambda one: not callable(vars(owner)[one]))  # what a TARGET may be, first
    listed = f"it has {', '.join(known[:_SHOWN])}" if known else "it has no public names"
    return f"{named} has no {name}{meant(name, known)}; {listed}{', ...' * (len(known) > _SHOWN)}"


def _is_of(value: Any, module: str) -> bool:
    """Whether a module's value is its own, and not imported."""
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return value.__module__ == module
    return value is not None and not isinstance(value, ModuleType) and type(value).__module__ != "__future__"


def named_module(name: str) -> ModuleType:
    """The module of a dotted name, or of a path to a .py file, which may import its neighbours; else what that raises.

    A file's module has the file's name; or its whole path, where another module has that name.
    """
    here, file = str(Path.cwd()), Path(name)
    if here not in sys.path:
        sys.path.insert(0, here)
    if file.suffix != ".py":
        return importlib.import_module(name)
    if not file.is_file():
        raise ModuleNotFoundError(f"no such file: {name}")
    path = file.resolve()
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    called = str(path) if _is_taken(path) else path.stem
    spec = importlib.util.spec_from_file_location(called, path, loader=_AsItStands(called, str(path)))
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no module: {name}")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where dataclasses and pickle look
    spec.loader.exec_module(module)
    return module


class _AsItStands(SourceFileLoader):
    """Compiles the file as it is now: Python's own cache takes a file of the same second and length for the same."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _is_taken(path: Path) -> bool:
    """Whether another module has the name of this file."""
    if path.stem in sys.modules:
        return getattr(sys.modules[path.stem], "__file__", None) != str(path)
    known = None if "." in path.stem else importlib.util.find_spec(path.stem)
    return known is not None and known.origin != str(path)
