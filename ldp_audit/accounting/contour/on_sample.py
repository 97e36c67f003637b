r"""What is integrated for Gaussian noise on a sample: f(x) = phi(x) W(x) w(x)**p, with bounds on it off the real line.

x is normal without the record, W the weight of a part of the values (`smooth_part`), and w = 1 - q + q e**z with the
noise's own loss z = mu x - mu**2/2. With the share r = q e**z/w that the record has in w,

    |w(x + i v)|**2 = w**2 (1 - 2 r (1 - r) (1 - cos(mu v))),  tan arg w(x + i v) = r sin(mu v)/(1 - r + r cos(mu v)).

So for mu v <= pi/2 the size of w grows with x, as does its argument, which lies between 0 and mu v; it is at most
r mu v/(1 - 2 r) where r < 1/2, and along v at least the chord's or the tangent's at 0. Where r > 1/2, w is nowhere 0:
its size is between (2 r - 1) w and w, and its argument within arcsin(1/r - 1) of mu v. And |phi(x + i v)| is
phi(x) e**(v**2/2).

All bounds are linear in p and in y, so that those of one set of panels serve many of either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.panel_rule import Bound, Points, Window
from ldp_audit.accounting.contour.smooth_part import SmoothPart
from ldp_audit.accounting.contour.turned_sums import TOGETHER
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

Numbers = NDArray[np.float64]

WIDEST_ANGLE = 2.8
"""Of mu v: w is 0 somewhere at pi."""
ALONE = 0.51
"""A share from which on w is never 0."""
_REACH = 10.0
"""Standard deviations of the noise, beyond which 1e-23 is left."""
_FARTHEST = 4000.0
_NEGLIGIBLE = 50.0
_STEPS = 40
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class OnSample:
    """The integrands of all p of one sign.

    mu: of the noise.   rate: with 0 < q < 1.   part: which values count.   sign: of p.
    """

    mu: float
    rate: SamplingRate
    part: SmoothPart
    sign: int

    def told(self, x: Numbers) -> tuple[Numbers, Numbers]:
        """ln w, and the share r."""
        z = self.mu * x - self.mu * self.mu / 2
        losses = self.rate.mixed(z)
        return losses, np.exp(self.rate.log_drawn + z - losses)

    def log_weight(self, x: Numbers) -> Numbers:
        """ln of density and W, for values within the part's reach."""
        with np.errstate(divide="ignore"):
            return log_density(x) + np.log(self.part.weights(x))

    def bound(self, left: Numbers, right: Numbers, away: Numbers) -> Bound:
        """For left <= x <= right and |v| <= away; infinite if that is too far."""
        found = power_bound(self.sign, self.told(left), self.told(right), self.mu * away)
        steady = log_density_bound(left, right) + away * away / 2 + self.part.log_bound(left, right, away)
        return found._replace(steady=steady + found.steady)

    def window(self, power: float) -> Window | None:
        """Where f counts, up to this |p|; None where that is too far out."""
        first, last = self.part.reach
        below, above = first == -math.inf, last == math.inf
        if below:
            found = -_REACH if self.sign > 0 else self._left_end(power)
            if found is None:
                return None
            first = found
        if above:
            last = max(first + 1.0, _REACH + (power * self.mu if self.sign > 0 else 0.0))
        return Window(first, last, below, above) if 0 < last - first < _FARTHEST else None

    def log_tails(self, window: Window, power: float) -> float:
        """ln of a bound on the integral of f outside the window; infinite where none is known."""
        below = self.log_tail(window.first, power, above=False) if window.open_below else -math.inf
        above = self.log_tail(window.last, power, above=True) if window.open_above else -math.inf
        return float(np.logaddexp(below, above))

    def log_tail(self, end: float, power: float, *, above: bool) -> float:
        """The same beyond one end, where the part has none.

        Below, ln of phi w**p falls at least at the rate of the first value, and that of p mu r with it; above, at
        x - p mu.
        """
        losses, shares = self.told(np.array([end]))
        pull = self.sign * power * self.mu
        rate = end - max(0.0, pull) if above else -end + min(0.0, pull) * float(shares[0])
        size = float(log_density(np.array([end]))[0]) + self.sign * power * float(losses[0])
        return size - math.log(rate) if rate > 0 else math.inf

    def _left_end(self, power: float) -> float | None:
        """A value below which ln f falls at a rate of 1 or more, and little is left."""
        x = -_REACH * 2.0 ** (np.arange(_STEPS) / 4)
        losses, shares = self.told(x)
        logs = log_density(x) - power * losses
        rates = -x - power * self.mu * shares  # grows further out
        good = np.flatnonzero((rates >= 1) & (logs <= max(float(logs.max()), 0.0) - _NEGLIGIBLE))
        return float(x[good[0]]) if good.size else None


def power_bound(sign: int, left: tuple[Numbers, Numbers], right: tuple[Numbers, Numbers], angle: Numbers) -> Bound:
    """A bound on |w**p e**(i y' ln w)| between two values, and off the real line by up to this angle mu v.

    sign: of p.   left, right: ln w and the share at either value.   returns: infinite where the angle is too large.
    """
    (low, least), (high, most) = left, right
    known = angle < WIDEST_ANGLE
    # beyond pi the argument may be ahead of mu v
    ahead = np.where(known, 0.0, math.pi / 2)
    small = np.minimum(1.0, most / np.maximum(1 - 2 * most, 1e-300))
    turn = np.where(most < 0.5, small, 1.0) * angle + ahead
    steady = np.where(known | (least > ALONE), 0.0, math.inf)
    if sign > 0:
        return Bound(steady, high, turn)
    near = log_narrowing(np.clip(0.5, least, most), np.minimum(angle, WIDEST_ANGLE))
    smaller = np.where(known, near, np.log(np.maximum(2 * least - 1, 1e-300)))
    return Bound(steady, -low - smaller, turn)


def sample_rounding(points: Points, mu: float, rate: SamplingRate, part: SmoothPart) -> tuple[Numbers, Numbers]:
    """The rounding of each point's mass, and of its ln w, both in units of eps, in sums of all of them."""
    x, size = points.x, np.abs(points.x) + 1
    own = 80 + 4 * x * x + np.abs(points.log_masses) + x.size / TOGETHER
    if not part.whole:
        own = own + size * part.steepness(x)
    # of ln w: its own, and that of the noise's loss, where it counts
    loss = 4 * points.shares * (np.abs(mu * x) + mu * mu + mu * size)
    return own, (16 - rate.log_drawn) * np.abs(points.losses) + loss


def log_density(x: Numbers) -> Numbers:
    """ln of the normal density."""
    return -x * x / 2 - _HALF_LOG_TWO_PI


def log_density_bound(left: Numbers, right: Numbers) -> Numbers:
    """ln of the most that it is for left <= x <= right."""
    nearest = np.maximum(0.0, np.maximum(left, -right))
    return log_density(nearest)


def log_narrowing(shares: Numbers, angle: Numbers) -> Numbers:
    """ln of |w(x + i v)|/w(x) for this share and this angle mu v."""
    return 0.5 * np.log1p(-4 * shares * (1 - shares) * np.square(np.sin(angle / 2)))


def log_narrowed(shares: Numbers, angle: Numbers, power: float) -> Numbers:
    """ln of a bound on (|w(x + i v)|/w(x))**p, for this share and this angle, which is at most pi/2 for r < 0.51."""
    near = log_narrowing(shares, np.minimum(angle, math.pi / 2))
    if power >= 0:
        return power * np.where(angle <= math.pi / 2, near, 0.0)
    return power * np.where(angle <= math.pi / 2, near, np.log(np.maximum(2 * shares - 1, 2 * ALONE - 1)))


def turned(shares: Numbers, angle: Numbers) -> Numbers:
    """A lower bound of arg w(x + i v), likewise: that itself up to pi/2."""
    near = np.minimum(angle, math.pi / 2)
    found = np.arctan2(shares * np.sin(near), 1 - shares * (1 - np.cos(near)))
    beyond = angle - np.arcsin(np.minimum(1.0, 1 / np.maximum(shares, 0.5) - 1))
    return np.where(angle <= math.pi / 2, found, np.maximum(found, beyond))
