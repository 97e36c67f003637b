r"""Gaussian noise on a sample, so small that each value shows whether the record was drawn: sums over how often it was.

Of T values, k of them drawn, the loss is k ln q + (T - k) ln(1 - q) plus that of k Gaussian noises, with the chance of
k drawn of T. So with delta_k the divergence of Gaussian noise of mu k**(1/2),

    delta(epsilon) = about sum over k of C(T, k) q**k (1 - q)**(T - k) delta_k(epsilon - k ln q - (T - k) ln(1 - q)).

Below u ln w is ln(1 - q) to within h, and beyond v it is ln q + z, for the noise's own loss z, with T h = 1e-20. The
values of the record that are not beyond v, and those without it that are not below u, have together the mass
m = (1 - q) Phi(-u) + q Phi(v - mu) each time. So delta is within T m of the sum, whose losses are right to T h. Back,
from the data without the record, all values are below u but for a mass of T Phi(-u), and the loss is -T ln(1 - q).

Where records are replaced (`SymmetricLoss`) the loss of a value that is not drawn is 0 and not ln(1 - q), but for those
above mu/2 and as many below, 2 T Phi(-mu/2) in all. Both ways are the same.

Another value beyond v only adds to the loss, so delta_k is at most delta_(k + 1)/(1 - Phi(v - mu)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

from ldp_audit.accounting.contour.transform import EPS
from ldp_audit.accounting.laws.binomial_sum import Binomial, log_sum_of_gains
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

Numbers = NDArray[np.float64]

_LOG_CLOSE = math.log(1e-20)
"""ln of how far all losses together may be from what they are taken for, nats."""
_CERTAIN, _FARTHEST = -9.0, 60.0
"""Deviations of a part's loss below its mean where its delta is as good as 1; and above, where it is negligible."""
_TOLD = 100.0
"""Deviations beyond which no delta_k is told."""
_MOST_TERMS = 2**18
_NEGLIGIBLE = 40.0
_LOG_HIDDEN = -30.0
"""ln of the most that values of the record that do not show it may be, all together."""
_HIGH = 50.0
_ROUNDING = 1e-11
"""Of the binomial probabilities and of delta_k."""
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class SeparatedLoss:
    """The sum of `times` equal losses of Gaussian noise on a sample.

    mu: of the noise.   rate: with 0 < q < 1.   back: whether the losses are those from the data without the record.
    symmetric: whether they are those of replaced records.
    """

    mu: float
    rate: SamplingRate
    back: bool
    times: int
    symmetric: bool = False

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float] | None:
        """ln of a lower and of an upper end of delta(epsilon); None where the noise is too large for it."""
        if self.back:
            return self._back(epsilon)
        found = self._summed(epsilon) if self._log_hidden[1] < _LOG_HIDDEN else None
        between = np.logaddexp(self.rate.log_left_out + self._log_hidden[0], self.rate.log_drawn + self._log_hidden[1])
        if found is None or between > found[0] - _NEGLIGIBLE:
            return None
        share = 2 * math.exp(float(between) - found[0])
        return found[0] - share, min(0.0, found[1] + share)

    def _back(self, epsilon: float) -> tuple[float, float] | None:
        top = -self.times * self.rate.log_left_out
        slack = math.exp(_LOG_CLOSE) + 8 * EPS * (abs(top) + abs(epsilon))
        low, high = (-math.expm1(min(0.0, epsilon - top + way * slack)) for way in (1, -1))
        if low <= 0 or self._log_hidden[0] > math.log(low) - _NEGLIGIBLE:
            return None
        return math.log(low) - 2 * math.exp(self._log_hidden[0] - math.log(low)), math.log(high) + 2 * EPS

    @cached_property
    def _log_hidden(self) -> tuple[float, float]:
        """ln of T Phi(-u) and of T Phi(v - mu)."""
        odds, far = self.rate.log_left_out - self.rate.log_drawn, 2 * math.log(self.times) - _LOG_CLOSE
        left, right = (self.mu / 2 + (odds + way * far) / self.mu for way in (-1, 1))
        hidden = math.log(2) + float(log_ndtr(-self.mu / 2)) if self.symmetric else float(log_ndtr(-left))
        return math.log(self.times) + hidden, math.log(self.times) + float(log_ndtr(right - self.mu))

    @property
    def _other(self) -> float:
        """The loss of a value that is not drawn."""
        return 0.0 if self.symmetric else self.rate.log_left_out

    def _summed(self, epsilon: float) -> tuple[float, float] | None:
        """ln of the ends of the sum; None where too many terms count, or no drawn value has so small a loss."""
        if epsilon < self.times * self._other or self._gap <= 0:
            return None
        first, last = (self._reached(epsilon, away) for away in (_FARTHEST, _CERTAIN))
        first = max(1, min(first, self.times) - 1)
        if last - first > _MOST_TERMS:
            return None
        law = Binomial(self.times, _HIGH, self.rate.log_left_out)
        certain = log_sum_of_gains(law, last, _HIGH, 1.0) if last <= self.times else -math.inf
        counts = np.arange(first, min(last, self.times + 1), dtype=np.float64)
        if not counts.size:
            return certain - _ROUNDING, certain + _ROUNDING
        lows, highs = self._log_deltas(epsilon, counts)
        # of p and q, which are right to a few eps of themselves
        chances = law.log_terms(first, counts - first)
        slack = 16 * EPS * (1 - self.rate.log_left_out) * np.abs(law.away(first) + counts - first)
        low = float(np.logaddexp.reduce([certain, *(chances + lows - slack)]))
        # fewer have no more than the first of these, but for what is hidden
        fewer = float(highs[0]) + 2 * math.exp(_LOG_HIDDEN) if first > 1 else -math.inf
        high = float(np.logaddexp.reduce([certain, *(chances + highs + slack), fewer]))
        return low - _ROUNDING, high + _ROUNDING

    @property
    def _gap(self) -> float:
        """By how much the mean loss grows with each value that is drawn."""
        return self.mu * self.mu / 2 + self.rate.log_drawn - self._other

    def _reached(self, epsilon: float, away: float) -> int:
        """The least k whose loss's mean is no more than so many deviations below epsilon; T + 1 if none is."""
        over = epsilon - self.times * self._other

        def reached(k: int) -> bool:
            return over - k * self._gap <= away * self.mu * math.sqrt(k)

        low, high = 0, self.times + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    def _log_deltas(self, epsilon: float, counts: Numbers) -> tuple[Numbers, Numbers]:
        """ln of a lower and of an upper end of delta_k for these k, rounding included."""
        size = self.mu * np.sqrt(counts)
        shift = counts * self.rate.log_drawn + (self.times - counts) * self._other
        x = (epsilon - shift) / size - size / 2
        above = log_ndtr(-x)
        mills = 0.5 * math.log(math.pi / 2) + np.log(erfcx((x + size) / math.sqrt(2)))
        ratio = mills - x * x / 2 - _HALF_LOG_TWO_PI - above
        told = (x < _TOLD) & (ratio < 0)
        ratio = np.where(told, ratio, -1.0)
        wrong = (math.exp(_LOG_CLOSE) + 8 * EPS * (abs(epsilon) + np.abs(shift) + counts * -self.rate.log_drawn)) / size
        slack = (np.abs(x) + 2) * (wrong + 4 * EPS * size) + 8 * EPS * (2 + x * x) / -np.expm1(ratio)
        less = np.log1p(-np.exp(ratio))
        return np.where(told, above + less - slack, -math.inf), above + np.where(told, less, 0.0) + slack
