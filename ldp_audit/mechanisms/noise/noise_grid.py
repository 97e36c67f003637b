"""The grid of additive noise: inputs are rounded to it at random, and all reports lie on it.

An input of `a` spacings is rounded to floor(a + U), U uniform on [0, 1): to one of its two neighbours, with its mean
kept. This costs no privacy: let the same U round two inputs a and b with |a - b| <= m, m whole. Then |floor(a + U) -
floor(b + U)| <= m, because floor is monotone and commutes with whole steps. So the reports' distributions are the same
mixture of pairs at most m steps apart, and its likelihood ratios and hockey-stick divergences are at most the largest
of these pairs'.

The inequality must hold for floats too, where a quotient by the spacing could exceed m by an ulp. So a spacing is a
whole number of cells, whose length is a power of two, by which floats are divided exactly. Inputs are rounded to cells
first, by comparing 53 random bits with the fraction, and then to spacings, in integers; the argument holds for each of
the two steps. The mean is kept to within 2**-53 cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import array_api_compat.numpy as numpy_namespace
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import array_of, as_reports, in_interval, numbers_of, require_arithmetic
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.numerics import whole

_MOST_CELLS = 2**62
"""Inputs lie within this many cells of 0, so that int64 holds all reports."""

_MOST_WHOLE = 2.0**52
"""Up to here inputs of integer dtypes are exact in float64."""

_LEAST = 2.0**-500
_MOST = 2.0**500
"""The least and the largest sampled scale: squares and quotients stay within the range of floats."""


def floor_log2(value: float) -> int:
    """The exponent of the largest power of two that is at most `value` > 0."""
    return math.frexp(value)[1] - 1


def require_moderate(name: str, value: float) -> None:
    """ValueError, naming the parameter, where its squares or quotients could overflow."""
    if not _LEAST <= value <= _MOST:
        raise ValueError(f"{name} must lie in 2**-500 .. 2**500 to be sampled, got {value!r}")


@dataclass(frozen=True)
class NoiseGrid:
    """The multiples of cells * 2**exponent.

    exponent: a whole number in -600 .. 600.   cells: a whole number in 1 .. 2**32. Raises ValueError for anything else.
    """

    exponent: int
    cells: int = 1

    def __post_init__(self) -> None:
        for name, value, low, high in (("exponent", self.exponent, -600, 600), ("cells", self.cells, 1, 2**32)):
            whole(value, name, low, high)

    @classmethod
    def dividing(cls, length: float, parts: int) -> NoiseGrid:
        """The grid whose spacing is length / parts, rounded up by a relative 2**-31 at most."""
        exponent = floor_log2(float(Fraction(length) / parts)) - 31
        cells = math.ceil(Fraction(length) / parts / Fraction(2) ** exponent)
        spare = (cells & -cells).bit_length() - 1  # a power of two moves to the cell's length
        return cls(exponent + spare, cells >> spare)

    def spacing(self) -> Fraction:
        """The distance of adjacent points."""
        return self.cells * Fraction(2) ** self.exponent

    def between(self, x: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The grid point below each input, in spacings, and the fraction of a spacing above it; shape of x.

        Raises ValueError for what is not real or is NaN, and for inputs too far from 0 (it names the range).
        """
        below, fraction = self._cells_of(array_of("x", x), numpy_namespace)
        step, inside = np.divmod(below, self.cells)
        return step, (inside + fraction) / self.cells

    def rounded(self, x: Any, source: Source) -> Any:
        """The inputs, rounded at random to grid points, in spacings; int64, shape of x. Errors as `between`."""
        xp = source.xp
        below, fraction = self._cells_of(x, xp)
        fresh = xp.astype(source.words(x.shape, 53), xp.float64)
        cells = below + xp.astype(fresh < fraction * 2.0**53 - 2.0**52, xp.int64)
        return cells if self.cells == 1 else (cells + source.below(self.cells, x.shape)) // self.cells

    def reports(self, steps: Any, x: Any, xp: Any) -> Any:
        """The grid points of these numbers of spacings, rounded to the dtype of x."""
        return as_reports(xp.astype(steps * self.cells, xp.float64) * math.ldexp(1.0, self.exponent), x, xp)

    def step_of(self, y: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The number of spacings of each report (float64), and whether it is on the grid; shape of y."""
        cells = numbers_of("y", y).astype(np.float64) * math.ldexp(1.0, -self.exponent)
        near = np.abs(cells) < 2.0**63
        step = np.rint(np.where(near, cells, 0.0) / self.cells).astype(np.int64)
        return step, near & ((step * self.cells).astype(np.float64) == cells)

    def _cells_of(self, x: Any, xp: Any) -> tuple[Any, Any]:
        """The input in cells: integer part, int64, and fraction, float64."""
        reach = math.ldexp(float(_MOST_CELLS), self.exponent)
        if xp.isdtype(x.dtype, ("real floating", "integral")):
            require_arithmetic("x", x)
            reach = min(reach, _MOST_WHOLE) if xp.isdtype(x.dtype, "integral") else reach
            x = xp.astype(x, xp.float64)
        scaled = in_interval("x", x, -reach, reach, xp) * math.ldexp(1.0, -self.exponent)
        below = xp.floor(scaled)
        return xp.astype(below, xp.int64), scaled - below
