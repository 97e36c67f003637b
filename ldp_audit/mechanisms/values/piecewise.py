"""The piecewise mechanism (PM): a density that is high on an interval around the input and low elsewhere.

Definition, with s = e**(epsilon/2), C = (s + 1)/(s - 1): an input x in [-1, 1] has the inner interval [l, r], l = (s x
- 1)/(s - 1), r = (s x + 1)/(s - 1), of length C - 1, inside [-C, C]. The density is p = s (s - 1)/(2 (s + 1)) on it and
p / e**epsilon on the rest of [-C, C].

Source: Wang et al. (ICDE 2019), Algorithm 2. A sampler that computes l + u (C - 1) in floats leaks the input through
low-order bits and has infinite epsilon; ours draws from a grid (`PiecewiseGrid`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.finite_precision import FinitePrecision
from ldp_audit.mechanisms.inputs import array_of, as_reports, clip, in_interval, numbers_of, report_dtype, single
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Losses, Mechanism
from ldp_audit.mechanisms.randomness import BITS, NumpySource, Source, rarer_words
from ldp_audit.mechanisms.short_words import MOST_CELLS, PLACES, Draw, Windows
from ldp_audit.mechanisms.variable import ROOT_T, Variable
from ldp_audit.numerics import log_ratio

INPUT = Variable("x", -1, 1)
REACH = (ROOT_T + 1) / (ROOT_T - 1)
"""C: reports lie in [-C, C]."""

_left, _right = (ROOT_T * INPUT - 1) / (ROOT_T - 1), (ROOT_T * INPUT + 1) / (ROOT_T - 1)
_high = ROOT_T * (ROOT_T - 1) / (2 * (ROOT_T + 1))
_low = (ROOT_T - 1) / (2 * ROOT_T * (ROOT_T + 1))

PIECEWISE = SymbolicChannel(
    "piecewise mechanism",
    inputs=INPUT,
    pieces=[(-REACH, _left, _low), (_left, _right, _high), (_right, REACH, _low)],
)


@dataclass(frozen=True)
class Piecewise(Mechanism):
    """Inputs in [-1, 1], outputs in [-C, C]; a sample has the shape and floating dtype of the inputs.

    Samples lie on a fixed grid (`PiecewiseGrid`), with PM's variance to a few parts in 10,000.

    epsilon: nats, > 0, finite. Raises ValueError for anything else.
    """

    epsilon: float

    parameters = (BUDGET,)
    example = FamilyExample(
        "Piecewise(epsilon=1)",
        "x: the input; s = e^(epsilon/2)",
        worst=((1, {}), (0, {})),
    )

    def reach(self) -> float:
        """C = (s + 1)/(s - 1) = 1/tanh(epsilon/4)."""
        return 1 / math.tanh(self.epsilon / 4)

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x and s = e**(epsilon/2)."""
        return PIECEWISE

    def losses(self) -> Losses:
        """epsilon, with probability t / (t + s): the inner intervals of the two endpoints are disjoint."""
        return Losses([self.epsilon], [-math.log1p(math.exp(-self.epsilon / 2))])

    def worst_pair(self) -> tuple[float, float]:
        """The two endpoints; their inner intervals are disjoint, so they also attain delta()."""
        return 1.0, -1.0

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs clipped to [-1, 1]. Shape and dtype of x."""
        return clip(x, -1.0, 1.0)

    def inner(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The inner interval (l, r); shape of x."""
        values, half = _inputs(x), self._inner_length() / 2
        return values - half * (1 - values), values + half * (1 + values)

    def breakpoints(self, x: Any) -> list[float]:
        """The endpoints of the inner interval and of the output range."""
        left, right = self.inner(single(x, self))
        return [-self.reach(), float(left), float(right), self.reach()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts; -inf outside [-C, C]."""
        given, (left, right) = numbers_of("y", y), self.inner(x)
        with np.errstate(over="ignore"):
            inside = np.abs(given) <= np.asarray(self.reach(), dtype=report_dtype(given))  # C as the dtype rounds it
        reports = given.astype(np.float64)
        high = self.epsilon / 2 + math.log(math.tanh(self.epsilon / 4) / 2)
        low = np.where(inside, high - self.epsilon, -np.inf)
        return np.where((reports >= left) & (reports <= right) & inside, high, low)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return _inputs(x)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x**2/(s - 1) + (s + 3)/(3 (s - 1)**2), at most 4 s/(3 (s - 1)**2), at the endpoints. Shape of x."""
        length = self._inner_length()  # 2/(s - 1); so (s + 3)/(s - 1)**2 is length/2 + length**2
        return np.asarray(_inputs(x) ** 2 * length / 2 + (length / 2 + length * length) / 3)[()]

    def implemented(self, bits: int = 64) -> PiecewiseGrid:
        """The finite-precision distribution that `sample` draws from. ValueError unless bits are 2..64."""
        return PiecewiseGrid.of(self.epsilon, bits)

    def _inner_length(self) -> float:
        """C - 1 = 2/(s - 1), without cancellation at large epsilon."""
        return 2 * math.exp(-self.epsilon / 2) / -math.expm1(-self.epsilon / 2)


def _inputs(x: ArrayLike) -> NDArray[np.float64]:
    return in_interval("x", array_of("x", x), -1, 1).astype(np.float64)


@dataclass(frozen=True)
class PiecewiseGrid(FinitePrecision):
    """The finite-precision PM, on a fixed grid, so that low-order bits do not depend on the input.

    The outputs are inner + outer equally spaced cells, symmetric about 0. An input selects a window of `inner` adjacent
    cells, and one word of `bits` bits selects the cell to report: `each` words lead to each cell outside the window,
    the others, in equal shares, to the cells of the window. `each` is 2**bits / (outer + inner t) rounded up to a
    multiple of `inner`, so the likelihood ratio of any two inputs is at most t, and the low-order bits of a word give
    an unbiased cell of the window.

    The input's position is rounded at random to one of two adjacent windows, and the spacing makes the mean the input.
    A mixture of two windows has cell probabilities between those of one window, so its ratio is at most t too. The
    rounding precedes the private step and need not be exact: it takes 15 bits, which leaves the mean within 2**-15 /
    outer of the input (for numpy arrays of float32, up to the rounding of a product).

    Where no integer keeps the ratio in [1, t] (few bits, or an epsilon below about 2**-60) every report is 0.

    inner: cells in the window, a power of two.   half: half the cells outside it.
    each: words that lead to each cell outside, a multiple of inner.   bits: word length, 2..64.
    The mechanism that always reports 0 has one inner cell and no others.
    Raises ValueError for other counts, and for those that give a cell in the window no more words than one outside.
    """

    inner: int
    half: int
    each: int
    bits: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", BITS.check(self.bits))
        counts, total = (self.inner, self.half, self.each), 2**self.bits
        powers = 1 <= self.inner < total and total % self.inner == 0 == self.each % self.inner
        if counts != (1, 0, 0) and not (powers and self.half >= 1 and 1 <= self.each * self.cells() < total):
            raise ValueError(f"inner, half, each must share out 2**{self.bits} words as documented, got {counts}")

    @classmethod
    def of(cls, epsilon: float, bits: int = 64) -> PiecewiseGrid:
        """The grid for an epsilon (nats, > 0) and `bits`-bit words. ValueError unless 2..64."""
        return cls(*_counts(epsilon, BITS.check(bits)), bits)

    def cells(self) -> int:
        """The number of outputs."""
        return self.inner + 2 * self.half

    def words_inside(self) -> int:
        """The number of words for each cell in the window."""
        return (2**self.bits - 2 * self.half * self.each) // self.inner

    def probabilities(self) -> tuple[Fraction, Fraction]:
        """The exact probabilities of one cell in the window and of one outside."""
        return Fraction(self.words_inside(), 2**self.bits), Fraction(self.each, 2**self.bits)

    def spacing(self) -> Fraction:
        """The distance of adjacent outputs: a step of the window is a step of 1 / half of the mean. 0 for one cell."""
        inside, outside = self.probabilities()
        return 1 / (self.half * self.inner * (inside - outside)) if self.half else Fraction(0)

    def outputs(self, cell: ArrayLike | None = None, dtype: Any = np.float64) -> NDArray[np.floating]:
        """The reports of the cells 0 .. cells() - 1, ascending, or of all; shape of `cell`.

        dtype: of the reports. The spacing is rounded to it (to float32 if it is narrower), and so is each report.
        """
        wide = np.float64 if dtype == np.float64 else np.float32
        centred = np.asarray(np.arange(self.cells()) if cell is None else cell) - (self.cells() - 1) / 2
        return (centred.astype(wide) * wide(float(self.spacing()))).astype(dtype)

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats: the log ratio of a cell's words inside and outside the window."""
        return log_ratio(self.words_inside(), self.each) if self.half else 0.0

    def reports(self) -> list[float]:
        """All reports, in float64."""
        return self.outputs().tolist()

    def worst_pair(self) -> tuple[float, float]:
        """The two endpoints, whose windows share the fewest cells."""
        return 1.0, -1.0

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
        """E[report | x]: x to within 2**-15 / outer; 0 if every report is 0. Shape of x."""
        near, way, weight = self._windows(x)
        return ((near + way * weight) / max(self.half, 1))[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x], the window's random rounding included. Shape of x."""
        mean, weight = self.mean(x), self._windows(x)[2]
        if not self.half:
            return np.zeros_like(weight)[()]
        (_, outside), step, cells = self.probabilities(), self.spacing(), self.cells()
        around = step**2 * outside * Fraction(cells * (cells**2 - 1), 12) + step * Fraction(
            self.inner**2 - 1, 12 * self.half
        )
        slope = step * self.half - 1  # coefficient of mean**2 in the variance
        rounding = float(step / self.half) * weight * (1 - weight)
        return (float(around) + float(slope) * mean**2 + rounding)[()]

    def draw(self, x: Any, source: Source) -> Any:
        """One report for each input."""
        xp = source.xp
        inside = in_interval("x", x, -1, 1, xp)
        as_reports(source.constant(self.outputs([0, self.cells() - 1]), xp.float64), inside, xp)
        return self._reports(self._cells_for(inside, source), inside, xp)

    def fits_blocks(self, dtype: Any) -> bool:
        """Whether `blocks` supports this dtype: 64-bit words, and few enough cells for exact float32 numbers."""
        return dtype in (np.float32, np.float64) and self.bits == 64 and self.half > 0 and self.cells() <= MOST_CELLS

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of up to `size` inputs, by short words, with the distribution of `draw`."""
        return Windows(self.inner, self.half, self.each, float(self.spacing())).blocks(dtype, size, source)

    def _cells_for(self, x: Any, source: Source) -> Any:
        """The cell that each input reports: words near 0 lead outside the window, `each` of them to each cell."""
        xp, half = source.xp, self.half
        place = xp.astype(x, xp.float64) * float(half)
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
        return xp.astype(xp.astype(centred, wide) * float(self.spacing()), dtype)

    def _windows(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The nearest window's position, the direction (+-1) of the next nearest one, and that one's probability."""
        places = in_interval("x", array_of("x", x), -1, 1).astype(np.float64) * self.half
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
            return np.zeros_like(y, dtype=np.float64), y == 0
        middle = (self.cells() - 1) / 2
        position = np.where(np.isfinite(y), y, 0.0).astype(np.float64) / float(self.spacing())
        cell = np.rint(np.clip(position, -middle, middle) + middle)
        return cell, self.outputs(cell, dtype) == y


@lru_cache(maxsize=256)
def _counts(epsilon: float, bits: int) -> tuple[int, int, int]:
    """inner, half and each, such that the window's share of the cells is nearest to PM's, 1/(s + 1).

    The window has up to 2**12 cells, for PM's variance to a few parts in 10,000; fewer if rounding `each` to a multiple
    of them would cost too much of epsilon. A word has probability 2**-bits, so the grid is the same for all epsilon
    above bits ln 2.
    """
    kept = min(epsilon, bits * math.log(2))
    enough = 2 ** (bits * 5 // 16) / min(1.0, kept)
    for finer in reversed(range(min(12, bits - 1) + 1)):
        inner = 2**finer
        half = max(1, round(inner * math.exp(kept / 2) / 2))
        lowest = rarer_words(kept, Fraction(2 * half, inner), 2 ** (bits - finer))
        each = 0 if lowest is None else -(-lowest // (2 * half)) * inner
        if each * (inner + 2 * half) < 2**bits and (each >= enough * inner or finer == 0 < each):
            return inner, half, each
    return 1, 0, 0
