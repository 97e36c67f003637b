r"""The piecewise mechanism (PM): a density that is high on an interval around the input and low elsewhere.

Definition, with s = e**(epsilon/2), C = (s + 1)/(s - 1): an input x in [-1, 1] has the inner interval [l, r],
l = (s x - 1)/(s - 1), r = (s x + 1)/(s - 1), of length C - 1, inside [-C, C]. The density is p = s (s - 1)/(2 (s + 1))
on it and p / e**epsilon on the rest of [-C, C].

Source: Wang et al. (ICDE 2019), Algorithm 2. A sampler that writes l + u (C - 1) in floats shows the input in its
low-order bits and has no finite epsilon; ours draws from a grid (`piecewise_grid.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.clipping import clip
from ldp_audit.mechanisms.log_space import excess, expit, levels
from ldp_audit.mechanisms.parameter import BUDGET, check_parameters
from ldp_audit.mechanisms.piecewise_grid import PiecewiseGrid
from ldp_audit.mechanisms.randomness import require_generator
from ldp_audit.mechanisms.two_point import TwoPoint, float_dtype


@dataclass(frozen=True)
class Piecewise:
    """Inputs in [-1, 1], outputs in [-C, C].

    epsilon: nats, > 0, finite. Raises ValueError for anything else.
    """

    epsilon: float

    parameters = (BUDGET,)

    def __post_init__(self) -> None:
        check_parameters(self)

    def reach(self) -> float:
        """C = (s + 1)/(s - 1) = 1/tanh(epsilon/4)."""
        return 1 / math.tanh(self.epsilon / 4)

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats; any two different inputs attain it."""
        return self.epsilon

    def worst_pair(self) -> tuple[float, float]:
        """The two ends: their inner intervals do not meet, so they attain delta() as well."""
        return 1.0, -1.0

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs moved into [-1, 1]. Shape and dtype of x."""
        return clip(x, -1.0, 1.0)

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """(t - e**epsilon)_+ / (t + s); shape of `epsilon`, nats, >= 0."""
        return (excess(levels(epsilon), self.epsilon) * expit(self.epsilon / 2))[()]

    def inner(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The ends l and r of the inner interval; shape of x."""
        values = _in_range(x)
        s, less = math.exp(self.epsilon / 2), math.expm1(self.epsilon / 2)
        return (s * values - 1) / less, (s * values + 1) / less

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log density of y at x; broadcasts; -inf outside [-C, C]."""
        reports, (left, right) = np.asarray(y, dtype=np.float64), self.inner(x)
        half = self.epsilon / 2
        high = half + math.log(math.expm1(half)) - math.log(2) - math.log1p(math.exp(half))
        low = np.where(np.abs(reports) <= self.reach(), high - self.epsilon, -np.inf)
        return np.where((reports >= left) & (reports <= right) & (np.abs(reports) <= self.reach()), high, low)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return _in_range(x)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x**2/(s - 1) + (s + 3)/(3 (s - 1)**2); largest at the ends, 4 s/(3 (s - 1)**2). Shape of x."""
        s, less = math.exp(self.epsilon / 2), math.expm1(self.epsilon / 2)
        return np.asarray(_in_range(x) ** 2 / less + (s + 3) / (3 * less**2))[()]

    def sample(self, x: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.floating]:
        """One report per input, on a fixed grid of outputs; shape and floating dtype of x.

        Unbiased, with PM's variance to within a few parts in 10,000, and an implemented epsilon of at most the claimed.
        """
        generator, values = require_generator(rng), _in_range(x)
        return PiecewiseGrid.of(self.epsilon).draw(values, generator).astype(float_dtype(np.asarray(x)))

    def implemented_epsilon(self) -> float:
        """The exact epsilon of `sample`."""
        return PiecewiseGrid.of(self.epsilon).epsilon()


@dataclass(frozen=True)
class Hybrid:
    """Wang et al.'s hybrid: PM with probability alpha = 1 - e**(-epsilon/2) above epsilon*, else two points.

    epsilon: nats, > 0, finite. Raises ValueError for anything else.
    """

    epsilon: float

    parameters = (BUDGET,)

    def __post_init__(self) -> None:
        check_parameters(self)

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
        return np.isin(np.asarray(y, dtype=np.float64), TwoPoint(self.epsilon).outputs())

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log mass of y at x where y is one of the two points (`is_atom`), else log density; broadcasts."""
        alpha = self.mixing()
        with np.errstate(divide="ignore"):
            mass = np.log1p(-alpha) + TwoPoint(self.epsilon).log_prob(y, x)
            density = np.log(alpha) + Piecewise(self.epsilon).log_prob(y, x)
        return np.where(self.is_atom(y), mass, density)[()]

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """alpha times PM's plus (1 - alpha) times the two-point mechanism's: their outputs do not mix."""
        alpha = self.mixing()
        piecewise, two_point = Piecewise(self.epsilon), TwoPoint(self.epsilon)
        return np.asarray(alpha * piecewise.delta(epsilon) + (1 - alpha) * two_point.delta(epsilon))[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return _in_range(x)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The mixture's: both means are x, so the variances mix; level in x above the threshold. Shape of x."""
        alpha = self.mixing()
        piecewise, two_point = Piecewise(self.epsilon).variance(x), TwoPoint(self.epsilon).variance(x)
        return np.asarray(alpha * piecewise + (1 - alpha) * two_point)[()]

    def sample(self, x: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.floating]:
        """One report per input; shape and floating dtype of x. Which mechanism reports does not depend on the input."""
        generator, values = require_generator(rng), np.asarray(x)
        piecewise = Piecewise(self.epsilon).sample(values, rng=generator)
        two_point = TwoPoint(self.epsilon).sample(values, rng=generator)
        return np.where(generator.random(values.shape) < self.mixing(), piecewise, two_point)

    def implemented_epsilon(self) -> float:
        """At most this is the exact epsilon of `sample`: the larger of its two parts'."""
        parts = [Piecewise(self.epsilon), TwoPoint(self.epsilon)] if self.mixing() else [TwoPoint(self.epsilon)]
        return max(part.implemented_epsilon() for part in parts)


def _in_range(x: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(x)
    if values.dtype.kind not in "fiu" or not np.all(np.abs(values) <= 1):
        raise ValueError(f"x must lie in [-1, 1], got {x!r}; clip first if that is meant")
    return values.astype(np.float64)
