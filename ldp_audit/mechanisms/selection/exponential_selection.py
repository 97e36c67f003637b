"""FedSel's exponential selection (EXP): report a coordinate with probability proportional to e**(rank epsilon/(d-1)).

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 2 and Lemma 1. The rank of the smallest magnitude is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Integer, Sum, oo

from ldp_audit.losses.discrete_loss import symmetric_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.finite_precision import Thresholds, WholeWords
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Losses, Mechanism
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.selection.ranking import DIMENSION, log_prob_by_rank, require_ranking
from ldp_audit.mechanisms.variable import EPSILON, Variable
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights
from ldp_audit.numerics import log_ratio

STEP_RATIO = Variable("y", 1, oo, open="left")
"""e**(epsilon/(d-1)): the ratio of the probabilities of adjacent ranks."""

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

MOST_RANKS = 200_000
"""Most ranks above the middle whose losses are listed one by one."""
BLOCKS = 20_000
"""Blocks of ranks for more."""


@dataclass(frozen=True)
class ExponentialSelection(Mechanism):
    """Inputs are rankings: permutations of 1 .. d, ascending with the magnitude (from `ranking.ranking`).

    Whole numbers, shape (..., d); a sample is an index, int64 of shape (...).
    epsilon: nats, > 0, finite.   d: >= 2.   Raises ValueError for anything else.
    """

    epsilon: float
    d: int

    parameters = (BUDGET, DIMENSION)
    example = FamilyExample(
        "ExponentialSelection(epsilon=1, d=4)",
        "d: coordinates; i: a coordinate's rank by magnitude, 1 for the smallest; y = e^(epsilon/(d-1))",
        worst=((0, {"index": "last"}), (0, {"index": "first"})),
        exponents={STEP_RATIO: EPSILON / (DIMENSION.variable - 1)},
    )

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in d and y = e**(epsilon/(d-1)); `.at` with a number for d lists the ranks."""
        return EXPONENTIAL_SELECTION

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon, from rank d against rank 1 (FedSel, Lemma 1)."""
        return self.epsilon

    def pair_loss(self) -> PairLoss:
        """See base."""
        return selection_loss(self)

    def worst_pair(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A ranking and its reverse; they attain exact_epsilon() and delta()."""
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
        if step > 1:  # the probability is near 1 and its logarithm near 0
            return math.log1p(-math.exp(-step)) - math.log1p(-math.exp(-step * self.d))
        return math.log(math.expm1(-step) / math.expm1(-step * self.d))

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The sum over ranks of (P(i) - e**epsilon P(d+1-i))_+, P(d+1-i) of the reverse; shape of `epsilon`, nats, >=
        0.

        The n highest ranks, those with (2i - d - 1) epsilon' / (d - 1) > epsilon for the mechanism's epsilon',
        contribute a difference of two geometric sums: (1 - y**-n) (1 - e**(epsilon - (d - n) epsilon' / (d - 1))) / (1
        - y**-d).
        """
        asked, step, d = levels(epsilon), self._step(), self.d
        with np.errstate(over="ignore"):  # far above epsilon no rank contributes
            ranks = np.clip(d - np.floor((asked / step + d + 1) / 2), asked < self.epsilon, d // 2)
        left = -np.expm1(np.minimum((asked - self.epsilon) + step * (ranks - 1), 0.0))  # exact just below epsilon
        return (np.expm1(-step * ranks) * left / math.expm1(-step * d) + 0.0)[()]

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y, shape (...), at the ranking x, shape (..., d); broadcasts; -inf for None."""
        return log_prob_by_rank(y, x, self.rank_log_probs())

    def reports(self) -> Sequence[int]:
        """The indices 0 .. d-1."""
        return range(self.d)

    def implemented(self, bits: int = 64) -> FiniteSelection:
        """The finite-precision distribution that `sample` draws from. ValueError unless bits are 2..64."""
        return FiniteSelection(self, bits)

    def _step(self) -> float:
        return self.epsilon / (self.d - 1)


_MOST_BITS = 62
"""`Source.below` draws numbers below 2**62 at most."""


def selection_loss(mechanism: ExponentialSelection, most: int = MOST_RANKS, blocks: int = BLOCKS) -> PairLoss:
    """The loss of a ranking against its reverse, where rank i meets rank d + 1 - i.

    The j-th rank from the top has the loss (d + 1 - 2j) epsilon / (d - 1). Exact for d up to twice `most`; else
    enclosed by two losses on `blocks` blocks of adjacent ranks, or `most` if these are fewer. The lower loss merges a
    block to one output (post-processing); the upper one divides its masses between its two extreme losses such that
    both sums are kept ('connecting the dots', Doroshenko et al., PETS 2022), the larger one with the share e**h / (1 +
    e**h) for half-width h. Losses of a block span epsilon / `blocks`, and the two bounds differ by the square of that.
    """
    m, half = mechanism, mechanism.d // 2
    if half <= most:
        ahead = np.arange(m.d - 1, 0, -2)
        return symmetric_loss(m.epsilon * (ahead / (m.d - 1)), m.rank_log_probs()[::-1][:half])
    edges = np.linspace(0, half, min(blocks, most) + 1).astype(np.int64)
    start, width, step = edges[:-1], np.diff(edges), m.epsilon / (m.d - 1)
    together = np.log(np.expm1(-step * width) / math.expm1(-step)) if step else np.log(width)
    logs = m.top_log_prob() - step * start + together
    first, apart = m.d - 1 - 2 * start, width - 1  # a block's largest loss and half-width, in steps
    middle, top, bottom = (m.epsilon * (steps / (m.d - 1)) for steps in (first - apart, first, first - 2 * apart))
    share = -np.log1p(np.exp(-step * apart))
    upper = symmetric_loss(np.append(top, bottom), np.append(logs + share, logs + share - step * apart))
    return EnclosedLoss(symmetric_loss(middle, logs), upper)


@dataclass(frozen=True)
class FiniteSelection(WholeWords):
    """Exponential selection with integer weights: a uniform integer below their sum selects a rank.

    The highest rank has the weight H, and rank i the weight H e**(-(d - i) epsilon / (d - 1)) rounded up. Only the
    extremes matter for privacy: the lowest weight L is the least integer with H / L <= e**epsilon, in exact arithmetic;
    those in between, computed in floats, are kept in [L, H] and in order. H is chosen so that the weights add up to at
    most 2**bits (2**62 for more bits). If even H = 1 does not (2**bits < d), every weight is 1 and the index is
    uniform.
    """

    mechanism: ExponentialSelection

    def highest(self) -> int:
        """H: the weight of rank d."""
        bits = min(self.bits, _MOST_BITS)
        roundings = self.mechanism.d + 2 ** max(0, bits - 40)  # of weights to integers, and of floats
        return max(1, int((2**bits - roundings) * math.exp(self.mechanism.top_log_prob())))

    def lowest(self) -> int:
        """L: the weight of rank 1, the least that keeps H / L at or below e**epsilon."""
        if self.mechanism.epsilon > 100:  # H < e**100
            return 1
        with localcontext() as context:
            context.prec = 60
            share = self.highest() * (-Decimal(self.mechanism.epsilon)).exp() * (1 + Decimal(10) ** -50)
            return min(self.highest(), int(share.to_integral_value(ROUND_CEILING)))

    def weights(self) -> NDArray[np.int64]:
        """The integer weights of rank 1 .. d, ascending; shape (d,)."""
        low, high = self.lowest(), self.highest()
        rounded = np.ceil(high * np.exp(self.mechanism.log_ratios_to_top())).astype(np.int64)
        weights = np.maximum.accumulate(np.clip(rounded, low, high))
        weights[0], weights[-1] = low, high
        return weights

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats, ln(H / L): at most the mechanism's."""
        return min(log_ratio(self.highest(), self.lowest()), self.mechanism.epsilon)

    def losses(self) -> Losses:
        """The losses ln(w(i) / w(d + 1 - i)) of the higher ranks i, with probabilities w(i) / sum of w."""
        weights, half = self.weights(), self.mechanism.d // 2
        ahead, behind = weights[::-1][:half], weights[:half]
        losses, gains = np.log1p((ahead - behind) / behind), ahead > behind
        return Losses(losses[gains], np.log(ahead[gains]) - math.log(sum(weights.tolist())))

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The sum over ranks of (w(i) - e**epsilon w(d+1-i))_+ / sum of w; shape of `epsilon`, nats, >= 0."""
        asked, weights, half = levels(epsilon), self.weights(), self.mechanism.d // 2
        ahead, behind = weights[::-1][:half], weights[:half]  # by descending rank, and their ranks in the reverse
        losses = np.log1p((ahead - behind) / behind)
        more, base = (np.concatenate([[0], np.cumsum(w)]) for w in (ahead - behind, behind))
        terms = np.searchsorted(-losses, -asked)  # the number of losses above epsilon
        found = (more[terms] - np.expm1(np.minimum(asked, 64.0)) * base[terms]) / weights.sum()  # no loss is above 64
        return np.where(asked < self.exact_epsilon(), np.maximum(0.0, found), 0.0)[()]

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y, shape (...), at the ranking x, shape (..., d); broadcasts; -inf for None."""
        weights = self.weights()
        return log_prob_by_rank(y, x, np.log(weights) - math.log(weights.sum()))

    def draw(self, x: Any, source: Source) -> Any:
        """One index for each ranking: that of the rank whose share of the weights contains the drawn integer."""
        xp, ranks = source.xp, require_ranking(x, self.mechanism.d)
        rank = Thresholds(self.weights()).draw(source, ranks.shape[:-1]) + 1
        return xp.argmax(xp.astype(ranks == rank[..., None], xp.uint8), axis=-1)
