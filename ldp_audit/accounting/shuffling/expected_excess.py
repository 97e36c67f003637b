"""The expected excess of a binomial count over a level, its tails and its masses.

The expected excess E[(B - a)_+] of B ~ Bin(c, p), for c up to 10**8. Let k be the first whole number above a, r = c -
k, f = k - a, q = 1 - p, and S the sum of P(B >= k) / P(B = k). Then

    E[(B - a)_+] / P(B = k) = q k - (a - c p) S    (De Moivre's identity for the mean deviation),

which loses z**2 in precision at z standard deviations. S is a hypergeometric sum, 2F1(1, -r; k + 1; -p/q), whose
continued fraction (Norlund's; Jones and Thron, "Continued fractions", 1980, section 6.1) is

    q k / S = d + e,   e = r p / (d + (1 + p) + 2 (r - 1) p / (d + 2 (1 + p) + 3 (r - 2) p / (d + 3 (1 + p) + ...)))

with d = k - c p, and positive terms alone. So the right side is S (e + f), and nothing cancels: this is used beyond one
standard deviation. The relative error is below 1e-12 for c up to 10**6 and below 1e-9 up to 10**8, and the logarithm's
rounding (compared with balls of 300 bits in the tests).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc

from ldp_audit.losses.binomial import log_binomial_at

_NEAR = 1.0
"""Standard deviations within which the identity is used."""

_ENOUGH, _MOST_TERMS, _TINY = 2e-15, 1000, 1e-300

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Trials:
    """The upper part of Bin(n, p).

    n: >= 1.   p, q: of a success and of a failure, both in (0, 1), so that neither loses digits.
    """

    n: int
    p: float
    q: float

    def log_excess(self, above: Numbers, gaps: Numbers) -> Numbers:
        """ln E[(B - a)_+] for levels a in [0, n], shape of both; -inf at n.

        above: a - n p.   gaps: n - a. Both differences keep their digits near the mean and near n.
        """
        above, gap = np.broadcast_arrays(np.asarray(above, dtype=np.float64), np.asarray(gaps, dtype=np.float64))
        near = gap > np.abs(above)  # counted from the mean, or from the top
        rest = np.where(near, self._rest_near(np.where(near, above, 0.0)), np.ceil(gap) - 1)
        inside = (gap > 0) & (rest >= 0)
        found = np.full(above.shape, -np.inf)
        if inside.any():
            near, above, gap, rest = near[inside], above[inside], gap[inside], rest[inside]
            ahead = np.where(near, self._ahead(rest), self.n * self.q - rest)
            over = np.where(near, ahead - above, gap - rest)
            logs = self._logs(rest, ahead)
            found[inside] = _log_excess(self.n - rest, rest, ahead, over, logs, self.p, self.q)
        return found

    def log_tail(self, counts: Numbers) -> Numbers:
        """ln P(B >= k) for whole numbers 1 .. n as floats, same shape."""
        rest = self.n - counts
        ahead = self._ahead(rest)
        far = ahead >= _NEAR * math.sqrt(self.n * self.p * self.q)
        found = np.empty(counts.shape)
        if far.any():
            k, r, d = counts[far], rest[far], ahead[far]
            found[far] = self._logs(r, d) + np.log(self.q * k / (d + _fraction(r, d, self.p)))
        if not far.all():
            found[~far] = np.log(_tail(counts[~far], rest[~far], self.p, self.q))
        return found

    def log_masses(self, counts: Numbers) -> Numbers:
        """ln P(B = k) for whole numbers 0 .. n as floats, same shape."""
        rest = self.n - counts
        return self._logs(rest, self._ahead(rest))

    def _logs(self, rest: Numbers, ahead: Numbers) -> Numbers:
        return log_binomial_at(self.n - rest, rest, ahead, float(self.n), *self.log_chances)

    @property
    def log_chances(self) -> tuple[float, float]:
        """ln p and ln q."""
        if self.p > 0.5:
            return math.log1p(-self.q), math.log(self.q)
        return math.log(self.p), math.log1p(-self.p)

    def _ahead(self, rest: Numbers) -> Numbers:
        """k - n p at k = n - rest."""
        whole, part = self._mean
        return part - (rest - whole) if self.p > 0.5 else ((self.n - whole) - rest) - part

    def _rest_near(self, above: Numbers) -> Numbers:
        """n - k of the first k above n p + above."""
        whole, part = self._mean
        if self.p > 0.5:
            return whole + np.ceil(part - above) - 1
        return (self.n - whole) - (np.floor(part + above) + 1)

    @cached_property
    def _mean(self) -> tuple[int, float]:
        """n p or n q, whichever is smaller, as a whole number and the fraction left."""
        mean = self.n * Fraction(min(self.p, self.q))
        return math.floor(mean), float(mean - math.floor(mean))


def _log_excess(k: Numbers, rest: Numbers, ahead: Numbers, over: Numbers, logs: Numbers, p: float, q: float) -> Numbers:
    """ln E[(B - a)_+].

    ahead: k - c p.   over: f = k - a.   logs: ln P(B = k).
    """
    far = (ahead >= _NEAR * np.sqrt((k + rest) * p * q)) | (rest == 0)
    found = np.empty(k.shape)
    part = _fraction(rest[far], ahead[far], p)
    found[far] = logs[far] + np.log(q * k[far] / (ahead[far] + part) * (part + over[far]))
    if not far.all():
        k, rest, ahead, over, logs = k[~far], rest[~far], ahead[~far], over[~far], logs[~far]
        found[~far] = np.log(q * k * np.exp(logs) - (ahead - over) * _tail(k, rest, p, q))
    return found


def _tail(k: Numbers, rest: Numbers, p: float, q: float) -> Numbers:
    """P(B >= k), from the smaller of the two chances, which has all digits."""
    return betainc(k, rest + 1, p) if p <= 0.5 else betaincc(rest + 1, k, q)


def _fraction(rest: Numbers, ahead: Numbers, p: float) -> Numbers:
    """e, by Lentz's method, whose steps multiply the value until they no longer change it."""
    value = np.full(rest.shape, _TINY)
    top, bottom = value.copy(), np.zeros(rest.shape)
    for term in range(1, _MOST_TERMS):
        numerator = p * term * np.maximum(rest + 1 - term, 0.0)
        bottom = 1 / (ahead + (1 + p) * term + numerator * bottom)
        top = ahead + (1 + p) * term + numerator / top
        value = value * (step := np.maximum(top * bottom, _TINY))
        if np.all(np.abs(step - 1) <= _ENOUGH):
            break
    return np.where(rest == 0, 0.0, value)
