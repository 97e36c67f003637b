"""Where to look next for the value at which a falling function crosses 0, of which few values are known.

In ln value the function is taken to be near a straight line: the crossing is estimated from the values that are
nearest to it, by inverse quadratic interpolation or a secant. What is known is a bracket, so a bad estimate only costs
time: where three of them have not halved the bracket, the next value halves it. An estimate that lies next to an end is
moved as far from it as the ends may stay apart, so that the bracket closes from both sides.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field

_MOST = math.log(sys.float_info.max)
_SMALLEST = 1e-300
"""Positive values below it are not told apart."""
_CLOSE, _PATIENCE = 0.9, 3
"""How near to an end the next value may lie, of what the ends may stay apart; how many estimates may be in vain."""
_NEAR, _BEYOND, _SHORT, _FAR, _FURTHER = 0.5, 1.5, 0.7, math.log(64), 1.1
"""A first step is this much of the height where that is less than the first, and else that much, and at most so far;
the next go so much further than a secant says."""


@dataclass
class Steps:
    """What is known of the crossing.

    heights: of the values that were visited, >= 0 on the safe side.   safe, unsafe: the nearest values around the
    crossing; None while the second is not known.   tolerance: how far apart they may stay, as a share of either.
    whole: values are whole numbers, and may stay 1 apart.
    """

    heights: dict[float, float]
    safe: float
    unsafe: float | None
    tolerance: float
    whole: bool
    _widths: list[float] = field(default_factory=list)
    _outside: int = 0

    def ahead(self, here: float, end: float) -> float:
        """The next value on the way to an end of the range, about at the crossing or a little behind it."""
        way = 1 if end > here else -1
        if here * end <= 0:
            return here + way * max(1, abs(here) // 2) if self.whole else end
        step = self._step(here, math.copysign(1, abs(end) - abs(here)))
        next_one = here * math.exp(step)
        if self.whole:
            next_one = here + way * max(1, abs(round(next_one - here)))
        return next_one if way * (end - next_one) > 0 else end

    def between(self) -> float | None:
        """A value between the two; None where they are as near as was asked for."""
        safe, unsafe = self.safe, self.safe if self.unsafe is None else self.unsafe
        apart, largest = abs(safe - unsafe), max(abs(safe), abs(unsafe))
        if self.whole and apart <= 1:
            return None
        if not self.whole and (apart <= self.tolerance * min(abs(safe), abs(unsafe)) or largest <= _SMALLEST):
            return None
        middle = self._middle(safe, unsafe)
        if middle in (safe, unsafe):
            return None
        if safe * unsafe <= 0:
            return middle
        self._widths.append(abs(math.log(safe / unsafe)))
        stalled = len(self._widths) > _PATIENCE and self._widths[-1] > self._widths[-1 - _PATIENCE] / 2
        guess = None if stalled else self._crossing()
        return middle if guess is None else self._inside(_value(guess, safe), middle)

    def add(self, value: float, height: float, *, safe: bool) -> None:
        """What was found at a value between the two."""
        self.heights[value] = height
        if safe:
            self.safe = value
        else:
            self.unsafe = value

    def _middle(self, safe: float, unsafe: float) -> float:
        """The middle of the two, in ln value if they are far apart."""
        if self.whole:
            return (safe + unsafe) // 2
        small, large = sorted((abs(safe), abs(unsafe)))
        if safe * unsafe < 0 or large <= 4 * small:
            return (safe + unsafe) / 2
        return math.copysign(math.sqrt(small) * math.sqrt(large) if small else large / 1024, safe + unsafe)

    def _inside(self, guess: float, middle: float) -> float:
        """The guess, but no nearer to an end than the ends may stay apart.

        For one beyond an end, in turn the middle, and what is as many times nearer to that end than the other one is as
        it could be still: the function may change fast there.
        """
        low, high = sorted((self.safe, self.safe if self.unsafe is None else self.unsafe))
        least = 1.0 if self.whole else _CLOSE * self.tolerance * min(abs(low), abs(high))
        if not low - least <= guess <= high + least:
            self._outside += 1
            if self._outside % 2 == 0:
                return middle
            least = math.sqrt(least * (high - low))
        inside = min(max(guess, low + least), high - least)
        return min(max(round(inside), low + 1), high - 1) if self.whole else inside

    def _step(self, here: float, way: float) -> float:
        """How far to go from a visited value, in ln value; way: 1 or -1."""
        height = abs(self.heights[here])
        if not math.isfinite(height):
            return way * math.log(2)
        crossing = self._crossing()
        if crossing is None:
            far = _BEYOND * height if height < _NEAR else _SHORT * height
        else:
            far = _FURTHER * way * (crossing - math.log(abs(here)))
        least = _CLOSE * self.tolerance
        return way * min(max(far if far > 0 else math.log(2), least), _FAR)

    def _crossing(self) -> float | None:
        """About ln |value| where the height is 0, from the visited values whose heights are next to it."""
        finite = [
            (math.log(abs(value)), height)
            for value, height in self.heights.items()
            if value * self.safe > 0 and math.isfinite(height)
        ]
        points = sorted(finite, key=lambda point: abs(point[1]))[:3]
        heights = {height for _, height in points}
        if len(heights) < 2 or len(heights) < len(points):
            return None
        found = sum(
            place * math.prod(other / (other - height) for other in heights if other != height)
            for place, height in points
        )
        return found if math.isfinite(found) else None


def _value(log: float, sign: float) -> float:
    """The value with this ln and sign; the largest float for more."""
    return math.copysign(math.exp(log) if log < _MOST else sys.float_info.max, sign)
