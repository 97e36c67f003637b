"""The sum of independent losses by inversion of its characteristic function, where that is tight, else on a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ldp_audit.losses.binomial_loss import BinomialLoss
from ldp_audit.losses.discrete_loss import LossAtoms
from ldp_audit.losses.grid_loss import GridLoss
from ldp_audit.losses.inversion import InversionPlan
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.sampled_gaussian import SampledGaussian
from ldp_audit.losses.sampled_loss import MixedLoss
from ldp_audit.losses.transform import (
    AtomsTransform,
    GaussianTransform,
    LaplaceTransform,
    SummedTransform,
    Transform,
)

_SHARE, _DIGITS, _ROUNDING = 0.1, 1e-7, 1e-9
"""The inversion is tight if its bounds on epsilon differ by so much of `width` or of epsilon; or those on delta by so
much of it or of its logarithm."""
_NEAR = 2.0
"""Nats of ln delta: a line that is wrong by more is no hint."""
_MOST_ATOMS = 1000
_MOST_DISTINCT = 50
"""Of more different losses a grid is quicker."""
_FEWEST, _CLOSE = 6, 1e-3
"""Of fewer losses the transform decays slowly, so that the grid is asked first; its bounds on ln delta so close do."""


@dataclass(frozen=True, eq=False)
class InvertedSum(PairLoss):
    """The sum of losses whose transforms are known.   grid: the same sum on a grid.   transform: of the sum."""

    grid: GridLoss
    transform: Transform

    @cached_property
    def plan(self) -> InversionPlan:
        """The lines of the sum."""
        return InversionPlan(self.transform)

    def largest(self) -> float:
        """See `PairLoss`."""
        return self._largest

    def reversed(self) -> PairLoss:
        """See `PairLoss`."""
        return inverted_sum(self.grid.reversed())

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`. The first call near an epsilon takes some milliseconds, later ones some microseconds."""
        if not math.isfinite(epsilon) or epsilon >= self._largest:
            return self.grid.log_delta_bounds(epsilon)
        if self._few:
            least, most = self.grid.log_delta_bounds(epsilon)
            if most - least <= _CLOSE:
                return least, most
        line = self.plan.line(epsilon)
        low, high = (-math.inf, self.plan.log_chernoff(epsilon)) if line is None else line.log_delta_bounds(epsilon)
        slope = 0.0 if line is None else line.c  # about that of -ln delta
        if high - low <= max(
            slope * max(_SHARE * self.grid.width, _DIGITS * abs(epsilon)), _ROUNDING * max(1.0, -high)
        ):
            return low, high
        least, most = self.grid.log_delta_bounds(epsilon)
        return max(low, least), min(high, most)

    def epsilon_near(self, log_delta: float) -> float:
        """About the epsilon with this ln delta, nats: a hint for a search, with no claim."""
        found = math.nan if self._few else self.plan.epsilon_near(log_delta)
        line = self.plan.line(found) if math.isfinite(found) and found > 0 else None
        if line is not None and max(abs(end - log_delta) for end in line.log_delta_bounds(found)) < _NEAR:
            return found
        return self.grid.epsilon_near(log_delta)

    @cached_property
    def _largest(self) -> float:
        return self.grid.largest()

    @property
    def _few(self) -> bool:
        return sum(times for _, times in self.grid.parts) < _FEWEST


def inverted_sum(grid: GridLoss) -> PairLoss:
    """The grid's sum by inversion; the grid itself where a transform is not known, none decays, or losses are many."""
    if len(grid.parts) > _MOST_DISTINCT:
        return grid
    found = [(transform_of(law), times) for law, times in grid.parts]
    known = [(one, times) for one, times in found if one is not None]
    if len(known) < len(found) or all(isinstance(one, AtomsTransform) for one, _ in known):
        return grid
    return InvertedSum(grid, SummedTransform(known))


def transform_of(law: PairLoss) -> Transform | None:
    """The transform of one loss; None where it is not known, or where the loss may be infinite."""
    if isinstance(law, GaussianLoss):
        return GaussianTransform(law.mu)
    if isinstance(law, LaplaceLoss):
        return LaplaceTransform(law.epsilon)
    if isinstance(law, BinomialLoss) and law.times == 1:
        return AtomsTransform(law.atoms(), whole=True)
    if type(law) is LossAtoms and 0 < law.losses.size <= _MOST_ATOMS and law.log_infinite == -math.inf:
        return AtomsTransform(law, whole=False)
    if isinstance(law, MixedLoss) and isinstance(law.base, GaussianLoss):
        return SampledGaussian(law.base.mu, law.rate, back=not law.record_first)
    return None


def parts_of(law: PairLoss) -> Sequence[tuple[PairLoss, int]]:
    """The losses of a sum and how often each counts; any other loss is its only part."""
    grid = law.grid if isinstance(law, InvertedSum) else law
    return grid.parts if isinstance(grid, GridLoss) else ((law, 1),)
