"""How fine the last bit of a number is, range by range: what the noise's own grid leaves on the sum, wherever it lies.

Two inputs of one size leave the same grains, though not in the same places: near y = 1 the sum 1 + noise is as fine as
the double allows, and -1 + noise is as coarse as noise near 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ldp_audit.auditing.scores.floating_point import Grain

_RANGES = 16
_WIDTH = 4096  # above the number of grains
_LEAST = -1100  # below the grain of the smallest double


@dataclass(frozen=True)
class LocalGrain:
    """A whole number that says in which range a number lies, and log2 of the unit of its last bit that is set.

    edges: ascending; range i is [edges[i-1], edges[i]), the first and the last without end.
    """

    edges: tuple[float, ...]

    KIND: ClassVar[str] = "local grain"

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray) -> LocalGrain:
        """Ranges of equal shares of a pooled sample."""
        pooled = np.concatenate([first, second])
        pooled = pooled[np.isfinite(pooled)]
        shares = np.arange(1, _RANGES) / _RANGES
        return LocalGrain(tuple(np.unique(np.quantile(pooled, shares)).tolist()) if len(pooled) else ())

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        ranges = np.searchsorted(np.array(self.edges), numbers, side="right")
        return ranges * float(_WIDTH) + (Grain().of(numbers) - _LEAST)

    def in_words(self, intervals: tuple[tuple[float, float], ...]) -> str:
        """Intervals of this score as what they say of y: four at most, the others as a number."""
        ends = [-math.inf, *self.edges, math.inf]
        parts = []
        for low, high in intervals:
            least, most = max(0, low), min(len(ends) * _WIDTH, high)
            codes = math.ceil(least), math.ceil(most) - 1  # an end next to a whole number excludes, or includes, it
            for place in range(codes[0] // _WIDTH, min(codes[1] // _WIDTH, len(ends) - 2) + 1):
                first, last = (min(max(code - place * _WIDTH + _LEAST, -1074), 1024) for code in codes)
                grain = f"2**{first}" if first == last else f"2**{first} .. 2**{last}"
                parts.append(f"{ends[place]:.6g} <= y < {ends[place + 1]:.6g} with a last bit of {grain}")
        more = [f"{len(parts) - 4} more such ranges"] if len(parts) > 4 else []
        return " or ".join(parts[:4] + more)

    def describe(self) -> str:
        """See `Score`."""
        return f"{_WIDTH} * (which of {len(self.edges) + 1} ranges y is in) + {-_LEAST} + log2(last bit of y)"

    def to_dict(self) -> dict[str, Any]:
        """See `Score`."""
        return {"kind": self.KIND, "edges": list(self.edges)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """See `Score`."""
        return cls(tuple(map(float, data["edges"])))
