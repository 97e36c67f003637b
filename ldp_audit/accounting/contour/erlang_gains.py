r"""Gains of sums of the upper part of Laplace noise's loss: t - 2 E with chance 1/2, E exponential, else t.

For a sum of j such E, of the density x**(j - 1) e**-x/(j - 1)!, the mean of (1 - e**(-2 (g - x)))_+ is, for g >= 0,

    P(j + 1, g) + H_(j + 1),   H_n = e**(-2 g) integral of x**(n - 1) e**x/(n - 1)! from 0 to g = d_n F_n,

with d_n = g**n e**-g/n!, P(n, g) = d_n + d_(n + 1) + ..., and by parts F_n = 1 - g/(n + 1) F_(n + 1), F_0 = e**-g,
which is 1F1(1; n + 1; -g). Upwards that keeps its digits for n < g, downwards for n >= g. And P(n, g) = d_n K_n,
K_n = 1 + g/(n + 1) K_(n + 1), where it is too small for the incomplete gamma function.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln

Numbers = NDArray[np.float64]

ROUNDING = 1e-10
"""Of a mean gain's logarithm, for at most `MOST` losses."""
MOST = 1024
_TINY = 1e-200
_MORE = 60


def log_mean_gains(counts: Numbers, gaps: Numbers) -> Numbers:
    """ln of the mean of (1 - e**(level - L))_+ for L the sum of k losses, each t or t - 2 E, where k t - level = 2 g.

    counts: k, whole, 0 .. `MOST`, shape (m,).   gaps: g > 0, shape (m,).
    """
    most = int(counts.max(initial=0))
    n = np.arange(most + 2, dtype=np.float64)
    logs = _log_gains(gaps, n)
    chosen = gammaln(counts + 1) - gammaln(n[:-1, None] + 1) - gammaln(np.maximum(counts - n[:-1, None], 0) + 1)
    terms = np.where(n[:-1, None] <= counts, chosen + logs - counts * math.log(2), -math.inf)
    return np.minimum(0.0, np.logaddexp.reduce(terms, axis=0))


def _log_gains(gaps: Numbers, n: Numbers) -> Numbers:
    """ln of the mean gain for j = 0, ..., as many as n but one, shape (n - 1, m)."""
    steps = np.log(gaps)
    fractions, sums = _fractions(gaps, n.size)
    densities = n[:, None] * steps - gaps - gammaln(n[:, None] + 1)
    with np.errstate(divide="ignore"):
        above = np.log(gammainc(np.maximum(n[:, None], 1e-9), gaps))
        small = densities + np.log(sums)
        above = np.where((above > math.log(_TINY)) | (n[:, None] < gaps), above, small)
        return np.logaddexp(above, densities + np.log(fractions))[1:]


def _fractions(gaps: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """F_n, and K_n where n >= g, for n = 0, 1, ...; shape (size, m)."""
    last = int(max(size, gaps.max() + 10 * math.sqrt(gaps.max()))) + _MORE
    found, sums = np.empty((size, gaps.size)), np.ones((size, gaps.size))
    fraction, total = np.ones(gaps.size), np.ones(gaps.size)
    for n in reversed(range(last)):
        share = gaps / (n + 1)
        fraction = np.clip(1 - share * fraction, 0.0, 1.0)
        total = np.where(n >= gaps, 1 + share * total, 1.0)
        if n < size:
            found[n], sums[n] = fraction, total
    fraction = np.exp(-gaps)
    for n in range(size):
        found[n] = np.where(n < gaps, fraction, found[n])
        fraction = np.clip((1 - fraction) * ((n + 1) / gaps), 0.0, 1.0)
    return found, sums
