"""The privacy loss of discrete Gaussian noise: P(z) proportional to e**(-z**2/(2 sigma**2)) on the whole numbers.

Two inputs D apart, a whole number, have at the noise z the loss l(z) = D (2 z + D)/(2 sigma**2), its own reverse by the
map of z to -z - D. So with z0 the least z of a loss above epsilon (Canonne, Kamath, Steinke, "The discrete Gaussian for
differential privacy", NeurIPS 2020, Theorem 7)

    delta(epsilon) = P(z >= z0) - e**epsilon P(z >= z0 + D) = sum over z >= z0 of P(z) (1 - e**(epsilon - l(z))),

whose terms are positive; and 1 - delta = P(z < z0) + e**epsilon P(z >= z0 + D) where that is the smaller part.

Composition. Below and above the loss lie two lists. Let all z >= K be one output, and all z <= -K - D another: by post-
processing the loss dominates that of these outputs. And if their masses count as infinite losses, it is dominated.

Wide noise, sigma > 4096. As functions of a real z the terms are log-concave, so their sum over whole numbers differs by
at most the largest one from their integral, which is the delta of Gaussian noise: the sum of e**(-z**2/(2 sigma**2)) is
its integral, to 10**-100 of itself. Let z* be the real z of loss epsilon, y = z - z*, and phi the normal density. A
term is at most phi(z) D y/sigma**2. For z* >= 0

    phi(z) <= phi(z*) e**(-z* y/sigma**2 - y**2/(2 sigma**2)),

and y times either factor is at most sigma**2/(e z*) and sigma e**(-1/2). For z* < 0 a term is at most D phi(0) (sigma
e**(-1/2) + |z*|)/sigma**2; there, the terms of 1 - delta, log-concave too, are at most phi(z*).

Renyi divergence of order a: a D**2/(2 sigma**2), less where (a - 1) D is no whole number (the same paper, Proposition
5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import symmetric_loss
from ldp_audit.losses.loss import Divergence, KnownLoss, PairLoss, log_delta_from_reversed, log_sum
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.numerics import exp_upwards, log1mexp

WIDE = 4096.0
"""The sigma from which on sums are enclosed by integrals."""
_REACH, _DEEPEST = 12.0, 38.4
"""In sigma: where a sum that starts at the largest term has its last digit, and where masses are below e**-737."""
_LEAST, _ROUNDING = -1.7e308, 1e-13
_SMALLER_PART = math.log(0.5)


def log_normaliser(sigma: float) -> float:
    """ln of the sum of e**(-z**2/(2 sigma**2)) over whole z; by Poisson's formula for sigma >= 1."""
    if sigma < 1:
        return math.log1p(2 * _powers(1 / (2 * sigma * sigma))[0])
    return math.log(sigma) + math.log(2 * math.pi) / 2 + math.log1p(2 * _powers(2 * (math.pi * sigma) ** 2)[0])


def discrete_gaussian_variance(sigma: float) -> float:
    """The variance, < sigma**2, right to rounding; of the sums over k >= 1, from the faster of the two."""
    if sigma < 1:
        masses, squares = _powers(1 / (2 * sigma * sigma))
        return 2 * squares / (1 + 2 * masses)
    rate = 2 * (math.pi * sigma) ** 2
    masses, squares = _powers(rate)
    return sigma * sigma * (1 - 4 * rate * squares / (1 + 2 * masses))


def _powers(rate: float) -> tuple[float, float]:
    """The sums of e**(-rate k**2) and of k**2 e**(-rate k**2) over k >= 1, for a rate of at least 1/2."""
    terms = [math.exp(-rate * k * k) for k in range(1, 40)]
    return math.fsum(terms), math.fsum(k * k * term for k, term in enumerate(terms, 1))


@dataclass(frozen=True)
class DiscreteGaussianLoss(PairLoss):
    """The loss of one number with discrete Gaussian noise, its own reverse.

    sigma: 2**-30 .. 2**40.   distance: D, a whole number in 1 .. 2 * 10**6.
    """

    sigma: float
    distance: int

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return self.sigma <= WIDE

    def supremum(self) -> float:
        """See `PairLoss`: the ratio is unbounded."""
        return math.inf

    def reversed(self) -> DiscreteGaussianLoss:
        """See `PairLoss`: the same."""
        return self

    def divergence(self, alpha: float) -> Divergence:
        """See `PairLoss`."""
        value = alpha * (self.distance / self.sigma) ** 2 / 2
        return value, value < math.inf and ((alpha - 1) * self.distance) % 1 == 0

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; both bounds are the same for sigma <= 4096, but for logarithms beyond the range of floats."""
        if epsilon < 0:
            return log_delta_from_reversed(epsilon, self.log_delta_bounds(-epsilon))
        if epsilon == math.inf:
            return -math.inf, -math.inf
        if epsilon / self.distance * self.sigma > 1e150:  # squares overflow
            return -math.inf, _LEAST
        start = Fraction(epsilon) * Fraction(self.sigma) ** 2 / self.distance - Fraction(self.distance, 2)  # z*
        if not self.exact:
            return self._enclosed(epsilon, float(start))
        value = self._log_delta(epsilon, start)
        return value, value

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: the lists below and above; none for wide noise, whose bounds on delta have hulls."""
        if end is None or not self.exact:
            return None
        return self._above if end else self._below

    def _log_mass(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln P(z)."""
        return -((z / self.sigma) ** 2) / 2 - log_normaliser(self.sigma)

    def _from(self, first: float) -> NDArray[np.float64]:
        """Whole numbers from this one on: all that count in a sum of terms that are largest there or around 0."""
        return np.arange(math.ceil(max(-first, 0.0) + _REACH * self.sigma) + 3, dtype=np.float64) + first

    def _log_tail(self, first: float) -> float:
        """ln P(z >= first), for first >= 0."""
        return log_sum(self._log_mass(self._from(first)))

    def _log_delta(self, epsilon: float, start: Fraction) -> float:
        first = math.floor(start) + 1.0
        if first <= 0:
            lacking = float(np.logaddexp(self._log_tail(1 - first), epsilon + self._log_tail(first + self.distance)))
            if lacking < _SMALLER_PART:
                return log1mexp(lacking)
        z = self._from(first)
        beyond = float(math.floor(start) + 1 - start)  # exactly rounded, as next to a loss no float of epsilon is
        away = (np.arange(z.size) + beyond) * (self.distance / self.sigma**2)  # l(z) - epsilon
        return min(0.0, log_sum(self._log_mass(z) + np.log(-np.expm1(-away))))

    def _enclosed(self, epsilon: float, start: float) -> tuple[float, float]:
        """The integral less and plus the largest term."""
        middle, s = GaussianLoss(self.distance / self.sigma).log_delta_bounds(epsilon)[1], self.sigma
        if start >= 0:
            width = min(s * s / (math.e * start) if start > 0 else math.inf, s * math.exp(-0.5))
        else:
            width = s * math.exp(-0.5) - start
        at_start = float(self._log_mass(np.array(start)))
        largest = float(self._log_mass(np.array(max(start, 0.0)))) + math.log(self.distance * width) - 2 * math.log(s)
        largest = min(largest, at_start) if start < 0 else largest
        rounding = _ROUNDING * (1 - middle)
        low = middle + log1mexp(largest - middle) - rounding if largest < middle else -math.inf
        return low, min(0.0, float(np.logaddexp(middle, largest)) + rounding)

    @cached_property
    def _last(self) -> int:
        """K."""
        return math.ceil(_DEEPEST * self.sigma) + 1

    def _positive(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """The losses above 0 at z < K with ln of their probabilities, and the probability of 0."""
        z = np.arange(-((self.distance - 1) // 2), self._last, dtype=np.float64)
        losses = self.distance * (2 * z + self.distance) / (2 * self.sigma**2)
        middle = math.exp(float(self._log_mass(np.array(-self.distance / 2)))) if self.distance % 2 == 0 else 0.0
        return losses, self._log_mass(z), middle

    @cached_property
    def _below(self) -> KnownLoss:
        losses, logs, middle = self._positive()
        near, far = self._log_tail(float(self._last)), self._log_tail(float(self._last + self.distance))
        return symmetric_loss(np.append(losses, near - far), np.append(logs, near), rest=middle)

    @cached_property
    def _above(self) -> KnownLoss:
        losses, logs, middle = self._positive()
        beyond = exp_upwards(self._log_tail(float(self._last))) + exp_upwards(
            self._log_tail(float(self._last + self.distance))
        )
        return symmetric_loss(losses, logs, infinite=beyond, rest=middle)
