r"""M of Gaussian noise on a random sample, by a rule over the noisy value with a bound on its error.

With w = 1 - q + q e**z for the noise's own loss z (`on_sample`), the loss is ln w from the data with the record to
those without, and -ln w back, so that M(s) = E[w**p] without the record, with p = 1 + s, or p = -s.

* The rule is Gauss and Legendre's on panels (`panel_rule`), and bounds its own error.
* What exceeds 1 is added up, and has its own digits for tiny losses; M far from 1 is added up as it is.
* How it falls off along the line: see `moved_line`.
* A transform of a part counts only values of that part, with its weights (`smooth_part`): M(0) is its probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.moved_line import log_beyond_moved, log_beyond_spread
from ldp_audit.accounting.contour.on_sample import OnSample, sample_rounding
from ldp_audit.accounting.contour.panel_rule import Points, plain_points
from ldp_audit.accounting.contour.sample_rule import SampleRule, sample_rule
from ldp_audit.accounting.contour.shared_rules import MOST_KEPT, bracket, largest_at, place_of
from ldp_audit.accounting.contour.smooth_part import EVERY, SmoothPart
from ldp_audit.accounting.contour.transform import EPS, Values, from_excess, from_scaled
from ldp_audit.accounting.contour.turned_sums import turned_sums
from ldp_audit.accounting.kept import Kept
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

Numbers = NDArray[np.float64]
Bracket = tuple[float, float]

_MOST_NUMBERS = 2**28
_SPREAD_ERROR = 1e-6
_NEAR_ONE, _FLAT = 300.0, -44.0
"""Up to which p ln w the excess over 1 is added up; and ln of the most that a rule for it may be wrong by."""
_LOG_CUT = -53.0
"""ln of what a part's weight lacks beyond its reach."""
_BEND, _SPREAD = 6.0, 12.0
"""How far apart |p| of one rule may be, in units of one over the loss's slope, or over the range of losses."""
_LARGEST = 600.0


@dataclass(frozen=True, eq=False)
class SampledTransform:
    """M of Gaussian noise on a sample.

    mu: of the noise.   rate: with 0 < q < 1.   back: whether the loss is that from the data without the record.
    part: which values count.
    """

    mu: float
    rate: SamplingRate
    back: bool
    part: SmoothPart = EVERY
    _rules: Kept[tuple[int, Bracket, int], SampleRule | None] = field(
        default_factory=lambda: Kept(MOST_KEPT), init=False, repr=False
    )
    _plain: dict[tuple[int, Bracket], Points | None] = field(default_factory=dict, init=False, repr=False)

    def at(self, c: float, y: Numbers) -> Values | None:
        """See `Transform`; for any c."""
        power, last = self._power(c), float(y[-1])
        rule = self._rule(power, last)
        if rule is None or rule.points.x.size * y.size > _MOST_NUMBERS or not rule.points.x.size:
            return None
        points, log_wrong = rule.points, rule.log_wrong(abs(power), last)
        heights = power * points.losses
        flat = float(np.logaddexp(rule.log_flat, _LOG_CUT)) if self._reaches_below else math.inf
        near_one = flat < _FLAT and float(heights.max()) < _NEAR_ONE
        top = 0.0 if near_one else float((points.log_masses + heights).max())
        masses = points.masses if near_one else np.ones_like(heights)
        raised = np.exp(heights if near_one else points.log_masses + heights - top)
        start = np.expm1(heights) if near_one else raised
        sums = turned_sums(masses * raised, -points.losses if self.back else points.losses, y)
        sums += float((masses * start).sum())
        fixed, turning = self._rounding(points, masses, raised, power, near_one=near_one)
        rounding = EPS * (fixed + turning * y)
        if near_one:  # the rule for the excess is wrong by no more than those for f and for its weights alone
            return from_excess(sums - self.part.lacking, math.exp(log_wrong) + math.exp(flat) + rounding)
        return from_scaled(sums, math.exp(min(_LARGEST, log_wrong - top)) + rounding, top)

    def log_limit(self, c: float) -> float:  # noqa: ARG002
        """See `Transform`: it falls all the way."""
        return -math.inf

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`."""
        power, here = self._power(c), self.at(c, np.zeros(1))
        rule = self._rule(power, y)
        if rule is None or here is None or y <= 0 or not rule.points.x.size:
            return math.inf
        whole, window = float(here.log[0].real + here.error[0]), rule.window
        found = log_beyond_moved(rule, power, y, whole)
        if window.open_below or window.open_above:
            return found
        reach = float(np.ptp(rule.integrands.told(np.array([window.first, window.last]))[0]))
        turn = math.pi / max(reach, 1e-300)
        far = self._rule(power, turn) if y < turn < math.inf else None
        if far is None or not far.points.x.size:
            return found
        near = log_beyond_spread(self._spread(rule, power), reach, y, whole)
        return min(found, max(log_beyond_moved(far, power, turn, whole), near))

    def about(self, c: float) -> float:
        """See `Transform`."""
        power = self._power(c)
        key = (self._sign(power), bracket(abs(power), self._apart))
        if key not in self._plain:
            self._plain[key] = plain_points(OnSample(self.mu, self.rate, self.part, key[0]), key[1])
        points = self._plain[key]
        if points is None or not points.x.size:
            return math.inf
        heights = power * points.losses
        if self._reaches_below and float(heights.max()) < _NEAR_ONE:
            found = float((points.masses * np.expm1(heights)).sum()) - self.part.lacking
            return math.log1p(found) if found > -1 else -math.inf
        heights = heights + points.log_masses
        top = float(heights.max())
        return top + math.log(float(np.exp(heights - top).sum()))

    def cut(self, part: SmoothPart) -> SampledTransform:
        """That of a part of the values."""
        return replace(self, part=part)

    def _power(self, c: float) -> float:
        """Re p."""
        return -c if self.back else 1 + c

    @cached_property
    def _apart(self) -> float:
        """How far apart |p| of one rule may be, for ln of f's largest value to bend little."""
        first, last = self.part.reach
        if last == math.inf:
            return _BEND / self.mu
        reach = float(np.ptp(self.rate.mixed(self.mu * np.array([first, last]) - self.mu * self.mu / 2)))
        return max(_BEND / self.mu, _SPREAD / max(reach, 1e-300))

    def _sign(self, power: float) -> int:
        """That of p; p = 0 comes with either."""
        return 1 if power > 0 or (power == 0 and not self.back) else -1

    @property
    def _reaches_below(self) -> bool:
        """Whether all values but large ones count, so that M is often near 1."""
        return self.part.low == -math.inf

    def _rule(self, power: float, y: float) -> SampleRule | None:
        """The rule for p and up to y, made once for all that are about as large."""
        sign, powers, last = self._sign(power), bracket(abs(power), self._apart), place_of(y)
        integrands = OnSample(self.mu, self.rate, self.part, sign)
        # an excess over 1 takes the rule for the weights alone as well
        asked, least = ((0.0, *powers), 0.0) if self._reaches_below else (powers, -math.inf)
        return self._rules.of((sign, powers, last), lambda: sample_rule(integrands, asked, largest_at(last), least))

    def _spread(self, rule: SampleRule, power: float) -> float:
        """A lower bound of the variance of ln w under the weights of M(c)."""
        points = rule.points
        logs = points.log_masses + power * points.losses
        top = float(logs.max())
        masses = np.exp(logs - top)
        total = float(masses.sum())
        away = points.losses - float((masses * points.losses).sum()) / total
        found = float((masses * away * away).sum()) - float((masses * away).sum()) ** 2 / total
        # on the ellipses around the panels the loss is at most so far from its mean
        reach = 10 + float(np.ptp(points.losses)) + 3 * self.mu * (rule.window.last - rule.window.first)
        found -= 8 * math.exp(min(_LARGEST, rule.log_wrong(abs(power), 0.0) - top)) * reach * reach
        return max(0.0, found / total * (1 - _SPREAD_ERROR))

    def _rounding(
        self, points: Points, masses: Numbers, raised: Numbers, power: float, *, near_one: bool
    ) -> tuple[float, float]:
        """The sums' rounding in units of eps: what there is for y = 0, and what y multiplies."""
        own, moved = sample_rounding(points, self.mu, self.rate, self.part)
        most = np.maximum(1.0, raised) if near_one else raised
        changed = np.abs(raised - 1) if near_one else raised
        fixed = masses * (own * changed + abs(power) * most * moved)
        turning = masses * most * ((own + abs(power) * moved) * np.abs(points.losses) + moved)
        lacking = self.part.lacking * (80 + min(self.part.high, 100.0) ** 2)
        return float(fixed.sum()) + lacking, float(turning.sum())
