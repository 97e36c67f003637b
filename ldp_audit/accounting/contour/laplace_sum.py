r"""delta of a sum of Laplace noises' losses as a finite sum: of few noises, or of many next to their largest sum.

The loss t - 2 x of one noise has x = min(E, t) with chance 1/2, E exponential, else x = 0. So with I the law of 0, E
that of E and S that of t, and products for sums, the law of x is (I + E)/2 + e**-t S (I - E)/2: what of E lies beyond t
is S E e**-t. For T noises, with g = (T t - epsilon)/2 and the gains G_m of Erlang laws (`erlang_gains`)

    delta(epsilon) = 2**-T sum over i < g/t of C(T, i) e**(-i t) sum over m of c(i, m) G_m(g - i t),

where c(i, m) is the coefficient of z**m in (1 + z)**(T - i) (1 - z)**i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ldp_audit.accounting.contour.erlang_gains import MOST, log_gains

Numbers = NDArray[np.float64]

_MOST_TERMS = 4096
_FARTHEST = 1e5
_ROUNDING = 1e-11
"""Of ln of each term."""
_NEAR = 1e-6


@dataclass(frozen=True)
class LaplaceSum:
    """The sum of `times` losses of Laplace noise with the pure epsilon t, nats."""

    epsilon: float
    times: int

    @property
    def serves(self) -> bool:
        """Whether it tells levels next to the largest sum."""
        return self.times <= MOST

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
        gains = log_gains(np.array([float(gap - i * top) for i in range(steps + 1)]), self.times)
        for i in range(steps + 1):
            sizes, ways = _coefficients(self.times, i)
            chosen = float(gammaln(self.times + 1) - gammaln(i + 1) - gammaln(self.times - i + 1))
            logs.append(sizes + gains[:, i] + (chosen - i * self.epsilon - self.times * math.log(2)))
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
