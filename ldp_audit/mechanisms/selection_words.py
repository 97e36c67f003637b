"""FedSel's PS and PE as they are sampled: whole numbers of words for inside the set, outside it, and none.

Of W = 2**bits equally likely words, some report none (PE), whatever the input; L of the others leave the set, and the
rest stay in it. Then an index is drawn without bias among the k of the set, or the d - k outside it:

    P_in = (W - none - L) / (W k),   P_out = L / (W (d - k)),   P_None = none / W.

L is rounded up, so that P_in / P_out, which is the implemented epsilon, is at most the mechanism's. Where no L keeps
that ratio at 1 or above (few words, or a tiny epsilon) the index is uniform over all d, whatever the input.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.log_space import excess, levels
from ldp_audit.mechanisms.randomness import BITS, log_ratio, occurs, rarer_words, source_of
from ldp_audit.mechanisms.ranking import NONE, draw_members, log_prob_by_status, require_status

if TYPE_CHECKING:
    from ldp_audit.mechanisms.perturbed_encoding import PerturbedEncoding
    from ldp_audit.mechanisms.perturbed_sampling import PerturbedSampling


@dataclass(frozen=True)
class SelectionWords:
    """What `PerturbedSampling.sample` and `PerturbedEncoding.sample` draw from, exactly.

    mechanism: whose probabilities are rounded.   bits: of a word, 2..64. Raises ValueError for anything else.
    """

    mechanism: PerturbedSampling | PerturbedEncoding
    bits: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", BITS.check(self.bits))

    def none(self) -> int:
        """How many words report none."""
        return int(2**self.bits * math.exp(self.mechanism.none_log_prob()))

    def leaving(self) -> int | None:
        """How many words leave the set; None where the index ignores the input."""
        m = self.mechanism
        return rarer_words(m.exact_epsilon(), Fraction(m.d - m.k, m.k), 2**self.bits - self.none())

    def probabilities(self) -> tuple[Fraction, Fraction, Fraction]:
        """Of one index of the set, of one outside it, and of none; exact."""
        m, total, none, leaving = self.mechanism, 2**self.bits, self.none(), self.leaving()
        if leaving is None:
            return Fraction(total - none, total * m.d), Fraction(total - none, total * m.d), Fraction(none, total)
        inside = Fraction(total - none - leaving, total * m.k)
        return inside, Fraction(leaving, total * (m.d - m.k)), Fraction(none, total)

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats: at most the mechanism's exact_epsilon()."""
        inside, outside, _ = self.probabilities()
        ratio = inside / outside
        return min(log_ratio(ratio.numerator, ratio.denominator), self.mechanism.exact_epsilon())

    def worst_pair(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Two sets that share as little as they can."""
        return self.mechanism.worst_pair()

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """min(k, d-k) (P_in - e**epsilon P_out)_+; shape of `epsilon`, nats, >= 0."""
        m, inside = self.mechanism, float(self.probabilities()[0])
        return (excess(levels(epsilon), self.exact_epsilon()) * (min(m.k, m.d - m.k) * inside))[()]

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y (or None), shape (...), at the set x, shape (..., d); broadcasts."""
        inside, outside, none = (
            log_ratio(p.numerator, p.denominator) if p else -math.inf for p in self.probabilities()
        )
        return log_prob_by_status(y, x, self.mechanism.d, self.mechanism.k, (inside, outside, none))

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One index, or -1 for none, for each status vector; see the mechanism's `sample`."""
        source, (d, k) = source_of(rng), (self.mechanism.d, self.mechanism.k)
        status = require_status(source.array("x", x), d, k)
        xp, none, leaving = source.xp, self.none(), self.leaving()
        words = source.words(status.shape[:-1], self.bits)
        if leaving is None:
            chosen = source.below(d, words.shape)
        else:
            chosen = draw_members(status, k, ~occurs(words, none + leaving, self.bits), source)
        return xp.where(occurs(words, none, self.bits), xp.full_like(words, NONE), chosen)[()]
