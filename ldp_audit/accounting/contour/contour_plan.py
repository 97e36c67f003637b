"""Which line serves a level, and with which step and how many points: no bound's truth rests on it.

The lines go through c = 2**(k/4), k whole, or where those are too far from a level's saddle point, through numbers
between them. A level's line is that of these on which the integrand is lowest at y = 0; so an answer depends on the
question alone. On the strip of what delta lacks of 1 (`strip`) the odds of -c take the place of c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldp_audit.accounting.contour.contour_line import ContourLine, Tangent, contour_line
from ldp_audit.accounting.contour.strip import ABOVE, OCTAVE, Strip, log_weight
from ldp_audit.accounting.contour.transform import VAGUE, Transform, log_at_most

_STEPS = tuple(OCTAVE // 4 // 4**level for level in range(9))
"""How many places lines are apart, from the widest distance to the finest."""
_NEAR = OCTAVE // 32
_LARGEST = 1e6
_DEEPEST = -1e6
"""ln of an integrand below which no lower one is looked for."""
_BELOW = 20.0
"""How far below a bound that is small enough an integrand is, for the bound to be so."""
_AWAY = 2.0
"""How many deviations a level may lie from that of its line's saddle point."""
_PRECISE = 28.0
"""-ln of the share of delta by which the trapezoid rule may be wrong, about."""
_SHORTEST, _STEPWISE = 10.0, (1.42, 1.42, 2.0)
"""Where a line ends at the earliest, in units of one over the deviation; and by what that grows until it serves, in the
end by the last again and again."""
_REFINED = 1.5
"""If it grew by more at last, a line half as much longer is tried as well."""
MOST_NODES, _FALLEN = 2**15, 15.0
_FEW_BITS = 2.0**-10
"""Of how few bits a step is."""
_TANGENTS = (1.0, 3.5, 7.5, 16.0)
"""Other tilts that are looked at, in deviations on either side."""
_RATIOS = (0.125, 0.35, 2.0)
"""And in units of c."""


Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class ContourPlan:
    """The lines of a sum of losses.

    most_nodes: the most points that a line may have.   strip: where they lie, and so what they tell: what is said here
    of delta is so of 1 - delta for the strip below 0.   to_the_end: whether a line that does not fall off as far as
    wanted is used all the same, with its most points.
    """

    transform: Transform
    most_nodes: int = MOST_NODES
    strip: Strip = ABOVE
    to_the_end: bool = False
    _means: dict[float, float] = field(default_factory=dict)
    _abouts: dict[float, float] = field(default_factory=dict)
    _lines: dict[int, ContourLine | None] = field(default_factory=dict)

    def line(self, epsilon: float) -> ContourLine | None:
        """The line that serves this level; None where there is none."""
        if not self.falls:
            return None
        k = self._place(epsilon)
        if k not in self._lines:
            self._lines[k] = self._made(self.strip.tilt(k))
        return self._lines[k]

    @cached_property
    def falls(self) -> bool:
        """Whether M falls off at all along a line; for larger c it falls off less, if single losses are the largest."""
        return self.strip.sign < 0 or self.transform.log_limit(0.0) < self._about(0.0) - _FALLEN

    def log_chernoff(self, epsilon: float, enough: float = _DEEPEST) -> float:
        """ln of an upper bound of delta by a single tilt, for levels that no line serves; 0 where there is none.

        enough: ln of a bound than which no smaller one is looked for.
        """
        k = self._place(epsilon, enough=enough - _BELOW)
        while (c := self.strip.tilt(k)) and k > self.strip.lowest:
            if math.isfinite(self.log_mean(c)) or self._about(c) <= _LARGEST:
                break
            k -= 2 * OCTAVE
        tilts = [c for c in (c, *self.strip.ends) if math.isfinite(self.log_mean(c) + c * epsilon)]
        known = [Tangent(c, self.log_mean(c)) for c in tilts]
        return min([0.0, *(tangent.log_delta(epsilon) for tangent in known)])

    def log_about(self, epsilon: float) -> float:
        """About ln delta, by the saddle point of one of a few tilts."""
        k = self._place(epsilon, _STEPS[:1])
        c = self.strip.tilt(k)
        if not math.isfinite(self._about(c)):
            return -math.inf
        size = self._height(k, epsilon) - 0.5 * math.log(2 * math.pi * self._saddle_point(c)[1])
        return min(size, self._about(0.0), 0.0)

    def deviation_at(self, epsilon: float) -> float:
        """About the deviation of the sum, tilted for this level, nats."""
        return math.sqrt(self._moments(self.strip.tilt(self._place(epsilon)))[1])

    def line_at_hand(self, epsilon: float) -> ContourLine | None:
        """The line that serves this level, if it was asked for."""
        return self._lines.get(self._place(epsilon)) if self.falls else None

    @cached_property
    def masses(self) -> tuple[Ends, Ends]:
        """ln of the ends of M(0) and of M(-1): what P and Q have of these outcomes."""
        return self._ends_at(0.0), self._ends_at(-1.0)

    def _ends_at(self, c: float) -> Ends:
        found = self.transform.at(c, np.zeros(1))
        if found is None:
            return -math.inf, math.inf
        log, error = float(found.log[0].real), float(found.error[0])
        return log - error if error < VAGUE else -math.inf, log + error

    def epsilon_near(self, log_delta: float) -> float:
        """About the level with this ln delta; not a number where none is found."""

        def before(k: int) -> bool:
            return self.strip.sign * (self._saddle(self.strip.tilt(k))[1] - log_delta) > 0

        step = _NEAR
        low = self._start
        while low > self.strip.lowest and not before(low):
            low -= 32 * step
        high = low + step
        while high < self.strip.highest and before(high):
            low, high = high, high + 16 * step
        while high - low > step:
            middle = (low + high) // (2 * step) * step
            low, high = (middle, high) if before(middle) else (low, middle)
        (left, above), (right, below) = self._saddle(self.strip.tilt(low)), self._saddle(self.strip.tilt(high))
        if not (math.isfinite(above) and math.isfinite(below)) or above == below:
            return math.nan
        return left + (right - left) * (above - log_delta) / (above - below)

    @property
    def _start(self) -> int:
        """The line at about one deviation's tilt, if the loss were Gaussian."""
        k, step = 0, _STEPS[0]
        while self._about(self.strip.tilt(k)) == math.inf and k > self.strip.lowest:
            k -= 8 * OCTAVE
        c = self.strip.tilt(k)
        variance = 2 * (self._about(c) - min(0.0, self._about(0.0))) / (c * (c + 1))
        if self.strip.sign < 0 or not 0 < variance < math.inf:
            return k
        return max(self.strip.lowest, min(self.strip.highest, round(-OCTAVE / 2 * math.log2(variance) / step) * step))

    def log_mean(self, c: float) -> float:
        """An upper bound of ln M(c), infinite where it cannot be told."""
        if c not in self._means:
            self._means[c] = log_at_most(self.transform, c)
        return self._means[c]

    def _about(self, c: float) -> float:
        """About ln M(c)."""
        if c not in self._abouts:
            self._abouts[c] = self.transform.about(c)
        return self._abouts[c]

    def _height(self, k: int, epsilon: float) -> float:
        """About ln of the integrand at y = 0."""
        c = self.strip.tilt(k)
        return self._about(c) - c * epsilon + log_weight(c)

    def _place(self, epsilon: float, steps: tuple[int, ...] = _STEPS, enough: float = _DEEPEST) -> int:
        """The place whose integrand is lowest, or low enough: it falls before, and rises from there on."""
        step, enough = steps[0], max(enough, _DEEPEST)

        def rising(k: int) -> bool:
            here = self._height(k, epsilon)
            return k >= self.strip.highest or here < enough or not self._height(k + step, epsilon) < here

        low = high = self._start // step * step
        jump = 4 * step
        if rising(low):
            while low > self.strip.lowest and rising(low):
                low, high, jump = low - jump, low, 2 * jump
        else:
            while not rising(high):
                low, high, jump = high, high + jump, 2 * jump
        high = _bisected(rising, low, high, step)
        for step in steps[1:]:
            c = self.strip.tilt(high)
            saddle, curve = self._saddle_point(c)
            if not math.isfinite(self._about(c)) or abs(saddle - epsilon) <= _AWAY * math.sqrt(curve):
                break
            high = _bisected(rising, high - 4 * step, high + 4 * step, step)
        return high

    def _saddle(self, c: float) -> tuple[float, float]:
        """The level whose saddle point is at c, and about ln delta there."""
        epsilon, curve = self._saddle_point(c)
        if not math.isfinite(epsilon):
            return math.inf, -math.inf
        log_delta = self._about(c) - c * epsilon + log_weight(c) - 0.5 * math.log(2 * math.pi * curve)
        return epsilon, min(log_delta, 0.0)

    def _saddle_point(self, c: float) -> tuple[float, float]:
        """About the level whose saddle point is at c, and how the integrand's logarithm bends there."""
        mean, variance = self._moments(c)
        return mean - 1 / c - 1 / (1 + c), variance + 1 / c**2 + 1 / (1 + c) ** 2

    def _moments(self, c: float) -> tuple[float, float]:
        """About the first two derivatives of ln M at c, from two tilts at half a deviation from it, or nearer."""
        room, here = self.strip.room(c), self._about(c)
        away = room / 8
        while True:
            before, after = self._about(c - away), self._about(c + away)
            variance = (after - here - (here - before)) / away**2
            if not math.isfinite(variance):
                if away < room * 1e-4:
                    return math.inf, math.inf
                away /= 8
                continue
            variance = max(variance, 0.0)
            if variance * away * away <= 1.0:
                return (after - before) / (2 * away), variance
            away = min(away / 2, 0.5 / math.sqrt(variance))

    def _made(self, c: float) -> ContourLine | None:
        """The line through c; None where its sum would be too long, or M is not known to fall off."""
        epsilon, log_delta = self._saddle(c)
        if not math.isfinite(epsilon):
            return None
        room = self.strip.room(c)
        deviation = math.sqrt(self._moments(c)[1] + 1 / room**2)
        tilts = [c + way * away / deviation for away in _TANGENTS for way in (-1, 1)] + [c * one for one in _RATIOS]
        if self.strip.sign < 0:
            tilts += [(1 + c) * one - 1 for one in _RATIOS]
        tilts = [*self.strip.ends, *sorted(one for one in tilts if self.strip.holds(one))]
        tangents, period = self._tangents(c, epsilon, log_delta, tilts)
        # longer by as much as a level may lie beside the line's own
        period += _AWAY * deviation
        target = log_delta - _PRECISE + c * epsilon + math.log(math.pi)
        found = self._reach(c, _SHORTEST / deviation, 2 * math.pi * self.most_nodes / period, target)
        if found is None:
            return None
        reach, log_beyond = found
        step = _few_bits(2 * math.pi / period)
        count = math.ceil(reach / step) + 1
        if count > self.most_nodes:
            return None
        values = self.transform.at(c, step * np.arange(count, dtype=np.float64))
        return None if values is None else contour_line(c, step, values, log_beyond, tangents)

    def _reach(self, c: float, reach: float, most: float, target: float) -> tuple[float, float] | None:
        """Where a line may end, and ln of a bound on |M| from there on; None if that is too far."""
        before, log_beyond, steps = 0.0, math.inf, iter(_STEPWISE)
        if not 0 < most < math.inf or self.transform.log_limit(c) - math.log(most) > target:
            return None
        while reach < most:
            log_beyond = self.transform.log_beyond(c, reach)
            if log_beyond - math.log(reach) <= target:
                break
            before, reach = reach, next(steps, _STEPWISE[-1]) * reach
        else:
            last = most * (1 - 4 * _FEW_BITS)
            return (last, self.transform.log_beyond(c, last)) if self.to_the_end else None
        if reach > _REFINED * before > 0:
            middle = math.sqrt(before * reach)
            found = self.transform.log_beyond(c, middle)
            if found - math.log(middle) <= target:
                reach, log_beyond = middle, found
        return reach, log_beyond

    def _tangents(self, c: float, epsilon: float, log_delta: float, tilts: list[float]) -> tuple[list[Tangent], float]:
        """The best of these tilts on either side, and how long the period must be that little comes with delta."""

        def needed(one: Tangent) -> float:
            return (one.log_delta(epsilon) - log_delta + _PRECISE) / abs(c - one.tilt)

        found, period = [], 0.0
        for way in (-1, 1):
            about = [Tangent(one, self._about(one)) for one in tilts if way * (one - c) > 0]
            known = (Tangent(one.tilt, self.log_mean(one.tilt)) for one in sorted(about, key=needed))
            best = next((one for one in known if math.isfinite(one.log_mean)), None)
            if best is None:
                return found, math.inf
            found.append(best)
            period = max(period, needed(best))
        return found, period


def _bisected(rising: Callable[[int], bool], low: int, high: int, step: int) -> int:
    """The first place between the two, so many places apart, from which on the integrand rises."""
    while high - low > step:
        middle = low + (high - low) // (2 * step) * step
        low, high = (low, middle) if rising(middle) else (middle, high)
    return high


def _few_bits(step: float) -> float:
    """The step rounded down to ten bits."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.floor(mantissa / _FEW_BITS), exponent) * _FEW_BITS
