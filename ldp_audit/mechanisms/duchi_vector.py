"""Duchi's mechanism for vectors in [-1, 1]^d: report B times a corner of the cube.

Definition: the input is rounded to a corner v with independent P(v_j = 1) = (1 + x_j)/2; a corner y is reported,
likelier by t if it lies on v's side. As usually printed the two sides are the closed half-spaces y.v >= 0 and y.v
<= 0, and the corners with y.v = 0 (even d) lie in both: the exact epsilon is then ln(t + 1). With ties on the rarer
side it is epsilon.

Sources: Duchi, Jordan, Wainwright, JASA 113 (2018), Section 4.2.3; Nguyen et al. (2016) on even d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.clipping import clip
from ldp_audit.mechanisms.log_space import excess, levels
from ldp_audit.mechanisms.parameter import BUDGET, Parameter, check_parameters
from ldp_audit.mechanisms.randomness import WORDS, log_ratio, rarer_words, require_generator, words
from ldp_audit.mechanisms.variable import Variable


@dataclass(frozen=True)
class DuchiVector:
    """Inputs in [-1, 1]^d; reports in {-B, B}^d.

    epsilon: nats, > 0, finite.   d: >= 1.   printed: the form with closed half-spaces, for comparison.
    Raises ValueError for anything else.
    """

    epsilon: float
    d: int
    printed: bool = False

    parameters = (BUDGET, Parameter("d", Variable("d", 1, oo, integer=True), typical=(1, 50)))

    def __post_init__(self) -> None:
        check_parameters(self)
        if not isinstance(self.printed, bool):
            raise ValueError(f"printed must be True or False, got {self.printed!r}")

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs moved into [-1, 1]^d. Shape and dtype of x."""
        return clip(x, -1.0, 1.0)

    def reach(self) -> float:
        """B, the size of each reported coordinate, so that the mean is the input."""
        likely = self._likely()
        central = math.comb(self.d - 1, self.d // 2)  # corners that tip the balance when a coordinate turns
        if self.printed:
            return float(Fraction(likely, central)) / math.tanh(self.epsilon / 2)
        return float(Fraction(likely, central)) + float(Fraction(2**self.d, central)) / math.expm1(self.epsilon)

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon; as printed, ln(t + 1) for even d."""
        return self.epsilon + (math.log1p(math.exp(-self.epsilon)) if self.printed and self._ties() else 0.0)

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Corners that attain exact_epsilon(): opposite ones; as printed, for even d, ones that differ in d/2."""
        first, second = np.ones(self.d), -np.ones(self.d)
        if self.printed and self._ties():
            second[self.d // 2 :] = 1.0
        return first, second

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The largest hockey-stick divergence over pairs of corners, by how many places they differ in; nats, >= 0."""
        asked = levels(epsilon)
        if not (self.printed and self._ties()):
            share = Fraction(self._likely(), 2**self.d)  # of the corners, on the likelier side
            top = float(share) / (float(share) + (1 - float(share)) * math.exp(-self.epsilon))
            return (excess(asked, self.epsilon) * top)[()]
        found = [max(self._pair_delta(h, float(e)) for h in range(1, self.d + 1)) for e in asked.flat]
        return np.array(found).reshape(asked.shape)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y, shape (..., d), at the input x, likewise; -inf for what is no report."""
        reports, values = np.broadcast_arrays(np.asarray(y, dtype=np.float64), self._inputs(x))
        flat_y, flat_x = reports.reshape(-1, self.d), values.reshape(-1, self.d)
        found = [self._log_prob_of(one, at) for one, at in zip(flat_y, flat_x, strict=True)]
        return np.array(found).reshape(reports.shape[:-1])[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """x: no bias. Shape (..., d)."""
        return self._inputs(x)

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Of each coordinate: B**2 - x_j**2. Shape (..., d)."""
        return self.reach() ** 2 - self._inputs(x) ** 2

    def sample(self, x: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """One report for each input; shape (..., d). Implemented epsilon at most the claimed one.

        Raises ValueError for the printed form, which is here to be examined, not to be used.
        """
        generator, rarer_share, values = require_generator(rng), self._rarer_words(), self._inputs(x)
        corners = np.where(generator.random(values.shape) < (1 + values) / 2, 1, -1).reshape(-1, self.d)
        rarer = words(generator, (len(corners),)) < np.uint64(rarer_share)
        signs = np.empty_like(corners)
        waiting = np.arange(len(corners))
        while len(waiting):  # each try succeeds with probability near a half
            tried = generator.integers(0, 2, size=(len(waiting), self.d)) * 2 - 1
            kept = ((tried * corners[waiting]).sum(axis=1) > 0) != rarer[waiting]
            signs[waiting[kept]] = tried[kept]
            waiting = waiting[~kept]
        return self.reach() * signs.reshape(values.shape).astype(np.float64)

    def implemented_epsilon(self) -> float:
        """The exact epsilon of `sample`; ValueError for the printed form, which is not sampled."""
        rarer, likely = self._rarer_words(), self._likely()
        return log_ratio((WORDS - rarer) * (2**self.d - likely), rarer * likely)

    def _rarer_words(self) -> int:
        if self.printed:
            raise ValueError("the printed form is not sampled; use DuchiVector(epsilon, d)")
        return rarer_words(self.epsilon, Fraction(2**self.d - self._likely(), self._likely()))

    def _ties(self) -> int:
        """Corners with y.v = 0."""
        return 0 if self.d % 2 else math.comb(self.d, self.d // 2)

    def _likely(self) -> int:
        """Corners on the likelier side: y.v > 0, or y.v >= 0 as printed."""
        strict = (2**self.d - self._ties()) // 2
        return strict + self._ties() if self.printed else strict

    def _masses(self) -> tuple[float, float, float]:
        """Probabilities of one corner with y.v > 0, = 0, < 0."""
        t = math.exp(self.epsilon)
        if self.printed:
            return t / (t + 1) / self._likely(), 1 / self._likely(), 1 / (t + 1) / self._likely()
        total = (t - 1) * self._likely() + 2**self.d
        return t / total, 1 / total, 1 / total

    def _pair_delta(self, differ: int, level: float) -> float:
        """Between two corners that differ in so many places: corners counted by their agreements on both parts."""
        total, masses = 0.0, self._masses()
        for i in range(self.d - differ + 1):
            for j in range(differ + 1):
                first, second = 2 * (i + j) - self.d, 2 * (i + differ - j) - self.d
                gap = masses[_side(first)] - math.exp(level) * masses[_side(second)]
                if gap > 0:
                    total += math.comb(self.d - differ, i) * math.comb(differ, j) * gap
        return total

    def _log_prob_of(self, report: NDArray[np.float64], at: NDArray[np.float64]) -> float:
        signs = np.sign(report)
        if not np.allclose(report, self.reach() * signs, rtol=1e-12, atol=0) or not np.all(signs):
            return -math.inf
        agreements = np.ones(1)
        for share in (1 + at * signs) / 2:  # the number of places where v agrees with the report: Poisson binomial
            agreements = np.append(agreements * (1 - share), 0.0) + np.append(0.0, agreements * share)
        masses = self._masses()
        return math.log(math.fsum(p * masses[_side(2 * a - self.d)] for a, p in enumerate(agreements)))

    def _inputs(self, x: ArrayLike) -> NDArray[np.float64]:
        values = np.asarray(x)
        if values.dtype.kind not in "fiu" or values.ndim == 0 or values.shape[-1] != self.d:
            raise ValueError(f"x must be real vectors of shape (..., {self.d}), got {values.dtype} of {values.shape}")
        if not np.all(np.abs(values) <= 1):
            raise ValueError(f"x must lie in [-1, 1]^{self.d}, got {x!r}; clip first if that is meant")
        return values.astype(np.float64)


def _side(product: int) -> int:
    """0, 1, 2 for a positive, zero, negative inner product."""
    return 0 if product > 0 else 1 if product == 0 else 2
