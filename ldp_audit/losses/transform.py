r"""The moment-generating function of a privacy loss on a vertical line of the complex plane, with its error.

M(s) = E[e**(s L)], for s = c + i y with c >= 0; where it is finite, |M(s)| <= M(c).

Gaussian noise: ln M(s) = s (s + 1) mu**2 / 2.   Laplace noise, with t the pure epsilon and z = s + 1/2:

    M(s) = e**(-t/2) (cosh(z t) + sinh(z t) / (2 z)),

of which the excess over 1 is added up from parts that vanish with t, so that it keeps its digits for many tiny losses.
For large t it is e**(s t)/2 (1 + 1/(2 z)) + e**(-(1 + s) t)/2 (1 - 1/(2 z)), whose first factor may be taken out.

The decay of the latter. With a = Re z, S = sinh(a t), k = 1/(2 y) and x = Im z >= y, the squares of |cosh(z t)| and of
|sinh(z t)| are S**2 + cos(x t)**2 and S**2 + sin(x t)**2. So |cosh| + k |sinh| is concave in cos(x t)**2, and at most
cosh(a t) + k S where k <= tanh(a t), else ((1 + k**2)(1 + 2 S**2))**(1/2). Before x t = pi - y t, for y t < pi/2, a
better bound is |sin(x t)| >= sin(y t), and |sinh(z t)/z| <= sinh(a t)/a. And |1 + 1/(2 z)| falls with x, and
|1 - 1/(2 z)| is at most 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ldp_audit.losses.discrete_loss import LossAtoms

EPS = 2.0**-52

VAGUE = 1.0
"""An error of a logarithm from which on only a bound on the size is known."""
_LARGEST_POWER = 300.0
_ROUNDING = 64 * EPS
_GAUSSIAN = 16 * EPS
"""Half of it for a mu that is itself a rounded root of a sum of squares."""
_MOST_NUMBERS = 2**22
_FALLEN = 15.0
"""By how many nats |M| must fall for a line to have an end."""


class Values(NamedTuple):
    """ln M at some points, in any branch, and a bound on its errors; shape (m,) each.

    |M| is at most e**(Re log + error); where the error is below `VAGUE`, e**log is right up to a factor e**w, |w| at
    most the error.
    """

    log: NDArray[np.complex128]
    error: NDArray[np.float64]


class Transform(ABC):
    """M of one loss."""

    @abstractmethod
    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """ln M(c + i y).   y: >= 0, ascending, shape (m,).   None where it takes too many numbers, or is too large."""

    def about(self, c: float) -> float:
        """About ln M(c), for choosing tilts: no bound's truth rests on it. Infinite where it is not known."""
        return self.log_mean(c)

    def log_mean(self, c: float) -> float:
        """An upper bound of ln M(c); infinite where none is known. Of M(0), 0 but for the rounding of the masses."""
        found = self.at(c, np.zeros(1))
        value = math.inf if found is None else float(found.log[0].real) + float(found.error[0])
        return value if value == value else math.inf

    def decays(self) -> bool:
        """Whether M falls off along a line; for larger c it falls off less, if single losses are the largest."""
        return self.log_limit(0.0) < self.about(0.0) - _FALLEN

    @abstractmethod
    def log_beyond(self, c: float, y: float) -> float:
        """ln of an upper bound of |M(c + i x)| for all x >= y, for y >= 0; infinite where none is known."""

    @abstractmethod
    def log_limit(self, c: float) -> float:
        """About ln of what |M(c + i y)| does not fall below for large y, for choosing lines; minus infinity for 0."""


def from_excess(excess: NDArray[np.complex128], error: NDArray[np.float64]) -> Values:
    """The values 1 + excess, each excess right to the error."""
    real, imaginary = excess.real, excess.imag
    size = np.hypot(1 + real, imaginary)
    known = error < 0.25 * size
    with np.errstate(divide="ignore"):
        near = 0.5 * np.log1p(np.maximum(real * (2 + real) + imaginary**2, -1.0))
        height = np.where(size > 0.5, near, np.log(size))
    turn = np.arctan2(imaginary, 1 + real)
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = 1.5 * error / size + 4 * EPS * (np.abs(height) + np.abs(turn) + np.hypot(real, imaginary) / size)
        most = np.log(size + error)
    return Values(np.where(known, height + 1j * turn, most - VAGUE), np.where(known, wrong, VAGUE))


def from_scaled(sums: NDArray[np.complex128], error: NDArray[np.float64], top: float) -> Values:
    """The values e**top times these sums, each sum right to the error."""
    size = np.abs(sums)
    known = error < 0.25 * size
    with np.errstate(divide="ignore", invalid="ignore"):
        height = np.log(size)
        wrong = 1.5 * error / size + 4 * EPS * (np.abs(height) + abs(top) + 4)
        most = np.log(size + error)
    log = np.asarray(top + np.where(known, height + 1j * np.angle(sums), most - VAGUE), dtype=np.complex128)
    return Values(log, np.where(known, wrong, VAGUE))


@dataclass(frozen=True)
class GaussianTransform(Transform):
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

    def log_limit(self, c: float) -> float:  # noqa: ARG002
        """See `Transform`: it falls all the way."""
        return -math.inf

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`: it falls all the way."""
        half, size = self.mu * self.mu / 2, c * (c + 1)
        return half * (size * (1 + _ROUNDING) - y * y * (1 - _ROUNDING)) if half < math.inf else math.inf


@dataclass(frozen=True)
class LaplaceTransform(Transform):
    """M of Laplace noise.   epsilon: see `LaplaceLoss`."""

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
        """See `Transform`: that of the two single values."""
        return float(np.logaddexp(c * self.epsilon, -(1 + c) * self.epsilon)) - math.log(2)

    def log_beyond(self, c: float, y: float) -> float:
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
        """The values where e**(c t) may be too large a number."""
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


@dataclass(frozen=True, eq=False)
class AtomsTransform(Transform):
    """M of a loss with finitely many values, which need not decay along the line.

    The masses are assumed right to 2**-52 (64 + 4 |ln mass|) of themselves.

    atoms: no loss is infinite.   whole: whether the true masses add up to exactly 1.
    """

    atoms: LossAtoms
    whole: bool

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`."""
        losses, logs = self.atoms.losses, self.atoms.log_probabilities
        farthest = float(np.abs(losses).max())
        if y.size * losses.size > _MOST_NUMBERS or c * farthest > _LARGEST_POWER:
            return None
        masses, s = np.exp(logs), c + 1j * y
        found = (masses * np.expm1(s[:, None] * losses)).sum(axis=1)
        weights = masses * np.maximum(1.0, np.exp(c * losses)) * (64 + losses.size + 4 * np.abs(logs))
        # |e**(s l) - 1| <= |s l| e**max(0, c l)
        error = np.abs(s) * float((weights * np.abs(losses)).sum())
        if not self.whole:
            found = found + (math.fsum(masses) - 1)
            error = error + float((masses * (8 + 4 * np.abs(logs))).sum())
        return from_excess(found, 2 * EPS * error)

    def log_limit(self, c: float) -> float:
        """See `Transform`: it comes back to where it was, nearly."""
        return self.log_mean(c)

    def log_beyond(self, c: float, y: float) -> float:  # noqa: ARG002
        """See `Transform`: no more than M(c)."""
        return self.log_mean(c)


@dataclass(frozen=True, eq=False)
class SummedTransform(Transform):
    """The `Transform` of the sum.   parts: each loss's, and how many times it counts."""

    parts: Sequence[tuple[Transform, int]]

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`; the sum's logarithm is exact to a few digits of itself more than its parts."""
        logs, errors = np.zeros(y.size, dtype=np.complex128), np.zeros(y.size)
        for one, times in self.parts:
            found = one.at(c, y)
            if found is None:
                return None
            logs += times * found.log
            errors += times * (found.error + (4 + len(self.parts)) * EPS * np.abs(found.log))
        return Values(logs, errors)

    def about(self, c: float) -> float:
        """See `Transform`."""
        found = math.fsum(times * one.about(c) for one, times in self.parts)
        return found if found == found else math.inf

    def log_limit(self, c: float) -> float:
        """See `Transform`."""
        return math.fsum(times * one.log_limit(c) for one, times in self.parts)

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`."""
        found = math.fsum(times * one.log_beyond(c, y) for one, times in self.parts)
        return found if found < math.inf else math.inf
