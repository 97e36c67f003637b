r"""How far a fair coin's count exceeds a level in the mean: ln E[(B - a)_+] for B ~ Bin(c, 1/2), for c up to 10**8.

Let k be the first whole number above a, r = c - k, f = k - a, and S the sum of P(B >= k) / P(B = k). Then

    E[(B - a)_+] / P(B = k) = k/2 - (a - c/2) S    (De Moivre's identity for the mean deviation),

which loses z**2 in precision at z standard deviations. S is a hypergeometric sum, 2F1(1, -r; k + 1; -1), whose
continued fraction (Norlund's; Jones and Thron, "Continued fractions", 1980, section 6.1) is

    k / S = k - r + e,   e = 2 r / (k - r + 3 + 4 (r - 1) / (k - r + 6 + 6 (r - 2) / (k - r + 9 + ...))),

with positive terms alone. So with S = k / (k - r + e) the right side is S (e/2 + f), and nothing cancels: this is used
beyond one standard deviation. The relative error is below 1e-12 for c up to 10**6 and below 1e-9 up to 10**8, and the
logarithm's rounding (compared with balls of 300 bits in the tests).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from ldp_audit.accounting.laws.binomial_terms import stirling_error

_NEAR = 1.0
"""Standard deviations within which the identity is used."""

_ENOUGH, _MOST_TERMS, _TINY = 2e-15, 1000, 1e-300


def log_stop_loss(counts: NDArray[np.float64], gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln E[(Bin(c, 1/2) - a)_+], shape of both; -inf where the level is not below c.

    counts: whole numbers c >= 1 as floats.   gaps: c - a <= c/2, by which the level stays below its largest value: of a
    level that is nearly c the difference is what matters.
    """
    c, gap = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), np.asarray(gaps, dtype=np.float64))
    found = np.full(c.shape, -np.inf)
    inside = gap > 0
    if inside.any():
        c, gap = c[inside], gap[inside]
        rest = np.ceil(gap) - 1  # k = c - rest
        found[inside] = _log_mass(c, rest) + np.log(_mean_excess(c, gap, rest))
    return found


def _log_mass(c: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln P(B = c - rest) in Loader's form; with v = 1 - 2 rest/c the two deviances add up to a series in v**2."""
    k = c - rest
    v = (k - rest) / c
    square = v * v
    series = np.zeros_like(v)
    for order in range(14, 0, -1):
        series = series * square + 1 / (order * (2 * order - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        far = (1 + v) * np.log1p(v) + (1 - v) * np.log1p(-v)
        inner = -c / 2 * np.where(np.abs(v) < 0.1, series * square, far)
        inner = inner + stirling_error(c) - stirling_error(k) - stirling_error(rest)
        inner = inner + 0.5 * np.log(c / (2 * math.pi * k * rest))
    return np.where(rest == 0, -c * math.log(2), inner)


def _mean_excess(c: NDArray[np.float64], gap: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
    """E[(B - a)_+] / P(B = k)."""
    far = c / 2 - rest >= _NEAR * np.sqrt(c) / 2
    found = np.empty(c.shape)
    found[far] = _by_fraction(gap[far], rest[far], c[far])
    if not far.all():
        c, gap, rest = c[~far], gap[~far], rest[~far]
        tail = betainc(c - rest, rest + 1, 0.5) / np.exp(_log_mass(c, rest))
        found[~far] = (c - rest) / 2 - (c / 2 - gap) * tail
    return found


def _by_fraction(gap: NDArray[np.float64], rest: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    """S (e/2 + f); the fraction by Lentz's method, whose steps multiply the value until they no longer change it."""
    ahead = c - 2 * rest  # k - r
    value = np.full(c.shape, _TINY)
    top, bottom = value.copy(), np.zeros(c.shape)
    for term in range(1, _MOST_TERMS):
        numerator = 2 * term * np.maximum(rest + 1 - term, 0.0)
        bottom = 1 / (ahead + 3 * term + numerator * bottom)
        top = ahead + 3 * term + numerator / top
        value = value * (step := np.maximum(top * bottom, _TINY))
        if np.all(np.abs(step - 1) <= _ENOUGH):
            break
    return (c - rest) / (ahead + value) * (value / 2 + gap - rest)
