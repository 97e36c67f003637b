"""What commands read and write."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def write_json(options: argparse.Namespace, document: dict[str, Any]) -> None:
    """The result of a command, where --json asks for it."""
    if options.json:
        from ldp_audit.reports import write

        write.write_files(options.json.parent, {options.json.name: write.as_json(document)})


def read_json(path: Path) -> Any:
    """The document in a file; ValueError where it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
