"""Renyi divergences from sums of positive terms, so that small losses keep their digits.

With c = alpha - 1 and M = E_P[e**(c L)] the divergence of order alpha is ln M / c. Small losses would cancel in that
formula. With g(x) = e**x - 1 - x >= 0,

    E_P[L] = E_P[g(-L)] + Q(outside the support of P),
    M - 1 = c E_P[L] + E_P[g(c L)],

which has positive terms alone, and is added up in logarithms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.loss import log_sum

_LITTLE = -40.0
"""ln of an x from which down ln(1 + x) is x to the last digit."""


def of_excess(log: float, c: float) -> float:
    """ln(M)/c from ln(M - 1), also where M - 1 overflows."""
    return math.exp(log - math.log(c)) if log < _LITTLE else float(np.logaddexp(0.0, log)) / c


def log_mean(losses: NDArray[np.float64], logs: NDArray[np.float64], log_missing: float) -> float:
    """ln E_P[L] for losses of these ln probabilities; with mass at infinity, ln of that plus its probability."""
    return log_sum(np.append(logs + log_gains(-losses), log_missing))


def laplace_divergence(epsilon: float, alpha: float) -> float:
    """The divergence of Laplace noise, nats.   epsilon: its pure epsilon, > 0 and finite.   alpha: >= 1, finite."""
    if alpha == 1:
        return math.exp(_log_gain(-epsilon))
    if math.isinf(alpha * epsilon):
        return epsilon
    parts = [math.log(alpha) + _log_gain((alpha - 1) * epsilon), math.log(alpha - 1) + _log_gain(-alpha * epsilon)]
    return of_excess(log_sum(np.array(parts)) - math.log(2 * alpha - 1), alpha - 1)


def log_gains(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(e**x - 1 - x), elementwise; -inf at 0."""
    series = np.ones_like(x)
    small = np.clip(x, -0.5, 0.5)
    for n in range(16, 2, -1):  # 1 + x/3 (1 + x/4 (1 + ...))
        series = 1 + small / n * series
    with np.errstate(divide="ignore", over="ignore"):
        near = 2 * np.log(np.abs(small)) - math.log(2) + np.log(series)
        above = np.maximum(x, 0.5)
        high = above + np.log1p(-(1 + above) * np.exp(-above))
        below = np.minimum(x, -0.5)
        low = np.log(np.expm1(below) - below)
    return np.where(np.abs(x) <= 0.5, near, np.where(x > 0, high, low))


def _log_gain(x: float) -> float:
    return float(log_gains(np.array([x]))[0])
