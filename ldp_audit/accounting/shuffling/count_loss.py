"""The privacy loss of a count of upper reports among n clients: for others who are all alike, in closed form.

Client 1's report is an upper one with probability u under the first hypothesis and u' under the second (l = 1 - u and
l' = 1 - u'), each of the n - 1 others' with p, q = 1 - p. With B = Bin(n, p) the count's distributions are

    P(k) = B(k) (l (n - k)/q + u k/p) / n,   and Q(k) likewise,

as Bin(n - 1, p) at k and at k - 1 are B(k) (n - k)/(n q) and B(k) k/(n p). So P - e**epsilon Q is B times something
linear in k, and its positive part an expected excess: with a = (l - e**epsilon l')/q, b = (u - e**epsilon u')/p, and an
upper report that is likelier under the first hypothesis,

    delta(epsilon) = (b - a)/n E[(B - x)_+],   x = n p + n (e**epsilon - 1)/(b - a),   n - x = n b/(b - a).

The loss rises with the count, from ln(l/l') to ln(u/u'), and is epsilon at x. `event_count` lists the counts one by one
where they are few, and is this loss beyond. For reports of two values the count is a sufficient statistic.

For others whose chances are known one by one (`placed_count`), the loss at k is a function of q(k - 1)/q(k) for the
distribution q of their count (`anonymous_counts`), also where q(k) underflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.shuffling.anonymous_counts import (
    MOST_CLIENTS,
    Chance,
    checked_chances,
    count_masses,
    gap_of,
    hypotheses,
    loss_of_count,
    loss_of_neighbours,
    neighbouring_masses,
)
from ldp_audit.accounting.shuffling.expected_excess import Trials
from ldp_audit.losses.binomial import binomial_window
from ldp_audit.losses.discrete_loss import ZERO_LOSS, atoms_of
from ldp_audit.losses.loss import CellMasses, KnownLoss, log_delta_from_reversed, log_expm1
from ldp_audit.numerics import whole

_REACH = 800.0
"""Nats below the likeliest count's ln probability within which counts are added one by one; rarer ones by their
tails."""

_SMALL = 200.0

_ROUNDING, _ROUNDING_OF_LARGE, _OF_THE_LOGARITHM, _OF_THE_LEVEL = 1e-11, 1e-9, 2.0**-42, 2.0**-48
"""Both bounds are moved outwards by these: relative to delta, up to a million clients and beyond; relative to ln delta;
and relative to x, for its rounding."""

_ABOVE_NONE = 1 - 1e-12
"""Epsilons are moved no further down than this share of the mean, below which there is no count."""

Numbers = NDArray[np.float64]


class _Listed(NamedTuple):
    """Counts first .. last by themselves: ln of their masses under both hypotheses."""

    first: int
    last: int
    logs: tuple[Numbers, Numbers]


@dataclass(frozen=True)
class CountLoss(KnownLoss):
    """The loss of the count of upper reports of n clients.

    n: >= 2.   first, second: client 1's chances of an upper report.   others: each other client's; none is 0 or 1.
    gap: first.upper - second.upper, of which more digits may be known than the difference has; never 0.
    """

    n: int
    first: Chance
    second: Chance
    others: Chance
    gap: float

    def supremum(self) -> float:
        """See `PairLoss`: that of n upper reports, or of none."""
        return self._ends[1]

    def reversed(self) -> CountLoss:
        """See `PairLoss`: the hypotheses in the other order."""
        return CountLoss(self.n, self.second, self.first, self.others, -self.gap)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; the bounds differ by rounding."""
        least, largest = self._ends
        if epsilon >= largest:
            return -math.inf, -math.inf
        if epsilon <= least:
            return log_delta_from_reversed(epsilon, (-math.inf, -math.inf))
        above, gap, log_slope = self._levels(epsilon)
        shift = self._level_error(epsilon, above, gap)
        levels = np.array([above + shift, max(above - shift, -self.n * self._trials.p * _ABOVE_NONE)])
        gaps = np.array([gap - shift, min(gap + shift, float(self.n))])
        logs = self._trials.log_excess(levels, gaps) + log_slope
        margins = (_ROUNDING if self.n <= 10**6 else _ROUNDING_OF_LARGE) + _OF_THE_LOGARITHM * np.abs(logs)
        margins += 16 * math.ulp(largest) / (largest - epsilon)  # which may be rounded
        return float(logs[0] - margins[0]), min(0.0, float(logs[1] + margins[1]))

    def _level_error(self, epsilon: float, above: float, gap: float) -> float:
        """The rounding of x, which matters next to a count that is far likelier than the next larger one."""
        least, largest = self._ends
        error = _OF_THE_LEVEL * (1 + largest - least)
        if gap > abs(above):
            return abs(above) * error
        return gap * (error + 16 * math.ulp(largest) / (largest - epsilon)) + 4 * self.n * math.ulp(0.0)

    def masses(self, edges: Numbers) -> CellMasses:
        """See `KnownLoss`."""
        listed, cuts = self._listed, self._counts_up_to(edges)
        # the pieces between these counts lie in one cell, and are listed as a whole or not at all
        ends = np.unique(np.concatenate([[-1, self.n, listed.first - 1, listed.last], cuts]))
        cells = np.searchsorted(cuts, ends[1:], side="left")
        starts = np.searchsorted(cells, np.arange(edges.size + 1), side="left")
        logs = (self._added(np.append(self._pieces(ends, side), -math.inf), starts, cells) for side in (0, 1))
        return CellMasses(*logs, infinite=-math.inf, missing=-math.inf)

    @cached_property
    def _rising(self) -> tuple[Chance, Chance, Chance]:
        """The chances of the reports that are likelier under the first hypothesis: the upper, or the lower ones."""
        chances = self.first, self.second, self.others
        if self.gap > 0:
            return chances
        return tuple(Chance(one.lower, one.upper) for one in chances)  # type: ignore[return-value]

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """The least and the largest loss."""
        least, largest = self._losses(np.array([0.0, float(self.n)]))
        return float(least), float(largest)

    def _losses(self, counts: Numbers) -> Numbers:
        return loss_of_count(counts, self.n, *self._rising, abs(self.gap))

    @cached_property
    def _trials(self) -> Trials:
        _, _, others = self._rising
        return Trials(self.n, others.upper, others.lower)

    def _log_sides(self, epsilons: Numbers) -> tuple[Numbers, Numbers]:
        """ln(-a) and ln b, for levels within the ends."""
        (first, _, others), (least, largest) = self._rising, self._ends
        with np.errstate(divide="ignore"):
            a = log_expm1(epsilons - least) + math.log(first.lower) - math.log(others.lower)
            b = np.log(-np.expm1(epsilons - largest)) + math.log(first.upper) - math.log(others.upper)
        return a, b

    def _levels(self, epsilon: float) -> tuple[float, float, float]:
        """x - n p, n - x and ln((b - a)/n), for an epsilon between the extreme losses."""
        (first, _, others), (least, largest) = self._rising, self._ends
        if largest - least < _SMALL:  # where floats have room for all of it
            b = -first.upper * math.expm1(epsilon - largest) / others.upper
            a = -first.lower * math.expm1(epsilon - least) / others.lower
            return self.n * math.expm1(epsilon) / (b - a), self.n * (b / (b - a)), math.log((b - a) / self.n)
        log_a, log_b = (float(one[0]) for one in self._log_sides(np.array([epsilon])))
        log_both = float(np.logaddexp(log_a, log_b))
        size = math.log(-math.expm1(-abs(epsilon))) + max(0.0, epsilon) if epsilon else -math.inf
        above = math.copysign(math.exp(size - log_both + math.log(self.n)), epsilon)
        return above, self.n * math.exp(log_b - log_both), log_both - math.log(self.n)

    def _counts_up_to(self, edges: Numbers) -> NDArray[np.int64]:
        """The largest rising count whose loss is at most each edge; -1 where there is none."""
        least, largest = self._ends
        log_a, log_b = self._log_sides(np.clip(edges, least, largest))
        with np.errstate(over="ignore"):
            about = np.floor(self.n / (1 + np.exp(log_b - log_a)))
        found = np.full(edges.shape, -1, dtype=np.int64)
        for step in (-1, 0, 1):  # the loss at these decides
            counts = np.clip(about + step, 0, self.n)
            within = self._losses(counts) <= edges
            found = np.where(within, counts.astype(np.int64), found)
        return np.where(edges >= largest, self.n, np.where(edges < least, -1, found))

    @cached_property
    def _listed(self) -> _Listed:
        window = binomial_window(self.n, *self._trials.log_chances, _REACH)
        counts = window.counts
        return _Listed(int(counts[0]), int(counts[-1]), (self._log_masses(counts, 0), self._log_masses(counts, 1)))

    def _log_masses(self, counts: Numbers, side: int) -> Numbers:
        """ln of the probabilities of these rising counts under P, or under Q."""
        return self._trials.log_masses(counts) + self._log_weights(counts, side)

    def _log_weights(self, counts: Numbers, side: int) -> Numbers:
        one, others = self._rising[side], self._rising[2]
        return np.log((one.lower * (self.n - counts) / others.lower + one.upper * counts / others.upper) / self.n)

    def _pieces(self, ends: NDArray[np.int64], side: int) -> Numbers:
        """ln of the masses of counts between consecutive ends, the lower one left out."""
        listed = self._listed
        found = np.full(ends.size - 1, -math.inf)
        inside = (ends[:-1] >= listed.first - 1) & (ends[1:] <= listed.last)
        starts = ends[:-1][inside] + 1 - listed.first
        found[inside] = _log_sums(listed.logs[side], starts)
        for counted, rare in ((1, ends[:-1] >= listed.last), (0, ends[1:] < listed.first)):
            if rare.any():
                low, high = ends[:-1][rare], ends[1:][rare]
                near, far = (low + 1, high + 1) if counted else (self.n - high, self.n - low)
                found[rare] = _log_less(*(self._log_beyond(one, side, upper=bool(counted)) for one in (near, far)))
        return found

    def _log_beyond(self, counts: NDArray[np.int64], side: int, *, upper: bool = True) -> Numbers:
        """ln of the probability of at least `counts` upper reports; or of lower ones."""
        one, others = self._rising[side], self._rising[2]
        if not upper:
            one, others = Chance(one.lower, one.upper), Chance(others.lower, others.upper)
        trials = Trials(self.n - 1, others.upper, others.lower)
        among = [np.clip(counts + step, 1, self.n - 1).astype(np.float64) for step in (-1, 0)]
        logs = [trials.log_tail(asked) for asked in among]
        stays = np.where(counts > self.n - 1, -math.inf, math.log(one.lower) + logs[1])
        moves = math.log(one.upper) + np.where(counts > 1, logs[0], 0.0)
        beyond = np.where(counts > self.n, -math.inf, np.logaddexp(stays, moves))
        return np.where(counts > 0, beyond, 0.0)

    @staticmethod
    def _added(logs: Numbers, starts: NDArray[np.int64], cells: NDArray[np.int64]) -> Numbers:
        """The pieces' sums by cell; `starts` are the first of each, and those of a cell follow each other."""
        counts = np.diff(np.append(starts, cells.size))
        return np.where(counts > 0, np.logaddexp.reduceat(logs, starts), -math.inf)


def _log_sums(logs: Numbers, starts: NDArray[np.int64]) -> Numbers:
    """ln of the sums of e**logs from each start to the next one, or to the end."""
    if not starts.size:
        return np.empty(0)
    used = logs[starts[0] :]
    places = starts - starts[0]
    tops = np.maximum.reduceat(used, places)
    sizes = np.diff(np.append(places, used.size))
    return tops + np.log(np.add.reduceat(np.exp(used - np.repeat(tops, sizes)), places))


def _log_less(larger: Numbers, smaller: Numbers) -> Numbers:
    """ln(e**larger - e**smaller)."""
    with np.errstate(divide="ignore"):
        return larger + np.log(-np.expm1(np.minimum(smaller - larger, 0.0)))


MOST_LISTED = 20_000
"""The most clients whose counts are listed one by one."""


def event_count(n: int, first: Chance, second: Chance, others: Chance, gap: float) -> KnownLoss:
    """The loss of the count between client 1's two hypotheses.

    n: clients, >= 1.   first, second: client 1's chances of the event, in (0, 1).
    others: each of the n - 1 others', likewise.   gap: the first's chance less the second's: see `loss_of_count`.
    """
    if gap == 0:
        return ZERO_LOSS
    if n > MOST_LISTED:
        return CountLoss(n, first, second, others, gap)
    counts = np.arange(n + 1, dtype=np.float64)
    masses = Trials(n - 1, others.upper, others.lower).log_masses(counts[:-1]) if n > 1 else np.zeros(1)
    stays, moves = np.append(masses, -math.inf), np.insert(masses, 0, -math.inf)
    logs = np.logaddexp(stays + math.log(first.lower), moves + math.log(first.upper))
    return atoms_of(loss_of_count(counts, n, first, second, others, gap), logs)


def placed_count(n: int, epsilon: float, others: ArrayLike) -> KnownLoss:
    """The loss while client 1 is at the upper end of its range, against the lower one.

    n: clients, 1 .. 10**6.   epsilon: of one report, nats, > 0, at most 350.
    others: n - 1 chances of an upper report, one each, none between 0 and 1e-160; takes n**2 steps.
    Raises ValueError for anything else.
    """
    whole(n, "n", 1, MOST_CLIENTS)
    first, second = hypotheses(epsilon, "other end")
    chances = checked_chances(others, n - 1)
    unsure = chances[(chances > 0) & (chances < 1)]  # the server knows the other reports
    stays, moves, powers = neighbouring_masses(*count_masses(unsure))
    losses = loss_of_neighbours(stays, moves, first, second, gap_of(epsilon, "other end"))
    return atoms_of(losses, np.log(first.lower * stays + first.upper * moves) + math.log(2) * powers)
