"""FedSel's EXP as it is sampled: whole weights for the ranks, and a uniform whole number below their sum.

The highest rank has the weight H, and rank i the weight H e**(-(d - i) epsilon / (d - 1)) rounded up. Only the extremes
decide about privacy: the lowest weight L is the least whole number with H / L <= e**epsilon, in exact arithmetic, and
those in between, which floats compute, are kept in [L, H] and in order. H is chosen so that the weights add up to at
most 2**bits (2**62 for more bits). Where not even H = 1 does (2**bits below d), every weight is 1: the index is then
uniform, whatever the input.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.randomness import BITS, log_ratio, source_of
from ldp_audit.mechanisms.ranking import log_prob_by_rank, require_ranking

if TYPE_CHECKING:
    from ldp_audit.mechanisms.exponential_selection import ExponentialSelection

_MOST_BITS = 62
"""`Source.below` draws below 2**62 at most."""


@dataclass(frozen=True)
class ExponentialSelectionWords:
    """What `ExponentialSelection.sample` draws from, exactly.

    mechanism: whose probabilities are rounded.   bits: of a drawn number, 2..64; 63 and 64 are as good as 62.
    Raises ValueError for anything else.
    """

    mechanism: ExponentialSelection
    bits: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", BITS.check(self.bits))

    def highest(self) -> int:
        """H: the weight of rank d."""
        bits = min(self.bits, _MOST_BITS)
        roundings = self.mechanism.d + 2 ** max(0, bits - 40)  # of the weights upwards, and of floats
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
        """The whole weights of rank 1 .. d, ascending; shape (d,)."""
        low, high = self.lowest(), self.highest()
        rounded = np.ceil(high * np.exp(self.mechanism.log_ratios_to_top())).astype(np.int64)
        weights = np.maximum.accumulate(np.clip(rounded, low, high))
        weights[0], weights[-1] = low, high
        return weights

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats, ln(H / L): at most the mechanism's."""
        return min(log_ratio(self.highest(), self.lowest()), self.mechanism.epsilon)

    def worst_pair(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A ranking and its reverse."""
        return self.mechanism.worst_pair()

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """sum over ranks of (w(i) - e**epsilon w(d+1-i))_+ / sum of w; shape of `epsilon`, nats, >= 0.

        The weights ascend, so the terms above 0 are those of the highest ranks, and their sums are whole numbers.
        """
        asked, weights, half = levels(epsilon), self.weights(), self.mechanism.d // 2
        ahead, behind = weights[::-1][:half], weights[:half]  # rank d, which the reversed ranking makes rank 1, first
        losses = np.log1p((ahead - behind) / behind)
        more, base = (np.concatenate([[0], np.cumsum(w)]) for w in (ahead - behind, behind))
        terms = np.searchsorted(-losses, -asked)  # the losses above the level
        found = (more[terms] - np.expm1(np.minimum(asked, 64.0)) * base[terms]) / weights.sum()  # no loss is above 64
        return np.where(asked < self.exact_epsilon(), np.maximum(0.0, found), 0.0)[()]

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y, shape (...), at the ranking x, shape (..., d); broadcasts; -inf for None."""
        weights = self.weights()
        return log_prob_by_rank(y, x, np.log(weights) - math.log(weights.sum()))

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One index for each ranking; see `ExponentialSelection.sample`.

        The drawn number falls into the share of one rank, and the coordinate of that rank is looked up.
        """
        source = source_of(rng)
        xp, ranks = source.xp, require_ranking(source.array("x", x), self.mechanism.d)
        ends = source.constant(np.cumsum(self.weights()), xp.int64)
        drawn = source.below(int(ends[-1]), ranks.shape[:-1])
        rank = xp.searchsorted(ends, drawn, side="right") + 1
        return xp.argmax(xp.astype(ranks == rank[..., None], xp.uint8), axis=-1)
