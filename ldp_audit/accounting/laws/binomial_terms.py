"""ln of binomial probabilities, right to a few units in the last place of the probability itself, up to n = 10**18.

The logarithms of factorials would lose ten digits at n = 10**9. Loader's form (Fast and accurate computation of
binomial probabilities, 2000) has only small terms: with the deviance D(a, b) = a ln(a/b) + b - a,

    ln P(k) = s(n) - s(k) - s(n - k) - D(k, n p) - D(n - k, n q) + ln(n / (2 pi k (n - k))) / 2,

where s is the error of Stirling's formula. D depends on a - b, which is given by itself: at n = 10**18 no float k - n p
has a right digit, but k - n p can be known all the same.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_SMALL = 0.1

Numbers = NDArray[np.float64]


def log_binomial(k: Numbers, n: float, log_p: float, log_q: float) -> Numbers:
    """ln of C(n, k) p**k q**(n - k), shape of k; right to 1e-12 for n up to 10**6, less beyond, as n p is rounded.

    k: whole numbers in 0 .. n, as floats.   log_p, log_q: of p and of 1 - p.
    """
    return log_binomial_at(k, n - k, k - n * math.exp(log_p), n, log_p, log_q)


def log_binomial_at(k: Numbers, rest: Numbers, away: Numbers, n: float, log_p: float, log_q: float) -> Numbers:
    """The same with n - k and k - n p given too, each as right as can be; k need not be whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = stirling_error(np.array([n])) - stirling_error(k) - stirling_error(rest)
        inner = inner - _deviance(k, away, n * math.exp(log_p), math.log(n) + log_p)
        inner = inner - _deviance(rest, -away, n * math.exp(log_q), math.log(n) + log_q)
        inner = inner + 0.5 * np.log(n / (2 * math.pi * k * rest))
        # at the ends a power of one probability is all there is
        return np.where(k == 0, n * log_q, np.where(rest == 0, n * log_p, inner))


def stirling_error(n: Numbers) -> Numbers:
    """ln n! - ln(sqrt(2 pi n) (n / e)**n); 0 at n = 0, where nothing asks for it."""
    safe = np.maximum(n, 1.0)
    square = 1 / (safe * safe)
    series = np.zeros_like(safe)
    for coefficient in reversed(_SERIES):
        series = series * square + coefficient
    if np.min(safe) >= 16:
        return series / safe
    small = gammaln(safe + 1) - ((safe + 0.5) * np.log(safe) - safe + 0.5 * math.log(2 * math.pi))
    return np.where(safe < 16, small, series / safe)


def _deviance(a: Numbers, away: Numbers, b: float, log_b: float) -> Numbers:
    """a ln(a/b) + b - a, without cancellation where away = a - b is small."""
    v = np.clip(away / (a + b), -1.0, 1.0)
    square = v * v
    tail = np.zeros_like(v)
    for order in range(15, 0, -1):  # artanh's series: ln(a/b) = 2 (v + v**3/3 + ...)
        tail = tail * square + 1 / (2 * order + 1)
    near = away * v + 2 * a * v * square * tail
    if np.max(np.abs(v), initial=0.0) < _SMALL:
        return near
    far = a * (np.log(np.maximum(a, 1e-300)) - log_b) + b - a
    return np.where(np.abs(v) < _SMALL, near, far)
