"""Hiding among clones: a privacy loss of two counts that dominates every shuffled local randomizer.

Let R be a local randomizer with pure epsilon0, t = e**epsilon0; clients 2 .. n are fixed, and client 1 holds x or x'.

1. R(x) = t/(t+1) U + 1/(t+1) V and R(x') = 1/(t+1) U + t/(t+1) V for two distributions U and V (Kairouz, Oh, Viswanath
2015).
2. If every other R(z) >= r (R(x) + R(x')) = r (U + V), each other client sends U with probability r, V with probability
r, and something else otherwise. Given the numbers of U and V, the rest of the messages can be drawn without knowing
client 1's input. So the shuffled messages are a post-processing of the counts

       (A + D, C - A + 1 - D),   C ~ Bin(n - 1, 2 r),   A ~ Bin(C, 1/2),   D ~ Bernoulli(t/(t+1)) or (1/(t+1)).

`r = e**-epsilon0 / 2` holds for every R, as R(z) >= e**-epsilon0 max(R(x), R(x')): Feldman, McMillan, Talwar (2021),
Theorem 3.1. `r = 1/(t+1)` needs (t+1) R(z) >= R(x) + R(x'), which holds for randomised response: Feldman, McMillan,
Talwar (2023). That paper first stated it for every R; its erratum (arXiv 2208.04591) withdraws this, as step 2 fails
where client 1 itself may send a message common to x and x'.

`CountedPair` has one parameter more: client 1 sends U and V with probabilities s t and s (or s and s t) and otherwise a
third message that the others send too. With s = r = 1/(t + k - 1) this is the histogram of k-ary randomised response
with all others at one third value: an observer really sees it, so it is a lower bound.

With counts (a, b) and c = a + b, both distributions are a multinomial one times something linear in (a, b), so that the
hockey stick is a sum of expected excesses of fair coins, which `expected_excess` computes to the last digits:

    delta(epsilon) = 2 s (t - 1)(1 + e**epsilon) sum over C of P(C) E[(Bin(c, 1/2) - a_c)_+] / c,   c = C + 1,
    a_c = c/2 (1 + tanh(epsilon/2)/tanh(epsilon0/2)) + tanh(epsilon/2) w (n - c)/(t - 1),
    w = (1 - s (t + 1)) r / (s (1 - 2 r)).

Of many totals, runs of neighbours are bounded together: E[(S/2 - x)_+] grows with the steps of the random walk S
(Jensen) and falls in x, so that its values at a run's two ends are bounds for all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.shuffling.anonymous_counts import Chance
from ldp_audit.accounting.shuffling.count_loss import event_count
from ldp_audit.accounting.shuffling.expected_excess import log_fair_excess
from ldp_audit.losses.binomial import binomial_window
from ldp_audit.losses.hulls import chord_levels, chord_loss
from ldp_audit.losses.loss import KnownLoss, PairLoss, log_delta_from_reversed, log_sum
from ldp_audit.numerics import log1mexp, whole

MOST_CLIENTS = 10**8
MOST_EPSILON = 700.0
ROUNDING, ROUNDING_OF_LARGE = 1e-11, 1e-8
"""The relative amount by which both bounds are moved outwards, up to a million clients and beyond: ten times the error
of an excess."""
_OF_THE_LOGARITHM = 16 * 2.0**-52
"""And the amount relative to ln delta, against the rounding of a large logarithm."""

_CELLS, _FEWER_CELLS = 1024, 128
"""Up to four times this number of totals C are evaluated one by one; more are bounded in this number of runs. A loss
that dominates takes fewer."""

_ALL = 4096
"""Up to this n all totals are kept."""

_FIRST_REACH, _FARTHER, _LAST_REACH, _UNSEEN = 45.0, 3.0, 3000.0, 30.0
_DENSE, _SPARSE, _AT_ONCE = 180, 240, 16
_FEW, _BELOW_LARGEST = 40, 1 - 1e-9
"""Up to _FEW clients a loss that dominates has the pair's own values, but for those next to the supremum."""


@dataclass(frozen=True)
class CountedPair(PairLoss):
    """The loss of the pair of distributions of the two counts, its own reverse.

    epsilon0: nats, > 0, at most 700.   n: clients, 2 .. 10**8.
    log_clone: ln r, of each other client's chance of a U, and of a V.   log_no_clone: ln(1 - 2 r).
    log_share: ln s.   log_common: ln(1 - s (t + 1)), of client 1's third message; -inf where there is none.
    """

    epsilon0: float
    n: int
    log_clone: float
    log_no_clone: float
    log_share: float
    log_common: float = -math.inf

    def supremum(self) -> float:
        """See `PairLoss`: epsilon0, where nobody else sent U or V."""
        return self.epsilon0

    def reversed(self) -> CountedPair:
        """See `PairLoss`: the same."""
        return self

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; the bounds differ by 2e-11 of themselves up to n = 10**4, by about 1e-4 at 10**8.

        For very many clients the upper bound stays above e**-3000.
        """
        if epsilon < 0:
            return log_delta_from_reversed(epsilon, self.log_delta_bounds(-epsilon))
        if epsilon >= self.epsilon0:
            return -math.inf, -math.inf
        reach, low = _FIRST_REACH, math.nan
        while True:
            window = self._window(reach, _CELLS)
            low, high = (float(self._sums([epsilon], window, end)[0]) for end in (0, 1))
            if window.log_missed < low - _UNSEEN or reach > _LAST_REACH:
                break
            reach = _next_reach(reach, low)
        low = low if low > -math.inf else self._extreme_total(epsilon)
        margin = self._margin(low, epsilon)
        return low - margin, min(0.0, float(np.logaddexp(high, window.log_missed)) + margin)

    def log_deltas_above(self, levels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Upper bounds of ln delta from fewer runs, in a fraction of the time.

        levels: epsilons, ascending, 0 .. epsilon0, which is left out, shape (m,).
        """
        parts = [self._few_above(part.tolist()) for part in np.split(levels, range(_AT_ONCE, levels.size, _AT_ONCE))]
        return np.array([value for part in parts for value in part])

    def _few_above(self, levels: list[float]) -> list[float]:
        found, left, reach = dict.fromkeys(levels, 0.0), levels, _FIRST_REACH
        while left:
            window, following = self._window(reach, _FEWER_CELLS if self.n > _ALL else _CELLS), math.inf
            sums, ahead = self._sums(left, window, 1), []
            for level, high in zip(left, sums.tolist(), strict=True):
                if window.log_missed < high - _UNSEEN or reach > _LAST_REACH:
                    found[level] = min(0.0, float(np.logaddexp(high, window.log_missed)) + self._margin(high, level))
                else:
                    ahead.append(level)
                    following = min(following, _next_reach(reach, high))
            left, reach = ahead, following
        return list(found.values())

    def _margin(self, log_delta: float, epsilon: float) -> float:
        least = 4 * math.ulp(0.0) / self._share(epsilon)  # of a share below the range of floats with all digits
        return (ROUNDING if self.n <= 10**6 else ROUNDING_OF_LARGE) + _OF_THE_LOGARITHM * abs(log_delta) + least

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`."""
        return None if end is None else self._dominating if end else self._one_count

    @cached_property
    def _dominating(self) -> KnownLoss:
        if self.n <= _FEW:
            levels = self._own_levels()
        else:
            about = self._one_count
            levels = chord_levels(lambda level: about.log_delta_bounds(level)[1], self.epsilon0, _DENSE, _SPARSE)
        return chord_loss(levels, np.append(self.log_deltas_above(levels[:-1]), -math.inf))

    def _own_levels(self) -> NDArray[np.float64]:
        """The pair's own losses from 0 on, without those next to others: between them the profile equals its chords."""
        counts = np.arange(self.n + 1, dtype=np.float64)
        u, v = (one.ravel() for one in np.meshgrid(counts, counts))
        u, v = u[(v < u) & (u + v <= self.n)], v[(v < u) & (u + v <= self.n)]
        apart, rare = -math.expm1(-self.epsilon0), math.exp(-self.epsilon0)
        losses = np.log1p((u - v) * apart / (v + rare * u + self._third_weight() * apart * (self.n - u - v)))
        return np.unique(np.concatenate([[0.0], losses[losses < _BELOW_LARGEST * self.epsilon0], [self.epsilon0]]))

    @cached_property
    def _one_count(self) -> KnownLoss:
        """The loss of the count of U alone, a post-processing."""
        rare, clone, common = (math.exp(log) for log in (self.log_share, self.log_clone, self.log_common))
        likely, gap = math.exp(self.epsilon0 + self.log_share), math.exp(self._log_gap)
        first, second = Chance(likely, common + rare), Chance(rare, common + likely)
        return event_count(self.n, first, second, Chance(clone, clone + math.exp(self.log_no_clone)), gap)

    def _extreme_total(self, epsilon: float) -> float:
        """ln of the terms of no clone and of clones alone: above 0 where all runs' lower bounds may be 0."""
        totals = np.array([1.0, float(self.n)])
        chances = (self.n - 1) * np.array([self.log_no_clone, self.log_clone + math.log(2)]) - np.log(totals)
        return self._scale(epsilon) + log_sum(chances + log_fair_excess(totals, self._gaps(totals, epsilon)))

    def _sums(self, levels: list[float], window: RunsOfTotals, end: int) -> NDArray[np.float64]:
        """ln of the sums over the window's runs of totals, from below (0) or from above (1), at each epsilon."""
        totals = window.last if end else window.first
        gaps = np.array([self._gaps(totals, level) for level in levels])
        if not window.single:
            worse = np.minimum if end else np.maximum
            ends = [[c / 2 - self._gaps(c, level) for c in (window.first, window.last)] for level in levels]
            gaps = totals / 2 - np.array([worse(*one) for one in ends])
        terms = window.log_weights + log_fair_excess(np.broadcast_to(totals, gaps.shape), gaps)
        return np.array([self._scale(level) + log_sum(one) for level, one in zip(levels, terms, strict=True)])

    def _scale(self, epsilon: float) -> float:
        """ln of 2 s (t - 1)(1 + e**epsilon)."""
        return math.log(2) + self._log_gap + float(np.logaddexp(0.0, epsilon))

    @property
    def _log_gap(self) -> float:
        """ln(s (t - 1))."""
        return self.log_share + self.epsilon0 + log1mexp(-self.epsilon0)

    def _gaps(self, totals: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
        """c - a_c, without cancellation at large epsilon."""
        return self._share(epsilon) * totals - math.tanh(epsilon / 2) * self._third_weight() * (self.n - totals)

    def _share(self, epsilon: float) -> float:
        """1/2 - tanh(epsilon/2)/tanh(epsilon0/2)/2."""
        share = math.exp(-epsilon) * math.expm1(epsilon - self.epsilon0) / math.expm1(-self.epsilon0)
        return share / (1 + math.exp(-epsilon))

    def _third_weight(self) -> float:
        """w / (t - 1)."""
        ratio = self.log_common + self.log_clone - self.log_share - self.log_no_clone
        return math.exp(ratio) / math.expm1(self.epsilon0)

    @cached_property
    def _windows(self) -> dict[tuple[float, int], RunsOfTotals]:
        """The windows by reach and runs, cached: counting the totals takes longer than an epsilon."""
        return {}

    def _window(self, reach: float, cells: int) -> RunsOfTotals:
        """The totals within this reach of the likeliest one, in nats of ln probability, in runs."""
        if (reach, cells) not in self._windows:
            self._windows[reach, cells] = self._counted_out(reach, cells)
        return self._windows[reach, cells]

    def _counted_out(self, reach: float, cells: int) -> RunsOfTotals:
        chances = self.log_clone + math.log(2), self.log_no_clone
        totals, logs, missed = binomial_window(self.n - 1, *chances, reach, most=_ALL)
        totals, step = totals + 1, 1 if totals.size <= 4 * cells else -(-totals.size // cells)
        starts = np.arange(0, totals.size, step)
        last = totals[np.minimum(starts + step, totals.size) - 1]
        weights = np.logaddexp.reduceat(logs - np.log(totals), starts)
        return RunsOfTotals(totals[starts], last, weights, missed, step == 1)


class RunsOfTotals(NamedTuple):
    """Runs of totals c = C + 1.

    first, last: the ends of each run, shape (m,).   log_weights: ln of the sum of P(C)/c over it.
    log_missed: ln of an upper bound on the probability of all other totals.   single: every run is one total.
    """

    first: NDArray[np.float64]
    last: NDArray[np.float64]
    log_weights: NDArray[np.float64]
    log_missed: float
    single: bool


def clones(epsilon0: float, n: int) -> CountedPair:
    """The pair that dominates n shuffled reports of any randomizer with pure epsilon0: r = e**-epsilon0 / 2.

    epsilon0: nats, > 0, at most 700.   n: 2 .. 10**8. Raises ValueError for anything else.
    """
    _check(epsilon0, n)
    return CountedPair(epsilon0, n, -epsilon0 - math.log(2), log1mexp(-epsilon0), _log_lie(epsilon0))


def stronger_clones(epsilon0: float, n: int) -> CountedPair:
    """The same with r = 1/(t+1), for randomizers with (t+1) R(z) >= R(x) + R(x') everywhere, for all x != x' and z."""
    _check(epsilon0, n)
    return CountedPair(epsilon0, n, _log_lie(epsilon0), math.log(math.tanh(epsilon0 / 2)), _log_lie(epsilon0))


def third_value(epsilon0: float, n: int, k: int) -> CountedPair:
    """The loss of k-ary randomised response while all others hold one value that client 1 never holds. k: >= 3."""
    _check(epsilon0, n)
    if not k >= 3:
        raise ValueError(f"k must be at least 3, got {k!r}")
    share = -float(np.logaddexp(math.log(k - 1), epsilon0))
    either = 2 * math.exp(share)
    rest = share + (float(np.logaddexp(math.log(k - 3), epsilon0)) if k > 3 else epsilon0)
    no_clone = math.log1p(-either) if either < 0.5 else rest
    return CountedPair(epsilon0, n, share, no_clone, share, share + math.log(k - 2))


def _check(epsilon0: float, n: int) -> None:
    if not 0 < epsilon0 <= MOST_EPSILON:
        raise ValueError(f"epsilon0 must lie above 0 and not above {MOST_EPSILON}, got {epsilon0!r}")
    whole(n, "n", 2, MOST_CLIENTS)


def _log_lie(epsilon0: float) -> float:
    """ln(1/(t + 1))."""
    return -float(np.logaddexp(0.0, epsilon0))


def _next_reach(reach: float, log_delta: float) -> float:
    """The first larger reach whose remainder is negligible beside this delta, or the last one."""
    reach *= _FARTHER
    while reach < _UNSEEN + 15 - log_delta and reach <= _LAST_REACH:
        reach *= _FARTHER
    return reach
