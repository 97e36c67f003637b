r"""M of Laplace noise on a sample: two single values, and a rule over those between with a bound on its error.

As for Gaussian noise (`sampled_transform`), M(s) = E[w**p] without the record, with p = 1 + s from the data with the
record to those without, and p = -s back. What exceeds 1 is added up wherever M is not large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.laplace_fall import LaplaceFall
from ldp_audit.accounting.contour.on_laplace_sample import OnLaplaceSample
from ldp_audit.accounting.contour.panel_rule import PanelRule, Points, panel_rule, plain_points
from ldp_audit.accounting.contour.shared_rules import MOST_KEPT, bracket, largest_at, place_of
from ldp_audit.accounting.contour.transform import EPS, Values, from_excess, from_scaled
from ldp_audit.accounting.contour.turned_sums import TOGETHER, turned_sums
from ldp_audit.accounting.kept import Kept
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

Numbers = NDArray[np.float64]
Bracket = tuple[float, float]

_MOST_NUMBERS = 2**28
_NEAR_ONE, _FLAT, _SMALL = 30.0, -44.0, 30.0
"""ln of a term up to which the excess over 1 is added up; of the most that a rule for it may be wrong by; and up to
which p ln w a term's own excess is."""
_SPREAD = 24.0
"""How far apart |p| of one rule may be, in units of one over the range of losses."""
_LARGEST = 600.0


class Scaled(NamedTuple):
    """Numbers e**top times these sums, shape (m,), each right to the error."""

    sums: NDArray[np.complex128]
    error: Numbers
    top: float


@dataclass(frozen=True, eq=False)
class SampledLaplaceTransform:
    """M of Laplace noise on a sample.

    epsilon: see `LaplaceLoss`.   rate: with 0 < q < 1.   back: whether the loss is that from the data without the
    record.
    """

    epsilon: float
    rate: SamplingRate
    back: bool
    _rules: Kept[tuple[int, Bracket, int], PanelRule | None] = field(
        default_factory=lambda: Kept(MOST_KEPT), init=False, repr=False
    )
    _plain: dict[tuple[int, Bracket], Points | None] = field(default_factory=dict, init=False, repr=False)

    def at(self, c: float, y: Numbers) -> Values | None:
        """See `Transform`; for any c."""
        power, last = self._power(c), float(y[-1])
        rule = self._rule(power, last)
        if rule is None or rule.points.x.size * y.size > _MOST_NUMBERS:
            return None
        log_wrong, flat = rule.log_wrong(abs(power), last), rule.log_flat
        points = self._with_ends(rule.points)
        heights = power * points.losses
        raised = points.log_masses + heights
        top = float(raised.max())
        near_one = flat < _FLAT and top < _NEAR_ONE
        if near_one:
            top = 0.0
        grown = np.exp(raised - top)
        sums = turned_sums(grown, -points.losses if self.back else points.losses, y)
        small = np.minimum(heights, _SMALL)
        start = np.where(heights < _SMALL, points.masses * np.expm1(small), grown - points.masses)
        sums += float((start if near_one else grown).sum())
        fixed, turning = self._rounding(points, grown, np.abs(start) if near_one else grown, power, near_one=near_one)
        rounding = EPS * (fixed + turning * y)
        if near_one:  # the rule for the excess is wrong by no more than those for f and for its weights alone
            return from_excess(sums, math.exp(log_wrong) + math.exp(flat) + rounding)
        return from_scaled(sums, math.exp(min(_LARGEST, log_wrong - top)) + rounding, top)

    def ends_at(self, c: float, y: Numbers) -> Scaled:
        """What the two single values add to M(c + i y).   y: as in `at`."""
        return self._scaled(self._ends, c, y, -math.inf)

    def between_at(self, c: float, y: Numbers) -> Scaled | None:
        """What those between add; None where it takes too many numbers."""
        power, last = self._power(c), float(y[-1])
        rule = self._rule(power, last)
        if rule is None or rule.points.x.size * y.size > _MOST_NUMBERS:
            return None
        return self._scaled(rule.points, c, y, rule.log_wrong(abs(power), last))

    def logs_about(self, c: float) -> tuple[float, float] | None:
        """About ln of what the two single values add to M(c), and of what those between do."""
        found = self._points_about(c)
        if found is None:
            return None
        power = self._power(c)
        logs = [one.log_masses + power * one.losses for one in (self._ends, found)]
        return float(np.logaddexp.reduce(logs[0])), float(np.logaddexp.reduce(logs[1]))

    def about(self, c: float) -> float:
        """See `Transform`."""
        power, found = self._power(c), self._points_about(c)
        if found is None:
            return math.inf
        points = self._with_ends(found)
        heights = power * points.losses
        logs = points.log_masses + heights
        top = float(logs.max())
        if top < _NEAR_ONE:
            small = points.masses * np.expm1(np.minimum(heights, _SMALL))
            found = float(np.where(heights < _SMALL, small, np.exp(logs) - points.masses).sum())
            return math.log1p(found) if found > -1 else -math.inf
        return top + math.log(float(np.exp(logs - top).sum()))

    def log_limit(self, c: float) -> float:
        """See `Transform`: that of the two single values."""
        ends, power = self._ends, self._power(c)
        return float(np.logaddexp.reduce(ends.log_masses + power * ends.losses))

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`."""
        here = self.at(c, np.zeros(1))
        if here is None or not 0 < y < math.inf:
            return math.inf
        return self.fall.log_beyond(self._power(c), y, float(here.log[0].real + here.error[0]))

    def log_between_beyond(self, c: float, y: float) -> float:
        """ln of an upper bound of what those between add to M(c + i x), for all x >= y > 0."""
        return self.fall.log_between(self._power(c), y)

    def single_values(self) -> tuple[Numbers, Numbers]:
        """The losses of the two single values, and ln of their probabilities."""
        ends, way = self._ends, -1 if self.back else 1
        return way * ends.losses, ends.log_masses + self._power(0.0) * ends.losses

    @cached_property
    def log_densest(self) -> float:
        """ln of an upper bound of the density of the losses between the two single values; it is largest at an end."""
        ends = self._ends
        weights = OnLaplaceSample(self.epsilon, self.rate, 1).log_weight(ends.x)
        log_shares = self.rate.log_drawn + ends.x - ends.losses  # which may be those of no float
        return float((weights + self._power(0.0) * ends.losses - log_shares).max()) + 1e-9

    def _scaled(self, points: Points, c: float, y: Numbers, log_wrong: float) -> Scaled:
        power = self._power(c)
        raised = points.log_masses + power * points.losses
        top = float(raised.max())
        grown = np.exp(raised - top)
        sums = turned_sums(grown, -points.losses if self.back else points.losses, y) + float(grown.sum())
        fixed, turning = self._rounding(points, grown, grown, power, near_one=False)
        return Scaled(sums, math.exp(min(_LARGEST, log_wrong - top)) + EPS * (fixed + turning * y), top)

    def _points_about(self, c: float) -> Points | None:
        """Points for those between, of whose error nothing is known."""
        power = self._power(c)
        key = (self._sign(power), bracket(abs(power), self._apart))
        if key not in self._plain:
            self._plain[key] = plain_points(OnLaplaceSample(self.epsilon, self.rate, key[0]), key[1])
        return self._plain[key]

    @cached_property
    def fall(self) -> LaplaceFall:
        """How it falls off along the line."""
        return LaplaceFall(self.epsilon, self.rate)

    @cached_property
    def _ends(self) -> Points:
        """The two single values."""
        x = np.array([-self.epsilon, self.epsilon])
        losses, shares = OnLaplaceSample(self.epsilon, self.rate, 1).told(x)
        return Points(x, -math.log(2) - np.array([0.0, self.epsilon]), losses, shares)

    def _with_ends(self, points: Points) -> Points:
        pairs = (
            (self._ends.x, points.x),
            (self._ends.log_masses, points.log_masses),
            (self._ends.losses, points.losses),
            (self._ends.shares, points.shares),
        )
        return Points(*(np.concatenate(pair) for pair in pairs))

    def _power(self, c: float) -> float:
        """Re p."""
        return -c if self.back else 1 + c

    def _sign(self, power: float) -> int:
        """That of p; p = 0 comes with either."""
        return 1 if power > 0 or (power == 0 and not self.back) else -1

    @cached_property
    def _apart(self) -> float:
        """How far apart |p| of one rule may be, for no term to change by much."""
        return _SPREAD / max(float(np.ptp(self._ends.losses)), 1e-300)

    def _rule(self, power: float, y: float) -> PanelRule | None:
        """The rule for p and up to y, made once for all that are about as large."""
        sign, powers, last = self._sign(power), bracket(abs(power), self._apart), place_of(y)
        integrands = OnLaplaceSample(self.epsilon, self.rate, sign)
        asked = (0.0, *powers)  # an excess over 1 takes the rule for the weights alone as well
        return self._rules.of((sign, powers, last), lambda: panel_rule(integrands, asked, largest_at(last), 0.0))

    def _rounding(
        self, points: Points, grown: Numbers, counted: Numbers, power: float, *, near_one: bool
    ) -> tuple[float, float]:
        """The sums' rounding in units of eps: what there is for y = 0, and what y multiplies."""
        size = np.abs(points.x) + self.epsilon
        # of ln w: its own, and that of the noise's loss, where it counts
        moved = (16 - self.rate.log_drawn) * np.abs(points.losses) + 8 * points.shares * size
        own = 80 + 4 * size + np.abs(points.log_masses) + points.x.size / TOGETHER
        most = np.maximum(points.masses, grown) if near_one else grown
        own_grown = own + np.abs(power * points.losses) if not near_one else own
        fixed = own_grown * counted + abs(power) * most * moved
        turning = most * ((own + abs(power) * moved) * np.abs(points.losses) + moved)
        return float(fixed.sum()), float(turning.sum())
