r"""A part of the noisy values, cut out so smoothly that integrals over it can still be moved into the complex plane.

A value x belongs to the part from L to U with the weight

    W(x) = Phi((U - x)/b) - Phi((L - x)/b) = integral from L to U of phi((u - x)/b) du/b,

and not at all beyond L - 10 b and U + 10 b, where W is below e**-53. So neighbouring parts, and all below and above,
have weights that add up to 1, but for less than 2e-23. Off the real line, as |phi(t + i v)| = phi(t) e**(v**2/2),

    |W(x + i v)| <= W(x) e**(v**2/(2 b**2)),   and   |W(x + i v) - 1| <= (1 - W(x)) e**(v**2/(2 b**2)).

Of a normal x, the weight of all below U is Phi(U/(1 + b**2)**(1/2)) on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

BEYOND = 10.0
"""Where a weight ends, in units of the blur."""
LEFT_OUT = 2e-23
"""How much of a value all parts together may lack."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class SmoothPart:
    """The part between two values; minus infinity and infinity where it has no end.

    blur: b > 0, at most a twentieth of the distance to any other end.
    """

    low: float = -math.inf
    high: float = math.inf
    blur: float = 1.0

    @property
    def whole(self) -> bool:
        """Whether all values count."""
        return self.low == -math.inf and self.high == math.inf

    @property
    def reach(self) -> tuple[float, float]:
        """Where the weight begins and ends."""
        return self.low - BEYOND * self.blur, self.high + BEYOND * self.blur

    @property
    def lacking(self) -> float:
        """1 - W on average over a normal x, for a part with no lower end."""
        return float(ndtr(-self.high / math.sqrt(1 + self.blur * self.blur))) if self.high < math.inf else 0.0

    def weights(self, x: Numbers) -> Numbers:
        """W for values within reach."""
        below, above = (self.low - x) / self.blur, (self.high - x) / self.blur
        if math.isinf(self.low) or math.isinf(self.high):
            return ndtr(above) if math.isinf(self.low) else ndtr(-below)
        # the difference of the smaller tails keeps its digits
        return np.where(below + above > 0, ndtr(-below) - ndtr(-above), ndtr(above) - ndtr(below))

    def log_bound(self, left: Numbers, right: Numbers, away: Numbers) -> Numbers:
        """ln of a bound on |W(x + i v)| for left <= x <= right and |v| <= away."""
        if self.whole:
            return np.zeros(np.broadcast(left, away).shape)
        middle = max(self.low, -1e300) / 2 + min(self.high, 1e300) / 2
        with np.errstate(divide="ignore"):
            near = np.log(self.weights(np.clip(middle, left, right))) + np.square(away / self.blur) / 2
            return np.minimum(near, self.log_bound_near_one(left, right, away))

    def log_bound_near_one(self, left: Numbers, right: Numbers, away: Numbers) -> Numbers:
        """The same by 1 and what W lacks of it; so also for all x beyond an end on a side where the part has none."""
        lack = ndtr((self.low - left) / self.blur) + ndtr((right - self.high) / self.blur)
        with np.errstate(divide="ignore"):
            return np.logaddexp(0.0, np.log(lack) + np.square(away / self.blur) / 2)

    def log_growth(self, away: float) -> float:
        """ln of a bound on |W(x + i v)|/W(x) at v = away; a square of it."""
        return 0.0 if self.whole else 0.5 * (away / self.blur) ** 2

    def steepness(self, x: Numbers) -> Numbers:
        """A bound on |W'/W| within reach, where W is not as good as 1."""
        found = np.zeros_like(x)
        for end in (self.low, self.high):
            away = np.abs(x - end) / self.blur
            found = found + np.where(away < BEYOND + 2, (2 + away) / self.blur, 0.0)
        return found


EVERY = SmoothPart()
"""All values."""
