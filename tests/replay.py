"""Sources of randomness whose words a test has fixed beforehand, so that it can work out the reports itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldp_audit.mechanisms.randomness import NumpySource


class Drawn(NumpySource):
    """Draws whole words, keeps them, and hands out their beginnings where short ones are asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.default_rng(seed))
        self.whole: list[np.ndarray] = []
        self.short: list[np.ndarray] = []

    def words(self, shape: Sequence[int], bits: int = 64) -> np.ndarray:
        self.whole.append(super().words(shape, bits))
        return self.whole[-1].copy()

    def short_words(self, count: int) -> np.ndarray:
        self.short.append(super().words((count,)))
        return (self.short[-1] >> 48).astype(np.int16)

    def lengthened(self, short: np.ndarray, at: np.ndarray) -> np.ndarray:
        return self.short[-1][at]
