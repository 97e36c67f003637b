"""LIBSVM's text format: a line for each record, `label index:value index:value ...`, indices from 1, ascending.

Values that are not written are 0. Labels are two classes, written +1 (or 1) and -1.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.data.text_lines import shown, text_lines

_DIGITS = 9
_LABELS = {"+1": 1, "1": 1, "-1": -1}


def read_libsvm(path: Path, width: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The records as a full matrix, shape (n, width), and their labels, shape (n,), -1 or +1.

    width: how many columns there are; a file need not name the last ones.
    Raises ValueError, naming the line, for anything that is not the format, an index beyond the width and a value
    beyond [-1, 1].
    """
    labels: list[int] = []
    ends: list[int] = [0]
    places: list[int] = []
    values: list[float] = []
    for where, line in text_lines(path):
        label, *pairs = line.split()
        if label not in _LABELS:
            raise ValueError(f"{where}: the label must be +1 or -1, got {shown(label)}")
        labels.append(_LABELS[label])
        last = 0
        for pair in pairs:
            last, value = _pair(pair, last, width, where)
            places.append(last - 1)
            values.append(value)
        ends.append(len(places))
    x = np.zeros((len(labels), width))
    x[np.repeat(np.arange(len(labels)), np.diff(ends)), places] = values
    return x, np.array(labels, dtype=np.int64)


def _pair(pair: str, last: int, width: int, where: str) -> tuple[int, float]:
    index, colon, value = pair.partition(":")
    if not colon:
        raise ValueError(f"{where}: after the label must come pairs index:value, got {shown(pair)}")
    if not (index.isdecimal() and len(index) <= _DIGITS and last < int(index) <= width):
        raise ValueError(
            f"{where}: an index must be a whole number above the one before ({last}) and at most {width}, "
            f"got {shown(pair)}"
        )
    try:
        number = float(value) if "_" not in value else math.nan
    except ValueError:
        number = math.nan
    if not -1 <= number <= 1:  # a NaN fails too
        raise ValueError(f"{where}: a value must be a number in [-1, 1], got {shown(pair)}")
    return int(index), number
