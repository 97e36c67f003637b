"""FedSel's perturbed sampling (PS): an index of the top-k set with probability t k / (d - k + t k), else another.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 4 and Lemma 3. No index-symmetric selection of that epsilon
reports a member of the set more often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.log_space import excess, levels
from ldp_audit.mechanisms.parameter import BUDGET, check_parameters
from ldp_audit.mechanisms.ranking import (
    DIMENSION,
    SET_SIZE,
    TOP,
    furthest_sets,
    log_prob_by_status,
    require_proper_subset,
)
from ldp_audit.mechanisms.selection_words import SelectionWords
from ldp_audit.mechanisms.variable import T
from ldp_audit.mechanisms.weights import SymbolicWeights

_d, _k = DIMENSION.variable, TOP

PERTURBED_SAMPLING = SymbolicWeights(
    "perturbed sampling",
    [("an index of the set", _k, T / (_d - _k + T * _k)), ("an index outside", _d - _k, 1 / (_d - _k + T * _k))],
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

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in d, k and t = e**epsilon; `.at` puts sizes in."""
        return PERTURBED_SAMPLING

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
        inside = -math.log1p(math.exp(odds - self.epsilon)) - math.log(self.k)
        return inside, inside - self.epsilon

    def none_log_prob(self) -> float:
        """Log probability of no report: there always is one."""
        return -math.inf

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y, shape (...), at the set x, shape (..., d); broadcasts; -inf for None."""
        return log_prob_by_status(y, x, self.d, self.k, (*self.index_log_probs(), self.none_log_prob()))

    def implemented(self, bits: int = 64) -> SelectionWords:
        """What a sampler with decisions of so many bits draws from, as a mechanism. ValueError unless 2..64."""
        return SelectionWords(self, bits)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One index for each status vector; shape (..., d) to (...), int64, on the device of x.

        x: booleans, or whole numbers 0 and 1.   rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Draws from `implemented()`: decisions of 64 bits, with an epsilon of at most the claimed one.
        """
        return self.implemented().sample(x, rng=rng)
