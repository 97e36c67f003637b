"""Writing is all or nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ldp_audit.reports import write


def test_every_file_of_the_report_is_made(paper_report: dict, tmp_path: Path) -> None:
    write.write_files(tmp_path, write.rendered(paper_report))
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    figures = {f"figures/{figure['name']}.svg" for figure in paper_report["figures"]}
    assert figures
    assert names == {"report.html", "report.md", "report.json"} | figures
    assert json.loads((tmp_path / "report.json").read_text())["schema_version"] == 1


def test_a_failure_on_the_way_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write.write_files(tmp_path, {"a.txt": "old", "b.txt": "old"})
    real, calls = os.fsync, []

    def fsync(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(write.CannotWriteError, match="No space left"):
        write.write_files(tmp_path, {"a.txt": "new", "b.txt": "new"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "old", "b.txt": "old"}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(write.CannotWriteError, match=f"cannot write to {blocked}/out"):
        write.check_writable(blocked / "out")


def test_files_have_the_permissions_of_new_files(tmp_path: Path) -> None:
    write.write_files(tmp_path, {"a.txt": "x"})
    (tmp_path / "b.txt").write_text("x")
    assert os.stat(tmp_path / "a.txt").st_mode == os.stat(tmp_path / "b.txt").st_mode  # noqa: PTH116


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="JSON"):
        write.as_json({"x": float("nan")})
