"""One privacy loss on a grid: a discretisation that dominates it, and bounds on delta from a distribution on a grid.

Discretisation. The masses p and q that P and Q have in the cell (g, g + h] are given to its two ends so that both are
kept. The upper end gets the share

    s = (1 - e**g q/p) / (1 - e**-h)

of p. With u = e**-loss this replaces u in the cell by a distribution of the same mean, so the mean of every convex
function of u grows (Jensen's inequality), and the hockey-stick divergence is that of (1 - e**epsilon u)_+: the
discretised loss dominates ("connecting the dots": Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, PETS 2022). Losses
above the grid count as infinite, losses below it as the first point. A loss whose values all lie on the grid is not
moved.

Tilt. A tilt theta >= 0 multiplies the mass at a loss l by e**(theta l) and divides by their sum, so that the masses
that decide delta far in the tail have the floats' full precision. The errors of discretisation and rounding are carried
along in numbers that add up when losses are added (`TiltedDistribution`).

delta from a grid (`TiltedProfile`). With the tilted masses w_i at the losses g_i, K the ln of the tilt's divisor, and
x_i = g_i - epsilon,

    delta(epsilon) = e**(K - theta epsilon) v,    v = sum over x_i > 0 of w_i e**(-theta x_i) (1 - e**-x_i),

so all that is small is in the factor before v. Two filters that only add compute v at every point of the grid; between
two points it is e**(-theta x) (gain + (1 - e**-x) weight), x nats before the next one. The factor of a mass is at most
1/(1 + theta) (claim BD-CHERN), and rises and falls once with x, so that all factors add up to at most that and 1/(h
theta (1 + theta)).

The lower bound (`undiscretised_lower_bound`). Let L be the sum of independent losses, and L' the sum after some of
them, or partial sums of them, have been moved to the ends of their cells: Xi = L' - L is a sum of steps. Given all
before it a step lies in an interval of some length h, and e**-step has mean 1; so v = e**-Xi has mean 1 given L. Write
d(epsilon) for the divergence of L, d' for that of L', and y = e**(epsilon - L). Then d' - d is the mean of

    g(y) = E[(1 - y v)_+] - (1 - y)_+,     that is E[(1 - y v)_+] for y >= 1 and E[(y v - 1)_+] for y <= 1,

which is convex on either side of 1. For w > 0 let a = e**w/(1 + e**w) and b = 1 - a. The second difference

    a d(epsilon - w) + b d(epsilon + w) - d(epsilon)

is the mean of a function of y that is linear between e**-w, 1 and e**w, tanh(w/2) at 1, and 0 outside. A convex
function lies below its chord, so with c = g(1)/tanh(w/2) (claim BD-CHORD)

    g(y) <= c * (that function) + rest,

where the rest is at most g(e**w) or g(e**-w) inside, and g(y) outside. As d <= d' everywhere,

    d(epsilon) (1 - c) >= d'(epsilon) - c (a d'(epsilon - w) + b d'(epsilon + w)) - E[rest]     for c < 1.

The error is of the order V = sum h**2 times the first two derivatives of d, for any losses.

* g(1) = E|1 - v|/2 <= sd(v)/2, and 1 + Var(v) is at most the product of 1 + sinh(h/2)**2, the most for two points h
  apart (Bhatia, Davis 2000; claim BD-MOVE).
* E[rest], by Chernoff and Hoeffding's lemma (Boucheron, Lugosi, Massart 2013, Lemma 2.2; the mean of each step lies in
  [0, h**2/8]), for any s, t >= 0: E[rest] <= M (e**(-s w + (theta + s) V/8 + (theta + s)**2 V/8) + e**(-t w + (1 +
  t)**2 V/8)), where M is the mean of e**(theta (L - epsilon)), at most that of L', which `TiltedProfile` takes out. If
  the sum of all h is at most w, there is no rest.

Losses that lie far apart take steps too long for that; then L >= L' - H, H the sum of all h, so d(epsilon) is at least
d'(epsilon + H). Rounding may have moved the sum by `shift`, so d'(epsilon) lies between the values at epsilon + shift
and at epsilon - shift.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ldp_audit.losses.loss import EPS, CellMasses, KnownLoss
from ldp_audit.numerics import log1mexp

_RARE = -40.0


def log_any(logs: Iterable[tuple[float, int]]) -> float:
    """ln of the probability of any of these independent events, each with its ln probability and its times."""
    listed = list(logs)
    added = float(np.logaddexp.reduce([log + math.log(times) for log, times in listed], initial=-math.inf))
    if added < _RARE:  # where the sum is right to the last digit
        return added
    return log1mexp(math.fsum(times * log1mexp(log) for log, times in listed))


_LARGEST_POWER = 300.0


@dataclass(frozen=True)
class Moves:
    """The steps by which losses were moved: e**-step has mean 1 given all before, and lies in an interval.

    reach, squares: the sums of the intervals' lengths h and of their squares, nats.
    log_variance: the sum of ln(1 + sinh(h/2)**2): the product of all e**-step has at most the variance e**that - 1
    (Bhatia, Davis 2000; claim BD-MOVE).
    """

    reach: float = 0.0
    squares: float = 0.0
    log_variance: float = 0.0

    def more(self, other: Moves, times: int = 1) -> Moves:
        """These and the other steps, `times` times."""
        return Moves(
            self.reach + times * other.reach,
            self.squares + times * other.squares,
            self.log_variance + times * other.log_variance,
        )


def one_move(spacing: float) -> Moves:
    """One step between two points of a grid."""
    half = spacing / 2
    return Moves(spacing, spacing * spacing, math.log1p(math.sinh(half) ** 2) if half < 300 else spacing - math.log(4))


@dataclass(frozen=True, eq=False)
class TiltedDistribution:
    """Tilted masses at the losses offset + spacing * index.

    indices, masses: ascending whole numbers, and masses that add up to 1 up to rounding, shape (m,).
    log_sum: ln of the sum of the masses times e**(theta loss), right to `log_sum_error`.
    mass_error, norm_error: bounds on the error of each mass, and on the 2-norm of all errors.
    misplaced: tilted mass that may be at wrong places or left out.
    below: tilted mass that came from below the grid.
    log_infinite, log_cut: ln P(loss = inf), and the same with what was cut above the grid.
    moves: how losses were moved.   shift: by how many nats rounding may have moved the loss.
    """

    spacing: float
    theta: float
    offset: float
    indices: NDArray[np.int64]
    masses: NDArray[np.float64]
    log_sum: float
    log_sum_error: float
    mass_error: float = 0.0
    norm_error: float = 0.0
    misplaced: float = 0.0
    below: float = 0.0
    log_infinite: float = -math.inf
    log_cut: float = -math.inf
    moves: Moves = Moves()
    shift: float = 0.0

    def with_infinite(self, log_infinite: float, log_cut: float, below: float) -> TiltedDistribution:
        """The same distribution, with infinite losses and with what was below the grid."""
        return replace(self, log_infinite=log_infinite, log_cut=log_cut, below=below)

    def log_mean_power(self, slope: float, origin: float) -> float:
        """ln of an upper bound on the tilted mean of e**(slope (index - origin))."""
        powers = self.indices - origin
        powers *= slope
        if float(max(powers[0], powers[-1])) < _LARGEST_POWER:  # the indices ascend
            raised = np.exp(powers, out=powers)
            # plain sums instead of products of vectors, whose threads are slow to start
            return math.log(float((raised * self.masses).sum()) + self.norm_error * math.sqrt(float((raised**2).sum())))
        with np.errstate(divide="ignore"):
            logs = np.log(self.masses + self.norm_error) + powers
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).sum()))

    def binned(self, factor: int) -> TiltedDistribution:
        """The masses of `factor` consecutive indices together, at the first of them; errors likewise."""
        starts = np.flatnonzero(np.diff(self.indices // factor, prepend=self.indices[0] // factor - 1))
        masses = np.add.reduceat(self.masses, starts)
        places = (self.indices[starts] // factor) * factor
        return replace(self, indices=places, masses=masses, norm_error=math.sqrt(factor) * self.norm_error)

    def moments(self) -> tuple[float, float]:
        """Mean and variance of the tilted index."""
        mean = float((self.masses * self.indices).sum())
        return mean, float((self.masses * (self.indices - mean) ** 2).sum())

    def norm(self) -> float:
        """The 2-norm of the masses."""
        return math.sqrt(float((self.masses**2).sum()))

    def farthest(self) -> float:
        """The largest absolute index."""
        return float(max(abs(self.indices[0]), abs(self.indices[-1])))


_ON_GRID = 1e-9
_NEGLIGIBLE = math.log(1e-25)
_BLOCK = 2**15
_IN_RANGE = 600.0
"""Nats between logarithms whose numbers are all in the range of floats."""
_GAPS = 8


def discretised(
    loss: KnownLoss, spacing: float, theta: float, lowest: float = -math.inf, highest: float = math.inf
) -> TiltedDistribution:
    """The loss discretised on the grid of this spacing, tilted by theta >= 0.

    lowest, highest: nats, where the grid ends; a list of atoms needs none, and has no lower one.
    """
    if (atoms := loss.atoms()) is not None:
        kept = max(1, int(np.searchsorted(atoms.losses, highest, side="right")))
        found = _of_atoms(atoms.losses[:kept], atoms.log_probabilities[:kept], spacing, theta, atoms.error)
        above = float(np.logaddexp.reduce(atoms.log_probabilities[kept:], initial=atoms.log_infinite))
        found = replace(found, log_sum_error=found.log_sum_error + atoms.error)
        return found.with_infinite(atoms.log_infinite, min(0.0, above + atoms.error), 0.0)
    return _of_cells(loss, spacing, theta, lowest, highest)


def respaced(tilted: TiltedDistribution, spacing: float) -> TiltedDistribution:
    """The distribution moved to a grid of another spacing with the same offset."""
    indices, found = _shared(tilted, spacing)
    total, most = float(found.sum()), math.exp(min(700.0, tilted.theta * spacing))
    # a place gets the shares of a tent over its points: at most their integral and what its two lower kinks add
    ratio = spacing / tilted.spacing
    together = (ratio + 1 / (4 * ratio) if ratio > 1 else 1.0) * most
    return replace(
        tilted,
        spacing=spacing,
        indices=indices,
        masses=found / total,
        log_sum=tilted.log_sum + math.log(total),
        log_sum_error=tilted.log_sum_error + 4 * EPS * (20 + 2 * tilted.theta * spacing),
        mass_error=together * (tilted.mass_error + 8 * EPS * float(tilted.masses.max())) / total,
        norm_error=math.sqrt(together * most) * (tilted.norm_error + 8 * EPS * tilted.norm()) / total,
        misplaced=tilted.misplaced * most / total,
        below=tilted.below * most / total,
        moves=tilted.moves.more(one_move(spacing)),
        shift=tilted.shift + 8 * EPS * tilted.spacing * tilted.farthest(),
    )


def _shared(tilted: TiltedDistribution, spacing: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The indices and masses on the grid of this spacing; in blocks, which stay in fast memory."""
    ratio, down = tilted.spacing / spacing, math.expm1(-spacing)
    first, last = math.ceil(tilted.indices[0] * ratio) - 1, math.ceil(tilted.indices[-1] * ratio)
    dense = last - first < _GAPS * tilted.indices.size
    found = np.zeros(last - first + 2 if dense else 0)
    sparse: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
    for start in range(0, tilted.indices.size, _BLOCK):
        places, masses = tilted.indices[start : start + _BLOCK] * ratio, tilted.masses[start : start + _BLOCK]
        upper = np.ceil(places)
        steps = (places - upper + 1) * spacing  # above the lower end
        share = np.clip(np.expm1(-steps) / down, 0.0, 1.0)
        below, above = masses * (1 - share), masses * share
        if tilted.theta:
            below, above = below * np.exp(-tilted.theta * steps), above * np.exp(tilted.theta * (spacing - steps))
        into = upper.astype(np.int64) - 1
        if dense:
            base = int(into[0])
            sums = np.bincount(into - base, below, int(into[-1]) - base + 2)
            sums[1:] += np.bincount(into - base, above, int(into[-1]) - base + 1)
            found[base - first : base - first + sums.size] += sums
        else:
            sparse.append((np.concatenate([into, into + 1]), np.concatenate([below, above])))
    if dense:
        return np.arange(first, first + found.size, dtype=np.int64), found
    return _collected(*(np.concatenate(parts) for parts in zip(*sparse, strict=True)))


def _of_atoms(
    losses: NDArray[np.float64], logs: NDArray[np.float64], spacing: float, theta: float, error: float
) -> TiltedDistribution:
    """A list of losses discretised.   error: nats, by which they may be rounded beyond their last digits."""
    offset = float(losses[0])
    places = (losses - offset) / spacing
    upper = np.round(places)
    off = float(np.abs(places - upper).max())
    rounding = 4 * EPS * float(np.abs(losses).max()) + error
    if off <= _ON_GRID:
        return _tilted(offset, spacing, theta, upper.astype(np.int64), logs, shift=rounding + spacing * off)
    upper = np.ceil(places)
    share = np.clip(np.expm1((upper - 1 - places) * spacing) / math.expm1(-spacing), 0.0, 1.0)
    indices = np.concatenate([upper - 1, upper]).astype(np.int64)
    with np.errstate(divide="ignore"):
        logs = np.concatenate([logs + np.log1p(-share), logs + np.log(share)])
    # places are right to 2**-52 of themselves, so the shares' errors move the losses by no more than rounding
    return _tilted(offset, spacing, theta, indices, logs, moves=one_move(spacing), shift=3 * rounding)


def _of_cells(loss: KnownLoss, spacing: float, theta: float, lowest: float, highest: float) -> TiltedDistribution:
    indices = np.arange(math.floor(lowest / spacing), math.ceil(highest / spacing) + 1, dtype=np.int64)
    points: NDArray[np.float64] = spacing * indices.astype(np.float64)
    cells = cell_masses(loss, points)
    first, second = cells.first[1:-1], cells.second[1:-1]
    raised = np.append(first + theta * points[1:], cells.first[0] + theta * points[0])
    top = float(raised.max())
    if top == -math.inf:
        raise ValueError(f"no loss lies between {lowest!r} and {highest!r}")
    with np.errstate(invalid="ignore"):
        share = np.expm1(np.minimum(second - first + points[:-1], 0.0)) / math.expm1(-spacing)
    share = np.clip(np.where(first > -math.inf, share, 0.0), 0.0, 1.0)
    weights = np.exp(raised[:-1] - top)
    masses = np.zeros(indices.size)
    masses[0] = math.exp(raised[-1] - top)
    masses[1:] = weights * share
    masses[:-1] += math.exp(-theta * spacing) * weights * (1 - share)
    counted = first[raised[:-1] > top + _NEGLIGIBLE]
    rounding = 2 * EPS * (4 + 2 * float(np.abs(counted).max(initial=0.0)))
    shift = rounding + _shift_of_edges(cells, points, spacing) + 4 * EPS * float(np.abs(points).max())
    found = _scaled(0.0, spacing, theta, indices, masses, top, shift=shift, moves=one_move(spacing))
    below = math.exp(min(0.0, float(raised[-1]) - found.log_sum))
    return found.with_infinite(cells.infinite, float(np.logaddexp(cells.infinite, cells.first[-1])), below)


def _shift_of_edges(cells: CellMasses, points: NDArray[np.float64], spacing: float) -> float:
    """By how many nats the loss seems to be moved if edges are rounded, and differently for P and for Q.

    If a density p at the edge g is counted on the wrong side over some nats r, the profile is wrong by p r there, and
    that of the loss moved by s differs by s e**g Q(loss > g). Each density is taken from the emptier cell beside the
    edge, twice; atoms lie on the right side.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        above = points + _log_sums(cells.second[:0:-1])[::-1]
        beside = np.minimum(cells.first[1:-2], cells.first[2:-1])
        logs = np.log(16 * EPS * np.abs(points[1:-1]) / spacing) + beside - above[1:-1]
    return float(np.exp(logs[~np.isnan(logs)].max(initial=-math.inf)))


def _log_sums(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln of the sums of the first one, two, ... values with these logarithms."""
    top = float(logs.max())
    if float(logs.min(where=logs > -math.inf, initial=top)) > top - _IN_RANGE:
        return np.asarray(top + np.log(np.cumsum(np.exp(logs - top))))
    return np.asarray(np.logaddexp.accumulate(logs))  # thirty times as slow


def cell_masses(loss: KnownLoss, edges: NDArray[np.float64]) -> CellMasses:
    """The loss's masses, computed in blocks to bound the memory."""
    starts = range(0, max(1, edges.size - 1), _BLOCK)
    with np.errstate(all="ignore"):
        blocks = [loss.masses(edges[start : start + _BLOCK + 1]) for start in starts]
    first, second = _joined([block.first for block in blocks]), _joined([block.second for block in blocks])
    return CellMasses(first, second, blocks[0].infinite, blocks[0].missing)


def _joined(blocks: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The cells of all blocks; their outer ones only where nothing comes before or after."""
    return np.concatenate([blocks[0][:1], *(block[1:-1] for block in blocks), blocks[-1][-1:]])


def _tilted(
    offset: float,
    spacing: float,
    theta: float,
    indices: NDArray[np.int64],
    logs: NDArray[np.float64],
    *,
    shift: float,
    moves: Moves | None = None,
) -> TiltedDistribution:
    """These masses at these indices, in any order, tilted."""
    raised = logs + theta * (offset + spacing * indices)
    top = float(raised.max())
    places, masses = _collected(indices, np.exp(raised - top))
    return _scaled(offset, spacing, theta, places, masses, top, shift=shift, moves=moves or Moves())


def _scaled(
    offset: float,
    spacing: float,
    theta: float,
    indices: NDArray[np.int64],
    masses: NDArray[np.float64],
    top: float,
    *,
    shift: float,
    moves: Moves,
) -> TiltedDistribution:
    """The distribution whose tilted masses are e**top times these."""
    total = float(masses.sum())
    first, last = int(indices[0]), int(indices[-1])
    farthest = theta * max(abs(offset + spacing * first), abs(offset + spacing * last))
    log_sum = top + math.log(total)
    error = 4 * EPS * (60 + 2 * farthest + abs(log_sum))
    return TiltedDistribution(spacing, theta, offset, indices, masses / total, log_sum, error, moves=moves, shift=shift)


def _collected(
    indices: NDArray[np.int64], masses: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The indices in ascending order and the sums of the masses at each; without gaps where these are few."""
    first, last = int(indices.min()), int(indices.max())
    if last - first < _GAPS * indices.size:
        return np.arange(first, last + 1, dtype=np.int64), _by_place(indices - first, masses)
    places, inverse = np.unique(indices, return_inverse=True)
    return places, _by_place(inverse, masses)


def _by_place(places: NDArray[np.int64], masses: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(places, masses).astype(np.float64, copy=False)


_ROUNDING = 1e-13
_FINEST = 2**20


def common_spacing(losses: Sequence[NDArray[np.float64]]) -> float | None:
    """The largest spacing of which all distances within each of the lists are multiples; None if there is none.

    losses: ascending, nats, one list a loss.   returns: a spacing that holds up to rounding (1e-13 of the largest
    distance) and is at least 2**-20 of it; infinite where no list has two losses.
    """
    gaps = np.concatenate([np.empty(0), *(one - one[0] for one in losses)])
    gaps = np.unique(gaps[gaps > 0])
    if not gaps.size:
        return np.inf
    widest = float(gaps[-1])
    rounding = _ROUNDING * max(widest, *(float(np.abs(one).max()) for one in losses))
    parts = 1  # of the widest distance
    while parts <= _FINEST:
        left = gaps[np.abs(gaps - widest / parts * np.round(gaps / widest * parts)) > rounding]
        if not left.size:
            return widest / parts
        share = Fraction(float(left[0]) / widest).limit_denominator(_FINEST)
        if parts % share.denominator == 0:
            return None
        parts = math.lcm(parts, share.denominator)
    return None


_FILTER = 8.0
"""Relative errors of the filters in units of eps N."""


@dataclass(frozen=True, eq=False)
class TiltedProfile:
    """v at every epsilon, for a distribution on a grid whose masses are no longer held.

    first: the first index.
    gains, weights: at each point the sums of w e**(-theta x) (1 - e**-x) and of w e**(-(1 + theta) x).
    """

    tilted: TiltedDistribution
    first: int
    gains: NDArray[np.float64]
    weights: NDArray[np.float64]

    def ends(self, epsilon: float) -> tuple[float, float]:
        """A lower and an upper bound of v on the grid, the lower one without the mass from below the grid."""
        tilted, value = self.tilted, 0.0
        start = tilted.offset + tilted.spacing * self.first
        place = max(0, math.floor(min((epsilon - start) / tilted.spacing, self.gains.size)) + 1)
        if place < self.gains.size:
            before = max(0.0, start + tilted.spacing * place - epsilon)
            inner = float(self.gains[place]) - math.expm1(-before) * float(self.weights[place])
            value = math.exp(-tilted.theta * before) * inner
        rounding = _FILTER * EPS * self.gains.size
        error = tilted.misplaced / (1 + tilted.theta) + tilted.mass_error * self._factors(epsilon - start)
        return value * (1 - rounding) - error - tilted.below / (1 + tilted.theta), value * (1 + rounding) + error

    def _factors(self, above: float) -> float:
        """The most that the factors of all masses add up to, `above` nats after the start."""
        h, theta, size = self.tilted.spacing, self.tilted.theta, self.gains.size
        widest = -math.expm1(-max(0.0, h * size - above))
        found = size * min(widest, 1 / (1 + theta))
        return min(found, 1 / (1 + theta) + 1 / (h * theta * (1 + theta))) if h * theta > 0 else found


def profile_of(tilted: TiltedDistribution) -> TiltedProfile:
    """The profile of a distribution on consecutive indices."""
    down, drop = math.exp(-tilted.theta * tilted.spacing), math.exp(-tilted.spacing)
    weights = _filtered(tilted.masses, down * drop)
    gains = _filtered(np.append(-math.expm1(-tilted.spacing) * down * weights[1:], 0.0), down)
    none = replace(tilted, indices=tilted.indices[:0], masses=tilted.masses[:0])
    return TiltedProfile(none, int(tilted.indices[0]), gains, weights)


def _filtered(inputs: NDArray[np.float64], ratio: float) -> NDArray[np.float64]:
    """At each place the sum of the inputs from there on, each step times the ratio."""
    bands = np.empty((2, inputs.size), order="F")  # of the matrix that maps such sums to the inputs
    bands[0], bands[1] = -ratio, 1.0
    sums, _ = lapack.dtbtrs(bands, inputs[:, None], uplo="U", diag="U")  # pyrefly: ignore[missing-attribute]
    return np.ascontiguousarray(sums[:, 0])


_LARGEST_EXPONENT = 600.0
_REST = 19.0
"""-ln of the share of delta that the rest may have, about."""


def undiscretised_lower_bound(profile: TiltedProfile, epsilon: float, deviation: float) -> float:
    """A lower bound of v for the losses before discretisation; 0 or less says nothing.

    deviation: about that of the tilted sum, nats.
    """
    moved = _moved(profile, epsilon)
    return max(moved, _by_spread(profile, epsilon, deviation)) if profile.tilted.moves.reach else moved


def _moved(profile: TiltedProfile, epsilon: float) -> float:
    """The bound by the sum of all steps; the only one if there are none."""
    theta, away = profile.tilted.theta, profile.tilted.moves.reach + profile.tilted.shift
    low = profile.ends(epsilon + away)[0]
    return low * math.exp(-theta * away) if low > 0 else -math.inf


def _by_spread(profile: TiltedProfile, epsilon: float, deviation: float) -> float:
    """The bound by second differences."""
    moves, theta, shift = profile.tilted.moves, profile.tilted.theta, profile.tilted.shift
    low = profile.ends(epsilon + shift)[0] * math.exp(-theta * shift)
    need = _REST + max(math.log1p(2.5 * deviation * theta * (1 + theta)), -math.log(min(1.0, max(deviation, 1e-300))))
    steep, spread = 1 + theta, moves.squares
    width, rest = (steep + math.sqrt(steep * steep + 8 * need / spread)) * spread / 4, 0.0
    if moves.reach <= width:
        width = moves.reach
    else:
        rest = _rest(width, spread, theta)
    if theta * (width + shift) > _LARGEST_EXPONENT or moves.log_variance > 1:
        return -math.inf
    share = 0.5 * math.sqrt(math.expm1(moves.log_variance)) / math.tanh(width / 2)
    if share > 0.9:
        return -math.inf
    return low - (share * _second_difference(profile, epsilon, width, low) + rest) / (1 - share)


def _second_difference(profile: TiltedProfile, epsilon: float, width: float, low: float) -> float:
    """An upper bound of a d'(epsilon - w) + b d'(epsilon + w), less the lower bound of d'(epsilon); in units of v."""
    theta, shift = profile.tilted.theta, profile.tilted.shift
    a = 1 / (1 + math.exp(-width))
    left = profile.ends(epsilon - width - shift)[1] * math.exp(theta * (width + shift))
    right = profile.ends(epsilon + width - shift)[1] * math.exp(theta * (shift - width))
    return a * left + (1 - a) * right - low


def _rest(width: float, spread: float, theta: float) -> float:
    """The bound on E[rest] over M, at about the best s and t."""
    s, t = max(0.0, 4 * width / spread - theta), max(0.0, 4 * width / spread - 1)
    upper = -s * width + (theta + s) * (1 + theta + s) * spread / 8
    lower = -t * width + (1 + t) ** 2 * spread / 8
    return math.exp(min(_LARGEST_EXPONENT, upper)) + math.exp(min(_LARGEST_EXPONENT, lower))
