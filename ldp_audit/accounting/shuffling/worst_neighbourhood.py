"""The worst-case neighbourhood of n shuffled two-valued reports: the supremum over all other inputs.

Each client sends 1 with a probability between low = 1/(t+1) and high = t/(t+1); the server sees the count. Its
distribution is affine in each client's probability, and a hockey-stick divergence is convex in the pair of
distributions, so the supremum over all inputs, client 1's own included, is at the ends (a convex function on a box):
client 1 at high against low or low against high, j of the others at high, the rest at low. The other direction is this
one with j reversed, so only client 1 at high against low is evaluated, for the worst j: exactly up to `MOST_ONE_BY_ONE`
clients; beyond, blocks of splits are bounded together, and cut where the worst one may lie (`worst_split`).

One split, or a block (`SplitCounts`). Each other client sends 1 with probability high, with low, or with 1/2; q is the
distribution of their count, T(k) its upper tail. For client 1 at high against low, with A = e**epsilon high - low and g
= high - e**epsilon low,

    delta(epsilon) = max over k of  g q(k - 1) - (A - g) T(k),

as the loss rises with the count. q is a Poisson binomial, so log-concave: the best k follows the last mode of q tilted
by theta* = ln(A/g), which lies less than 1 from its mean (Samuels, "On the number of successes in independent trials",
1965, Theorem 1). Under a tilt theta that has the cumulant function K,

    delta = A e**(K - theta k) v,   v = (sum over i of q_theta(i) w(i - k)),

    w(-1) = e**(theta - theta*),   w(d) = -(1 - e**-theta*) e**(-theta d) for d >= 0,   0 below -1.

v is a mean over the frequencies 2 pi s/N of the characteristic function, a product of powers, so its cost does not grow
with the number of clients. The errors that are counted:

* Aliasing: N frequencies add up the masses N apart, so w is repeated with that period. Beyond the reach of Bernstein's
  inequality there is at most e**-45 on either side; within it the repeated weights are below e**(-theta (N - reach)).
* Frequencies left out: |1 - p + p e**(iu)|**2 = 1 - 2 p (1 - p) (1 - cos u), so the product is below e**(-variance (1 -
  cos u)).
* Rounding: of logarithms, angles, and sums.

Renyi divergences (`WorstDivergence`). e**((alpha - 1) D_alpha) is an f-divergence, so its supremum is at splits too; up
to `MOST_ONE_BY_ONE` clients all of them are added up, in positive terms alone (`losses/divergence.py`). Divergences of
independent reports add up, so this bounds a sum without a loss that dominates every split at once: for very many counts
it lies far below that of such a loss (`moment_bound`).
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
from ldp_audit.losses.hulls import chord_levels, chord_loss
from ldp_audit.losses.loss import EPS, Divergence, KnownLoss, PairLoss, log_delta_from_reversed
from ldp_audit.mechanisms.log_space import expit

MOST_ONE_BY_ONE = 1024

_PRECISION, _BLOCKS, _ALL_BLOCKS = 5e-4, 2000, 64 * MOST_ONE_BY_ONE
"""With more clients, the difference of the bounds on ln delta, as far as this many blocks of splits allow."""

_DENSE, _SPARSE, _COARSE, _FEW = 180, 240, 2e-4, 1000
"""The epsilons of a loss that dominates, see `chord_levels`; and precision and blocks for each of them."""

_FINE, _DENSER, _FEWEST = 1e-5, 400, 400
"""Its precision for few clients, and the first number for the fewest of them."""

_RAREST = -250.0
"""ln of the probability of a neighbourhood's own loss that is one of these epsilons as well."""


@dataclass(frozen=True)
class WorstNeighbourhood(PairLoss):
    """The supremum over all other inputs, as a `PairLoss`, its own reverse.

    epsilon0: of one report, nats, > 0, at most 350.   n: clients, 2 .. 10**8.
    """

    epsilon0: float
    n: int

    def supremum(self) -> float:
        """See `PairLoss`: epsilon0, whatever the others hold (nobody sends 1)."""
        return self.epsilon0

    def reversed(self) -> WorstNeighbourhood:
        """See `PairLoss`: the same."""
        return self

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; the bounds differ by rounding up to 1024 clients.

        Beyond by 5e-4, for 10**8 by up to 1e-2; by more where delta lies below all floats.
        """
        if epsilon < 0:
            return log_delta_from_reversed(epsilon, self.log_delta_bounds(-epsilon))
        if epsilon >= self.epsilon0:
            return -math.inf, -math.inf
        found = self._split(epsilon, *((_PRECISION, _BLOCKS) if self.n > MOST_ONE_BY_ONE else (0.0, _ALL_BLOCKS)))
        return min(0.0, found.low), min(0.0, found.high)

    def divergence(self, alpha: float) -> Divergence | None:
        """See `PairLoss`: the largest over all splits, one by one where they are few."""
        if self.n > MOST_ONE_BY_ONE or alpha == 1:
            return None
        return self._moments.divergence(alpha), False

    @cached_property
    def _moments(self) -> WorstDivergence:
        return WorstDivergence(self.epsilon0, self.n)

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: `placing`, which is about the worst, or a loss that dominates all splits."""
        return None if end is None else self._dominating if end else self.placing

    def _split(self, epsilon: float, precision: float, blocks: int, near: WorstSplit | None = None) -> WorstSplit:
        """The worst split at an epsilon from 0 on, below the supremum."""
        level = SplitCounts(self.epsilon0, epsilon)
        return worst_split(level, self.n - 1, precision=precision, most=blocks, near=near)

    @cached_property
    def _dominating(self) -> KnownLoss:
        dense, asked = _DENSER if self.n <= _FEWEST else _DENSE, (_COARSE, _FEW)
        levels = chord_levels(lambda e: self.placing.log_delta_bounds(e)[1], self.epsilon0, dense, _SPARSE)
        if self.n <= MOST_ONE_BY_ONE:
            levels, asked = np.union1d(levels, self._own_levels()), (_FINE, _ALL_BLOCKS)
        found = [self._split(float(levels[0]), *asked)]
        for level in levels[1:-1]:
            found.append(self._split(float(level), *asked, near=found[-1]))
        return chord_loss(levels, np.array([*(min(0.0, one.high) for one in found), -math.inf]))

    def _own_levels(self) -> NDArray[np.float64]:
        """The losses of `placing` reversed that are not too rare: between them its profile equals its chords."""
        atoms = self.placing.atoms()
        if atoms is None:
            return np.empty(0)
        levels = -atoms.losses[atoms.log_probabilities - atoms.losses > _RAREST]
        return levels[(levels > 0) & (levels < self.epsilon0)]

    @cached_property
    def placing(self) -> KnownLoss:
        """The loss while everybody is at the lower end, client 1 only under the second hypothesis."""
        return one_end(self.epsilon0, self.n).reversed()


def one_end(epsilon0: float, n: int) -> KnownLoss:
    """The count's loss while all others are at the lower end, from client 1 at the upper one.

    epsilon0: nats, > 0.   n: clients, >= 1.
    """
    lower = Chance(expit(-epsilon0), expit(epsilon0))
    return event_count(n, Chance(lower.lower, lower.upper), lower, lower, math.tanh(epsilon0 / 2))


_CUTS = 32
"""The number of splits evaluated at first, evenly; and others ever closer to both ends, where the worst ones lie."""

_SHARE = 1e-3
"""The difference of the bounds where delta is nearly 1, as a share of its logarithm."""

_PARTS, _MORE_PARTS, _MANY = 8, 32, 2000
"""The number of parts of a block that is cut; more for fewer splits than _MANY."""

_FAR = 2.0
"""How far below the worst split ln delta of a block is that may grow before the next epsilon."""

Numbers = NDArray[np.float64]


class WorstSplit(NamedTuple):
    """Bounds on ln delta of the worst split; and the blocks of the search, from which a near epsilon's may start."""

    low: float
    high: float
    least: Numbers
    last: Numbers


def worst_split(
    level: SplitCounts, others: int, *, precision: float, most: int, near: WorstSplit | None = None
) -> WorstSplit:
    """The worst split of `others` other clients.

    precision: the difference of the bounds, if they are not near 0; 0 for the worst split itself.
    most: blocks that may be evaluated.   near: that of a near epsilon, to begin with its blocks.
    """
    least, last = _first_blocks(others) if near is None else (near.least, near.last)
    low = target = -math.inf
    count, parts = 0, _PARTS if others > _MANY or near is not None else _MORE_PARTS
    seen: list[tuple[Numbers, Numbers, Numbers]] = []
    while least.size:
        below, above = level.log_delta_of_blocks(least, last, others)
        single = least == last
        low = max(low, float(below[single].max(initial=-math.inf)))
        if not count:
            settled = float(above[single].max(initial=-math.inf))
            target = settled + min(precision, _SHARE * abs(settled))
        alive, count = ~single & (above > target), count + least.size
        left = (most - count) // max(1, np.count_nonzero(alive))
        if left < 2:
            alive[:], most = False, 0
        seen.append((least[~alive], last[~alive], above[~alive]))
        least, last = _cut(least[alive], last[alive], max(1, int(min(left, parts))))
    least, last, above = (np.concatenate(one) for one in zip(*seen, strict=True))
    high = float(above.max())
    # too many blocks are a poor start
    return WorstSplit(low, high, *(_coarser(least, last, above, high) if most else _first_blocks(others)))


def _first_blocks(others: int) -> tuple[Numbers, Numbers]:
    """Single splits, and blocks of all those between two of them."""
    near = 2.0 ** np.arange(max(1, others).bit_length())
    cuts = np.concatenate([np.linspace(0, others, _CUTS + 1).round(), near, others + 1 - near])
    known = np.unique(np.clip(cuts, 0, others)).astype(np.float64)
    between = np.diff(known) > 1
    return np.append(known, known[:-1][between] + 1), np.append(known, known[1:][between] - 1)


def _coarser(least: Numbers, last: Numbers, above: Numbers, high: float) -> tuple[Numbers, Numbers]:
    """Pairs of neighbouring blocks joined where both lie far below."""
    order = np.argsort(least)
    least, last, far = least[order], last[order], above[order] < high - _FAR
    joins = np.zeros(least.size, dtype=bool)  # with the one before
    joins[1::2] = far[1::2] & far[:-1:2]
    return least[~joins], last[~np.append(joins[1:], False)]


def _cut(least: Numbers, last: Numbers, parts: int) -> tuple[Numbers, Numbers]:
    """Each block as this many parts, or as its splits if these are fewer: their ends."""
    steps = np.arange(parts + 1) / parts
    edges = least[:, None] + np.floor((last - least + 1)[:, None] * steps)
    starts, ends = edges[:, :-1].ravel(), edges[:, 1:].ravel() - 1
    filled = ends >= starts
    return starts[filled], ends[filled]


_NEGLIGIBLE = 45.0
"""-ln of the mass beyond the reach, and of a product that counts as 0."""
_AWAY = 3.0
"""Standard deviations by which a tilt moves the mean at least, so that weights decay within the period."""
_SURE = 25.0
"""-ln of the probability of fewer coins in a block than are counted."""
_SELDOM = 0.1
"""Below this probability of an own end the case that all clients send coins is treated apart."""
_UNSURE = 1e-6
"""The rounding of a mean."""
_LARGE = 40.0


class _Tilt(NamedTuple):
    """One client under a tilt: at high, at low, and with a fair coin, shape (3,) each.

    gains: ln of the mean of e**(theta X), less theta times the tilted mean.   usual: the likelier report.
    rare: the tilted chance of the other one.   signs: 1 where that is a 1, else -1.
    For many clients, sums of these lose no digits where their reports are nearly sure.
    """

    gains: Numbers
    usual: Numbers
    rare: Numbers
    signs: Numbers

    @property
    def variances(self) -> Numbers:
        """The variance of the report."""
        return self.rare * (1 - self.rare)


@dataclass(frozen=True)
class SplitCounts:
    """The splits at one epsilon: 0 <= epsilon < epsilon0 <= 700, nats.

    Splits are columns: the numbers of other clients at high, at low, and with a fair coin, shape (3, m).
    """

    epsilon0: float
    epsilon: float

    def log_delta(self, splits: Numbers) -> tuple[Numbers, Numbers]:
        """A lower and an upper bound of ln delta for each split, shape (m,)."""
        p, q = self._chances
        widest = float(np.max((p * q) @ splits))
        theta = max(self._best, min(1.0, _AWAY / math.sqrt(widest)) if widest > 0 else 1.0)
        tilt = self._tilted(theta)
        # distributions of similar width need the same frequencies
        sizes = np.floor(np.log2(1 + tilt.variances @ splits) / 2)
        low, high = np.empty(sizes.size), np.empty(sizes.size)
        for size in np.unique(sizes):
            low[sizes == size], high[sizes == size] = self._log_delta_of(splits[:, sizes == size], theta, tilt)
        return low, high

    def log_delta_of_blocks(self, least: Numbers, most: Numbers, others: int) -> tuple[Numbers, Numbers]:
        """For blocks, of all other clients from `least` to `most` at high: an upper bound of ln delta for all splits.

        returns: with lower bounds, which hold for blocks of one split.
        """
        if math.tanh(self.epsilon0 / 2) * others**1.5 <= 1:
            low, high = self.log_delta(np.array([least, others - least, np.zeros(least.size)]))
            return low, np.logaddexp(high, self._log_change(least, most, others))
        # The part common to a block's splits is kept; each other client sends a fair coin with probability 2 low, and
        # else its own end, which is shown to the server: an upper bound.
        free = most - least
        splits = np.array([least, others - most, _sure_coins(free, 2 * float(self._chances[0][1]))])
        low, high = self.log_delta(splits)
        own = math.tanh(self.epsilon0 / 2)  # the chance of its own end
        if own < _SELDOM and free.any():  # often all of them send coins
            some = free > 0
            log_all = free[some] * math.log1p(-own)
            _, all_coins = self.log_delta(np.array([least, others - most, free])[:, some])
            high[some] = np.logaddexp(log_all + all_coins, np.log(-np.expm1(log_all)) + high[some])
        # with fewer coins, the bound without any: v below 1, and k behind the mean
        splits[2] = 0.0
        none = self._log_scale + self._tilted(self._best).gains @ splits
        above = np.logaddexp(high, none - _SURE)
        return low, np.where(free > 0, above + 8 * EPS * (1 + np.abs(above)), high)

    def _log_change(self, least: Numbers, most: Numbers, others: int) -> Numbers:
        """ln of the largest increase of delta from a block's first split to any other.

        From one to the next it grows by no more than (high - low)(g q'(k - 2) - A q'(k - 1)), where q' lacks the client
        that moves, and k is best after it: by no more than (high - low) A e**(K' - theta*(k - 1)) times the steepest
        step of q' tilted by theta*, which is at most pi/4 over its variance (by its transform).
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
        slack = 8 * EPS * (4 + sizes)
        with np.errstate(divide="ignore"):
            ends = (logs + way * slack + np.log(np.maximum(values + way * error, 0.0)) for way in (-1, 1))
            low, high = (np.where(first + steps <= most + 1, end, -math.inf).max(axis=0) for end in ends)
        return low, high

    @cached_property
    def _chances(self) -> tuple[Numbers, Numbers]:
        """The probabilities of 1 and of 0."""
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
        # ln(1 + p (e**theta - 1)), or theta less that, whichever is small
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
        sizes = 0.5 * np.log1p(-np.minimum(products, 1 - EPS))
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
        error = amplitudes @ (np.abs(weights) * 4 * EPS * units)
        if half < (period - 1) // 2:
            error = error + (excess + 2) / -math.expm1(-theta) * math.exp(-_NEGLIGIBLE)
        return values, error


def _sure_coins(free: Numbers, chance: float) -> Numbers:
    """A count that Bin(free, chance) reaches but with probability e**-25, by Chernoff's and Bernstein's bounds."""
    spread = free * chance * max(0.0, 1 - chance)
    fewer = np.minimum(np.sqrt(2 * _SURE * free * chance), _SURE / 3 + np.sqrt(_SURE**2 / 9 + 2 * _SURE * spread))
    return np.maximum(0.0, np.floor(free * chance - fewer))


_ROUNDING_OF_MOMENTS = 1e-10
"""The rounding of a divergence: the masses are right to 1e-12 of themselves, and so their ratios."""
_LEAST = 1e-280
_STEEPEST = 600.0
_SMALL = 1e-3


class _Splits(NamedTuple):
    """For each split, a row, and each count: P's masses and the losses; and a bound on the mass that is left out."""

    masses: Numbers
    losses: Numbers
    missed: float


@dataclass(frozen=True)
class WorstDivergence:
    """The largest Renyi divergence over splits.   epsilon0: of one report, nats, > 0.   n: clients, >= 2."""

    epsilon0: float
    n: int

    def divergence(self, alpha: float) -> float:
        """An upper bound of the largest D_alpha, nats; alpha: > 1."""
        order = alpha - 1
        if order * self.epsilon0 > _STEEPEST:
            return self.epsilon0
        masses, losses, missed = self._splits
        excess = (masses * (order * _gain(-losses) + _gain(order * losses))).sum(axis=1)
        most = float(excess.max()) + missed * (order + math.exp(order * self.epsilon0))
        return min(self.epsilon0, math.log1p(most) / order * (1 + _ROUNDING_OF_MOMENTS))

    @cached_property
    def _splits(self) -> _Splits:
        low, high, others = expit(-self.epsilon0), expit(self.epsilon0), self.n - 1
        counts = [np.ones(1)]  # of ones among this many clients at the upper end
        for _ in range(others):
            counts.append(np.append(low * counts[-1], 0.0) + np.append(0.0, high * counts[-1]))
        pairs = np.array([np.convolve(counts[j], counts[others - j][::-1]) for j in range(self.n)])
        pairs[pairs < _LEAST] = 0.0
        stays, moves = np.pad(pairs, ((0, 0), (0, 1))), np.pad(pairs, ((0, 0), (1, 0)))
        first, second = low * stays + high * moves, high * stays + low * moves
        known = (first > 0) & (second > 0)
        change = np.divide(moves - stays, second, out=np.zeros_like(first), where=known)
        change *= math.tanh(self.epsilon0 / 2)
        large = np.log(np.where(known, first, 1.0)) - np.log(np.where(known, second, 1.0))
        losses = np.where(np.abs(change) < 0.5, np.log1p(np.maximum(change, -0.5)), large)
        return _Splits(first, losses, self.n * _LEAST)


def _gain(x: Numbers) -> Numbers:
    """e**x - 1 - x."""
    near = x * x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5)))
    return np.where(np.abs(x) < _SMALL, near, np.expm1(x) - x)
