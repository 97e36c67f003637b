"""What commands read and write."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

_LARGEST = 1 << 28  # bytes; results have some thousand, reports some million


def write_json(options: argparse.Namespace, document: dict[str, Any]) -> None:
    """The result of a command, where --json asks for it."""
    if options.json:
        from ldp_audit.reports import write

        write.write_files(options.json.parent, {options.json.name: write.as_json(document)})


def check_writable(options: argparse.Namespace) -> None:
    """Before anything long: CannotWriteError, an OSError, where --out or --json is a place that cannot be written."""
    if getattr(options, "out", None) is not None:
        from ldp_audit.reports import write

        write.check_writable(options.out)
    if options.json:
        from ldp_audit.files import check_place

        check_place(options.json)


def read_json(path: Path) -> Any:
    """The document in a file; ValueError where it is not JSON, or larger than any of ours; OSError."""
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"{path} must have at most {_LARGEST} bytes, got more")
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # also an integer of too many digits
        raise ValueError(f"{path} is not JSON: {error}") from error
