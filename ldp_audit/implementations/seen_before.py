"""Whether a number is among the outputs of an earlier sample: what tells two inputs apart that share few outputs.

Where an input leads to M outputs, n of which were seen, a new one of its outputs is among them with probability about
n / M; an output of another input, only where the two share it. So the outputs need not be listed, nor understood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np


@dataclass(frozen=True, eq=False)
class SeenBefore:
    """1 where a number is among the first outputs, 2 where among the second, 3 where among both, else 0.

    first, second: ascending, each different, float64.
    """

    first: np.ndarray
    second: np.ndarray

    KIND: ClassVar[str] = "seen before"

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray) -> SeenBefore:
        """From a sample of each input, of which no event is chosen and no bound computed."""
        return SeenBefore(np.unique(first), np.unique(second))

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        return _among(numbers, self.first) + 2.0 * _among(numbers, self.second)

    def describe(self) -> str:
        """See `Score`."""
        return (
            f"(1 if y is among {len(self.first)} outputs of the first input that were seen before) + "
            f"(2 if among {len(self.second)} of the second)"
        )

    def to_dict(self) -> dict[str, Any]:
        """See `Score`."""
        return {"kind": self.KIND, "first": self.first.tolist(), "second": self.second.tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """See `Score`."""
        return cls(np.array(data["first"], dtype=np.float64), np.array(data["second"], dtype=np.float64))


def _among(numbers: np.ndarray, known: np.ndarray) -> np.ndarray:
    if not len(known):
        return np.zeros(len(numbers))
    places = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    return (known[places] == numbers).astype(np.float64)
