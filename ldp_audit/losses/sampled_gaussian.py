"""The transform of Gaussian noise on a Poisson sample, by quadrature with a certified error.

With x the noisy value, normal without the record, and w = 1 - q + q e**z for the noise's own loss z = mu x - mu**2/2,
the loss is ln w from the data with the record to those without, and -ln w back. So M(s) = E[w**p] without the record,
with p = 1 + s, or p = -s: the integral of f(x) = phi(x) w(x)**p.

Quadrature. On a panel of half width a the Gauss-Legendre rule of n points is wrong by at most

    a (64/15) B rho**(-2 n)/(1 - rho**-2),

where B bounds f on the ellipse around the panel whose half axes are a (rho +- 1/rho)/2 (Rabinowitz 1969; Trefethen,
"Approximation theory and approximation practice", Theorem 19.3). Panels are halved until that is small.

Bounds on f off the real line. With the share r = q e**z/w that the record has in w,

    |w(x + i v)|**2 = w**2 (1 - 2 r (1 - r) (1 - cos(mu v))),  tan arg w(x + i v) = r sin(mu v)/(1 - r + r cos(mu v)).

So for mu v <= pi/2 the size of w grows with x, as does its argument, which lies between 0 and mu v; it is at most r mu
v/(1 - 2 r) where r < 1/2, and along v at least the chord's or the tangent's at 0. Where r > 1/2, w is nowhere 0: its
size is between (2 r - 1) w and w, and its argument within arcsin(1/r - 1) of mu v. And |phi(x + i v)| is phi(x)
e**(v**2/2) (claim BD-STRIP). All bounds are linear in p and in y, so that one set of panels serves many values of
either.

Decay. On the path x + i h(x), with h >= 0 on the side on which e**(i y ln w) falls, the integrand has the size

    |phi(x + i h)| |w(x + i h)|**p e**(-y |arg w(x + i h)|) (1 + h'(x)**2)**(1/2)

at most, and |M(c + i y')| for y' >= y is at most the integral of that. As h never falls with x, a piece of x is bounded
from its ends: h stays below pi/2 over mu, or w is nowhere 0. Near y = 0 the bound is M(c) less a difference, which has
its own digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.loss import EPS, Transform, Values, from_excess, from_scaled
from ldp_audit.losses.sampling_rate import SamplingRate
from ldp_audit.numerics import BoundedCache

Numbers = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_RADII = np.array([2.2, 3.5, 6.0])
_LONG, _SHORT = (_RADII + 1 / _RADII) / 2, (_RADII - 1 / _RADII) / 2
_LOG_SHARES = math.log(64 / 15) - 2 * _NODES.size * np.log(_RADII) - np.log1p(-(_RADII**-2))
_DIGITS = 52.0
"""-ln of the error allowed to a panel, in units of the largest value of f or of 1."""
_MOST_PANELS, _SHORTEST = 2**12, 1e-12
_WIDTH, _MOST_FIRST = 2.0, 64
_PLAIN, _DIM = 50, 100.0  # panels for estimates, and -ln of how small f is in the middle of one left out
_REACH, _FARTHEST = 10.0, 4000.0
"""Standard deviations of the noise, beyond which 1e-23 is left; and the longest range of x."""
_NEGLIGIBLE, _STEPS = 50.0, 40
_WIDEST_ANGLE, _ALONE = 2.8, 0.51
"""A bound on mu v, as w has a zero at pi; and a share from which on w has none."""
_PIECES = 8  # of each panel, for the decay along the line
_RIGHT_ANGLE, _FARTHEST_PATH, _RISE = 1.5, 6.0, 0.85
"""A bound on mu h, below pi/2; the largest h; and the slope of h where w has no zero."""
_PATHS = (1.0, 0.5, 0.25)
"""Constant h to try, in units of the largest one allowed."""
_MOST_NUMBERS, _MOST_RULES, _TOGETHER, _FEW, _AT_ONCE = 2**28, 64, 32, 64, 2**19
_NEAR_ONE, _FLAT = 300.0, -44.0
"""Up to this p ln w the excess over 1 is summed; and ln of the largest error of its rule."""
_BEND, _PER_OCTAVE = 6.0, 2
"""How far apart the |p| of one rule may be, in units of 1/mu; and the number of rules between y and 2 y."""
_LARGEST_POWER, _HALF_LOG_TWO_PI = 600.0, 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class SampledGaussian(Transform):
    """The transform of Gaussian noise on a sample.

    mu: sensitivity over sigma.   rate: with 0 < q < 1.   back: whether the loss is from the data without the record to
    those with it.
    """

    mu: float
    rate: SamplingRate
    back: bool
    _rules: BoundedCache[tuple[int, tuple[float, float], float], _Rule | None] = field(
        default_factory=lambda: BoundedCache(_MOST_RULES), init=False, repr=False
    )
    _plain: dict[tuple[int, tuple[float, float]], _Points | None] = field(default_factory=dict, init=False, repr=False)

    def at(self, c: float, y: Numbers) -> Values | None:
        """See `Transform`."""
        power, last = self._power(c), float(y[-1])
        rule = self._rule(power, last)
        if rule is None or rule.points.x.size * y.size > _MOST_NUMBERS:
            return None
        points, log_wrong, log_flat = rule.points, rule.log_wrong(abs(power), last), rule.log_flat
        heights = power * points.losses
        near_one = log_flat < _FLAT and float(heights.max()) < _NEAR_ONE
        top = 0.0 if near_one else float((points.log_masses + heights).max())
        masses = np.exp(points.log_masses) if near_one else np.ones_like(heights)
        raised = np.exp(heights if near_one else points.log_masses + heights - top)
        start = np.expm1(heights) if near_one else raised
        sums = _turned_sums(masses * raised, -points.losses if self.back else points.losses, y)
        sums += float((masses * start).sum())
        # the rounding of each mass and of its ln w, in units of eps
        x, size = points.x, np.abs(points.x) + 1
        own = 80 + 4 * x * x + np.abs(points.log_masses) + x.size / _TOGETHER
        moved = (16 - self.rate.log_drawn) * np.abs(points.losses)
        moved += 4 * points.shares * (np.abs(self.mu * x) + self.mu * self.mu + self.mu * size)
        most = np.maximum(1.0, raised) if near_one else raised
        changed = np.abs(raised - 1) if near_one else raised
        fixed = float((masses * (own * changed + abs(power) * most * moved)).sum())
        turning = float((masses * most * ((own + abs(power) * moved) * np.abs(points.losses) + moved)).sum())
        rounding = EPS * (fixed + turning * y)
        if near_one:  # the error of the excess is at most those for f and for the density together
            return from_excess(sums, math.exp(log_wrong) + math.exp(log_flat) + rounding)
        return from_scaled(sums, math.exp(min(_LARGEST_POWER, log_wrong - top)) + rounding, top)

    def log_limit(self, c: float) -> float:  # noqa: ARG002
        """See `Transform`: it decays to 0."""
        return -math.inf

    def log_tail_bound(self, c: float, y: float) -> float:
        """See `Transform`."""
        power, whole = self._power(c), self.log_mean(c)
        rule = self._rule(power, y)
        if rule is None or whole == math.inf or y <= 0:
            return math.inf
        return min([whole, *(rule.log_along(power, path, y, whole) for path in rule.paths(power, y))])

    def about(self, c: float) -> float:
        """See `Transform`."""
        power = self._power(c)
        key = (self._sign(power), _bracket(abs(power), _BEND / self.mu))
        if key not in self._plain:
            self._plain[key] = _Integrand(self.mu, self.rate, key[0]).plain_points(key[1])
        points = self._plain[key]
        if points is None or not points.x.size:
            return math.inf
        heights = power * points.losses
        if float(heights.max()) < _NEAR_ONE:
            found = float((np.exp(points.log_masses) * np.expm1(heights)).sum())
            return math.log1p(found) if found > -1 else -math.inf
        heights = heights + points.log_masses
        top = float(heights.max())
        return top + math.log(float(np.exp(heights - top).sum()))

    def _power(self, c: float) -> float:
        """Re p."""
        return -c if self.back else 1 + c

    def _sign(self, power: float) -> int:
        """The sign of p; p = 0 comes with either."""
        return 1 if power > 0 or (power == 0 and not self.back) else -1

    def _rule(self, power: float, y: float) -> _Rule | None:
        """The rule for p and up to y, computed once for all of about this size."""
        sign, powers = self._sign(power), _bracket(abs(power), _BEND / self.mu)
        last = 2.0 ** (math.ceil(_PER_OCTAVE * math.log2(y)) / _PER_OCTAVE) if y > 0 else 0.0
        return self._rules.get((sign, powers, last), lambda: _Integrand(self.mu, self.rate, sign).rule(powers, last))


class _Bound(NamedTuple):
    """ln of a bound on |f e**(i y' ln w)| for |y'| <= y: steady + |p| power + y turn; shape of the panels."""

    steady: Numbers
    power: Numbers
    turn: Numbers

    def at(self, power: float, y: float) -> Numbers:
        """The bound for these |p| and y."""
        return self.steady + power * self.power + y * self.turn


@dataclass(frozen=True, eq=False)
class _Points:
    """Nodes x of a rule; ln of weight times density; ln w; and the record's share of w."""

    x: Numbers
    log_masses: Numbers
    losses: Numbers
    shares: Numbers


@dataclass(frozen=True)
class _Integrand:
    """f for all p of one sign."""

    mu: float
    rate: SamplingRate
    sign: int

    def loss(self, x: Numbers) -> tuple[Numbers, Numbers]:
        """ln w, and the share r."""
        z = self.mu * x - self.mu * self.mu / 2
        losses = self.rate.subsampled(z)
        return losses, np.exp(self.rate.log_drawn + z - losses)

    def bound(self, left: Numbers, right: Numbers, away: Numbers) -> _Bound:
        """The bound on f e**(i y' ln w) for left <= x <= right and |v| <= away; infinite beyond the zero of w."""
        (low, least), (high, most) = self.loss(left), self.loss(right)
        angle = self.mu * away
        known = angle < _WIDEST_ANGLE
        # beyond pi the argument may be ahead of mu v
        ahead = np.where(known, 0.0, math.pi / 2)
        small = np.minimum(1.0, most / np.maximum(1 - 2 * most, 1e-300))
        turn = np.where(most < 0.5, small, 1.0) * angle + ahead
        steady = np.where(known | (least > _ALONE), 0.0, math.inf)
        steady = steady + _log_density_bound(left, right) + away * away / 2
        if self.sign > 0:
            return _Bound(steady, high, turn)
        near = _log_narrowing(np.clip(0.5, least, most), np.minimum(angle, _WIDEST_ANGLE))
        smaller = np.where(known, near, np.log(np.maximum(2 * least - 1, 1e-300)))
        return _Bound(steady, -low - smaller, turn)

    def window(self, power: float) -> tuple[float, float] | None:
        """The range of integration, up to this |p|; None where that is too long."""
        first = -_REACH if self.sign > 0 else self._left_end(power)
        if first is None:
            return None
        last = max(first + 1.0, _REACH + (power * self.mu if self.sign > 0 else 0.0))
        return (first, last) if last - first < _FARTHEST else None

    def log_tail(self, end: float, power: float, *, above: bool) -> float:
        """ln of a bound on the integral of f beyond one end of the window, for this |p|; infinite where none is known.

        Below, ln f falls at least at the rate of the first value, and that of p mu r with it; above, at x - p mu.
        """
        losses, shares = self.loss(np.array([end]))
        pull = self.sign * power * self.mu
        rate = end - max(0.0, pull) if above else -end + min(0.0, pull) * float(shares[0])
        size = float(_log_density(np.array([end]))[0]) + self.sign * power * float(losses[0])
        return size - math.log(rate) if rate > 0 else math.inf

    def points(self, middles: Numbers, halves: Numbers) -> _Points:
        """The nodes on these panels."""
        x = (middles[:, None] + halves[:, None] * _NODES).ravel()
        logs = (np.log(halves)[:, None] + np.log(_WEIGHTS)).ravel() + _log_density(x)
        return _Points(x, logs, *self.loss(x))

    def rule(self, powers: tuple[float, float], y: float) -> _Rule | None:
        """A rule for |p| between these, |p| = 0 for y = 0, and up to this y; None where it is too long."""
        window = self.window(powers[1])
        if window is None:
            return None
        asked = (0.0, *powers)
        count = min(_MOST_FIRST, max(2, math.ceil((window[1] - window[0]) / _WIDTH)))
        edges = np.linspace(*window, count + 1)
        middles, halves = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
        shortest = _SHORTEST * max(abs(end) for end in window)
        kept: list[tuple[NDArray[Any], ...]] = []
        tops, finished = [0.0] * len(asked), 0
        while middles.size:
            if middles.size + finished > _MOST_PANELS or halves.min() < shortest:
                return None
            density, losses = _log_density(middles), self.loss(middles)[0]
            long, short = halves[:, None] * _LONG, halves[:, None] * _SHORT
            bounds = self.bound(middles[:, None] - long, middles[:, None] + long, short)
            good, none = np.ones(middles.size, dtype=np.bool_), np.ones(middles.size, dtype=np.bool_)
            for i, power in enumerate(asked):
                tops[i] = max(tops[i], float((density + self.sign * power * losses).max()))
                logs = bounds.at(power, y if power else 0.0)
                none &= _log_sizes(logs, halves) <= tops[i] - _DIGITS
                good &= _log_errors(logs, halves) <= tops[i] - _DIGITS
            done = good | none
            kept.append((middles[done], halves[done], ~none[done], *(one[done] for one in bounds)))
            finished += int(np.count_nonzero(done))
            more, half = middles[~done], halves[~done] / 2
            middles, halves = np.concatenate([more - half, more + half]), np.concatenate([half, half])
        centres, widths, counted, *bound = (np.concatenate(one) for one in zip(*kept, strict=True))
        return _Rule(self, window, centres, widths, counted.astype(np.bool_), _Bound(*bound))

    def plain_points(self, powers: tuple[float, float]) -> _Points | None:
        """Nodes on equal panels, without a bound on the error, for |p| between these; None where they are too many."""
        window = self.window(powers[1])
        if window is None:
            return None
        count = max(_PLAIN, math.ceil(window[1] - window[0]))
        half = (window[1] - window[0]) / (2 * count)
        middles = window[0] + half * np.arange(1, 2 * count, 2, dtype=np.float64)
        if count > _PLAIN:
            density, losses = _log_density(middles), self.loss(middles)[0]
            logs = np.array([density + self.sign * power * losses for power in (0.0, *powers)])
            middles = middles[(logs > logs.max(axis=1, keepdims=True) - _DIM).any(axis=0)]
        return self.points(middles, np.full(middles.size, half))

    def _left_end(self, power: float) -> float | None:
        """A value below which ln f falls at a rate of 1 or more, and the rest is negligible, for p < 0."""
        x = -_REACH * 2.0 ** (np.arange(_STEPS) / 4)
        losses, shares = self.loss(x)
        logs = _log_density(x) - power * losses
        rates = -x - power * self.mu * shares  # grows further out
        good = np.flatnonzero((rates >= 1) & (logs <= max(float(logs.max()), 0.0) - _NEGLIGIBLE))
        return float(x[good[0]]) if good.size else None


class _Pieces(NamedTuple):
    """Pieces of x: their ends, ln w and the share there, and ln of bounds on the density's integral."""

    left: Numbers
    right: Numbers
    low: Numbers
    high: Numbers
    low_shares: Numbers
    high_shares: Numbers
    log_most: Numbers
    log_least: Numbers


class _Path(NamedTuple):
    """h at the left and at the right end of each piece of x, linear between them; it never falls with x."""

    low: Numbers
    high: Numbers


@dataclass(frozen=True, eq=False)
class _Rule:
    """A quadrature rule for the integrands of some p.

    middles, halves: the panels, shape (m,), of which those `counted` have nodes.   bounds: on their ellipses, shape (m,
    radii).
    """

    integrand: _Integrand
    window: tuple[float, float]
    middles: Numbers
    halves: Numbers
    counted: NDArray[np.bool_]
    bounds: _Bound

    @cached_property
    def points(self) -> _Points:
        """The nodes."""
        return self.integrand.points(self.middles[self.counted], self.halves[self.counted])

    @cached_property
    def log_flat(self) -> float:
        """ln of a bound on the rule's error for the density alone."""
        return self.log_wrong(0.0, 0.0)

    def log_wrong(self, power: float, y: float) -> float:
        """ln of a bound on the rule's error, tails included, for this |p| and up to this y."""
        logs = self.bounds.at(power, y)
        errors = np.where(self.counted, _log_errors(logs, self.halves), _log_sizes(logs, self.halves))
        tails = (self.integrand.log_tail(end, power, above=bool(i)) for i, end in enumerate(self.window))
        return float(np.logaddexp.reduce([*errors, *tails]))

    def paths(self, power: float, y: float) -> list[_Path]:
        """Paths of x that may bound the decay well: of constant h, and of growing h where w has no zero."""
        mu, points, pieces = self.integrand.mu, self.points, self._pieces
        farthest = min(_RIGHT_ANGLE / mu, _FARTHEST_PATH)
        logs = points.log_masses + power * points.losses
        sizes = np.exp(logs - logs.max())
        gentle = y * mu * float((sizes * points.shares).sum() / sizes.sum())
        shifts = {min(farthest, gentle)}
        if gentle > _PATHS[-1] * farthest:
            shifts |= {share * farthest for share in _PATHS}
        found = [_Path(*[np.full(pieces.left.size, shift)] * 2) for shift in sorted(shifts) if shift > 0]
        if farthest == _FARTHEST_PATH:
            return found
        alone = float(np.min(pieces.left[pieces.low_shares > _ALONE], initial=self.window[1]))
        ends = []
        for x, shares in ((pieces.left, pieces.low_shares), (pieces.right, pieces.high_shares)):
            most = np.where(x > alone, np.minimum(_FARTHEST_PATH, farthest + _RISE * (x - alone)), farthest)
            ends.append(np.minimum(y * mu * shares, most))
        return [*found, _Path(ends[0], np.maximum(*ends))]

    def log_along(self, power: float, path: _Path, y: float, whole: float) -> float:
        """ln of a bound on |M| from y on, by this path.   power: Re p.   whole: ln of an upper bound of M(c)."""
        pieces, mu = self._pieces, self.integrand.mu
        low, high = mu * path.low, mu * path.high
        turn = y * _turned(pieces.low_shares, low)
        steep = (path.high - path.low) / (pieces.right - pieces.left)
        growth = path.high * path.high / 2 + 0.5 * np.log1p(np.square(steep))
        # |w| grows with x up to a right angle; beyond, it is between 2 r - 1 and 1 times its size on the real line
        if power >= 0:
            powers = power * pieces.high + _log_narrowed(pieces.high_shares, low, power)
            narrowed = [_log_narrowed(shares, low, power) for shares in (pieces.low_shares, pieces.high_shares)]
            narrow = np.maximum(*narrowed)
        else:
            powers = power * pieces.low + _log_narrowed(pieces.low_shares, high, power)
            narrow = _log_narrowed(np.clip(0.5, pieces.low_shares, pieces.high_shares), high, power)
        below = self._log_tail(power, float(path.low.min()), above=False)
        outside = float(np.logaddexp(below, self._log_tail(power, float(path.high.max()), above=True)))
        logs = pieces.log_most + growth + powers - turn
        direct = float(np.logaddexp.reduce([outside, *logs]))
        direct += 64 * EPS * (1 + float(np.abs(powers).max()) + abs(direct))
        # the same as a difference from M(c): where it is above that, by the most that f can be there, else by the least
        grown = np.expm1(np.minimum(growth + narrow - turn, _LARGEST_POWER))
        most, least = (pieces.high, pieces.low) if power >= 0 else (pieces.low, pieces.high)
        sizes = np.where(grown > 0, pieces.log_most + power * most, pieces.log_least + power * least)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = grown * np.exp(sizes - whole)
        difference = float(parts.sum()) + 1e-9 * float(np.abs(parts).sum()) + math.exp(min(0.0, outside - whole))
        near = whole + math.log1p(difference) + 4 * EPS * abs(whole) if -1 < difference < 1 else math.inf
        return min(direct, near)

    @cached_property
    def _pieces(self) -> _Pieces:
        middles, halves = self.middles[:, None], self.halves[:, None]
        ends = middles + halves * np.linspace(-1.0, 1.0, _PIECES + 1)
        left, right = ends[:, :-1].ravel(), ends[:, 1:].ravel()
        (low, low_shares), (high, high_shares) = self.integrand.loss(left), self.integrand.loss(right)
        lengths = np.log(right - left)
        most = _log_density_bound(left, right) + lengths
        least = _log_density(np.maximum(np.abs(left), np.abs(right))) + lengths
        return _Pieces(left, right, low, high, low_shares, high_shares, most, least)

    def _log_tail(self, power: float, shift: float, *, above: bool) -> float:
        """ln of a bound on the integral beyond one end of the window, on a path at height `shift`."""
        end = np.array([self.window[above]])
        angle, share = np.array([self.integrand.mu * shift]), self.integrand.loss(end)[1]
        growth = shift * shift / 2
        if power < 0:  # above, |w| is least at the end; below, it is narrowed most there, or where the share is a half
            growth += float(_log_narrowed(share if above else np.minimum(share, 0.5), angle, power)[0])
        return self.integrand.log_tail(float(end[0]), abs(power), above=above) + growth


def _bracket(power: float, apart: float) -> tuple[float, float]:
    """The |p| that share a rule with this one: an octave, or a piece of it no longer than `apart`; 0 has its own."""
    if not power:
        return 0.0, 0.0
    low = 2.0 ** math.floor(math.log2(power))
    pieces = 2.0 ** max(0, math.ceil(math.log2(low / apart)))
    piece = math.floor((power / low - 1) * pieces)
    return low * (1 + piece / pieces), low * (1 + (piece + 1) / pieces)


def _log_errors(logs: Numbers, halves: Numbers) -> Numbers:
    """ln of the error on each panel."""
    return (logs + _LOG_SHARES).min(axis=1) + np.log(halves)


def _log_sizes(logs: Numbers, halves: Numbers) -> Numbers:
    """ln of a bound on the integral over each panel."""
    return logs[:, 0] + np.log(2 * halves)


def _log_density(x: Numbers) -> Numbers:
    return -x * x / 2 - _HALF_LOG_TWO_PI


def _log_density_bound(left: Numbers, right: Numbers) -> Numbers:
    """ln of the largest density for left <= x <= right."""
    return _log_density(np.maximum(0.0, np.maximum(left, -right)))


def _log_narrowing(shares: Numbers, angle: Numbers) -> Numbers:
    """ln of |w(x + i v)|/w(x) for this share and this angle mu v."""
    return 0.5 * np.log1p(-4 * shares * (1 - shares) * np.square(np.sin(angle / 2)))


def _log_narrowed(shares: Numbers, angle: Numbers, power: float) -> Numbers:
    """ln of a bound on (|w(x + i v)|/w(x))**p, for this share and this angle, which is at most pi/2 for r < 0.51."""
    near = _log_narrowing(shares, np.minimum(angle, math.pi / 2))
    if power >= 0:
        return power * np.where(angle <= math.pi / 2, near, 0.0)
    return power * np.where(angle <= math.pi / 2, near, np.log(np.maximum(2 * shares - 1, 2 * _ALONE - 1)))


def _turned(shares: Numbers, angle: Numbers) -> Numbers:
    """A lower bound of arg w(x + i v), likewise: exact up to pi/2."""
    near = np.minimum(angle, math.pi / 2)
    found = np.arctan2(shares * np.sin(near), 1 - shares * (1 - np.cos(near)))
    beyond = angle - np.arcsin(np.minimum(1.0, 1 / np.maximum(shares, 0.5) - 1))
    return np.where(angle <= math.pi / 2, found, np.maximum(found, beyond))


def _turned_sums(weights: Numbers, x: Numbers, y: Numbers) -> NDArray[np.complex128]:
    """The sum over x of weight (e**(i y x) - 1) for each y, right to some 10 eps (1 + |y x|) of each |e**(i y x) - 1|.

    Of evenly spaced y = (m a + b) h with a, b < m the term is u v + u + v for u = e**(i h m a x) - 1 and
    v = e**(i h b x) - 1: the sums are products of matrices, whose terms near 0 keep their digits.

    weights, x: shape (n,).   y: 0, h, 2 h, ..., or any few numbers, shape (m,).
    """
    if y.size < _FEW or not np.array_equal(y, y[1] * np.arange(y.size, dtype=np.float64)):
        rows = max(1, _AT_ONCE // max(1, x.size))
        parts = [weights * _waves(np.multiply.outer(y[i : i + rows], x)) for i in range(0, y.size, rows)]
        return np.concatenate([part.sum(axis=1) for part in parts])
    side = math.isqrt(y.size - 1) + 1
    found = np.zeros((side, side), dtype=np.complex128)
    near, far = y[:side], y[1] * side * np.arange(side, dtype=np.float64)
    for first in range(0, x.size, _TOGETHER):
        some, weight = x[first : first + _TOGETHER], weights[first : first + _TOGETHER, None]
        fine = _waves(np.multiply.outer(some, near))
        coarse = weight * _waves(np.multiply.outer(some, far))
        found += coarse.T @ fine + coarse.sum(axis=0)[:, None] + (weight * fine).sum(axis=0)
    return found.ravel()[: y.size]


def _waves(angles: Numbers) -> NDArray[np.complex128]:
    """e**(i angle) - 1."""
    found = np.empty(angles.shape, dtype=np.complex128)
    half = np.sin(angles / 2)
    found.real = -2 * half * half
    found.imag = 2 * half * np.cos(angles / 2)
    return found
