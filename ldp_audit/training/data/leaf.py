"""FEMNIST as LEAF writes it (Caldas et al., arXiv 1812.01097): handwritten characters and their writers, in JSON.

A file holds up to 100 writers: {"users": [name], "num_samples": [count], "user_data": {name: {"x": [[784 numbers]],
"y": [label]}}}. Labels 0-9 are digits, 10-35 capitals, 36-61 small letters. LEAF's pixels are paper: white is 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ldp_audit.numerics import whole
from ldp_audit.training.data.files import contents, read_whole
from ldp_audit.training.datasets import Images
from ldp_audit.training.pipeline import check_flag, check_share
from ldp_audit.training.streams import Streams

CLASSES = 62
_SIDE = 28
_FOLDERS = ("data", "femnist", "femnist/data")
_MAX_BYTES = 2 << 30  # bytes of a file; 100 writers take about 200 MB
_MIN_MEAN = 0.25  # LEAF's images are mostly white: a smaller mean means that they were inverted already


def femnist(
    folder: Path,
    *,
    writers: int | None = None,
    held_out: float | None = None,
    seed: int = 0,
    invert: bool = True,
) -> Images:
    """FEMNIST with its writers; ink is 1, as in MNIST.

    folder: holds `train` and `test` with LEAF's JSON files (as its preprocessing leaves them), or `all_data`, or the
        files themselves; the latter two are split here, writer by writer. LEAF's `data` and `femnist` may be between.
    writers: number of each half's writers to read, in the files' order; None for all, which takes about 5 GB.
    held_out: share of each writer's images in the test half, 0.1 by default; only if LEAF did not split.
    seed: of that split.   invert: LEAF's white = 1 becomes ink = 1; False for files with ink = 1.
    """
    check_flag("invert", invert)
    if writers is not None:
        whole(writers, "writers", 1)
    if held_out is not None:
        check_share("held_out", held_out)
    halves = _find(folder)
    first = list(islice(_writers(halves[0]), writers))
    if len(halves) == 2:
        if held_out is not None:
            raise ValueError(
                f"held_out must not be given: {str(folder)!r} has a train and a test folder, got {held_out!r}"
            )
        train, test = first, list(islice(_writers(halves[1]), writers))
    else:
        train, test = _divide(first, 0.1 if held_out is None else held_out, seed)
    numbers = np.repeat(np.arange(len(train)), [len(writer.y) for writer in train])
    train_x, train_y = _join(train, folder, invert=invert)
    test_x, test_y = _join(test, folder, invert=invert)
    return Images("femnist", train_x, train_y, test_x, test_y, CLASSES, numbers)


class _Writer(NamedTuple):
    """A writer's images as in the file.   x: float32, shape (n, 784), white = 1.   y: int64, shape (n,)."""

    x: NDArray[np.float32]
    y: NDArray[np.int64]


def _find(folder: Path) -> list[list[Path]]:
    """The files of the training and the test half, or of both in one."""
    for base in (folder, *(folder / name for name in _FOLDERS)):
        halves = [_files(base / half) for half in ("train", "test")]
        if any(halves):
            for files, half in zip(halves, ("train", "test"), strict=True):
                if not files:
                    raise ValueError(f"expected LEAF's JSON files in {str(base / half)!r}, found {contents(base)}")
            return halves
        for place in (base / "all_data", base):
            if files := _files(place):
                return [files]
    raise ValueError(
        f"expected LEAF's JSON files in {str(folder)!r}, in its train and test, or in its all_data "
        f"(or those in its {' or '.join(_FOLDERS)}), found {contents(folder)}"
    )


def _files(folder: Path) -> list[Path]:
    """Files in numerical order: all_data_2 before all_data_10."""
    return sorted(
        (path for path in folder.glob("*.json") if path.is_file()),
        key=lambda path: [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in _parts(path.name)],
    )


def _parts(name: str) -> list[str]:
    return re.split(r"([0-9]+)", name)


def _writers(files: Sequence[Path]) -> Iterator[_Writer]:
    """All writers, file by file, so that only one file's text is in memory."""
    seen: dict[str, Path] = {}
    for path in files:
        for name, writer in _read(path):
            if name in seen:
                raise ValueError(f"{path} must hold writers of its own, found {name!r} again, who is in {seen[name]}")
            seen[name] = path
            yield writer


def _read(path: Path) -> list[tuple[str, _Writer]]:
    """The writers of a file, by name, in the order of its "users"."""
    data = read_whole(path, _MAX_BYTES)
    try:
        found = json.loads(data, object_pairs_hook=_object, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be LEAF's JSON: {error}") from error
    keys = ("users", "num_samples", "user_data")
    if not isinstance(found, dict) or any(key not in found for key in keys):
        raise ValueError(f"{path} must be a JSON object with {', '.join(keys)}")
    users, counts, writers = (found[key] for key in keys)
    if not isinstance(users, list) or not isinstance(counts, list) or not isinstance(writers, dict):
        raise ValueError(f"{path} must have lists as users and num_samples, and an object as user_data")
    if not all(isinstance(user, str) for user in users) or sorted(users) != sorted(writers):
        raise ValueError(
            f"{path} must list each writer of user_data once in users; {len(writers)} and {len(users)} do not agree"
        )
    if not all(isinstance(writer, _Writer) for writer in writers.values()):
        raise ValueError(f"{path} must have an object of x and y for each writer in user_data")
    sizes = [len(writers[user].y) for user in users]
    if counts != sizes:
        raise ValueError(
            f"{path} must give each writer's number of images in num_samples: {_differ(users, counts, sizes)}"
        )
    return [(user, writers[user]) for user in users]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Writer:
    """A JSON object; a writer's images become an array at once, so that only one writer's are a list of numbers."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a key twice")
    return _writer(found["x"], found["y"]) if found.keys() == {"x", "y"} else found


def _writer(x: Any, y: Any) -> _Writer:
    pixels = _SIDE * _SIDE
    if not isinstance(x, list) or not all(isinstance(row, list) and len(row) == pixels for row in x):
        raise ValueError(f"a writer's x must be lists of {pixels} pixels")
    if not all(set(map(type, row)) <= {float, int} for row in x):
        raise ValueError("a writer's pixels must be numbers")
    try:
        values = np.array(x, np.float64).reshape(len(x), pixels)
    except OverflowError as error:
        raise ValueError("a writer's pixels must lie in [0, 1]") from error
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        raise ValueError(f"a writer's pixels must lie in [0, 1], found {values.min()} to {values.max()}")
    if not isinstance(y, list) or len(y) != len(x):
        raise ValueError(f"a writer's y must be a list of {len(x)} labels, one an image")
    wrong = [label for label in y if type(label) is not int or not 0 <= label < CLASSES]
    if wrong:
        raise ValueError(f"a writer's labels must be whole numbers 0 .. {CLASSES - 1}, found {str(wrong[0])[:40]}")
    return _Writer(values.astype(np.float32), np.array(y, np.int64))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"pixels must lie in [0, 1], found {name}")


def _differ(users: list[str], counts: list[Any], sizes: list[int]) -> str:
    if len(counts) != len(sizes):
        return f"{len(counts)} numbers for {len(sizes)} writers"
    at = next(at for at, (count, size) in enumerate(zip(counts, sizes, strict=True)) if count != size)
    return f"{users[at]!r} has {sizes[at]} images, not the number given"


def _divide(writers: list[_Writer], share: float, seed: int) -> tuple[list[_Writer], list[_Writer]]:
    """Split each writer's images in two, at random."""
    train, test = [], []
    for number, (x, y) in enumerate(writers):
        chosen = np.zeros(len(y), bool)
        drawn = Streams(seed).numpy("femnist: test half", number).permutation(len(y))
        chosen[drawn[: round(share * len(y))]] = True
        train.append(_Writer(x[~chosen], y[~chosen]))
        test.append(_Writer(x[chosen], y[chosen]))
    return train, test


def _join(writers: list[_Writer], folder: Path, *, invert: bool) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """All images of a half, shape (n, 1, 28, 28), ink = 1, and their labels."""
    x = np.concatenate([writer.x for writer in writers]) if writers else np.empty((0, _SIDE * _SIDE), np.float32)
    y = np.concatenate([writer.y for writer in writers]) if writers else np.empty(0, np.int64)
    if invert:
        if len(x) and x.mean() < _MIN_MEAN:
            raise ValueError(
                f"{str(folder)!r} must hold LEAF's images, mostly white = 1, found a mean of {x.mean():.2f}: "
                "if ink is 1 in these files, give invert=False"
            )
        np.subtract(1, x, out=x)
    return x.reshape(-1, 1, _SIDE, _SIDE), y
