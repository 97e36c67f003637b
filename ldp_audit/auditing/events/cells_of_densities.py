"""A density, or a grid of very many points, cut into intervals whose masses are known to 1e-9 or better.

Cuts lie where the density jumps, at 32 equal shares, and, of a law without an end, at the shares 2**-6, 2**-7 ... of
either tail down to ten expected samples. No interval is so narrow by design that the steps of a program's grid, of
which it holds hundreds, could be taken for a difference of laws. Where exactly a share ends does not matter; the mass
of what results does, and is integrated by Gauss-Legendre rules, halved until two of them agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ldp_audit.auditing.event import Event

_SHARES = 32
_EXPECTED = 10
_REACH = 2.0**-20  # of the support's length, or of an atom: as far as single precision rounds
_JUMP = 1e-3  # of the log density
_MOST_JUMPS = 64
_ROUNDS = 50
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(15)


@dataclass(frozen=True)
class Density:
    """log_density: of an array of outputs, nats, -inf off the support.   knots: ascending, finite; it is smooth between
    them, and beyond the outermost it has no mass worth 1e-12.   atoms: outputs with a mass of their own.
    """

    log_density: Callable[[np.ndarray], np.ndarray]
    knots: np.ndarray
    atoms: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Interval:
    """[low, high), its mass, and its mean density; an infinite one for an atom."""

    low: float
    high: float
    mass: float
    height: float
    atom: float | None = None

    def describe(self) -> str:
        """In words, of an output y."""
        if self.atom is not None:
            return f"y = {self.atom:.12g}"
        return Event(((self.low, self.high),)).describe()


def intervals_of_density(density: Density, samples: int) -> list[Interval]:
    """Intervals from -inf to inf that touch; mass 0 where the law says that there is nothing."""
    atoms = sorted((y, mass) for y, mass in density.atoms if mass > 0)
    around = {y: _REACH * abs(y) for y, _ in atoms}
    ends = [end for y, _ in atoms for end in (y - around[y], math.nextafter(y + around[y], math.inf))]
    cuts = [cut for cut in _cuts(density, samples) if not any(abs(cut - y) <= around[y] for y, _ in atoms)]
    low, high = _support(density)
    edges = np.unique([*ends, *cuts, *(end for end in (low, high) if math.isfinite(end))])
    masses = _masses_between(density, edges)
    bounds = np.concatenate([[-math.inf], edges, [math.inf]])
    found = []
    for start, stop, mass in zip(bounds[:-1], bounds[1:], masses, strict=True):
        atom = next(((y, more) for y, more in atoms if start <= y < stop), None)
        if atom is not None:
            found.append(Interval(start, stop, mass + atom[1], math.inf, atom[0]))
        else:
            length = min(stop, density.knots[-1]) - max(start, density.knots[0])
            found.append(Interval(start, stop, mass, mass / length if length > 0 else 0.0))
    return found


def intervals_of_points(points: np.ndarray, masses: np.ndarray, samples: int) -> list[Interval]:
    """The same for ascending points with these masses: cuts lie midway between two points."""
    known = np.flatnonzero(masses > 0)
    points, masses = points[known], masses[known]
    below = np.cumsum(masses)
    jumps = _jumps(np.log(masses))
    endless = max(masses[0], masses[-1]) < 1e-9 * masses.max()
    last = np.searchsorted(below / below[-1], _shares(samples, below[jumps] / below[-1], endless=endless))
    last = np.concatenate([last, jumps])
    last = np.unique(last[last < len(points) - 1])
    reach = _REACH * (points[-1] - points[0])
    cuts = np.concatenate([[points[0] - reach], (points[last] + points[last + 1]) / 2, [points[-1] + reach]])
    parts = np.split(masses, last + 1)
    inner = [
        Interval(float(low), float(high), float(part.sum()), float(part.mean()))
        for low, high, part in zip(cuts[:-1], cuts[1:], parts, strict=True)
    ]
    outer = (-math.inf, float(cuts[0])), (float(cuts[-1]), math.inf)
    return [Interval(*outer[0], 0.0, 0.0), *inner, Interval(*outer[1], 0.0, 0.0)]


def _jumps(logs: np.ndarray) -> np.ndarray:
    """The places after which the mass changes far more than it usually does from one point to the next."""
    change = np.abs(np.diff(logs))
    far = np.flatnonzero((change > _JUMP) & (change > 20 * np.median(change)))
    return far[np.argsort(-change[far], kind="stable")[:_MOST_JUMPS]]


def _shares(samples: int, jumps: np.ndarray, *, endless: bool) -> np.ndarray:
    """The cumulative shares at which to cut, none of them close to that of a jump."""
    tails = 2.0 ** -np.arange(6, max(6, math.log2(samples / _EXPECTED)) if endless else 6)
    shares = np.unique(np.concatenate([np.arange(1, _SHARES) / _SHARES, tails, 1 - tails]))
    return shares[[not np.any(np.abs(jumps - share) < 1 / (4 * _SHARES)) for share in shares]]


def _cuts(density: Density, samples: int) -> list[float]:
    """Near the shares of the density's own mass, and where it jumps."""
    knots = density.knots
    fine = np.unique(np.concatenate([np.linspace(a, b, 65) for a, b in pairwise(knots)]))
    below = np.concatenate([[0.0], np.cumsum(_rule(density, fine[:-1], fine[1:]))])
    if below[-1] <= 0:
        return []
    below /= below[-1]
    jumps = np.array([float(knot) for knot in knots[1:-1] if _jumps_at(density, float(knot))])
    endless = not all(map(math.isfinite, _support(density)))
    shares = _shares(samples, np.interp(jumps, fine, below), endless=endless)
    return [*np.interp(shares, below, fine).tolist(), *jumps.tolist()]


def _jumps_at(density: Density, knot: float) -> bool:
    step = _REACH * (density.knots[-1] - density.knots[0])
    before, after = density.log_density(np.array([knot - step, knot + step]))
    return before != after and not abs(before - after) <= _JUMP


def _support(density: Density) -> tuple[float, float]:
    """The ends of the support, a little beyond the outermost knots; infinite where there is more beyond."""
    low, high = float(density.knots[0]), float(density.knots[-1])
    length = high - low
    beyond = length * np.array([1e-3, 0.1, 1.0, 10.0])
    below, above = (density.log_density(points) for points in (low - beyond, high + beyond))
    ends = low - _REACH * length, high + _REACH * length
    return (-math.inf if np.any(below > -math.inf) else ends[0]), (math.inf if np.any(above > -math.inf) else ends[1])


def _masses_between(density: Density, edges: np.ndarray) -> np.ndarray:
    """The integral of the density from -inf to the first edge, from edge to edge, and from the last to inf."""
    inside = edges[(edges > density.knots[0]) & (edges < density.knots[-1])]
    ends = np.unique(np.concatenate([density.knots, inside]))
    low, high, owner = ends[:-1], ends[1:], np.searchsorted(edges, ends[:-1], side="right")
    total = np.zeros(len(edges) + 1)
    for round_ in range(_ROUNDS):
        middle = low + (high - low) / 2
        whole, left, right = (_rule(density, a, b) for a, b in ((low, high), (low, middle), (middle, high)))
        done = (np.abs(whole - left - right) <= 1e-15 + 1e-12 * whole) | (round_ == _ROUNDS - 1)
        np.add.at(total, owner[done], (left + right)[done])
        if done.all():
            break
        low, high = np.concatenate([low[~done], middle[~done]]), np.concatenate([middle[~done], high[~done]])
        owner = np.concatenate([owner[~done], owner[~done]])
    return total


def _rule(density: Density, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The 15-node Gauss-Legendre sum over each [low, high]."""
    half = (high - low)[:, None] / 2
    nodes = low[:, None] + half * (1 + _NODES)
    return (np.exp(density.log_density(nodes.ravel())).reshape(nodes.shape) * half) @ _WEIGHTS
