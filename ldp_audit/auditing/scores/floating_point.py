"""The score of a number's representation: its unit in the last place.

Floating-point addition leaks the summand through low-order bits. The last bit that is set of the double y = m 2**e, m
odd, is worth 2**e. Noise near 0 is finer than noise near 1, so that 0 + noise and 1 + noise, near 0, end in bits of
different places (Mironov, CCS 2012). Noise on a grid has no such trace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.learning import distance
from ldp_audit.auditing.scores.score import Score, decoded

_DIGITS = 53
_COARSE = 1024.0
"""e for 0 and for infinities: greater than that of any other double."""


_FINEST, _FINITE = -1074.0, 1023.0
"""e for the smallest double above 0, and for the greatest power of two."""


@dataclass(frozen=True)
class UnitInLastPlace(Score):
    """log2 of the unit of the last bit that is set, of a number or of the coordinate at `place`, counted from 0."""

    KIND: ClassVar[str] = "grain"
    place: int | None = None

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[UnitInLastPlace]:  # noqa: ARG004
        """One proposal, where the numbers do not all lie on a grid coarser than 2**-44 of their size.

        Of a vector: the coordinate whose units differ most between the samples (Kolmogorov-Smirnov distance).
        """
        if first.ndim == 1:
            return [UnitInLastPlace()] if _is_fine(first, second) else []
        places = [place for place in range(first.shape[1]) if _is_fine(first[:, place], second[:, place])]
        proposed = [UnitInLastPlace(place) for place in places]
        return sorted(proposed, key=lambda one: distance(one.of(first[:4000]), one.of(second[:4000])))[-1:]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        numbers = decoded(numbers if self.place is None else numbers[:, self.place])
        mantissa, exponent = np.frexp(numbers)
        known = np.isfinite(numbers) & (numbers != 0)
        whole = np.where(known, np.ldexp(np.where(known, mantissa, 0.5), _DIGITS), 1).astype(np.int64)
        bit = np.frexp((whole & -whole).astype(np.float64))[1] - 1
        return np.where(known, exponent - _DIGITS + bit, _COARSE).astype(np.float64)

    def says(self, intervals: Sequence[tuple[float, float]]) -> str | None:
        """See `Score`. A multiple of 2**k has a last bit of 2**k or more."""
        if len(intervals) != 1:
            return None
        (low, high), name = intervals[0], "y" if self.place is None else f"y[{self.place}]"
        least = None if low <= _FINEST else math.ceil(low)
        beyond = None if high > _COARSE else math.ceil(high)
        if least is None and beyond is None:
            return None
        if least is None:
            return f"{name} is not a multiple of 2**{beyond}"
        if least > _FINITE:
            return f"{name} is 0 or infinite"
        more = "" if beyond is None else f" and not of 2**{beyond}"
        return f"{name} is a multiple of 2**{least}{more}"

    def source(self) -> tuple[list[str], str]:
        """See `Score`."""
        name = "y" if self.place is None else f"y[{self.place}]"
        lines = [
            f"number = float({name})",
            f"last_bit = {_COARSE}  # log2 of it",
            "if number - number == 0 and number != 0:",
            "    over, under = number.as_integer_ratio()",
            "    last_bit = (over & -over).bit_length() - under.bit_length()",
        ]
        return lines, "last_bit"

    def describe(self) -> str:
        """See `Score`."""
        return f"log2(unit of the last bit of y{'' if self.place is None else f'[{self.place}]'})"


def _is_fine(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether these are floating-point numbers rather than those of a grid.

    Of doubles, one in twenty has a last bit below 2**-44 of its size. Of numbers that float32 holds, the last bits of
    the smaller half are finer than those of the larger; on a grid they are not.
    """
    sample = decoded(np.concatenate([first[:500], second[:500]]))
    sample = sample[np.isfinite(sample) & (sample != 0)]
    if len(sample) < 2:
        return False
    units = UnitInLastPlace().of(sample)
    if np.count_nonzero(np.frexp(sample)[1] - units > 44) > len(sample) // 20:
        return True
    with np.errstate(over="ignore"):
        single = np.all(sample.astype(np.float32) == sample)
    smaller = np.abs(sample) < np.median(np.abs(sample))
    return bool(single and smaller.any() and np.quantile(units[smaller], 0.05) < np.quantile(units[~smaller], 0.05))
