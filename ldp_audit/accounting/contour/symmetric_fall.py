r"""How large M of a symmetric loss of Gaussian noise on a sample can be far out.

Its losses above 0 have the density h(u) = phi w/(mu r) at u = ln w, and those below h(u) e**-u at -u. With s = c + i x

    A = M - M's limit = integral over u > 0 of h_p(u) e**(i x u) + h_p'(u) e**(-i x u),   p = 1 + c, p' = -c,

where h_p = phi w**p/(mu r). Both start with the same value at u = 0, so integrated by parts twice that is at most

    (3 phi(mu/2) (1 - q)/(mu q**2) + the integrals of the sizes of both second derivatives)/x**2,

with the second derivative h_p/(mu r)**2 (((1 + p) mu r - x - mu)**2 + mu (x + mu) (1 - r) - 1) at the noisy value x,
and two terms more for the weight W of a part. Near y = 0 windows of losses tell how far M lies below M(c) by their
variances, as in `laplace_fall`: from masses no larger than the true ones, by Jensen's inequality on pieces of x, as
ln w is convex.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.half_sample import HalfSample
from ldp_audit.accounting.contour.on_sample import OnSample, log_density
from ldp_audit.accounting.contour.transform import EPS

Numbers = NDArray[np.float64]

_PIECES, _AROUND, _FINE = 600, 8.0, 160
_BLURS = 12.0
_OCTAVES, _FIRST, _LAST, _MOST_WINDOWS = 2, -60, 90, 2**13
_SLACK, _DIGITS = 1e-6, 1e8
"""What is left for rounding, and the |p ln w| up to which that will do."""
_LARGEST = 600.0


@dataclass(frozen=True, eq=False)
class _Told:
    """What is known for one c, in units of M(c): bounds of A x**2, of A x, and of A; heights, and drops from each."""

    square: float
    linear: float
    left: float
    heights: Numbers
    drops: Numbers


@dataclass(frozen=True, eq=False)
class SymmetricFall:
    """Bounds on M far out.

    upper: of the losses above 0.   lower: of those below.   log_zero: ln of the probability of the loss 0.
    """

    upper: HalfSample
    lower: HalfSample
    log_zero: float
    _kept: dict[tuple[float, float], _Told | None] = field(default_factory=dict, init=False, repr=False)

    def log_rest(self, c: float, y: float, whole: float) -> float:
        """ln of a bound on |A(c + i x)| for all x >= y.   whole: any number near ln M(c)."""
        told = self._told(c, whole)
        if told is None:
            return math.inf
        with np.errstate(over="ignore"):
            found = told.square / y / y + told.linear / y + told.left
        return whole + math.log(found * (1 + _SLACK)) + 8 * EPS * abs(whole) if 0 < found < math.inf else math.inf

    def log_near(self, c: float, y: float, whole: float) -> float:
        """ln of a bound on |M(c + i x)| for all x >= y, by how far it lies below M(c)."""
        told = self._told(c, whole)
        if told is None or y < told.heights[0]:
            return whole
        drop = float(told.drops[np.searchsorted(told.heights, y, side="right") - 1])
        return whole + math.log1p(-min(drop * (1 - _SLACK), 1 - 1e-12)) + 4 * EPS * abs(whole)

    def _told(self, c: float, whole: float) -> _Told | None:
        key = (c, whole)
        if key not in self._kept:
            if len(self._kept) > 8:
                self._kept.clear()
            self._kept[key] = self._made(c, whole)
        return self._kept[key]

    def _made(self, c: float, whole: float) -> _Told | None:
        up, down = _side(self.upper, 1 + c, whole), _side(self.lower, -c, whole)
        if up is None or down is None:
            return None
        mu, rate = self.upper.mu, self.upper.rate
        start = float(log_density(np.array([mu / 2]))[0]) - whole - math.log(mu) - rate.log_drawn
        kink = math.exp(min(_LARGEST, start + math.log(3) + rate.log_left_out - rate.log_drawn))
        # a weight W at the sharp end lacks so much of 1, and has so large a slope
        linear = up.linear + down.linear + math.exp(min(_LARGEST, start)) * up.lack
        steep = up.slope + up.lack * ((2 + abs(c)) * mu * rate.drawn + 1.5 * mu)
        square = kink + up.square + down.square + math.exp(min(_LARGEST, start - math.log(mu) - rate.log_drawn)) * steep
        left = up.left + down.left
        if not all(map(math.isfinite, (square, linear, left))):
            return None
        zero = math.exp(min(0.0, self.log_zero - whole))
        counts = np.concatenate([[zero], up.counts, down.counts])
        low = np.concatenate([[0.0], up.low, -down.high])
        high = np.concatenate([[0.0], up.high, -down.low])

        def far(x: Numbers) -> Numbers:
            return np.maximum(1 - zero - square / x / x - linear / x - left, up.fallen(x))

        heights, drops = _drops(counts, low, high, far)
        return _Told(square, linear, left, heights, drops)


@dataclass(frozen=True, eq=False)
class _Side:
    """One side's pieces: at least their masses, between which losses they lie; and its bounds for two integrations.

    bends: the most that the integral of the second derivative's size may be from each edge on, shape (n + 1,).
    values, slopes: the density of the losses and its derivative at each edge, at most, likewise.
    left: what is beyond the last edge.   lack, slope: of the weight at the sharp end.
    """

    counts: Numbers
    low: Numbers
    high: Numbers
    bends: Numbers
    values: Numbers
    slopes: Numbers
    left: float
    lack: float
    slope: float

    @property
    def square(self) -> float:
        """What comes with 1/x**2, but for the sharp end."""
        return float(self.bends[0] + self.slopes[-1])

    @property
    def linear(self) -> float:
        """What comes with 1/x, likewise."""
        return float(self.values[-1])

    def fallen(self, x: Numbers) -> Numbers:
        """By how much all together add less at each x and beyond than at 0, by those alone above the best of edges."""
        masses = np.append(np.cumsum(self.counts[::-1])[::-1], 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            linear, square = self.values + self.values[-1], self.slopes + self.slopes[-1] + self.bends
            found = masses - linear / x[:, None] - square / np.square(x)[:, None]
        return np.nan_to_num(found, nan=0.0, neginf=0.0).max(axis=1)


def _side(half: HalfSample, power: float, whole: float) -> _Side | None:
    """What is known of one side for this p, in units of e**whole."""
    window = half.window(power)
    if window is None or abs(power) * half.losses(window.last) > _DIGITS:
        return None
    mu, part = half.mu, half.part
    on = OnSample(mu, half.rate, part, 1)
    edges = _edges(half, window.first, window.last)
    left, right = edges[:-1], edges[1:]
    middles, halves = (left + right) / 2, (right - left) / 2
    losses, shares = on.told(edges)
    middle_losses, middle_shares = on.told(middles)
    (low, high), (least, most) = (losses[:-1], losses[1:]), (shares[:-1], shares[1:])
    # ln of the density and of w**p lies below a straight line on each piece, and on average above a number
    if power >= 0:
        above, slope = power * (low + high) / 2, power * (high - low) / (2 * halves)
        below = power * middle_losses
    else:
        above, slope = power * middle_losses, power * mu * middle_shares
        below = power * (low + high) / 2
    logs = log_density(middles)
    slope = np.abs(slope - middles) * halves
    grown = np.where(slope < 1, slope * slope / 6 * 1.1, slope)  # ln(sinh t/t) is below both
    size = np.exp(np.minimum(_LARGEST, logs + above + grown - whole)) * 2 * halves
    weight = part.weights(edges)
    counts = np.exp(np.minimum(_LARGEST, logs - halves * halves / 6 + below - whole)) * 2 * halves * weight[1:]
    # (1 + p) mu r - x - mu
    at = (1 + power) * mu * np.stack([least, most]) - right - mu, (1 + power) * mu * np.stack([least, most]) - left - mu
    bend = np.max(np.abs(np.stack([*at[0], *at[1]])), axis=0)
    ends = mu * np.stack([(left + mu) * (1 - most), (right + mu) * (1 - least)]) - 1
    terms = (bend * bend + np.abs(ends).max(axis=0)) * weight[:-1]
    if not part.whole:
        distance = (edges - part.high) / part.blur
        near = np.where(distance[:-1] * distance[1:] <= 0, 0.0, np.minimum(np.abs(distance[:-1]), np.abs(distance[1:])))
        first = np.exp(log_density(near)) / part.blur
        second = first * np.maximum(np.abs(distance[:-1]), np.abs(distance[1:])) / part.blur
        terms = terms + (2 * bend + mu) * first + second
    slopes = (1 + power) * mu * shares - edges - mu
    steep = np.abs(slopes) * weight
    if not part.whole:
        steep = steep + np.exp(log_density((edges - part.high) / part.blur)) / part.blur
    values = np.exp(np.minimum(_LARGEST, log_density(edges) + power * losses - whole)) / (mu * shares)
    with np.errstate(over="ignore"):
        bends = np.append(np.cumsum((size * terms / np.square(mu * least))[::-1])[::-1], 0.0)
    tail = math.exp(min(_LARGEST, half.tail(window.last, power) - whole)) if window.open_above else 0.0
    lack, gradient = 0.0, 0.0
    if not part.whole:
        away = (part.high - window.first) / part.blur
        lack, gradient = math.erfc(away / math.sqrt(2)) / 2, math.exp(-away * away / 2) / part.blur
    steep = values * steep / (mu * shares)
    return _Side(counts, low, high, bends, values * weight, steep, tail, lack, gradient)


def _edges(half: HalfSample, first: float, last: float) -> Numbers:
    """Ends of pieces, ascending."""
    found = [np.linspace(first, last, _PIECES + 1), first + np.linspace(0.0, _AROUND, _FINE)]
    equal = (half.rate.log_left_out - half.rate.log_drawn) / half.mu + half.mu / 2
    found.append(equal + np.linspace(-_AROUND, _AROUND, _FINE) * min(1.0, 2 / half.mu))
    if not half.part.whole:
        found.append(half.part.high + half.part.blur * np.linspace(-_BLURS, _BLURS, _FINE))
    return np.unique(np.clip(np.concatenate(found), first, last))


def _drops(counts: Numbers, low: Numbers, high: Numbers, far: Callable[[Numbers], Numbers]) -> tuple[Numbers, Numbers]:
    """Heights, and by how much M is at least below M(c) from each of them on.

    counts, low, high: masses in units of M(c), and between which losses each lies.   far: a lower bound that grows.
    """
    reach = float(high.max() - low.min())
    heights = math.pi / reach * (1 - 1e-9) * 2.0 ** (np.arange(_FIRST, _LAST) / _OCTAVES)
    found = far(heights)
    for k in reversed(range(heights.size - 1)):
        found[k] = max(found[k], min(_drop_at(counts, low, high, float(heights[k])), found[k + 1]))
    return heights, np.maximum(found, 0.0)


def _drop_at(counts: Numbers, low: Numbers, high: Numbers, x: float) -> float:
    """The same from x up to the next height, by windows of losses."""
    width, reach = math.pi / (x * 2 ** (1 / _OCTAVES)), float(high.max() - low.min())
    if reach <= width:
        return _fallen(counts, low, high, np.zeros(counts.size, dtype=np.intp), x)
    if reach > _MOST_WINDOWS * width:
        return 0.0
    found, start = 0.0, float(low.min())
    for shift in (0.0, 0.5):
        first = math.floor(start / width + shift)
        places, last = np.floor(low / width + shift), np.floor(high / width + shift)
        kept = places == last
        inner = (places[kept] - first).astype(np.intp)
        found = max(found, _fallen(counts[kept], low[kept], high[kept], inner, x))
    return found


def _fallen(counts: Numbers, low: Numbers, high: Numbers, places: NDArray[np.intp], x: float) -> float:
    """By how much the masses in these windows, each no wider than pi/x, add less at x than at 0."""
    middle = (low + high) / 2
    masses = np.bincount(places, counts)
    safe = np.maximum(masses, 1e-300)
    means = np.bincount(places, counts * middle) / safe
    spread = np.bincount(places, counts * np.square(middle - means[places]))
    # a loss lies anywhere in its piece: deviations differ by the root mean square of how far that may be
    away = np.bincount(places, counts * np.square((high - low) / 2))
    deviation = np.maximum(0.0, np.sqrt(spread) - np.sqrt(away))
    turned = np.minimum(1.0, np.square(2 * x / math.pi * deviation) / safe)
    return float((masses * turned / (1 + np.sqrt(1 - turned))).sum())
