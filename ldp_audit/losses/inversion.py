"""Inversion of the characteristic function: delta of a sum by the trapezoid rule, with certified errors.

With M the moment-generating function of the sum and s = c + i y, c > 0, f(epsilon) = e**(c epsilon) delta(epsilon) has
the Fourier transform F(y) = M(s)/(s (s + 1)). By Poisson's summation formula, for any step h and with P = 2 pi/h,

    e**(-c epsilon) (h/(2 pi)) sum over all whole j of F(j h) e**(-i j h epsilon)
        = delta(epsilon) + sum over k != 0 of e**(c k P) delta(epsilon + k P).

* Aliasing: the terms with k != 0 are not negative. As delta(e) <= M(t) e**(-t e) t**t/(1 + t)**(1 + t) for every t >= 0
  (Canonne, Kamath, Steinke 2020, Proposition 12; claim BD-CHERN), they add up to at most that bound at epsilon times
  r/(1 - r), r = e**(-|c - t| P), for one t < c (k < 0) and another t > c (k > 0).
* Truncation: the terms with |j| > J add up to at most B/(pi y), y = J h, B a bound on |M| from there on.
* Rounding: of M as its `Transform` states, and of the sum as added in pairs.

The tilts c are those of a `TiltTable`, from about ln M on the real line; an epsilon always has the same one, so that
answers do not depend on earlier questions. No bound's validity rests on the choice of tilt, step and length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.grid_plan import AWAY, LEAST_TILT, Cumulants, TiltStep, TiltTable
from ldp_audit.losses.loss import EPS, VAGUE, Transform, Values

_PRECISE = 28.0
"""-ln of the share of delta that the trapezoid rule's error may be, about."""
_SHORTEST, _STEPWISE = 10.0, (1.42, 1.42, 2.0)
"""The least length of a rule, in units of one over the deviation; and the factors by which it grows until the tail is
small, the last again and again."""
_REFINED = 1.5
"""After a last growth by more than this, a rule half as much longer is tried as well."""
_MOST_NODES = 2**13
_FEW_BITS = 2.0**-10
"""A step has this precision."""
_TANGENTS = (1.0, 3.5, 7.5, 16.0)
"""Other tilts for Chernoff's bound, in deviations on either side."""
_RATIOS = (0.125, 0.35, 2.0)
"""And in units of c."""


Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class InversionPlan:
    """The trapezoid rules of a sum of losses, computed on first use.   transform: of the sum."""

    transform: Transform
    _means: dict[float, float] = field(default_factory=dict)
    _abouts: dict[float, float] = field(default_factory=dict)
    _rules: dict[float, TrapezoidRule | None] = field(default_factory=dict)

    def rule(self, epsilon: float) -> TrapezoidRule | None:
        """The rule for this epsilon; None where there is none."""
        step = self.tilts.serving(epsilon)
        if step.tilt not in self._rules:
            self._rules[step.tilt] = self._made(step)
        return self._rules[step.tilt]

    def log_chernoff(self, epsilon: float) -> float:
        """ln of Chernoff's bound on delta at a single tilt, for an epsilon without a rule; 0 where there is none."""
        c = self.tilts.serving(epsilon).tilt
        while c > LEAST_TILT and not math.isfinite(self._log_mean(c)):
            c /= 4
        tangents = [ChernoffBound(tilt, self._log_mean(tilt)) for tilt in (c, 0.0)]
        return min([0.0, *(one.log_delta(epsilon) for one in tangents if math.isfinite(one.log_mean))])

    @cached_property
    def tilts(self) -> TiltTable:
        """The tilts, from about one over the deviation, if the sum were Gaussian."""
        c = 1.0
        while self._about(c) == math.inf and c > LEAST_TILT:
            c /= 256
        variance = 2 * (self._about(c) - min(0.0, self._about(0.0))) / (c * (c + 1))
        start = 1 / math.sqrt(variance) if 0 < variance < math.inf else math.inf if variance <= 0 else c
        return TiltTable(self._cumulants, start)

    def _log_mean(self, c: float) -> float:
        """An upper bound of ln M(c), infinite where none is known."""
        if c not in self._means:
            self._means[c] = self.transform.log_mean(c)
        return self._means[c]

    def _about(self, c: float) -> float:
        """About ln M(c)."""
        if c not in self._abouts:
            self._abouts[c] = self.transform.about(c)
        return self._abouts[c]

    def _cumulants(self, c: float) -> Cumulants:
        """About ln M and its first two derivatives at c, by differences over half a deviation or less."""
        here, away = self._about(c), c / 8
        while True:
            before, after = self._about(c - away), self._about(c + away)
            variance = (after - here - (here - before)) / away**2
            if not math.isfinite(variance):
                if away < c * 1e-4:
                    return Cumulants(math.inf, math.inf, math.inf)
                away /= 8
                continue
            variance = max(variance, 0.0)
            if variance * away * away <= 1.0:
                return Cumulants(here, (after - before) / (2 * away), variance)
            away = min(away / 2, 0.5 / math.sqrt(variance))

    def _made(self, step: TiltStep) -> TrapezoidRule | None:
        """The rule at a tilt; None where it would be too long, or no decay of M is known."""
        if not math.isfinite(step.epsilon):
            return None
        c, epsilon, log_delta = step.tilt, step.epsilon, min(step.log_delta, 0.0)
        deviation = math.sqrt(step.variance + 1 / c**2)
        tilts = [c + way * away / deviation for away in _TANGENTS for way in (-1, 1)] + [c * one for one in _RATIOS]
        tilts = [0.0, *sorted(one for one in tilts if one >= 0)]
        tangents, period = self._tangents(c, epsilon, log_delta, tilts)
        # longer by the distance of epsilon from the tilt's own
        period += AWAY * deviation
        target = log_delta - _PRECISE + c * epsilon + math.log(math.pi)
        found = self._reach(c, _SHORTEST / deviation, 2 * math.pi * _MOST_NODES / period, target)
        if found is None:
            return None
        reach, log_tail_bound = found
        spacing = _few_bits(2 * math.pi / period)
        count = math.ceil(reach / spacing) + 1
        if count > _MOST_NODES:
            return None
        values = self.transform.at(c, spacing * np.arange(count, dtype=np.float64))
        return None if values is None else trapezoid_rule(c, spacing, values, log_tail_bound, tangents)

    def _reach(self, c: float, reach: float, most: float, target: float) -> tuple[float, float] | None:
        """The length of a rule, and ln of a bound on |M| beyond; None if it would be too long."""
        before, log_tail_bound, steps = 0.0, math.inf, iter(_STEPWISE)
        if not 0 < most < math.inf or self.transform.log_limit(c) - math.log(most) > target:
            return None
        while reach < most:
            log_tail_bound = self.transform.log_tail_bound(c, reach)
            if log_tail_bound - math.log(reach) <= target:
                break
            before, reach = reach, next(steps, _STEPWISE[-1]) * reach
        else:
            return None
        if reach > _REFINED * before > 0:
            middle = math.sqrt(before * reach)
            found = self.transform.log_tail_bound(c, middle)
            if found - math.log(middle) <= target:
                reach, log_tail_bound = middle, found
        return reach, log_tail_bound

    def _tangents(
        self, c: float, epsilon: float, log_delta: float, tilts: list[float]
    ) -> tuple[list[ChernoffBound], float]:
        """The best of these tilts on either side, and the period at which aliasing is negligible."""

        def needed(one: ChernoffBound) -> float:
            return (one.log_delta(epsilon) - log_delta + _PRECISE) / abs(c - one.tilt)

        found, period = [], 0.0
        for way in (-1, 1):
            about = [ChernoffBound(one, self._about(one)) for one in tilts if way * (one - c) > 0]
            known = (ChernoffBound(one.tilt, self._log_mean(one.tilt)) for one in sorted(about, key=needed))
            best = next((one for one in known if math.isfinite(one.log_mean)), None)
            if best is None:
                return found, math.inf
            found.append(best)
            period = max(period, needed(best))
        return found, period


def _few_bits(step: float) -> float:
    """The step rounded down to ten bits, so that all its multiples are exact."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.floor(mantissa / _FEW_BITS), exponent) * _FEW_BITS


_LARGEST_POWER = 600.0


@dataclass(frozen=True, eq=False)
class ChernoffBound:
    """Chernoff's bound on delta from a tilt t >= 0 and an upper bound of ln M(t)."""

    tilt: float
    log_mean: float

    def log_delta(self, epsilon: float) -> float:
        """ln of an upper bound of delta(epsilon)."""
        t = self.tilt
        most = -t * math.log1p(1 / t) - math.log1p(t) if t > 0 else 0.0
        rounding = 4 * EPS * (1 + abs(self.log_mean) + abs(most) + abs(t * epsilon))
        return self.log_mean + most - t * epsilon + rounding


@dataclass(frozen=True, eq=False)
class TrapezoidRule:
    """The trapezoid rule at one tilt.

    c: > 0.   step: h, of few bits, so that all y are exact.   top: a real number near ln M(c).
    values: M(s)/(s (s + 1)) e**-top at y = 0, h, 2 h, ..., shape (m,), halved at 0.
    height: the sum of the values' absolute values.   error: of the values and of rounding.
    turn: the sum of |value| y.   log_tail_bound: ln of B e**-top/(pi y).
    tangents: Chernoff's bounds at other tilts.
    """

    c: float
    step: float
    top: float
    values: NDArray[np.complex128]
    height: float
    error: float
    turn: float
    log_tail_bound: float
    tangents: Sequence[ChernoffBound]

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """ln of a lower and of an upper bound of delta(epsilon)."""
        turns = self.step * np.arange(self.values.size) * epsilon
        real = self.values.real * np.cos(turns) + self.values.imag * np.sin(turns)
        found = self.step / math.pi * float(real.sum())
        wrong = self.step / math.pi * (self.error + 4 * EPS * abs(epsilon) * self.turn) + math.exp(self.log_tail_bound)
        scale = self.top - self.c * epsilon
        slack = 4 * EPS * (8 + abs(self.top) + abs(self.c * epsilon))
        more = math.exp(min(600.0, self.log_aliasing(epsilon) - scale + slack))
        upper, lower = found + wrong, found - wrong - more
        high = math.log(upper) + scale + slack if upper > 0 else -math.inf
        low = math.log(lower) + scale - slack if lower > 0 else -math.inf
        return low, min([high, 0.0, *(tangent.log_delta(epsilon) for tangent in self.tangents)])

    def log_aliasing(self, epsilon: float) -> float:
        """ln of a bound on the aliasing error."""
        period = 2 * math.pi / self.step
        found = {-1: math.inf, 1: math.inf}
        for tangent in self.tangents:
            side, gap = (1 if tangent.tilt > self.c else -1), abs(tangent.tilt - self.c) * period * (1 - 4 * EPS)
            here = tangent.log_delta(epsilon) - gap - math.log(-math.expm1(-gap))
            found[side] = min(found[side], here)
        return float(np.logaddexp(found[-1], found[1]))


def trapezoid_rule(
    c: float, step: float, values: Values, log_tail_bound: float, tangents: Sequence[ChernoffBound]
) -> TrapezoidRule | None:
    """The rule at tilt c; None where its values are too large for floats.

    values: ln M at y = 0, h, 2 h, ...   log_tail_bound: ln of a bound on |M| from the last y on.
    """
    y = step * np.arange(values.log.size)
    s, top = c + 1j * y, float(values.log[0].real)
    heights = values.log.real - top
    wrong = values.error + 4 * EPS * (16 + np.abs(values.log) + abs(top))
    known = wrong < VAGUE
    if float((heights + np.where(known, 0.0, wrong)).max()) > _LARGEST_POWER:
        return None
    counted = np.where(known, np.exp(np.where(known, heights, 0.0) + 1j * values.log.imag) / (s * (s + 1)), 0.0)
    counted[0] /= 2
    size = np.abs(counted)
    # of a vague value only the size is known
    most = np.exp(np.where(known, 0.0, heights + wrong)) / np.abs(s * (s + 1))
    errors = np.where(known, size * np.expm1(np.minimum(wrong, VAGUE)), most)
    height = float(size.sum())
    return TrapezoidRule(
        c,
        step,
        top,
        counted,
        height,
        float(errors.sum()) + 64 * EPS * height,
        float((size * y).sum()),
        log_tail_bound - top - math.log(math.pi * float(y[-1])),
        tangents,
    )
