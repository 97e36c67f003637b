r"""Gauss and Legendre's rule on panels, chosen so that a bound on its error is as small as wanted.

On a panel of half width a the rule of n points is wrong by at most

    a (64/15) B rho**(-2 n)/(1 - rho**-2),

where B bounds the integrand on the ellipse around the panel whose half axes are a (rho +- 1/rho)/2 (Rabinowitz 1969;
Trefethen, "Approximation theory and approximation practice", Theorem 19.3). Panels are halved until that will do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.on_sample import Bound, OnSample, Window, log_density, log_density_bound

Numbers = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_RADII = np.array([2.2, 3.5, 6.0])
_LONG, _SHORT = (_RADII + 1 / _RADII) / 2, (_RADII - 1 / _RADII) / 2
_LOG_SHARES = math.log(64 / 15) - 2 * _NODES.size * np.log(_RADII) - np.log1p(-(_RADII**-2))
_DIGITS = 52.0
"""-ln of what a panel's rule may be wrong by, in units of the largest value or of 1."""
_MOST_PANELS, _SHORTEST = 2**12, 1e-12
_WIDTH, _MOST_FIRST = 2.0, 64
_PIECES, _PLAIN = 8, 50
_DIM = 100.0
"""-ln of how small a value in the middle of a panel must be, that none near it counts."""


class Pieces(NamedTuple):
    """Pieces of x, by their ends.

    left, right: the ends.   low, high, low_shares, high_shares: ln w and the share at either end.
    log_most, log_weighed, log_least: ln of the most that the integral of the density may be, of the same with the
    part's weight, and of the least that this may be.   log_least_weight: ln of the least weight of the part.
    """

    left: Numbers
    right: Numbers
    low: Numbers
    high: Numbers
    low_shares: Numbers
    high_shares: Numbers
    log_most: Numbers
    log_weighed: Numbers
    log_least: Numbers
    log_least_weight: Numbers


@dataclass(frozen=True, eq=False)
class Points:
    """Points of a rule.

    x, log_masses: values, and ln of what the rule gives to each, density and weight included.
    losses, shares: ln w, and what the record's part is of w.
    """

    x: Numbers
    log_masses: Numbers
    losses: Numbers
    shares: Numbers

    @cached_property
    def masses(self) -> Numbers:
        """The masses themselves."""
        return np.exp(self.log_masses)


@dataclass(frozen=True, eq=False)
class SampleRule:
    """A rule for the integrands of some p.

    middles, halves: the panels, shape (m,), of which those at `counted` have points, shape (m,).
    bounds: of the panels' ellipses, shape (m, radii).
    """

    integrands: OnSample
    window: Window
    middles: Numbers
    halves: Numbers
    counted: NDArray[np.bool_]
    bounds: Bound

    def log_wrong(self, power: float, y: float) -> float:
        """ln of a bound on what the rule is wrong by, tails included, for this |p| and up to this y."""
        logs = self.bounds.at(power, y)
        errors = np.where(self.counted, _log_shares(logs, self.halves), _log_sizes(logs, self.halves))
        return float(np.logaddexp.reduce([*errors, self.integrands.log_tails(self.window, power)]))

    @cached_property
    def log_flat(self) -> float:
        """ln of a bound on what the rule is wrong by for density and weight alone."""
        return self.log_wrong(0.0, 0.0)

    @cached_property
    def points(self) -> Points:
        """The rule's points, in one list."""
        return _points(self.integrands, self.middles[self.counted], self.halves[self.counted])

    @cached_property
    def pieces(self) -> Pieces:
        """What is known of f on some equal pieces of each panel."""
        ends = self.middles[:, None] + self.halves[:, None] * np.linspace(-1.0, 1.0, _PIECES + 1)
        left, right, part = ends[:, :-1].ravel(), ends[:, 1:].ravel(), self.integrands.part
        (low, low_shares), (high, high_shares) = self.integrands.told(left), self.integrands.told(right)
        lengths = np.log(right - left)
        least = np.log(np.maximum(np.minimum(part.weights(left), part.weights(right)), 1e-300))
        most = log_density_bound(left, right) + lengths
        weighed = most + part.log_bound(left, right, np.zeros(left.size))
        lowest = log_density(np.maximum(np.abs(left), np.abs(right))) + least + lengths
        return Pieces(left, right, low, high, low_shares, high_shares, most, weighed, lowest, least)


def sample_rule(integrands: OnSample, powers: Sequence[float], y: float, least: float) -> SampleRule | None:
    """A rule that serves these |p|, ascending, all between the last two, and up to this y; of p = 0 for y = 0 alone.

    least: ln of what is no matter of precision, or minus infinity.   returns: None where it has too many panels.
    """
    window = integrands.window(powers[-1])
    if window is None:
        return None
    count = min(_MOST_FIRST, max(2, math.ceil((window.last - window.first) / _WIDTH)))
    edges = np.linspace(window.first, window.last, count + 1)
    middles, halves = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    shortest = _SHORTEST * max(abs(window.first), abs(window.last))
    kept: list[tuple[Numbers, Numbers, NDArray[np.bool_], Bound]] = []
    tops, finished = [least] * len(powers), 0
    while middles.size:
        if middles.size + finished > _MOST_PANELS or halves.min() < shortest:
            return None
        steady, losses = integrands.log_weight(middles), integrands.told(middles)[0]
        long, short = halves[:, None] * _LONG, halves[:, None] * _SHORT
        bounds = integrands.bound(middles[:, None] - long, middles[:, None] + long, short)
        good, none = np.ones(middles.size, dtype=np.bool_), np.ones(middles.size, dtype=np.bool_)
        for i, power in enumerate(powers):
            tops[i] = max(tops[i], float((steady + integrands.sign * power * losses).max()))
            logs = bounds.at(power, y if power else 0.0)
            none &= _log_sizes(logs, halves) <= tops[i] - _DIGITS
            good &= _log_shares(logs, halves) <= tops[i] - _DIGITS
        done = good | none
        kept.append((middles[done], halves[done], ~none[done], bounds.of(done)))
        finished += int(np.count_nonzero(done))
        more, half = middles[~done], halves[~done] / 2
        middles, halves = np.concatenate([more - half, more + half]), np.concatenate([half, half])
    joined = Bound(*(np.concatenate(one) for one in zip(*(one[3] for one in kept), strict=True)))
    panels = [np.concatenate([one[i] for one in kept]) for i in (0, 1)]
    return SampleRule(integrands, window, panels[0], panels[1], np.concatenate([one[2] for one in kept]), joined)


def plain_points(integrands: OnSample, powers: tuple[float, float]) -> Points | None:
    """Points of equal panels, of whose error nothing is known, for the |p| between these; None as for rules."""
    window = integrands.window(powers[1])
    if window is None:
        return None
    count = max(_PLAIN, math.ceil(window.last - window.first))
    half = (window.last - window.first) / (2 * count)
    middles = window.first + half * np.arange(1, 2 * count, 2, dtype=np.float64)
    if count > _PLAIN:
        weights, losses = integrands.log_weight(middles), integrands.told(middles)[0]
        logs = np.array([weights + integrands.sign * power * losses for power in (0.0, *powers)])
        middles = middles[(logs > logs.max(axis=1, keepdims=True) - _DIM).any(axis=0)]
    return _points(integrands, middles, np.full(middles.size, half))


def _log_shares(logs: Numbers, halves: Numbers) -> Numbers:
    """ln of what the rule is wrong by."""
    return (logs + _LOG_SHARES).min(axis=1) + np.log(halves)


def _log_sizes(logs: Numbers, halves: Numbers) -> Numbers:
    """ln of how large the integral is."""
    return logs[:, 0] + np.log(2 * halves)


def _points(integrands: OnSample, middles: Numbers, halves: Numbers) -> Points:
    x = (middles[:, None] + halves[:, None] * _NODES).ravel()
    logs = (np.log(halves)[:, None] + np.log(_WEIGHTS)).ravel() + integrands.log_weight(x)
    kept = logs > -math.inf
    losses, shares = integrands.told(x[kept])
    return Points(x[kept], logs[kept], losses, shares)
