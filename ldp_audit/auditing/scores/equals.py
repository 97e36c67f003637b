"""Whether a vector is one given vector, number for number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.score import Score


@dataclass(frozen=True)
class Equals(Score):
    """1 for the vector itself, 0 for every other."""

    KIND: ClassVar[str] = "equals"
    vector: tuple[float, ...]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        return (numbers == np.array(self.vector)).all(axis=1).astype(np.float64)

    def describe(self) -> str:
        """See `Score`."""
        shown = ", ".join(f"{number:.6g}" for number in self.vector[:8])
        return f"[y = ({shown}{', ...' if len(self.vector) > 8 else ''})]"
