"""Fast draws for numpy arrays and 64-bit words: the same reports as whole words give, from their first 16 bits.

A block of inputs stays in the cache, and a few passes of float arithmetic decide it; where the first 16 bits of a word
leave a comparison open (about once in 2**15), the other 48 are drawn and whole numbers decide. Instead of a choice
between two arrays, which would cost more than all else, a sign bit is spread over a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.inputs import in_interval, whole_numbers
from ldp_audit.mechanisms.randomness import NumpySource

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


SHORT = 2**48
"""Words that begin with the same 16 bits."""


@dataclass(frozen=True)
class TwoReports:
    """Of two reports the higher one, where a word is below the input's threshold.

    domain: of the inputs.   low, high: the reports, in the inputs' dtype.   center, scale: the threshold at the input x
    is scale (x - center), in units of 2**48.   error: a bound on its rounding in this dtype.   thresholds: of inputs,
    as signed words.
    """

    domain: tuple[float, float]
    low: NDArray
    high: NDArray
    center: float
    scale: float
    error: float
    thresholds: Callable[[NDArray], NDArray]

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of at most so many inputs of this dtype.

        In units of 2**48: a threshold less the short word, less 1/2, is positive where the upper report is due.
        Within half a unit of 0, and the rounding error, the short word leaves that open.
        """
        kind, integer = dtype.type, np.dtype(f"i{dtype.itemsize}")
        low, high = self.low.view(integer), self.high.view(integer)
        sign, opposite = 8 * dtype.itemsize - 1, low ^ high == np.iinfo(integer).min
        scale, ends = kind(self.scale), self.domain
        offset, open_within = kind(self.center * self.scale + 0.5), kind(0.5 + self.error)
        scratch = np.empty(size, dtype)

        def draw(x: NDArray, margin: NDArray) -> None:
            if not (x.min() >= ends[0] and x.max() <= ends[1]):
                in_interval("x", x, *ends)
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
            if not opposite:  # reports that differ in more than the sign bit, which is set where the lower one is due
                np.right_shift(bits, sign, out=bits)
            np.bitwise_and(bits, low ^ high, out=bits)
            np.bitwise_xor(bits, high, out=bits)

        return draw


@dataclass(frozen=True)
class Labels:
    """Labels 0 .. k-1 of whole words: `each` words lead to every wrong label.

    turns: how far the report lies behind the value, from whole words: 1-k .. 0, the words' quotients by `each` less
    `most`; 0 where the quotient is none of the k - 1 below `most`.
    """

    k: int
    each: int
    most: int
    turns: Callable[[NDArray], NDArray]

    def respond(self, values: NDArray, words: NDArray) -> NDArray:
        """The reports that these words lead to."""
        labels = values.astype(np.int64) + self.turns(words)
        return np.where(labels < 0, labels + self.k, labels).astype(values.dtype)

    def blocks(self, size: int, source: NumpySource) -> Draw:
        """Draws blocks of at most so many values, in the fastest way.

        Short words where they leave at most one quotient in 64 open; or else look at the few words that may lie.
        """
        if self.each >= 64 * SHORT:
            return self._by_short_words(size, source)
        if self.each * (self.k - 1) <= 2**58:
            return self._by_rare_lies(source)
        return lambda values, out: np.copyto(
            out, self.respond(whole_numbers("x", values, 0, self.k - 1), source.words(values.shape))
        )

    def _by_rare_lies(self, source: NumpySource) -> Draw:
        first = (self.most + 1 - self.k) * self.each // SHORT
        span = np.uint16((self.most * self.each - 1) // SHORT - first)

        def draw(values: NDArray, out: NDArray) -> None:
            np.add(whole_numbers("x", values, 0, self.k - 1), 0, out=out)  # -0.0 becomes 0.0
            short = source.short_words(values.size)
            at = np.flatnonzero((short - np.int16(first)).view(np.uint16) <= span)
            out[at] = self.respond(values[at], source.lengthened(short, at))

        return draw

    def _by_short_words(self, size: int, source: NumpySource) -> Draw:
        """The quotient, less 1/2, at the middle of a short word's range: the nearest whole number is the right one.

        It is left open where half the range, or the rounding error, reaches beyond a half. k is below 2**10 here, and
        the quotients that matter below 2 k, so the error of three float32 operations is below k 2**-21.
        """
        k, step = self.k, SHORT / self.each
        scale, offset = np.float32(step), np.float32(step / 2 - 0.5 - self.most)
        settled = np.float32(0.5 - step / 2 - (k + 1) * 2.0**-21)
        small = np.int8 if k <= np.iinfo(np.int8).max else np.int16
        sign, whole_turn = 8 * np.dtype(small).itemsize - 1, small(k)
        turns, nearest = np.empty(size, np.float32), np.empty(size, np.float32)
        moves, labels = np.empty(size, small), np.empty(size, small)

        def draw(values: NDArray, out: NDArray) -> None:
            at, near, move, label = (scratch[: values.size] for scratch in (turns, nearest, moves, labels))
            with np.errstate(invalid="ignore"):
                np.copyto(label, values, casting="unsafe")
            np.copyto(out, label, casting="unsafe")
            if not ((out == values).all() and label.view(f"u{label.itemsize}").max() < k):
                whole_numbers("x", values, 0, k - 1)  # says what is wrong
            short = source.short_words(values.size)
            np.copyto(at, short)
            np.multiply(at, scale, out=at)
            np.add(at, offset, out=at)
            np.clip(at, np.float32(-k), np.float32(0), out=at)
            np.rint(at, out=near)
            np.subtract(at, near, out=at)
            unsettled = np.flatnonzero(np.abs(at, out=at) >= settled)
            if unsettled.size:
                near[unsettled] = self.turns(source.lengthened(short, unsettled))
            np.copyto(move, near, casting="unsafe")
            np.add(label, move, out=label)
            np.right_shift(label, sign, out=move)  # all ones below 0: a whole turn is added
            np.bitwise_and(move, whole_turn, out=move)
            np.copyto(out, np.add(label, move, out=label), casting="unsafe")

        return draw


MOST_CELLS = 2**22
"""Cells that float32 counts exactly, in halves."""

PLACES = 2**16
"""What a window's place is rounded to is settled by an odd number of these parts of a cell, between -1/2 and 1/2."""


@dataclass(frozen=True)
class Windows:
    """Cells of a fixed grid, of which an input in [-1, 1] favours a window; see `ldp_audit.mechanisms.piecewise`.

    Cells are counted in float32, which holds whole and half numbers of up to `MOST_CELLS` exactly; no decision rounds.
    The word's quotient alone may be rounded, where it is too large to matter.
    """

    inner: int
    half: int
    each: int
    spacing: float

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of at most so many inputs, float32 or float64."""
        cells = self.inner + 2 * self.half
        each, within, kind = np.int64(self.each), np.int64(self.inner - 1), dtype.type
        half, middle = np.float32(self.half), np.float32((cells - 1) / 2)
        around, spacing = np.float32(cells).view(np.int32), kind(self.spacing)
        quotients = np.empty(size, np.int64)
        starts, places, moves, signs = (np.empty(size, np.float32) for _ in range(4))

        def start_windows(x: NDArray, start: NDArray, rest: NDArray, place: NDArray, whole: NDArray) -> None:
            np.multiply(x, kind(self.half), out=place)
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
            np.subtract(np.abs(sign, out=sign), half, out=sign)  # negative outside the window
            _choose(_spread(sign), move, cell)
            np.add(cell, start, out=cell)
            np.copyto(sign, cell)
            np.bitwise_and(_spread(sign), around, out=sign.view(np.int32))
            np.add(cell, sign, out=cell)
            np.subtract(cell, middle, out=cell)
            np.multiply(cell, spacing, out=out)

        return draw


def mixed(first: Draw, second: Draw, counted: int, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
    """Draws both reports, and 16 bits to choose between them: of 2**64 words, so many lead to the first.

    Where the 16 bits begin the first word that leads to the second report, the other 48 bits are drawn too.
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
        np.copyto(mask, np.negative(choice.view(np.int8)))  # all ones for the second
        np.bitwise_xor(other, report, out=other)
        np.bitwise_and(other, mask, out=other)
        np.bitwise_xor(report, other, out=report)

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
