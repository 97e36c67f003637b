"""One coordinate of a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldp_audit.auditing.scores.learning import distance
from ldp_audit.auditing.scores.score import read_place

_TRIED = 3


@dataclass(frozen=True)
class Coordinate:
    """y[place], the place counted from 0."""

    KIND: ClassVar[str] = "coordinate"
    place: int

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[Coordinate]:  # noqa: ARG004
        """The few coordinates whose two samples lie furthest apart (Kolmogorov-Smirnov distance on a subsample)."""
        distances = [distance(first[:4000, place], second[:4000, place]) for place in range(first.shape[1])]
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
        return cls(read_place(data.get("place"), "coordinate's place"))
