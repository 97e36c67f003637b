"""FedSel's exponential selection (EXP): report a coordinate with probability proportional to e**(rank epsilon/(d-1)).

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 2 and Lemma 1. The rank of the smallest magnitude is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.parameter import BUDGET, check_parameters
from ldp_audit.mechanisms.randomness import log_ratio, require_generator
from ldp_audit.mechanisms.ranking import DIMENSION, indices

_TOP_WEIGHT = 2**40
"""The integer weight of the highest rank in the sampler; 2**20 ranks still add up to less than 2**63."""


@dataclass(frozen=True)
class ExponentialSelection:
    """Inputs are rankings: permutations of 1 .. d, ascending with the magnitude (`ranking.ranking` makes them).

    epsilon: nats, > 0, finite.   d: >= 2.   Raises ValueError for anything else.
    """

    epsilon: float
    d: int

    parameters = (BUDGET, DIMENSION)

    def __post_init__(self) -> None:
        check_parameters(self)

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon, between rank d and rank 1 (FedSel, Lemma 1)."""
        return self.epsilon

    def worst_pair(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A ranking and its reverse attain exact_epsilon() and delta()."""
        return np.arange(1, self.d + 1), np.arange(self.d, 0, -1)

    def rank_log_probs(self) -> NDArray[np.float64]:
        """Log probabilities of the coordinates of rank 1 .. d; shape (d,)."""
        below_top = -self._step() * np.arange(self.d - 1, -1, -1.0)
        return below_top - math.log(math.fsum(np.exp(below_top)))

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """sum over ranks of (P(i) - e**epsilon P(d+1-i))_+, the reversed ranking; shape of `epsilon`, nats, >= 0."""
        asked = levels(epsilon)
        logs = self.rank_log_probs()
        losses = self._step() * (2 * np.arange(1, self.d + 1) - self.d - 1)
        masses, losses = np.exp(logs[losses > 0]), losses[losses > 0]
        return np.array([math.fsum(masses * -np.expm1(np.minimum(e - losses, 0.0))) for e in asked.flat]).reshape(
            asked.shape
        )[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y, shape (...), at the ranking x, shape (..., d); -inf for None."""
        chosen, ranks = indices(y, self.d), self._rankings(x)
        shape = np.broadcast_shapes(chosen.shape, ranks.shape[:-1])
        chosen, ranks = np.broadcast_to(chosen, shape), np.broadcast_to(ranks, (*shape, self.d))
        rank = np.take_along_axis(ranks, np.maximum(chosen, 0)[..., None], axis=-1)[..., 0]
        return np.where(chosen < 0, -np.inf, self.rank_log_probs()[rank - 1])[()]

    def sample(self, x: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """One index for each ranking; shape (..., d) to (...).

        Ranks have integer weights, rounded up from 2**40 for the highest: the implemented epsilon is at most the
        claimed one, and a uniform whole number below their sum is unbiased.
        """
        generator, ranks = require_generator(rng), self._rankings(x)
        ends = np.cumsum(self._weights())
        drawn = generator.integers(0, int(ends[-1]), size=ranks.shape[:-1])
        rank = np.searchsorted(ends, drawn, side="right") + 1
        return np.argmax(ranks == np.asarray(rank)[..., None], axis=-1)

    def implemented_epsilon(self) -> float:
        """The exact epsilon of `sample`."""
        weights = self._weights()
        return log_ratio(int(weights[-1]), int(weights[0]))

    def _weights(self) -> NDArray[np.int64]:
        """Integer weights of rank 1 .. d, each but the top one rounded up."""
        shares = np.exp(-self._step() * np.arange(self.d - 1, -1, -1.0))
        weights = np.ceil(shares * _TOP_WEIGHT * (1 + 1e-15)).astype(np.int64)
        return np.minimum(weights, _TOP_WEIGHT)

    def _step(self) -> float:
        return self.epsilon / (self.d - 1)

    def _rankings(self, x: ArrayLike) -> NDArray[np.int64]:
        ranks = np.asarray(x)
        if ranks.dtype.kind not in "iu" or ranks.ndim == 0 or ranks.shape[-1] != self.d:
            raise ValueError(
                f"x must be whole numbers of shape (..., {self.d}), got {ranks.dtype} of shape {ranks.shape}"
            )
        if not np.array_equal(np.sort(ranks, axis=-1), np.broadcast_to(np.arange(1, self.d + 1), ranks.shape)):
            raise ValueError(f"x must be rankings, permutations of 1..{self.d}")
        return ranks.astype(np.int64)
