r"""Ends of delta for sums of losses that closed forms give, however many there are: certain, and rarely near.

From above:

* What runs on a sample gives away no more than what runs on all records, by joint convexity at every level and in both
  directions, so Gaussian noises, on samples or not, have at most the divergence of their sum.
* Losses of deltas delta_i(epsilon_i) have together at most the sum of these at the sum of those levels (Dwork and
  others, basic composition); equal ones at an equal share each.
* Equal losses have together at most that of as many two-valued ones with their largest and smallest loss
  (`BinomialLoss`), and no losses more than 1 - e**(epsilon - largest).

From below: telling only on which side of some value the loss without sampling lies, each time, leaves a two-valued
loss, and T of those have a binomial sum. So it does with any one of several losses, the others kept secret.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

import numpy as np

from ldp_audit.accounting.contour.transform import EPS
from ldp_audit.accounting.contour.two_sides import base_of, sampled_of, two_sided
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss

_ROUNDING, _PER = 1e-11, 100.0
"""Of ln delta of the closed forms, and of ln delta that is longer than the second, as often as it is: what they add up
has as many digits as any float."""
_DEVIATIONS = np.array([-6.0, -3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.5, 6.0, 8.0, 11.0, 15.0, 20.0, 26.0, 37.0])
"""Where Gaussian noises are told apart, in deviations, beside what the level itself needs."""
_SHARES = (1.0, 0.5, 0.1)
"""Of the level: losses at which others are."""
_PLACES = 17
_LEAST, _LARGEST, _NEAR = 1e-30, 1e30, 1e-2
_FARTHEST = 1e150
"""Deviations whose square is a float."""


@dataclass(frozen=True, eq=False)
class SimpleEnds:
    """For the sum of these losses, each so many times; none may be infinite.

    laws: the losses.   largest: the supremum of the sum.
    """

    laws: Sequence[tuple[LossLaw, int]]
    largest: float

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """ln of a lower and of an upper end of delta(epsilon)."""
        most = self.largest + (8 * math.ulp(self.largest) if math.isfinite(self.largest) else 0.0)
        if epsilon >= most:
            return -math.inf, -math.inf
        high = min(0.0, moved(math.log(-math.expm1(epsilon - most)), 1))
        if not abs(epsilon) < self._farthest:
            return -math.inf, high
        highs = [high, self.log_added(epsilon), *(moved(law.log_delta_bounds(epsilon)[1], 1) for law in self._above)]
        near = [two for law, times in self.laws for two in two_sided(law, times, _near(law, epsilon))]
        lows = [moved(law.log_delta_bounds(epsilon)[0], -1) for law in (*self._below, *near)]
        return max(lows, default=-math.inf), min(highs)

    def epsilon_near(self, log_delta: float) -> float:
        """About the level that a single loss, or one of so many, has at this ln delta."""
        found = _LEAST
        for law, times in self.laws:
            target, low, high = log_delta - math.log(times), math.log(_LEAST), math.log(_LARGEST)
            while high - low > _NEAR:
                middle = (low + high) / 2
                low, high = (middle, high) if law.log_delta_bounds(math.exp(middle))[1] > target else (low, middle)
            found = max(found, math.exp(high))
        return found

    @cached_property
    def _farthest(self) -> float:
        """Up to which level closed forms are asked."""
        return _FARTHEST * min([1.0, *(base.mu for base in (base_of(law) for law, _ in self.laws) if _noise(base))])

    def log_added(self, epsilon: float) -> float:
        """ln of the sum of all single losses' deltas, at an equal share of the level each."""
        share = epsilon / sum(times for _, times in self.laws)
        share -= 4 * EPS * abs(share)
        logs = [math.log(times) + law.log_delta_bounds(share)[1] for law, times in self.laws]
        return moved(float(np.logaddexp.reduce(logs)), 1)

    @cached_property
    def _above(self) -> list[LossLaw]:
        """Laws that dominate the sum."""
        scales = [
            (base.mu, times) for base, times in ((base_of(law), times) for law, times in self.laws) if _noise(base)
        ]
        if len(scales) == len(self.laws):
            most = max(mu for mu, _ in scales)
            total = most * math.sqrt(math.fsum(times * (mu / most) ** 2 for mu, times in scales))
            return [GaussianLoss(total * (1 + 16 * EPS))] if total < math.inf else []
        if len(self.laws) == 1:
            law, times = self.laws[0]
            high, low = (one.largest() * (1 + 16 * EPS) for one in (law, law.mirrored()))
            if min(high, low) > 0 and math.isfinite(times * (high + low)):
                return [BinomialLoss(high, -low, times)]
        return []

    @cached_property
    def _below(self) -> list[BinomialLoss]:
        """Laws that the sum dominates."""
        return [two for law, times in self.laws for two in two_sided(law, times, _places(base_of(law)))]


def moved(log: float, way: int) -> float:
    """This ln delta up (1) or down (-1) by its rounding."""
    return log + way * _ROUNDING * max(1.0, -log / _PER) if log > -math.inf else log


def _noise(law: LossLaw) -> TypeGuard[GaussianLoss]:
    return isinstance(law, GaussianLoss)


def _places(base: LossLaw) -> list[float]:
    """Losses that may be told apart."""
    if _noise(base):
        x = np.concatenate([_DEVIATIONS, _DEVIATIONS + base.mu])
        return (base.mu * x - base.mu * base.mu / 2).tolist()
    least, most = -base.mirrored().largest(), base.largest()
    return np.linspace(least, most, _PLACES)[1:-1].tolist() if math.isfinite(most - least) else []


def _near(law: LossLaw, epsilon: float) -> list[float]:
    """The base's loss at which one alone has this level, and those at which some have it together."""
    levels, law = epsilon * np.array(_SHARES), sampled_of(law)
    if isinstance(law, MixedLoss):
        way = 1 if law.record_first else -1
        levels = way * law.rate.unmixed(way * levels)
    return levels[np.isfinite(levels)].tolist()
