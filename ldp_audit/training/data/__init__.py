"""Data sets by name: those that come with installed packages or are made up, and those read from a user's folder.

A loader is a function `(folder, **options) -> Images | Table` in a file of its own; nothing is downloaded, and nothing
is unpickled but CIFAR's own format, by an unpickler that builds arrays only.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ldp_audit.training.data.datasets import Images, Table

__all__ = ["DATASETS", "DataSource", "Images", "Table", "load"]


class DataSource(NamedTuple):
    """Where a data set comes from.

    loader: "module:function", the module below this folder.   kind: "images" or "table".
    files: what the user's folder must hold, in words; "" where no folder is needed.
    """

    loader: str
    kind: str
    files: str = ""


DATASETS: dict[str, DataSource] = {}


def load(name: str, folder: str | Path | None = None, **options: Any) -> Images | Table:
    """The data set of this name.

    folder: where its files are; for those that need none, None.   options: the loader's own, such as a seed.
    Raises ValueError for an unknown name, for a missing or needless folder, and for files that are not as expected.
    """
    source = DATASETS.get(name)
    if source is None:
        raise ValueError(f"data must be one of {', '.join(DATASETS)}, got {name!r}")
    if source.files and folder is None:
        raise ValueError(f"data {name!r} needs a folder that holds {source.files}, got none")
    if folder is not None and not source.files:
        raise ValueError(f"data {name!r} needs no folder, got {str(folder)!r}")
    if folder is not None and not Path(folder).is_dir():
        raise ValueError(f"folder must be a folder that holds {source.files}, got {str(folder)!r}")
    module, _, function = source.loader.partition(":")
    found = getattr(import_module(f"{__name__}.{module}"), function)
    return found(Path(folder), **options) if folder is not None else found(**options)
