r"""delta of a sum of Laplace noises' losses as a finite sum: of few noises, or of many next to their largest sum.

The loss t - 2 x of one noise has x = min(E, t) with chance 1/2, E exponential, else x = 0. So with I the law of 0, E
that of E and S that of t, and products for sums, the law of x is (I + E)/2 + e**-t S (I - E)/2: what of E lies beyond t
is S E e**-t. For T noises, with g = (T t - epsilon)/2 and the gains of Erlang laws

    G_m(g) = E[(1 - e**(-2 (g - E_1 - ... - E_m)))_+] = d_(m + 1) (K_(m + 1) + F_(m + 1)),
    delta(epsilon) = 2**-T sum over i < g/t of C(T, i) e**(-i t) sum over m of c(i, m) G_m(g - i t),

where c(i, m) is the coefficient of z**m in (1 + z)**(T - i) (1 - z)**i. Here d_n = g**n e**-g/n!, and by parts
K_n = 1 + g/(n + 1) K_(n + 1) and F_n = 1 - g/(n + 1) F_(n + 1), F_0 = e**-g, so that d_n K_n is the incomplete gamma
function. F keeps its digits upwards for n < g and downwards for n >= g.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln

Numbers = NDArray[np.float64]

_MOST_TIMES, _MOST_TERMS = 1024, 4096
_FARTHEST = 1e5
_MORE = 60
_ROUNDING = 1e-11
"""Of ln of each term."""
_TINY = 1e-200
_NEAR = 1e-6


@dataclass(frozen=True)
class LaplaceSum:
    """The sum of `times` losses of Laplace noise with the pure epsilon t, nats."""

    epsilon: float
    times: int

    @property
    def serves(self) -> bool:
        """Whether it tells levels next to the largest sum."""
        return self.times <= _MOST_TIMES

    def tells(self, log_delta: float) -> bool:
        """Whether it tells the level >= 0 with this ln delta, and all above."""
        reach = min(2 * self.epsilon * (_MOST_TERMS // self.times - 1), 2 * _FARTHEST)
        found = self.log_delta_bounds(max(0.0, self.times * self.epsilon - reach))
        return found is not None and found[1] - found[0] < _NEAR and found[0] > log_delta

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float] | None:
        """ln of a lower and of an upper end of delta(epsilon); None where there are too many terms."""
        if not self.serves:
            return None
        top = Fraction(self.epsilon)
        gap = (self.times * top - Fraction(epsilon)) / 2
        if gap <= 0:
            return -math.inf, -math.inf
        steps = min(self.times, math.ceil(gap / top) - 1)
        if (steps + 1) * self.times > _MOST_TERMS or gap > _FARTHEST:
            return None
        logs, signs = [], []
        for i in range(steps + 1):
            sizes, ways = _coefficients(self.times, i)
            chosen = float(gammaln(self.times + 1) - gammaln(i + 1) - gammaln(self.times - i + 1))
            gains = _log_gains(float(gap - i * top), self.times)
            logs.append(sizes + gains + (chosen - i * self.epsilon - self.times * math.log(2)))
            signs.append(ways)
        terms = np.concatenate(logs)
        highest = float(terms.max())
        values = np.exp(terms - highest)
        total = float((values * np.concatenate(signs)).sum())
        wrong = _ROUNDING * float(values.sum())
        low, high = (highest + math.log(end) if end > 0 else -math.inf for end in (total - wrong, total + wrong))
        return low - _ROUNDING, min(0.0, high + _ROUNDING)


@lru_cache(maxsize=64)
def _coefficients(times: int, i: int) -> tuple[Numbers, Numbers]:
    """ln of the sizes and the signs of c(i, m) for m = 0, ..., T."""
    plain = [math.comb(times - i, m) for m in range(times - i + 1)] + [0] * i
    for _ in range(i):  # times 1 - z
        plain = [one - before for one, before in zip(plain, [0, *plain[:-1]], strict=True)]
    sizes = np.array([math.log(abs(one)) if one else -math.inf for one in plain])
    return sizes, np.array([(one > 0) - (one < 0) for one in plain], dtype=np.float64)


def _log_gains(gap: float, most: int) -> Numbers:
    """ln G_m for m = 0, ..., most."""
    n = np.arange(1, most + 2, dtype=np.float64)
    densities = n * math.log(gap) - gap - gammaln(n + 1)
    sums, fractions = _continued(gap, most + 1)
    above = gammainc(n, gap)
    with np.errstate(divide="ignore"):
        tails = np.where((above > _TINY) | (n < gap), np.log(above), densities + np.log(sums))
        return np.logaddexp(tails, densities + np.log(fractions))


def _continued(gap: float, most: int) -> tuple[Numbers, Numbers]:
    """K_n, where n >= g, and F_n for n = 1, ..., most."""
    last = max(most, math.ceil(gap + 10 * math.sqrt(gap))) + _MORE
    sums, fractions = np.ones(most + 1), np.empty(most + 1)
    total, fraction = 1.0, 1.0
    for n in range(last, -1, -1):
        if n < gap:
            break
        share = gap / (n + 1)
        total, fraction = 1 + share * total, 1 - share * fraction
        if n <= most:
            sums[n], fractions[n] = total, fraction
    fraction = math.exp(-gap)
    for n in range(min(most + 1, math.ceil(gap))):
        fractions[n] = fraction
        fraction = (1 - fraction) * (n + 1) / gap
    return sums[1:], fractions[1:]
