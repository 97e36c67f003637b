r"""One run's whole picture: bounds on delta(epsilon), on Renyi divergences and on the trade-off curve, all at once.

Cells A_1, A_2, ..., from the likeliest on the first input to the likeliest on the second, are fixed before the test
samples are drawn. Of every union B_j = A_1 + ... + A_j the test bounds P(B_j) >= p_j on the first input and
Q(B_j) <= q_j on the second (Clopper-Pearson); all of these hold with probability at least 1 - error (Bonferroni).

Rejecting "second input" on B_j has a type I error of at most q_j and a type II error of at most 1 - p_j. So the
trade-off function T(Q, P) lies below the lower convex hull of (0, 1), the points (q_j, 1 - p_j), and (1, 0). That hull
is the trade-off function of a pair of finite distributions (P*, Q*), one mass a segment, and by Blackwell's theorem P*
and Q* are images of P and Q under one randomised map (Dong, Roth, Su, 1905.02383, Theorem 2.10).
Hence every divergence that obeys data processing is at least that of P* and Q*, in both directions: delta(epsilon) =
sum (P* - e**epsilon Q*)_+, and Renyi's of every order (van Erven, Harremoes 2014, Theorem 9). Nothing else is needed,
no second budget, and a union's limits are tighter than the sum of its cells'.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.auditing.bounds import Counts, lower_limit, upper_limit
from ldp_audit.auditing.choice import Choice, Sample, scored
from ldp_audit.auditing.events import Cells, Event, learned
from ldp_audit.auditing.outputs import concatenated
from ldp_audit.auditing.result import DivergenceClaim, Witness, plain
from ldp_audit.auditing.scores import Score
from ldp_audit.mechanisms.inputs import numbers_of
from ldp_audit.numerics import as_float, between, instance, listed, whole

_SHAVE = 1e-12  # relative; far above the error of the incomplete beta function and its inverse
_RUNS, _FEWEST = 64, 50  # neighbouring bins are one until they hold a 64th of the samples, or fewer near the ends
_SHOWN_EPSILONS = (0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
_SHOWN_ORDERS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, math.inf)
_ORDERS = np.append(1.0, 1 + np.geomspace(0.01, 1e4, 241))  # 6% apart: the greatest D/order is missed by 0.1%
_SHOWN_ALPHAS = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Curves:
    """What the counts of disjoint cells say; every value of every method holds, together, with probability 1 - error.

    levels: counts of the cells, from those likelier on the first input on, all of the same trials; what is left over is
    one more cell.   error: in (0, 1).
    """

    levels: tuple[Counts, ...]
    error: float

    def __post_init__(self) -> None:
        between(self.error, "error", "in (0, 1)", lambda error: 0 < error < 1)
        for one in listed(self.levels, "levels", "a tuple of Counts"):
            instance(one, Counts, "levels", "a tuple of Counts")
        if len({(one.trials, one.other_trials) for one in self.levels}) > 1:
            raise ValueError(f"levels must be counts of the same outputs, got {self.levels!r:.200}")
        for trials, hits in (
            (self.levels[0].trials if self.levels else 0, sum(one.hits for one in self.levels)),
            (self.levels[0].other_trials if self.levels else 0, sum(one.other_hits for one in self.levels)),
        ):
            if hits > trials:
                raise ValueError(f"levels must be of disjoint cells, got {hits} hits in {trials} trials")

    def delta_lower(self, epsilons: ArrayLike) -> NDArray[np.float64] | np.float64:
        """A lower bound on the delta of every (epsilon, delta) that holds for the pair; shape of `epsilons`, nats.

        Raises ValueError unless every epsilon is >= 0; inf is allowed.
        """
        asked = numbers_of("epsilons", epsilons).astype(np.float64)
        if not np.all(asked >= 0):
            raise ValueError(f"epsilons must be >= 0, got {epsilons!r}")
        (p, q), slope = self._masses(), np.exp(np.minimum(asked, 700.0))[..., None]
        found = [np.maximum(a - slope * b, 0).sum(axis=-1) for a, b in ((p, q), (q, p))]
        return _below(np.maximum(*found))[()]

    def renyi_lower(self, orders: ArrayLike) -> NDArray[np.float64] | np.float64:
        """A lower bound on the Renyi divergence of these orders, nats, larger direction; shape of `orders`.

        Order 1 is the Kullback-Leibler divergence, inf the largest log ratio. ValueError unless every order is >= 1.
        """
        asked = numbers_of("orders", orders).astype(np.float64)
        if not np.all(asked >= 1):
            raise ValueError(f"orders must be >= 1, got {orders!r}")
        p, q = self._masses()
        found = [max(_renyi(p, q, float(order)), _renyi(q, p, float(order))) for order in asked.flat]
        return _below(np.array(found, dtype=np.float64).reshape(asked.shape))[()]

    def against(self, rho: float | None, renyi: Mapping[float, float] | None) -> tuple[DivergenceClaim, ...]:
        """The claim of zCDP, D_alpha <= rho alpha for all alpha > 1, at its worst order, and those of a Renyi curve.

        Where the divergences of P* and Q* keep to a claim, so do their deltas to any (epsilon, delta) that it implies:
        bounds on delta would refute nothing more.   renyi: nats, by order.
        """
        found = []
        if rho is not None:
            lower = np.asarray(self.renyi_lower(_ORDERS))
            worst, rho = int(np.argmax(lower / _ORDERS)), float(rho)
            order = float(_ORDERS[worst])
            found.append(DivergenceClaim(f"claimed rho {rho:.6g}", order, rho * order, float(lower[worst])))
        for order, allowed in (renyi or {}).items():
            said = f"claimed Renyi epsilon {float(allowed):.6g} at order {float(order):.6g}"
            found.append(DivergenceClaim(said, float(order), float(allowed), float(self.renyi_lower(order))))
        return tuple(found)

    def witness(self, inputs: tuple[Any, Any], events: Sequence[Event]) -> Witness:
        """The cell whose frequencies on the two inputs differ most.   events: of the levels."""
        apart = [abs(p - q) for p, q in (one.frequencies for one in self.levels)]
        place = int(np.argmax(apart))
        return Witness(inputs, events[place], self.levels[place])

    def trade_off_upper(self, alphas: ArrayLike) -> NDArray[np.float64] | np.float64:
        """An upper bound on the least type II error at these type I errors, the lower direction; shape of `alphas`.

        A program is f-DP for no f that exceeds it anywhere. Raises ValueError for what lies outside [0, 1].
        """
        asked = numbers_of("alphas", alphas).astype(np.float64)
        if not np.all((asked >= 0) & (asked <= 1)):
            raise ValueError(f"alphas must lie in [0, 1], got {alphas!r}")
        x, y = np.array(self.hull).T
        return np.minimum(np.interp(asked, x, y), np.interp(asked, y[::-1], x[::-1]))[()]

    @cached_property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """(p_j, q_j) for each union of first cells."""
        if not self.levels:
            return ()
        each, first = self.error / (2 * len(self.levels)), self.levels[0]
        hits = accumulate(one.hits for one in self.levels)
        others = accumulate(one.other_hits for one in self.levels)
        return tuple(
            (
                lower_limit(x, first.trials, each) * (1 - _SHAVE),
                min(1.0, upper_limit(y, first.other_trials, each) * (1 + _SHAVE)),
            )
            for x, y in zip(hits, others, strict=True)
        )

    @cached_property
    def hull(self) -> tuple[tuple[float, float], ...]:
        """The corners (type I, type II) of the band, for "the second input is rejected", from (0, 1) to (1, 0)."""
        corners: list[tuple[float, float]] = []
        for point in sorted({(0.0, 1.0), *((q, 1 - p) for p, q in self.limits if q < 1), (1.0, 0.0)}):
            while len(corners) > 1 and not _turns_up(corners[-2], corners[-1], point):
                corners.pop()
            corners.append(point)
        return tuple(corners)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the counts, from which all follows, and the bounds at some usual places."""
        first = self.levels[0] if self.levels else None
        return {
            "error": self.error,
            "trials": None if first is None else [first.trials, first.other_trials],
            "levels": [[one.hits, one.other_hits] for one in self.levels],
            "epsilons": list(_SHOWN_EPSILONS),
            "delta_lower": np.asarray(self.delta_lower(_SHOWN_EPSILONS)).tolist(),
            "orders": [plain(order) for order in _SHOWN_ORDERS],
            "renyi_lower": np.asarray(self.renyi_lower(_SHOWN_ORDERS)).tolist(),
            "alphas": list(_SHOWN_ALPHAS),
            "trade_off_upper": np.asarray(self.trade_off_upper(_SHOWN_ALPHAS)).tolist(),
        }

    def _masses(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The pair (P*, Q*): one mass a segment of the hull."""
        x, y = np.array(self.hull).T
        return -np.diff(y), np.diff(x)


def check_divergences(rho: float | None, renyi: Mapping[float, float] | None) -> None:
    """ValueError unless rho and the claimed divergences are numbers >= 0, and their orders numbers >= 1."""
    if rho is not None and not as_float(rho) >= 0:
        raise ValueError(f"claimed_rho must be a number >= 0, or None, got {rho!r}")
    if renyi is None:
        return
    pairs = list(renyi.items()) if isinstance(renyi, Mapping) else []
    if not pairs or not all(as_float(a) >= 1 and as_float(e) >= 0 for a, e in pairs):
        raise ValueError(f"claimed_renyi must be divergences >= 0 by order >= 1, as {{2: 0.5}}, got {renyi!r}")


def level_events(first: Sample, second: Sample, choice: Choice, count: int = 16) -> tuple[Event, ...]:
    """Disjoint events for `Curves`, from what is likelier on the input that makes the chosen event likelier on.

    first, second: the search samples that were given to `choose_score`; none of them may be counted in the test.
    count: how many cells at most, >= 2, with that of all other outputs, which is not returned.
    Neighbouring cells in the order of likelihood ratios are joined where that loses least of Jeffreys' divergence.
    """
    whole(count, "count", 2)
    pair, score = (second, first) if choice.swapped else (first, second), choice.event.score
    learn = concatenated(scored(sample.learn, score) for sample in pair)
    cells = learned(learn.numbers, learn.labels)
    hits, others = (_counted(cells, sample, score) for sample in pair)
    occupied = hits + others > 0
    members = _runs(cells, hits + others)
    groups = [_Group(cells_, int(hits[cells_].sum()), int(others[cells_].sum())) for cells_ in members]
    totals = max(1, int(hits.sum())), max(1, int(others.sum()))
    joined = _joined(sorted(groups, key=lambda one: -(one.hits + 0.5) / (one.others + 0.5)), totals, count)
    masks = [np.isin(np.arange(len(occupied)), one.cells) for one in joined[:-1]]
    return tuple(cells.event(mask, occupied, score) for mask in masks)


@dataclass(frozen=True)
class _Group:
    """Cells that go together, and what was seen of them on the two inputs."""

    cells: np.ndarray
    hits: int
    others: int

    def with_(self, other: _Group) -> _Group:
        return _Group(np.concatenate([self.cells, other.cells]), self.hits + other.hits, self.others + other.others)

    def divergence(self, totals: tuple[int, int]) -> float:
        """Its term of Jeffreys' divergence, (p - q) ln(p/q), smoothed by half an output."""
        p, q = (self.hits + 0.5) / totals[0], (self.others + 0.5) / totals[1]
        return (p - q) * math.log(p / q)


def _joined(groups: Sequence[_Group], totals: tuple[int, int], count: int) -> list[_Group]:
    left = list(groups)
    while len(left) > count:
        losses = [
            a.divergence(totals) + b.divergence(totals) - a.with_(b).divergence(totals) for a, b in pairwise(left)
        ]
        place = int(np.argmin(losses))
        left[place : place + 2] = [left[place].with_(left[place + 1])]
    return left


def _runs(cells: Cells, times: np.ndarray) -> list[np.ndarray]:
    """Neighbouring bins in one until there are enough outputs in them; a single value, or label, stays alone.

    Towards either end fewer are enough, as many as lie beyond: rare outputs are where the ratios are largest.
    """
    runs: list[list[int]] = []
    before, held, whole, is_open = 0, 0, int(times.sum()), False
    for place in np.flatnonzero(times > 0).tolist():
        joins = place < cells.numbers and not cells.atom[place]
        enough = min(whole // _RUNS, max(_FEWEST, min(before, whole - before - held)))
        if not (joins and is_open and held < enough):
            before, held = before + held, 0
            runs.append([])
        runs[-1].append(place)
        held, is_open = held + int(times[place]), joins
    return [np.array(run) for run in runs]


def _counted(cells: Cells, sample: Sample, score: Score | None) -> np.ndarray:
    parts = [scored(part, score) for part in sample]
    return np.sum([cells.counts(part.numbers, part.labels) for part in parts], axis=0)


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Whether the slope grows at b, on the way from a to c."""
    return (b[1] - a[1]) * (c[0] - b[0]) < (c[1] - b[1]) * (b[0] - a[0])


def _renyi(p: NDArray[np.float64], q: NDArray[np.float64], order: float) -> float:
    """Of two distributions with the same support."""
    ratio = np.log(p) - np.log(q)
    if order == 1:
        return float(p @ ratio)
    if math.isinf(order):
        return float(ratio.max())
    exponents = np.log(p) + (order - 1) * ratio
    most = exponents.max()
    return float((most + math.log(np.exp(exponents - most).sum())) / (order - 1))


def _below(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A little less, against rounding; never negative."""
    return np.maximum(values - 1e-14 * np.maximum(1.0, np.abs(values)), 0.0)
