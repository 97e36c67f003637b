r"""Counts of two-valued reports whose senders are split over the ends of the range: their hockey sticks, at any size.

Each other client sends 1 with probability high = t/(t+1), with low = 1/(t+1), or with 1/2; q is the law of their count,
T(k) its upper tail. For client 1 at high against low, with A = e**epsilon high - low and g = high - e**epsilon low,

    delta(epsilon) = max over k of  g q(k - 1) - (A - g) T(k),

as the loss rises with the count. q is a Poisson binomial, so log-concave: the best k follows the last mode of q tilted
by theta* = ln(A/g), which lies less than 1 from its mean (Darroch, "On the distribution of the number of successes in
independent trials", 1964). Under a tilt theta that has the cumulant function K,

    delta = A e**(K - theta k) v,   v = (sum over i of q_theta(i) w(i - k)),

    w(-1) = e**(theta - theta*),   w(d) = -(1 - e**-theta*) e**(-theta d) for d >= 0,   0 below -1.

v is a mean over the frequencies 2 pi s/N of the law's characteristic function, a product of powers, so its cost does
not grow with the number of clients. What is counted:

* N of them add up the masses N apart: w is repeated with that period. Beyond the reach of Bernstein's inequality there
  is at most e**-45 on either side; within it the repeated weights are below e**(-theta (N - reach)).
* Frequencies left out: |1 - p + p e**(iu)|**2 = 1 - 2 p (1 - p) (1 - cos u), so the product is below
  e**(-variance (1 - cos u)).
* Rounding: of logarithms, angles, and sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_EPS = 2.0**-52
_NEGLIGIBLE = 45.0
"""-ln of what may lie beyond the reach, and of a product that counts as 0."""
_AWAY = 3.0
"""Tilts move the mean by so many standard deviations at least, that weights fall off within the period."""
_SURE = 25.0
"""-ln of the chance that there are fewer coins in a block than are counted."""
_SELDOM = 0.1
"""Of the chance that a client sends no coin, below which it is told apart whether all do."""
_UNSURE = 1e-6
"""How far rounding may move a mean."""
_LARGE = 40.0

Numbers = NDArray[np.float64]


class _Tilt(NamedTuple):
    """One client under a tilt: at high, at low, and with a fair coin, shape (3,) each.

    gains: ln of the mean of e**(theta X), less theta times the tilted mean.   usual: the likelier report.
    rare: the tilted chance of the other one.   signs: 1 where that is a 1, else -1.
    Of many clients, sums of these lose no digits where their reports are nearly sure.
    """

    gains: Numbers
    usual: Numbers
    rare: Numbers
    signs: Numbers

    @property
    def variances(self) -> Numbers:
        """Of the report."""
        return self.rare * (1 - self.rare)


@dataclass(frozen=True)
class SplitCounts:
    """One level: 0 <= epsilon < epsilon0 <= 700, nats.

    Splits are columns: so many other clients at high, at low, and with a fair coin, shape (3, m).
    """

    epsilon0: float
    epsilon: float

    def log_delta(self, splits: Numbers) -> tuple[Numbers, Numbers]:
        """A lower and an upper end of ln delta for each split, shape (m,)."""
        p, q = self._chances
        widest = float(np.max((p * q) @ splits))
        theta = max(self._best, min(1.0, _AWAY / math.sqrt(widest)) if widest > 0 else 1.0)
        tilt = self._tilted(theta)
        # laws of like widths need the same frequencies
        sizes = np.floor(np.log2(1 + tilt.variances @ splits) / 2)
        low, high = np.empty(sizes.size), np.empty(sizes.size)
        for size in np.unique(sizes):
            low[sizes == size], high[sizes == size] = self._log_delta_of(splits[:, sizes == size], theta, tilt)
        return low, high

    def log_delta_of_blocks(self, least: Numbers, most: Numbers, others: int) -> tuple[Numbers, Numbers]:
        """For blocks, of all other clients from `least` to `most` at high: an upper end of ln delta for all splits.

        returns: with lower ends, which hold for blocks of one split.
        """
        if math.tanh(self.epsilon0 / 2) * others**1.5 <= 1:
            low, high = self.log_delta(np.array([least, others - least, np.zeros(least.size)]))
            return low, np.logaddexp(high, self._log_change(least, most, others))
        # What a block's splits share counts; of each other client, that it sends a fair coin with probability 2 low,
        # and its own end else, which is shown to the server, who then cannot tell less.
        free = most - least
        splits = np.array([least, others - most, _sure_coins(free, 2 * float(self._chances[0][1]))])
        low, high = self.log_delta(splits)
        own = math.tanh(self.epsilon0 / 2)  # the chance of its own end
        if own < _SELDOM and free.any():  # mostly all of them send coins
            some = free > 0
            log_all = free[some] * math.log1p(-own)
            _, all_coins = self.log_delta(np.array([least, others - most, free])[:, some])
            high[some] = np.logaddexp(log_all + all_coins, np.log(-np.expm1(log_all)) + high[some])
        # if there are fewer, as if there were none: v below 1, and k behind the mean
        splits[2] = 0.0
        none = self._log_scale + self._tilted(self._best).gains @ splits
        above = np.logaddexp(high, none - _SURE)
        return low, np.where(free > 0, above + 8 * _EPS * (1 + np.abs(above)), high)

    def _log_change(self, least: Numbers, most: Numbers, others: int) -> Numbers:
        """ln of how much larger delta may be for a split of a block than for its first one.

        From one to the next it grows by no more than (high - low)(g q'(k - 2) - A q'(k - 1)), where q' lacks the
        client that moves, and k is best after it: by no more than (high - low) A e**(K' - theta*(k - 1)) times the
        steepest step of q' tilted by theta*, which is at most pi/4 over its variance (by its transform).
        """
        tilt = self._tilted(self._best)
        ends = [np.array([one, others - one, np.zeros(one.size)]) for one in (least, most)]
        gains = np.maximum(*(tilt.gains @ one for one in ends)) + float(np.abs(tilt.gains).max())
        variance = np.minimum(*(tilt.variances @ one for one in ends)) - 0.25
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.log(most - least) + np.log(math.pi / 4 / np.where(variance > 0, variance, 0.0))
        change = self._log_scale + gains + self._best + math.log(math.tanh(self.epsilon0 / 2))
        return np.where(most > least, change + steps, -math.inf)

    def _log_delta_of(self, splits: Numbers, theta: float, tilt: _Tilt) -> tuple[Numbers, Numbers]:
        most, variance = splits.sum(axis=0), tilt.variances @ splits
        best = self._tilted(self._best)
        first = best.usual @ splits + np.floor((best.signs * best.rare) @ splits - _UNSURE) + 1
        first = np.clip(first, 1, most + 1)
        away = (first - tilt.usual @ splits) - (tilt.signs * tilt.rare) @ splits  # from the tilted mean
        reach = _NEGLIGIBLE / 3 + np.sqrt(_NEGLIGIBLE**2 / 9 + 2 * _NEGLIGIBLE * variance)
        left, right = float(np.max(reach + away)) + 3, float(np.max(reach - away)) + 3
        period = math.ceil(max(right, left + _NEGLIGIBLE / theta)) | 1
        values, error = self._values(theta, tilt, splits, away, period, float(variance.min()))
        repeated = -math.expm1(-self._best) * math.exp(-theta * (period - left)) / -math.expm1(-theta * period)
        error = error + repeated + 2 * math.exp(-_NEGLIGIBLE) * (math.exp(theta - self._best) + 3)
        steps = np.arange(3)[:, None]
        logs = self._log_scale + tilt.gains @ splits - theta * (away + steps)
        sizes = (np.abs(tilt.gains) + theta * tilt.rare) @ splits + abs(self._log_scale) + theta * (np.abs(away) + 2)
        slack = 8 * _EPS * (4 + sizes)
        with np.errstate(divide="ignore"):
            ends = (logs + way * slack + np.log(np.maximum(values + way * error, 0.0)) for way in (-1, 1))
            low, high = (np.where(first + steps <= most + 1, end, -math.inf).max(axis=0) for end in ends)
        return low, high

    @cached_property
    def _chances(self) -> tuple[Numbers, Numbers]:
        """Of 1 and of 0."""
        low = math.exp(-float(np.logaddexp(0.0, self.epsilon0)))
        high = 1 / (1 + math.exp(-self.epsilon0))
        return np.array([high, low, 0.5]), np.array([low, high, 0.5])

    @cached_property
    def _best(self) -> float:
        """theta* = ln(1 + (e**epsilon - 1)(1 + 1/t)/(1 - e**(epsilon - epsilon0)))."""
        left = -math.expm1(self.epsilon - self.epsilon0)
        if self.epsilon > 300:
            return self.epsilon + math.log1p(math.exp(-self.epsilon0)) - math.log(left)
        return math.log1p(math.expm1(self.epsilon) * (1 + math.exp(-self.epsilon0)) / left)

    @cached_property
    def _log_scale(self) -> float:
        """ln A = epsilon + ln((1 - e**-(epsilon0 + epsilon))/(1 + e**-epsilon0)), where nothing large cancels."""
        rest = -math.expm1(-(self.epsilon0 + self.epsilon))
        return self.epsilon + math.log(rest) - math.log1p(math.exp(-self.epsilon0))

    def _tilted(self, theta: float) -> _Tilt:
        p, q = self._chances
        rest = q * math.exp(-theta)
        rare = np.minimum(p, rest) / (p + rest)
        seldom = p <= rest  # a 1
        # ln(1 + p (e**theta - 1)), or what that lacks of theta, of which both are small
        with np.errstate(over="ignore"):
            grown = p * math.exp(theta / 2) * math.exp(theta / 2) if theta > _LARGE else p * math.expm1(theta)
        change = np.where(seldom, grown, q * math.expm1(-theta))
        logs = np.where(change > -0.5, np.log1p(np.maximum(change, -0.5)), np.log(p + rest))
        usual: Numbers = 1.0 - seldom.astype(np.float64)
        return _Tilt(logs + np.where(seldom, -theta, theta) * rare, usual, rare, np.where(seldom, 1.0, -1.0))

    def _values(
        self, theta: float, tilt: _Tilt, splits: Numbers, away: Numbers, period: int, variance: float
    ) -> tuple[Numbers, Numbers]:
        """v for three counts from mean + away on, shape (3, m), and bounds on its errors but for the period's."""
        half = (period - 1) // 2
        if variance > _NEGLIGIBLE / 2:
            half = min(half, math.ceil(math.acos(1 - _NEGLIGIBLE / variance) * period / (2 * math.pi)))
        turns = 2 * math.pi / period * np.arange(half + 1)
        lacks, sines = 2 * np.sin(turns / 2) ** 2, np.sin(turns)
        products = np.multiply.outer(2 * tilt.variances, lacks)
        sizes = 0.5 * np.log1p(-np.minimum(products, 1 - _EPS))
        angles = np.arctan2(np.outer(tilt.rare, sines), 1 - np.outer(tilt.rare, lacks)) - np.outer(tilt.rare, turns)
        angles *= tilt.signs[:, None]
        # the transform of w, with 1 - e**-iu = lacks + i sines
        excess = math.expm1(theta - self._best)
        weights = excess + lacks + 1j * sines
        weights /= -math.expm1(-theta) + math.exp(-theta) * (lacks + 1j * sines)
        weights *= np.where(turns > 0, 2.0, 1.0) / period
        amplitudes = np.exp(splits.T @ sizes)
        phases = splits.T @ angles - np.outer(away - 1, turns)
        real, imaginary = amplitudes * np.cos(phases), amplitudes * np.sin(phases)
        turned = [weights * np.exp(-1j * step * turns) for step in range(3)]
        values = np.array([real @ one.real - imaginary @ one.imag for one in turned])
        units = splits.max(axis=1) @ (np.abs(sizes) + np.abs(angles) + np.outer(tilt.rare, turns))
        units += 16 + (float(np.abs(away).max()) + 2) * turns
        error = amplitudes @ (np.abs(weights) * 4 * _EPS * units)
        if half < (period - 1) // 2:
            error = error + (excess + 2) / -math.expm1(-theta) * math.exp(-_NEGLIGIBLE)
        return values, error


def _sure_coins(free: Numbers, chance: float) -> Numbers:
    """So many of Bin(free, chance) there are but with probability e**-25, by Chernoff's bound and by Bernstein's."""
    spread = free * chance * max(0.0, 1 - chance)
    fewer = np.minimum(np.sqrt(2 * _SURE * free * chance), _SURE / 3 + np.sqrt(_SURE**2 / 9 + 2 * _SURE * spread))
    return np.maximum(0.0, np.floor(free * chance - fewer))
