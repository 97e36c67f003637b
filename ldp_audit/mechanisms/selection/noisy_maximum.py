"""Report noisy maximum: the index of the largest score after independent noise of scale 2 sensitivity / epsilon.

With exponential noise this is permute-and-flip, with Gumbel noise the exponential mechanism. With Laplace noise, in
units of the scale, of density f and distribution function F,

    P(i) = integral of f(x - u_i) * product over j != i of F(x - u_j) dx,

whose integrand is a product of 1 - e**(u_j - x)/2 for scores below x and e**(x - u_j)/2 for those above.

Epsilon and profile with Laplace noise. For two candidates the difference of the noises exceeds z >= 0 with probability
G(z) = e**-z (2 + z)/4. The loss between neighbours rises to epsilon as a candidate falls behind, which no pair attains:
with two candidates, and so with more, the tight epsilon is epsilon. For two candidates the profile is the largest G(x)
- e**e G(x + epsilon). For more it is at most Laplace noise's own, 1 - e**((e - epsilon)/2), by the proof in
`permute_and_flip.py`, which Laplace noise satisfies too; the exponential mechanism's is no bound from three on.

Sources: Dwork, Roth, "The Algorithmic Foundations of Differential Privacy" (2014), Section 3.3; Ding, Kifer, Sayed,
Steinke, Wang, Xiao, Zhang, "The Permute-and-Flip Mechanism is Identical to Report-Noisy-Max with Exponential Noise"
(2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sympy import Integer, exp, oo

from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import LaplaceLoss
from ldp_audit.losses.profile_loss import ProfileLoss
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import FamilyExample, upper_profile
from ldp_audit.mechanisms.noise.laplace_noise import discrete_laplace
from ldp_audit.mechanisms.randomness import Source
from ldp_audit.mechanisms.selection.exponential_mechanism import ExponentialMechanism
from ldp_audit.mechanisms.selection.permute_and_flip import PermuteAndFlip, first_heads
from ldp_audit.mechanisms.selection.score_selection import ScoreSelection
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.mechanisms.weights import SymbolicWeights
from ldp_audit.numerics import root, shown

Noise = Literal["laplace", "exponential", "gumbel"]

MOST_INTEGRATED = 1000
"""The most candidates whose probabilities with Laplace noise are integrated."""

GAP = Variable("g", 0, oo)
"""The gap of two scores, in scales of the noise."""

_BEHIND = exp(-GAP) * (2 + GAP) / 4
TWO_CANDIDATES = SymbolicWeights(
    "noisy maximum of two scores", [("the higher score", Integer(1), 1 - _BEHIND), ("the other", Integer(1), _BEHIND)]
)


@dataclass(frozen=True, repr=False)
class NoisyMaximum(ScoreSelection):
    """Inputs are scores, shape (..., candidates); the report is an index. See `ScoreSelection` for its neighbours.

    epsilon: nats, > 0, finite.   candidates: >= 2.   sensitivity, replaced: how far a record moves each score.
    noise: "laplace", "exponential" or "gumbel", of scale 2 sensitivity / epsilon. Raises ValueError for anything else,
    and for the probabilities of more than 1,000 candidates with Laplace noise.
    """

    epsilon: float
    candidates: int
    sensitivity: float = 1.0
    noise: Noise = "laplace"
    replaced: float | None = None

    example = FamilyExample(
        "NoisyMaximum(epsilon=1, candidates=2)",
        "g: the gap of the two scores, in scales 2 D / epsilon of the noise; scores of neighbours lie within D",
        composed="epsilon, approached as a candidate falls behind, and not attained",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.noise, str) and self.noise in _FORMS):
            raise ValueError(f"noise must be one of {', '.join(map(repr, _FORMS))}, got {shown(self.noise)}")

    def form(self) -> ScoreSelection:
        """The selection with the same law that has no choice of noise."""
        return _FORMS[self.noise](self.epsilon, self.candidates, self.sensitivity, self.replaced)

    def symbolic(self) -> SymbolicChannel | SymbolicWeights:
        """The definition: with Laplace noise of two candidates, ValueError for more; else `form`'s."""
        return self.form().symbolic()  # type: ignore[attr-defined]

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """With Laplace noise two scores and their exchange, all others far behind: of two candidates they attain
        delta(0), and no pair attains epsilon. Else `form`'s.
        """
        return self.form().worst_pair()

    def log_law(self, gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """See base."""
        return self.form().log_law(gaps)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The profile, shape of `epsilon`, nats; with Laplace noise an upper bound for three candidates or more."""
        return self.form().delta(epsilon)

    def dominating(self) -> PairLoss:
        """See base."""
        return self.form().dominating()

    def log_odds(self) -> float:
        """See base."""
        return self.form().log_odds()

    def attains(self) -> bool:
        """See base."""
        return self.form().attains()

    def slack(self) -> int:
        """See base."""
        return self.form().slack()

    def select(self, gaps: Any, width: int, source: Source) -> Any:
        """See base."""
        return self.form().select(gaps, width, source)


@dataclass(frozen=True, repr=False)
class LaplaceMaximum(ScoreSelection):
    """`NoisyMaximum` with Laplace noise."""

    epsilon: float
    candidates: int
    sensitivity: float = 1.0
    replaced: float | None = None

    def symbolic(self) -> SymbolicWeights:
        """The definition, for two candidates."""
        if self.candidates > 2:
            raise ValueError(f"candidates must be 2 for a definition in symbols, got {self.candidates}")
        return TWO_CANDIDATES

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """See `NoisyMaximum`."""
        first = np.full(self.candidates, -self.sensitivity / 2 - _FLAT * self.scale())
        second = first.copy()
        first[:2], second[:2] = (
            (self.sensitivity / 2, -self.sensitivity / 2),
            (-self.sensitivity / 2, self.sensitivity / 2),
        )
        return first, second

    def log_law(self, gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """See base: integrals over pieces on which the integrand is entire, to 1e-13 of themselves."""
        if self.candidates > MOST_INTEGRATED:
            raise ValueError(
                f"candidates must be at most {MOST_INTEGRATED} for the probabilities with Laplace noise, got "
                f"{self.candidates}"
            )
        return np.reshape([_integrals(-row) for row in gaps], gaps.shape)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """See `NoisyMaximum` and the module."""
        asked = levels(epsilon)
        if self.candidates > 2:
            return upper_profile(LaplaceLoss(self.epsilon), epsilon)
        return np.reshape([_of_two(self.epsilon, float(level)) for level in asked.flat], asked.shape)[()]

    def dominating(self) -> PairLoss:
        """See base."""
        return LaplaceLoss(self.epsilon) if self.candidates > 2 else ProfileLoss(self)

    def log_odds(self) -> float:
        """See base: of two candidates at a gap of epsilon/2 scales, the others far behind; 1 - G against G."""
        log_behind = math.log(2 + self.epsilon / 2) - self.epsilon / 2 - math.log(4)
        return math.log1p(-math.exp(log_behind)) - log_behind

    def attains(self) -> bool:
        """See base: with two candidates."""
        return self.candidates == 2

    def slack(self) -> int:
        """2: noise on the grid is continuous noise, moved by one step at most, in either of two selections.

        Both have quantiles with floor(Z) <= discrete Z <= ceil(Z). So a candidate wins at most where it would with its
        score two steps higher, and at least where with its score two steps lower, relative to the others.
        """
        return 2

    def select(self, gaps: Any, width: int, source: Source) -> Any:
        """See base; of equal maxima the first."""
        return source.xp.argmax(discrete_laplace(width, gaps.shape, source) - gaps, axis=-1)


_FORMS: dict[str, Any] = {"laplace": LaplaceMaximum, "exponential": PermuteAndFlip, "gumbel": ExponentialMechanism}

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_FLAT = 40.0
"""Scales above a score from which its factor is 1, to 2e-18."""
_NEGLIGIBLE = 45.0
"""ln of the share of the smallest probability that is left out."""
_TOGETHER = 2**20
"""Numbers in one array."""


def _integrals(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln P(i) for scores in scales, the largest 0; shape (n,).

    Above 0 a polynomial in e**-x (`first_heads`). Below, h(x) = product of F(x - u_j), times r_i = f / F. Downwards
    from 0 the pieces end at the scores and are so short that the logarithm changes by less than 3, for which Gauss's
    rule of 16 points errs by less than 1e-15; far above the next score, and below all, exponentials in closed form.
    """
    n = len(scores)
    found = first_heads(scores[None] - math.log(2))[0]
    x, ends = 0.0, [*sorted(set(scores[scores < 0].tolist()), reverse=True), -math.inf]
    least = _factors(np.zeros(1), scores)[0][0] + scores.min() - math.log(2 * n) - _NEGLIGIBLE
    pieces = []
    for end in ends:
        while x > end:
            log_product, (log_ratios,) = _factors(np.array([x]), scores)
            log_h, above = float(log_product[0]), int(np.sum(scores >= x))
            if log_h < least:
                return _with_pieces(found, pieces, scores)
            if end == -math.inf:
                return _with_pieces(np.logaddexp(found, log_h - math.log(n)), pieces, scores)
            if x - end > _FLAT + 1:
                rates = np.where(scores >= x, above, above - 1)  # of h, and of h r_i where that decays
                length, x = x - end - _FLAT, end + _FLAT
                widths = [length if rate == 0 else -math.expm1(-rate * length) / rate for rate in rates.tolist()]
                found = np.logaddexp(found, log_h + log_ratios + np.log(widths))
                continue
            low = max(end, x - 1 / (1 + float(np.exp(log_ratios).sum())))
            pieces.append((low, x))
            x = low
    return found


def _with_pieces(
    found: NDArray[np.float64], pieces: list[tuple[float, float]], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """ln of e**found plus the integrals of h r_i over the pieces."""
    at_once = max(1, _TOGETHER // (16 * len(scores)))
    for first in range(0, len(pieces), at_once):
        low, high = np.array(pieces[first : first + at_once]).T
        half = (high - low)[:, None] / 2
        x, weights = (low[:, None] + half * (1 + _NODES)).ravel(), (half * _WEIGHTS).ravel()
        log_product, log_ratios = _factors(x, scores)
        parts = logsumexp(np.log(weights)[:, None] + log_product[:, None] + log_ratios, axis=0)
        found = np.logaddexp(found, parts)
    return found


def _factors(x: NDArray[np.float64], scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln h at each x, shape (m,), and ln of f / F of each score, shape (m, n)."""
    away = x[:, None] - scores
    with np.errstate(under="ignore"):
        above = np.log1p(-np.exp(-np.abs(away)) / 2)
    logs = np.where(away < 0, away - math.log(2), above)
    return logs.sum(axis=-1), np.where(away < 0, 0.0, -away - math.log(2) - logs)


def _of_two(epsilon: float, level: float) -> float:
    """The largest G(x) - e**level G(x + epsilon), where the densities' ratio is e**level.

    The density is e**-|z| (1 + |z|)/4. For x >= 0 the ratio gives 1 + x = epsilon / (e**(epsilon - level) - 1), and the
    difference is e**-x epsilon / (4 (1 + x + epsilon)).
    """
    if level >= epsilon:
        return 0.0
    if epsilon - level < _LARGE and (x := epsilon / math.expm1(epsilon - level) - 1) >= 0:
        return math.exp(-x) * epsilon / (4 * (1 + x + epsilon))

    def excess_loss(x: float) -> float:
        return 2 * x + (epsilon - level) + math.log1p(-x) - math.log1p(x + epsilon)

    x = root(excess_loss, -epsilon / 2, 0.0, xtol=1e-300)
    return 1 - math.exp(x) * (2 - x) / 4 - math.exp(level - x - epsilon) * (2 + x + epsilon) / 4


_LARGE = 700.0
"""Nats whose exponential is a float."""
