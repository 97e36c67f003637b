"""Long numpy arrays, worked on in blocks that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

BLOCK = 2**17
"""Values in a block: enough that the calls for each block cost little beside it."""

Draw = Callable[[NDArray, NDArray], None]
"""Checks the inputs of one block, a flat array, and writes a report for each into another array of their dtype."""


def by_blocks(x: NDArray, way: Callable[[int], Draw]) -> NDArray:
    """One report for each input; shape and dtype of x.

    way: gives the function that draws blocks of at most so many values; it may keep scratch space for them.
    """
    flat = np.ascontiguousarray(x).reshape(-1)
    out, draw = np.empty_like(flat), way(min(BLOCK, flat.size))
    for start in range(0, flat.size, BLOCK):
        draw(flat[start : start + BLOCK], out[start : start + BLOCK])
    return out.reshape(x.shape)[()]
