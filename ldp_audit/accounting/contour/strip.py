r"""The strips on which a line may lie, and what the integral along it is.

delta(epsilon) is the integral of M(s) e**(-s epsilon)/(s (s + 1)) over 2 pi i along a line with c > 0. On the other
side of the pole at s = 0, whose residue is M(0) = 1, it is that less 1. So for -1 < c < 0

    1 - delta(epsilon) = E[min(1, e**(epsilon - L))] = the integral of M(s) e**(-s epsilon)/(-s (s + 1)),

with which what delta lacks of 1 has its own digits. For -1 <= t <= 0 it is at most M(t) e**(-t epsilon).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

OCTAVE = 2**20
"""Places between c and 2 c, or where c < 0, between odds c/(1 + c) and twice those."""


@dataclass(frozen=True)
class Strip:
    """One of the two.

    sign: of c, and of what M(s)/(s (s + 1)) is multiplied by.   lowest, highest: the places of its outermost lines.
    """

    sign: int
    lowest: int
    highest: int

    def tilt(self, place: int) -> float:
        """c, which grows with the place; below 0 no further than to the outermost lines."""
        if self.sign > 0:
            return 2.0 ** (place / OCTAVE)
        return -1 / (1 + 2.0 ** (min(max(place, self.lowest), self.highest) / OCTAVE))

    def room(self, c: float) -> float:
        """How far c is from the strip's ends."""
        return c if self.sign > 0 else min(-c, 1 + c)

    def holds(self, c: float) -> bool:
        """Whether a tilt says anything of what the lines tell."""
        return c >= 0 if self.sign > 0 else -1 <= c <= 0

    @property
    def ends(self) -> tuple[float, ...]:
        """The tilts at its ends."""
        return (0.0,) if self.sign > 0 else (-1.0, 0.0)


ABOVE = Strip(1, -100 * OCTAVE, 60 * OCTAVE)
"""That of delta."""
BELOW = Strip(-1, -40 * OCTAVE, 100 * OCTAVE)
"""That of what delta lacks of 1."""


def log_weight(c: float) -> float:
    """ln of 1/|c (c + 1)|."""
    return -math.log(abs(c)) - math.log1p(c)
