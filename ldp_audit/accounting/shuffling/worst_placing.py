r"""The worst case of n shuffled two-valued reports, over all that the clients may hold.

Each client sends 1 with a probability between low = 1/(t+1) and high = t/(t+1); the server sees the count. Its law is
affine in each client's probability, and a hockey-stick divergence is convex in the pair of laws, so the supremum over
all placings, client 1's own included, is at ends alone (a convex function on a box): client 1 at high against low or
low against high, j of the others at high, the rest at low. The other direction is this one with j reversed, so client 1
at high against low is all that is looked at (`split_counts`), for the worst j (`worst_split`): that itself among up to
`MOST_ONE_BY_ONE` clients, enclosed beyond.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.anonymous_counts import Chance
from ldp_audit.accounting.shuffling.chord_law import chord_law, chord_levels
from ldp_audit.accounting.shuffling.event_count import event_count
from ldp_audit.accounting.shuffling.split_counts import SplitCounts
from ldp_audit.accounting.shuffling.worst_split import WorstSplit, worst_split
from ldp_audit.losses.finite_losses import as_atoms
from ldp_audit.losses.loss import PairLoss, of_mirrored
from ldp_audit.mechanisms.log_space import expit

MOST_ONE_BY_ONE = 1024

_PRECISION, _BLOCKS, _ALL_BLOCKS = 5e-4, 2000, 64 * MOST_ONE_BY_ONE
"""How far apart the ends of ln delta of more clients may be, where so many blocks of splits can tell."""

_DENSE, _SPARSE, _COARSE, _FEW = 180, 240, 2e-4, 1000
"""A law that dominates takes so many levels, see `chord_levels`; precision and blocks likewise for each of them."""

_FINE, _DENSER, _FEWEST = 1e-5, 400, 400
"""Its precision among few clients, and the first number for the fewest of them."""

_RAREST = -250.0
"""ln of the probability of a placing's own loss that is a level as well."""


@dataclass(frozen=True)
class WorstPlacing(PairLoss):
    """The supremum over placings, as a `PairLoss`; it is its own mirror image.

    epsilon0: of one report, nats, > 0, at most 350.   n: clients, 2 .. 10**8.
    """

    epsilon0: float
    n: int

    def largest(self) -> float:
        """See `PairLoss`: epsilon0, whatever the others hold (nobody sends 1)."""
        return self.epsilon0

    def reversed(self) -> WorstPlacing:
        """The same."""
        return self

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; the ends differ by rounding up to 1024 clients.

        Beyond by 5e-4, of 10**8 by up to 1e-2; by more where delta lies below all floats.
        """
        if epsilon < 0:
            return of_mirrored(epsilon, self.log_delta_bounds(-epsilon))
        if epsilon >= self.epsilon0:
            return -math.inf, -math.inf
        found = self._split(epsilon, *((_PRECISION, _BLOCKS) if self.n > MOST_ONE_BY_ONE else (0.0, _ALL_BLOCKS)))
        return min(0.0, found.low), min(0.0, found.high)

    @property
    def known(self) -> bool:
        """See `PairLoss`."""
        return False

    def enclosed_end(self, end: int) -> PairLoss:
        """See `PairLoss`: `placing`, which is about the worst, or a loss that dominates all placings."""
        return self._dominating if end else self.placing

    def _split(self, epsilon: float, precision: float, blocks: int, near: WorstSplit | None = None) -> WorstSplit:
        """Of a level from 0 on, below the largest loss."""
        level = SplitCounts(self.epsilon0, epsilon)
        return worst_split(level, self.n - 1, precision=precision, most=blocks, near=near)

    @cached_property
    def _dominating(self) -> PairLoss:
        dense, asked = _DENSER if self.n <= _FEWEST else _DENSE, (_COARSE, _FEW)
        levels = chord_levels(lambda e: self.placing.log_delta_bounds(e)[1], self.epsilon0, dense, _SPARSE)
        if self.n <= MOST_ONE_BY_ONE:
            levels, asked = np.union1d(levels, self._own_levels()), (_FINE, _ALL_BLOCKS)
        found = [self._split(float(levels[0]), *asked)]
        for level in levels[1:-1]:
            found.append(self._split(float(level), *asked, near=found[-1]))
        return chord_law(levels, np.array([*(min(0.0, one.high) for one in found), -math.inf]))

    def _own_levels(self) -> NDArray[np.float64]:
        """Losses of the placing's mirror image that are not too rare: there a placing's chords are its profile."""
        atoms = as_atoms(self.placing)
        if atoms is None:
            return np.empty(0)
        levels = -atoms.losses[atoms.log_probabilities - atoms.losses > _RAREST]
        return levels[(levels > 0) & (levels < self.epsilon0)]

    @cached_property
    def placing(self) -> PairLoss:
        """The loss while everybody is at the lower end, client 1 but in the second law."""
        return one_end(self.epsilon0, self.n).reversed()


def one_end(epsilon0: float, n: int) -> PairLoss:
    """The count's loss while all others are at the lower end, from client 1 at the upper one.

    epsilon0: nats, > 0.   n: clients, >= 1.
    """
    lower = Chance(expit(-epsilon0), expit(epsilon0))
    return event_count(n, Chance(lower.lower, lower.upper), lower, lower, math.tanh(epsilon0 / 2))
