"""CIFAR-10 and CIFAR-100 from the python version: pickles, which are read by a machine that builds tables only.

For those who have these files already; the binary version says the same without a pickle.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.data.cifar import (
    LABELS,
    PIXELS,
    Batch,
    checked_kind,
    checked_pairs,
    to_images,
)
from ldp_audit.training.data.datasets import Images
from ldp_audit.training.data.files import find_file, read_whole
from ldp_audit.training.data.plain_pickle import ByteTable, read_pickle
from ldp_audit.training.option_checks import check_flag

_NAME_BYTES = 200  # an image's file name and labels, at most; the official files take about 35


def cifar_10_python(folder: Path, *, excerpt: bool = False) -> Images:
    """CIFAR-10 from `data_batch_1` to `data_batch_5` and `test_batch`.

    excerpt: accept files with another number of images than the official 10,000.
    """
    check_flag("excerpt", excerpt)
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    batches = []
    for name in names:
        path = find_file(folder, [name], inside=["cifar-10-batches-py"])
        found, pixels = _read(path, 10_000, excerpt=excerpt)
        batches.append(Batch(pixels, _labels(found, b"labels", len(pixels), 10, path)))
    return to_images("cifar-10", batches[:-1], batches[-1], 10)


def cifar_100_python(folder: Path, *, labels: str = "fine", excerpt: bool = False) -> Images:
    """CIFAR-100 from `train` and `test`.

    labels: fine (100 classes) or coarse (their 20 superclasses).
    excerpt: accept files with another number of images than the official 50,000 and 10,000.
    """
    check_flag("excerpt", excerpt)
    checked_kind(labels)
    batches = []
    for name, count in (("train", 50_000), ("test", 10_000)):
        path = find_file(folder, [name], inside=["cifar-100-python"])
        found, pixels = _read(path, count, excerpt=excerpt)
        kinds = {
            kind: _labels(found, f"{kind}_labels".encode(), len(pixels), classes, path)
            for kind, classes in LABELS.items()
        }
        checked_pairs(kinds["fine"], kinds["coarse"], path)
        batches.append(Batch(pixels, kinds[labels]))
    return to_images("cifar-100", batches[:1], batches[1], LABELS[labels])


def _read(path: Path, count: int, *, excerpt: bool) -> tuple[dict[Any, Any], NDArray[np.uint8]]:
    """The file's dict, and its images' pixels, checked."""
    data = read_whole(path, count * (PIXELS + _NAME_BYTES))
    try:
        found = read_pickle(data)
    except ValueError as error:
        raise ValueError(f"{path}, as a pickle, {error}") from error
    table = found.get(b"data", found.get("data")) if isinstance(found, dict) else None
    pixels = table.values if isinstance(table, ByteTable) else None
    wanted = "n" if excerpt else str(count)
    if pixels is None or pixels.shape[1] != PIXELS or not len(pixels):
        got = f"one of {pixels.shape}" if pixels is not None else "none"
        raise ValueError(f"{path} must hold a dict whose 'data' is an array of shape ({wanted}, {PIXELS}), found {got}")
    if not excerpt and len(pixels) != count:
        raise ValueError(f"{path} must hold {count} images, found {len(pixels)}")
    return found, pixels


def _labels(found: dict[Any, Any], key: bytes, count: int, classes: int, path: Path) -> NDArray[np.int64]:
    labels = found.get(key, found.get(key.decode()))
    if not isinstance(labels, list) or len(labels) != count or not all(type(label) is int for label in labels):
        got = f"a list of {len(labels)}" if isinstance(labels, list) else type(labels).__name__
        raise ValueError(f"{path} must have a list of {count} whole numbers as {key.decode()!r}, found {got}")
    wrong = [label for label in labels if not 0 <= label < classes]
    if wrong:
        raise ValueError(f"{path} must have {key.decode()} 0 .. {classes - 1}, found {wrong[0]}")
    return np.array(labels, np.int64)
