r"""What is integrated for Laplace noise on a sample: f(z) = e**(-(z + t)/2)/4 w(z)**p, with bounds off the real line.

Without the record the noise's own loss z is -t with probability 1/2, t with probability e**-t/2, and between them it
has the density e**(-(z + t)/2)/4 (`LaplaceLoss`). w = 1 - q + q e**z is that of `on_sample` for mu = 1, bounds too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.on_sample import power_bound
from ldp_audit.accounting.contour.panel_rule import Bound, Window
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

Numbers = NDArray[np.float64]

_LARGEST = 4000.0
"""A t for which there are not too many panels."""


@dataclass(frozen=True)
class OnLaplaceSample:
    """The integrands of all p of one sign.

    epsilon: t, of the noise.   rate: with 0 < q < 1.   sign: of p.
    """

    epsilon: float
    rate: SamplingRate
    sign: int

    def told(self, x: Numbers) -> tuple[Numbers, Numbers]:
        """ln w, and the share r = q e**z/w."""
        losses = self.rate.mixed(x)
        return losses, np.exp(self.rate.log_drawn + x - losses)

    def log_weight(self, x: Numbers) -> Numbers:
        """ln of the density."""
        return -(x + self.epsilon) / 2 - math.log(4)

    def bound(self, left: Numbers, right: Numbers, away: Numbers) -> Bound:
        """For left <= z <= right and |v| <= away; infinite if that is too far."""
        found = power_bound(self.sign, self.told(left), self.told(right), away)
        return found._replace(steady=self.log_weight(left) + found.steady)

    def window(self, power: float) -> Window | None:  # noqa: ARG002
        """All between the two single values; None where that is too far."""
        if self.epsilon > _LARGEST:
            return None
        return Window(-self.epsilon, self.epsilon, open_below=False, open_above=False)

    def log_tails(self, window: Window, power: float) -> float:  # noqa: ARG002
        """Minus infinity: there are none."""
        return -math.inf
