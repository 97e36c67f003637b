"""What learned scores share: cells of a coordinate, tables of log-likelihood ratios, a test for interactions.

Do coordinates interact, that is, is their joint information more than the sum of theirs (`interactions`)? A quick test,
so that costly scores are learned only where they can help. On one half of the rows, a logistic regression on the cells
of single coordinates is fitted; on the other half its residuals (input minus prediction) are summed over each pair of
cells. Where coordinates do not interact, each sum is close to normal with the variance that the prediction states
(Rao's score test, 1948).

Tables of log-likelihood ratios have no more levels than the counts can distinguish (`joined`). For cell counts x_i
of one input and y_i of the other, two neighbouring cells are compared by the likelihood-ratio statistic G^2 of their
2 x 2 table (Wilks 1938: about chi-squared with one degree of freedom if their ratios are equal). The least distinct
neighbours are joined until all are distinct; what is left has weight log((x + 1/2) / (y + 1/2)).

One coordinate is cut into cells for a table: its repeated values alone, what is left at quantiles (`cuts`). Edges e_0 <
e_1 < ... make cells (-inf, e_0), [e_0, e_1), ..., [e_last, inf]; a number's code is its cell, from 0. A score that is a
table of codes is defined for every number, infinite ones included.

Linear algebra runs on one thread while a score is learned (`one_thread`). The matrices are small. Many threads gain
little, lose a lot where the processor's cores are shared with others (a hundredfold was seen), and may add in another
order, so that a seed would not give the same result everywhere.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy import special

_ROWS = 20_000
_CELLS = (4, 2)  # of a coordinate; the fewer where there are many coordinates
_MOST_INDICATORS = 400
_STEPS = 8
_FALSE_ALARM = 1e-3
_CORRELATED = 0.1
_TAILS = (2**-7, 2**-10)  # quantiles near both ends, where a table may hold a rare event of high ratio


@dataclass(frozen=True)
class Interactions:
    """strength: for each coordinate, the greatest deviation of a pair that it belongs to, shape (d,); 0 if unseen.

    alone: likewise, of its own cells, where one input's share of them is compared with the other's.
    needed: the deviation that pairs without interaction exceed anywhere with probability below 0.001.
    """

    strength: np.ndarray
    alone: np.ndarray
    needed: float

    @property
    def found(self) -> bool:
        """Whether any pair shows an interaction."""
        return bool(np.max(self.strength, initial=0.0) > self.needed)

    def informative(self, most: int) -> list[int]:
        """The coordinates with a significant deviation, alone or in a pair, the strongest first, at most so many."""
        best = np.maximum(self.strength, self.alone)
        order = np.argsort(-best, kind="stable")[:most]
        return [int(place) for place in order if best[place] > self.needed]


def interactions(first: np.ndarray, second: np.ndarray) -> Interactions:
    """The test on two samples, shapes (n, d) and (m, d); of many coordinates, those that fit are looked at."""
    with one_thread():
        return _tested(first, second)


def _tested(first: np.ndarray, second: np.ndarray) -> Interactions:
    first, second = first[:_ROWS], second[:_ROWS]
    indicators, places = _indicators(first, second)
    strength, alone = np.zeros((2, first.shape[1]))
    if len(set(places)) < 2 or min(len(first), len(second)) < 100:
        return Interactions(strength, alone, 1.0)
    labels = np.repeat([1.0, 0.0], [len(first), len(second)])
    fitted, tested = slice(0, None, 2), slice(1, None, 2)
    prediction = _predicted(_fit(indicators[fitted], labels[fitted]), indicators[tested])
    residual, variance = labels[tested] - prediction, prediction * (1 - prediction)
    rows = indicators[tested]
    sums = rows.T @ (rows * residual[:, None].astype(np.float32))
    spread = rows.T @ (rows * variance[:, None].astype(np.float32))
    pairs = (places[:, None] != places) & (spread > 5)
    deviations = np.where(pairs, np.abs(sums) / np.sqrt(np.where(pairs, spread, 1.0)), 0.0)
    np.maximum.at(strength, places, deviations.max(axis=1))
    mean = labels.mean()
    shares = indicators.mean(axis=0) * mean * (1 - mean) * len(labels)
    np.maximum.at(alone, places, np.abs(indicators.T @ (labels - mean).astype(np.float32)) / np.sqrt(shares + 1e-9))
    tried = max(1, int(np.count_nonzero(pairs)) // 2)
    return Interactions(strength, alone, NormalDist().inv_cdf(1 - _FALSE_ALARM / 2 / tried))


def _indicators(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """0/1 columns, float32, one for every cell of a coordinate but its first, and which coordinate each is of."""
    dimension = first.shape[1]
    cells = _CELLS[0] if dimension * (_CELLS[0] - 1) <= _MOST_INDICATORS else _CELLS[1]
    columns: list[np.ndarray] = []
    places: list[int] = []
    for place in range(dimension):
        column = np.concatenate([first[:, place], second[:, place]])
        edges = cuts(column[:: max(1, len(column) // 4000)], cells)[: 3 * cells]
        if len(columns) + len(edges) > _MOST_INDICATORS:
            break
        code = codes(column, edges)
        columns += [(code == cell).astype(np.float32) for cell in range(1, len(edges) + 1)]
        places += [place] * len(edges)
    stacked = np.stack(columns, axis=1) if columns else np.zeros((len(first) + len(second), 0), dtype=np.float32)
    return stacked, np.array(places, dtype=int)


def _fit(indicators: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Logistic regression with a small ridge, by Newton's method: constant first, shape (1 + k,)."""
    weights = np.zeros(indicators.shape[1] + 1)
    rows = np.concatenate([np.ones((len(indicators), 1), dtype=np.float32), indicators], axis=1)
    for _ in range(_STEPS):
        prediction = _predicted(weights, indicators)
        curvature = (rows * (prediction * (1 - prediction))[:, None].astype(np.float32)).T @ rows
        slope = rows.T @ (labels - prediction).astype(np.float32) - weights
        weights = weights + np.linalg.solve(curvature.astype(np.float64) + np.eye(len(weights)), slope)
    return weights


def _predicted(weights: np.ndarray, indicators: np.ndarray) -> np.ndarray:
    exponent = indicators @ weights[1:].astype(np.float32) + weights[0]
    return 1 / (1 + np.exp(-np.clip(exponent.astype(np.float64), -30, 30)))


@dataclass(frozen=True)
class Levels:
    """Runs of neighbouring cells.

    starts: the first cell of each run.   x, y: their counts.
    """

    starts: np.ndarray
    x: np.ndarray
    y: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Log ratios over the lowest, which is 0: shape (levels,). A constant added to a score orders nothing anew."""
        ratio = np.log((self.x + 0.5) / (self.y + 0.5))
        return ratio - ratio.min()


def joined(x: np.ndarray, y: np.ndarray, deviations: float) -> Levels:
    """The levels of a table whose neighbours differ by at least so many standard deviations.

    x, y: counts of the two inputs, shape (cells,).
    """
    starts, x, y = np.arange(len(x)), x.astype(np.float64), y.astype(np.float64)
    statistics = _statistic(x[:-1], y[:-1], x[1:], y[1:])
    while len(x) > 1 and statistics.min() < deviations**2:
        place = int(np.argmin(statistics))
        x[place] += x[place + 1]
        y[place] += y[place + 1]
        starts, x, y = (np.delete(one, place + 1) for one in (starts, x, y))
        statistics = np.delete(statistics, place)
        near = slice(max(0, place - 1), place + 1)
        after = slice(max(0, place - 1) + 1, place + 2)
        left = x[near][: len(x[after])], y[near][: len(x[after])]
        statistics[near] = _statistic(*left, x[after], y[after])
    return Levels(starts, x, y)


def dyadic(weights: np.ndarray) -> np.ndarray:
    """Rounded to a multiple of a power of two, an eighth to a quarter of the greatest; a single level becomes 1.

    So coarsely that symmetric coordinates count the same, although their counts differ a little; and sums of such
    weights do not depend on their order.
    """
    largest = np.max(np.abs(weights), initial=0.0)
    if largest == 0:
        return weights
    step = 2.0 ** (np.floor(np.log2(largest)) - 2)
    rounded = np.round(weights / step) * step
    levels = np.unique(rounded[rounded != 0])
    return rounded / levels[0] if len(levels) == 1 else rounded


def _statistic(x: np.ndarray, y: np.ndarray, other_x: np.ndarray, other_y: np.ndarray) -> np.ndarray:
    """G^2 of 2 x 2 tables, vectorised."""
    table = (x, y, other_x, other_y)
    margins = (x + y, other_x + other_y, x + other_x, y + other_y)
    total = x + y + other_x + other_y
    value = (
        sum(special.xlogy(cell, cell) for cell in table)
        - sum(special.xlogy(margin, margin) for margin in margins)
        + special.xlogy(total, total)
    )
    return np.maximum(0.0, 2 * value)


def cuts(values: np.ndarray, bins: int) -> np.ndarray:
    """Ascending edges for about so many cells.

    values: float64, shape (n,), a sample of both inputs, infinities allowed.   returns: float64, shape (cells - 1,).
    """
    distinct, times = np.unique(values, return_counts=True)
    if len(distinct) <= bins:
        return distinct[1:]
    often = times >= max(3, len(values) // (2 * bins))
    atoms = distinct[often]
    rest = np.repeat(distinct[~often], times[~often])
    after = np.nextafter(atoms, math.inf)
    edges = np.unique(np.concatenate([atoms, after, _quantiles(rest, max(2, bins - len(atoms)))]))
    return edges[edges > distinct[0]]


def codes(column: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The cell of each number: whole numbers, shape (n,)."""
    if len(edges) <= 3:
        found = np.zeros(len(column), dtype=np.intp)
        for edge in edges:
            found += column >= edge
        return found
    return np.searchsorted(edges, column, side="right")


def cell_counts(column: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """How many numbers lie in each cell: int64, shape (cells,)."""
    return np.bincount(codes(column, edges), minlength=len(edges) + 1)


def _quantiles(rest: np.ndarray, bins: int) -> np.ndarray:
    """Values at equal shares of the sorted rest, and a few near either end."""
    if len(rest) == 0:
        return rest
    shares = np.concatenate([np.arange(1, bins) / bins, _TAILS, 1 - np.array(_TAILS)])
    return rest[np.minimum((shares * len(rest)).astype(int), len(rest) - 1)]


def distance(first: np.ndarray, second: np.ndarray) -> float:
    """The Kolmogorov-Smirnov distance of two samples, in [0, 1].

    first, second: float64, shapes (n,) and (m,), infinities allowed, no NaN.
    """
    pooled = np.sort(np.concatenate([first, second]))
    below = np.searchsorted(np.sort(first), pooled, side="right") / len(first)
    other = np.searchsorted(np.sort(second), pooled, side="right") / len(second)
    return float(np.max(np.abs(below - other)))


def correlated(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether coordinates are correlated, within an input, by more than a tenth and than noise would be."""
    first, second = first[:_ROWS], second[:_ROWS]
    if first.shape[1] < 2 or min(len(first), len(second)) < 20 * first.shape[1]:
        return False
    with np.errstate(all="ignore"), one_thread():
        spread = (np.cov(first, rowvar=False) + np.cov(second, rowvar=False)) / 2
        within = np.abs(np.tril(correlations(spread), -1))
    return bool(np.max(within[np.isfinite(within)], initial=0.0) > _CORRELATED + 5 / math.sqrt(len(first)))


def correlations(spread: np.ndarray) -> np.ndarray:
    """Of a covariance, shape (d, d); 0 for a coordinate that is constant."""
    sizes = np.sqrt(np.maximum(np.diag(spread), 1e-300))
    return spread / sizes[:, None] / sizes


def noise(n: int, m: int) -> float:
    """A distance that two samples of one distribution exceed with probability about 0.01 or less."""
    return 1.63 * math.sqrt(1 / n + 1 / m)


def one_thread() -> AbstractContextManager[object]:
    """A context in which numpy's and scipy's linear algebra uses one thread."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")
