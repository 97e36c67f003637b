r"""How large M of Laplace noise on a sample can be far out: by how far it lies below M(c).

With u = ln w(z) for z between -t and t, du = r dz, the continuous part of M(c + i x) beyond a value v is the integral
of g(u) e**(+-i x u) du from u(v) on, g = f/r. As ln g has the slope -3/2 + (Re p + 1) r in z, and r grows, g either
rises, falls, or falls and then rises; so integrated by parts that is at most

    2/x times the larger of g(v) and g(t), or 2/x times their sum if g is least between them.

And of all losses within R nats, of mass N and variance V under the weights f/N, the part of M(c + i x) is at most

    N (1 - 4 V (x/pi)**2)**(1/2)   for x <= pi/R   (`moved_line`).

So at any x values are cut into windows of pi/x nats, told by their variances, and those beyond some value by parts.
That holds for any masses no larger than the true ones, which are taken from pieces of z: for Re p >= 0 ln f is convex,
and a piece has at least its length times f in its middle; else it is concave, and a piece has at least its length times
the geometric mean of f at its ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.on_laplace_sample import OnLaplaceSample
from ldp_audit.accounting.contour.transform import EPS
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate

Numbers = NDArray[np.float64]

_COARSE, _FINE, _AROUND = 257, 257, 30.0
"""Ends of pieces: between the two single values, and this near to them and to the value with the share 1/2."""
_HEIGHTS, _OCTAVES = 100, 2
"""How many x there are, and how many of them between x and 2 x."""
_MOST_WINDOWS = 2**13
_SLACK, _CANCELLED = 1e-6, 1e-9
_LARGEST = 1e7
"""|p ln w| up to which the masses have the digits needed."""


class _Masses(NamedTuple):
    """In units of M(c): at least what the two single values have, and between them each piece, shape (n + 2,).

    above: at least what is between each piece's end and the upper single value, shape (n + 1,).
    parts: x times the most that this may be at x, likewise.
    """

    counts: Numbers
    above: Numbers
    parts: Numbers


@dataclass(frozen=True, eq=False)
class LaplaceFall:
    """Bounds on M far out.   epsilon: t, of the noise.   rate: with 0 < q < 1."""

    epsilon: float
    rate: SamplingRate
    _kept: dict[tuple[float, float], tuple[_Masses, Numbers] | None] = field(
        default_factory=dict, init=False, repr=False
    )

    _most: dict[float, tuple[Numbers, Numbers, float]] = field(default_factory=dict, init=False, repr=False)

    def log_beyond(self, power: float, y: float, whole: float) -> float:
        """ln of a bound on |M(c + i x)| for all x >= y > 0.   power: Re p.   whole: ln of an upper bound of M(c)."""
        key = (power, whole)
        if key not in self._kept:
            self._kept.clear()
            masses = self._masses(power, whole)
            self._kept[key] = None if masses is None else (masses, self._drops(masses))
        found = self._kept[key]
        if found is None:
            return whole
        masses, drops = found
        if y < self._heights[0]:
            together = np.zeros(masses.counts.size, dtype=np.intp)
            drop = min(float(self._fallen(masses.counts, together, y)[0]), float(drops[0]))
        else:
            drop = float(drops[np.searchsorted(self._heights, y, side="right") - 1])
        return whole + math.log1p(-min(drop * (1 - _SLACK), 1 - 1e-12)) + 4 * EPS * abs(whole)

    def log_between(self, power: float, y: float) -> float:
        """ln of a bound on what those between the two single values add to M(c + i x), for all x >= y > 0."""
        if power not in self._most:
            self._most.clear()
            self._most[power] = self._upper(power)
        below, parts, top = self._most[power]
        with np.errstate(over="ignore"):
            return top + math.log(float((below + parts / y).min()) * (1 + _SLACK))

    def _upper(self, power: float) -> tuple[Numbers, Numbers, float]:
        """The most that is below each piece's end, x times the most that is beyond it, and ln of their unit."""
        edges, (losses, shares) = self._edges, self._told
        logs = self._integrands.log_weight(edges) + power * losses
        top = float(logs.max())
        sizes = np.exp(logs - top)
        # ln f is convex for Re p >= 0, and below its chord; else f falls
        pieces = np.diff(edges) * ((sizes[1:] + sizes[:-1]) / 2 if power >= 0 else sizes[:-1])
        return np.append(0.0, np.cumsum(pieces)), _parts(logs - top, shares, power), top

    def _drops(self, masses: _Masses) -> Numbers:
        """By how much M is at least smaller than M(c) from each of the heights on."""
        x = self._heights
        with np.errstate(over="ignore", invalid="ignore"):
            parts = masses.parts / x[:, None]
            far = masses.above - parts - _CANCELLED * (masses.above + parts)
        best = np.maximum.accumulate(np.maximum(0.0, np.nan_to_num(far))[:, ::-1], axis=1)[:, ::-1]
        found = best[:, 0].copy()
        for k in reversed(range(x.size - 1)):
            found[k] = max(found[k], min(self._drop_at(masses, best[k], x[k]), found[k + 1]))
        return found

    def _drop_at(self, masses: _Masses, best: Numbers, x: float) -> float:
        """The same from x up to the next height.   best: of what lies beyond each end of a piece, by parts."""
        low, high = self._losses
        width, reach = math.pi / (x * 2 ** (1 / _OCTAVES)), float(high[-1])
        ways = [np.where(high <= width, 0, -1)]
        if reach < _MOST_WINDOWS * width:
            from_above = _windows(reach - high, reach - low, width)
            last = int(from_above.max(initial=0))
            ways += [_windows(low, high, width), np.where(from_above >= 0, last - from_above, -1)]
        found = float(best[0])
        for places in ways:
            drops = np.cumsum(self._fallen(masses.counts, places, x))
            ends = np.zeros(drops.size, dtype=np.intp)
            kept = np.flatnonzero(places >= 0)
            ends[places[kept]] = kept  # the last one counts
            ends = np.minimum(np.maximum.accumulate(ends), best.size - 1)
            found = max(found, float((drops + best[ends]).max(initial=0.0)))
        return found

    def _fallen(self, counts: Numbers, places: NDArray[np.intp], x: float) -> Numbers:
        """By how much M is at least smaller at x for each window.   places: of each piece, -1 if it is in none."""
        low, high = self._losses
        kept = places >= 0
        place, count, middle = places[kept], counts[kept], (low[kept] + high[kept]) / 2
        masses = np.bincount(place, count)
        safe = np.maximum(masses, 1e-300)
        means = np.bincount(place, count * middle) / safe
        spread = np.bincount(place, count * np.square(middle - means[place]))
        # a loss lies anywhere in its piece: deviations differ by the root mean square of how far that may be
        away = np.bincount(place, count * np.square((high[kept] - low[kept]) / 2))
        deviation = np.maximum(0.0, np.sqrt(spread) - np.sqrt(away))
        turned = np.minimum(1.0, np.square(2 * x / math.pi * deviation) / safe)
        return masses * turned / (1 + np.sqrt(1 - turned))

    @cached_property
    def _integrands(self) -> OnLaplaceSample:
        return OnLaplaceSample(self.epsilon, self.rate, 1)

    @cached_property
    def _edges(self) -> Numbers:
        """Ends of pieces, ascending, shape (n + 1,)."""
        top, half = self.epsilon, self.rate.log_left_out - self.rate.log_drawn
        fine = np.linspace(-_AROUND, _AROUND, _FINE)
        edges = np.concatenate([np.linspace(-top, top, _COARSE), half + fine, top + fine, -top + fine])
        return np.unique(np.clip(edges, -top, top))

    @cached_property
    def _told(self) -> tuple[Numbers, Numbers]:
        """ln w and the share at the pieces' ends."""
        return self._integrands.told(self._edges)

    @cached_property
    def _losses(self) -> tuple[Numbers, Numbers]:
        """Between which losses the lower single value lies, each piece, and the upper one, from the least loss on."""
        losses = self._told[0] - self._told[0][0]
        return np.append(0.0, np.append(losses[:-1], losses[-1])), np.append(0.0, np.append(losses[1:], losses[-1]))

    @cached_property
    def _heights(self) -> Numbers:
        """The x, ascending; up to the first, all losses are in one window."""
        return math.pi / float(self._losses[1][-1]) * (1 - 1e-9) * 2.0 ** (np.arange(_HEIGHTS) / _OCTAVES)

    def _masses(self, power: float, whole: float) -> _Masses | None:
        """The masses for this p; None where they lack the digits."""
        edges, (losses, shares) = self._edges, self._told
        if float(np.abs(power * losses).max()) > _LARGEST or not losses[-1] > losses[0]:
            return None
        logs = self._integrands.log_weight(edges) + power * losses - whole
        inner = (logs[1:] + logs[:-1]) / 2
        if power >= 0:
            middles = (edges[1:] + edges[:-1]) / 2
            inner = self._integrands.log_weight(middles) + power * self._integrands.told(middles)[0] - whole
        pieces = np.diff(edges) * np.exp(inner)
        first = math.exp(-math.log(2) + power * float(losses[0]) - whole)
        last = math.exp(-self.epsilon - math.log(2) + power * float(losses[-1]) - whole)
        above = np.append(np.cumsum(pieces[::-1])[::-1], 0.0)
        return _Masses(np.concatenate([[first], pieces, [last]]), above, _parts(logs, shares, power))


def _windows(low: Numbers, high: Numbers, width: float) -> NDArray[np.intp]:
    """In which window, counted from 0 on, each piece lies; -1 if that is more than one."""
    first, last = np.floor(low / width), np.floor(high / width)
    return np.where(first == last, first, -1).astype(np.intp)


def _parts(logs: Numbers, shares: Numbers, power: float) -> Numbers:
    """2 g(v), 2 g(t) or their sum for each end v."""
    slopes = -1.5 + (power + 1) * shares
    rising, falling = slopes >= _CANCELLED, slopes[-1] <= -_CANCELLED
    with np.errstate(over="ignore", divide="ignore"):
        g = np.exp(logs - np.log(shares))
        return 2 * np.where(rising, g[-1], np.where(falling, g, g + g[-1]))
