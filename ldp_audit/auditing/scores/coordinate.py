"""One coordinate of a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

_TRIED = 3


@dataclass(frozen=True)
class Coordinate:
    """y[place], the place counted from 0."""

    KIND: ClassVar[str] = "coordinate"
    place: int

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[Coordinate]:  # noqa: ARG004
        """The few coordinates whose two samples lie furthest apart (Kolmogorov-Smirnov distance on a subsample)."""
        distances = [_distance(first[:4000, place], second[:4000, place]) for place in range(first.shape[1])]
        return [Coordinate(int(place)) for place in np.argsort(distances)[::-1][:_TRIED]]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        return numbers[:, self.place]

    def describe(self) -> str:
        """See `Score`."""
        return f"y[{self.place}]"

    def to_dict(self) -> dict[str, Any]:
        """See `Score`."""
        return {"kind": self.KIND, "place": self.place}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Coordinate:
        """See `Score`."""
        place = data.get("place")
        if not isinstance(place, int) or isinstance(place, bool) or place < 0:
            raise ValueError(f"coordinate's place must be a whole number >= 0, got {place!r}")
        return cls(place)


def _distance(first: np.ndarray, second: np.ndarray) -> float:
    pooled = np.sort(np.concatenate([first, second]))
    below = np.searchsorted(np.sort(first), pooled, side="right") / len(first)
    other = np.searchsorted(np.sort(second), pooled, side="right") / len(second)
    return float(np.max(np.abs(below - other)))
