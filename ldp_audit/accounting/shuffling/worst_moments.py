r"""The largest Renyi divergence of n shuffled two-valued reports over all that the clients may hold, for n up to 1024.

e**((alpha - 1) D_alpha) is an f-divergence, so convex in the pair of laws: its supremum over all placings is at splits
of the others over the two ends, like that of the hockey stick (`worst_placing`). All of them are added up, with

    E_P[e**((a - 1) L)] - 1 = (a - 1) E_P[g(-L)] + E_P[g((a - 1) L)],   g(x) = e**x - 1 - x >= 0    (see `renyi`).

Divergences of independent reports add up, so a bound on the sum needs no law that is worse than every split at once:
of very many counts it is far below that of `worst_placing`'s dominating law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.log_space import expit

_ROUNDING = 1e-10
"""What rounding may make of a divergence: the masses are right to 1e-12 of themselves, and so their ratios."""
_LEAST = 1e-280
_STEEPEST = 600.0
_SMALL = 1e-3

Numbers = NDArray[np.float64]


class _Splits(NamedTuple):
    """Of each split, a row, and each count: P's masses and the losses; and a bound on the mass that is left out."""

    masses: Numbers
    losses: Numbers
    missed: float


@dataclass(frozen=True)
class WorstMoments:
    """epsilon0: of one report, nats, > 0.   n: clients, >= 2."""

    epsilon0: float
    n: int

    def divergence(self, alpha: float) -> float:
        """An upper end of the largest D_alpha, nats; alpha: > 1."""
        order = alpha - 1
        if order * self.epsilon0 > _STEEPEST:
            return self.epsilon0
        masses, losses, missed = self._splits
        excess = (masses * (order * _gain(-losses) + _gain(order * losses))).sum(axis=1)
        most = float(excess.max()) + missed * (order + math.exp(order * self.epsilon0))
        return min(self.epsilon0, math.log1p(most) / order * (1 + _ROUNDING))

    @cached_property
    def _splits(self) -> _Splits:
        low, high, others = expit(-self.epsilon0), expit(self.epsilon0), self.n - 1
        counts = [np.ones(1)]  # of ones among so many clients at the upper end
        for _ in range(others):
            counts.append(np.append(low * counts[-1], 0.0) + np.append(0.0, high * counts[-1]))
        laws = np.array([np.convolve(counts[j], counts[others - j][::-1]) for j in range(self.n)])
        laws[laws < _LEAST] = 0.0
        stays, moves = np.pad(laws, ((0, 0), (0, 1))), np.pad(laws, ((0, 0), (1, 0)))
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
