"""The hybrid mechanism (HM): the piecewise mechanism or the two-point mechanism, at random, whatever the input.

Definition: with probability alpha report by PM, else by Duchi's two points, both with the whole epsilon. The worst-case
variance is least for alpha = 1 - e**(-epsilon/2) above epsilon* = 0.6094, and alpha = 0 below.

Of 2**bits words, alpha 2**bits rounded to the nearest integer choose PM. The rounding is the same for every input, so
it costs no privacy, and the mixture is known exactly.

Source: Wang et al. (ICDE 2019), the hybrid mechanism for one dimension.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Rational

from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.finite_precision import Thresholds, WholeWords
from ldp_audit.mechanisms.inputs import array_of, clip, in_interval, numbers_of, report_dtype
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import BUDGET, FamilyExample, Losses, Mechanism
from ldp_audit.mechanisms.randomness import NumpySource, Source
from ldp_audit.mechanisms.short_words import Draw, mixed
from ldp_audit.mechanisms.values.piecewise import INPUT, PIECEWISE, Piecewise, PiecewiseGrid
from ldp_audit.mechanisms.values.two_point import FiniteTwoPoint, TwoPoint
from ldp_audit.mechanisms.variable import ROOT_T, Variable
from ldp_audit.numerics import log_ratio

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
class Hybrid(Mechanism):
    """Inputs in [-1, 1]; reports in [-C, C], two of them atoms; a sample has the shape and floating dtype of x.

    epsilon: nats, > 0, finite. Raises ValueError for anything else.
    """

    epsilon: float

    parameters = (BUDGET,)
    example = FamilyExample(
        "Hybrid(epsilon=1)",
        "x: the input; alpha: the probability of PM; s = e^(epsilon/2)",
        worst=((3, {}), (2, {})),
    )

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in x, alpha and s = e**(epsilon/2)."""
        return HYBRID

    @staticmethod
    def threshold() -> float:
        """epsilon* = 2 ln s with 3 s**3 - s**2 + s - 7 = 0, up to which PM is not used. Papers print 0.61."""
        root = math.sqrt(241)
        inner = math.cbrt(6353 - 405 * root) + math.cbrt(6353 + 405 * root)
        return math.log((2 * inner - 5) / 27)

    def mixing(self) -> float:
        """alpha, the probability of PM, which minimises the worst-case variance."""
        return -math.expm1(-self.epsilon / 2) if self.epsilon > self.threshold() else 0.0

    def losses(self) -> Losses:
        """epsilon, with the mixture of both parts' probabilities, as their outputs are disjoint."""
        parts = ((self.mixing(), Piecewise(self.epsilon)), (self._share_of_points(), TwoPoint(self.epsilon)))
        return Losses([self.epsilon], [math.log(sum(share * math.exp(m.losses().log_probs[0]) for share, m in parts))])

    def blanket(self) -> Blanket:
        """See base; of the two points, R_x/w is a mixture of that of the ends, and so the ends are worst in both parts.

        The sizes are those of the parts in units of the low probability or density.
        """
        share = self.mixing() * math.exp(-self.epsilon / 2)  # of PM, times its low density
        only = share * expit(-self.epsilon / 2) + self._share_of_points() * expit(-self.epsilon)
        found = Blanket.of_two_levels(self.epsilon, 0.0, only, share * math.tanh(self.epsilon / 4))
        # of the ends and of 0
        parts = ((self.mixing(), Piecewise(self.epsilon)), (self._share_of_points(), TwoPoint(self.epsilon)))
        laws = [part * mechanism.blanket().laws for part, mechanism in parts if part]
        return replace(found, laws=np.concatenate(laws, axis=1))

    def worst_pair(self) -> tuple[float, float]:
        """The two endpoints."""
        return 1.0, -1.0

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs clipped to [-1, 1]. Shape and dtype of x."""
        return clip(x, -1.0, 1.0)

    def outputs(self) -> tuple[float, float]:
        """The two atoms."""
        return TwoPoint(self.epsilon).outputs()

    def breakpoints(self, x: Any) -> list[float]:
        """See `Piecewise.breakpoints`."""
        return Piecewise(self.epsilon).breakpoints(x)

    def is_atom(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Whether the report is an atom in its dtype, where `log_prob` is a log mass and no log density. Shape of y."""
        y = numbers_of("y", y)
        return np.isin(y, np.asarray(self.outputs(), dtype=report_dtype(y)))

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log mass of y at x if y is an atom (`is_atom`), else log density; broadcasts."""
        with np.errstate(divide="ignore"):
            mass = np.log(self._share_of_points()) + TwoPoint(self.epsilon).log_prob(y, x)
            density = np.log(self.mixing()) + Piecewise(self.epsilon).log_prob(y, x)
        return np.where(self.is_atom(y), mass, density)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return in_interval("x", array_of("x", x), -1, 1).astype(np.float64)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The mixture of the parts' variances, as both means are x; constant in x above the threshold. Shape of x."""
        two_point = TwoPoint(self.epsilon).variance(x)
        if not self.mixing():  # PM's variance may be infinite
            return two_point
        piecewise = Piecewise(self.epsilon).variance(x)
        return np.asarray(self.mixing() * piecewise + self._share_of_points() * two_point)[()]

    def implemented(self, bits: int = 64) -> FiniteHybrid:
        """The finite-precision distribution that `sample` draws from. ValueError unless bits are 2..64."""
        return FiniteHybrid(self, bits)

    def _share_of_points(self) -> float:
        """1 - alpha, without cancellation at large epsilon."""
        return math.exp(-self.epsilon / 2) if self.mixing() else 1.0


@dataclass(frozen=True)
class FiniteHybrid(WholeWords):
    """The mixture of the finite-precision PM and two-point mechanism, with a probability in whole words."""

    mechanism: Hybrid

    def reports(self) -> list[float]:
        """All reports of both parts, ascending, in float64."""
        return sorted([*self.piecewise().outputs().tolist(), *self.points().outputs()])

    def piecewise(self) -> PiecewiseGrid:
        """The finite-precision PM."""
        return PiecewiseGrid.of(self.mechanism.epsilon, self.bits)

    def points(self) -> FiniteTwoPoint:
        """The finite-precision two-point mechanism."""
        return TwoPoint(self.mechanism.epsilon).implemented(self.bits)

    def piecewise_words(self) -> int:
        """The number of words that choose PM."""
        return round(Fraction(self.mechanism.mixing()) * 2**self.bits)

    def losses(self) -> Losses:
        """The mixture of the parts' losses, as the endpoints attain both; epsilon is the larger of the two.

        The atoms are irrational and so no points of PM's grid. If a dtype rounds one to a grid point, that report's
        likelihood ratio only decreases.
        """
        parts = [(log_ratio(*share.as_integer_ratio()), part.losses()) for part, share in self._parts()]
        positive = [loss for _, found in parts for loss in found.positive]
        return Losses(positive, [share + log for share, found in parts for log in found.log_probs])

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of y at x, nats; broadcasts; -inf off the support. ValueError for too narrow a dtype of y."""
        logs = [log_ratio(*share.as_integer_ratio()) + part.log_prob(y, x) for part, share in self._parts()]
        return np.logaddexp.reduce(np.asarray(logs), axis=0)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x]: x up to the parts' rounding. Shape of x."""
        return np.asarray(sum(float(share) * part.mean(x) for part, share in self._parts()))[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x]: the mixture of the parts' variances, plus the variance of their means. Shape of x."""
        within = sum(float(share) * part.variance(x) for part, share in self._parts())
        mean = self.mean(x)
        return np.asarray(within + sum(float(share) * (part.mean(x) - mean) ** 2 for part, share in self._parts()))[()]

    def draw(self, x: Any, source: Source) -> Any:
        """One report for each input: both parts', one of which is selected."""
        reports = [part.drawn(x, source) for part, _ in self._parts()]
        if len(reports) == 1:
            return reports[0]
        counts = self.piecewise_words(), 2**self.bits - self.piecewise_words()
        return source.xp.where(Thresholds(counts, self.bits).draw(source, x.shape) == 0, *reports)

    def fits_blocks(self, dtype: Any) -> bool:
        """Whether both parts' `blocks` support this dtype."""
        return all(part.fits_blocks(dtype) for part, _ in self._parts())

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of up to `size` inputs: both parts' reports, one of which is selected."""
        parts = [part.blocks(dtype, size, source) for part, _ in self._parts()]
        if len(parts) == 1:
            return parts[0]
        return mixed(parts[0], parts[1], self.piecewise_words(), dtype, size, source)

    def _parts(self) -> list[tuple[PiecewiseGrid | FiniteTwoPoint, Fraction]]:
        share = Fraction(self.piecewise_words(), 2**self.bits)
        parts = [(self.piecewise(), share), (self.points(), 1 - share)]
        return [(part, share) for part, share in parts if share]
