"""The probability that a record is in a sample, in logarithms, and the privacy loss that the sample leaves.

Of a loss L the sample leaves ln(1 - q + q e**L), see `subsampled_loss`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.loss import log_expm1
from ldp_audit.numerics import log1mexp, log_ratio


@dataclass(frozen=True)
class SamplingRate:
    """ln of the probability q that a record is drawn, and of 1 - q: neither gives the other to all digits."""

    log_drawn: float
    log_left_out: float

    @classmethod
    def of_chance(cls, rate: float) -> SamplingRate:
        """From a number in [0, 1]."""
        drawn = math.log(rate) if rate > 0 else -math.inf
        return cls(drawn, math.log1p(-rate) if rate < 1 else -math.inf)

    @classmethod
    def without_replacement(cls, n: int, k: int, rounds: int = 1) -> SamplingRate:
        """Drawn at least once when k of n records are drawn, afresh each round."""
        left_out = rounds * log_ratio(n - k, n) if k < n else -math.inf
        return cls(log_ratio(k, n) if rounds == 1 and k else log1mexp(left_out), left_out)

    @classmethod
    def with_replacement(cls, n: int, k: int, rounds: int = 1) -> SamplingRate:
        """Drawn at least once by k draws from n records, each from all of them, in each round."""
        left_out = rounds * k * log_ratio(n - 1, n) if n > 1 else (-math.inf if k else 0.0)
        return cls(log1mexp(left_out), left_out)

    def again(self, rate: SamplingRate) -> SamplingRate:
        """The rate of a sample of the sample: the product."""
        log_drawn = self.log_drawn + rate.log_drawn
        if log_drawn < -math.log(2):
            return SamplingRate(log_drawn, log1mexp(log_drawn))
        return SamplingRate(log_drawn, float(np.logaddexp(rate.log_left_out, rate.log_drawn + self.log_left_out)))

    @property
    def drawn(self) -> float:
        """q itself."""
        return math.exp(self.log_drawn)

    def subsampled(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln(1 - q + q e**L), right to a few units in the last place of itself, also for tiny q and L near 0.

        losses: nats, infinities too, any shape. For 0 < q < 1.
        """
        losses = np.asarray(losses, dtype=np.float64)
        near = self.drawn * np.expm1(np.minimum(losses, 0.0))
        below = np.where(
            near > -0.5, np.log1p(np.maximum(near, -0.5)), np.logaddexp(self.log_left_out, self.log_drawn + losses)
        )
        return np.where(losses > 0, np.logaddexp(0.0, log_expm1(losses) + self.log_drawn), below)

    def inverse(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse of `subsampled`; -inf at and below ln(1 - q), where there is none."""
        losses = np.asarray(losses, dtype=np.float64)
        lower = np.minimum(losses, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.where(lower < 0, np.expm1(lower) * np.exp(-self.log_drawn), 0.0)
        far = self.log_left_out - self.log_drawn + log_expm1(lower - self.log_left_out)
        below = np.where(near > -0.5, np.log1p(np.maximum(near, -0.5)), far)
        return np.where(losses > 0, np.logaddexp(0.0, log_expm1(losses) - self.log_drawn), below)
