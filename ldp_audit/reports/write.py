"""Writing a report to a folder: all of it, or nothing."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldp_audit.reports import document, html, markdown
from ldp_audit.reports.figures import svg


class CannotWriteError(OSError):
    """The folder or file cannot be written; the message names it and says why."""


def rendered(report: dict[str, Any]) -> dict[str, str]:
    """Every file of a report by its name: report.html, report.md, report.json and the figures.

    For several papers also KEY.html for each, and index.html over them.
    """
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
    """Indented JSON without NaN, which JSON does not have."""
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def check_writable(folder: Path) -> None:
    """Raise CannotWriteError unless files can be made in the folder, which is made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CannotWriteError(f"cannot write to {folder}: {error.strerror or error}") from error


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files under temporary names first, then rename them: a failure leaves no half-written report."""
    check_writable(folder)
    staged: list[tuple[Path, Path]] = []
    try:
        for name, text in files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            staged.append((_stage(target, text), target))
        for temporary, target in staged:
            temporary.replace(target)
    except OSError as error:
        raise CannotWriteError(f"cannot write to {folder}: {error.strerror or error}") from error
    finally:
        for temporary, _ in staged:
            temporary.unlink(missing_ok=True)


def _stage(target: Path, text: str) -> Path:
    """The text in a temporary file beside its target, with the permissions that a new file would have."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
