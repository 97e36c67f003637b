"""What every score offers."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import numpy as np


class Score(Protocol):
    """A function of an output that a confidence bound may be computed with, once it is fixed.

    A learner (`learn(first, second, rng)` on two samples, arrays of shape (n, d)) returns the scores it proposes; few,
    as each is tried. It must not fail on constant columns, on n = 1, on huge or infinite values.
    """

    KIND: ClassVar[str]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """numbers: float64, shape (n,) or (n, d).   returns: float64, shape (n,), without NaN."""
        ...

    def describe(self) -> str:
        """Short words for a witness, such as y[3]."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """For JSON: {"kind": KIND, ...} with plain numbers, text and lists."""
        ...

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """What `to_dict` wrote. Raises ValueError for anything else."""
        ...
