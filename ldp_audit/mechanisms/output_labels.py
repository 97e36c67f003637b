"""Labels of finitely many outputs (numbers, texts, or any hashable objects), and their positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERS = "bif"
"""The dtype kinds of numeric labels."""


def label_array(labels: Sequence[Any]) -> NDArray:
    """The labels as an array, shape (n,): bool, int64 or float64 if all are such numbers, texts, else objects."""
    kinds = (
        ((bool, np.bool_), np.bool_),
        ((int, np.integer), np.int64),
        ((int, float, np.number), np.float64),
        (str, str),
    )
    for accepted, dtype in kinds:
        if all(isinstance(label, accepted) and not isinstance(label, complex) for label in labels):
            try:
                return np.array(labels, dtype=dtype)
            except OverflowError:  # integers beyond int64 stay Python integers
                break
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects


def columns_of(y: Any, labels: Sequence[Any]) -> NDArray[np.int64]:
    """The position of each label among those given; len(labels) for an unknown one.

    y: a label, or an array or list of labels; a tuple is a single label.   returns: its shape.
    Floating numbers are compared in the dtype of y, to which a report may have been rounded.
    """
    if isinstance(y, tuple):
        return np.asarray(_place(y, labels))
    given, known = np.asarray(y) if not _holds_tuples(y) else label_array(y), label_array(labels)
    if given.dtype.kind in "biuf" and known.dtype.kind in NUMBERS:
        return _numeric_places(given, known)
    if given.dtype.kind != "O" and isinstance(y, list):
        given = np.asarray(y, dtype=object)  # numbers beside texts would have become texts
    found = [_place(label, labels) for label in given.ravel().tolist()]
    return np.array(found, dtype=np.int64).reshape(given.shape)


def _holds_tuples(y: Any) -> bool:
    return isinstance(y, list) and any(isinstance(label, tuple) for label in y)


def _place(label: Any, labels: Sequence[Any]) -> int:
    return labels.index(label) if label in labels else len(labels)


def _numeric_places(given: NDArray, known: NDArray) -> NDArray[np.int64]:
    dtype = given.dtype if given.dtype.kind == "f" else np.result_type(known, np.int64)
    order = np.argsort(known)
    ascending = known[order].astype(dtype)
    cast = given.astype(dtype)
    place = np.minimum(np.searchsorted(ascending, cast), len(known) - 1)
    same = (ascending[place] == cast) & ((cast < 0) == (given < 0))  # 2**64 - 1 as int64 is -1
    return np.where(same, order[place], len(known))
