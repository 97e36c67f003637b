"""M of a sum of independent losses: the product of theirs, as logarithms, each so many times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.transform import EPS, Transform, Values


@dataclass(frozen=True, eq=False)
class SummedTransform:
    """The `Transform` of the sum.   parts: each loss's, and how many times it counts."""

    parts: Sequence[tuple[Transform, int]]

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`; the sum's logarithm is exact to a few digits of itself more than its parts."""
        logs, errors = np.zeros(y.size, dtype=np.complex128), np.zeros(y.size)
        for one, times in self.parts:
            found = one.at(c, y)
            if found is None:
                return None
            logs += times * found.log
            errors += times * (found.error + (4 + len(self.parts)) * EPS * np.abs(found.log))
        return Values(logs, errors)

    def about(self, c: float) -> float:
        """See `Transform`."""
        found = math.fsum(times * one.about(c) for one, times in self.parts)
        return found if found == found else math.inf

    def log_limit(self, c: float) -> float:
        """See `Transform`."""
        return math.fsum(times * one.log_limit(c) for one, times in self.parts)

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`."""
        found = math.fsum(times * one.log_beyond(c, y) for one, times in self.parts)
        return found if found < math.inf else math.inf
