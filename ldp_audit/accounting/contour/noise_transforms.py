r"""M of Gaussian and of Laplace noise, in closed form.

Gaussian: ln M(s) = s (s + 1) mu**2 / 2.   Laplace, with t the pure epsilon and z = s + 1/2:

    M(s) = e**(-t/2) (cosh(z t) + sinh(z t) / (2 z)),

of which what exceeds 1 is added up from parts that vanish with t, so that it keeps its digits for many tiny losses. For
large t it is e**(s t)/2 (1 + 1/(2 z)) + e**(-(1 + s) t)/2 (1 - 1/(2 z)), whose first factor may be taken out.

How large the latter is far out. With a = Re z, S = sinh(a t), k = 1/(2 y) and x = Im z >= y, the squares of |cosh(z t)|
and of |sinh(z t)| are S**2 + cos(x t)**2 and S**2 + sin(x t)**2. So |cosh| + k |sinh| is concave in cos(x t)**2, and at
most cosh(a t) + k S where k <= tanh(a t), else ((1 + k**2)(1 + 2 S**2))**(1/2). Before x t = pi - y t, for y t < pi/2,
it is better to use |sin(x t)| >= sin(y t), and |sinh(z t)/z| <= sinh(a t)/a. And for a >= 0 |1 + 1/(2 z)| falls with x,
and |1 - 1/(2 z)| is at most 1, or for c < -1/4 falls as well. As M(-1 - s) = M(s), nothing else need be told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.transform import EPS, Values, from_excess, from_scaled, log_at_most

_LARGEST_POWER = 300.0
_ROUNDING = 64 * EPS
_TINY = 1e-2
"""|z t| up to which a series is added up."""
_GAUSSIAN = 16 * EPS
"""Half of it for a mu that is itself a rounded root of a sum of squares."""


@dataclass(frozen=True)
class GaussianTransform:
    """M of Gaussian noise.   mu: see `GaussianLoss`."""

    mu: float

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`."""
        s, half = c + 1j * y, self.mu * self.mu / 2
        size = np.abs(s)
        farthest = float(size[-1]) + 1
        if not farthest * farthest * half < math.inf:
            return None
        log = s * (s + 1) * half
        return Values(log, _GAUSSIAN * size * (size + 1) * half)

    def about(self, c: float) -> float:
        """See `Transform`."""
        return log_at_most(self, c)

    def log_limit(self, c: float) -> float:  # noqa: ARG002
        """See `Transform`: it falls all the way."""
        return -math.inf

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`: it falls all the way."""
        half, size = self.mu * self.mu / 2, c * (c + 1)
        return half * (size + abs(size) * _ROUNDING - y * y * (1 - _ROUNDING)) if half < math.inf else math.inf


@dataclass(frozen=True)
class LaplaceTransform:
    """M of Laplace noise.   epsilon: see `LaplaceLoss`."""

    epsilon: float

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`."""
        top = self.epsilon
        if -1 <= c < -0.5:
            found = self.at(-1 - c, y)
            return None if found is None else Values(np.conj(found.log), found.error)
        if (abs(c) + 1) * top > _LARGEST_POWER or (c < 0 and top > 1):
            return self._scaled(c, y) if c >= -0.5 else None
        s = c + 1j * y
        z, a = s + 0.5, (c + 0.5) * top
        odd = math.sinh(a) * np.cos(y * top) + 1j * (math.cosh(a) * np.sin(y * top))
        ratio = np.asarray(np.where(z == 0, top / 2, odd / (2 * np.where(z == 0, 1, z))), dtype=np.complex128)
        between = math.exp(-top / 2) * ratio + math.expm1(-top) / 2
        ends = 0.5 * np.expm1(s * top) + 0.5 * math.exp(-top) * np.expm1(-s * top)
        return from_excess(ends + between, _ROUNDING * top * (1 + np.abs(s)) * math.exp(max(0.0, c, -1 - c) * top))

    def about(self, c: float) -> float:
        """See `Transform`."""
        return log_at_most(self, c)

    def log_limit(self, c: float) -> float:
        """See `Transform`: that of the two single values."""
        return float(np.logaddexp(c * self.epsilon, -(1 + c) * self.epsilon)) - math.log(2)

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`."""
        top = self.epsilon
        c = max(c, -1 - c)
        a, angle = (c + 0.5) * top, y * top
        if not 0 < y < math.inf or not a < math.inf:
            return math.inf
        apart = self._log_apart(c, y)
        if a > _LARGEST_POWER:
            return apart
        odd, even = math.sinh(a), math.cosh(a)
        near, start = 0.0, y
        if angle < math.pi / 2:
            near = math.hypot(odd, math.cos(angle)) + (odd / (2 * c + 1) if a > 0 else top / 2)
            start = max(y, (math.pi - angle) / top)
        k = 1 / (2 * start)
        far = even + k * odd if k <= math.tanh(a) else math.sqrt((1 + k * k) * (1 + 2 * odd * odd))
        return min(apart, math.log(max(near, far)) - top / 2 + _ROUNDING * (1 + a + top))

    def _scaled(self, c: float, y: NDArray[np.float64]) -> Values:
        """The values for c >= -1/2, where e**(c t) may be too large or too small a number."""
        top, z = self.epsilon, c + 0.5 + 1j * y
        turned, tiny = np.exp(1j * (y * top)), np.abs(z) < _TINY / top
        inverse, square = 0.5 / np.where(tiny, 1, z), np.where(tiny, z * top, 0) ** 2
        sums = 0.5 * turned * (1 + inverse) + 0.5 * math.exp(-(1 + 2 * c) * top) * np.conj(turned) * (1 - inverse)
        series = 1 + square / 2 + square**2 / 24 + top / 2 * (1 + square / 6 + square**2 / 120)
        sums = np.where(tiny, math.exp(-(c + 0.5) * top) * series, sums)
        error = _ROUNDING * (1 + y * top) * np.where(tiny, 1 + top / 2, 1 + np.abs(inverse))
        return from_scaled(sums, error, c * top)

    def _log_apart(self, c: float, y: float) -> float:
        """ln of a bound on |M| from y on, by the two parts one by one; for c >= -1/2."""
        top = self.epsilon
        square = (c + 0.5) ** 2 + y * y
        grown, shrunk = math.sqrt(1 + (c + 0.75) / square), math.sqrt(1 + max(0.0, -0.25 - c) / square)
        size = 0.5 * grown + 0.5 * math.exp(-(1 + 2 * c) * top) * shrunk
        return c * top + math.log(size) + _ROUNDING * (1 + abs(c) * top)
