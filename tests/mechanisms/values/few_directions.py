"""A random source of which directions in the plane are those of a short list."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldp_audit.mechanisms.randomness import NumpySource


class FewDirections(NumpySource):
    """Directions at these angles, the words of which are drawn equally often; a third of all may not be used."""

    def __init__(self, seed: int, angles: np.ndarray) -> None:
        super().__init__(np.random.default_rng(seed))
        self.angles = np.round(angles / (math.pi * 2.0**-52) - 0.5).astype(np.int64)

    def words(self, shape: Any, bits: int = 64) -> np.ndarray:
        if bits == 62:  # of the length, which is 0 where the direction may not be used
            return np.where(self.rng.integers(0, 3, shape) > 0, -(2**60), 2**61 - 1)
        return self.angles[self.rng.integers(0, self.angles.size, shape)] if bits == 53 else super().words(shape, bits)
