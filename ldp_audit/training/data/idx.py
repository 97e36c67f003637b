"""MNIST, Fashion-MNIST and EMNIST from files in the IDX format, gzipped or not.

IDX, as the MNIST page of LeCun, Cortes and Burges describes it: two zero bytes, the type's code (8: unsigned bytes),
the number of axes, each axis' length as a big-endian 32-bit number, then the values, last axis fastest.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.data.files import contents, find_file, opened, read_exactly
from ldp_audit.training.datasets import Images
from ldp_audit.training.pipeline import check_choice

EMNIST_CLASSES = {"byclass": 62, "bymerge": 47, "balanced": 47, "letters": 26, "digits": 10, "mnist": 10}
"""EMNIST's splits, and the number of classes of each."""

_MAX_IMAGES = 1_000_000  # images in a file; the largest, EMNIST's byclass, has 697,932
_SIDE = 28
_EMNIST_FOLDERS = ("gzip", "EMNIST/raw")


def mnist(folder: Path) -> Images:
    """MNIST's ten digits.   folder: holds `train-images-idx3-ubyte` and the other three files."""
    return _split("mnist", folder, ("train", "t10k"), 10, inside=("raw", "MNIST/raw"))


def fashion_mnist(folder: Path) -> Images:
    """Fashion-MNIST's ten kinds of clothes, in files named as MNIST's."""
    return _split("fashion-mnist", folder, ("train", "t10k"), 10, inside=("raw", "FashionMNIST/raw"))


def emnist(folder: Path, *, split: str | None = None) -> Images:
    """One of EMNIST's splits, upright: the images in the files are transposed.

    split: byclass, bymerge, balanced, letters, digits or mnist; if None, the only one in the folder.
    The letters' labels, 1 .. 26 in the files, become 0 .. 25.
    """
    if split is None:
        split = _only_split(folder)
    check_choice("split", split, tuple(EMNIST_CLASSES))
    halves = (f"emnist-{split}-train", f"emnist-{split}-test")
    first = 1 if split == "letters" else 0
    classes = EMNIST_CLASSES[split]
    return _split(f"emnist-{split}", folder, halves, classes, inside=_EMNIST_FOLDERS, first=first, transposed=True)


def read_idx(path: Path, shape: tuple[int | None, ...]) -> NDArray[np.uint8]:
    """The array of an IDX file of unsigned bytes.

    shape: the accepted shape; None for any size up to a million. The header is checked before any allocation.
    Raises ValueError, naming the file, for another kind of array and for a file whose size contradicts its header.
    """
    with opened(path) as stream:
        start = stream.read(4)
        if start != bytes((0, 0, 8, len(shape))):
            raise ValueError(
                f"{path} must begin with 00 00 08 {len(shape):02x} (IDX, unsigned bytes, {len(shape)} axes), "
                f"found {start.hex(' ') or 'an empty file'}"
            )
        header = stream.read(4 * len(shape))
        if len(header) != 4 * len(shape):
            raise ValueError(
                f"{path} must give the length of {len(shape)} axes, found only {len(header)} bytes of them"
            )
        lengths = tuple(int.from_bytes(header[at : at + 4], "big") for at in range(0, len(header), 4))
        if any(
            length > _MAX_IMAGES if wanted is None else length != wanted
            for length, wanted in zip(lengths, shape, strict=True)
        ):
            accepted = ", ".join(f"at most {_MAX_IMAGES}" if wanted is None else str(wanted) for wanted in shape)
            raise ValueError(f"{path} must have axes of length ({accepted}), its header says {lengths}")
        values = read_exactly(stream, math.prod(lengths), path)
    return np.frombuffer(values, np.uint8).reshape(lengths)


def _split(
    name: str,
    folder: Path,
    halves: tuple[str, str],
    classes: int,
    *,
    inside: tuple[str, ...],
    first: int = 0,
    transposed: bool = False,
) -> Images:
    """Both halves of a data set; `first` is the lowest label."""
    arrays: list[NDArray] = []
    for half in halves:
        images = read_idx(find_file(folder, _names(f"{half}-images", 3), inside=inside), (None, _SIDE, _SIDE))
        place = find_file(folder, _names(f"{half}-labels", 1), inside=inside)
        labels = read_idx(place, (None,))
        if len(labels) != len(images):
            raise ValueError(f"{place} must have a label for each of {len(images)} images, found {len(labels)}")
        if len(labels) and not first <= labels.min() <= labels.max() < first + classes:
            span = f"{labels.min()} to {labels.max()}"
            raise ValueError(f"{place} must have labels {first} .. {first + classes - 1}, found {span}")
        if transposed:
            images = np.ascontiguousarray(images.transpose(0, 2, 1))
        arrays += [images[:, np.newaxis] / np.float32(255), labels.astype(np.int64) - first]
    return Images(name, arrays[0], arrays[1], arrays[2], arrays[3], classes)


def _names(stem: str, axes: int) -> list[str]:
    """The official name, then the variants of mirrors and unpackers."""
    return [f"{stem}{mark}idx{axes}-ubyte{end}" for mark in "-." for end in ("", ".gz")]


def _only_split(folder: Path) -> str:
    places = [folder, *(folder / name for name in _EMNIST_FOLDERS)]
    found = [
        split
        for split in EMNIST_CLASSES
        if any((place / name).is_file() for place in places for name in _names(f"emnist-{split}-train-images", 3))
    ]
    if len(found) > 1:
        raise ValueError(f"split must be given, one of {', '.join(found)}: {str(folder)!r} holds all of them")
    if not found:
        raise ValueError(
            f"expected emnist-SPLIT-train-images-idx3-ubyte[.gz] in {str(folder)!r} (or its "
            f"{' or '.join(_EMNIST_FOLDERS)}), SPLIT one of {', '.join(EMNIST_CLASSES)}; found {contents(folder)}"
        )
    return found[0]
