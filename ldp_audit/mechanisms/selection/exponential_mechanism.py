"""The exponential mechanism: report a candidate with probability proportional to e**(epsilon score / (2 sensitivity)).

Between neighbours each candidate's loss lies in an interval of length epsilon, so the mechanism has a bounded range.
The worst pair of range h = epsilon has the loss l with probability p, and l - h otherwise, p = (e**h - e**l)/(e**h -
1); the likeliest candidate against all others has every such l. Hence, by the best l = (h + e)/2,

    delta(e) = (e**(h/2) - e**(e/2))**2 / (e**h - 1).

This is the profile of a loss of density e**(l/2) / (4 sinh(h/2)) between -h and h, which dominates each pair.

Source: McSherry, Talwar, "Mechanism Design via Differential Privacy" (FOCS 2007); for the range Durfee, Rogers
(NeurIPS 2019), and Dong, Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms" (ICML
2020), Section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sympy import Add

from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.profile_loss import ProfileLoss
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import FamilyExample
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.selection.score_selection import ScoreSelection, fades
from ldp_audit.mechanisms.variable import Variable


@dataclass(frozen=True, repr=False)
class ExponentialMechanism(ScoreSelection):
    """Inputs are scores, shape (..., candidates); the report is an index. See `ScoreSelection` for its neighbours.

    epsilon: nats, > 0, finite.   candidates: >= 2.   sensitivity, replaced: how far a record moves each score.
    Raises ValueError for anything else.
    """

    epsilon: float
    candidates: int
    sensitivity: float = 1.0
    replaced: float | None = None

    example = FamilyExample(
        "ExponentialMechanism(epsilon=1, candidates=3)",
        "a_i = e^(-epsilon g_i / (2 D)) for the candidate with a gap g_i to the largest score, that of candidate 0; "
        "scores of neighbours lie within D",
        composed="epsilon, approached by a candidate of vanishing probability, and not attained",
    )

    def symbolic(self) -> SymbolicChannel:
        """The definition for this many candidates, in the weights a_1, a_2, ... relative to the likeliest one's."""
        weights = [Variable(f"a_{i}", 0, 1) for i in range(1, self.candidates)]
        return SymbolicChannel(
            f"exponential mechanism on {self.candidates} candidates",
            inputs=weights,
            atoms=[(i, weight / (1 + Add(*weights))) for i, weight in enumerate([1, *weights])],
        )

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon, a supremum that no pair attains."""
        return self.epsilon

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """One candidate against all others, likelier by e**(epsilon/2) than they are together, and the opposite.

        They attain delta(0); epsilon is only approached, and a larger level's delta has a pair of its own.
        """
        others = np.zeros(self.candidates)
        others[0] = self.scale() * math.log(self.candidates - 1)
        half = np.where(np.arange(self.candidates) == 0, 0.5, -0.5) * self.sensitivity
        return others + half, others - half

    def log_law(self, gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """See base: -gap - ln of the sum of e**-gap."""
        return -gaps - logsumexp(-gaps, axis=-1, keepdims=True)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """(1 - e**((e - epsilon)/2))_+**2 / (1 - e**-epsilon) at the level e, exact; shape of `epsilon`, nats."""
        short = -np.expm1(np.minimum((levels(epsilon) - self.epsilon) / 2, 0.0))
        return (short * short / -math.expm1(-self.epsilon) + 0.0)[()]

    def dominating(self) -> PairLoss:
        """See base."""
        return ProfileLoss(self)

    def log_odds(self) -> float:
        """See base: epsilon/2."""
        return self.epsilon / 2

    def select(self, gaps: Any, width: int, source: Source) -> Any:
        """See base. Candidates are proposed uniformly, and each is accepted with probability e**-(gap/t)."""
        xp, n = source.xp, gaps.shape[-1]
        found, flat = xp.zeros_like(gaps[:, 0]), xp.reshape(gaps, (-1,))
        waiting = xp.nonzero(found == 0)[0]
        while left := waiting.shape[0]:
            at_once = max(1, min(n, _AT_ONCE // left))
            proposed = source.below(n, (left, at_once))
            places = xp.reshape(waiting[:, None] * n + proposed, (-1,))
            accepted = xp.reshape(fades(flat[places], width, source), (left, at_once))
            first, done = xp.argmax(xp.astype(accepted, xp.uint8), axis=-1), xp.any(accepted, axis=-1)
            chosen = xp.reshape(proposed, (-1,))[xp.arange(left, device=device(first)) * at_once + first]
            found[waiting[done]] = chosen[done]
            waiting = waiting[~done]
        return found


_AT_ONCE = 4096
"""About as many proposals a round, as each round costs some calls however few rows wait."""
