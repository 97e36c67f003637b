"""Whether a vector is one given vector, number for number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.said import digits, literal
from ldp_audit.auditing.scores.score import CODED, Score

_MOST_SHOWN = 24


@dataclass(frozen=True)
class Equals(Score):
    """1 for the vector itself, 0 for every other."""

    KIND: ClassVar[str] = "equals"
    TRUTH: ClassVar[bool] = True
    vector: tuple[float, ...]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        return (numbers == np.array(self.vector)).all(axis=1).astype(np.float64)

    def describe(self) -> str:
        """See `Score`."""
        shown = ",".join(map(digits, self.vector[:_MOST_SHOWN]))
        return f"[y = ({shown}{',...' if len(self.vector) > _MOST_SHOWN else ''})]"

    def says(self, intervals: Sequence[tuple[float, float]]) -> str | None:
        """See `Score`."""
        return None if any(low <= 0 < high for low, high in intervals) else self.describe()[1:-1]

    def source(self) -> tuple[list[str], str]:
        """See `Score`."""
        return CODED, f"[*map(coded, y)] == [{', '.join(map(literal, self.vector))}]"
