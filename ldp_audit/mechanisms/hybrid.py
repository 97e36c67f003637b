r"""The hybrid mechanism (HM): the piecewise mechanism or the two-point mechanism, at random, whatever the input.

Definition: with probability alpha report by PM, else by Duchi's two points, both with the whole epsilon. alpha is
1 - e**(-epsilon/2) above epsilon* = 0.6094, and 0 up to there: then the worst-case variance is as small as can be.

Source: Wang et al. (ICDE 2019), the hybrid mechanism for one dimension.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Rational

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.clipping import clip
from ldp_audit.mechanisms.hybrid_words import HybridWords
from ldp_audit.mechanisms.inputs import array_of, in_interval, numbers_of
from ldp_audit.mechanisms.parameter import BUDGET, check_parameters
from ldp_audit.mechanisms.piecewise import INPUT, PIECEWISE, Piecewise
from ldp_audit.mechanisms.two_point import TwoPoint
from ldp_audit.mechanisms.variable import ROOT_T, Variable

MIXING = Variable("alpha", 0, 1, latex=r"\alpha")
"""The probability of PM."""

_point = (ROOT_T**2 + 1) / (ROOT_T**2 - 1)
_upper = Rational(1, 2) + INPUT / (2 * _point)

HYBRID = SymbolicChannel(
    "hybrid mechanism",
    inputs=INPUT,
    public=MIXING,
    atoms=[(_point, (1 - MIXING) * _upper), (-_point, (1 - MIXING) * (1 - _upper))],
    pieces=[(piece.lower, piece.upper, MIXING * piece.density) for piece in PIECEWISE.pieces],
)


@dataclass(frozen=True)
class Hybrid:
    """Inputs in [-1, 1]; outputs in [-C, C], two of which have mass of their own.

    epsilon: nats, > 0, finite. Raises ValueError for anything else.
    """

    epsilon: float

    parameters = (BUDGET,)

    def __post_init__(self) -> None:
        check_parameters(self)

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x, alpha and s = e**(epsilon/2)."""
        return HYBRID

    @staticmethod
    def threshold() -> float:
        """epsilon* = 2 ln s with 3 s**3 - s**2 + s - 7 = 0: below it PM is never used. Papers print 0.61."""
        root = math.sqrt(241)
        inner = math.cbrt(6353 - 405 * root) + math.cbrt(6353 + 405 * root)
        return math.log((2 * inner - 5) / 27)

    def mixing(self) -> float:
        """alpha, the probability of PM; it minimises the worst-case variance."""
        return -math.expm1(-self.epsilon / 2) if self.epsilon > self.threshold() else 0.0

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats, whatever alpha is."""
        return self.epsilon

    def worst_pair(self) -> tuple[float, float]:
        """The two ends."""
        return 1.0, -1.0

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs moved into [-1, 1]. Shape and dtype of x."""
        return clip(x, -1.0, 1.0)

    def is_atom(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Whether the report is one of the two points, where `log_prob` is a mass and not a density. Shape of y."""
        return np.isin(numbers_of("y", y).astype(np.float64), TwoPoint(self.epsilon).outputs())

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log mass of y at x where y is one of the two points (`is_atom`), else log density; broadcasts."""
        with np.errstate(divide="ignore"):
            mass = np.log(self._share_of_points()) + TwoPoint(self.epsilon).log_prob(y, x)
            density = np.log(self.mixing()) + Piecewise(self.epsilon).log_prob(y, x)
        return np.where(self.is_atom(y), mass, density)[()]

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """alpha times PM's plus (1 - alpha) times the two-point mechanism's: their outputs do not mix."""
        piecewise, two_point = Piecewise(self.epsilon).delta(epsilon), TwoPoint(self.epsilon).delta(epsilon)
        return np.asarray(self.mixing() * piecewise + self._share_of_points() * two_point)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return in_interval("x", array_of("x", x), -1, 1).astype(np.float64)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The mixture's: both means are x, so the variances mix; level in x above the threshold. Shape of x."""
        two_point = TwoPoint(self.epsilon).variance(x)
        if not self.mixing():  # where PM's may be infinite
            return two_point
        piecewise = Piecewise(self.epsilon).variance(x)
        return np.asarray(self.mixing() * piecewise + self._share_of_points() * two_point)[()]

    def implemented(self, bits: int = 64) -> HybridWords:
        """What a sampler with decisions of so many bits draws from, as a mechanism. ValueError unless 2..64."""
        return HybridWords(self, bits)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report per input; shape, floating dtype and device of x. Which mechanism reports is drawn without it.

        x: array or tensor, in [-1, 1].   rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Draws from `implemented()`, with an epsilon of at most the claimed one.
        """
        return self.implemented().sample(x, rng=rng)

    def _share_of_points(self) -> float:
        """1 - alpha, without its cancellation for large epsilon."""
        return math.exp(-self.epsilon / 2) if self.mixing() else 1.0
