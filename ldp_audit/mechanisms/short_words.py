"""Fast draws for numpy arrays: the distribution of 64-bit words, mostly decided by their first 16 bits.

A few passes of float arithmetic decide a block of inputs that fits the cache. Where the first 16 bits leave a
comparison undecided (about once in 2**15), the other 48 are drawn and compared as integers. Instead of a slow choice
between two arrays, a sign bit is extended to a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.inputs import in_interval, whole_numbers
from ldp_audit.mechanisms.randomness import NumpySource

BLOCK = 2**17
"""Values in a block: enough to make the overhead of its calls negligible."""

Draw = Callable[[NDArray, NDArray], None]
"""Checks a block of inputs, a flat array, and writes one report for each into another array of their dtype."""


def by_blocks(x: NDArray, make: Callable[[int], Draw]) -> NDArray:
    """One report for each input; shape and dtype of x.   make: maps a block's largest size to its `Draw`."""
    flat = np.ascontiguousarray(x).reshape(-1)
    out, draw = np.empty_like(flat), make(min(BLOCK, flat.size))
    for start in range(0, flat.size, BLOCK):
        draw(flat[start : start + BLOCK], out[start : start + BLOCK])
    return out.reshape(x.shape)[()]


SHORT = 2**48
"""The number of words with a given 16-bit prefix."""


@dataclass(frozen=True)
class TwoReports:
    """The higher of two reports where a word is below the input's threshold, else the lower.

    domain: of the inputs.   low, high: the reports, in the inputs' dtype.   center, scale: the threshold at x is scale
        (x - center), in units of 2**48.   error: a bound on its rounding error in this dtype.   thresholds: the exact
        ones, as signed words.
    """

    domain: tuple[float, float]
    low: NDArray
    high: NDArray
    center: float
    scale: float
    error: float
    thresholds: Callable[[NDArray], NDArray]

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of up to `size` inputs of this dtype.

        Where threshold - prefix - 1/2, in units of 2**48, is positive, the upper report is due; within 1/2 and the
        rounding error of 0, the prefix does not decide.
        """
        kind, integer = dtype.type, np.dtype(f"i{dtype.itemsize}")
        low, high = self.low.view(integer), self.high.view(integer)
        sign, opposite = 8 * dtype.itemsize - 1, low ^ high == np.iinfo(integer).min
        scale, domain = kind(self.scale), self.domain
        offset, open_within = kind(self.center * self.scale + 0.5), kind(0.5 + self.error)
        scratch = np.empty(size, dtype)

        def draw(x: NDArray, margin: NDArray) -> None:
            if not (x.min() >= domain[0] and x.max() <= domain[1]):
                in_interval("x", x, *domain)
            free, short = scratch[: x.size], source.short_words(x.size)
            np.copyto(free, short)
            np.multiply(x, scale, out=margin)
            np.subtract(margin, offset, out=margin)
            np.subtract(margin, free, out=margin)
            unsettled = np.flatnonzero(np.abs(margin, out=free) <= open_within)
            if unsettled.size:
                words = source.lengthened(short, unsettled)
                margin[unsettled] = np.where(words < self.thresholds(x[unsettled]), 1.0, -1.0)
            bits = margin.view(integer)
            if not opposite:  # the reports differ in more than the sign bit, which is set for the lower one
                np.right_shift(bits, sign, out=bits)
            np.bitwise_and(bits, low ^ high, out=bits)
            np.bitwise_xor(bits, high, out=bits)

        return draw


@dataclass(frozen=True)
class Labels:
    """Labels 0 .. k-1 on a circle; a word determines the report's turn, its distance behind the value.

    turns: of whole words, 1-k .. 0.   settled: for the prefixes -2**15 .. 2**15 - 1, the turn of all their words, or 1
        where these differ; int64, shape (2**16,).
    """

    k: int
    settled: NDArray[np.int64]
    turns: Callable[[NDArray], NDArray]

    def blocks(self, size: int, source: NumpySource) -> Draw:
        """Draws blocks of up to `size` values."""
        k, small = self.k, next(one for one in (np.int8, np.int16, np.int32, np.int64) if self.k <= np.iinfo(one).max)
        sign, whole_turn = 8 * np.dtype(small).itemsize - 1, small(k)
        table = np.roll(self.settled, 2**15).astype(small)  # indexed by the prefix as an unsigned number
        places, moves, labels = np.empty(size, np.intp), np.empty(size, small), np.empty(size, small)

        def draw(values: NDArray, out: NDArray) -> None:
            place, move, label = (scratch[: values.size] for scratch in (places, moves, labels))
            with np.errstate(invalid="ignore"):
                np.copyto(label, values, casting="unsafe")
            np.copyto(out, label, casting="unsafe")
            if not ((out == values).all() and label.view(f"u{label.itemsize}").max() < k):
                whole_numbers("x", values, 0, k - 1)  # raises the error
            short = source.short_words(values.size)
            np.copyto(place, short.view(np.uint16))
            np.take(table, place, out=move, mode="clip")
            unsettled = np.flatnonzero(move > 0)
            if unsettled.size:
                move[unsettled] = self.turns(source.lengthened(short, unsettled))
            np.add(label, move, out=label)
            np.right_shift(label, sign, out=move)  # all ones for negative labels, to which k is added
            np.bitwise_and(move, whole_turn, out=move)
            np.copyto(out, np.add(label, move, out=label), casting="unsafe")

        return draw


MOST_CELLS = 2**22
"""Most cells whose whole and half numbers float32 represents exactly."""

PLACES = 2**16
"""A window's position is rounded by comparison with an odd multiple of 1 / PLACES in (-1/2, 1/2)."""


@dataclass(frozen=True)
class Windows:
    """Reports on a grid of cells; an input between the ends favours a window of them (`values.window_grid`).

    Cells are counted exactly in float32, up to `MOST_CELLS`; decisions are exact, except that a word's quotient may be
    rounded where it is too large to matter.
    """

    inner: int
    half: int
    each: int
    spacing: float
    ends: tuple[float, float] = (-1.0, 1.0)

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of up to `size` inputs, float32 or float64."""
        cells = self.inner + 2 * self.half
        each, within, kind = np.int64(self.each), np.int64(self.inner - 1), dtype.type
        half, middle = np.float32(self.half), np.float32((cells - 1) / 2)
        around, spacing = np.float32(cells).view(np.int32), kind(self.spacing)
        low, high = self.ends
        centre, scale = kind((low + high) / 2), kind(2 * self.half / (high - low))
        quotients = np.empty(size, np.int64)
        starts, places, moves, signs = (np.empty(size, np.float32) for _ in range(4))

        def start_windows(x: NDArray, start: NDArray, rest: NDArray, place: NDArray, whole: NDArray) -> None:
            np.multiply(np.subtract(x, centre, out=place) if centre else x, scale, out=place)
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
            if not (x.min() >= low and x.max() <= high):
                in_interval("x", x, low, high)
            quotient = quotients[: x.size]
            start, cell, move, sign = (scratch[: x.size] for scratch in (starts, places, moves, signs))
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
            np.subtract(np.abs(sign, out=sign), half, out=sign)  # sign bit: outside the window
            _choose(_spread(sign), move, cell)
            np.add(cell, start, out=cell)
            np.copyto(sign, cell)
            np.bitwise_and(_spread(sign), around, out=sign.view(np.int32))
            np.add(cell, sign, out=cell)
            np.subtract(cell, middle, out=cell)
            np.multiply(cell, spacing, out=out)
            if centre:
                np.add(out, centre, out=out)

        return draw


def mixed(first: Draw, second: Draw, counted: int, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
    """Draws both reports, and selects the first with probability counted / 2**64, by 16 bits.

    If these are the prefix of the first word that selects the second report, the other 48 bits are drawn too.
    """
    start, integer = counted - 2**63, np.dtype(f"i{dtype.itemsize}")
    others, masks, chosen = np.empty(size, dtype), np.empty(size, integer), np.empty(size, np.bool_)

    def draw(x: NDArray, out: NDArray) -> None:
        first(x, out)
        second(x, others[: x.size])
        short, choice = source.short_words(x.size), chosen[: x.size]
        np.greater(short, np.int16(start >> 48), out=choice)
        unsettled = np.flatnonzero(short == np.int16(start >> 48))
        if unsettled.size:
            choice[unsettled] = source.lengthened(short, unsettled) >= start
        mask, other, report = masks[: x.size], others[: x.size].view(integer), out.view(integer)
        np.copyto(mask, np.negative(choice.view(np.int8)))  # all ones: the second report
        np.bitwise_xor(other, report, out=other)
        np.bitwise_and(other, mask, out=other)
        np.bitwise_xor(report, other, out=report)

    return draw


def _spread(sign: NDArray[np.float32]) -> NDArray[np.int32]:
    """All ones where the sign bit is set, else zeros; in place."""
    bits = sign.view(np.int32)
    return np.right_shift(bits, 31, out=bits)


def _choose(mask: NDArray[np.int32], first: NDArray[np.float32], second: NDArray[np.float32]) -> None:
    """The first where the mask is all ones, else the second; overwrites both arrays, the result is in the second."""
    one, other = first.view(np.int32), second.view(np.int32)
    np.bitwise_xor(one, other, out=one)
    np.bitwise_and(one, mask, out=one)
    np.bitwise_xor(other, one, out=other)
