r"""The worst case of n shuffled two-valued reports, over all that the clients may hold.

Each client sends 1 with a probability between low = 1/(t+1) and high = t/(t+1); the server sees the count. Its law is
affine in each client's probability, and a hockey-stick divergence is convex in the pair of laws, so the supremum over
all placings, client 1's own included, is at ends alone (a convex function on a box): client 1 at high against low or
low against high, j of the others at high, the rest at low. With q the law of the others' count and T(k) its upper tail,

    delta_j(epsilon) = max over k of  q(k - 1) (high - e**epsilon low) - (e**epsilon - 1) T(k),

as the loss rises with the count (q is log-concave), and the other direction is this one with j reversed. The best k is
the least one at which the loss exceeds epsilon, where q(k)/q(k - 1) falls below

    (high - e**epsilon low) / (e**epsilon high - low).

Up to
`MOST_ONE_BY_ONE` clients the maximum is taken over all j, so both ends are the supremum. Beyond, the j's of a block
share what they have in common: with j in [a, b], a clients at high and n - 1 - b at low are certain, the others are
left out, and a count of fewer reports says no less. So the value without them is an upper end for the block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.anonymous_counts import Chance
from ldp_audit.accounting.laws.binomial_window import binomial_window
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.shuffling.chord_law import chord_law, chord_levels
from ldp_audit.accounting.shuffling.clones import stronger_clones
from ldp_audit.accounting.shuffling.event_count import event_count
from ldp_audit.mechanisms.log_space import expit

MOST_ONE_BY_ONE = 1024
MOST_IN_BLOCKS = 10**6
"""Of more clients the upper end is that of `stronger_clones`."""

ROUNDING = 1e-12
_OF_TERMS = 5e-13
"""What rounding may make of the two terms of a placing's delta, whose difference may be far smaller."""

_LEAST = 1e-290
_BLOCKS = 64
_WHOLE = 20_000
_REACH, _SHORT_REACH = 700.0, 80.0
_LEVELS, _FEW = 400, 150


@dataclass(frozen=True, eq=False)
class WorstPlacing:
    """The supremum over placings, as a `LossLaw`; it is its own mirror image.

    epsilon0: of one report, nats, > 0, at most 700.   n: clients, 2 .. 10**8.
    """

    epsilon0: float
    n: int

    exact = False

    def largest(self) -> float:
        """See `LossLaw`: epsilon0, whatever the others hold (nobody sends 1)."""
        return self.epsilon0

    def mirrored(self) -> WorstPlacing:
        """The same."""
        return self

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`; the ends differ by 2e-12 of themselves up to 1024 clients, by some percent beyond.

        Where delta is a small difference of its two terms, far from the mean, add 1e-12 of these, e.g. 2e-10 of delta.
        """
        if epsilon < 0:
            fixed = -math.expm1(epsilon)
            low, high = (math.log(fixed + math.exp(epsilon + end)) for end in self.log_delta_bounds(-epsilon))
            return low, min(0.0, high)
        if epsilon >= self.epsilon0:
            return -math.inf, -math.inf
        least, most = max(
            (placing.delta(epsilon, self.epsilon0) for placing in self._placings),
            key=lambda ends: ends[1],
            default=(0.0, 1.0),
        )
        if self.n <= MOST_ONE_BY_ONE and least > most / 2:
            return math.log(least) - ROUNDING, min(0.0, math.log(most) + 2 * ROUNDING)
        low = max(law.log_delta_bounds(epsilon)[0] for law in self._one_end) - ROUNDING
        high = self._clones.log_delta_bounds(epsilon)[1]
        return low, min(high, math.log(most) + ROUNDING)

    def enclosed(self) -> tuple[LossLaw, LossLaw]:
        """Two laws of finitely many losses: one placing's, and one that dominates them all.

        The placing has everybody at the lower end, client 1 but in the second law: nobody sends 1 t times as often.
        """
        return self._one_end[1], self._dominating

    @cached_property
    def _dominating(self) -> LossLaw:
        count = _LEVELS if self.n <= MOST_IN_BLOCKS else _FEW
        levels = chord_levels(lambda level: self.log_delta_bounds(level)[1], self.epsilon0, count)
        if self.n <= MOST_ONE_BY_ONE:  # at its own losses a placing's chords are its profile
            own = getattr(self._one_end[0], "losses", np.empty(0))
            levels = np.union1d(levels, own[(own > 0) & (own < self.epsilon0)])
        return chord_law(levels, np.array([self.log_delta_bounds(float(level))[1] for level in levels]))

    @cached_property
    def _one_end(self) -> tuple[LossLaw, LossLaw]:
        law = one_end(self.epsilon0, self.n)
        return law, law.mirrored()

    @cached_property
    def _clones(self) -> LossLaw:
        return stronger_clones(self.epsilon0, self.n)

    @cached_property
    def _placings(self) -> list[Placings]:
        """All splits of the others at once, or block by block, or none."""
        others = self.n - 1
        if others >= MOST_IN_BLOCKS:
            return []
        if self.n <= MOST_ONE_BY_ONE:
            return [Placings.of(self.epsilon0, [(j, others - j) for j in range(self.n)])]
        cuts = np.linspace(0, self.n, _BLOCKS + 1).astype(int)
        return [Placings.of(self.epsilon0, [(int(a), others - int(b) + 1)]) for a, b in pairwise(cuts)]


@dataclass(frozen=True, eq=False)
class Placings:
    """Splits of some others into those at the upper end and those at the lower one: the laws of their count of ones.

    masses: a row for each split, q(k - 1) for consecutive k from one with q = 0 on.   tails: T(k), same shape.
    missed: a bound on the mass that is not there.
    """

    masses: NDArray[np.float64]
    tails: NDArray[np.float64]
    missed: float

    @classmethod
    def of(cls, epsilon0: float, splits: list[tuple[int, int]]) -> Placings:
        """splits: how many others are at the upper and at the lower end; the same number in all."""
        laws, missed = [], 0.0
        high, low = -math.log1p(math.exp(-epsilon0)), -float(np.logaddexp(0.0, epsilon0))
        for upper, lower in splits:
            reach = _REACH if upper + lower <= _WHOLE else _SHORT_REACH
            first = binomial_window(upper, high, low, reach, most=MOST_ONE_BY_ONE)
            second = binomial_window(lower, low, high, reach, most=MOST_ONE_BY_ONE)
            laws.append(np.convolve(np.exp(first.log_masses), np.exp(second.log_masses)))
            missed = max(missed, math.exp(first.log_missed) + math.exp(second.log_missed) + 1e-300 * laws[-1].size)
        rows = np.array(laws)
        masses = np.pad(rows, ((0, 0), (1, 0)))
        return cls(masses, np.pad(np.cumsum(rows[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1))), missed)

    def delta(self, epsilon: float, epsilon0: float) -> tuple[float, float]:
        """Two ends of the largest hockey stick for client 1 at high against low, of which masses may be missed."""
        gain = expit(-epsilon0) * math.exp(epsilon) * math.expm1(epsilon0 - epsilon)
        loss = math.expm1(epsilon)
        best = self._first(epsilon, epsilon0)
        mass, tail = np.take_along_axis(self.masses, best, 1), np.take_along_axis(self.tails, best, 1)
        sticks = gain * (1 + _OF_TERMS) * mass - loss * (1 - _OF_TERMS) * tail
        row, place = np.unravel_index(int(np.argmax(sticks)), sticks.shape)
        least = gain * (1 - _OF_TERMS) * mass[row, place] - loss * (1 + _OF_TERMS) * tail[row, place] - self.missed
        return max(0.0, float(least)), max(0.0, float(sticks[row, place])) + self.missed

    def _first(self, epsilon: float, epsilon0: float) -> NDArray[np.int64]:
        """For each split the first counts at which the loss may exceed epsilon: rounding may move them by one.

        A term that is so left out, or taken in, is no more than rounding of those that are there.
        """
        falls = math.expm1(epsilon0 - epsilon) / (math.exp(epsilon0) - math.exp(-epsilon))
        first = np.count_nonzero(self._ratios > falls, axis=1)[:, None]
        return np.clip(first + np.arange(-1, 2), 0, self.masses.shape[1] - 1)

    @cached_property
    def _ratios(self) -> NDArray[np.float64]:
        """q(k)/q(k - 1), falling along each row from infinity to 0; masses next to the least floats say nothing."""
        before = self.masses > _LEAST
        after = np.append(before[:, 1:], np.zeros((len(before), 1), dtype=bool), axis=1)
        rising = np.arange(before.shape[1]) <= np.argmax(self.masses, axis=1)[:, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = np.append(self.masses[:, 1:], np.zeros((len(before), 1)), axis=1) / self.masses
        return np.where(before & after, found, np.where(rising, np.inf, 0.0))


def one_end(epsilon0: float, n: int) -> LossLaw:
    """The count's loss while all others are at the lower end, from client 1 at the upper one; exact.

    epsilon0: nats, > 0.   n: clients, >= 1.
    """
    lower = Chance(expit(-epsilon0), expit(epsilon0))
    return event_count(n, Chance(lower.lower, lower.upper), lower, lower)
