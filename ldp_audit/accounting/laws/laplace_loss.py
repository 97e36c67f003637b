"""The privacy loss of Laplace noise, in closed form.

Two inputs e0 scales apart: for noise of z scales the loss is |z - e0| - |z|, so it is e0 with probability 1/2, -e0 with
probability e**-e0 / 2, and between them it has the density e**((l - e0)/2) / 4. Hence delta(epsilon) is
1 - e**((epsilon - e0)/2) between -e0 and e0. Inputs that are nearer have less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.improper_loss import log_lacking
from ldp_audit.accounting.laws.loss_law import CellMasses


@dataclass(frozen=True)
class LaplaceLoss:
    """The loss of one number with Laplace noise. It is its own mirror image.

    epsilon: sensitivity over scale, nats, > 0, finite. Raises ValueError for anything else.
    """

    epsilon: float

    exact = True

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon must be > 0 and finite, got {self.epsilon!r}")

    def largest(self) -> float:
        """See `LossLaw`."""
        return self.epsilon

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`; both ends are the same."""
        if epsilon >= self.epsilon:
            return -math.inf, -math.inf
        value = log_lacking(epsilon if epsilon <= -self.epsilon else (epsilon - self.epsilon) / 2)
        return value, value

    def mirrored(self) -> LaplaceLoss:
        """The loss of (Q, P): the same."""
        return self

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `DiscretisableLaw`."""
        top = self.epsilon
        inner = np.concatenate([[-top], np.clip(edges, -top, top), [top]])
        with np.errstate(divide="ignore"):
            gaps = np.log(-np.expm1(-np.diff(inner) / 2)) - math.log(2)
        first, second = gaps + (inner[1:] - top) / 2, gaps - (inner[:-1] + top) / 2
        for loss in (top, -top):
            cell = int(np.searchsorted(edges, loss, side="left"))
            first[cell] = np.logaddexp(first[cell], math.log(0.5) + (0 if loss > 0 else -top))
            second[cell] = np.logaddexp(second[cell], math.log(0.5) - (top if loss > 0 else 0))
        return CellMasses(first, second, -math.inf, -math.inf)
