"""Whether a vector is one given vector, number for number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldp_audit.auditing.scores.score import read_numbers, written


@dataclass(frozen=True)
class Equals:
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

    def to_dict(self) -> dict[str, Any]:
        """See `Score`."""
        return {"kind": self.KIND, "vector": written(self.vector)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Equals:
        """See `Score`."""
        return cls(read_numbers(data.get("vector"), "equals' vector"))
