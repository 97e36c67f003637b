"""The loss of a record that takes part in exactly one of t steps, chosen uniformly and in secret.

For a step's pair (P, Q), P with the record, the pair of all steps is (mean over i of P at step i and Q elsewhere, Q at
every step). It dominates every adaptive sequence of steps that (P, Q) dominates: a pair that dominates another is
mapped to it by a random map (Blackwell), here one that may depend on the reports before, and these maps, step by step,
take the pair above to that of the sequence, whichever step i is. Sources: Chua et al., "Balls-and-bins sampling for
DP-SGD" (2024); Feldman, Shenfeld, "Privacy amplification by random allocation" (2025).

With R the likelihood ratio e**L of a step under Q, its likelihood ratio is S = (R_1 + ... + R_t)/t, of independent
copies, and with the mass p at infinity

    delta(epsilon) = E_Q[(S - e**epsilon)_+] + p,

the mean of a convex function of S. So a law above that of S in convex order gives a loss that dominates, one below it a
loss that is dominated, and both orders are kept by sums of independent numbers.

Above. Every number is spread to the two ends of its cell of a grid, its mean kept: R (of a cell, whose mean is P's mass
over Q's), and each partial sum. Below. Let S' be the number of the grid and S the true one: S' is random given S, so
E[S | S'] is below S in convex order, whatever the spreading. Both laws have the same masses of Q, and the second also
E[S - S'; S' = g] for every point g, which adds up as the masses do. Their distance is of second order in the cells.

The grid is that of floating-point numbers, j 2**e/M for M <= |j| < 2 M: cells are a share of 1/M or less of their
distance from the centre, 0 or, where S is nearly 1, 1. The sum of a number in the octave e and of one in no higher
octave is computed on the spacing 2**e/M, where all masses are added and multiplied, and none subtracted. So they are
right to as many digits at 1e-200 as at 0.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import atoms_of
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.hulls import cells_bound
from ldp_audit.losses.loss import EPS, KnownLoss, PairLoss, log_sum

Numbers = NDArray[np.float64]

MOST_STEPS = 10**6
_CELLS = 128
"""M, the cells of an octave."""
_DEEPEST, _FARTHEST = -690.0, 416.0
"""ln of Q's mass beyond the grid at either end, or where that is nearer the largest |L| there: all products of masses
and ratios that count are floats."""
_CENTRED, _INNER = 0.05, 5
"""A variance of S below which the grid is centred at 1; and the octaves between a deviation of R there and its evenly
spaced cells."""
_NEARLY_NONE = 1e-4
"""On a centred grid, an S so small that it has lost digits."""
_LEAST = 1e-150
"""A distance of R from 1 that no grid has cells for."""
_ROUNDING = 1e-12
"""Nats, added to the ends of L."""
_USELESS = -40.0
"""ln of P's mass above the grid from which on the loss of the step itself is the upper bound."""


def allocated(loss: PairLoss, steps: int) -> PairLoss:
    """Bounds on the loss of (mean of P at one step and Q at the others, Q at all) from the loss of (P, Q).

    steps: 1 .. `MOST_STEPS`; of one step the loss itself.
    """
    if steps == 1 or loss.supremum() <= 0:
        return loss
    bases = [cells_bound(loss, end) for end in (0, 1)]
    found = [_mean_ratio(base, steps) for base in (bases[:1] if bases[0] is bases[1] else bases)]
    upper = found[-1][1]
    return EnclosedLoss(found[0][0], loss if upper is None else upper)  # that of (P, Q) shows which step it is


def _mean_ratio(base: KnownLoss, steps: int) -> tuple[KnownLoss, KnownLoss | None]:
    """The losses below and above; None above where too much of P lies beyond the grid."""
    low, high = (_reach(base, sign) for sign in (-1, 1))
    edges = np.linspace(low, high, 4 * _CELLS)
    cells, apart = base.masses(edges), np.log(np.abs(np.expm1(np.append(edges, high))) + _LEAST)
    variance = math.exp(np.logaddexp(log_sum(cells.second + 2 * apart), cells.missing))  # about E[(R - 1)**2]
    centre = 1.0 if variance < _CENTRED * steps else 0.0
    start = math.floor(math.log2(variance) / 2 - _INNER if centre else low / math.log(2))
    octaves = max(math.ceil(high / math.log(2)), start + 1, int(centre)) - start + steps.bit_length() + 1
    grid = _Grid(start, octaves, centre)
    ratio = grid.ratio(base, high)
    total = ratio.law
    for bit in f"{steps:b}"[1:]:
        total = grid.added(total, total)
        if bit == "1":
            total = grid.added(total, ratio.law)
    least, most = (way.supremum() + _ROUNDING for way in (base.reversed(), base))
    most = math.exp(most) if most < _FARTHEST else math.inf
    return grid.losses(ratio._replace(law=total), steps, (math.exp(-least), most))


def _reach(base: KnownLoss, sign: int) -> float:
    """A loss beyond which Q has no more than e**`_DEEPEST`, on the side of this sign; at most `_FARTHEST` from 0."""
    near, far = 0.0, sign * _FARTHEST
    while abs(far - near) > 0.01 * abs(far):
        middle = (near + far) / 2
        outside = float(base.masses(np.array([middle])).second[0 if sign < 0 else 1])
        near, far = (near, middle) if outside < _DEEPEST else (middle, far)
    return far


class _Ratio(NamedTuple):
    """A law on the grid, see `_Grid`, and ln of P's mass where Q has none, and where the grid has no points."""

    law: Numbers
    log_infinite: float
    log_cut: float


@dataclass(frozen=True)
class _Grid:
    """Numbers less the centre, on the floating-point grid.

    start: the octave of the evenly spaced cells around 0.   octaves: how many there are.   centre: 0 or 1.
    A law has shape (2, octaves, 4 M + 1): at [:, e, j + 2 M] Q's mass at the number x = j 2**(start + e)/M, for
    M <= |j| <= 2 M, and of the first octave for all |j| <= 2 M; and the mean of the true number less x there, times the
    mass.
    """

    start: int
    octaves: int
    centre: float

    def spacing(self, octave: int) -> float:
        """The distance of two numbers of an octave."""
        return math.ldexp(1.0, self.start + octave) / _CELLS

    def numbers(self) -> Numbers:
        """All numbers x, shape (octaves, 4 M + 1); of octaves but the first those below M count for nothing."""
        spacings = [self.spacing(octave) for octave in range(self.octaves)]
        return np.multiply.outer(np.array(spacings), np.arange(-2 * _CELLS, 2 * _CELLS + 1.0))

    def ratio(self, base: KnownLoss, high: float) -> _Ratio:
        """The law of e**L under Q.   high: nats, where the grid ends."""
        x = self.numbers()
        used = np.abs(np.arange(-2 * _CELLS, 2 * _CELLS + 1)) >= _CELLS
        used = (used | (np.arange(self.octaves)[:, None] == 0)) & (x + self.centre >= 0)
        places = np.flatnonzero(used)
        points, first = np.unique(x.ravel()[places], return_index=True)
        places = places[first]
        with np.errstate(divide="ignore"):
            edges = np.log1p(points) if self.centre else np.log(points)
        last = int(np.searchsorted(edges, high)) + 1
        points, places, edges = points[:last], places[:last], edges[1:last]
        cells = base.masses(edges)
        second = np.exp(cells.second)
        moment = np.exp(cells.first) - self.centre * second  # E[R - centre] of each cell
        width = np.diff(points)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(np.where(second[:-1] > 0, (moment / second)[:-1] - points[:-1], 0.0) / width, 0.0, 1.0)
        masses, moments = np.zeros(points.size), np.zeros(points.size)
        masses[:-1] += second[:-1] * (1 - share)
        masses[1:] += second[:-1] * share
        spread = second[:-1] * share * (1 - share) * width
        moments[:-1] += spread
        moments[1:] -= spread
        masses[0] += math.exp(cells.missing)
        masses[-1] += second[-1]
        above = max(0.0, float(moment[-1] - points[-1] * second[-1]))
        moments[-1] += above
        law = np.zeros((2, x.size))
        law[:, places] = masses, moments
        cut = float(np.logaddexp(cells.infinite, math.log(above) if above else -math.inf))
        return _Ratio(law.reshape(2, *x.shape), cells.infinite, cut)

    def added(self, one: Numbers, two: Numbers) -> Numbers:
        """The law of the sum of two independent numbers."""
        middle, wide = 2 * _CELLS, 4 * _CELLS
        sums = np.zeros((2, self.octaves, 2 * wide + 1))
        below = [np.zeros((2, wide + 1)) for _ in (one, two)]
        for octave in range(self.octaves):
            shells = one[:, octave], two[:, octave]
            upto = [inner + shell for inner, shell in zip(below, shells, strict=True)]
            sums[:, octave] = _convolved(shells[0], upto[1]) + _convolved(below[0], shells[1])
            spacing = self.spacing(octave)
            for inner, law in zip(below, upto, strict=True):
                inner[:] = 0.0
                inner[:, middle - _CELLS : middle + _CELLS + 1] = _halved(law, spacing)
        found = np.zeros_like(one)
        carried = np.zeros((2, 2 * _CELLS - 1))
        for octave in reversed(range(self.octaves)):
            whole = sums[:, octave]
            whole[:, wide - 2 * _CELLS + 2 : wide + 2 * _CELLS - 1 : 2] += carried
            inside = slice(wide - _CELLS + 1, wide + _CELLS)
            carried = whole[:, inside].copy()
            if octave:
                whole[:, inside] = 0.0
            found[:, octave] += whole[:, wide - middle : wide + middle + 1]
            whole[:, wide - middle : wide + middle + 1] = 0.0
            if octave + 1 < self.octaves:
                found[:, octave + 1] += _halved(whole, self.spacing(octave))
        return found

    def losses(self, ratio: _Ratio, steps: int, ends: tuple[float, float]) -> tuple[KnownLoss, KnownLoss | None]:
        """The losses below and above of this sum's mean.   ends: the least and the largest R."""
        masses, moments = ratio.law
        kept = masses > 0
        x, masses, moments = self.numbers()[kept], masses[kept], moments[kept]
        above = np.maximum(0.0, x / steps + self.centre)
        below = np.maximum(0.0, (x + moments / masses) / steps + self.centre)
        # a mass is a sum of products of masses of R, each right to EPS (4 + 2 |ln mass|), and of so many terms
        error = EPS * (steps * (4 - 2 * _DEEPEST) + 8 * _CELLS * self.octaves * steps.bit_length())
        if self.centre:
            few = [float(masses[values < _NEARLY_NONE].sum()) for values in (above, below)]
            above = np.where(above < _NEARLY_NONE, 0.0, above)
            below = np.maximum(below, _NEARLY_NONE)
            error += EPS / _NEARLY_NONE + sum(few) * _NEARLY_NONE
        lower = _loss(below, masses, ratio.log_infinite, error)
        if ratio.log_cut > max(_USELESS, ratio.log_infinite + EPS):
            return lower, None
        above, masses = _within(*_within(above, masses, ends[1]), ends[0])
        return lower, _loss(above, masses, ratio.log_cut, error)


def _convolved(one: Numbers, two: Numbers) -> Numbers:
    """The law of the sum of two independent numbers on grids of one spacing."""
    found = np.zeros((2, one.shape[1] + two.shape[1] - 1))
    places = [np.flatnonzero(law[0]) for law in (one, two)]
    if all(place.size for place in places):
        one, two = (law[:, place[0] : place[-1] + 1] for law, place in zip((one, two), places, strict=True))
        into = found[:, places[0][0] + places[1][0] : places[0][-1] + places[1][-1] + 1]
        into[0] = np.convolve(one[0], two[0])
        into[1] = np.convolve(one[0], two[1]) + np.convolve(one[1], two[0])
    return found


def _halved(law: Numbers, spacing: float) -> Numbers:
    """The law with the odd places, of 4 n + 1 around 0, spread to their neighbours.   spacing: of the places."""
    found = law[:, ::2].copy()
    masses, moments = law[:, 1::2] / 2
    found[:, 1:] += masses, moments - spacing * masses
    found[:, :-1] += masses, moments + spacing * masses
    return found


def _within(numbers: Numbers, masses: Numbers, end: float) -> tuple[Numbers, Numbers]:
    """A law above in convex order for numbers that do not go beyond this end, from one that may.

    With f(K) = E[(S - K)_+], which is convex, and 0 from the end on: f lies below the chord from there to any point of
    the given law's f, of which the flattest leaves it convex. Likewise on the other side.
    """
    sign = 1.0 if end >= 1 else -1.0
    order = np.argsort(sign * numbers)
    x, masses = sign * numbers[order], masses[order]
    beyond = int(np.searchsorted(x, sign * end))
    if end in (0, math.inf) or beyond in (0, x.size):
        return numbers[order], masses
    behind = np.append(np.cumsum(masses[:0:-1])[::-1], 0.0)  # each number
    excess = np.append(np.cumsum((behind[:-1] * np.diff(x))[::-1])[::-1], 0.0)[:beyond]
    slopes = excess / (sign * end - x[:beyond])
    corner = int(np.argmin(slopes))
    rest = max(0.0, masses[corner] + behind[corner] - slopes[corner])
    kept = np.concatenate([x[: corner + 1], [sign * end]])
    return sign * kept, np.concatenate([masses[:corner], [rest, slopes[corner]]])


def _loss(ratios: Numbers, masses: Numbers, log_infinite: float, error: float) -> KnownLoss:
    """The loss with these likelihood ratios, and these masses of Q."""
    some = (ratios > 0) & (masses > 0)
    losses, absent = np.log(ratios[some]), float(masses[ratios <= 0].sum())
    missing = math.log(absent) if absent else -math.inf
    return atoms_of(losses, np.log(masses[some]) + losses, log_infinite, missing, error)
