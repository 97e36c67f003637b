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
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_RADII = np.array([2.2, 3.5, 6.0])
_LONG, _SHORT = (_RADII + 1 / _RADII) / 2, (_RADII - 1 / _RADII) / 2
_LOG_SHARES = math.log(64 / 15) - 2 * _NODES.size * np.log(_RADII) - np.log1p(-(_RADII**-2))
_DIGITS = 52.0
"""-ln of what a panel's rule may be wrong by, in units of the largest value or of 1."""
_MOST_PANELS, _SHORTEST = 2**12, 1e-12
_WIDTH, _MOST_FIRST = 2.0, 64
_PLAIN = 50
_DIM = 100.0
"""-ln of how small a value in the middle of a panel must be, that none near it counts."""


class Bound(NamedTuple):
    """ln of a bound on |f e**(i y' ln w)| for |y'| <= y: steady + |p| power + y turn; shape of what was asked for."""

    steady: Numbers
    power: Numbers
    turn: Numbers

    def at(self, power: float, y: float) -> Numbers:
        """The bound for these |p| and y."""
        return self.steady + power * self.power + y * self.turn

    def of(self, chosen: NDArray[np.bool_]) -> Bound:
        """Only the chosen ones."""
        return Bound(self.steady[chosen], self.power[chosen], self.turn[chosen])


class Window(NamedTuple):
    """Where f is integrated. Beyond an open end there are tails."""

    first: float
    last: float
    open_below: bool
    open_above: bool


class Integrands(Protocol):
    """f(x) = W(x) w(x)**p for all p of one sign, with a weight W and w > 0."""

    @property
    def sign(self) -> int:
        """That of p."""
        ...

    def told(self, x: Numbers) -> tuple[Numbers, Numbers]:
        """ln w, and what the record's part is of w."""
        ...

    def log_weight(self, x: Numbers) -> Numbers:
        """ln W."""
        ...

    def bound(self, left: Numbers, right: Numbers, away: Numbers) -> Bound:
        """For left <= x <= right and |v| <= away, of f(x + i v); infinite if that is too far."""
        ...

    def window(self, power: float) -> Window | None:
        """Where f counts, up to this |p|; None where that is too far out."""
        ...

    def log_tails(self, window: Window, power: float) -> float:
        """ln of a bound on the integral of f outside the window; infinite where none is known."""
        ...


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
class PanelRule:
    """A rule for the integrands of some p.

    middles, halves: the panels, shape (m,), of which those at `counted` have points, shape (m,).
    bounds: of the panels' ellipses, shape (m, radii).
    """

    integrands: Integrands
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


def panel_rule(integrands: Integrands, powers: Sequence[float], y: float, least: float) -> PanelRule | None:
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
    return PanelRule(integrands, window, panels[0], panels[1], np.concatenate([one[2] for one in kept]), joined)


def plain_points(integrands: Integrands, powers: tuple[float, float]) -> Points | None:
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


def _points(integrands: Integrands, middles: Numbers, halves: Numbers) -> Points:
    x = (middles[:, None] + halves[:, None] * _NODES).ravel()
    logs = (np.log(halves)[:, None] + np.log(_WEIGHTS)).ravel() + integrands.log_weight(x)
    kept = logs > -math.inf
    losses, shares = integrands.told(x[kept])
    return Points(x[kept], logs[kept], losses, shares)
