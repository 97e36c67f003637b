"""Data sets as the loaders return them: images or a table, split into training and test, validated on construction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Images:
    """Labelled images.

    name: of the data set.   classes: number of labels; labels are 0 .. classes - 1.
    train_x, test_x: float32, shape (n, channels, height, width), in [0, 1].   train_y, test_y: int64, shape (n,).
    writers: group of each training image, int64, shape (n,), for data with groups: the writer (FEMNIST) or the subclass
        (the CIFAR pairs); -1 for images without a group, the public ones of a pair.
    Raises ValueError, naming the part, for anything else; one of the two halves may be empty.
    """

    name: str
    train_x: NDArray[np.float32]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.float32]
    test_y: NDArray[np.int64]
    classes: int
    writers: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        _check_classes(self.name, self.classes)
        for half, x, y in (("train", self.train_x, self.train_y), ("test", self.test_x, self.test_y)):
            _check_array(self.name, f"{half}_x", x, np.float32, 4)
            _check_labels(self.name, f"{half}_y", y, len(x), self.classes)
            if x.size and not (x.min() >= 0 and x.max() <= 1):  # a NaN fails too
                raise ValueError(f"{self.name}: {half}_x must lie in [0, 1], got {x.min()!r} to {x.max()!r}")
        if self.train_x.shape[1:] != self.test_x.shape[1:]:
            raise ValueError(
                f"{self.name}: train_x and test_x must be images of one shape, "
                f"got {self.train_x.shape[1:]} and {self.test_x.shape[1:]}"
            )
        if not len(self.train_x) + len(self.test_x):
            raise ValueError(f"{self.name} must have at least one image, got none")
        if self.writers is not None:
            _check_array(self.name, "writers", self.writers, np.int64, 1)
            if len(self.writers) != len(self.train_x):
                raise ValueError(f"{self.name}: writers must be one an image of train_x, got {len(self.writers)}")

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of an image."""
        return self.train_x.shape[1:]  # type: ignore[return-value]

    def describe(self) -> dict[str, Any]:
        """Name, sizes and shape, JSON-ready."""
        return {
            "name": self.name,
            "kind": "images",
            "train": len(self.train_x),
            "test": len(self.test_x),
            "shape": list(self.shape),
            "classes": self.classes,
        }


@dataclass(frozen=True)
class Table:
    """Labelled records of numbers; the pipeline splits them into folds.

    name: of the data set.   columns: names of the d columns, in order.
    x: float64, shape (n, d), finite, scaled to [-1, 1].   y: int64, shape (n,), -1 or +1.
    Raises ValueError, naming the part, for anything else, and for n = 0 or d = 0.
    """

    name: str
    x: NDArray[np.float64]
    y: NDArray[np.int64]
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_array(self.name, "x", self.x, np.float64, 2)
        if not self.x.size:
            raise ValueError(f"{self.name}: x must have at least one record and one column, got shape {self.x.shape}")
        if not (self.x.min() >= -1 and self.x.max() <= 1):  # a NaN fails too
            raise ValueError(f"{self.name}: x must lie in [-1, 1], got {self.x.min()!r} to {self.x.max()!r}")
        if len(self.columns) != self.x.shape[1]:
            raise ValueError(f"{self.name}: columns must name {self.x.shape[1]} columns, got {len(self.columns)} names")
        _check_array(self.name, "y", self.y, np.int64, 1)
        if len(self.y) != len(self.x) or not np.isin(self.y, (-1, 1)).all():
            raise ValueError(f"{self.name}: y must be -1 or +1, one a record, got {len(self.y)} from {set(self.y)}")

    def describe(self) -> dict[str, Any]:
        """Name and sizes, JSON-ready."""
        return {
            "name": self.name,
            "kind": "table",
            "records": len(self.x),
            "columns": self.x.shape[1],
            "positive": float(np.mean(self.y > 0)),
        }


def _check_classes(name: str, classes: int) -> None:
    if not isinstance(classes, int) or classes < 2:
        raise ValueError(f"{name}: classes must be a whole number >= 2, got {classes!r}")


def _check_array(name: str, part: str, values: Any, dtype: type[np.generic], dimensions: int) -> None:
    if not isinstance(values, np.ndarray) or values.dtype != dtype or values.ndim != dimensions:
        got = f"{values.dtype}, {values.ndim}" if isinstance(values, np.ndarray) else repr(values)
        raise ValueError(f"{name}: {part} must be an array of {dtype.__name__} with {dimensions} axes, got {got}")


def _check_labels(name: str, part: str, labels: Any, count: int, classes: int) -> None:
    _check_array(name, part, labels, np.int64, 1)
    if len(labels) != count:
        raise ValueError(f"{name}: {part} must have a label for each of {count} images, got {len(labels)}")
    if len(labels) and not (labels.min() >= 0 and labels.max() < classes):
        raise ValueError(f"{name}: {part} must be 0 .. {classes - 1}, got {labels.min()} to {labels.max()}")
