"""The probability that Laplace noise lies below some numbers and above others that carry Laplace noise themselves.

    ln of the integral of e**(-|x|/a) / (2 a) * product over i of F(s_i (x - k_i) / b) dx,   s_i = 1 or -1,

with F the distribution function of standard Laplace noise. The integrand is log-concave, so both tails are bounded by
its slope; between the points 0, k_i and k_i +- 40 b it is entire. Gauss's rule of 16 points is applied to pieces that
grow with the distance from these points, and on which its logarithm changes by about 2: it errs by less than 1e-14
there.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.loss import log_sum

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_FLAT = 40.0
"""Scales from a number beyond which its factor is a pure exponential, or 1, to 2e-18."""
_NEGLIGIBLE = 45.0
"""ln of the share that a tail left out has at most."""


def log_integral(signs: NDArray[np.float64], kinks: NDArray[np.float64], a: float, b: float) -> float:
    """See the module.   signs: 1 or -1, shape (n,).   kinks: shape (n,).   a, b: scales, > 0."""
    mode = _mode(signs, kinks, a, b)
    most = float(_logs(np.array([mode]), signs, kinks, a, b)[0])
    steepest = 1 / a + len(kinks) / b  # so the integral is at least 2 e**most / steepest, also beside the mode
    points = np.unique(np.concatenate([[0.0], kinks, kinks - _FLAT * b, kinks + _FLAT * b]))
    pieces = []
    for direction in (1.0, -1.0):
        x = mode
        while True:
            slope, rates = _slopes(x, signs, kinks, a, b)
            height = float(_logs(np.array([x]), signs, kinks, a, b)[0])
            if (
                -direction * slope > 0
                and height - math.log(-direction * slope) < most - math.log(steepest) - _NEGLIGIBLE
            ):
                break
            away = np.abs(x - kinks) / b
            step = min(
                1 / rates if rates else math.inf, float(np.min(b * (0.5 + 0.3 * away[away <= _FLAT]), initial=math.inf))
            )
            beyond = direction * (points - x)
            step = min(step, float(np.min(beyond[beyond > 0], initial=math.inf)))
            end = x + direction * step
            if end == x:  # a point within rounding of x
                end = math.nextafter(x, direction * math.inf)
            pieces.append((min(x, end), max(x, end)))
            x = end
    low, high = np.array(pieces).T
    half = (high - low)[:, None] / 2
    x, weights = (low[:, None] + half * (1 + _NODES)).ravel(), (half * _WEIGHTS).ravel()
    return log_sum(np.log(weights) + _logs(x, signs, kinks, a, b))


def _logs(
    x: NDArray[np.float64], signs: NDArray[np.float64], kinks: NDArray[np.float64], a: float, b: float
) -> NDArray[np.float64]:
    """ln of the integrand; shape of x, (m,)."""
    inside = signs * (x[:, None] - kinks) / b
    with np.errstate(under="ignore"):
        above = np.log1p(-np.exp(-np.abs(inside)) / 2)
    return np.where(inside < 0, inside - math.log(2), above).sum(axis=-1) - np.abs(x) / a - math.log(2 * a)


def _slopes(
    x: float, signs: NDArray[np.float64], kinks: NDArray[np.float64], a: float, b: float
) -> tuple[float, float]:
    """The derivative of the integrand's logarithm at x, and how fast the integrand changes other than by a power of e.

    That is the sum of the slopes of the factors that are no pure exponentials, and the size of all others' slope.
    """
    inside = signs * (x - kinks) / b
    with np.errstate(under="ignore"):
        decayed = np.exp(-np.maximum(inside, 0.0))
    each, near = decayed / (2 - decayed) / b, np.abs(inside) <= _FLAT
    smooth = float(signs[~near] @ each[~near]) - math.copysign(1 / a, x)
    return smooth + float(signs[near] @ each[near]), abs(smooth) + float(each[near].sum())


def _mode(signs: NDArray[np.float64], kinks: NDArray[np.float64], a: float, b: float) -> float:
    """Where the slope changes its sign, by bisection; somewhere near is enough."""
    low, high = min(0.0, float(kinks.min())) - a, max(0.0, float(kinks.max())) + a
    while _slopes(high, signs, kinks, a, b)[0] > 0:
        high += 2 * (high - low)
    while _slopes(low, signs, kinks, a, b)[0] < 0:
        low -= 2 * (high - low)
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if _slopes(middle, signs, kinks, a, b)[0] > 0 else (low, middle)
    return (low + high) / 2
