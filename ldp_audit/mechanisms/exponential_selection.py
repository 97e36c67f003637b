"""FedSel's exponential selection (EXP): report a coordinate with probability proportional to e**(rank epsilon/(d-1)).

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 2 and Lemma 1. The rank of the smallest magnitude is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Integer, Sum, oo

from ldp_audit.mechanisms.exponential_selection_words import ExponentialSelectionWords
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.parameter import BUDGET, check_parameters
from ldp_audit.mechanisms.ranking import DIMENSION, log_prob_by_rank
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights

STEP_RATIO = Variable("y", 1, oo, open="left")
"""e**(epsilon/(d-1)): the ratio of neighbouring ranks."""

_rank, _any, _d = Variable("i", 1, oo, integer=True), Variable("h", 1, oo, integer=True), DIMENSION.variable

EXPONENTIAL_SELECTION = SymbolicWeights(
    "exponential selection",
    [
        OutputClass(
            "the index of rank",
            Integer(1),
            STEP_RATIO**_rank / Sum(STEP_RATIO**_any, (_any, 1, _d)),
            (_rank, Integer(1), _d),
        )
    ],
)


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

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in d and y = e**(epsilon/(d-1)); `.at` puts d in and writes the ranks out."""
        return EXPONENTIAL_SELECTION

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon, between rank d and rank 1 (FedSel, Lemma 1)."""
        return self.epsilon

    def worst_pair(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A ranking and its reverse attain exact_epsilon() and delta()."""
        return np.arange(1, self.d + 1), np.arange(self.d, 0, -1)

    def rank_log_probs(self) -> NDArray[np.float64]:
        """Log probabilities of the coordinates of rank 1 .. d; shape (d,)."""
        return self.log_ratios_to_top() + self.top_log_prob()

    def log_ratios_to_top(self) -> NDArray[np.float64]:
        """Log ratios of the probabilities of rank 1 .. d to that of rank d: -epsilon .. 0; shape (d,)."""
        return -self._step() * np.arange(self.d - 1, -1, -1.0)

    def top_log_prob(self) -> float:
        """Log probability of the coordinate of rank d: (1 - 1/y) / (1 - y**-d), with y = e**(epsilon/(d-1))."""
        step = self._step()
        if step > 1:  # nearly 1, so that its logarithm is nearly 0
            return math.log1p(-math.exp(-step)) - math.log1p(-math.exp(-step * self.d))
        return math.log(math.expm1(-step) / math.expm1(-step * self.d))

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """sum over ranks of (P(i) - e**epsilon P(d+1-i))_+, the reversed ranking; shape of `epsilon`, nats, >= 0.

        The n highest ranks, those with (2i - d - 1) epsilon / (d - 1) above the level, have a term; it is a difference
        of two geometric sums: (1 - y**-n) (1 - e**(level - (d - n) epsilon / (d - 1))) / (1 - y**-d).
        """
        asked, step, d = levels(epsilon), self._step(), self.d
        with np.errstate(over="ignore"):  # a level far above epsilon leaves no rank
            ranks = np.clip(d - np.floor((asked / step + d + 1) / 2), asked < self.epsilon, d // 2)
        left = -np.expm1(np.minimum((asked - self.epsilon) + step * (ranks - 1), 0.0))  # exact just below epsilon
        return (np.expm1(-step * ranks) * left / math.expm1(-step * d) + 0.0)[()]

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y, shape (...), at the ranking x, shape (..., d); broadcasts; -inf for None."""
        return log_prob_by_rank(y, x, self.rank_log_probs())

    def implemented(self, bits: int = 64) -> ExponentialSelectionWords:
        """What a sampler with decisions of so many bits draws from, as a mechanism. ValueError unless 2..64."""
        return ExponentialSelectionWords(self, bits)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One index for each ranking; shape (..., d) to (...), int64, on the device of x.

        x: whole numbers.   rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Draws from `implemented()`, with an epsilon of at most the claimed one.
        """
        return self.implemented().sample(x, rng=rng)

    def _step(self) -> float:
        return self.epsilon / (self.d - 1)
