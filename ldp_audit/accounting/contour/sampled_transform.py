r"""M of Gaussian noise on a random sample, by the trapezoid rule over the noisy value, with a bound on its error.

With w(x) = 1 - q + q e**(mu x - mu**2/2) and x normal, the loss is ln w from the data with the record to those without,
and -ln w back, so that M(s) = E[w**p] with p = 1 + s, or p = -s.

* The rule of step h is wrong by at most 2 N/(e**(2 pi b/h) - 1), where N bounds the integral of |f(x + i v)| over x for
  all |v| < b (Trefethen, Weideman, SIAM Review 2014, Theorem 5.1). As w(x + i v) lies between 1 and e**(...) turned by
  mu v, |w(x)| cos(mu v/2) <= |w(x + i v)| <= w(x), and its argument is between 0 and mu v. Hence N is at most
  e**(b**2/2 + y mu b) M(c), and back times cos(mu b/2)**-c.
* The same with the line of x moved to x + i a, upwards for p = 1 + s, downwards for -s, where e**(i y ln w) is
  e**(-y |arg w|) large, which falls with y. So the sum of absolute values bounds |M(c + i y')| for all y' >= y, as long
  as the strip's part on the other side of 0, if any, is counted with the largest y'.
* Points left out: the logarithm of phi |w**p| falls beyond an end at least at the rate that it has there, so their sum
  is at most the last one's value over that.
* What exceeds 1 is added up, and has its own digits for tiny losses; the normal masses' sum is 1 but for such errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.transform import EPS, Values, from_excess
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

_REACH = 9.8
"""Standard deviations of the noise, beyond which 1e-23 is left."""
_DIGITS = 48.0
"""-ln of the quadrature's relative error."""
_STRIPS, _ANGLE = (0.25, 0.5, 1.0, 2.0, 4.0, 7.0), 2.6
"""Half widths b that are tried, and the largest angle mu b."""
_WIDEST, _SHORTEST = 2.0, 0.05
"""The largest shift of the line of x, and the smallest, as a share of it, that is its own strip."""
_SHARES = (1.0, 0.6, 0.4, 0.25, 0.15)
"""Of the largest shift, where a smaller one may serve better."""
_MOST_POINTS, _MOST_NUMBERS, _AT_ONCE = 2**16, 2**23, 2**19
_LARGEST_POWER = 300.0
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


class _Line(NamedTuple):
    """Points x of step h, ln w there, the normal masses h phi, and what all points left out may add up to."""

    x: NDArray[np.float64]
    log_w: NDArray[np.float64]
    masses: NDArray[np.float64]
    cut: float


@dataclass(frozen=True)
class SampledTransform:
    """M of Gaussian noise on a sample.

    mu: of the noise.   rate: with 0 < q < 1.   back: whether the loss is that from the data without the record.
    """

    mu: float
    rate: SamplingRate
    back: bool

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`."""
        strip, step = self._rule(c, float(y[-1]))
        line = self._line(c, step)
        if line is None or line.x.size * y.size > _MOST_NUMBERS:
            return None
        power = -(c + 1j * y) if self.back else 1 + c + 1j * y
        rows = max(1, _AT_ONCE // line.x.size)
        blocks = [power[start : start + rows, None] for start in range(0, power.size, rows)]
        found = np.concatenate([(line.masses * np.expm1(block * line.log_w)).sum(axis=1) for block in blocks])
        raised = np.exp(self._real(c) * line.log_w)
        whole = float((line.masses * raised).sum())
        excess = self._log_excess(c, strip) + float(y[-1]) * self.mu * strip
        wrong = 4 * (1 + 2 * whole) * _share_of_strip(excess, strip, step) + line.cut
        fixed, turning = self._rounding(c, line, raised)
        return from_excess(found, wrong + EPS * (fixed + turning * y))

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`."""
        _, step = self._rule(c, 0.0)
        line = self._line(c, step)
        if line is None:
            return math.inf
        raised = line.masses * np.exp(self._real(c) * line.log_w)
        slope = self.mu * float((raised * self._share(line.x, line.log_w)).sum() / raised.sum())
        widest = min(_WIDEST, _ANGLE / 2 / self.mu)
        shift = min(y * slope, widest)
        if shift >= _SHORTEST * widest:
            shifts = [shift] if shift < widest else [share * widest for share in _SHARES]
            return min(self._log_bound(c, y, one, one, 0.0) for one in shifts)
        # so small a shift needs a fine step: it serves up to some y, and a larger shift from there on
        larger = _SHORTEST * widest
        beyond = 1.2 * y * larger / max(shift, 1e-300)
        if not beyond * self.mu < _MOST_POINTS:
            return math.inf
        strip, _ = self._rule(c, beyond)
        near = self._log_bound(c, y, shift, strip, beyond)
        return max(near, self._log_bound(c, beyond, larger, larger, 0.0))

    def _log_bound(self, c: float, y: float, shift: float, strip: float, last: float) -> float:
        """ln of a bound on |M(c + i y')| for y' >= y, by the line of x moved by this shift.

        strip: how wide on both sides of that line.   last: if it reaches beyond 0, the largest y'.
        """
        excess = self._log_excess(c, shift + strip) + last * self.mu * max(0.0, strip - shift)
        step = _rounded_down(2 * math.pi * strip / (_DIGITS + excess))
        line = self._line(c, step)
        if line is None:
            return math.inf
        angle, power = self.mu * shift, self._real(c)
        share = self._share(line.x, line.log_w)
        turn = np.arctan2(share * math.sin(angle), 1 - share * (1 - math.cos(angle)))
        narrower = 0.5 * np.log1p(-2 * share * (1 - share) * (1 - math.cos(angle)))
        logs = power * (line.log_w + narrower) - y * turn + shift * shift / 2
        found = float((line.masses * np.exp(logs)).sum())
        whole = float((line.masses * np.exp(power * line.log_w)).sum())
        wrong = 4 * (1 + 2 * whole) * _share_of_strip(excess, strip, step)
        far = line.cut * math.exp(self._log_excess(c, shift))
        rounding = 64 * EPS * (1 + _REACH**2 + abs(power) * float(np.abs(line.log_w).max()) + y * angle)
        return math.log(found * (1 + rounding) + wrong + far)

    def _share(self, x: NDArray[np.float64], log_w: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the record's part is of w."""
        return np.exp(self.rate.log_drawn + self.mu * x - self.mu**2 / 2 - log_w)

    def _real(self, c: float) -> float:
        """The power's real part."""
        return -c if self.back else 1 + c

    def _log_excess(self, c: float, strip: float) -> float:
        """ln of how many times |f| is larger at the edge of the strip, but for the factor of y."""
        return strip * strip / 2 - (c * math.log(math.cos(self.mu * strip / 2)) if self.back else 0.0)

    def _rule(self, c: float, y: float) -> tuple[float, float]:
        """The strip that allows the longest step, and that."""
        strips = [one for one in _STRIPS if one * self.mu <= _ANGLE] or [_ANGLE / self.mu]
        steps = [2 * math.pi * b / (_DIGITS + self._log_excess(c, b) + y * self.mu * b) for b in strips]
        longest = max(range(len(strips)), key=steps.__getitem__)
        return strips[longest], _rounded_down(steps[longest])

    def _line(self, c: float, step: float) -> _Line | None:
        """The points at which the integrand counts; None if they are too many, or it is too large."""
        low, high = (-_REACH - c * self.mu, _REACH) if self.back else (-_REACH, _REACH + (1 + c) * self.mu)
        if (high - low) > step * _MOST_POINTS:
            return None
        # a step of few bits, so that all points are exact
        x = step * np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64)
        log_w = self.rate.mixed(self.mu * x - self.mu**2 / 2)
        logs = math.log(step) - _HALF_LOG_TWO_PI - x * x / 2
        power = self._real(c)
        heights = power * log_w
        if heights.max() > _LARGEST_POWER:
            return None
        both = np.exp(logs) + np.exp(logs + heights)
        counted = np.flatnonzero(both > 1e-22 * both.max() / both.size)
        first, last = int(counted[0]), int(counted[-1])
        slope = self.mu * self._share(x, log_w)
        left = -float(x[0]) - (c * float(slope[0]) if self.back else 0.0)
        right = float(x[-1]) - (0.0 if self.back else (1 + c) * self.mu)
        if min(left, right) <= 0:
            return None
        cut = float(both[:first].sum() + both[last + 1 :].sum())
        cut += float(both[0]) / (step * left) + float(both[-1]) / (step * right)
        here = slice(first, last + 1)
        return _Line(x[here], log_w[here], np.exp(logs[here]), 1.01 * cut)

    def _rounding(self, c: float, line: _Line, raised: NDArray[np.float64]) -> tuple[float, float]:
        """The rounding of the sum's excess over 1 in units of eps: what there is for y = 0, and what y multiplies."""
        x, log_w = line.x, line.log_w
        share = self._share(x, log_w)
        moved = (16 - self.rate.log_drawn) * np.abs(log_w) + 4 * share * (np.abs(self.mu * x) + self.mu**2)
        turned = line.masses * np.maximum(1.0, raised) * ((80 + x * x) * np.abs(log_w) + moved)
        grown = np.abs(raised - 1) + np.abs(self._real(c) * log_w) * np.maximum(1.0, raised)
        fixed = line.masses * ((80 + x * x) * grown + abs(self._real(c)) * np.maximum(1.0, raised) * moved)
        return float(fixed.sum()), float(turned.sum())


def _rounded_down(step: float) -> float:
    """With eight bits."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.floor(mantissa * 256), exponent - 8)


def _share_of_strip(excess: float, strip: float, step: float) -> float:
    """e**excess / (e**(2 pi b/h) - 1)."""
    turns = 2 * math.pi * strip / step
    return math.exp(excess - turns) / -math.expm1(-turns)
