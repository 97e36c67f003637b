"""The delta of a sum of noises by the integral of its moment-generating function: the reference for smooth sums.

With M(z) = E[e**(z L)] and any c > 0, delta(epsilon) is the integral of M(z) e**(-z epsilon) / (z (z + 1)) over the
line Re z = c, divided by 2 pi i. The trapezoid rule converges fast where M falls off along the line: for sums of many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Moments = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]

_NODES, _WIDTH = 2**16, 40.0


def gaussian_moments(mu: float) -> Moments:
    return lambda z: np.exp(mu * mu / 2 * z * (z + 1))


def laplace_moments(epsilon: float) -> Moments:
    def moments(z):
        ends = 0.5 * np.exp(z * epsilon) + 0.5 * np.exp(-(1 + z) * epsilon)
        return ends + np.exp(-epsilon / 2) / 2 * np.sinh((z + 0.5) * epsilon) / (z + 0.5)

    return moments


def exact_log_delta(parts: Sequence[tuple[Moments, int]], epsilon: float) -> float:
    """ln delta(epsilon), to about 1e-9, of the sum of these losses with their times."""

    def cumulant(c: float) -> float:
        return sum(times * math.log(moments(np.array([c + 0j]))[0].real) for moments, times in parts)

    def slope(c: float) -> float:
        return (cumulant(c * (1 + 1e-5)) - cumulant(c * (1 - 1e-5))) / (2e-5 * c)

    c = float(brentq(lambda c: slope(c) - epsilon, 1e-3, 100.0)) if slope(1e-3) < epsilon else 0.5  # type: ignore[arg-type]
    spread = (cumulant(c * 1.01) - 2 * cumulant(c) + cumulant(c * 0.99)) / (0.01 * c) ** 2
    top = _WIDTH / math.sqrt(spread)
    y = (np.arange(_NODES) + 0.5) * top / _NODES
    z = c + 1j * y
    size = sum(times * np.log(np.abs(moments(z))) for moments, times in parts)
    turn = sum(times * np.unwrap(np.angle(moments(z))) for moments, times in parts)
    values = np.exp(size - cumulant(c) + 1j * (turn - epsilon * y)) / (z * (1 + z))
    return cumulant(c) - c * epsilon + math.log(values.real.sum() * top / _NODES / math.pi)
