"""Clipping as a separate step: its bias and its effect on privacy are claims of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import array_of


def clip(x: ArrayLike, low: float, high: float) -> NDArray:
    """The values clipped to [low, high]; shape and floating dtype of x. ValueError for NaN and non-real values."""
    values = array_of("x", x)
    if values.dtype.kind not in "fiu":
        raise ValueError(f"x must be real numbers, got dtype {values.dtype}")
    if np.any(np.isnan(values)):
        raise ValueError("x must not be NaN: it cannot be clipped")
    return np.clip(values, low, high)
