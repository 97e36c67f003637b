"""A pair of inputs of which bounds are known: a coarser channel, and outputs that only one input reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldp_audit.implementations.implementation_result import PairChannel


@dataclass(frozen=True)
class LowerBounds(PairChannel):
    """epsilon and delta are at least these; `counts` are those of a function of the output, which tells no more.

    So may be the counts of a binary channel at confidence limits, which the true one dominates with that confidence.
    """

    @property
    def exact(self) -> bool:
        """Never."""
        return False

    @property
    def epsilon(self) -> float:
        """The larger of what the counts and the exclusive outputs say."""
        coarse = 0.0 if self.counts is None else self.counts.epsilon
        return math.inf if self.exclusive else coarse

    def delta(self, epsilon: float) -> float:
        """The larger of what the counts and the exclusive outputs say."""
        if not epsilon >= 0:
            raise ValueError(f"epsilon must be a number >= 0, got {epsilon!r}")
        return max(self.share, 0.0 if self.counts is None else self.counts.delta(epsilon))

    def exceeds(self, epsilon: float, delta: float) -> bool:
        """Whether delta(epsilon) > delta for certain; False also where it is not known."""
        return self.share > delta or (self.counts is not None and self.counts.exceeds(epsilon, delta))
