r"""The hockey stick of a tilted sum, as a midpoint rule over frequencies with certified ends.

With X = L + Xi - epsilon for the sum L and a little noise Xi (`noise`), and psi its characteristic function under the
tilt theta > 0,

    v = E k(X) = integral over all w of psi(w) / ((theta + i w)(1 + theta + i w)) / (2 pi),

as that is the Fourier transform of k(x) = e**(-theta x) (1 - e**-x)_+. What is counted:

* The step 2 pi / S. By Poisson's formula the rule of all midpoints gives v plus the sum over m != 0 of
  (-1)**m E k(X + m S), and k(x) <= min(1 / (1 + theta), e**(-theta x)): tails of X, by Chernoff (Abate, Whitt, "The
  Fourier-series method for inverting transforms of probability distributions", Queueing Systems 10, 1992).
* Frequencies left out: where psi is less than e**-40 (`windows`).
* The noise, which is of second order in its deviation (`noise`).
* Rounding: of masses, of angles w (l - centre), and of powers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ldp_audit.accounting.frequencies.expansion import EPS, Complex
from ldp_audit.accounting.frequencies.noise import Noise
from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum, Numbers, TiltedSum
from ldp_audit.accounting.frequencies.windows import DROPPED, Window, least_deviation, windows

_PERIOD, _FALL, _DOUBLINGS, _NEAR = 30.0, 60.0, 4, 4.0
"""S in deviations of the sum, at first, and theta S at least; how often S may be doubled; how far a level may be."""
_ENOUGH = 1e-11
"""What the period may cost, and the noise beyond its tent, as a share of v."""
_SLOPES = tuple(4.0**power for power in range(-6, 3))
_MOST_IN_TENTS, _FEWEST_SHIFTED, _SHIFTS, _MOST_GROWN = 1.0, 0.03, (0.0, 2.0, 5.0), 600.0
"""Nats of noise up to which tents are asked, and from which shifts are; by how many of its deviations."""
_COARSER, _LARGEST = 2.0, 0.25
"""Noise grows by the first while there are too many frequencies, up to this share of the sum's deviation."""


class Tails(NamedTuple):
    """ln E e**(slope (c - X)) and ln E e**(slope (X - c)), from above, for some slopes, where c is about E X."""

    slopes: Numbers
    falling: Numbers
    rising: Numbers


@dataclass(frozen=True, eq=False)
class FrequencyRule:
    """The rule for one tilt; it serves all levels near the tilted mean.

    frequencies: the midpoints, shape (m,).   values: psi of the centred sum there, times what it is multiplied by.
    unsure: a bound on what rounding does to their sum.   left_out: one on what other frequencies add to v.
    tails: of the sum with the noise.   period: S, nats.
    """

    tilted: TiltedSum
    noise: Noise
    tails: Tails
    period: float
    frequencies: Numbers
    values: Complex
    unsure: float
    left_out: float

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Both ends of ln delta, for a finite level."""
        theta = self.tilted.theta
        above = float(self.tilted.centre - Fraction(epsilon))  # the mean of L - epsilon
        least, most = self._without_noise(above)
        log_scale = self.tilted.log_sum + theta * above
        slack = _slack(self.tilted) + 4 * EPS * (4 + abs(self.tilted.log_sum) + abs(theta * above))
        low, high = (math.log(v) + log_scale if v > 0 else -math.inf for v in (least, most))
        return min(0.0, low - slack), min(0.0, high + slack)

    def _without_noise(self, above: float) -> tuple[float, float]:
        """Ends of v for the sum without the noise, whose mean lies so far above the level."""
        ends = [(0.0, 1 / (1 + self.tilted.theta))]
        if self.noise.deviation <= _MOST_IN_TENTS and self.noise.log_mean_power < _MOST_GROWN:
            ends.append(self._by_tent(above))
        if self.noise.deviation >= _FEWEST_SHIFTED:
            ends += [self._by_shift(above, deviations) for deviations in _SHIFTS]
        return max(low for low, _ in ends), min(high for _, high in ends)

    def _by_tent(self, above: float) -> tuple[float, float]:
        """What little noise costs is of second order in it: see `noise`."""
        theta, noise, rest = self.tilted.theta, self.noise, _ENOUGH * _typical(self.tilted)
        width, grown = noise.width(-math.log(rest)), math.exp(noise.log_mean_power)
        c, a = noise.growth / math.tanh(width / 2), 1 / (1 + math.exp(-width))
        low, high = self._ends(above)
        if c >= 1 or theta * width > _MOST_GROWN:
            return 0.0, grown * high
        nearer, farther = (self._ends(above + way * width)[1] * math.exp(way * theta * width) for way in (1, -1))
        return grown * (low - c * (a * nearer + (1 - a) * farther) - rest) / (1 - c), grown * high

    def _by_shift(self, above: float, deviations: float) -> tuple[float, float]:
        """What much noise costs is no more than a shift of the level by some of its deviations: see `noise`."""
        theta, noise = self.tilted.theta, self.noise
        need = -math.log(_ENOUGH * _typical(self.tilted))
        lower, upper = noise.lower_shift(need), noise.upper_shift(deviations)
        low, high = self._ends(above - lower.level)[0], self._ends(above - upper.level)[1]
        least = low * math.exp(min(lower.log_factor, _MOST_GROWN)) - math.exp(-need) / (1 + theta)
        return least, high * math.exp(upper.log_factor) if upper.log_factor < _MOST_GROWN else math.inf

    def _ends(self, above: float) -> tuple[float, float]:
        """Ends of v for the sum with the noise, where that without it has its mean so far above the level."""
        theta, shift, mean = self.tilted.theta, self.tilted.shift, above + self.noise.mean
        value = float((self.values * np.exp(1j * mean * self.frequencies)).real.sum())
        error = self._sizes[0] + (abs(mean) * 4 * EPS + shift) * self._sizes[1]
        error += self.unsure + self.left_out + beyond(self.tails, theta, self.period, mean)
        missed = 1.01 * math.fsum(part.times * part.missed for part in self.tilted.parts) / (1 + theta)
        return max(0.0, value - error), min(value + error + missed, 1 / (1 + theta))

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """The sum of the values' sizes, times the rounding of sums, and of the sizes times the frequencies."""
        sizes = np.abs(self.values)
        return 4 * EPS * (4 + math.log2(sizes.size + 2)) * float(sizes.sum()), float(sizes @ self.frequencies)


def frequency_rule(total: AtomSum, theta: float, precision: float, *, at_most: bool = False) -> FrequencyRule | None:
    """The rule for a tilt > 0; None for a sum that does not vary, and where there are too many frequencies.

    precision: by how many nats the noise may move a level, about.   at_most: it may not be more; else it may where less
    takes too many frequencies.
    """
    tilted = total.tilted(theta)
    if not tilted.deviation * theta > 0:
        return None
    wanted, rounding = (
        math.sqrt(cost / (4 * (1 + theta + 1 / tilted.usual))) for cost in (precision, _slack(tilted) / (4 * theta))
    )
    least = max(rounding, least_deviation(tilted))  # where rounding costs as much, or there are too many frequencies
    if at_most and wanted < least:
        return None
    noise = Noise(theta, max(wanted, least))
    while noise.deviation <= _LARGEST * tilted.deviation:
        tails = _tails(tilted, noise)
        period = _period(tilted, tails)
        step = 2 * math.pi / period
        found = windows(tilted, noise, step)
        if found is not None:
            values = _evaluated(tilted, noise, step, found)
            small = 1.01 * math.exp(-DROPPED) * (2 + math.log1p(1 / theta) + step / theta) / math.pi
            return FrequencyRule(tilted, noise, tails, period, *values, small)
        if at_most:
            return None
        noise = Noise(theta, _COARSER * noise.deviation)
    return None


def beyond(tails: Tails, theta: float, period: float, above: float) -> float:
    """What the rule of this period may be wrong by: the sums of E k(X + m S) and E k(X - m S) over m >= 1.

    above: the mean of X, nats.
    """
    found = _series(-theta * period / 2, theta * period / 2)
    for way, logs, reach in ((-1, tails.falling, period / 2), (1, tails.rising, period)):
        slopes = tails.slopes.tolist()
        found += min(
            _series(log - slope * (reach - way * above), slope * reach)
            for log, slope in zip(logs.tolist(), slopes, strict=True)
        )
    return found


def _slack(tilted: TiltedSum) -> float:
    """By how much rounding may change ln of what v is multiplied by."""
    return tilted.theta * tilted.shift + math.fsum(
        part.times * (part.believed + part.rounding) for part in tilted.parts
    )


def _typical(tilted: TiltedSum) -> float:
    """About v at the tilted mean."""
    return 0.2 / (1 + tilted.theta) / (1 + tilted.theta * tilted.deviation)


def _period(tilted: TiltedSum, tails: Tails) -> float:
    """S, such that little is lost by it for levels that are near."""
    deviation = tilted.deviation
    period = max(_PERIOD, _FALL / (tilted.theta * deviation)) * deviation
    for _ in range(_DOUBLINGS):
        ends = (beyond(tails, tilted.theta, period, way * _NEAR * deviation) for way in (-1, 1))
        if max(ends) <= _ENOUGH * _typical(tilted):
            break
        period *= 2
    return period


def _tails(tilted: TiltedSum, noise: Noise) -> Tails:
    """Of the sum with the noise, from above."""
    slopes: Numbers = np.array(_SLOPES) / tilted.deviation
    logs = np.zeros((2, slopes.size))
    for part in tilted.parts:
        for place, slope in enumerate(slopes.tolist()):
            for way in (0, 1):
                with np.errstate(over="ignore"):  # an infinite bound is one
                    powers = np.exp((2 * way - 1) * slope * part.away)
                logs[way, place] += part.times * (math.log(float((part.masses * powers).sum())) + part.rounding)
    logs += (slopes * noise.deviation) ** 2 / 2
    return Tails(slopes, logs[0], logs[1])


def _series(log_first: float, fall: float) -> float:
    """The sum of a geometric series that falls by e**-fall from each term to the next; infinite where it may not."""
    return math.exp(min(log_first, 700.0)) / -math.expm1(-fall) if fall > 0 else math.inf


def _evaluated(tilted: TiltedSum, noise: Noise, step: float, found: Sequence[Window]) -> tuple[Numbers, Complex, float]:
    """The midpoints, psi there times the transform and step / pi, and the rounding of all together."""
    theta, at = tilted.theta, np.concatenate([window.frequencies for window in found])
    logs, errors = noise.log_sizes(at).astype(np.complex128), np.zeros(at.size)
    ends = np.cumsum([window.frequencies.size for window in found])
    for window, end in zip(found, ends.tolist(), strict=True):
        here = slice(end - window.frequencies.size, end)
        for part, law in zip(tilted.parts, window.laws, strict=True):
            one, wrong = law.logs(window.frequencies, step)
            logs[here] += part.times * one
            errors[here] += part.times * wrong
    values = np.exp(logs) * (step / math.pi) / ((theta + 1j * at) * (1 + theta + 1j * at))
    return at, values, float((np.abs(values) * np.expm1(np.minimum(errors, 700.0))).sum())
