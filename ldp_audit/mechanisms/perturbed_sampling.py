"""FedSel's perturbed sampling (PS): an index of the top-k set with probability t k / (d - k + t k), else another.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 4 and Lemma 3. No index-symmetric selection of that epsilon
reports a member of the set more often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.log_space import excess, expit, levels
from ldp_audit.mechanisms.parameter import BUDGET, check_parameters
from ldp_audit.mechanisms.randomness import WORDS, log_ratio, rarer_words, require_generator, words
from ldp_audit.mechanisms.ranking import (
    DIMENSION,
    SET_SIZE,
    draw_members,
    furthest_sets,
    indices,
    is_member,
    require_proper_subset,
    require_status,
)


@dataclass(frozen=True)
class PerturbedSampling:
    """Inputs are status vectors of length d with exactly k ones; the report is an index.

    epsilon: nats, > 0, finite.   d: >= 2.   k: 1 .. d-1.   Raises ValueError for anything else.
    """

    epsilon: float
    d: int
    k: int

    parameters = (BUDGET, DIMENSION, SET_SIZE)

    def __post_init__(self) -> None:
        check_parameters(self)
        require_proper_subset(self.d, self.k)

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon (FedSel, Lemma 3)."""
        return self.epsilon

    def worst_pair(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Two sets that share as little as they can: they attain exact_epsilon() and delta()."""
        return furthest_sets(self.d, self.k)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """min(k, d-k) (t - e**epsilon)_+ / (d - k + t k); shape of `epsilon`, nats, >= 0."""
        inside, _ = self.index_log_probs()
        return (excess(levels(epsilon), self.epsilon) * min(self.k, self.d - self.k) * math.exp(inside))[()]

    def index_log_probs(self) -> tuple[float, float]:
        """Log probabilities of one index of the set, and of one outside it."""
        odds = math.log(self.d - self.k) - math.log(self.k)
        inside = math.log(expit(self.epsilon - odds)) - math.log(self.k)
        return inside, inside - self.epsilon

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y, shape (...), at the set x, shape (..., d); -inf for None."""
        chosen, status = indices(y, self.d), require_status(x, self.d, self.k)
        inside, outside = self.index_log_probs()
        return np.where(chosen < 0, -np.inf, np.where(is_member(chosen, status), inside, outside))[()]

    def sample(self, x: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """One index for each status vector; shape (..., d) to (...). Implemented epsilon at most the claimed one."""
        generator, status = require_generator(rng), require_status(x, self.d, self.k)
        leaves = words(generator, status.shape[:-1]) < np.uint64(self._leaving_words())
        return np.where(leaves, draw_members(~status, generator), draw_members(status, generator))

    def implemented_epsilon(self) -> float:
        """The exact epsilon of `sample`."""
        leaving = self._leaving_words()
        return log_ratio((WORDS - leaving) * (self.d - self.k), leaving * self.k)

    def _leaving_words(self) -> int:
        return rarer_words(self.epsilon, Fraction(self.d - self.k, self.k))
