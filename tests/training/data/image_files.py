"""Small files in the formats of the image data sets, as the tests write them."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ldp_audit.training.data.cifar_classes import COARSE_OF_FINE

MNIST_HALVES = ("train", "t10k")


def idx(array: np.ndarray) -> bytes:
    """An IDX file of unsigned bytes."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def write_mnist(
    folder: Path, *, halves: tuple[str, str] = MNIST_HALVES, classes: int = 10, first: int = 0, packed: bool = False
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Both halves of a data set like MNIST; returns (images, labels) of each."""
    draw = np.random.default_rng(7)
    written = []
    for half, count in zip(halves, (2 * classes, classes), strict=True):
        images = draw.integers(0, 256, (count, 28, 28), np.uint8)
        labels = (np.arange(count) % classes + first).astype(np.uint8)
        for stem, array in ((f"{half}-images-idx3-ubyte", images), (f"{half}-labels-idx1-ubyte", labels)):
            data = idx(array)
            (folder / (stem + ".gz" * packed)).write_bytes(gzip.compress(data) if packed else data)
        written.append((images, labels))
    return written


def cifar_pixels(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 3072), np.uint8)


def fine_and_coarse(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels that go over all hundred classes."""
    fine = (np.arange(count) % 100).astype(np.uint8)
    return fine, np.array(COARSE_OF_FINE, np.uint8)[fine]


def write_cifar_10(folder: Path, count: int = 20) -> list[tuple[np.ndarray, np.ndarray]]:
    written = []
    for number, name in enumerate([*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]):
        pixels, labels = cifar_pixels(count, number), (np.arange(count) % 10).astype(np.uint8)
        (folder / name).write_bytes(np.column_stack([labels, pixels]).tobytes())
        written.append((pixels, labels))
    return written


def write_cifar_100(folder: Path, count: int = 200) -> list[tuple[np.ndarray, np.ndarray]]:
    """The fine labels are returned."""
    written = []
    for number, name in enumerate(("train.bin", "test.bin")):
        pixels, (fine, coarse) = cifar_pixels(count, number), fine_and_coarse(count)
        (folder / name).write_bytes(np.column_stack([coarse, fine, pixels]).tobytes())
        written.append((pixels, fine))
    return written


def leaf(writers: Mapping[str, int], seed: int = 0, first: int = 0) -> dict[str, Any]:
    """What a LEAF file says: writers and how many images each has, mostly white; labels go over all 62 classes."""
    draw = np.random.default_rng(seed)
    data = {}
    for name, count in writers.items():
        pixels = np.where(draw.random((count, 784)) < 0.8, 1.0, draw.integers(0, 256, (count, 784)) / 255)
        data[name] = {"x": pixels.tolist(), "y": [(first + at) % 62 for at in range(count)]}
    return {"users": list(writers), "num_samples": list(writers.values()), "user_data": data}


def write_leaf(path: Path, found: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found))


Write = Callable[[Path], object]


def _write_packed(folder: Path) -> None:
    write_mnist(folder, packed=True)
    path = folder / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 1))


def _write_leaf(folder: Path) -> None:
    found = leaf({"a": 2, "b": 1})
    for writer in found["user_data"].values():  # short texts, so that damage often hits what is not a pixel
        writer["x"] = [[1] * 784 for _ in writer["x"]]
    write_leaf(folder / "all_data_0.json", found)


FORMATS: dict[str, tuple[str, str, Write, dict[str, object]]] = {
    "IDX images": ("mnist", "train-images-idx3-ubyte", write_mnist, {}),
    "IDX labels": ("mnist", "train-labels-idx1-ubyte", write_mnist, {}),
    "gzipped IDX": ("mnist", "train-images-idx3-ubyte.gz", _write_packed, {}),
    "CIFAR-10": ("cifar-10", "test_batch.bin", lambda folder: write_cifar_10(folder, 2), {"excerpt": True}),
    "CIFAR-100": ("cifar-100", "train.bin", lambda folder: write_cifar_100(folder, 2), {"excerpt": True}),
    "LEAF": ("femnist", "all_data_0.json", _write_leaf, {"held_out": 0.5}),
}
"""Of each: the data set, a file of it, what writes all files, and the loader's options; tests/fuzz damages the file."""
