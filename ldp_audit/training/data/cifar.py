"""CIFAR-10 and CIFAR-100 (Krizhevsky 2009), from the binary version.

A record is the label (CIFAR-100: the coarse label, then the fine one), then 1024 bytes of red, of green and of
blue, row by row. A file consists of records only, so its length gives their number. The python version holds
the same images in pickles, which nobody should read who did not write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.data.cifar_classes import COARSE_CLASSES, COARSE_OF_FINE, FINE_CLASSES
from ldp_audit.training.data.files import file_size, find_file, read_whole
from ldp_audit.training.datasets import Images
from ldp_audit.training.pipeline import check_choice, check_flag

PIXELS = 3 * 32 * 32
LABELS = {"fine": len(FINE_CLASSES), "coarse": len(COARSE_CLASSES)}
"""CIFAR-100's kinds of labels, and the number of classes of each."""


class LabelledPixels(NamedTuple):
    """The content of a file.   pixels: uint8, shape (n, 3072).   labels, of the requested kind: int64, shape (n,)."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]


def cifar_10(folder: Path, *, excerpt: bool = False) -> Images:
    """CIFAR-10 from `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`.

    excerpt: accept files with another number of images than the official 10,000.
    """
    check_flag("excerpt", excerpt)

    def read(path: Path) -> LabelledPixels:
        records = _records(path, 1, None if excerpt else 10_000)
        return LabelledPixels(records[:, 1:], _checked_labels(records[:, 0], 10, path))

    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    batches = [read(find_file(folder, [name], inside=["cifar-10-batches-bin"])) for name in names]
    return _images("cifar-10", batches[:-1], batches[-1], 10)


def cifar_100(folder: Path, *, labels: str = "fine", excerpt: bool = False) -> Images:
    """CIFAR-100 from `train.bin` and `test.bin`; the images are in the files' order for either kind of labels.

    labels: fine (100 classes) or coarse (their 20 superclasses).
    excerpt: accept files with another number of images than the official 50,000 and 10,000.
    """
    check_flag("excerpt", excerpt)
    check_choice("labels", labels, tuple(LABELS))
    batches = []
    for name, count in (("train.bin", 50_000), ("test.bin", 10_000)):
        path = find_file(folder, [name], inside=["cifar-100-binary"])
        records = _records(path, 2, None if excerpt else count)
        found = {"coarse": records[:, 0], "fine": records[:, 1]}
        _check_pairs(found["fine"], found["coarse"], path)
        batches.append(LabelledPixels(records[:, 2:], found[labels].astype(np.int64)))
    return _images("cifar-100", batches[:1], batches[1], LABELS[labels])


def _images(name: str, train: Sequence[LabelledPixels], test: LabelledPixels, classes: int) -> Images:
    """The batches as images in [0, 1]."""
    labels = np.concatenate([batch.labels for batch in train])
    return Images(name, _scaled(train), labels, _scaled([test]), test.labels, classes)


def _checked_labels(labels: NDArray, classes: int, path: Path) -> NDArray[np.int64]:
    """The labels; ValueError unless all are in 0 .. classes - 1."""
    if len(labels) and not 0 <= labels.min() <= labels.max() < classes:
        raise ValueError(f"{path} must have labels 0 .. {classes - 1}, found {labels.min()} to {labels.max()}")
    return labels.astype(np.int64)


def _check_pairs(fine: NDArray, coarse: NDArray, path: Path) -> None:
    """Raise ValueError unless each image's superclass contains its class."""
    expected = np.array(COARSE_OF_FINE)[_checked_labels(fine, len(FINE_CLASSES), path)]
    wrong = np.flatnonzero(expected != _checked_labels(coarse, len(COARSE_CLASSES), path))
    if len(wrong):
        at = int(wrong[0])
        raise ValueError(
            f"{path} must give each image the coarse label of its fine one; image {at} has fine label {fine[at]}, "
            f"which belongs to {expected[at]}, and coarse label {coarse[at]}"
        )


def _records(path: Path, labels: int, count: int | None) -> NDArray[np.uint8]:
    """The file's records, shape (count, labels + 3072); any positive count if it is None."""
    size = labels + PIXELS
    most = 50_000 * size
    length = file_size(path)
    wanted = f"{count} x {size} = {count * size}" if count else f"a multiple of {size}, at most {most}"
    if length % size or not 0 < length <= most or (count and length != count * size):
        raise ValueError(f"{path} must be {wanted} bytes long, found {length}")
    return np.frombuffer(read_whole(path, length), np.uint8).reshape(-1, size)


def _scaled(batches: Sequence[LabelledPixels]) -> NDArray[np.float32]:
    """The pixels in [0, 1], shape (n, 3, 32, 32), without a second copy in float32."""
    count = sum(len(batch.pixels) for batch in batches)
    scaled = np.empty((count, PIXELS), np.float32)
    start = 0
    for batch in batches:
        np.divide(batch.pixels, np.float32(255), out=scaled[start : start + len(batch.pixels)])
        start += len(batch.pixels)
    return scaled.reshape(-1, 3, 32, 32)
