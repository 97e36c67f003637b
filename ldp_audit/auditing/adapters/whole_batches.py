"""Programs of many inputs at once: the one input, repeated, in batches of bounded size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.torch_tensors import as_numpy, is_tensor

_BATCH_VALUES = 2**20


def in_batches(draw: Callable[[int], Any], n: int, size: int) -> np.ndarray:
    """n outputs of a program whose input has so many numbers. draw(rows) gives an output for each of so many rows.

    returns: shape (n,) or (n, d).   Raises ValueError where there is not one output for each row.
    """
    most = max(1, _BATCH_VALUES // max(1, size))
    sizes = [min(most, n - first) for first in range(0, n, most)] or [0]
    parts = [as_rows(draw(rows), rows) for rows in sizes]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def as_rows(output: Any, rows: int) -> np.ndarray:
    """An output for each row, shape (rows,) or (rows, d), of an array or tensor; of a tuple, its parts side by side."""
    if isinstance(output, tuple | list) and output and all(_is_array(part) for part in output):
        return np.concatenate([as_rows(part, rows).reshape(rows, -1) for part in output], axis=1)
    array = as_numpy(output) if is_tensor(output) else np.asarray(output)
    if array.ndim == 0 or len(array) != rows:
        raise ValueError(
            f"{rows} inputs at once gave an output of shape {array.shape}; accepted: one for each along the first axis"
        )
    return array.reshape(rows, -1) if array.ndim > 2 else array


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or is_tensor(value)
