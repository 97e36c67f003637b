"""How often draws with replacement take one record: a binomial law, by few numbers of copies.

What many copies give away is never less than what fewer do, so numbers that are moved up bound from above, and numbers
that are moved down from below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.binomial_terms import log_binomial
from ldp_audit.accounting.laws.finite_losses import log_sum
from ldp_audit.accounting.laws.improper_loss import log_lacking
from ldp_audit.mechanisms.randomness import log_ratio

LOG_NEGLIGIBLE = -760.0
"""ln of a probability that no float holds."""

_MOST_LISTED = 20_000
_STEPS = 200
_CLOSE = 6.0
"""Up to so many deviations from their mean numbers are grouped about evenly, beyond as to their logarithm."""


@dataclass(frozen=True, eq=False)
class CopyCounts:
    """Numbers of copies and ln of their probabilities, shape (m,) each, ascending; from the first, 0 or more.

    log_more: ln of at least the probability of more copies than the last.   exact: whether no number was moved.
    """

    counts: NDArray[np.float64]
    logs: NDArray[np.float64]
    log_more: float
    exact: bool = False

    def cut(self, most: int) -> CopyCounts:
        """The same, without those above `most`, which is at least the first."""
        kept = self.counts <= most
        if kept.all():
            return self
        return CopyCounts(
            self.counts[kept], self.logs[kept], float(np.logaddexp(self.log_more, log_sum(self.logs[~kept])))
        )

    def moved_down(self, most: int) -> CopyCounts:
        """The same, those above `most` as that number."""
        counts = np.minimum(self.counts, most)
        first = int(np.searchsorted(counts, counts[-1]))
        last = log_sum(np.append(self.logs[first:], self.log_more))
        return CopyCounts(counts[: first + 1], np.append(self.logs[:first], last), -math.inf)

    def grouped(self, most: int, end: int) -> CopyCounts:
        """At most so many numbers, moved down (end 0) or up (end 1)."""
        if self.counts.size <= most:
            return self
        return self._moved(np.arange(self.counts.size) * most // self.counts.size, end)

    def told_apart(self, most: int, end: int) -> CopyCounts:
        """The same as `grouped`, but likely numbers in smaller groups than others: few losses tell a sum of many."""
        if self.counts.size <= most:
            return self
        shares = np.exp(self.logs - self.logs.max())
        mean = float(shares @ self.counts) / float(shares.sum())
        deviation = math.sqrt(float(shares @ (self.counts - mean) ** 2) / float(shares.sum()))
        places = np.arcsinh((self.counts - mean) / (_CLOSE * max(deviation, 1.0)))
        groups = np.floor((places - places[0]) * ((most - 1) / (places[-1] - places[0])))
        return self._moved(groups.astype(np.int64), end)

    def _moved(self, groups: NDArray[np.int64], end: int) -> CopyCounts:
        """Each number as the first (end 0) or the last (1) of its group. groups: ascending, shape (m,)."""
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        ends = np.append(starts[1:], groups.size) - 1
        return CopyCounts(self.counts[ends if end else starts], np.logaddexp.reduceat(self.logs, starts), self.log_more)

    def with_tail_grouped(self, log_likely: float, most: int, end: int) -> CopyCounts:
        """The same, the unlikely numbers above the likely ones as at most so many, moved down (end 0) or up (end 1)."""
        first = int(np.flatnonzero(self.logs > log_likely)[-1]) + 1
        tail = CopyCounts(self.counts[first:], self.logs[first:], self.log_more)
        if tail.counts.size <= most:
            return self
        tail = tail.grouped(most, end)
        return CopyCounts(
            np.append(self.counts[:first], tail.counts), np.append(self.logs[:first], tail.logs), self.log_more
        )


def copy_counts(n: int, k: int, end: int) -> CopyCounts:
    """Of one of n records in k draws: all numbers that a float can tell, or a law below it (end 0) or above it (1)."""
    if n == 1:
        return CopyCounts(np.array([float(k)]), np.zeros(1), -math.inf, exact=True)
    expected = k / n
    reach = 40 * math.sqrt(expected) + 500
    low, high = max(0, math.floor(expected - reach)), min(k, math.ceil(expected + reach))
    if high - low > _MOST_LISTED:
        return _by_chernoff(n, k, end)
    counts = np.arange(low, high + 1.0)
    logs = log_binomial(counts, float(k), log_ratio(1, n), log_ratio(n - 1, n))
    likely = np.flatnonzero(logs > LOG_NEGLIGIBLE)
    first, last = int(likely[0]), int(likely[-1])
    more = -math.inf if counts[last] == k else log_more(n, k, int(counts[last]))
    if not counts[first]:
        return CopyCounts(counts[: last + 1], logs[: last + 1], more, exact=True)
    counts, logs = counts[first : last + 1], logs[first : last + 1]
    if end:  # fewer copies count as the first number
        return CopyCounts(counts, logs, more)
    return CopyCounts(np.append(0.0, counts), np.append(LOG_NEGLIGIBLE + math.log(counts[0]), logs), more)


def log_more(n: int, k: int, last: int, loss: float = 0.0) -> float:
    """ln of the sum of P(j) e**(j loss) over j > last, or more: the first, times a geometric series; inf if unknown."""
    log_ratio_of_next = math.log(max(k - last - 1, 0.5) / ((last + 2) * (n - 1))) + loss
    if log_ratio_of_next > -0.01:
        return 0.0 if not loss else math.inf
    following = log_binomial(np.array([last + 1.0]), float(k), log_ratio(1, n), log_ratio(n - 1, n))[0]
    return float(following) + (last + 1) * loss - math.log1p(-math.exp(log_ratio_of_next))


def _by_chernoff(n: int, k: int, end: int) -> CopyCounts:
    """Of very many: numbers at even steps of deviations, with Chernoff's bound on what lies beyond them."""
    expected = k / n
    steps = expected + (1 if end else -1) * np.arange(_STEPS + 1) * math.sqrt(expected) / 5
    counts = np.clip(np.ceil(steps) if end else np.floor(steps), 0.0, float(k))
    beyond = np.minimum(-_deviance(counts, k, n) * (1 - 1e-6), 0.0)
    beyond[0] = 0.0
    beyond[counts == (k if end else 0)] = -math.inf
    # what lies beyond a number, and not beyond the next one, counts as the next one
    logs = [
        start + log_lacking(after - start) if after < start else -math.inf for start, after in pairwise(beyond.tolist())
    ]
    found = np.array(logs)
    kept = found > -math.inf
    counts, found, rest = counts[1:][kept], found[kept], float(beyond[-1])
    if end:
        return CopyCounts(counts, found, rest)
    counts, found = np.append(counts, 0.0), np.append(found, rest)
    kept = found > -math.inf
    return CopyCounts(counts[kept][::-1], found[kept][::-1], -math.inf)


def _deviance(counts: NDArray[np.float64], k: int, n: int) -> NDArray[np.float64]:
    """k times the divergence of counts/k from 1/n: minus ln of a bound on what lies beyond."""
    expected = k / n
    share = (counts - expected) / expected
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.where(counts > 0, counts * np.log1p(share), 0.0) - (counts - expected)
    # the other term, (k - c) ln((k - c)/(k - e)) + (c - e), is never negative
    return np.maximum(near, 0.0)
