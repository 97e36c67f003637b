"""Permute-and-flip: in random order, each candidate is reported with probability e**(-epsilon gap / (2 sensitivity)).

The gap is that of a candidate's score to the largest, whose candidate is always accepted. Given the coins, the report
is uniform among the accepted candidates, so with coins of probability q_1, q_2, ...

    P(i) = q_i E[1 / (1 + heads among the others)] = q_i * integral over s in [0, 1] of prod over j != i of (1 - q_j s),

a polynomial, which Gauss's rule of n/2 points integrates exactly. It is the noisy maximum with exponential noise of
scale 2 sensitivity / epsilon (Ding et al. 2021).

Profile. For a set S of candidates let G(z) be the probability that the noisy maximum is in S if the scores outside
rise by z scales. Noise without memory, and all above a score, gives -G' <= min(G, 1 - G). Neighbours' sets differ by z
= epsilon at most, and the fastest decrease, -G' = min(G, 1 - G), is Laplace's. So no profile is above that of Laplace
noise, 1 - e**((e - epsilon)/2), and with two candidates (or others far behind) G is Laplace's distribution itself.

Sources: McKenna, Sheldon, "Permute-and-Flip: A New Mechanism for Differentially Private Selection" (NeurIPS 2020);
Ding, Kifer, Sayed, Steinke, Wang, Xiao, Zhang, "The Permute-and-Flip Mechanism is Identical to Report-Noisy-Max with
Exponential Noise" (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import roots_legendre
from sympy import Add, Integer, Mul, Rational
from sympy.utilities.iterables import subsets

from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import LaplaceLoss
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.log_space import excess, levels
from ldp_audit.mechanisms.mechanism import FamilyExample
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.selection.score_selection import ScoreSelection, below_each, fades
from ldp_audit.mechanisms.variable import T, Variable

MOST_SYMBOLS = 8
"""The most candidates whose definition is written out, as it has a term for each subset of the others."""


@dataclass(frozen=True, repr=False)
class PermuteAndFlip(ScoreSelection):
    """Inputs are scores, shape (..., candidates); the report is an index. See `ScoreSelection` for its neighbours.

    epsilon: nats, > 0, finite.   candidates: >= 2.   sensitivity, replaced: how far a record moves each score.
    Raises ValueError for anything else.
    """

    epsilon: float
    candidates: int
    sensitivity: float = 1.0
    replaced: float | None = None

    example = FamilyExample(
        "PermuteAndFlip(epsilon=1, candidates=3)",
        "q_i = e^(-epsilon g_i / (2 D)) for the candidate with a gap g_i to the largest score, that of candidate 0; "
        "scores of neighbours lie within D; t = e^epsilon",
        worst=((1, {"q_1": 1}), (1, {"q_1": 1 / T})),
    )

    def symbolic(self) -> SymbolicChannel:
        """The definition in the coins' q_1, q_2, ...; ValueError for more than 8 candidates."""
        if self.candidates > MOST_SYMBOLS:
            raise ValueError(f"candidates must be at most {MOST_SYMBOLS} for a definition in symbols, got {self!r}")
        coins = [Integer(1), *(Variable(f"q_{i}", 0, 1) for i in range(1, self.candidates))]
        return SymbolicChannel(
            f"permute-and-flip on {self.candidates} candidates",
            inputs=coins[1:],
            atoms=[(i, one * _first_among([*coins[:i], *coins[i + 1 :]])) for i, one in enumerate(coins)],
        )

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon, attained."""
        return self.epsilon

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Equal scores, and one candidate 2 sensitivities behind. They attain epsilon; other pairs have more delta."""
        behind = np.full(self.candidates, self.sensitivity)
        behind[-1] = -self.sensitivity
        return np.zeros(self.candidates), behind

    def log_law(self, gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """See base."""
        return first_heads(-gaps)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """(1 - e**((e - epsilon)/2))_+ at the level e, shape of `epsilon`, nats, >= 0.

        Exact: attained by two candidates of which one is (epsilon - e)/2 scales ahead, and (epsilon + e)/2 behind at
        the neighbour; approached with more candidates, as the others fall behind.
        """
        return excess(levels(epsilon) / 2, self.epsilon / 2)[()]

    def dominating(self) -> PairLoss:
        """See base: that of Laplace noise."""
        return LaplaceLoss(self.epsilon)

    def log_odds(self) -> float:
        """See base: of two candidates at a gap of epsilon/2 scales, the others far behind; 1 - q/2 against q/2."""
        return math.log1p(-math.exp(-self.epsilon / 2) / 2) + self.epsilon / 2 + math.log(2)

    def select(self, gaps: Any, width: int, source: Source) -> Any:
        """See base: uniform among those whose coin, of probability e**-(gap/t), is heads."""
        xp = source.xp
        heads = xp.reshape(fades(xp.reshape(gaps, (-1,)), width, source), gaps.shape)
        place = below_each(xp.sum(heads, axis=-1, dtype=xp.int64), source)
        passed = xp.cumulative_sum(heads, axis=-1, dtype=xp.int64)
        return xp.sum(passed <= place[:, None], axis=-1, dtype=xp.int64)


def first_heads(log_coins: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln of q_i times the integral over [0, 1] of the product of 1 - q_j s over j != i; shape (..., n) both.

    Gauss's rule is exact for the polynomial of degree n - 1, and all its terms are positive, so no digits cancel.
    """
    nodes, log_weights = _rule(log_coins.shape[-1])
    with np.errstate(under="ignore"):
        coins = np.exp(log_coins)
        found = np.full(log_coins.shape, -math.inf)
        for node, log_weight in zip(nodes, log_weights, strict=True):
            tails = np.log1p(-coins * node)
            found = np.logaddexp(found, log_weight + tails.sum(axis=-1, keepdims=True) - tails)
    return log_coins + found


@lru_cache(maxsize=8)
def _rule(n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Gauss's rule on [0, 1], exact up to degree n - 1: the points, and ln of the weights."""
    nodes, weights = roots_legendre((n + 1) // 2)
    return tuple(((nodes + 1) / 2).tolist()), tuple(np.log(weights / 2).tolist())


def _first_among(coins: list[Any]) -> Any:
    """E[1 / (1 + heads)]: the sum over subsets of (-1)**size / (size + 1) times the product of their coins."""
    return Add(*(Rational((-1) ** len(some), len(some) + 1) * Mul(*some) for some in subsets(coins)))
