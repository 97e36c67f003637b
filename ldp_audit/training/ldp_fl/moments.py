"""Bias, variance and fourth cumulant of a report, from which follow those of an average of reports.

All are of a weight in a range of center 0 and radius 1: a function of its clipped position in [-1, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.mechanisms.values.two_point import TwoPoint


class ReportMoments(Protocol):
    """What the measures of a layer need of the noise."""

    @property
    def reach(self) -> float:
        """About how far a report goes, for the rounding of float32."""
        ...

    @property
    def amplitude(self) -> float | None:
        """A, the distance of the two-point mechanism's reports from the center; None for another mechanism."""
        ...

    def at(self, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Bias, variance and fourth cumulant at these clipped weights, float64; each of the same shape."""
        ...


def moments_of(mechanism: Mechanism) -> ReportMoments:
    """The moments of a mechanism's reports: closed forms for the paper's."""
    return TwoPointMoments(mechanism.epsilon) if isinstance(mechanism, TwoPoint) else ValueMoments(mechanism)


@dataclass(frozen=True)
class TwoPointMoments:
    """Of reports -A and A, A = 1 / tanh(epsilon / 2): at u, variance s = A^2 - u^2, fourth cumulant s (4 A^2 - 6 s)."""

    epsilon: float

    @property
    def amplitude(self) -> float:
        """See `ReportMoments`."""
        return 1 / math.tanh(self.epsilon / 2)

    @property
    def reach(self) -> float:
        """See `ReportMoments`."""
        return self.amplitude

    def at(self, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """See `ReportMoments`."""
        half = self.epsilon / 2
        least = 0.0 if half > 350 else 1 / math.sinh(half) ** 2  # A^2 - 1, without cancellation
        variance = least + (1 - position.abs()) * (1 + position.abs())
        return torch.zeros_like(position), variance, variance * (4 * (1 + least) - 6 * variance)


_INPUTS, _DRAWS, _SEED = 33, 2**14, 20211
"""Inputs at which a fourth cumulant is estimated, and draws at each. It enters standard deviations alone, divided by
the number of clients."""


@dataclass(frozen=True)
class ValueMoments:
    """Of any mechanism of one number: its own `mean` and `variance`, and a fourth cumulant that draws estimate."""

    mechanism: Mechanism

    @property
    def amplitude(self) -> None:
        """See `ReportMoments`."""
        return

    @cached_property
    def reach(self) -> float:
        """See `ReportMoments`."""
        inputs = np.linspace(*self.mechanism.domain(), _INPUTS)
        return 1 + 5 * math.sqrt(float(np.max(self.mechanism.variance(inputs)))) / self._scale[1]

    def at(self, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """See `ReportMoments`."""
        (middle, half), flat = self._scale, position.double().cpu().numpy().ravel()
        inputs = np.clip(middle + half * flat, *self.mechanism.domain())
        bias = (np.asarray(self.mechanism.mean(inputs)) - middle) / half - flat
        variance = np.asarray(self.mechanism.variance(inputs)) / half**2
        fourth = np.interp(flat, np.linspace(-1, 1, _INPUTS), self._fourth)
        found = (torch.from_numpy(one.reshape(position.shape)) for one in (bias, variance, fourth))
        first, second, third = (one.to(position.device) for one in found)
        return first, second, third

    @property
    def _scale(self) -> tuple[float, float]:
        low, high = self.mechanism.domain()
        return (low + high) / 2, (high - low) / 2

    @cached_property
    def _fourth(self) -> NDArray[np.float64]:
        inputs = np.linspace(*self.mechanism.domain(), _INPUTS)
        draws = self.mechanism.sample(np.repeat(inputs, _DRAWS), rng=np.random.default_rng(_SEED))
        drawn = np.asarray(draws, dtype=np.float64).reshape(_INPUTS, _DRAWS) / self._scale[1]
        away = drawn - drawn.mean(axis=1, keepdims=True)
        return (away**4).mean(axis=1) - 3 * (away**2).mean(axis=1) ** 2
