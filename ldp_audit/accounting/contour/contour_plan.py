"""Which line serves a level, and with which step and how many points: no bound's truth rests on it.

The lines go through c = 2**(k/32), k whole. A level's line is that on which the integrand is lowest at y = 0, which is
that of the saddle point; so an answer depends on the question alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ldp_audit.accounting.contour.contour_line import ContourLine, Tangent, contour_line
from ldp_audit.accounting.contour.summed_transform import SummedTransform
from ldp_audit.accounting.contour.transform import log_at_most

_PER_OCTAVE = 32
_LOWEST, _HIGHEST = -100 * _PER_OCTAVE, 60 * _PER_OCTAVE
_PRECISE = 28.0
"""-ln of the share of delta by which the trapezoid rule may be wrong, about."""
_SLACK = 0.1
"""How much longer the period is for levels beside the line's own, in units of c times the variance."""
_SHORTEST = 8.0
"""Where a line ends at the earliest, in units of one over the deviation."""
_MOST_NODES = 2**13
_TANGENTS = (-96, -48, -24, -12, -6, -3, 3, 6, 12, 24, 48, 96)
_NEIGHBOUR = 4


@dataclass(frozen=True, eq=False)
class ContourPlan:
    """The lines of a sum of losses."""

    transform: SummedTransform
    _heights: dict[int, float] = field(default_factory=dict)
    _lines: dict[int, ContourLine | None] = field(default_factory=dict)

    def line(self, epsilon: float) -> ContourLine | None:
        """The line that serves this level; None where there is none."""
        k = self._place(epsilon)
        if k not in self._lines:
            self._lines[k] = self._made(k)
        return self._lines[k]

    def log_chernoff(self, epsilon: float) -> float:
        """ln of an upper bound of delta by a single tilt, for levels that no line serves; 0 where there is none."""
        k = self._place(epsilon)
        if not math.isfinite(self.log_mean(k)) or not math.isfinite(_tilt(k) * epsilon):
            return 0.0
        return min(0.0, Tangent(_tilt(k), self.log_mean(k)).log_delta(epsilon))

    def epsilon_near(self, log_delta: float) -> float:
        """About the level with this ln delta; not a number where none is found."""
        low = self._start
        while low > _LOWEST and not self._saddle(low)[1] > log_delta:
            low -= _PER_OCTAVE
        high = low + 1
        while high < _HIGHEST and self._saddle(high)[1] > log_delta:
            low, high = high, high + _PER_OCTAVE // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._saddle(middle)[1] > log_delta else (low, middle)
        (left, above), (right, below) = self._saddle(low), self._saddle(high)
        if not (math.isfinite(above) and math.isfinite(below)) or above == below:
            return math.nan
        return left + (right - left) * (above - log_delta) / (above - below)

    @property
    def _start(self) -> int:
        """The line at about one deviation's tilt, if the loss were Gaussian."""
        k = 0
        while self.log_mean(k) == math.inf and k > _LOWEST:
            k -= 8 * _PER_OCTAVE
        c = 2 ** (k / _PER_OCTAVE)
        variance = 2 * self.log_mean(k) / (c * (c + 1))
        if not 0 < variance < math.inf:
            return k
        return max(_LOWEST, min(_HIGHEST, round(-_PER_OCTAVE / 2 * math.log2(variance))))

    def log_mean(self, k: int) -> float:
        """An upper bound of ln M(c), infinite where it cannot be told."""
        if k not in self._heights:
            self._heights[k] = log_at_most(self.transform, _tilt(k))
        return self._heights[k]

    def _height(self, k: int, epsilon: float) -> float:
        """ln of the integrand at y = 0."""
        c = _tilt(k)
        return self.log_mean(k) - c * epsilon - math.log(c) - math.log1p(c)

    def _place(self, epsilon: float) -> int:
        """The k whose integrand is lowest: it falls before, and rises from there on."""

        def rising(k: int) -> bool:
            return k >= _HIGHEST or not self._height(k + 1, epsilon) < self._height(k, epsilon)

        low = high = self._start
        step = 4
        if rising(low):
            while low > _LOWEST and rising(low):
                low, high, step = low - step, low, 2 * step
        else:
            while not rising(high):
                low, high, step = high, high + step, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if rising(middle) else (middle, high)
        return high

    def _saddle(self, k: int) -> tuple[float, float]:
        """The level whose saddle point is at c, and about ln delta there."""
        c, here = _tilt(k), self.log_mean(k)
        if not math.isfinite(here + self.log_mean(k + _NEIGHBOUR)):
            return math.inf, -math.inf
        mean, variance = self._slopes(k)
        epsilon = mean - 1 / c - 1 / (1 + c)
        curve = max(variance, 0.0) + 1 / c**2 + 1 / (1 + c) ** 2
        log_delta = here - c * epsilon - math.log(c) - math.log1p(c) - 0.5 * math.log(2 * math.pi * curve)
        return epsilon, min(log_delta, 0.0)

    def _slopes(self, k: int) -> tuple[float, float]:
        """About the first two derivatives of ln M at c, from its neighbours."""
        c, left, right = (_tilt(k + away) for away in (0, -_NEIGHBOUR, _NEIGHBOUR))
        here, before, after = (self.log_mean(k + away) for away in (0, -_NEIGHBOUR, _NEIGHBOUR))
        low, high = (here - before) / (c - left), (after - here) / (right - c)
        share = (c - left) / (right - left)
        return low + (high - low) * share, 2 * (high - low) / (right - left)

    def _made(self, k: int) -> ContourLine | None:
        """The line of this number; None where its sum would be too long, or M is not known to fall off."""
        if not math.isfinite(self.log_mean(k)):
            return None
        c = _tilt(k)
        epsilon, log_delta = self._saddle(k)
        if not math.isfinite(epsilon):
            return None
        variance = max(self._slopes(k)[1], 0.0)
        near = [Tangent(_tilt(k + away), self.log_mean(k + away)) for away in _TANGENTS]
        tangents = [
            Tangent(0.0, log_at_most(self.transform, 0.0)),
            *(one for one in near if math.isfinite(one.log_mean)),
        ]
        period = self._period(c, epsilon, log_delta, variance, tangents)
        target = log_delta - _PRECISE + c * epsilon + math.log(math.pi)
        reach = _SHORTEST / math.sqrt(variance + 1 / c**2)
        while True:
            log_beyond = self.transform.log_beyond(c, reach)
            if log_beyond - math.log(reach) <= target:
                break
            reach *= 1.25
            if not reach * period < 2 * math.pi * _MOST_NODES:
                return None
        step = _few_bits(2 * math.pi / period)
        count = math.ceil(reach / step) + 1
        if count > _MOST_NODES:
            return None
        values = self.transform.at(c, step * np.arange(count, dtype=np.float64))
        return None if values is None else contour_line(c, step, values, log_beyond, tangents)

    @staticmethod
    def _period(c: float, epsilon: float, log_delta: float, variance: float, tangents: list[Tangent]) -> float:
        """How long it must be that little comes with delta, on either side."""
        needed = {-1: math.inf, 1: math.inf}
        for one in tangents:
            side = 1 if one.tilt > c else -1
            gap = one.log_delta(epsilon) - log_delta + _PRECISE
            needed[side] = min(needed[side], gap / abs(c - one.tilt))
        return max(needed.values()) + _SLACK * c * variance


def _tilt(k: int) -> float:
    return 2.0 ** (k / _PER_OCTAVE)


def _few_bits(step: float) -> float:
    """The step rounded down to ten bits."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.floor(mantissa * 1024), exponent - 10)
