r"""The hockey stick of a tilted sum, as a midpoint rule over frequencies with certified ends.

With X = L - epsilon and psi its characteristic function under the tilt theta > 0,

    v = E k(X) = integral over all w of psi(w) / ((theta + i w)(1 + theta + i w)) / (2 pi),

as that is the Fourier transform of k(x) = e**(-theta x) (1 - e**-x)_+. What is counted:

* The step 2 pi / S. By Poisson's formula the rule of all midpoints gives v plus the sum over m != 0 of
  (-1)**m E k(X + m S), and k(x) <= min(1 / (1 + theta), e**(-theta x)): tails of X, by Chernoff (Abate, Whitt, "The
  Fourier-series method for inverting transforms of probability distributions", Queueing Systems 10, 1992).
* Frequencies left out. If a loss has the tilted masses a and b at two values that lie D apart, and others, the square
  of the size of its characteristic function is at most 1 less the sum of 2 a b (1 - cos(w D)) over any such pairs.
  After T losses one pair makes psi less than e**-45 but in windows around the multiples of 2 pi / D; in most of these
  the other pairs do. The windows left are added up, as many as a budget allows; beyond, psi counts as 1 in them all,
  and the transform as 1/w**2.
* Rounding: of masses, of angles w (l - centre), and of powers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum, TiltedSum

_EPS = 2.0**-52
_DROPPED = 45.0
"""-ln of an absolute value of psi that counts as 0."""
_PERIOD, _FALL, _DOUBLINGS, _NEAR = 30.0, 60.0, 4, 4.0
"""S in deviations of the sum, at first, and theta S at least; how often S may be doubled; how far a level may be."""
_ENOUGH = 1e-11
"""What the period may cost, as a share of v."""
_WORK, _BLOCK = 3 * 10**7, 2 * 10**6
"""Points times atoms: in all at most, and at once."""
_WINDOWS, _MOST_WINDOWS = 2**10, 2**18
_PIECES = 16
"""A window is cut into so many."""
_TOP, _PAIRS, _FEW = 32, 512, 4
"""Of so many likeliest values of each law so many pairs tell where psi is small; a few at a time."""
_MIXED = (math.sqrt(5) - 1) / 2
"""Multiples of it, less their whole part, order the pairs anew: neighbours tell much the same."""
_SLOPES = 2.0 ** np.arange(-1, 7)
_PRECISION = 160

Numbers = NDArray[np.float64]


class _Windows(NamedTuple):
    """Where psi may not be small: within `half` of these centres, and elsewhere.

    rest: a bound on what is elsewhere adds to v, but for what counts as 0.
    """

    half: float
    centres: Numbers
    rest: float


@dataclass(frozen=True, eq=False)
class FrequencyRule:
    """The rule for one tilt; it serves all levels near the tilted mean.

    frequencies: the midpoints, shape (m,).   values: psi of the centred sum there, times what it is multiplied by.
    unsure: a bound on what rounding does to their sum.   left_out: one on what other frequencies add to v.
    period: S, nats.
    """

    tilted: TiltedSum
    frequencies: Numbers
    values: NDArray[np.complex128]
    unsure: float
    left_out: float
    period: float

    @property
    def theta(self) -> float:
        """The tilt."""
        return self.tilted.theta

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Both ends of ln delta, for a finite level."""
        theta, shift, parts = self.theta, self.tilted.shift, self.tilted.parts
        above = float(self.tilted.centre - Fraction(epsilon))  # the mean of X
        value = float((self.values * np.exp(1j * above * self.frequencies)).real.sum())
        error = self._sizes[0] + (abs(above) * 4 * _EPS + shift) * self._sizes[1]
        error += self.unsure + self.left_out + beyond(self.tilted, self.period, above)
        missed = 1.01 * math.fsum(part.times * part.missed for part in parts) / (1 + theta)
        ends = max(0.0, value - error), min(value + error + missed, 1 / (1 + theta))
        with ctx.workprec(_PRECISION):
            log_scale = float((self.tilted.log_sum - arb(theta) * arb(epsilon)).mid())
        slack = theta * shift + 4 * _EPS * (4 + abs(log_scale))
        slack += math.fsum(part.times * (part.believed + 2 * _EPS) for part in parts)
        low, high = (math.log(v) + log_scale if v > 0 else -math.inf for v in ends)
        return min(0.0, low - slack), min(0.0, high + slack)

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """The sum of the values' sizes, times the rounding of sums, and of the sizes times the frequencies."""
        sizes = np.abs(self.values)
        return 4 * _EPS * (4 + math.log2(sizes.size + 2)) * float(sizes.sum()), float(sizes @ self.frequencies)


def frequency_rule(total: AtomSum, theta: float, precision: float) -> FrequencyRule | None:
    """The rule for a tilt > 0; None for a sum that does not vary.

    precision: the relative error of v that is good enough.
    """
    tilted = total.tilted(theta)
    if not tilted.deviation * theta > 0:
        return None
    typical = 0.2 / (1 + theta) / (1 + theta * tilted.deviation)
    period = max(_PERIOD, _FALL / (theta * tilted.deviation)) * tilted.deviation
    for _ in range(_DOUBLINGS):
        ends = (beyond(tilted, period, way * _NEAR * tilted.deviation) for way in (-1, 1))
        if max(ends) <= _ENOUGH * typical:
            break
        period *= 2
    step = 2 * math.pi / period
    windows = _windows(tilted, step, precision * typical)
    frequencies, values, unsure = _evaluated(tilted, step, _midpoints(windows, step))
    small = math.exp(-_DROPPED) * (2 + math.log1p(1 / theta) + step / theta) / math.pi
    return FrequencyRule(tilted, frequencies, values, unsure, windows.rest + small, period)


def beyond(tilted: TiltedSum, period: float, above: float) -> float:
    """What the rule of this period may be wrong by: the sums of E k(X + m S) and E k(X - m S) over m >= 1.

    above: the mean of X, nats.
    """
    found = _series(-tilted.theta * period / 2, tilted.theta * period / 2)
    for way, reach in ((-1, period / 2), (1, period)):
        found += min(_series(log, slope * reach) for log, slope in _tails(tilted, way, reach - way * above))
    return found


def _tails(tilted: TiltedSum, way: int, reach: float) -> Iterator[tuple[float, float]]:
    """Bounds on ln P(way (L - centre) > reach), each with the rate at which it falls."""
    for slope in _SLOPES / tilted.deviation:
        logs = (
            part.times * (math.log(float(part.masses @ np.exp(np.minimum(way * slope * part.away, 700.0)))) + 32 * _EPS)
            for part in tilted.parts
        )
        yield math.fsum(logs) - slope * reach, float(slope)


def _series(log_first: float, fall: float) -> float:
    """The sum of a geometric series that falls by e**-fall from each term to the next; infinite where it may not."""
    return math.exp(min(log_first, 700.0)) / -math.expm1(-fall) if fall > 0 else math.inf


def _windows(tilted: TiltedSum, step: float, wanted: float) -> _Windows:
    """The windows of the two values that make psi smallest; as many as are wanted, or as the budget allows.

    Those where other pairs do not tell that psi is small are cut in pieces, and each is asked again.
    """
    pairs = _pairs(tilted)
    apart = 2 * math.pi / pairs.distances[0]
    half = min(apart / 2, math.acos(max(-1.0, 1 - 1.000001 * _DROPPED / pairs.decays[0])) / pairs.distances[0])
    share, piece = (2 * half + 2 * step) / (math.pi * apart**2), half / _PIECES
    atoms = sum(part.masses.size for part in tilted.parts)
    budget = max(_PIECES, int(_WORK / atoms / (2 * piece / step + 2)))
    most, steps = 2 + int(min(_MOST_WINDOWS, share / wanted)), piece * np.arange(1 - _PIECES, _PIECES, 2)
    found, count = [steps[_PIECES // 2 :]], 1
    while count < most:
        block = apart * np.arange(count, min(most, count + _WINDOWS))
        alive = _undecided(pairs.first(_FEW), block, half)
        cut = _undecided(pairs, np.add.outer(alive, steps).ravel(), piece)
        budget -= cut.size
        if budget < 0:
            break
        found.append(cut)
        count += block.size
    return _Windows(piece, np.concatenate(found), share / (count - 1) if count > 1 else share * apart**2)


class _Pairs(NamedTuple):
    """Pairs of values: the rates T a b at which ln |psi| falls, the largest first, and how far apart they lie, nats."""

    decays: Numbers
    distances: Numbers

    def first(self, count: int) -> _Pairs:
        """So many of them."""
        return _Pairs(self.decays[:count], self.distances[:count])


def _pairs(tilted: TiltedSum) -> _Pairs:
    """Those that tell most, of all laws."""
    decays, distances = [np.zeros(1)], [np.ones(1)]
    for part in tilted.parts:
        top = np.argsort(part.masses)[-_TOP:]
        one, two = np.triu_indices(top.size, 1)
        decays.append(part.times * part.masses[top[one]] * part.masses[top[two]])
        distances.append(np.abs(part.away[top[one]] - part.away[top[two]]))
    decay, distance = np.concatenate(decays), np.concatenate(distances)
    chosen = np.argsort(-decay, kind="stable")[:_PAIRS]
    chosen[1:] = chosen[1:][np.argsort(np.arange(1, chosen.size) * _MIXED % 1.0)]
    return _Pairs(decay[chosen], distance[chosen])


def _undecided(pairs: _Pairs, centres: Numbers, half: float) -> Numbers:
    """The centres around which psi may not be small everywhere, as far as these pairs can tell."""
    found = np.zeros(centres.size)
    for place, (decay, distance) in enumerate(zip(*pairs, strict=True)):
        turns = centres * (distance / (2 * math.pi))
        angles = np.abs(turns - np.round(turns)) * (2 * math.pi)
        nearest = np.maximum(0.0, angles - half * distance - 8 * _EPS * (1 + centres * distance))
        found += decay * (1 - np.cos(nearest))
        if place % _FEW == _FEW - 1:
            left = found < _DROPPED
            centres, found = centres[left], found[left]
    return centres[found < _DROPPED]


def _midpoints(windows: _Windows, step: float) -> Numbers:
    """(j + 1/2) step in all windows, ascending."""
    first = np.maximum(0.0, np.floor((windows.centres - windows.half) / step - 0.5))
    last = np.ceil((windows.centres + windows.half) / step - 0.5)
    first[1:] = np.maximum(first[1:], last[:-1] + 1)
    sizes = np.maximum(last - first + 1, 0.0).astype(np.int64)
    starts = np.repeat(first - np.cumsum(sizes) + sizes, sizes)
    places: Numbers = starts + np.arange(starts.size, dtype=np.float64) + 0.5
    return places * step


def _evaluated(tilted: TiltedSum, step: float, midpoints: Numbers) -> tuple[Numbers, NDArray[np.complex128], float]:
    """The midpoints where psi is not too small, its values times the transform and step / pi, and their rounding."""
    theta, atoms = tilted.theta, sum(part.masses.size for part in tilted.parts)
    length = max(1, _BLOCK // atoms)
    found, unsure = [], 0.0
    for start in range(0, midpoints.size, length):
        at = midpoints[start : start + length]
        logs, errors = np.zeros(at.size, dtype=np.complex128), np.zeros(at.size)
        for part in tilted.parts:
            one = np.exp(1j * np.multiply.outer(at, part.away)) @ part.masses
            size = np.maximum(np.abs(one), 1e-300)
            logs += part.times * np.log(np.where(np.abs(one) > 0, one, 1e-300))
            angles = float(part.masses @ np.abs(part.away)) * at
            errors += (
                part.times * (part.rounding + _EPS * (16 + 4 * math.log2(part.masses.size + 1) + 4 * angles)) / size
            )
        kept = logs.real + errors > -_DROPPED
        at, errors = at[kept], errors[kept]
        values = np.exp(logs[kept]) * (step / math.pi) / ((theta + 1j * at) * (1 + theta + 1j * at))
        unsure += float(np.abs(values) @ np.expm1(np.minimum(errors, 700.0)))
        found.append((at, values))
    return np.concatenate([at for at, _ in found]), np.concatenate([values for _, values in found]), unsure
