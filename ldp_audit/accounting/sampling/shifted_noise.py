"""Gaussian or Laplace noise and the same noise moved by steps: ratios of densities, and masses of intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss

Numbers = NDArray[np.float64]

_GAUSSIAN_REACH, _LAPLACE_REACH = 39.0, 760.0
"""Beyond so many scales of the noise there is no mass that a float holds."""
_RULE = np.polynomial.legendre.leggauss(6)
_LARGE = 700.0


@dataclass(frozen=True, eq=False)
class ShiftedNoise:
    """In units of the noise's scale.

    noise: the loss of one step.   steps: how many there are, ascending, shape (j,).
    """

    noise: GaussianLoss | LaplaceLoss
    steps: Numbers

    @property
    def step(self) -> float:
        """The distance of one step."""
        return self.noise.mu if isinstance(self.noise, GaussianLoss) else self.noise.epsilon

    @property
    def distances(self) -> Numbers:
        """Of all steps, shape (j,)."""
        return self.steps * self.step

    @property
    def reach(self) -> float:
        """How far the noise reaches."""
        return _GAUSSIAN_REACH if isinstance(self.noise, GaussianLoss) else _LAPLACE_REACH

    def log_ratios(self, outputs: Numbers) -> Numbers:
        """ln of the moved densities over that of the noise, shape (j, m). outputs: shape (m,), or infinite."""
        far = self.distances[:, None]
        if isinstance(self.noise, GaussianLoss):
            with np.errstate(invalid="ignore"):
                return np.where(far > 0, far * (outputs - far / 2), 0.0)
        return np.clip(2 * outputs - far, -far, far)

    def log_delta(self, distance: float, level: float) -> float:
        """ln delta between the noise and itself at this distance."""
        law = GaussianLoss(distance) if isinstance(self.noise, GaussianLoss) else LaplaceLoss(distance)
        return law.log_delta_bounds(level)[1]

    def log_delta_at_most(self, levels: Numbers) -> Numbers:
        """An upper end of the same for all distances, each at its level, shape (j,)."""
        far = self.distances
        with np.errstate(divide="ignore", invalid="ignore"):
            if isinstance(self.noise, GaussianLoss):
                power = log_ndtr(far / 2 - levels / far)
            else:
                power = np.minimum(0.0, np.log(np.maximum(far - levels, 0.0)))
        return np.where(far > 0, power, -np.inf)

    def span(self, loss: float) -> tuple[float, float]:
        """Outputs between which a mixture's loss takes all values of at most this size that it takes.

        For Gaussian noise some further: the ratio of one step reaches the loss there, and so does any other.
        """
        if isinstance(self.noise, LaplaceLoss):
            return 0.0, float(self.distances[-1])
        least = float(self.distances[self.distances > 0][0])
        far = float(self.distances[-1]) + (loss + 2 * 760.0) / least
        return -far, far

    def log_sizes(self, cuts: Numbers) -> Numbers:
        """ln of the noise's masses of (-inf, x_0], (x_0, x_1], ..., (x_last, inf), shape (m + 1,)."""
        if isinstance(self.noise, GaussianLoss):
            return GaussianLoss(1.0).masses(cuts - 0.5).second  # whose law under Q is the noise half a unit down
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        low, high = edges[:-1], edges[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            one_side = np.where(high <= 0, high, -low) + np.log(-np.expm1(low - high))
            both = np.log(-np.expm1(np.minimum(low, 0.0)) - np.expm1(-np.maximum(high, 0.0)))
        return np.where((low < 0) & (high > 0), both, one_side) - math.log(2)

    def cell_ratios(self, cuts: Numbers) -> Numbers:
        """ln of the moved noises' masses of the same intervals over that of the noise, shape (j, m + 1).

        cuts: for Laplace noise all distances are among them.
        """
        far = self.distances[:, None]
        if isinstance(self.noise, LaplaceLoss):
            inner = np.clip(cuts[:-1] + cuts[1:] - far, -far, far)  # between 0 and the distance it is that sum
            return np.hstack([-far, inner, far])
        sizes = self.log_sizes(cuts)
        wide = np.diff(cuts) * np.maximum(1.0, np.abs(cuts[1:]))
        found = np.empty((far.size, sizes.size))
        for row, distance in zip(found, self.distances, strict=True):
            row[:] = 0.0 if not distance else self.log_sizes(cuts - distance) - sizes
            near = np.flatnonzero((wide < 1) & (np.diff(cuts) * distance < 0.3))
            if distance and near.size:  # the mean of the ratio, to all its digits
                row[near + 1] = _mean_ratio(cuts[near], cuts[near + 1], float(distance))
        return found


def _mean_ratio(low: Numbers, high: Numbers, distance: float) -> Numbers:
    """ln of the mean of e**(distance (x - distance/2)) under the normal density on narrow intervals."""
    middle, wide = (low + high) / 2, high - low
    total, weighed = np.zeros_like(wide), np.zeros_like(wide)
    for node, weight in zip(*_RULE, strict=True):
        away = wide * (node / 2)
        mass = weight * np.exp(-away * (middle + away / 2))
        total += mass
        weighed += mass * np.expm1(np.minimum(distance * (middle + away - distance / 2), _LARGE))
    centre = distance * (middle - distance / 2)
    far = np.zeros_like(wide)
    for node, weight in zip(*_RULE, strict=True):
        away = wide * (node / 2)
        far += weight * np.exp(-away * (middle + away / 2) + distance * away) / total
    small = np.abs(centre) < 1
    return np.where(small, np.log1p(np.where(small, weighed / total, 0.0)), centre + np.log(far))
