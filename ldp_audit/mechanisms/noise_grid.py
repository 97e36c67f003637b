"""Additive noise on a grid: inputs are rounded to it, and all reports lie on it.

Rounding: an input of `a` spacings is moved to floor(a + U) of them, U uniform on [0, 1): to one of its two neighbours,
so that its mean is kept. It costs no privacy. Let the same U round two inputs a and b with |a - b| <= m, m whole. Then
|floor(a + U) - floor(b + U)| <= m, because floor is monotone and commutes with whole steps; so for each U the two noise
laws are at most m steps apart, and the reports' laws are the same mixture of such pairs. Ratios and hockey-stick
divergences of a mixture are at most the largest of its pairs'.

This must hold for floats too, in which a quotient by any spacing could be an ulp more than m. So a spacing is a whole
number of cells, and a cell's length is a power of two, by which floats are divided exactly. Inputs are rounded to cells
first, by a U of 53 bits that is compared with the fraction by a monotone rule, and then from cells to spacings, in
whole numbers; each of the two steps is as above. The mean is kept to within 2**-53 cells.
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

_MOST_CELLS = 2**62
"""Inputs lie within so many cells of 0, so that reports are counted in int64."""

_MOST_WHOLE = 2.0**52
"""Inputs of whole-number dtypes are exact in float64 up to here."""

_LEAST, _MOST = 2.0**-500, 2.0**500


def floor_log2(value: float) -> int:
    """The exponent of the largest power of two that is at most this; value > 0."""
    return math.frexp(value)[1] - 1


def require_moderate(name: str, value: float) -> None:
    """ValueError, naming the parameter, for one whose squares or quotients floats could not hold."""
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
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ValueError(f"{name} must be a whole number in {low}..{high}, got {value!r}")

    @classmethod
    def dividing(cls, length: float, parts: int) -> NoiseGrid:
        """The grid whose spacing is a `parts`-th of the length, rounded up by less than a 2**-31th."""
        exponent = floor_log2(float(Fraction(length) / parts)) - 31
        cells = math.ceil(Fraction(length) / parts / Fraction(2) ** exponent)
        spare = (cells & -cells).bit_length() - 1  # a power of two makes the cells larger instead
        return cls(exponent + spare, cells >> spare)

    def spacing(self) -> Fraction:
        """Between neighbouring points."""
        return self.cells * Fraction(2) ** self.exponent

    def between(self, x: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The grid point below each input, in spacings, and how much of a spacing lies between; shape of x.

        Raises ValueError for what is not real, and for inputs that are too far from 0 (it names the range) or NaN.
        """
        below, fraction = self._cells_of(array_of("x", x), numpy_namespace)
        step, inside = np.divmod(below, self.cells)
        return step, (inside + fraction) / self.cells

    def rounded(self, x: Any, source: Source) -> Any:
        """The inputs, rounded as the module describes, in spacings; int64, shape of x. Errors as `between`."""
        xp = source.xp
        below, fraction = self._cells_of(x, xp)
        fresh = xp.astype(source.words(x.shape, 53), xp.float64)
        cells = below + xp.astype(fresh < fraction * 2.0**53 - 2.0**52, xp.int64)
        return cells if self.cells == 1 else (cells + source.below(self.cells, x.shape)) // self.cells

    def reports(self, steps: Any, x: Any, xp: Any) -> Any:
        """The grid points of so many spacings, for these inputs; rounded to their dtype, the same for every input."""
        return as_reports(xp.astype(steps * self.cells, xp.float64) * math.ldexp(1.0, self.exponent), x, xp)

    def step_of(self, y: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Which grid point a report of float64 is, in spacings, and whether it is one; shape of y."""
        cells = numbers_of("y", y).astype(np.float64) * math.ldexp(1.0, -self.exponent)
        near = np.abs(cells) < 2.0**63
        step = np.rint(np.where(near, cells, 0.0) / self.cells).astype(np.int64)
        return step, near & ((step * self.cells).astype(np.float64) == cells)

    def _cells_of(self, x: Any, xp: Any) -> tuple[Any, Any]:
        """The input in cells: the whole number below it, int64, and the fraction, float64."""
        reach = math.ldexp(float(_MOST_CELLS), self.exponent)
        if xp.isdtype(x.dtype, ("real floating", "integral")):
            require_arithmetic("x", x)
            reach = min(reach, _MOST_WHOLE) if xp.isdtype(x.dtype, "integral") else reach
            x = xp.astype(x, xp.float64)
        scaled = in_interval("x", x, -reach, reach, xp) * math.ldexp(1.0, -self.exponent)
        below = xp.floor(scaled)
        return xp.astype(below, xp.int64), scaled - below
