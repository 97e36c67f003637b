r"""The sum of many losses, by the way that moves them least.

Losses that are moved to the ends of their cells are moved once on each grid on which they are added. So

* laws whose losses all have one spacing are added on it, and none is moved;
* else a law whose own losses have a spacing is added up on that, and only its sum is moved to the common grid;
* the others are added in equal groups, on a finer grid, as a group spreads less than the whole at the same number of
  points; then the groups' sums are moved to the common grid. A group is added in the same way, from smaller ones.

Adding laws on one grid by FFT, each any number of times, with a bound on every error.

The window. The transform's length holds all but 2 e**-35 of the tilted mass, by Chernoff's bound (Markov's inequality
for e**(slope X)) from the laws' own moments. What lies outside is added up at wrong places.

Rounding. A fast transform of length N is right to c eps log2(N) of its 2-norm (Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., Theorem 24.2), and each of its outputs, a sum of inputs times log2(N) twiddle factors, to
as much of the sum of the inputs' absolute values; c = 4 covers complex products and additions. Where the transforms f
of the laws are wrong by d, that of the sum is by at most the sum over laws of T |d| q, where q is the product of all
|f| + |d| to their powers, but for one factor of that law. By Cauchy and Schwarz a mass of the sum is then wrong by at
most the sum of T |d| |q| in 2-norms (over the root of N each, so |d| is what the masses of the law are wrong by), and
the 2-norm of all errors is at most the sum of T |d| max q. Frequencies at which the product is below e**-45 are left
out, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from ldp_audit.losses.discretisation import Moves, Part, TiltedLaw, gridded, log_any, regridded
from ldp_audit.losses.grid_plan import Grid

_STEEPEST = 300.0
_TOGETHER = 8


class _Ranged(NamedTuple):
    """A law, how many times, and where a grid for it ends, nats."""

    law: Part
    ends: tuple[float, float]


def grid_sum(laws: Sequence[Part], grid: Grid, theta: float, most: int) -> TiltedLaw | None:
    """The tilted sum of these laws, each so many times; None where floats or `most` points will not do."""
    if grid.common is not None:
        known = zip(laws, grid.ranges, strict=True)
        return added([(gridded(law, grid.common, theta, *ends), times) for (law, times), ends in known], most)
    alone: list[tuple[TiltedLaw | None, int]] = []
    others: list[_Ranged] = []
    for (law, times), own, ends in zip(laws, grid.own, grid.ranges, strict=True):
        if own is None:
            others.append(_Ranged((law, times), ends))
        else:
            alone.append((added([(gridded(law, own, theta, *ends), times)], most), 1))
    moved = [(_moved(law, grid.spacings[0]), times) for law, times in alone]
    return _nested(others, grid.spacings, grid.groups, theta, most, moved)


def _nested(
    laws: Sequence[_Ranged],
    spacings: Sequence[float],
    groups: int,
    theta: float,
    most: int,
    others: Sequence[tuple[TiltedLaw | None, int]] = (),
) -> TiltedLaw | None:
    """The sum of laws, and of others that are on the first grid, with groups of equal laws on the further grids."""
    found = list(others)
    equal = [] if len(spacings) == 1 else [_Ranged((law, n // groups), ends) for (law, n), ends in laws if n >= groups]
    for (law, times), ends in laws:
        if left := times if len(spacings) == 1 else times % groups:
            found.append((gridded(law, spacings[0], theta, *ends), left))
    if equal:
        found.append((_moved(_nested(equal, spacings[1:], groups, theta, most), spacings[0]), groups))
    known = [(law, times) for law, times in found if law is not None]
    return _added(known, most) if len(known) == len(found) else None


def _added(laws: Sequence[tuple[TiltedLaw, int]], most: int) -> TiltedLaw | None:
    """The sum; of many laws from sums of a few, whose windows are shorter than that of all."""
    while len(laws) > _TOGETHER:
        sums = [added(laws[i : i + _TOGETHER], most) for i in range(0, len(laws), _TOGETHER)]
        known = [(law, 1) for law in sums if law is not None]
        if len(known) < len(sums):
            return None
        laws = known
    return added(laws, most)


def _moved(law: TiltedLaw | None, spacing: float) -> TiltedLaw | None:
    """The law on another grid; None where one step of it changes the tilt's weights beyond the range of floats."""
    return None if law is None or law.theta * spacing > _STEEPEST else regridded(law, spacing)


_EPS = 2.0**-52
_OUTSIDE, _DROPPED = -35.0, -45.0
"""ln of the tilted mass beyond each end of the window, and of the products of transforms that count as 0."""
_TRANSFORM, _POWER = 4.0, 6.0
"""Relative errors of a transform in units of eps log2(N), and of a power in units of eps times the exponent."""
_LARGEST_INDEX = 2**60
_BINS = 500.0
"""How many bins a standard deviation has, times the number of laws, when the window is chosen."""
_STEEPEST_SLOPE = 700.0
"""No slope is needed that makes more of a law's farthest loss than e**700."""
_LARGEST_GROWTH = 30.0
_FEW_TIMES = 64
"""Powers so low are products."""
_LARGE = 0.05
"""So large a mass is transformed by itself."""

Counted = Sequence[tuple[TiltedLaw, int]]


class Window(NamedTuple):
    """The points counted from `first`, `size` of them, outside which at most `outside` of the tilted mass lies."""

    first: int
    size: int
    outside: float


def added(laws: Counted, most: int) -> TiltedLaw | None:
    """The sum of these laws, each so many times; None where the window would have more points than `most`,
    or indices beyond 2**60, or where rounding leaves nothing certain.

    laws: on grids of one spacing, with one tilt.
    """
    window = _window(laws)
    if window.size > most or max(abs(window.first), abs(window.first + window.size)) > _LARGEST_INDEX:
        return None
    vague = math.fsum(times * (law.misplaced + law.norm_error * math.sqrt(law.masses.size)) for law, times in laws)
    if vague > 1:
        return None
    masses, error, norm_error = _summed(laws, window)
    spacing, offset = laws[0][0].spacing, math.fsum(times * law.offset for law, times in laws)
    moves = Moves()
    for law, times in laws:
        moves = moves.more(law.moves, times)
    places = spacing * (abs(window.first) + window.size) + math.fsum(
        times * spacing * law.farthest() for law, times in laws
    )
    return TiltedLaw(
        spacing=spacing,
        theta=laws[0][0].theta,
        offset=offset,
        indices=np.arange(window.first, window.first + masses.size, dtype=np.int64),
        masses=masses,
        log_sum=math.fsum(times * law.log_sum for law, times in laws),
        log_sum_error=math.fsum(times * law.log_sum_error for law, times in laws),
        mass_error=error,
        norm_error=norm_error,
        misplaced=2 * window.outside + math.exp(vague) * math.fsum(times * law.misplaced for law, times in laws),
        below=math.fsum(times * law.below for law, times in laws),
        log_infinite=log_any((law.log_infinite, times) for law, times in laws),
        log_cut=log_any((law.log_cut, times) for law, times in laws),
        moves=moves,
        shift=math.fsum(times * law.shift for law, times in laws) + 4 * _EPS * (abs(offset) + places),
    )


def _window(laws: Counted) -> Window:
    """By Chernoff's bound, at the slope that is best for a normal law, or at a smaller one where that is better."""
    moments = [(law.moments(), times) for law, times in laws]
    deviation = math.sqrt(math.fsum(times * variance for (_, variance), times in moments))
    means = [mean for (mean, _), _ in moments]
    least = sum(times * int(law.indices[0]) for law, times in laws)
    most = sum(times * int(law.indices[-1]) for law, times in laws)
    if deviation == 0:
        return Window(least, most - least + 1, 0.0)
    centre = math.fsum(times * mean for mean, (_, times) in zip(means, laws, strict=True))

    bins = max(1, int(deviation / _BINS / sum(times for _, times in laws)))
    binned = [(law.binned(bins) if bins > 1 else law, times) for law, times in laws]
    count = sum(times for _, times in laws)

    def reach(sign: int) -> int:
        ends = (float(law.indices[-1 if sign > 0 else 0]) for law, _ in laws)
        farthest = max(sign * (end - mean) for mean, end in zip(means, ends, strict=True))
        slope, found = min(math.sqrt(-2 * _OUTSIDE) / deviation, _STEEPEST_SLOPE / max(1.0, farthest)), math.inf
        while True:
            logs = math.fsum(
                times * law.log_mean_power(sign * slope, mean) for mean, (law, times) in zip(means, binned, strict=True)
            )
            logs += count * slope * (bins - 1) * (sign > 0)
            before, found = found, min(found, (logs - _OUTSIDE) / slope)
            # no slope is better than this one, or a normal law's reach is near
            if found >= before or found < 1.2 * math.sqrt(-2 * _OUTSIDE) * deviation:
                return math.ceil(found * (1 + 1e-6) + 4 * _EPS * abs(centre)) + 1
            slope /= 2

    first, last = max(least, math.floor(centre) - reach(-1)), min(most, math.ceil(centre) + reach(+1))
    outside = ((first > least) + (last < most)) * math.exp(_OUTSIDE)
    return Window(first, last - first + 1, outside)


class _Sum(NamedTuple):
    """Masses, a bound on the error of each, and one on the root of the sum of the errors' squares."""

    masses: NDArray[np.float64]
    error: float
    norm_error: float


def _summed(laws: Counted, window: Window) -> _Sum:
    """The masses of the sum in the window."""
    size: int = next_fast_len(window.size, real=True)  # type: ignore[assignment]
    product, error, norm_error = _product_of_transforms(laws, size)
    found = np.fft.irfft(product, size)
    del product
    np.maximum(found, 0.0, out=found)
    start = sum(times * int(law.indices[0]) for law, times in laws)
    return _Sum(np.roll(found, -((window.first - start) % size)), error, norm_error)


def _product_of_transforms(laws: Counted, size: int) -> tuple[NDArray[np.complex128], float, float]:
    """The transform of the sum, and the two errors of its inverse.

    At most frequencies the transform of one law alone makes the product negligible: these are not looked at any
    further. There the product of all factors but one is at most 1, or where the one is that law's, e**-45 but for a
    power of it; and whatever the errors of the factors make of that. Elsewhere the product of all factors but one is
    at most that of one half of all: the half that the one is not in.
    """
    unit = _TRANSFORM * _EPS * math.log2(size + 2)
    most = [unit + math.sqrt(law.masses.size) * law.norm_error for law, _ in laws]  # the largest errors of transforms
    grown = math.exp(
        min(_LARGEST_GROWTH, math.fsum(2 * count * one for (_, count), one in zip(laws, most, strict=True)))
    )
    first = max(range(len(laws)), key=lambda i: laws[i][1])
    known = _transform(laws[first][0], size)
    kept = np.flatnonzero(np.abs(known[0]) > math.exp(_DROPPED / laws[first][1]) - most[first])
    product = np.ones(kept.size, dtype=np.complex128)
    halves = [np.ones(kept.size), np.ones(kept.size)]
    wrong: list[tuple[float, tuple[int, ...]]] = []  # 2-norms of errors, and the halves that a law's factors are in
    for i, (law, count) in enumerate(laws):
        transform, own = known if i == first else _transform(law, size)
        factor = transform[kept]
        product = product * _power(factor, count)
        sizes, more = np.abs(factor) + most[i], count // 2 + (count % 2) * (i % 2)
        for half, times in zip(halves, (more, count - more), strict=True):
            half *= _power(sizes, times)
        wrong.append((count * (law.norm_error + own), tuple(k for k, n in enumerate((more, count - more)) if n)))
    passed, count = size // 2 + 1 - kept.size, laws[first][1]
    squares = [float((half**2).sum()) for half in halves]
    tops = [float(half.max(initial=0.0)) for half in halves]
    error = norm_error = 0.0
    for i, (norm, places) in enumerate(wrong):
        left = math.exp(_DROPPED * ((count - 1) / count if i == first else 1.0)) if passed else 0.0
        others = [1 - place for place in places]
        error += grown * norm * math.sqrt(2 / size * (min(squares[k] for k in others) + passed * left**2))
        norm_error += grown * norm * max(min(tops[k] for k in others), left)
    sizes = halves[0] * halves[1]
    inner = sizes > math.exp(_DROPPED)
    found = np.zeros(size // 2 + 1, dtype=np.complex128)
    found[kept[inner]] = product[inner]
    times = sum(count for _, count in laws)
    rounding = (unit + _POWER * _EPS * (12 + times)) * math.sqrt(2 / size * float((sizes[inner] ** 2).sum()))
    dropped = grown * math.exp(_DROPPED)
    return found, error + rounding + dropped, norm_error + rounding + dropped


def _power(factor: NDArray[Any], count: int) -> NDArray[Any]:
    """Numbers, real or complex, to a whole power."""
    if count > _FEW_TIMES:
        return np.exp(count * np.log(np.where(factor == 0, 1e-300, factor)))
    found, square = np.ones_like(factor), factor
    while count:
        if count % 2:
            found = found * square
        count //= 2
        if count:
            square = square * square
    return found


def _transform(law: TiltedLaw, size: int) -> tuple[NDArray[np.complex128], float]:
    """The transform of the masses, wrapped around, and the 2-norm of its error; the first index counts as 0.

    Large masses are transformed one by one, as their error would be shared by all.
    """
    places, masses = law.indices - law.indices[0], law.masses
    large = np.flatnonzero(masses > _LARGE)
    if large.size:
        masses = masses.copy()
        masses[large] = 0.0
    if places[-1] < min(size, 4 * places.size):
        folded = np.zeros(int(places[-1]) + 1)
        folded[places] = masses
    else:
        folded = np.bincount(places % size, masses, size)
    found = np.fft.rfft(folded, size)
    for one in large:
        found += law.masses[one] * _waves(int(places[one]) % size, found.size, size)
    rest = math.sqrt(float((masses**2).sum()))
    return found, _EPS * (_TRANSFORM * math.log2(size + 2) * rest + 20 * float(law.masses[large].sum()))


def _waves(place: int, count: int, size: int) -> NDArray[np.complex128]:
    """e**(-2 pi i place k/size) for k = 0 .. count - 1: products of those of two digits of k."""
    digit = math.isqrt(count) + 1
    steps = np.arange(digit, dtype=np.int64)
    low, high = (np.exp(-2j * math.pi / size * ((steps * (place * unit % size)) % size)) for unit in (1, digit))
    return np.multiply.outer(high, low).ravel()[:count]
