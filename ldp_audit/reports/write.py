"""Writing a report to a folder, atomically."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldp_audit.files import CannotWriteError, is_stream, write_whole
from ldp_audit.reports import document, html, markdown
from ldp_audit.reports.figures import svg

__all__ = ["CannotWriteError", "as_json", "check_writable", "rendered", "write_files"]


def rendered(report: dict[str, Any]) -> dict[str, str]:
    """The report's files by name: HTML, Markdown, JSON, figures; for several papers KEY.html and index.html too."""
    files = {f"figures/{figure['name']}.svg": svg(figure) + "\n" for figure in report["figures"]}
    files["report.json"] = as_json(report)
    files["report.md"] = markdown.render(report)
    files["report.html"] = html.render(report)
    if len(report["papers"]) == 1:
        return files
    parts = [document.of_paper(report, paper["key"]) for paper in report["papers"]]
    files |= {f"{part['papers'][0]['key']}.html": html.render(part) for part in parts}
    return {**files, "index.html": html.render_index(report, parts)}


def as_json(data: Mapping[str, Any]) -> str:
    """Indented JSON; NaN is an error."""
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def check_writable(folder: Path) -> None:
    """Raise CannotWriteError unless files can be created in the folder, which is created if necessary."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CannotWriteError(f"cannot write to {folder}: {error.strerror or error}") from error


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files, or none, as `files.write_whole` does; folders are created if necessary."""
    places = {folder / name: text for name, text in files.items()}
    for place in places:
        if not is_stream(place):
            check_writable(place.parent)
    write_whole(places)
