"""The loss of noise moved by a random distance: a mixture of moved noises against noise unmoved, and back.

A group of records of which J are in the sample moves a noisy sum by at most J times what one does. With the chances c_j
of J = j and noise N_j moved by j, the pair is (sum of c_j N_j, N_0). It dominates all mechanisms whose pair of j
records is dominated by (N_j, N_0), whatever the directions of the moves. Proof: by Neyman and Pearson a set of reports
of N_0's mass a has under j records no more mass than the half-line H of that mass has under N_j, as the likelihood
ratio on a line rises with the report. H is one for all j, so it is the best set of this mass for the mixture, too; and
for the other order so is its complement. For Gaussian noise this is Ganesh, "Tight group-level DP guarantees for DP-SGD
with sampling via mixture of Gaussians mechanisms" (2024), Theorem 3.1.

The likelihood ratio at the report x is w(x) = c_0 + sum of c_j e**l_j(x), with the loss l_j of (N_j, N_0). Where it is
e**epsilon, and back where it is e**-epsilon,

    delta(epsilon) = sum of c_j delta_j(l_j(x)),
    delta_back(epsilon) = sum of c_j e**(epsilon + l_j(x)) delta_j(-l_j(x)),

with the noise's own delta_j, which is that of both orders. Nothing cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from ldp_audit.losses.loss import EPS, CellMasses, KnownLoss, log_sum
from ldp_audit.losses.noise_losses import NoiseLoss
from ldp_audit.numerics import log1mexp

Numbers = NDArray[np.float64]

_LARGEST = 600.0
_SPARSE, _STEPS, _BISECTIONS, _ROUNDED = 64, 2, 64, 16.0
"""One report of so many is found by bisection, the others from a spline and some steps; and the units in the last place
of ln w that they may be wrong, or else are found by bisection."""


@dataclass(frozen=True)
class MixedMoves(KnownLoss):
    """The loss of (sum of c_j N_j, N_0), or of the reverse.

    noises: of (N_j, N_0), j >= 1.   log_chances: ln c_j, same length.   log_unmoved: ln c_0.   back: whether reversed.
    """

    noises: tuple[NoiseLoss, ...]
    log_chances: tuple[float, ...]
    log_unmoved: float
    back: bool = False

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return True

    def supremum(self) -> float:
        """See `PairLoss`."""
        return -self._end(-1) if self.back else self._end(1)

    def reversed(self) -> MixedMoves:
        """See `PairLoss`."""
        return replace(self, back=not self.back)

    def dominating_gaussian(self) -> tuple[float, bool]:
        """See `KnownLoss`: that of the farthest move, by joint convexity."""
        return max(noise.dominating_gaussian()[0] for noise in self.noises), False

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; both bounds are the same, but for logarithms beyond the range of floats."""
        if epsilon >= self.supremum():
            return -math.inf, -math.inf
        if epsilon <= (-self._end(1) if self.back else self._end(-1)):  # no loss is lower
            certain = log1mexp(epsilon)
            return certain, certain
        report = self._reports(np.array([-epsilon if self.back else epsilon]))
        ends = []
        for noise, log in zip(self.noises, self.log_chances, strict=True):
            loss = float(noise.at(report - noise.shift)[0])
            weight = log + epsilon + loss if self.back else log
            ends.append([weight + end for end in noise.log_delta_bounds(-loss if self.back else loss)])
        low, high = (min(0.0, log_sum(np.array(one))) for one in zip(*ends, strict=True))
        return low, high

    def masses(self, edges: Numbers) -> CellMasses:
        """See `KnownLoss`."""
        # a cell has its right edge, and so its reverse has its left one
        reports = self._reports(np.nextafter(-edges[::-1], -math.inf) if self.back else edges)
        with np.errstate(invalid="ignore"):  # of infinite reports
            still = self.noises[0].noise_cells(reports)
            parts = [self.log_unmoved + still]
            for noise, log in zip(self.noises, self.log_chances, strict=True):
                parts.append(log + noise.noise_cells(reports - noise.shift))
        moved = np.logaddexp.reduce(parts)
        if self.back:
            return CellMasses(still[::-1], moved[::-1], -math.inf, -math.inf)
        return CellMasses(moved, still, -math.inf, -math.inf)

    def _end(self, sign: int) -> float:
        """The supremum of ln w, or its infimum."""
        return float(self._log_sums(np.array([[sign * noise.supremum()] for noise in self.noises]))[0])

    def _log_ratios(self, reports: Numbers) -> Numbers:
        """ln w at these reports."""
        return self._log_sums(np.array([noise.at(reports - noise.shift) for noise in self.noises]))

    def _log_sums(self, losses: Numbers) -> Numbers:
        """ln(c_0 + sum of c_j e**l_j), right to a few units in the last place of itself, also for tiny chances.

        losses: shape (noises, m).
        """
        logs = np.array(self.log_chances)
        excess = np.exp(logs) @ np.expm1(np.minimum(losses, _LARGEST))
        found = np.log1p(np.maximum(excess, -0.5))
        far = np.flatnonzero((excess < -0.5) | (losses.max(axis=0) > _LARGEST))
        terms = np.vstack([logs[:, None] + losses[:, far], np.full((1, far.size), self.log_unmoved)])
        found[far] = np.logaddexp.reduce(terms)
        return found

    def _reports(self, levels: Numbers) -> Numbers:
        """The report at which ln w is this level, infinite where there is none.   levels: ascending, shape (m,)."""
        found = np.where(levels < self._end(-1), -math.inf, math.inf)
        inner = np.flatnonzero((levels >= self._end(-1)) & (levels < self._end(1)))
        if not inner.size:
            return found
        asked = levels[inner]
        few = np.unique(np.append(np.arange(0, inner.size, _SPARSE), inner.size - 1))
        reports, some = self._bisected(asked[few]), asked[few]
        apart = np.append(np.diff(some) > 0, True)
        if few.size > _SPARSE:
            curve = CubicSpline(some[apart], reports[apart])
            found[inner] = self._refined(asked, curve(asked), curve(asked, 1))
        else:
            found[inner] = self._bisected(asked)
        return found

    def _refined(self, levels: Numbers, reports: Numbers, slopes: Numbers) -> Numbers:
        """The reports at which ln w is this level, from near ones, with about dx/d(ln w) there."""
        for _ in range(_STEPS):
            wrong = self._log_ratios(reports) - levels
            reports = reports - wrong * slopes
        left = np.flatnonzero(~(np.abs(self._log_ratios(reports) - levels) <= _ROUNDED * EPS * np.abs(levels)))
        reports[left] = self._bisected(levels[left])
        return reports

    def _bisected(self, levels: Numbers) -> Numbers:
        """The reports at which ln w is this level, from far."""
        low, high = np.full(levels.shape, -1.0), np.full(levels.shape, 1.0)
        while (beyond := self._log_ratios(low) > levels).any():
            low = np.where(beyond, 2 * low, low)
        while (beyond := self._log_ratios(high) <= levels).any():
            high = np.where(beyond, 2 * high, high)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            above = self._log_ratios(middle) > levels
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return low
