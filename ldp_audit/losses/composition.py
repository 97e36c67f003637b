"""The sum of independent losses, and the one choice of the method that computes it.

* Equal losses of two values: a binomial sum (`BinomialLoss`). Gaussian noises: one Gaussian. Few finite losses: the
  list of all combinations (`sum_of_losses`). These are exact.
* Six losses or more with noises, subsampled Gaussian ones too: the inversion of the sum's characteristic function, with
  the grid where the inversion is not tight.
* All else: one grid (`grid_loss`).

A loss with mass at infinity is composed by its finite part: conditional losses add up, and the masses of the common
support are multiplied. Losses known by bounds alone are composed bound by bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS, sum_of_losses
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.grid_loss import LARGEST_EPSILON, GridLoss, compose_on_grid, grouped
from ldp_audit.losses.grid_plan import WIDTH
from ldp_audit.losses.hulls import known_bound
from ldp_audit.losses.inversion import InversionPlan
from ldp_audit.losses.loss import EPS, KnownLoss, LossWithInfinity, PairLoss, Transform, Values
from ldp_audit.losses.moment_bound import MomentBound
from ldp_audit.losses.noise_losses import GaussianLoss

_SHARE, _DIGITS, _ROUNDING = 0.1, 1e-7, 1e-9
"""The inversion is tight if its bounds on epsilon differ by this share of `width` or of epsilon, or those on delta by
this share of delta or of ln delta."""
_MOST_DISTINCT = 50
"""With more distinct losses a grid is quicker."""
_FEWEST, _CLOSE = 6, 1e-3
"""With fewer losses the transform decays slowly, so the grid comes first; its bounds on ln delta suffice if this
close."""

MOST_ON_GRID = 10**10
"""The most uses of one loss on a grid: beyond, the bounds are vague, or take hours."""

MOST_DISTINCT = 1e150
"""The ratio of sensitivity and sigma whose square is still a float."""

Counted = list[tuple[KnownLoss, int]]


def composed(losses: Sequence[tuple[PairLoss, int]], width: float = WIDTH) -> PairLoss:
    """The sum of independent losses, each `times` times; times are whole, >= 1.   width: see `compose`."""
    known = [(one, times) for one, times in ((loss.known(), times) for loss, times in losses) if one is not None]
    if len(known) < len(losses):
        lower, upper = (composed([(known_bound(loss, end), times) for loss, times in losses], width) for end in (0, 1))
        either_order = all(loss.reversed() is loss for loss, _ in losses)
        return EnclosedLoss(lower, MomentBound.of_sum(upper, losses), either_order=either_order)
    parts = [(loss.finite_part(), times) for loss, times in known]
    first = math.fsum(times * log_first for (_, log_first, _), times in parts)
    second = math.fsum(times * log_second for (_, _, log_second), times in parts)
    if -math.inf in (first, second):
        return INFINITE_LOSS
    common = _finite([(part[0], times) for part, times in parts], width)
    return common if first == second == 0 else LossWithInfinity(common, first, second)


def _finite(losses: Counted, width: float) -> KnownLoss:
    """The sum of losses without mass at infinity."""
    summands = [(one, count * times) for loss, times in losses for one, count in loss.summands() if one.supremum() > 0]
    parts = _grouped(summands)
    if not parts:
        return ZERO_LOSS
    if len(parts) == 1 and (closed := parts[0][0].repeated(parts[0][1])) is not None:
        return closed
    return sum_of_losses(parts) or inverted_sum(compose_on_grid(_countable(parts), width=width))


def _grouped(losses: Counted) -> Counted:
    """The distinct summands with all their times: two-valued losses singly, Gaussian noises as one."""
    noises = [(loss.dominating_gaussian(), times) for loss, times in losses]
    mus = [(mu, times) for (mu, same), times in noises if same]
    others = [part for part, ((_, same), _) in zip(losses, noises, strict=True) if not same]
    if not mus:
        return grouped(others)
    scale = max(mu for mu, _ in mus)  # whose square may lie beyond the range of floats
    total = scale * math.sqrt(math.fsum(times * (mu / scale) ** 2 for mu, times in mus))
    if others and total > MOST_DISTINCT:
        raise ValueError(f"sensitivity over sigma must be at most {MOST_DISTINCT:g} beside other losses, got {total:g}")
    return [(GaussianLoss(total), 1), *grouped(others)]


def _countable(losses: Counted) -> Counted:
    """The same losses; ValueError for more uses than a grid can bound."""
    most = max(times for _, times in losses)
    if most > MOST_ON_GRID:
        raise ValueError(
            f"times must be at most 10**10 for losses of more than two values that are no Gaussian noise, got {most}"
        )
    return losses


@dataclass(frozen=True, eq=False)
class InvertedSum(KnownLoss):
    """A sum of losses whose transforms are known.   grid: the same sum on a grid.   moments: its transform."""

    grid: GridLoss
    moments: Transform

    @cached_property
    def plan(self) -> InversionPlan:
        """The trapezoid rules of the sum."""
        return InversionPlan(self.moments)

    def supremum(self) -> float:
        """See `PairLoss`."""
        return self._largest

    def reversed(self) -> KnownLoss:
        """See `PairLoss`."""
        back = self.grid.reversed()
        return self if back is self.grid else inverted_sum(back)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`. The first call near an epsilon takes some milliseconds, later ones some microseconds."""
        if not math.isfinite(epsilon) or epsilon >= self._largest:
            return self.grid.log_delta_bounds(epsilon)
        if epsilon > LARGEST_EPSILON:  # whose products with a tilt overflow
            return -math.inf, self.log_delta_bounds(LARGEST_EPSILON)[1]
        if self._few:
            least, most = self.grid.log_delta_bounds(epsilon)
            if most - least <= _CLOSE:
                return least, most
        rule = self.plan.rule(epsilon)
        low, high = (-math.inf, self.plan.log_chernoff(epsilon)) if rule is None else rule.log_delta_bounds(epsilon)
        slope = 0.0 if rule is None else rule.c  # about that of -ln delta
        if high - low <= max(
            slope * max(_SHARE * self.grid.width, _DIGITS * abs(epsilon)), _ROUNDING * max(1.0, -high)
        ):
            return low, high
        least, most = self.grid.log_delta_bounds(epsilon)
        return max(low, least), min(high, most)

    def summands(self) -> Sequence[tuple[KnownLoss, int]]:
        """See `KnownLoss`."""
        return self.grid.parts

    def epsilon_near(self, log_delta: float) -> float:
        """About the epsilon with this ln delta, nats: an uncertified start for a search."""
        return (self.grid if self._few else self.plan.tilts).epsilon_near(log_delta)

    @cached_property
    def _largest(self) -> float:
        return self.grid.supremum()

    @property
    def _few(self) -> bool:
        return sum(times for _, times in self.grid.parts) < _FEWEST


def inverted_sum(grid: GridLoss) -> KnownLoss:
    """The grid's sum by inversion; the grid itself if a transform is unknown or does not decay, or losses are many."""
    if len(grid.parts) > _MOST_DISTINCT:
        return grid
    found = [(loss.transform(), times) for loss, times in grid.parts]
    known = [(one, times) for one, times in found if one is not None]
    whole = SummedTransform(known)
    return InvertedSum(grid, whole) if len(known) == len(found) and whole.decays() else grid


@dataclass(frozen=True, eq=False)
class SummedTransform(Transform):
    """The transform of a sum: the product.   parts: each loss's, and how many times it counts."""

    parts: Sequence[tuple[Transform, int]]

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`; the logarithms' own rounding is counted."""
        logs, errors = np.zeros(y.size, dtype=np.complex128), np.zeros(y.size)
        for one, times in self.parts:
            found = one.at(c, y)
            if found is None:
                return None
            logs += times * found.log
            errors += times * (found.error + (4 + len(self.parts)) * EPS * np.abs(found.log))
        return Values(logs, errors)

    def about(self, c: float) -> float:
        """See `Transform`."""
        found = math.fsum(times * one.about(c) for one, times in self.parts)
        return found if found == found else math.inf

    def log_limit(self, c: float) -> float:
        """See `Transform`."""
        return math.fsum(times * one.log_limit(c) for one, times in self.parts)

    def log_tail_bound(self, c: float, y: float) -> float:
        """See `Transform`."""
        found = math.fsum(times * one.log_tail_bound(c, y) for one, times in self.parts)
        return found if found < math.inf else math.inf
