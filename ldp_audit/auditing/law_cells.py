"""The outputs of a declared law at one input, in cells with exact probabilities; fixed by the law, not by any sample.

Every output is a cell of its own, up to 1024 of them. More numbers, or a density, are cut into intervals: at 32 equal
shares, in endless tails down to ten expected samples, and where the density jumps (`Density`).

A law has finitely many outputs, very many numbers, or a density with or without atoms. It is a mechanism of
`ldp_audit.mechanisms`, or an object with `log_prob(y, x)`, the log of a mass or of a density, nats, and one of

    outputs         finitely many reports: a sequence, or a method without arguments; log_prob is a mass there
    breakpoints(x)  ascending finite numbers, between which the density is smooth and beyond which it has no mass worth
                    1e-12; log_prob takes an array of y. With `outputs` too, those are atoms beside the density.

A density, or a grid of very many points, is cut into intervals whose masses are known to 1e-9 or better. Cuts lie where
the density jumps, at 32 equal shares, and, of a law without an end, at the shares 2**-6, 2**-7 ... of either tail down
to ten expected samples. No interval is so narrow by design that the steps of a program's grid, of which it holds
hundreds, could be taken for a difference of laws. Where exactly a share ends does not matter; the mass of what results
does, and is integrated by Gauss-Legendre rules, halved until two of them agree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import NOT_A_LABEL, Label, Outputs, canonical
from ldp_audit.auditing.scores.law_score import Law
from ldp_audit.auditing.scores.score import cut
from ldp_audit.numerics import instance

MASS_ERROR = 1e-9
"""How far a law's probabilities may be from adding up to 1, and the computed from the true ones."""

MOST_CELLS = 1024
"""More outputs than this, if they are numbers, are counted in intervals."""

_ACCEPTED = (
    "accepted: an object with log_prob(y, x) and outputs or breakpoints(x), or a mechanism (of a symbolic channel: "
    f"bound) whose reports are numbers, labels, or vectors of at most {MOST_CELLS} possible values"
)
_SHARES = 32
_EXPECTED = 10
_REACH = 2.0**-20  # of the support's length, or of an atom: as far as single precision rounds
_JUMP = 1e-3  # of the log density
_MOST_JUMPS = 64
_ROUNDS = 50
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(15)


@dataclass(frozen=True, eq=False)
class CellLaw:
    """Cells of outputs y, and what the law gives them at one input.

    words: each cell in words.   up_to: the union of the first cells, for each of the ordered ones, in words.
    probabilities: float64, shape (cells,).   heights: mass, or mean density, shape (cells,); infinite for the atoms of
    a law with a density.   ordered: so many cells, the first ones, hold numbers, in ascending order.
    binned: whether cells are intervals of many outputs.
    edges, place: the number v lies in cell place[number of edges <= v]; -1 is off the support.
    labels: the cell of each label.   vectors: the outputs, shape (cells, d), where they are vectors.
    """

    words: tuple[str, ...]
    up_to: tuple[str, ...]
    probabilities: np.ndarray
    heights: np.ndarray
    ordered: int = 0
    binned: bool = False
    edges: np.ndarray = field(default_factory=lambda: np.zeros(0))
    place: np.ndarray = field(default_factory=lambda: np.full(1, -1))
    labels: dict[Label, int] = field(default_factory=dict)
    vectors: np.ndarray | None = None

    def counts(self, outputs: Outputs) -> np.ndarray:
        """How many outputs lie in each cell, and last how many lie off the support: int64, shape (cells + 1,)."""
        if outputs.shape != self.shape:
            raise ValueError(f"law must have outputs such as the sampler's, {outputs.shape}, got {self.shape}")
        if self.vectors is not None:
            found = _rows_among(outputs.known_numbers, self.vectors)
        else:
            found = self._of_scalars(outputs)
        return np.bincount(np.where(found < 0, len(self.words), found), minlength=len(self.words) + 1)

    @property
    def shape(self) -> str:
        """What `Outputs.shape` says of such outputs."""
        return "numbers or labels" if self.vectors is None else f"vectors of {self.vectors.shape[1]}"

    def _of_scalars(self, outputs: Outputs) -> np.ndarray:
        found = np.full(len(outputs), -1)
        if outputs.numbers is not None:
            known = ~np.isnan(outputs.numbers)
            found[known] = self.place[np.searchsorted(self.edges, outputs.numbers[known], side="right")]
        if outputs.labels is not None:
            for row, label in enumerate(outputs.labels):
                if label is not NOT_A_LABEL:
                    found[row] = self.labels.get(label, -1)
        return found


def cells_of(law: Any, x: Any, samples: int) -> CellLaw:
    """The cells of the law at the input x, for a test of so many samples.

    Raises ValueError that says what is accepted for laws of another kind, and for a log_prob that does not add up to 1.
    """
    require_law(law)
    if (density := density_of(law, x)) is not None:
        found = _binned(intervals_of_density(density, samples))
    elif (points := many_points(law, x)) is not None:
        found = _binned(intervals_of_points(points, np.exp(vectorised(law, x)(points)), samples))
    else:
        found = _finite(law, x, outputs_of(law, x))
    total = float(found.probabilities.sum())
    if not abs(total - 1) <= MASS_ERROR:
        raise ValueError(f"law must have probabilities that add up to 1 at input {cut(x)}, got {total!r} in all")
    return found


def _finite(law: Any, x: Any, outputs: Sequence[tuple[Any, ...]]) -> CellLaw:
    """A cell an output; each is given with the other names that it has."""
    from ldp_audit.mechanisms.finite_channel import FiniteChannel

    first = [names[0] for names in outputs]
    if isinstance(law, FiniteChannel) and any(isinstance(y, tuple) for y in first):
        raise ValueError(
            f"law must have numbers or texts as labels, got {cut(first[0])}: number them, here and in the sampler"
        )
    if all(isinstance(y, tuple | list | np.ndarray) for y in first) and len({len(y) for y in first}) == 1:
        vectors = np.array(first, dtype=np.float64)
        masses = masses_of(law, x, list(vectors))
        words = tuple(f"y = ({', '.join(f'{number:.6g}' for number in vector)})" for vector in vectors)
        return CellLaw(words, (), masses, masses, vectors=vectors)
    outputs = sorted(outputs, key=lambda names: float(names[0]) if is_number(names[0]) else math.inf)
    first = [names[0] for names in outputs]
    masses, ordered = masses_of(law, x, first), sum(map(is_number, first))
    numbers = sorted((name, cell) for cell, names in enumerate(outputs) for name in names if is_number(name))
    edges, place = _around([number for number, _ in numbers], [cell for _, cell in numbers])
    labels = {canonical(y): cell for cell, names in enumerate(outputs) for y in names if _may_be_label(y)}
    words = tuple(f"y = {y if is_number(y) else canonical(y)!r}" for y in first)
    up_to = tuple(f"y <= {y}" for y in first[:ordered])
    return CellLaw(words, up_to, masses, masses, ordered, edges=edges, place=place, labels=labels)


def _binned(intervals: Sequence[Interval]) -> CellLaw:
    """Cells from intervals that ascend and touch; those off the support are no cells."""
    kept = [one for one in intervals if one.mass > 0]
    edges = np.array([one.low for one in intervals[1:]])
    numbered = itertools.count()
    place = np.array([next(numbered) if one.mass > 0 else -1 for one in intervals])
    return CellLaw(
        tuple(one.describe() for one in kept),
        tuple(f"y < {one.high:.12g}" for one in kept),
        np.array([one.mass for one in kept]),
        np.array([one.height for one in kept]),
        ordered=len(kept),
        binned=True,
        edges=edges,
        place=place,
    )


def _around(values: Sequence[Any], cells: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Intervals around ascending outputs. A float's reaches as far as single precision rounds, or to a quarter gap."""
    numbers = np.array(values, dtype=np.float64)
    gaps = np.diff(numbers, prepend=-math.inf, append=math.inf)
    reach = np.minimum(2.0**-20 * np.abs(numbers), np.minimum(gaps[:-1], gaps[1:]) / 4)
    reach[[isinstance(value, bool | int | np.integer) for value in values]] = 0
    edges = np.column_stack([numbers - reach, np.nextafter(numbers + reach, math.inf)]).ravel()
    place = np.full(len(edges) + 1, -1)
    place[1::2] = cells
    return edges, place


def _rows_among(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which of the known vectors each row is; -1 for none. Coordinates are compared as single outputs are."""
    found, codes = np.zeros(len(rows), dtype=np.int64), np.zeros(len(known), dtype=np.int64)
    for column in range(known.shape[1]):
        values = np.unique(known[:, column])
        edges, place = _around(values.tolist(), range(len(values)))
        cell = place[np.searchsorted(edges, rows[:, column], side="right")]
        code = codes * len(values) + np.searchsorted(values, known[:, column])
        wanted = np.where((found < 0) | (cell < 0), -1, found * len(values) + cell)
        prefixes, codes = np.unique(code, return_inverse=True)
        rank = np.minimum(np.searchsorted(prefixes, wanted), len(prefixes) - 1)
        found = np.where(prefixes[rank] == wanted, rank, -1)
    cell_of = np.empty(len(known), dtype=np.int64)
    cell_of[codes] = np.arange(len(known))
    return np.where(found < 0, -1, cell_of[found])


def _may_be_label(y: Any) -> bool:
    return isinstance(y, bool) or not is_number(y)


@runtime_checkable
class FiniteLaw(Protocol):
    """A law that says what its outputs are: a sequence, or a method without arguments."""

    outputs: Any


@runtime_checkable
class SmoothLaw(Protocol):
    """A law with a density."""

    def breakpoints(self, x: Any) -> Any:
        """Ascending finite numbers, between which the density on input x is smooth; see above."""
        ...


def require_law(law: Any) -> None:
    """ValueError unless there is a log_prob."""
    instance(law, Law, "law", f"one that has log_prob(y, x); {_ACCEPTED}")


def outputs_of(law: Any, x: Any) -> list[tuple[Any, ...]]:
    """All outputs at the input x, each with the names that mean the same. ValueError if the law does not say."""
    if (outputs := _given(law, x)) is None:
        raise ValueError(f"law must say what its outputs are, got {cut(law)}; {_ACCEPTED}")
    named = [y.item() if isinstance(y, np.generic) else y for y in outputs]
    return [(None, -1) if y is None and -1 not in named else (y,) for y in named]  # arrays write no index as -1


def _given(law: Any, x: Any) -> Sequence[Any] | None:
    """What the law itself says of its outputs at x."""
    from ldp_audit.mechanisms.mechanism import Mechanism

    return law.likely_reports(x) if isinstance(law, Mechanism) else _stated(law)


def _stated(law: Any) -> Sequence[Any] | None:
    outputs = law.outputs if isinstance(law, FiniteLaw) else None
    outputs = outputs() if callable(outputs) else outputs
    if isinstance(outputs, str | bytes) or not isinstance(outputs, Iterable):
        return None
    return list(outputs)


def many_points(law: Any, x: Any) -> np.ndarray | None:
    """The outputs of a law on a grid, ascending, float64; None where they are not many numbers."""
    from ldp_audit.mechanisms.noise.gaussian import GaussianGrid

    if isinstance(law, GaussianGrid):
        reach = len(law.counts()) // 2 + 1
        steps = law.grid.between(x)[0] + np.arange(-reach, reach + 1)
        return (steps * law.grid.cells).astype(np.float64) * math.ldexp(1.0, law.grid.exponent)
    outputs = _given(law, x)
    if outputs is None or len(outputs) <= MOST_CELLS or not all(map(is_number, outputs)):
        return None
    return np.sort(np.asarray(outputs, dtype=np.float64))


def density_of(law: Any, x: Any) -> Density | None:
    """The law as a density with atoms; None if it has none."""
    from ldp_audit import mechanisms
    from ldp_audit.mechanisms.noise.laplace import LaplaceGrid
    from ldp_audit.mechanisms.noise.staircase_noise import StaircaseGrid

    if isinstance(law, mechanisms.BoundChannel):
        return _flat(law, x) if law.channel.pieces else None
    if isinstance(law, LaplaceGrid | StaircaseGrid):  # 2**32 points a scale: no test tells them from the density
        law = law.mechanism
    knots = law.breakpoints(x) if isinstance(law, SmoothLaw) else None
    if knots is None:
        return None
    atoms = _stated(law) or ()
    ends = np.unique(np.asarray(knots, dtype=np.float64))
    if len(ends) < 2 or not np.isfinite(ends).all():
        raise ValueError(f"law's breakpoints must be two or more finite numbers, got {cut(knots)}")
    masses = masses_of(law, x, atoms)
    return Density(vectorised(law, x), ends, tuple(zip(map(float, atoms), masses.tolist(), strict=True)))


def vectorised(law: Any, x: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The law's log_prob at x, of an array of outputs."""

    def log_density(y: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            found = np.asarray(law.log_prob(y, x), dtype=np.float64)
        if found.shape != y.shape:
            raise ValueError(f"law's log_prob must take an array of y, got shape {found.shape} for {y.shape}")
        return found

    return log_density


def _flat(law: Any, x: Any) -> Density:
    """A bound channel with flat pieces: its probabilities, densities and ends at the input."""
    law.log_prob(0.0, *(x if isinstance(x, tuple | list) else (x,)))  # refuses inputs outside the domain
    probabilities, pieces = law.law_at(x if isinstance(x, tuple | list) else (x,))
    ends = np.array([float(pieces[0][0]), *(float(high) for _, high, _ in pieces)])
    with np.errstate(divide="ignore"):
        logs = np.concatenate([[-math.inf], np.log([float(height) for _, _, height in pieces]), [-math.inf]])

    def log_density(y: np.ndarray) -> np.ndarray:
        return logs[np.searchsorted(ends, y, side="right")]

    return Density(log_density, np.unique(ends), tuple(zip(law.outputs(), map(float, probabilities), strict=True)))


def masses_of(law: Any, x: Any, outputs: Sequence[Any]) -> np.ndarray:
    """The probability of each output."""
    with np.errstate(divide="ignore"):
        logs = [float(np.asarray(_log_prob(law, y, x))) for y in outputs]
    return np.exp(np.array(logs))


def _log_prob(law: Any, y: Any, x: Any) -> Any:
    """law.log_prob at the input x; a channel with several inputs takes them one by one."""
    from ldp_audit.mechanisms.bound_channel import BoundChannel
    from ldp_audit.mechanisms.bound_sampling import GridChannel

    inputs = x if isinstance(law, BoundChannel | GridChannel) and isinstance(x, tuple | list) else (x,)
    return law.log_prob(y, *inputs)


def is_number(y: Any) -> bool:
    """Whether an output is read as a number; true and false are."""
    return isinstance(y, bool | int | float | np.number)


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
