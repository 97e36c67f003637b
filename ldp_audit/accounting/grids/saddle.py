"""Where a sum of independent losses must be tilted so that its mean lies at a given level.

Under the tilt theta each loss has the weights e**(theta l) times its own. With K the cumulant function of the sum, K'
is the tilted mean and K'' the tilted variance. How far apart two tilts are is measured in standard deviations on the
way, which is the integral of (K'')**(1/2) between them. Found from sketches, so only approximate; no bound rests on
it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ldp_audit.accounting.grids.loss_sketch import Sketch

_LARGEST_TILT = 1e18
_FOUND = 1e-6
_PER_OCTAVE = 3
_SINGLE = 1e-4
"""Where theta times the deviation is less, all but one loss are gone."""


class Cumulants(NamedTuple):
    """K, K' and K'' at a tilt."""

    log_mean: float
    mean: float
    variance: float


class _Step(NamedTuple):
    """A tilt, theta (K'')**(1/2) there, and how many standard deviations away it is."""

    theta: float
    rate: float
    distance: float


@dataclass(frozen=True, eq=False)
class Saddle:
    """The cumulant function of a sum.

    losses, logs: one law a row, filled up with minus infinity, shape (laws, cells).   times: shape (laws,).
    """

    losses: NDArray[np.float64]
    logs: NDArray[np.float64]
    times: NDArray[np.float64]
    _steps: list[_Step] = field(default_factory=list)

    def at(self, theta: float) -> Cumulants:
        """The cumulants of the sum, tilted by theta."""
        raised = self.logs + theta * self.losses
        top = raised.max(axis=1, keepdims=True)
        weights = np.exp(raised - top)
        total = weights.sum(axis=1)
        means = (weights * self.losses).sum(axis=1) / total
        spread = (weights * (self.losses - means[:, None]) ** 2).sum(axis=1) / total
        logs = np.log(total) + top[:, 0]
        return Cumulants(*(float((self.times * one).sum()) for one in (logs, means, spread)))

    def levels(self, theta: float) -> list[float]:
        """The tilted mean of each law."""
        raised = self.logs + theta * self.losses
        weights = np.exp(raised - raised.max(axis=1, keepdims=True))
        return [float(mean) for mean in (weights * self.losses).sum(axis=1) / weights.sum(axis=1)]

    @cached_property
    def slope(self) -> float:
        """The tilt that moves the mean by about one standard deviation."""
        return 1 / max(math.sqrt(self.at(0.0).variance), 1 / _LARGEST_TILT)

    def log_delta(self, theta: float) -> float:
        """About ln delta at the mean of this tilt (the saddle-point approximation)."""
        here = self.at(theta)
        height = 1 + math.sqrt(2 * math.pi * here.variance) * theta * (1 + theta)
        return here.log_mean - theta * here.mean - math.log(height)

    def distance(self, theta: float) -> float:
        """How many standard deviations this tilt is from none."""
        while self._last().theta < theta and self._extend():
            pass
        place = min(bisect_left(self._steps, theta, key=lambda step: step.theta), len(self._steps) - 1)
        return self._between(place, theta)

    def tilt_at_distance(self, distance: float) -> float | None:
        """The tilt so many standard deviations > 0 from none; None where there is none so far."""
        while self._last().distance < distance:
            if not self._extend():
                return None
        place = bisect_left(self._steps, distance, key=lambda step: step.distance)
        low = self._steps[place - 1].theta if place else 0.0
        high = self._steps[place].theta
        return float(brentq(lambda theta: self._between(place, theta) - distance, low, high, xtol=_FOUND * high))  # type: ignore[arg-type]

    def tilt_of_mean(self, mean: float) -> float | None:
        """The tilt >= 0 with this mean, 0 for those below; None where no tilt reaches it."""
        return self._tilt(lambda theta: self.at(theta).mean - mean)

    def tilt_of_log_delta(self, log_delta: float) -> float | None:
        """The tilt whose mean is about the level with this delta; None where there is none."""
        return self._tilt(lambda theta: log_delta - self.log_delta(theta))

    def _between(self, place: int, theta: float) -> float:
        """The distance of a tilt before the step of this number, by the trapezoid rule in ln theta."""
        if place == 0:
            return self._steps[0].distance * theta / self._steps[0].theta
        low, high = self._steps[place - 1], self._steps[place]
        share = min(1.0, math.log(theta / low.theta) / math.log(high.theta / low.theta))
        return low.distance + share * (high.distance - low.distance)

    def _last(self) -> _Step:
        if not self._steps:
            theta = self.slope / 8
            rate = theta * math.sqrt(self.at(theta).variance)
            self._steps.append(_Step(theta, rate, rate))
        return self._steps[-1]

    def _extend(self) -> bool:
        """One step more; false at the last one."""
        last = self._last()
        if last.rate < _SINGLE or last.theta > _LARGEST_TILT:
            return False
        theta = last.theta * 2 ** (1 / _PER_OCTAVE)
        rate = theta * math.sqrt(self.at(theta).variance)
        self._steps.append(_Step(theta, rate, last.distance + (last.rate + rate) / 2 * math.log(2) / _PER_OCTAVE))
        return True

    def _tilt(self, excess: Callable[[float], float]) -> float | None:
        """The root of an increasing function of the tilt; None if there is none up to the largest tilt."""
        low, high = 0.0, self.slope
        if excess(low) >= 0:
            return 0.0
        before = -math.inf
        while (now := excess(high)) < 0:
            if high > _LARGEST_TILT or now - before <= 1e-12 * abs(now):
                return None
            low, high, before = high, 2 * high, now
        return float(brentq(excess, low, high, xtol=_FOUND * high, rtol=_FOUND))  # type: ignore[arg-type]


def saddle_of(sketches: Sequence[Sketch], times: Sequence[int]) -> Saddle:
    """The cumulant function of the sum of these laws, each so many times."""
    size = max(one.losses.size for one in sketches)
    losses, logs = np.zeros((len(sketches), size)), np.full((len(sketches), size), -math.inf)
    for row, one in enumerate(sketches):
        losses[row, : one.losses.size], logs[row, : one.logs.size] = one.losses, one.logs
    return Saddle(losses, logs, np.array(times, dtype=np.float64))
