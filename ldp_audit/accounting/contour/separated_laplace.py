r"""Laplace noise on a sample, so small that nearly each value shows whether the record was drawn: sums over how often.

A value whose loss z without sampling is below u has ln w within h of ln(1 - q), and one beyond v within h of ln q + z,
T h a trillionth of what tells one draw more from one less. Between u and v there is, with the record, the mass

    a = (1 - q) e**(-(u + t)/2)/2 + q e**((v - t)/2)/2   at most, of which (1 - q) e**(-(u + t)/2)/2 is not from it.

So with ideal losses, ln(1 - q), or with chance q instead ln q + t with chance 1/2, else that less twice an exponential
value, and D_T(epsilon) the ideal delta of T of them (`erlang_gains`, summed over how often the record was drawn),

    delta(epsilon) <= e**(T h) sum over i < n of (T a)**i/i! D_(T - i)(epsilon - T h - i ln w(v)) + (T a)**n/n!,
    delta(epsilon) >= (1 - m)**T (D_T(epsilon) - T (a - (1 - q) m) D_(T - 1)(epsilon - ln q - v)),

with m = e**(-(u + t)/2)/2, the first by how many of the values lie between, the second since ideal values below v count
for none. Back, from the data without the record, nearly all losses are -ln(1 - q), and none is larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.erlang_gains import MOST, ROUNDING, log_mean_gains
from ldp_audit.accounting.contour.transform import EPS
from ldp_audit.accounting.laws.binomial_sum import Binomial, log_sum_of_gains
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

Numbers = NDArray[np.float64]
Ends = tuple[float, float]

_CLOSE = 1e-12
"""How far all losses together may be from the ideal ones, in units of what a draw adds."""
_LOG_FEW = -5.0
"""ln of the most values between u and v that there may be on average."""
_MOST_BETWEEN, _NEGLIGIBLE = 60, 40.0
_DISTINCT = 16.0
"""Nats that a draw must add at least."""
_HIGH, _NEAR = 50.0, 1e-5
_MOST_TERMS = 512


@dataclass(frozen=True)
class SeparatedLaplace:
    """The sum of `times` equal losses of Laplace noise on a sample.

    epsilon: t, of the noise.   rate: with 0 < q < 1.   back: whether the losses are those from the data without the
    record.
    """

    epsilon: float
    rate: SamplingRate
    back: bool
    times: int

    def log_delta_bounds(self, epsilon: float) -> Ends | None:
        """ln of a lower and of an upper end of delta(epsilon); None where the noise is too large for it."""
        if self.back:
            return self._back(epsilon)
        return None if self._between is None or self._over(epsilon, self.times) <= 0 else self._forth(epsilon)

    def epsilon_near(self, log_delta: float) -> float:
        """About the level with this ln delta, for losses from the data with the record; NaN where that is not told."""
        low, high = max(0.0, self.times * self.rate.log_left_out), self.times * (self.epsilon + self.rate.log_drawn)
        if self.back or self._between is None:
            return math.nan
        middle, least = _NEAR * high, _NEAR * _NEAR * high
        while high - low > _NEAR * high + least:
            found = self._ideal(middle, self.times, 0.0, 0.0)
            if found is None:
                return math.nan
            low, high = (middle, high) if found[1] > log_delta else (low, middle)
            middle = (low + high) / 2
        return low

    @property
    def serves(self) -> bool:
        """Whether values show what was drawn."""
        return self._between is not None

    @property
    def _gap(self) -> float:
        """By how much the largest loss grows with each draw."""
        return self.epsilon + self.rate.log_drawn - self.rate.log_left_out

    @cached_property
    def _between(self) -> tuple[float, float, float] | None:
        """ln m, ln of the mass of the drawn values below v, and v; None where too many values lie between u and v."""
        if self._gap < _DISTINCT:
            return None
        odds, far = self.rate.log_left_out - self.rate.log_drawn, math.log(2 * self.times / (_CLOSE * self._gap))
        hidden, shown = -math.log(2) - (odds - far + self.epsilon) / 2, (odds + far - self.epsilon) / 2 - math.log(2)
        apart = -self.epsilon < odds - far and odds + far < self.epsilon
        log_between = math.log(self.times) + float(self._log_lost(hidden, shown))
        return (hidden, shown, odds + far) if apart and log_between < _LOG_FEW else None

    def _log_lost(self, hidden: float, shown: float) -> float:
        """ln a."""
        return float(np.logaddexp(self.rate.log_left_out + hidden, self.rate.log_drawn + shown))

    def _back(self, epsilon: float) -> Ends | None:
        top = -self.times * self.rate.log_left_out
        log_odds = self.rate.log_left_out - self.rate.log_drawn
        end = log_odds + math.log(_CLOSE * -self.rate.log_left_out)
        log_shown = math.log(self.times / 2) - (end + self.epsilon) / 2
        if log_shown > _LOG_FEW or not -self.epsilon < end < self.epsilon:
            return None
        slack = 8 * EPS * (abs(top) + abs(epsilon))
        low, high = (-math.expm1(min(0.0, epsilon - top + one)) for one in (_CLOSE * top + slack, -slack))
        log_low, log_high = (math.log(end) if end > 0 else -math.inf for end in (low, high))
        log_low += math.log1p(-math.exp(log_shown))
        return log_low * (1 + 4 * EPS) - 4 * EPS, log_high * (1 - 4 * EPS) + 4 * EPS

    def _forth(self, epsilon: float) -> Ends | None:
        hidden, shown, last = self._between or (0.0, 0.0, 0.0)
        close = _CLOSE * self._gap
        slack = 16 * EPS * (abs(epsilon) + self.times * -self.rate.log_left_out + self.epsilon - self.rate.log_drawn)
        ends = self._ideal(epsilon, self.times, slack, close)
        if ends is None:
            return None
        (low, high), most = ends, math.log(self.times) + self._log_lost(hidden, shown)
        least = float(self.rate.mixed(np.array(last))) * (1 + 8 * EPS)
        less = math.log(self.times) + self.rate.log_drawn + shown - low
        if less > -_NEGLIGIBLE:
            found = self._ideal(epsilon - self.rate.log_drawn - last, self.times - 1, slack, 0.0)
            less += 0.0 if found is None else found[1]
        kept = self.times * math.log1p(-math.exp(hidden)) * (1 + _CLOSE)
        low = low + math.log1p(-math.exp(less)) + kept - ROUNDING if less < 0 else -math.inf
        rest = 0.0
        for i in range(1, _MOST_BETWEEN):
            rest = i * most - math.lgamma(i + 1) + ROUNDING
            if rest < high - _NEGLIGIBLE or i == self.times:
                break
            more = self._ideal(epsilon - i * least, self.times - i, slack, close)
            high = float(np.logaddexp(high, rest + (0.0 if more is None else more[1])))
        return low, min(0.0, float(np.logaddexp(high, rest)) + close + ROUNDING)

    def _over(self, epsilon: float, times: int) -> float:
        """By how much the level is above the loss of no draw."""
        return epsilon - times * self.rate.log_left_out

    def _ideal(self, epsilon: float, times: int, slack: float, close: float) -> Ends | None:
        """ln of a lower end of D(epsilon + slack), an upper one of D(epsilon - slack - close); None for many terms."""
        over = self._over(epsilon, times) - slack - close
        if over <= 0 or not times:
            return -math.inf, 0.0
        first = max(1, math.ceil(over / self._gap))
        if first > min(times, MOST):
            return (-math.inf, -math.inf) if first > times else None
        last = first  # from which on the gain is as good as 1
        while last <= times and last * self._gap - over < 2 * (last + 12 * math.sqrt(last) + 120):
            last += 1
            if last - first > _MOST_TERMS or last > MOST:
                return None
        law = Binomial(times, _HIGH, self.rate.log_left_out)
        certain = log_sum_of_gains(law, last, _HIGH, 1.0) if last <= times else -math.inf
        counts = np.arange(first, last, dtype=np.float64)
        # of p and q, which are right to a few eps of themselves
        off = 16 * EPS * (1 - self.rate.log_left_out) * np.abs(law.away(first) + counts - first) + ROUNDING
        gaps = np.concatenate([counts * self._gap - over - 2 * slack - close, counts * self._gap - over]) / 2
        logs = np.full(gaps.size, -math.inf)
        if (gaps > 0).any():
            logs[gaps > 0] = log_mean_gains(np.tile(counts, 2)[gaps > 0], gaps[gaps > 0])
        lows, highs = logs.reshape(2, -1) + (law.log_terms(first, counts - first) if counts.size else 0.0)
        low, high = (float(np.logaddexp.reduce([certain, *one])) for one in (lows - off, highs + off))
        return low - ROUNDING, high + ROUNDING
