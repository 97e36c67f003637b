"""Clipping: a step of its own, because what it costs (bias) and what it gives (privacy) are claims to be checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import array_of


def clip(x: ArrayLike, low: float, high: float) -> NDArray:
    """Each value moved to the nearest one in [low, high]; shape and floating dtype of x.

    Raises ValueError for NaN, which no interval holds, and for what is no real number.
    """
    values = array_of("x", x)
    if values.dtype.kind not in "fiu":
        raise ValueError(f"x must be real numbers, got dtype {values.dtype}")
    if np.any(np.isnan(values)):
        raise ValueError("x must not be NaN: it cannot be clipped")
    return np.clip(values, low, high)
