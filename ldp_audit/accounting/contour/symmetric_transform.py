r"""M of Gaussian noise on a sample where records are replaced: the symmetric loss (`SymmetricLoss`).

With w = 1 - q + q e**z of `on_sample` and x normal without the record, the losses are ln w with the density w phi where
w > 1, that is for x > mu/2, their mirror images with the density phi, and 0 for the rest. So

    M(s) = R + integral over x > mu/2 of phi (w**(1 + s) + w**-s) = 1 + that of phi (w**(1 + s) - w + w**-s - 1),

with R = (1 - q)(1 - 2 Phi(-mu/2)), which is what M falls to along the line. Outcomes whose losses are all 0 add nothing
to delta(epsilon >= 0), and without them the sum's M falls all the way (`sum_plan`).

A transform of a part counts only those losses above 0 whose noisy values belong to that part, with its weights
(`smooth_part`), and all others as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ldp_audit.accounting.contour.half_sample import HalfSample
from ldp_audit.accounting.contour.panel_rule import Points
from ldp_audit.accounting.contour.sampled_transform import SampledTransform
from ldp_audit.accounting.contour.smooth_part import EVERY, SmoothPart
from ldp_audit.accounting.contour.symmetric_fall import SymmetricFall
from ldp_audit.accounting.contour.transform import EPS, Values, from_excess, from_scaled
from ldp_audit.accounting.contour.turned_sums import turned_sums
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

Numbers = NDArray[np.float64]

_MOST_NUMBERS = 2**28
_NEAR_ONE, _FLAT, _SMALL = 30.0, -44.0, 30.0
"""ln of a term up to which the excess over 1 is added up; of the most that a rule for it may be wrong by; and up to
which p ln w a term's own excess is."""
_LARGEST = 600.0


@dataclass(frozen=True, eq=False)
class SymmetricTransform:
    """M of one such loss.

    mu: of the noise.   rate: with 0 < q < 1.   part: which values above 0 count; it has no lower end.
    with_zero: whether the loss 0 counts.
    """

    mu: float
    rate: SamplingRate
    part: SmoothPart = EVERY
    with_zero: bool = True

    back = False
    """Both ways are the same."""

    def at(self, c: float, y: Numbers) -> Values | None:
        """See `Transform`; for any c."""
        last = float(y[-1])
        sides = [(self._upper, 1 + c, 1), (self._lower, -c, -1)]
        rules = [half.rule(power, last) for half, power, _ in sides]
        if any(rule is None or rule.points.x.size * y.size > _MOST_NUMBERS for rule in rules):
            return None
        known = [rule for rule in rules if rule is not None]
        heights = [_heights(rule.points, power) for rule, (_, power, _) in zip(known, sides, strict=True)]
        top = max([*(float(one.max()) for one in heights if one.size), self.log_limit(c)])
        flats = [rule.log_wrong(flat, 0.0) for rule, flat in zip(known, (1.0, 0.0), strict=True)]
        near_one = self.with_zero and c >= -1 and max(flats) < _FLAT and top < _NEAR_ONE
        if near_one:
            top = 0.0
        sums, fixed, turning, wrong = np.zeros(y.size, dtype=np.complex128), 0.0, 0.0, 0.0
        for rule, (half, power, way), height, flat in zip(known, sides, heights, flats, strict=True):
            points, grown = rule.points, np.exp(height - top)
            sums += turned_sums(grown, way * points.losses, y)
            start, most = grown, grown
            if near_one:
                flat_masses = np.exp(points.log_masses + (points.losses if way > 0 else 0.0))
                start = _excess(flat_masses, way * c * points.losses, grown)
                most = np.maximum(flat_masses, grown)
                wrong += math.exp(flat)
            sums += float(start.sum())
            rounding = half.rounding(points, start, most, power)
            fixed, turning = fixed + rounding[0], turning + rounding[1]
            wrong += math.exp(min(_LARGEST, rule.log_wrong(abs(power), last) - top))
        if near_one:
            return from_excess(sums - self._lacking, wrong + EPS * (fixed + turning * y + 1e3 * self._lacking))
        if self.with_zero:
            zero = math.exp(self.log_zero - top)
            sums, fixed = sums + zero, fixed + zero * (16 + 16 * abs(self.log_zero) + 4 * abs(top))
        return from_scaled(sums, wrong + EPS * (fixed + turning * y), top)

    def about(self, c: float) -> float:
        """See `Transform`."""
        sides = [(self._upper.plain(1 + c), 1 + c, 1), (self._lower.plain(-c), -c, -1)]
        found, logs = -self._lacking, [self.log_limit(c)]
        for points, power, way in sides:
            if points is None:
                return math.inf
            heights = _heights(points, power)
            logs.append(float(np.logaddexp.reduce(heights)))
            if float(heights.max(initial=0.0)) < _NEAR_ONE:
                flat = np.exp(points.log_masses + (points.losses if way > 0 else 0.0))
                found += float(_excess(flat, way * c * points.losses, np.exp(heights)).sum())
        whole = float(np.logaddexp.reduce(logs))
        if not self.with_zero or c < -1 or whole > 1 or found <= -0.5:
            return whole
        return math.log1p(found)

    def log_limit(self, c: float) -> float:  # noqa: ARG002
        """See `Transform`: that of the loss 0."""
        return self.log_zero if self.with_zero else -math.inf

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`."""
        here = self.at(c, np.zeros(1))
        if here is None or not 0 < y < math.inf:
            return math.inf
        whole = float(here.log[0].real + here.error[0])
        rest = self._fall.log_rest(c, y, whole)
        if not self.with_zero:
            return min(whole, rest)
        far = float(np.logaddexp(rest, self.log_zero * (1 - 16 * EPS))) + 4 * EPS
        return min(whole, far, self._fall.log_near(c, y, whole))

    @cached_property
    def log_zero(self) -> float:
        """ln R, right to 16 eps of itself."""
        size = self.mu / math.sqrt(8)
        return self.rate.log_left_out + (math.log1p(-math.erfc(size)) if size > 1 else math.log(math.erf(size)))

    def cut(self, part: SmoothPart) -> SymmetricTransform | SampledTransform:
        """That of a part of the losses above 0, which begins above 0 if it has a lower end."""
        if part.low == -math.inf:
            return replace(self, part=part)
        return SampledTransform(self.mu, self.rate, back=False, part=part)

    @property
    def nonzero(self) -> SymmetricTransform:
        """The same without the loss 0."""
        return replace(self, with_zero=False)

    @cached_property
    def _upper(self) -> HalfSample:
        return HalfSample(self.mu, self.rate, self.part, self._least)

    @cached_property
    def _lower(self) -> HalfSample:
        return HalfSample(self.mu, self.rate, least=self._least)

    @property
    def _least(self) -> float:
        """ln of what is no matter: beside the loss 0 all that is tiny."""
        return 0.0 if self.with_zero else -math.inf

    @cached_property
    def _fall(self) -> SymmetricFall:
        return SymmetricFall(self._upper, self._lower, self.log_zero if self.with_zero else -math.inf)

    @cached_property
    def _lacking(self) -> float:
        """What the part's weights take from all losses together."""
        if self.part.whole:
            return 0.0
        width = math.sqrt(1 + self.part.blur**2)
        ends = np.array([self.part.high, self.part.high - self.mu]) / width
        return float((ndtr(-ends) * np.exp([self.rate.log_left_out, self.rate.log_drawn])).sum())


@dataclass(frozen=True, eq=False)
class ZeroTransform:
    """M of the loss 0 alone.   log_mass: ln of its probability."""

    log_mass: float

    def at(self, c: float, y: Numbers) -> Values | None:  # noqa: ARG002
        """See `Transform`."""
        return Values(np.full(y.size, self.log_mass, dtype=np.complex128), np.full(y.size, -16 * EPS * self.log_mass))

    def about(self, c: float) -> float:  # noqa: ARG002
        """See `Transform`."""
        return self.log_mass

    def log_limit(self, c: float) -> float:  # noqa: ARG002
        """See `Transform`."""
        return self.log_mass

    def log_beyond(self, c: float, y: float) -> float:  # noqa: ARG002
        """See `Transform`."""
        return self.log_mass * (1 - 16 * EPS)


def _heights(points: Points, power: float) -> Numbers:
    """ln of the terms at y = 0."""
    return points.log_masses + power * points.losses


def _excess(masses: Numbers, height: Numbers, grown: Numbers) -> Numbers:
    """mass (e**height - 1)."""
    return np.where(height < _SMALL, masses * np.expm1(np.minimum(height, _SMALL)), grown - masses)
