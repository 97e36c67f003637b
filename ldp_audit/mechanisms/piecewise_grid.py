"""PM on a fixed grid: what can be sampled without showing the input in the low-order bits.

The outputs are `cells` numbers that do not depend on the input. An input places a window of `inner` neighbouring
cells; a cell in the window has probability a, any other b, with a / b a ratio of whole numbers of words, at most t.
The window's place is the input's position, rounded at random to one of its two neighbours, and the outputs are
spaced so that the mean is the input: unbiased on the grid as PM is on the line. A mixture of two windows has cell
probabilities between b and a, so the ratio of any two inputs is at most a / b.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.randomness import WORDS, log_ratio, rarer_words, words

_LARGEST = 70.0
"""Above this epsilon the grid is that of 70 nats: the implemented epsilon is then smaller than the claimed one."""


@dataclass(frozen=True)
class PiecewiseGrid:
    """inner: cells in the window, >= 1.   cells: all cells, > inner.   outside: words of 2**64 that leave it."""

    inner: int
    cells: int
    outside: int

    @classmethod
    def of(cls, epsilon: float, inner: int = 4096) -> PiecewiseGrid:
        """The grid of an epsilon: the window's share of the cells is PM's, 1/(s + 1), to the nearest cell."""
        kept = min(epsilon, _LARGEST)
        cells = inner + max(1, round(inner * math.exp(kept / 2)))
        return cls(inner, cells, rarer_words(kept, Fraction(cells - inner, inner)))

    def probabilities(self) -> tuple[Fraction, Fraction]:
        """a and b: of one cell in the window, and of one outside."""
        inside = Fraction(WORDS - self.outside, WORDS) / self.inner
        return inside, Fraction(self.outside, WORDS) / (self.cells - self.inner)

    def epsilon(self) -> float:
        """ln(a / b), exactly what `draw` implements."""
        return log_ratio((WORDS - self.outside) * (self.cells - self.inner), self.outside * self.inner)

    def spacing(self) -> Fraction:
        """Between neighbouring outputs: makes a step of the window a step of 2/(cells - inner) of the mean."""
        a, b = self.probabilities()
        return Fraction(2, self.cells - self.inner) / (self.inner * (a - b))

    def draw(self, x: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """One output for each input in [-1, 1]; shape of x."""
        start = self._starts(x, rng)
        leaves = words(rng, x.shape) < np.uint64(self.outside)
        inside = start + rng.integers(0, self.inner, size=x.shape)
        elsewhere = rng.integers(0, self.cells - self.inner, size=x.shape)
        elsewhere = np.where(elsewhere < start, elsewhere, elsewhere + self.inner)
        cell = np.where(leaves, elsewhere, inside)
        return (2 * cell - (self.cells - 1)) * (float(self.spacing()) / 2)

    def _starts(self, x: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
        """The window's first cell, rounded at random so that its mean is the input's position."""
        places = (x + 1) / 2 * (self.cells - self.inner)
        below = np.minimum(np.floor(places), self.cells - self.inner - 1)
        return below.astype(np.int64) + (rng.random(x.shape) < places - below)
