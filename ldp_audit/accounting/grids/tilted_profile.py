r"""The hockey-stick divergence of a law on a grid near one level.

With the tilted masses w_i at the losses g_i and K the ln of the sum that tilting divides by,

    delta(epsilon) = e**(K - theta epsilon) v,    v = sum over x_i > 0 of w_i e**(-theta x_i) (1 - e**-x_i),

where x_i = g_i - epsilon, so all that is small is in the factor before v. Two filters that only add give v at every
point of the grid; between two points it is e**(-theta x) (gain + (1 - e**-x) weight), x nats before the next one. The
factor of a mass is at most 1/(1 + theta), and rises and falls once with x, so that all of them add up to at most that
and 1/(h theta (1 + theta)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.grids.tilted_law import TiltedLaw

_EPS = 2.0**-52
_FILTER = 8.0
"""Relative errors of the filters in units of eps N."""


@dataclass(frozen=True, eq=False)
class TiltedProfile:
    """What v is for a law on a grid, of which the masses are no longer kept.

    first: the first index.
    gains, weights: at each point the sums of w e**(-theta x) (1 - e**-x) and of w e**(-(1 + theta) x).
    """

    law: TiltedLaw
    first: int
    gains: NDArray[np.float64]
    weights: NDArray[np.float64]

    def ends(self, epsilon: float) -> tuple[float, float]:
        """A lower and an upper end of v for the law on the grid, the lower one without what came from below."""
        law, value = self.law, 0.0
        start = law.offset + law.spacing * self.first
        place = max(0, math.floor(min((epsilon - start) / law.spacing, self.gains.size)) + 1)
        if place < self.gains.size:
            before = max(0.0, start + law.spacing * place - epsilon)
            inner = float(self.gains[place]) - math.expm1(-before) * float(self.weights[place])
            value = math.exp(-law.theta * before) * inner
        rounding = _FILTER * _EPS * self.gains.size
        error = law.misplaced / (1 + law.theta) + law.mass_error * self._factors(epsilon - start)
        return value * (1 - rounding) - error - law.below / (1 + law.theta), value * (1 + rounding) + error

    def _factors(self, above: float) -> float:
        """The most that the factors of all masses add up to, `above` nats after the start."""
        h, theta, size = self.law.spacing, self.law.theta, self.gains.size
        widest = -math.expm1(-max(0.0, h * size - above))
        found = size * min(widest, 1 / (1 + theta))
        return min(found, 1 / (1 + theta) + 1 / (h * theta * (1 + theta))) if h * theta > 0 else found


def profile_of(law: TiltedLaw) -> TiltedProfile:
    """The profile of a law on a grid whose indices are consecutive."""
    down, drop = math.exp(-law.theta * law.spacing), math.exp(-law.spacing)
    weights = _filtered(law.masses, down * drop)
    gains = _filtered(np.append(-math.expm1(-law.spacing) * down * weights[1:], 0.0), down)
    none = replace(law, indices=law.indices[:0], masses=law.masses[:0])
    return TiltedProfile(none, int(law.indices[0]), gains, weights)


def _filtered(inputs: NDArray[np.float64], ratio: float) -> NDArray[np.float64]:
    """At each place the sum of what is there and of what follows, each step times the ratio."""
    from scipy.signal import lfilter  # half a second, which only grids need

    return np.ascontiguousarray(np.asarray(lfilter([1.0], [1.0, -ratio], inputs[::-1]))[::-1])
