"""A sum over coordinates of a table each: the likelihood ratio itself where coordinates are independent.

For product distributions log P(y)/Q(y) = sum_j log P_j(y_j)/Q_j(y_j). Each coordinate is cut into cells, whose log
ratios are counted (`learning`). Two kinds of tables are proposed: what is significant by itself, coordinate by
coordinate; and one table that all coordinates share, up to its direction, for noise that is independent and alike,
where a single coordinate shows little.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.learning import (
    Levels,
    cell_counts,
    codes,
    cuts,
    dyadic,
    joined,
)
from ldp_audit.auditing.scores.said import literal
from ldp_audit.auditing.scores.score import CODED, Score, ascend, finite

_BINS = 24
_CUT_ROWS = 5000
_SHARED_VALUES = 2**22
_SHARED_BINS = 24


@dataclass(frozen=True)
class Additive(Score):
    """sum over i of weights[i][code of y[places[i]] among edges[i]]."""

    KIND: ClassVar[str] = "additive"
    COMPLETE: ClassVar[bool] = False
    places: tuple[int, ...]
    edges: tuple[tuple[float, ...], ...]
    weights: tuple[tuple[float, ...], ...]

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[Additive]:
        """At most three: significant coordinates, one table for all, one up to direction."""
        tables = [_counted(first[:, place], second[:, place]) for place in range(first.shape[1])]
        cells = sum(len(x) for _, x, _ in tables)
        certain = _threshold(cells)
        significant = [joined(x, y, certain) for _, x, y in tables]
        found = [_sparse(tables, significant)]
        if any(len(levels.x) == 1 < len(x) for levels, (_, x, _) in zip(significant, tables, strict=True)):
            found += _shared(first, second, rng)
        return list(dict.fromkeys(score for score in found if score.places))

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        total = np.zeros(len(numbers))
        for place, edges, weights in zip(self.places, self.edges, self.weights, strict=True):
            total += np.array(weights)[codes(numbers[:, place], np.array(edges))]
        return total

    def describe(self) -> str:
        """See `Score`."""
        if len(self.places) <= 8 and all(len(edges) == 1 for edges in self.edges):
            parts = [_step_words(*part) for part in zip(self.places, self.edges, self.weights, strict=True)]
            return "(" + " + ".join(parts) + ")"
        shown = ", ".join(f"y[{place}]" for place in self.places[:4])
        more = f", ... ({len(self.places)} coordinates)" if len(self.places) > 4 else ""
        return f"additive score of {shown}{more}"

    def source(self) -> tuple[list[str], str]:
        """See `Score`. Weights are multiples of one power of two, so that the order of the sum does not matter."""
        tables = [
            f"    ({place}, [{', '.join(map(literal, edges))}], [{', '.join(map(literal, weights))}]),"
            for place, edges, weights in zip(self.places, self.edges, self.weights, strict=True)
        ]
        lines = [
            "from bisect import bisect_right",
            *CODED,
            "tables = [  # place, edges, weights between them",
            *tables,
            "]",
        ]
        return lines, "sum(weights[bisect_right(edges, coded(y[place]))] for place, edges, weights in tables)"

    def fits(self) -> bool:
        """See `Score`: a table for each place, with a weight more than edges."""
        sizes = [len(edges) + 1 for edges in self.edges]
        tables = len(self.places) == len(sizes) > 0 and [*map(len, self.weights)] == sizes
        return tables and ascend(*self.edges) and finite(*self.weights)


_Table = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Edges, and the counts of the two inputs in the cells between them."""


def _counted(first: np.ndarray, second: np.ndarray) -> _Table:
    edges = cuts(np.concatenate([first[:_CUT_ROWS], second[:_CUT_ROWS]]), _BINS)
    return edges, cell_counts(first, edges), cell_counts(second, edges)


def _threshold(cells: int) -> float:
    """Standard deviations that noise in so many cells exceeds anywhere with probability below 0.05."""
    return NormalDist().inv_cdf(1 - 0.025 / max(cells, 1))


def _sparse(tables: list[_Table], significant: list[Levels]) -> Additive:
    """Coordinates without weight are left out."""
    kept = [place for place, levels in enumerate(significant) if len(levels.x) > 1]
    if not kept:
        return Additive((), (), ())
    sizes = [len(significant[place].x) for place in kept]
    flat = dyadic(np.concatenate([significant[place].weights for place in kept]))
    parts = [
        (place, tuple(map(float, tables[place][0][significant[place].starts[1:] - 1])), tuple(map(float, weight)))
        for place, weight in zip(kept, np.split(flat, np.cumsum(sizes)[:-1]), strict=True)
        if np.ptp(weight) > 0
    ]
    return Additive(tuple(p for p, _, _ in parts), tuple(e for _, e, _ in parts), tuple(w for _, _, w in parts))


def _shared(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[Additive]:
    """One table for all coordinates, and one whose direction may differ between them; where they show anything."""
    rows = max(1, _SHARED_VALUES // first.shape[1])
    first, second = first[:rows], second[:rows]
    pool = np.concatenate([rng.choice(first.reshape(-1), 10_000), rng.choice(second.reshape(-1), 10_000)])
    edges = cuts(pool, _SHARED_BINS)
    if len(edges) == 0:
        return []
    x = np.array([cell_counts(column, edges) for column in first.T])
    y = np.array([cell_counts(column, edges) for column in second.T])
    turned = _turned(x, y)[:, None]
    proposals = [(x, y, False)]
    if turned.any() and not turned.all():
        proposals.append((np.where(turned, y, x), np.where(turned, x, y), True))
    found = []
    for hits, other, signed in proposals:
        levels = joined(hits.sum(axis=0), other.sum(axis=0), 2.5)
        if len(levels.x) > 1:
            weights = dyadic(levels.weights)
            flips = turned[:, 0] if signed else np.zeros(len(x), dtype=bool)
            inner = tuple(float(edge) for edge in edges[levels.starts[1:] - 1])
            each = tuple(tuple(map(float, weights.max() - weights if flip else weights)) for flip in flips)
            found.append(Additive(tuple(range(len(x))), (inner,) * len(x), each))
    return found


def _turned(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which coordinates show the leading pattern of the tables the other way round: boolean, shape (d,)."""
    ratios = np.log((x + 0.5) / (y + 0.5)) * np.sqrt(1 / (1 / (x + 0.5) + 1 / (y + 0.5)))
    ratios -= ratios.mean(axis=1, keepdims=True)
    pattern = np.linalg.eigh(ratios.T @ ratios)[1][:, -1]
    along = ratios @ pattern
    return along * along[np.argmax(np.abs(along))] < 0


def _step_words(place: int, edges: tuple[float, ...], weights: tuple[float, ...]) -> str:
    """A table with two cells: the one that counts, and for how much."""
    low, high = weights
    factor = "" if abs(high - low) == 1 else f"{abs(high - low):.4g} "
    return f"{factor}[y[{place}] {'>=' if high > low else '<'} {edges[0]:.6g}]"
