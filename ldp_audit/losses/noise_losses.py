"""The privacy losses of Gaussian and of Laplace noise, in closed form, with their transforms.

Gaussian. Two inputs mu standard deviations apart have the loss N(mu**2/2, mu**2); several have together that of the
root of the sum of mu**2. With x = epsilon/mu - mu/2, phi the normal density and R(x) = Phi(-x)/phi(x) Mills' ratio,

    delta(epsilon) = Phi(-x) - e**epsilon Phi(-x - mu) = phi(x) (R(x) - R(x + mu))

(Balle, Wang, "Improving the Gaussian mechanism", ICML 2018, Theorem 8). Where R(x) and R(x + mu) nearly cancel their
difference is the integral of -R' = 1 - u R(u), which is positive. The transform is ln M(s) = s (s + 1) mu**2 / 2.

Laplace. Two inputs e0 scales apart: for noise of z scales the loss is |z - e0| - |z|, so it is e0 with probability 1/2,
-e0 with probability e**-e0 / 2, and between them it has the density e**((l - e0)/2) / 4. Hence delta(epsilon) is 1 -
e**((epsilon - e0)/2) between -e0 and e0. Inputs that are nearer have less. With z = s + 1/2,

    M(s) = e**(-e0/2) (cosh(z e0) + sinh(z e0) / (2 z)),

of which the excess over 1 is a sum of parts that vanish with e0, so that it keeps its digits for many tiny losses. For
large e0 it is e**(s e0)/2 (1 + 1/(2 z)) + e**(-(1 + s) e0)/2 (1 - 1/(2 z)), whose first factor may be taken out.

The decay of the latter. With a = Re z, S = sinh(a e0), k = 1/(2 y) and x = Im z >= y, the squares of |cosh(z e0)| and
of |sinh(z e0)| are S**2 + cos(x e0)**2 and S**2 + sin(x e0)**2. So |cosh| + k |sinh| is concave in cos(x e0)**2, and at
most cosh(a e0) + k S where k <= tanh(a e0), else ((1 + k**2)(1 + 2 S**2))**(1/2). Before x e0 = pi - y e0, for y e0 <
pi/2, a better bound is |sin(x e0)| >= sin(y e0), and |sinh(z e0)/z| <= sinh(a e0)/a. And |1 + 1/(2 z)| falls with x,
and |1 - 1/(2 z)| is at most 1.
"""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

from ldp_audit.losses.divergence import laplace_divergence
from ldp_audit.losses.loss import EPS, CellMasses, Divergence, KnownLoss, Transform, Values, from_excess, from_scaled
from ldp_audit.numerics import log1mexp

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_FINE, _FEW = 0.15, np.polynomial.legendre.leggauss(4)
"""A cell counts as fine below the first, and its nodes."""
_HALF_LOG_TWO_PI, _LOG_TWO = 0.5 * math.log(2 * math.pi), math.log(2)
_MOST_STEPS = 100
_FAR = 1e9
_LEAST = -sys.float_info.max
_LITTLE = -2.5
"""ln of 1 - delta from which down that is computed by itself."""


class NoiseLoss(KnownLoss):
    """The loss of noise around one input against noise around another, its own reverse: it rises with the report.

    Reports are in scales of the noise, from the first input on; the second input is at minus `shift`.
    """

    @property
    @abstractmethod
    def shift(self) -> float:
        """The distance of the two inputs, in scales of the noise."""

    @abstractmethod
    def at(self, reports: NDArray[np.float64]) -> NDArray[np.float64]:
        """The loss at these reports."""

    @abstractmethod
    def report_of(
        self, other: float, log_own: NDArray[np.float64], log_other: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The report with own e**-loss + other e**-loss of the other = 1; infinite where the sum is above 1 throughout.

        other: the distance of a third input, whose loss that is, in scales of the noise.   log_own, log_other: ln of
        the factors, the larger >= 0.
        """

    @abstractmethod
    def noise_cells(self, edges: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln of the masses of noise around 0, by cells as in `CellMasses`; edges in scales, infinities too."""

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return True

    def reversed(self) -> NoiseLoss:
        """See `PairLoss`: the same."""
        return self


@dataclass(frozen=True)
class GaussianLoss(NoiseLoss):
    """The loss of Gaussian noise, its own reverse; delta is right to about 1e-13 (1 + |ln delta| / 100).

    mu: sensitivity over standard deviation, > 0, finite; roots of sums of squares for compositions.
    Raises ValueError for anything else.
    """

    mu: float

    def __post_init__(self) -> None:
        if not 0 < self.mu < math.inf:
            raise ValueError(f"mu must be > 0 and finite, got {self.mu!r}")

    def supremum(self) -> float:
        """See `PairLoss`: the ratio is unbounded."""
        return math.inf

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; both bounds are the same, but for logarithms beyond the range of floats."""
        value = self._log_delta(epsilon)
        return value, max(value, _LEAST) if epsilon < math.inf else value

    def transform(self) -> Transform:
        """See `KnownLoss`."""
        return GaussianTransform(self.mu)

    def dominating_gaussian(self) -> tuple[float, bool]:
        """See `KnownLoss`."""
        return self.mu, True

    def group(self, records: int) -> GaussianLoss:
        """See `KnownLoss`: inputs `records` times as far apart."""
        return GaussianLoss(records * self.mu)

    def divergence(self, alpha: float) -> Divergence:
        """See `PairLoss`."""
        value = alpha * self.mu * self.mu / 2
        return value, value < math.inf

    @property
    def shift(self) -> float:
        """See `NoiseLoss`."""
        return self.mu

    def at(self, reports: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `NoiseLoss`."""
        return self.mu * (reports + self.mu / 2)

    def report_of(
        self, other: float, log_own: NDArray[np.float64], log_other: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """See `NoiseLoss`; the sum's logarithm is convex in the report, so Newton's method rises from the left."""
        one, two = self.mu, other
        heights = log_own - one * one / 2, log_other - two * two / 2
        found = np.maximum(heights[0] / one, heights[1] / two)
        for _ in range(_MOST_STEPS):
            first, second = heights[0] - one * found, heights[1] - two * found
            whole = np.logaddexp(first, second)
            risen = found + whole / (one * np.exp(first - whole) + two * np.exp(second - whole))
            if not (risen > found).any():
                break
            found = np.maximum(found, risen)
        return found

    def noise_cells(self, edges: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `NoiseLoss`."""
        return _cells(edges)

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `KnownLoss`."""
        z = edges / self.mu
        return CellMasses(_cells(z - self.mu / 2), _cells(z + self.mu / 2), -math.inf, -math.inf)

    def _log_delta(self, epsilon: float) -> float:
        x = epsilon / self.mu - self.mu / 2
        if math.isinf(x):
            return -math.inf if x > 0 else 0.0
        if x < -1.5:
            return self._far_below(epsilon, x)
        if x > _FAR:  # R(x) is 1/x, but for less than its rounding
            gap = math.log(self.mu) - math.log(x) - math.log(x + self.mu)
        elif self.mu < 0.5 * max(1.0, x):
            gap = math.log(_integral(x, self.mu))
        else:
            gap = math.log(_mills(x) - _mills(x + self.mu))
        return min(0.0, gap - x * x / 2 - _HALF_LOG_TWO_PI)

    def _far_below(self, epsilon: float, x: float) -> float:
        """1 - e**epsilon Phi(-x - mu)/Phi(-x), times Phi(-x), which is nearly 1."""
        above, y = float(log_ndtr(-x)), x + self.mu
        far = math.log(_mills(y)) - x * x / 2 - _HALF_LOG_TWO_PI if y > 0 else epsilon + float(log_ndtr(-y))
        lacking = float(np.logaddexp(log_ndtr(x), far))  # ln(1 - delta): a sum, with its own digits
        if lacking < _LITTLE:
            return log1mexp(lacking)
        if self.mu < 0.5:
            u = x + self.mu * (_NODES + 1) / 2
            ratio = epsilon - float(np.exp(-u * u / 2 - _HALF_LOG_TWO_PI - log_ndtr(-u)) @ _WEIGHTS) * self.mu / 2
        elif y <= 0:
            ratio = epsilon + float(log_ndtr(-y)) - above
        else:
            ratio = math.log(_mills(y)) - x * x / 2 - _HALF_LOG_TWO_PI - above
        return above + math.log(-math.expm1(ratio))


def _mills(x: float) -> float:
    """Phi(-x)/phi(x)."""
    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


def _integral(start: float, length: float) -> float:
    """The integral of 1 - u R(u) over [start, start + length], a short range, by Gauss-Legendre quadrature."""
    u = start + length * (_NODES + 1) / 2
    near = 1 - u * math.sqrt(math.pi / 2) * erfcx(u / math.sqrt(2))
    if start + length < 3:
        return float(near @ _WEIGHTS) * length / 2
    tail = np.maximum(u, 3.0)
    fraction = tail.copy()  # 1/R(u) = u + 1/(u + 2/(u + 3/...)), of which u R(u) = 1 - R(u) (1/(u + ...))
    for order in range(120, 1, -1):
        fraction = tail + order / fraction
    far = 1 / (tail * fraction + 1)
    return float(np.where(u < 3, near, far) @ _WEIGHTS) * length / 2


def _cells(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln of the normal masses of (-inf, z_0], (z_0, z_1], ..., (z_last, inf)."""
    low, high = z[:-1], z[1:]
    flipped = low + high > 0  # the same mass on the other side, where both logarithms keep their digits
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    wide, middle = high - low, (low + high) / 2
    size = wide * np.maximum(1.0, np.abs(middle))  # by how much the density's logarithm bends within the cell
    if (size < _FINE).all():
        return np.concatenate([[log_ndtr(z[0])], _narrow(middle, wide, _FEW), [log_ndtr(-z[-1])]])
    inner = np.empty_like(wide)
    for chosen, rule in ((size < _FINE, _FEW), ((size >= _FINE) & (size < 1), (_NODES, _WEIGHTS))):
        if chosen.any():
            inner[chosen] = _narrow(middle[chosen], wide[chosen], rule)
    rest = ~(size < 1)
    inner[rest] = _apart(low[rest], high[rest])
    return np.concatenate([[log_ndtr(z[0])], inner, [log_ndtr(-z[-1])]])


def _narrow(
    middle: NDArray[np.float64], wide: NDArray[np.float64], rule: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """ln of the masses of narrow cells: the density's integral, by Gauss-Legendre quadrature."""
    total = np.zeros_like(middle)
    for node, weight in zip(*rule, strict=True):
        away = wide * (node / 2)
        total += weight * np.exp(-away * (middle + away / 2))
    with np.errstate(divide="ignore"):
        return np.log(total * wide / 2) - middle * middle / 2 - _HALF_LOG_TWO_PI


def _apart(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln of the masses of wide cells below 0: the difference of two values of the distribution function."""
    upper = log_ndtr(high)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = upper + np.log(-np.expm1(log_ndtr(low) - upper))
    return np.where(upper > -math.inf, found, -math.inf)  # beyond 1e154 deviations


@dataclass(frozen=True)
class LaplaceLoss(NoiseLoss):
    """The loss of one number with Laplace noise, its own reverse.

    epsilon: sensitivity over scale, nats, > 0, finite. Raises ValueError for anything else.
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon must be > 0 and finite, got {self.epsilon!r}")

    def supremum(self) -> float:
        """See `PairLoss`."""
        return self.epsilon

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; both bounds are the same."""
        if epsilon >= self.epsilon:
            return -math.inf, -math.inf
        value = log1mexp(epsilon if epsilon <= -self.epsilon else (epsilon - self.epsilon) / 2)
        return value, value

    def transform(self) -> Transform:
        """See `KnownLoss`."""
        return LaplaceTransform(self.epsilon)

    def group(self, records: int) -> LaplaceLoss:
        """See `KnownLoss`: inputs `records` times as far apart."""
        return LaplaceLoss(records * self.epsilon)

    def divergence(self, alpha: float) -> Divergence:
        """See `PairLoss`."""
        return laplace_divergence(self.epsilon, alpha), True

    @property
    def shift(self) -> float:
        """See `NoiseLoss`."""
        return self.epsilon

    def at(self, reports: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `NoiseLoss`."""
        return np.clip(2 * reports + self.epsilon, -self.epsilon, self.epsilon)

    def report_of(
        self, other: float, log_own: NDArray[np.float64], log_other: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """See `NoiseLoss`: both losses rise by 2 a scale, from their least at minus the distances on."""
        found = np.logaddexp(log_own - self.epsilon, log_other - other) / 2
        # where the own loss is at its least, below -epsilon; elsewhere whatever it gives
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            farther = (log_other - other - np.log(-np.expm1(log_own + self.epsilon))) / 2
        found = np.where((found < -self.epsilon) & (self.epsilon < other), farther, found)
        return np.where(found < 0, found, math.inf)

    def noise_cells(self, edges: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `NoiseLoss`."""
        ends = np.concatenate([[-math.inf], edges, [math.inf]])
        sides = []
        for low, high in ((ends[:-1], ends[1:]), (-ends[1:], -ends[:-1])):
            start, end = np.maximum(low, 0.0), np.maximum(high, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                sides.append(np.where(end > start, np.log(-np.expm1(start - end)) - start, -math.inf))
        return np.logaddexp(*sides) - _LOG_TWO

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `KnownLoss`."""
        top = self.epsilon
        inner = np.concatenate([[-top], np.clip(edges, -top, top), [top]])
        with np.errstate(divide="ignore"):
            gaps = np.log(-np.expm1(-np.diff(inner) / 2)) - math.log(2)
        first, second = gaps + (inner[1:] - top) / 2, gaps - (inner[:-1] + top) / 2
        for loss in (top, -top):
            cell = int(np.searchsorted(edges, loss, side="left"))
            first[cell] = np.logaddexp(first[cell], math.log(0.5) + (0 if loss > 0 else -top))
            second[cell] = np.logaddexp(second[cell], math.log(0.5) - (top if loss > 0 else 0))
        return CellMasses(first, second, -math.inf, -math.inf)


@dataclass(frozen=True)
class TwoLaplaceLoss(KnownLoss):
    """The sum of two Laplace losses of epsilon/2, in closed form, its own reverse.

    With g = epsilon - level > 0, delta(level) = 1 - (1 + g/4) e**(-g/2) at a level >= 0.

    epsilon: of both, nats, > 0, finite.
    """

    epsilon: float

    def supremum(self) -> float:
        """See `PairLoss`."""
        return self.epsilon

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; both bounds are the same."""
        gap = self.epsilon - abs(epsilon)
        delta = -math.expm1(-gap / 2) - gap / 4 * math.exp(-gap / 2) if gap > 0 else 0.0
        if epsilon < 0:  # from the other order, which is the same
            delta = -math.expm1(epsilon) + math.exp(epsilon) * delta
        value = math.log(delta) if delta else -math.inf
        return value, value

    def reversed(self) -> TwoLaplaceLoss:
        """See `PairLoss`."""
        return self

    def summands(self) -> Sequence[tuple[KnownLoss, int]]:
        """See `KnownLoss`."""
        return ((LaplaceLoss(self.epsilon / 2), 2),)


_LARGEST_POWER = 300.0
_ROUNDING = 64 * EPS
_GAUSSIAN = 16 * EPS
"""Half of it is for a mu that is itself a rounded root of a sum of squares."""


@dataclass(frozen=True)
class GaussianTransform(Transform):
    """The transform of Gaussian noise.   mu: see `GaussianLoss`."""

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

    def log_limit(self, c: float) -> float:  # noqa: ARG002
        """See `Transform`: it decays to 0."""
        return -math.inf

    def log_tail_bound(self, c: float, y: float) -> float:
        """See `Transform`: |M| decreases in y."""
        half, size = self.mu * self.mu / 2, c * (c + 1)
        return half * (size * (1 + _ROUNDING) - y * y * (1 - _ROUNDING)) if half < math.inf else math.inf


@dataclass(frozen=True)
class LaplaceTransform(Transform):
    """The transform of Laplace noise.   epsilon: see `LaplaceLoss`."""

    epsilon: float

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`."""
        top = self.epsilon
        if (c + 1) * top > _LARGEST_POWER:
            return self._scaled(c, y)
        s = c + 1j * y
        z, a = s + 0.5, (c + 0.5) * top
        odd = math.sinh(a) * np.cos(y * top) + 1j * (math.cosh(a) * np.sin(y * top))
        between = math.exp(-top / 2) * odd / (2 * z) + math.expm1(-top) / 2
        ends = 0.5 * np.expm1(s * top) + 0.5 * math.exp(-top) * np.expm1(-s * top)
        return from_excess(ends + between, _ROUNDING * top * (1 + np.abs(s)) * math.exp(c * top))

    def log_limit(self, c: float) -> float:
        """See `Transform`: that of the two atoms."""
        return float(np.logaddexp(c * self.epsilon, -(1 + c) * self.epsilon)) - math.log(2)

    def log_tail_bound(self, c: float, y: float) -> float:
        """See `Transform`."""
        top = self.epsilon
        a, angle = (c + 0.5) * top, y * top
        if not 0 < y < math.inf or not a < math.inf:
            return math.inf
        apart = self._log_apart(c, y)
        if a > _LARGEST_POWER:
            return apart
        odd, even = math.sinh(a), math.cosh(a)
        near, start = 0.0, y
        if angle < math.pi / 2:
            near = math.hypot(odd, math.cos(angle)) + odd / (2 * c + 1)
            start = max(y, (math.pi - angle) / top)
        k = 1 / (2 * start)
        far = even + k * odd if k <= math.tanh(a) else math.sqrt((1 + k * k) * (1 + 2 * odd * odd))
        return min(apart, math.log(max(near, far)) - top / 2 + _ROUNDING * (1 + a + top))

    def _scaled(self, c: float, y: NDArray[np.float64]) -> Values:
        """The transform where e**(c e0) may overflow."""
        top, inverse = self.epsilon, 0.5 / (c + 0.5 + 1j * y)
        turned = np.exp(1j * (y * top))
        sums = 0.5 * turned * (1 + inverse) + 0.5 * math.exp(-(1 + 2 * c) * top) * np.conj(turned) * (1 - inverse)
        error = _ROUNDING * (1 + y * top) * (1 + np.abs(inverse))
        return from_scaled(sums, error, c * top)

    def _log_apart(self, c: float, y: float) -> float:
        """ln of a bound on |M| from y on, by the two parts one by one."""
        top = self.epsilon
        grown = math.sqrt(1 + (c + 0.75) / ((c + 0.5) ** 2 + y * y))
        size = 0.5 * grown + 0.5 * math.exp(-(1 + 2 * c) * top)
        return c * top + math.log(size) + _ROUNDING * (1 + c * top)
