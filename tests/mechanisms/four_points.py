"""A value mechanism that somebody else might bring: nothing of it is known to the package."""

from __future__ import annotations

from typing import Any

import numpy as np


class FourPoints:
    """Inputs in [-1, 1]; reports +-5/2 with probability 3/10 (1 +- x/3) and +-25/12 with 1/5 (1 +- 3 x/5).

    Unbiased. Its privacy losses at the ends are +-ln 2 and +-ln 4: not those of a two-point mechanism.
    """

    outputs = np.array([2.5, -2.5, 25 / 12, -25 / 12])
    weights = np.array([0.3, 0.3, 0.2, 0.2])
    slopes = np.array([1 / 3, -1 / 3, 0.6, -0.6])

    def __repr__(self) -> str:
        return "FourPoints()"  # the same in every worker, for the tests' names

    def clip(self, x: Any) -> np.ndarray:
        return np.clip(np.asarray(x, dtype=float), -1.0, 1.0)

    def exact_epsilon(self) -> float:
        return float(np.log(4.0))

    def worst_pair(self) -> tuple[float, float]:
        return 1.0, -1.0

    def delta(self, epsilon: Any) -> np.ndarray:
        one, two = (np.exp(self.log_prob(self.outputs, x)) for x in self.worst_pair())
        return np.maximum(one - np.exp(np.asarray(epsilon))[..., None] * two, 0).sum(axis=-1)

    def log_prob(self, y: Any, x: Any) -> np.ndarray:
        shares = self.weights * (1 + self.slopes * np.asarray(x)[..., None])
        hit = np.asarray(y)[..., None] == self.outputs
        with np.errstate(divide="ignore"):
            return np.log(np.sum(np.where(hit, shares, 0.0), axis=-1))

    def mean(self, x: Any) -> np.ndarray:
        return np.asarray(x, dtype=float)

    def variance(self, x: Any) -> np.ndarray:
        return 0.6 * 6.25 + 0.4 * (25 / 12) ** 2 - np.asarray(x) ** 2

    def sample(self, x: Any, *, rng: Any) -> np.ndarray:
        shares = self.weights * (1 + self.slopes * np.asarray(x)[..., None])
        return self.outputs[(rng.random(np.shape(x))[..., None] > np.cumsum(shares, axis=-1)[..., :-1]).sum(axis=-1)]
