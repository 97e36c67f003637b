"""Sums of many losses with noise among them, by an inversion integral, in doubles.

With M(s) = E_P[e**(s L)] of the summed loss L and any c > 0,

    delta(epsilon) = (1/pi) Re of the integral over y > 0 of M(s) e**(-s epsilon) / (s (s + 1)), s = c + i y,

by the trapezoid rule through the saddle point c, whose step begins at c/6, or at the peak's width, and is halved until
the value stands. The ball's radius is a thousand times what rounding and the rule were seen to leave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from tests.truth.truths import Divergence, Outcomes

Cumulant = Callable[[NDArray[np.complex128]], Any]
"""ln E_P[e**(s L)] at complex s."""

_NODES, _MOST_NODES, _MOST_HALVINGS = 200, 40_000, 7
_AGREE, _CANCELLED, _SLACK, _SLACK_EACH = 1e-11, 1e-5, 1e-9, 2e-14
_LEAST = 1e-290
"""Below it doubles have lost digits, or are 0."""


@dataclass(frozen=True)
class SmoothSum(Divergence):
    """Cumulants and how often each counts.   noises: |M| of these falls fast along the line.
    others: losses with atoms, of which |M| may come back to M(c) again and again.
    """

    noises: tuple[tuple[Cumulant, int], ...]
    others: tuple[tuple[Cumulant, int], ...] = ()

    def at(self, gamma: arb) -> arb:
        low, high = self._bounds(float(gamma.log().mid()))
        count = sum(times for _, times in self.noises + self.others)
        return arb(low).union(arb(high)) * (1 + arb(0, _SLACK + count * _SLACK_EACH))

    def back(self) -> Divergence:
        raise NotImplementedError("the reversed sum has the reversed cumulants")

    def typical(self) -> float:
        """The mean of the loss and six standard deviations, about, nats."""
        step = 1e-3
        below, at, above = self._cumulant(np.array([-step, 0.0, step], dtype=complex)).real
        return float((above - below) / (2 * step) + 6 * math.sqrt(max(0.0, above + below - 2 * at)) / step)

    def _cumulant(self, s: NDArray[np.complex128]) -> Any:
        return _summed(self.noises, s) + _summed(self.others, s)

    def _bounds(self, epsilon: float) -> tuple[float, float]:
        """delta, twice; where the integral cannot be had, 0 and the lesser of 1 and Chernoff's M(c) e**(-c epsilon).

        Where epsilon is below the mean loss, along a line with -1 < c < 0: that integral is delta - 1.
        """
        step = 1e-4
        below, above = self._cumulant(np.array([-step, step], dtype=complex)).real
        near_one = above - below > 2 * step * epsilon
        place: Callable[[float], float] = (lambda z: -1 / (1 + math.exp(z))) if near_one else math.exp

        def height(z: float) -> float:
            c = place(z)
            return float(self._cumulant(np.array([complex(c)]))[0].real) - c * epsilon - math.log(abs(c * (c + 1)))

        found: Any = minimize_scalar(height, bounds=(-8.0, 7.0), method="bounded")
        c, top = place(float(found.x)), float(found.fun)
        nearest = min(abs(c), abs(c + 1))  # of the poles
        near = self._cumulant(c + nearest * np.array([-0.001, 0.0, 0.001], dtype=complex)).real
        spread = math.sqrt(max(0.0, near[0] + near[2] - 2 * near[1])) / (nearest * 0.001)
        step, before = min(nearest / 6, 1 / spread if spread > 0 else nearest), math.nan
        for halving in range(_MOST_HALVINGS):
            now = self._trapezoids(epsilon, c, step / 2**halving, top)
            if abs(now - before) < _AGREE * abs(now):
                value = now * math.exp(top)
                if near_one:
                    return 1 + value, 1 + value
                return (value, value) if value > _LEAST else (0.0, _LEAST)
            before = now
        return 0.0, 1.0 if near_one else min(1.0, math.exp(top) * c * (c + 1) + _LEAST)

    def _trapezoids(self, epsilon: float, c: float, step: float, top: float) -> float:
        """The integral over pi, in parts of e**top; not a number where too many nodes are needed, or terms cancel."""
        total, size = 0.0, 0.0
        most = float(_summed(self.others, np.array([complex(c)]))[0].real)
        for at in range(0, _MOST_NODES, _NODES):
            s = c + 1j * step * np.arange(at, at + _NODES)
            noise, pole = _summed(self.noises, s), s * (s + 1)
            terms = (np.exp(noise + _summed(self.others, s) - s * epsilon - top) / pole).real
            total += float(terms.sum()) - (0.5 * float(terms[0]) if at == 0 else 0.0)
            size += float(np.abs(terms).sum())
            ahead = np.exp(noise.real + most - c * epsilon - top) / np.abs(pole)
            if np.max(ahead) < 1e-16 * abs(total):
                return step * total / math.pi if abs(total) > _CANCELLED * size else math.nan
        return math.nan


def _summed(parts: Sequence[tuple[Cumulant, int]], s: NDArray[np.complex128]) -> Any:
    return sum((times * part(s) for part, times in parts), np.zeros_like(s))


def of_normal(mu: float) -> Cumulant:
    return lambda s: s * (s + 1) * mu * mu / 2


def of_laplace(shift: float) -> Cumulant:
    """E[e**(s L)] = (e**(s a) + e**(-(s + 1) a))/2 + the integral of e**((u - a)/2 + s u)/4 over -a < u < a."""

    def cumulant(s: NDArray[np.complex128]) -> Any:
        z = s + 0.5
        smooth = (1 - np.exp(-2 * z * shift)) / (4 * z)
        return (z - 0.5) * shift + np.log((1 + np.exp(-2 * z * shift)) / 2 + smooth)

    return cumulant


def of_outcomes(pair: Outcomes) -> Cumulant:
    logs = np.array([[float(p.log().mid()), float((p / q).log().mid())] for p, q in pair.pairs if not p.is_zero()])

    def cumulant(s: NDArray[np.complex128]) -> Any:
        top = float(logs[:, 1].max())
        return s * top + np.log(np.exp(logs[:, 0] + np.multiply.outer(s, logs[:, 1] - top)).sum(axis=-1))

    return cumulant


def of_sampled_normal(rate: float, mu: float, *, swapped: bool) -> Cumulant:
    """With r(x) = 1 - q + q e**(mu x - mu**2/2): E[r(N)**(s + 1)], or E[r(N)**-s], for a unit normal N.

    By the trapezoid rule over x: ln r is analytic nearer than pi/mu to the line, and its slope is at most mu, so that
    the step serves for mu Im s up to 300.
    """

    def cumulant(s: NDArray[np.complex128]) -> Any:
        power = -s if swapped else s + 1
        step = 2.0 ** math.floor(math.log2(min(0.02, 0.1 / mu)))  # so that no point of the grid is rounded
        x = step * np.arange(-14 // step, (14 + max(0.0, float(power[0].real)) * mu) // step)
        loss = np.logaddexp(math.log1p(-rate), math.log(rate) + mu * x - mu * mu / 2)
        logs = -x * x / 2
        logs -= math.log(float(np.exp(logs).sum()))  # they add up to 1 but for rounding
        exponents = np.multiply.outer(power, loss) + logs
        top = exponents.real.max(axis=-1)
        return top + np.log(np.exp(exponents - top[..., None]).sum(axis=-1))

    return cumulant
