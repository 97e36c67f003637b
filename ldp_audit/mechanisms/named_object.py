"""Import of a user's object by its name, package.module:name, from the current folder too."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any


def named_object(name: str, what: str) -> Any:
    """The object, perhaps with a dotted name; ValueError, beginning with `what`, where it cannot be imported."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a user's module may raise anything)
        raise ValueError(f"{what} cannot be loaded: {type(error).__name__}: {error}") from None
    return found
