r"""A little Gaussian noise beside a sum of losses, and how much the hockey stick can have grown by it.

Let Xi be normal with the variance s**2 and the mean s**2 / 2, so that v = e**-Xi has the mean 1, and independent of the
sum L. By Jensen's inequality L' = L + Xi has the larger divergence, d'(epsilon) >= d(epsilon), at every level, and its
characteristic function falls off as e**(-(s w)**2 / 2), whatever the losses look like. The lower end is found as in
`spread_bound`: with y = e**(epsilon - L), d' - d is the mean of

    g(y) = E[(1 - y v)_+] - (1 - y)_+ <= c t(y) + r(y),   c = g(1) / tanh(w / 2),   g(1) = erf(s / 8**(1/2)),

where t is the tent whose mean is a d(epsilon - w) + b d(epsilon + w) - d(epsilon), a = e**w / (1 + e**w), b = 1 - a,
and r(y) is at most g(e**w) or g(e**-w) inside of it, and g(y) outside. As d <= d',

    d(epsilon) (1 - c) >= d'(epsilon) - c (a d'(epsilon - w) + b d'(epsilon + w)) - E[r].

For z > s**2 / 2 both g(e**z) and g(e**-z) are at most P(Xi > z) <= e**(-(z - s**2 / 2)**2 / (2 s**2)) / 2. So under a
tilt theta E[r] is at most e**(theta w) times that at w, in units of v, if w >= s**2 / 2 + theta s**2.

Much noise, as sums of hundreds of nats may need, is better thought of as a shift. With N = Xi - s**2 / 2 of the mean 0,
d'(epsilon + s**2 / 2) is the mean of d(epsilon - N), and d falls, so that for every u >= 0

    d(epsilon) <= d'(epsilon + s**2 / 2 - u) / P(N <= u),
    d(epsilon) >= d'(epsilon + s**2 / 2 + u) - E[d(epsilon + u - N); N > u],

where under a tilt d(x) <= e**(K - theta x) / (1 + theta): in units of v the last mean is at most 1 / (1 + theta) times
e**(theta**2 s**2 / 2 - theta u) P(N > u - theta s**2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ldp_audit.accounting.frequencies.tilted_atoms import Numbers

_EPS = 2.0**-50


class Shift(NamedTuple):
    """Of a level, nats, and ln of what v there is multiplied by."""

    level: float
    log_factor: float


class Noise(NamedTuple):
    """The noise under a tilt.   theta: that.   deviation: s, nats, > 0."""

    theta: float
    deviation: float

    @property
    def mean(self) -> float:
        """Of the tilted noise, nats."""
        return self.deviation**2 * (0.5 + self.theta)

    @property
    def log_mean_power(self) -> float:
        """ln E e**(theta Xi)."""
        return self.deviation**2 * self.theta * (1 + self.theta) / 2

    @property
    def growth(self) -> float:
        """g(1)."""
        return math.erf(self.deviation / math.sqrt(8))

    def width(self, need: float) -> float:
        """The half-width w > 0 of the tent with which E[r] is at most e**-need, in units of v; need > 0."""
        s, theta = self.deviation, self.theta
        return s * (s / 2 + theta * s + math.sqrt((theta * s) ** 2 + theta * s * s + 2 * need))

    def upper_shift(self, deviations: float) -> Shift:
        """At which d' is above d, for u of so many deviations of the noise."""
        level = self.deviation * (self.deviation / 2 - deviations)
        seen = math.log1p(-math.erfc(deviations / math.sqrt(2)) / 2)
        return Shift(level, self._log_factor(level, 1) - seen)

    def lower_shift(self, need: float) -> Shift:
        """At which d' is below d but for e**-need / (1 + theta), in units of v; need > 0."""
        s, theta = self.deviation, self.theta
        level = s * (s / 2 + theta * s + math.sqrt(2 * need))
        return Shift(level, self._log_factor(level, -1))

    def _log_factor(self, level: float, way: int) -> float:
        """ln of e**-(theta level) and of what tilting the noise divides by, from above (1) or below (-1)."""
        parts = self.log_mean_power, -self.theta * level
        return sum(parts) + way * _EPS * (4 + sum(abs(part) for part in parts))

    def log_sizes(self, frequencies: Numbers) -> Numbers:
        """ln of the sizes of the characteristic function."""
        return -((self.deviation * frequencies) ** 2) / 2
