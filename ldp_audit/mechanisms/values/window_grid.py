"""A density that is high on a window around the input and low elsewhere, on a fixed grid: the finite-precision sampler.

The piecewise mechanism and the square wave are such densities. A sampler that computes the end of the window plus a
uniform number times its length in floats leaks the input through low-order bits and has infinite epsilon; this one
draws from a grid that does not depend on the input.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.finite_precision import FinitePrecision
from ldp_audit.mechanisms.inputs import array_of, as_reports, in_interval, numbers_of, report_dtype
from ldp_audit.mechanisms.mechanism import Losses
from ldp_audit.mechanisms.randomness import BITS, NumpySource, Source, rarer_words
from ldp_audit.mechanisms.short_words import MOST_CELLS, PLACES, Draw, Windows
from ldp_audit.numerics import log_ratio


@dataclass(frozen=True)
class WindowGrid(FinitePrecision):
    """A density in two steps, in finite precision. A subclass defines `ends` and `spacing`.

    The outputs are inner + outer equally spaced cells, symmetric about the middle of the inputs. An input selects a
    window of `inner` adjacent cells, and one word of `bits` bits selects the cell to report: `each` words lead to
    each cell outside the window, the others, in equal shares, to the cells of the window. `each` is 2**bits /
    (outer + inner t) rounded up to a multiple of `inner`, so the likelihood ratio of any two inputs is at most t,
    and the low-order bits of a word give an unbiased cell of the window.

    The input's position is rounded at random to one of two adjacent windows, so that the mean is linear in the input.
    A mixture of two windows has cell probabilities between those of one window, so its ratio is at most t too. The
    rounding precedes the private step and need not be exact: it takes 15 bits, which leaves the window's place within
    2**-15 cells of the input's (for numpy arrays of float32, up to the rounding of a product).

    Where no integer keeps the ratio in [1, t] (few bits, or an epsilon below about 2**-60) every report is the middle.

    inner: cells in the window, a power of two.   half: half the cells outside it.
    each: words that lead to each cell outside, a multiple of inner.   bits: word length, 2..64.
    The mechanism that always reports the middle has one inner cell and no others.
    Raises ValueError for other counts, and for those that give a cell in the window no more words than one outside.
    """

    inner: int
    half: int
    each: int
    bits: int = 64

    ends: ClassVar[tuple[float, float]]
    """The least and the greatest input."""

    @abstractmethod
    def spacing(self) -> Fraction:
        """The distance of adjacent outputs."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", BITS.check(self.bits))
        counts, total = (self.inner, self.half, self.each), 2**self.bits
        powers = 1 <= self.inner < total and total % self.inner == 0 == self.each % self.inner
        if counts != (1, 0, 0) and not (powers and self.half >= 1 and 1 <= self.each * self.cells() < total):
            raise ValueError(f"inner, half, each must share out 2**{self.bits} words as documented, got {counts}")

    def middle(self) -> float:
        """The middle of the inputs, and of the outputs."""
        return sum(self.ends) / 2

    def cells(self) -> int:
        """The number of outputs."""
        return self.inner + 2 * self.half

    def words_inside(self) -> int:
        """The number of words for each cell in the window."""
        return (2**self.bits - 2 * self.half * self.each) // self.inner

    def probabilities(self) -> tuple[Fraction, Fraction]:
        """The exact probabilities of one cell in the window and of one outside."""
        return Fraction(self.words_inside(), 2**self.bits), Fraction(self.each, 2**self.bits)

    def gain(self) -> Fraction:
        """The distance of the means of two inputs whose windows are a cell apart."""
        inside, outside = self.probabilities()
        return self.spacing() * self.inner * (inside - outside)

    def outputs(self, cell: ArrayLike | None = None, dtype: Any = np.float64) -> NDArray[np.floating]:
        """The reports of the cells 0 .. cells() - 1, ascending, or of all; shape of `cell`.

        dtype: of the reports. The spacing is rounded to it (to float32 if it is narrower), and so is each report.
        """
        wide = np.float64 if dtype == np.float64 else np.float32
        centred = np.asarray(np.arange(self.cells()) if cell is None else cell) - (self.cells() - 1) / 2
        return (centred.astype(wide) * wide(float(self.spacing())) + wide(self.middle())).astype(dtype)

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats: the log ratio of a cell's words inside and outside the window."""
        return log_ratio(self.words_inside(), self.each) if self.half else 0.0

    def reports(self) -> list[float]:
        """All reports, in float64."""
        return self.outputs().tolist()

    def worst_pair(self) -> tuple[float, float]:
        """The two endpoints, whose windows share the fewest cells."""
        return self.ends[1], self.ends[0]

    def losses(self) -> Losses:
        """The implemented epsilon, with the probability of the cells in the first window only (worst by convexity)."""
        if not self.half:
            return Losses([], [])
        apart = min(self.inner, 2 * self.half) * self.probabilities()[0]
        return Losses([self.exact_epsilon()], [log_ratio(*apart.as_integer_ratio())])

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of y at x, nats; broadcasts; -inf off the support. ValueError for too narrow a dtype of y."""
        (cell, known), (near, way, weight) = self._cell_of(numbers_of("y", y)), self._windows(x)
        apart = cell - self.half - near
        share = np.where((apart >= 0) & (apart < self.inner), 1 - weight, 0.0)
        share = share + np.where((apart - way >= 0) & (apart - way < self.inner), weight, 0.0)
        low, high = (log_ratio(count, 2**self.bits) for count in (self.each or 1, self.words_inside()))
        inside, outside = (float(probability) for probability in self.probabilities())
        mixed = np.log(np.where((share > 0) & (share < 1), share * inside + (1 - share) * outside, 1.0))
        return np.where(known, np.where(share == 1, high, np.where(share == 0, low, mixed)), -np.inf)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x], up to the rounding of the window's place; the middle if every report is. Shape of x."""
        near, way, weight = self._windows(x)
        return (self.middle() + self._moved(near + way * weight))[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x], the window's random rounding included. Shape of x."""
        near, way, weight = self._windows(x)
        if not self.half:
            return np.zeros_like(weight)[()]
        (_, outside), step, cells, gain = self.probabilities(), self.spacing(), self.cells(), self.gain()
        around = step**2 * outside * Fraction(cells * (cells**2 - 1), 12) + step * gain * Fraction(
            self.inner**2 - 1, 12
        )
        slope = step / gain - 1  # coefficient of the mean's square in the variance
        rounding = float(step * gain) * weight * (1 - weight)
        return (float(around) + float(slope) * self._moved(near + way * weight) ** 2 + rounding)[()]

    def draw(self, x: Any, source: Source) -> Any:
        """One report for each input."""
        xp = source.xp
        inside = in_interval("x", x, *self.ends, xp)
        as_reports(source.constant(self.outputs([0, self.cells() - 1]), xp.float64), inside, xp)
        return self._reports(self._cells_for(inside, source), inside, xp)

    def fits_blocks(self, dtype: Any) -> bool:
        """Whether `blocks` supports this dtype: 64-bit words, and few enough cells for exact float32 numbers."""
        return dtype in (np.float32, np.float64) and self.bits == 64 and self.half > 0 and self.cells() <= MOST_CELLS

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of up to `size` inputs, by short words, with the distribution of `draw`."""
        windows = Windows(self.inner, self.half, self.each, float(self.spacing()), self.ends)
        return windows.blocks(dtype, size, source)

    def _cells_for(self, x: Any, source: Source) -> Any:
        """The cell that each input reports: words near 0 lead outside the window, `each` of them to each cell."""
        xp, half = source.xp, self.half
        place = self._place(xp.astype(x, xp.float64))
        near = xp.round(place)
        rounding = xp.astype(source.words(x.shape, 16) | 1, xp.float64) / PLACES
        start = xp.astype(near + xp.round(place - near + rounding), xp.int64)
        words = source.words(x.shape, self.bits)
        quotient = words // max(self.each, 1)
        outside = (quotient >= -half) & (quotient < half)
        cell = start + xp.where(outside, quotient, (words & (self.inner - 1)) + half)
        return xp.where(cell < 0, cell + self.cells(), cell)  # wraps around, to the right of the window

    def _reports(self, cell: Any, x: Any, xp: Any) -> Any:
        dtype = report_dtype(x, xp)
        wide = dtype if dtype in (xp.float32, xp.float64) else xp.float32
        centred = xp.astype(cell, xp.float64) - (self.cells() - 1) / 2
        return xp.astype(xp.astype(centred, wide) * float(self.spacing()) + self.middle(), dtype)

    def _place(self, x: Any) -> Any:
        """The window's place in cells, from -half to half, exactly so at the ends; x: float64."""
        return (x - self.middle()) * (2 * self.half / (self.ends[1] - self.ends[0]))

    def _moved(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """The distance of the mean from the middle, where the window's place is this."""
        return place / float(1 / self.gain()) if self.half else np.zeros_like(place)

    def _windows(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The nearest window's position, the direction (+-1) of the next nearest one, and that one's probability."""
        places = self._place(in_interval("x", array_of("x", x), *self.ends).astype(np.float64))
        near = np.rint(places)
        odd_numbers = PLACES // 2
        return near, np.sign(places - near), np.ceil(np.abs(places - near) * odd_numbers - 0.5) / odd_numbers

    def _cell_of(self, y: NDArray) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The cell that reports y, and whether there is one."""
        dtype = np.dtype(report_dtype(y))
        if self.cells() * np.finfo(dtype).eps > 1:
            raise ValueError(
                f"y has dtype {dtype}, which cannot tell the {self.cells()} outputs apart; use a wider one"
            )
        if not self.half:
            return np.zeros_like(y, dtype=np.float64), y == self.middle()
        last = (self.cells() - 1) / 2
        position = (np.where(np.isfinite(y), y, 0.0).astype(np.float64) - self.middle()) / float(self.spacing())
        cell = np.rint(np.clip(position, -last, last) + last)
        return cell, self.outputs(cell, dtype) == y


@lru_cache(maxsize=256)
def shared_out(epsilon: float, odds: float, bits: int) -> tuple[int, int, int]:
    """inner, half and each, such that there are about `odds` times as many cells outside the window as in it.

    epsilon: nats.   bits: 2..64. The window has up to 2**12 cells, for variances to a few parts in 10,000; fewer if
    rounding `each` to a multiple of them would cost too much of epsilon.
    """
    enough = 2 ** (bits * 5 // 16) / min(1.0, epsilon)
    for finer in reversed(range(min(12, bits - 1) + 1)):
        inner = 2**finer
        half = max(1, round(inner * odds / 2))
        lowest = rarer_words(epsilon, Fraction(2 * half, inner), 2 ** (bits - finer))
        each = 0 if lowest is None else -(-lowest // (2 * half)) * inner
        if each * (inner + 2 * half) < 2**bits and (each >= enough * inner or finer == 0 < each):
            return inner, half, each
    return 1, 0, 0
