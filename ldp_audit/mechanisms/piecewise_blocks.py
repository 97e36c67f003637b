"""The draw from PM's grid, for blocks of a numpy array: a few passes over arrays that stay in the cache.

Cells are counted in float32, which holds whole and half numbers of up to `MOST_CELLS` exactly; no decision rounds. The
word's quotient alone may be rounded, where it is too large to matter. Instead of a choice between two arrays, which
would cost more than all else, the sign bit of a difference is spread over a mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.blocks import Draw
from ldp_audit.mechanisms.inputs import in_interval
from ldp_audit.mechanisms.randomness import NumpySource

if TYPE_CHECKING:
    from ldp_audit.mechanisms.piecewise_grid import PiecewiseGrid

MOST_CELLS = 2**22
"""Cells that float32 counts exactly, in halves."""

PLACES = 2**16
"""What the window's place is rounded to is settled by an odd number of these parts of a cell, between -1/2 and 1/2."""


def draw_from_grid(grid: PiecewiseGrid, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
    """The function that draws blocks of at most so many inputs, float32 or float64, by the rule of `PiecewiseGrid`."""
    each, within, kind = np.int64(grid.each), np.int64(grid.inner - 1), dtype.type
    half, middle = np.float32(grid.half), np.float32((grid.cells() - 1) / 2)
    around, spacing = np.float32(grid.cells()).view(np.int32), kind(float(grid.spacing()))
    quotients = np.empty(size, np.int64)
    starts, cells, moves, signs = (np.empty(size, np.float32) for _ in range(4))

    def start_windows(x: NDArray, start: NDArray, rest: NDArray, place: NDArray, whole: NDArray) -> None:
        np.multiply(x, kind(grid.half), out=place)
        np.rint(place, out=whole)
        np.subtract(place, whole, out=place)
        np.copyto(start, whole, casting="same_kind")
        np.copyto(rest, place, casting="same_kind")

    def round_at_random(rest: NDArray, scratch: NDArray) -> None:
        short = source.short_words(rest.size)
        np.copyto(scratch, np.bitwise_or(short, 1, out=short))
        np.multiply(scratch, np.float32(1 / PLACES), out=scratch)
        np.add(rest, scratch, out=rest)
        np.rint(rest, out=rest)

    def draw(x: NDArray, out: NDArray) -> None:
        if not (x.min() >= -1 and x.max() <= 1):
            in_interval("x", x, -1, 1)
        quotient = quotients[: x.size]
        start, cell, move, sign = (scratch[: x.size] for scratch in (starts, cells, moves, signs))
        start_windows(x, start, cell, out, quotient.view(dtype)[: x.size])
        round_at_random(cell, sign)
        np.add(start, cell, out=start)
        words = source.words(x.shape)
        np.floor_divide(words, each, out=quotient)
        np.bitwise_and(words, within, out=words)
        np.copyto(move, quotient, casting="same_kind")
        np.copyto(cell, words, casting="same_kind")
        np.add(cell, half, out=cell)
        np.add(move, np.float32(0.5), out=sign)
        np.subtract(np.abs(sign, out=sign), half, out=sign)  # negative outside the window
        _choose(_spread(sign), move, cell)
        np.add(cell, start, out=cell)
        np.copyto(sign, cell)
        np.bitwise_and(_spread(sign), around, out=sign.view(np.int32))
        np.add(cell, sign, out=cell)
        np.subtract(cell, middle, out=cell)
        np.multiply(cell, spacing, out=out)

    return draw


def _spread(sign: NDArray[np.float32]) -> NDArray[np.int32]:
    """All ones where the sign bit is set, else zeros; in place."""
    bits = sign.view(np.int32)
    return np.right_shift(bits, 31, out=bits)


def _choose(mask: NDArray[np.int32], first: NDArray[np.float32], second: NDArray[np.float32]) -> None:
    """The first where the mask is all ones, else the second; written over the second, and the first is lost."""
    one, other = first.view(np.int32), second.view(np.int32)
    np.bitwise_xor(one, other, out=one)
    np.bitwise_and(one, mask, out=one)
    np.bitwise_xor(other, one, out=other)
