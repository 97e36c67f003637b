r"""Gains of sums of the upper part of Laplace noise's loss: t - 2 E with chance 1/2, E exponential, else t.

For a sum X of n such E, of the density x**(n - 1) e**-x/(n - 1)!, the gain next to the largest sum is, for g > 0,

    G_n(g) = E[(1 - e**(-2 (g - X)))_+] = d_(n + 1) (K_(n + 1) + F_(n + 1)),   d_n = g**n e**-g/n!.

Here K_n = 1 + g/(n + 1) K_(n + 1), and d_n K_n is the incomplete gamma function, which keeps its digits but where it is
too small. By parts F_n = 1 - g/(n + 1) F_(n + 1), F_0 = e**-g: that keeps them upwards for n < g, downwards for n >= g.
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
    n = np.arange(most + 1, dtype=np.float64)[:, None]
    chosen = gammaln(counts + 1) - gammaln(n + 1) - gammaln(np.maximum(counts - n, 0) + 1)
    terms = np.where(n <= counts, chosen + log_gains(gaps, most) - counts * math.log(2), -math.inf)
    return np.minimum(0.0, np.logaddexp.reduce(terms, axis=0))


def log_gains(gaps: Numbers, most: int) -> Numbers:
    """ln G_n for n = 0, ..., most, each right to 1e-11; shape (most + 1, m).   gaps: g > 0, up to 1e5, shape (m,)."""
    n = np.arange(1, most + 2, dtype=np.float64)[:, None]
    densities = n * np.log(gaps) - gaps - gammaln(n + 1)
    sums, fractions = _continued(gaps, most + 1)
    above = gammainc(n, gaps)
    with np.errstate(divide="ignore"):
        tails = np.where((above > _TINY) | (n < gaps), np.log(above), densities + np.log(sums))
        return np.logaddexp(tails, densities + np.log(fractions))


def _continued(gaps: Numbers, most: int) -> tuple[Numbers, Numbers]:
    """K_n, where n >= g, and F_n for n = 1, ..., most; shape (most, m)."""
    sums, fractions = np.ones((most + 1, gaps.size)), np.empty((most + 1, gaps.size))
    places = np.flatnonzero(gaps <= most)
    near, downwards = gaps[places], np.empty((2, most + 1, places.size))
    reach = float(near.max(initial=0.0))
    total = fraction = np.ones(near.size)
    last = max(most, math.ceil(reach + 10 * math.sqrt(reach))) + _MORE if near.size else -1
    for n in range(last, -1, -1):
        share = np.minimum(near / (n + 1), 1.0)  # for n < g nothing is asked
        total, fraction = 1 + share * total, 1 - share * fraction
        if n <= most:
            downwards[:, n] = total, fraction
    sums[:, places], fractions[:, places] = downwards
    fraction = np.exp(-gaps)
    for n in range(min(most + 1, math.ceil(gaps.max()))):
        fractions[n] = np.where(n < gaps, fraction, fractions[n])
        fraction = np.clip((1 - fraction) * ((n + 1) / gaps), 0.0, 1.0)
    return sums[1:], fractions[1:]
