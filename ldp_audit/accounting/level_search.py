"""The search for the epsilon at a delta.

Epsilon at a delta is the root of a bound on delta, which falls with epsilon, rounded to the safe side
and checked there. Each epsilon is evaluated once, for both bounds: the second search begins between the epsilons of the
first. Next to a finite supremum delta may fall to 0 within any part of a nat, so steps are shares of epsilon, or of its
distance from the supremum, whichever is shorter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from ldp_audit.numerics import root

_RELATIVE, _ABSOLUTE = 4e-13, 1e-300
"""How far an epsilon is moved from the computed root to the safe side."""
_NEAR, _FAR = 1.001, 16.0
"""The first factor by which an epsilon is multiplied, from a hint and otherwise; likewise its distance from the
supremum. Brackets wider than _FAR are halved by their logarithms."""
_POOR, _MOST = 1.1, 1e300
"""A factor above _POOR means that the hint is wrong; no factor exceeds _MOST."""
_LARGE = math.log(1e-3)
"""Above this ln delta, epsilon = 0 may suffice."""
_MOST_BELOW, _MOST_ABOVE = 1.0, 50.0
"""Caps on the excess of log odds below and above the target's."""

Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class LevelSearch:
    """The search for the least epsilon >= 0 at a target delta.

    ends: bounds on ln delta at an epsilon.   largest: the supremum of the loss, > 0.
    hint: about the epsilon, or the supremum; not a number where unknown.
    """

    ends: Callable[[float], Ends]
    largest: float
    hint: float = math.nan
    _asked: dict[float, Ends] = field(default_factory=dict, init=False, repr=False)

    def least(self, target: float, end: int) -> float:
        """The root of ln delta = target, finite: rounded down for the lower bound, 0, and up for the upper bound, 1.

        returns: infinity, or the supremum, where no epsilon is large enough.
        """

        goal = log_odds(target)

        def excess(level: float) -> float:
            found = log_odds(self._at(level)[end])
            return max(-_MOST_BELOW - abs(goal), min(found - goal, _MOST_ABOVE))

        start = self._start()
        # Near a hint the bounds at 0 are not needed, which for a grid take a sum of their own.
        if (start is None or target > _LARGE) and excess(0.0) <= 0:
            return 0.0
        if excess(math.inf) > 0:
            return self.largest
        low, high = self._bracket(excess, start)
        if 0 < low < high == self.largest < math.inf:  # where delta falls to 0: by shares of the distance from there
            low, high = self._upwards(excess, low, _MOST)
        if low == 0 and excess(0.0) <= 0:
            return 0.0
        if high == math.inf:  # no finite epsilon was seen where this bound is small enough
            return math.inf if end else low
        if high == low:
            return self._met(target) if end else self.largest
        while high > _FAR * low > 0:
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return self._beyond(root(excess, low, high, xtol=1e-300, rtol=1e-13), target, end)

    def _at(self, level: float) -> Ends:
        if level not in self._asked:
            self._asked[level] = self.ends(level)
        return self._asked[level]

    def _start(self) -> float | None:
        """An epsilon > 0 near the hint, if there is one."""
        if 0 < self.hint < self.largest:
            return self.hint
        if not self.hint > 0 or self.largest == math.inf:
            return None
        return min(self.largest - min(1.0, self.largest / 2), math.nextafter(self.largest, 0.0))

    def _bracket(self, excess: Callable[[float], float], start: float | None) -> tuple[float, float]:
        """Two epsilons around the root of a function that is above 0 at 0; `largest` twice if there is none."""
        seen = [level for level in self._asked if 0 < level < math.inf]
        low = max((level for level in seen if excess(level) > 0), default=0.0)
        high = min((level for level in seen if level > low and excess(level) <= 0), default=math.inf)
        if low > 0 and high < math.inf:
            return low, high
        factor = _FAR if start is None else _NEAR
        if not seen:
            start = min(1.0, self.largest) if start is None else start
            low, high = (start, math.inf) if excess(start) > 0 else (0.0, start)
        return self._upwards(excess, low, factor) if low > 0 else self._downwards(excess, high, factor)

    def _upwards(self, excess: Callable[[float], float], high: float, factor: float) -> tuple[float, float]:
        nearer, low = _FAR, high
        while excess(high) > 0:
            if high >= self.largest:
                return self.largest, self.largest
            beside = self.largest - (self.largest - high) / nearer
            low, high = high, min(high * factor, beside if beside > high else self.largest)
            factor, nearer = min(factor * factor, _MOST), min(nearer * nearer, _MOST)
        return low, high

    def _downwards(self, excess: Callable[[float], float], low: float, factor: float) -> tuple[float, float]:
        farther, high = _FAR, low
        while low > 0 and excess(low) <= 0:
            if factor > _POOR and excess(0.0) <= 0:
                return 0.0, 0.0
            beside = self.largest - (self.largest - low) * farther if self.largest < math.inf else 0.0
            high, low = low, max(low / factor if factor < _MOST else 0.0, beside if beside < low else 0.0)
            factor, farther = min(factor * factor, _MOST), min(farther * farther, _MOST)
        return low, high

    def _beyond(self, root: float, target: float, end: int) -> float:
        """A little above the root (upper bound) or below it (lower bound), and checked there."""
        step, way = max(_ABSOLUTE, _RELATIVE * root), 1 if end else -1
        while True:
            candidate = min(self.largest, max(0.0, root + way * step))
            met = self._at(candidate)[end] <= target
            if met == bool(end) or candidate == 0:
                return candidate
            if candidate == self.largest:
                return self._met(target) if end else self.largest
            step *= 4

    def _met(self, target: float) -> float:
        """The supremum, or if that is rounded down, an epsilon a little above whose delta is at most the target."""
        level = self.largest
        for doubling in range(10):
            if level == math.inf or self._at(level)[1] <= target:
                break
            level = self.largest + 2**doubling * math.ulp(self.largest)
        return level


def log_odds(log_delta: float) -> float:
    """ln delta/(1 - delta), which resolves deltas near 1 as well as small ones."""
    lacking = -math.expm1(log_delta)
    return log_delta - math.log(lacking) if lacking > 0 else math.inf
