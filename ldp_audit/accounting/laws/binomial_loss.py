"""A loss of two values, T times: a binomial sum, exactly, for T up to 10**18.

If one report has the loss a with probability p and b < a with q = 1 - p under P, the sum of T independent ones is
T b + K (a - b) with K binomial, and

    delta(epsilon) = sum over k of C(T, k) p**k q**(T - k) (1 - e**(epsilon - T b - k (a - b)))_+.

Where the first positive term lies, and how far above epsilon its loss is, are exact: losses are the fractions that
their floats are. `binomial_sum` adds the terms. Randomised response on two values and the two-point mechanism have such
a loss, and it is the worst one of any pure epsilon (Kairouz, Oh, Viswanath, ICML 2015, Theorem 3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldp_audit.accounting.laws.binomial_sum import Binomial, log_sum_of_gains
from ldp_audit.accounting.laws.binomial_terms import log_binomial
from ldp_audit.accounting.laws.loss_atoms import LossAtoms

MOST_TIMES = 10**18
_MOST_FOR_A_HINT = 1e14  # beyond, cumulants of doubles have lost their digits
_MOST_STEPS, _MOST_ODDS, _NEAR = 40, 30.0, 1e-6
_NEAR_ONE, _MOST_LISTED = -1e-3, 1000
"""ln of a delta whose lack of 1 is asked instead, of so many losses at most."""


@dataclass(frozen=True)
class BinomialLoss:
    """The sum of `times` losses that each take the value `high` or `low`.

    high, low: nats, finite, low < 0 < high.   times: 1 .. 10**18. P and Q's probabilities follow from the two values,
    as both add up to 1. delta is right to 1e-12 of itself for the given losses, or ln delta to 3e-14 of itself where it
    is below -100; a unit in the last place of epsilon moves delta by more than that from about 10**12 times on. Raises
    ValueError for anything else.
    """

    high: float
    low: float
    times: int

    exact = True

    def __post_init__(self) -> None:
        if not all(isinstance(loss, int | float) for loss in (self.high, self.low)):
            raise ValueError(f"low < 0 < high must be finite losses, got low={self.low!r}, high={self.high!r}")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < 0 < self.high):
            raise ValueError(f"low < 0 < high must be finite losses, got low={self.low!r}, high={self.high!r}")
        if isinstance(self.times, bool) or not isinstance(self.times, int) or not 1 <= self.times <= MOST_TIMES:
            raise ValueError(f"times must be a whole number in 1 .. 10**18, got {self.times!r}")
        if math.isinf(self.times * (self.high - self.low)):
            raise ValueError(f"the sum of all losses must be in the range of floats, got {self!r}")

    def largest(self) -> float:
        """See `LossLaw`: every report has the larger loss. The exact product, rounded up."""
        exact = self.times * Fraction(self.high)
        nearest = float(exact)
        return nearest if nearest >= exact else math.nextafter(nearest, math.inf)

    def log_probability(self) -> tuple[float, float]:
        """ln P(high) and ln P(low) of one report: (1 - e**low) / (1 - e**(low - high)), and what it lacks of 1."""
        return self._law.logs

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`; both ends are the same."""
        value = self._log_delta(epsilon)
        return value, value

    def epsilon_near(self, log_delta: float) -> float:
        """About the level with this ln delta, nats: a hint for who looks for it, with no claim.

        That of the saddle point: with the mean K' and the variance K'' of the loss tilted by e**(s L),
        ln delta is about K - s K' - ln(s (1 + s)) - ln(2 pi K'')/2 at epsilon = K', which is solved for ln s by Newton.
        """
        (log_p, log_q), gap, times = self.log_probability(), self.high - self.low, float(self.times)
        if times > _MOST_FOR_A_HINT or abs(log_p - log_q) > _MOST_ODDS:
            return math.nan
        s = math.sqrt(-2 * min(log_delta, -1.0) / times) / (gap * math.exp((log_p + log_q) / 2))
        for _ in range(_MOST_STEPS):
            odds = log_p - log_q + s * gap
            if not (0 < s < math.inf and abs(odds) < _MOST_ODDS):
                return math.nan
            share = 1 / (1 + math.exp(-odds))
            mean, spread = (
                self.low + gap * share,
                times * share * (1 - share),
            )  # K''= spread gap**2, which may underflow
            cumulant = log_q + s * self.low - math.log1p(-share)
            curve = math.log(s * gap) + math.log1p(s) + math.log(2 * math.pi * spread) / 2
            excess = times * (cumulant - s * mean) - curve - log_delta
            step = excess / (spread * (s * gap) ** 2 + 1 + s / (1 + s))
            s *= math.exp(max(-1.0, min(1.0, step)))
            if abs(step) < _NEAR:
                return times * mean
        return math.nan

    def mirrored(self) -> BinomialLoss:
        """The loss of (Q, P)."""
        return BinomialLoss(-self.low, -self.high, self.times)

    def atoms(self) -> LossAtoms:
        """The losses one by one."""
        counts = np.arange(self.times + 1, dtype=np.float64)
        logs = log_binomial(counts, float(self.times), *self.log_probability())
        return LossAtoms(counts * self.high + (self.times - counts) * self.low, logs, log_missing=-math.inf)

    @cached_property
    def _law(self) -> Binomial:
        return Binomial(self.times, self.high, self.low)

    @cached_property
    def _atoms(self) -> LossAtoms:
        return self.atoms()

    def _log_delta(self, epsilon: float) -> float:
        if math.isinf(epsilon):
            return 0.0 if epsilon < 0 else -math.inf
        gap = Fraction(self.high) - Fraction(self.low)
        lowest = self.times * Fraction(self.low) - Fraction(epsilon)
        first = max(0, math.floor(-lowest / gap) + 1)
        if first > self.times:
            return -math.inf
        value = min(0.0, log_sum_of_gains(self._law, first, float(lowest + first * gap), float(gap)))
        if value > _NEAR_ONE and self.times <= _MOST_LISTED:  # what it lacks of 1 has its own digits there
            return min(0.0, self._atoms.log_delta_bounds(epsilon)[0])
        return value
