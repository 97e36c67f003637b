r"""Integrals over the noisy values that show the record: of phi(x) W(x) w(x)**p from x = mu/2, where w = 1, on.

It is what `on_sample` tells of, from a sharp end on. A rule of Gauss and Legendre may start there, as its bound asks of
the integrand only that it be analytic around each panel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.on_sample import OnSample, sample_rounding
from ldp_audit.accounting.contour.panel_rule import PanelRule, Points, Window, panel_rule, plain_points
from ldp_audit.accounting.contour.shared_rules import MOST_KEPT, bracket, largest_at, place_of
from ldp_audit.accounting.contour.smooth_part import EVERY, SmoothPart
from ldp_audit.accounting.kept import Kept
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

Numbers = NDArray[np.float64]

_BEYOND, _FARTHEST = 10.0, 4000.0
"""Deviations of the noise beyond which 1e-23 is left, and how wide a rule may be."""
_BEND, _SPREAD = 6.0, 12.0
"""How far apart |p| of one rule may be, in units of one over the loss's slope, or over the range of losses."""
_LEAST = 1e-300
"""A power that is as good as 0, for any y."""


@dataclass(frozen=True)
class OnHalfSample(OnSample):
    """The integrands of all p of one sign, of values above mu/2 alone; for a part without a lower end."""

    def window(self, power: float) -> Window | None:
        """Where f counts, up to this |p|; None where that is too far out."""
        first, last = self.mu / 2, self.part.reach[1]
        if last == math.inf:
            last = max(first + 1.0, _BEYOND + (power * self.mu if self.sign > 0 else 0.0))
        return (
            Window(first, last, open_below=False, open_above=self.part.high == math.inf)
            if (0 < last - first < _FARTHEST)
            else None
        )


@dataclass(frozen=True, eq=False)
class HalfSample:
    """The rules for all p.

    mu: of the noise.   rate: with 0 < q < 1.   part: which values count; with no lower end.
    least: ln of what is no matter of precision, or minus infinity.
    """

    mu: float
    rate: SamplingRate
    part: SmoothPart = EVERY
    least: float = 0.0
    _rules: Kept[tuple[int, tuple[float, ...], int], PanelRule | None] = field(
        default_factory=lambda: Kept(MOST_KEPT), init=False, repr=False
    )
    _plain: dict[tuple[int, tuple[float, ...]], Points | None] = field(default_factory=dict, init=False, repr=False)

    def rule(self, power: float, y: float) -> PanelRule | None:
        """The rule for p and up to y, which serves p = 0 or, for p > 0, p = 1 as well."""
        sign, powers, last = *self._asked(power), place_of(y)
        return self._rules.of(
            (sign, powers, last), lambda: panel_rule(self._integrands(sign), powers, largest_at(last), self.least)
        )

    def plain(self, power: float) -> Points | None:
        """Points of whose error nothing is known."""
        key = self._asked(power)
        if key not in self._plain:
            self._plain[key] = plain_points(self._integrands(key[0]), (key[1][-2], key[1][-1]))
        return self._plain[key]

    def tail(self, end: float, power: float) -> float:
        """ln of a bound on the integral beyond this value."""
        return replace(self._integrands(1 if power > 0 else -1), part=EVERY).log_tail(end, abs(power), above=True)

    def window(self, power: float) -> Window | None:
        """Where values count."""
        return self._integrands(1 if power > 0 else -1).window(abs(power))

    def losses(self, value: float) -> float:
        """ln w at this value."""
        return float(self._integrands(1).told(np.array([value]))[0][0])

    def rounding(self, points: Points, start: Numbers, grown: Numbers, power: float) -> tuple[float, float]:
        """The rounding of sums in units of eps: what there is for y = 0, and what y multiplies.

        start: what is added up for y = 0.   grown: what is turned; or, where that is more, what was taken away.
        """
        own, moved = sample_rounding(points, self.mu, self.rate, self.part)
        fixed = own * np.abs(start) + (1 + abs(power)) * grown * moved
        turning = grown * ((own + (1 + abs(power)) * moved) * np.abs(points.losses) + moved)
        return float(fixed.sum()), float(turning.sum())

    def _integrands(self, sign: int) -> OnHalfSample:
        return OnHalfSample(self.mu, self.rate, self.part, sign)

    def _asked(self, power: float) -> tuple[int, tuple[float, ...]]:
        """The sign of p, and the |p| that one rule is made for, of which it serves all between the last two."""
        sign = 1 if power >= 0 else -1
        if 0 <= power <= 1:
            return sign, (_LEAST, 1.0)
        low, high = bracket(abs(power) - (1 if sign > 0 else 0), self._apart)
        return (1, (1.0, 1 + low, 1 + high)) if sign > 0 else (-1, (0.0, low, high))

    @property
    def _apart(self) -> float:
        """How far apart |p| of one rule may be."""
        last = self.part.reach[1]
        return _BEND / self.mu if last == math.inf else max(_BEND / self.mu, _SPREAD / max(self.losses(last), 1e-300))
