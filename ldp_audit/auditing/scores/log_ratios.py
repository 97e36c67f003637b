"""Tables of log-likelihood ratios from counts, with no more levels than the counts can tell apart.

For cell counts x_i of one input and y_i of the other, two neighbouring cells are told apart by the likelihood-ratio
statistic G^2 of their 2 x 2 table (Wilks 1938: about chi-squared with one degree of freedom if their ratios are equal).
The least distinct neighbours are joined until all are distinct; what is left has weight log((x + 1/2) / (y + 1/2)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Levels:
    """Runs of neighbouring cells.

    starts: the first cell of each run.   x, y: their counts.   gain: G^2 of the whole table, after joining.
    """

    starts: np.ndarray
    x: np.ndarray
    y: np.ndarray
    gain: float

    @property
    def weights(self) -> np.ndarray:
        """Log ratios over the lowest, which is 0: shape (levels,). A constant added to a score orders nothing anew."""
        ratio = np.log((self.x + 0.5) / (self.y + 0.5))
        return ratio - ratio.min()

    @property
    def variances(self) -> np.ndarray:
        """Of the weights, roughly: shape (levels,)."""
        each = 1 / (self.x + 0.5) + 1 / (self.y + 0.5)
        return each + each[np.argmin(self.weights)]


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
    return Levels(starts, x, y, gain(x, y))


def gain(x: np.ndarray, y: np.ndarray) -> float:
    """G^2 of a table of two rows: 0 where the inputs have the same shares in every cell."""
    cells = x + y
    total, ones = cells.sum(), x.sum()
    if ones in (0, total):
        return 0.0
    expected = special.xlogy(x, cells * ones / total) + special.xlogy(y, cells * (total - ones) / total)
    return max(0.0, 2 * float(np.sum(special.xlogy(x, x) + special.xlogy(y, y) - expected)))


def clustered(weights: np.ndarray, variances: np.ndarray, deviations: float) -> np.ndarray:
    """Weights with nearly equal ones made equal, so that symmetric coordinates count the same and sums coincide.

    Neighbours in size are joined, nearest first, at their precision-weighted mean, until all differ by so many
    standard deviations. Multiples of a power of two come back, so that sums do not depend on their order.
    weights, variances: shape (k,), weights >= 0; zeros stay zeros.
    """
    order = np.argsort(weights, kind="stable")
    order = order[weights[order] > 0]
    groups = _coarse_groups(weights[order])
    precision = np.array([np.sum(1 / variances[order][group]) for group in groups])
    mean = np.array([np.sum((weights / variances)[order][group]) for group in groups]) / precision
    while len(mean) > 1:
        apart = np.diff(mean) ** 2 / (1 / precision[:-1] + 1 / precision[1:])
        place = int(np.argmin(apart))
        if apart[place] >= deviations**2:
            break
        both = precision[place] + precision[place + 1]
        mean[place] = (mean[place] * precision[place] + mean[place + 1] * precision[place + 1]) / both
        precision[place] = both
        groups[place] = np.concatenate([groups[place], groups[place + 1]])
        mean, precision = np.delete(mean, place + 1), np.delete(precision, place + 1)
        del groups[place + 1]
    found = np.zeros(len(weights))
    for value, group in zip(mean, groups, strict=True):
        found[order[group]] = value
    return dyadic(found)


def dyadic(weights: np.ndarray) -> np.ndarray:
    """Rounded to a multiple of a power of two, 2^-12 of the greatest or finer; a single level becomes 1."""
    largest = np.max(np.abs(weights), initial=0.0)
    if largest == 0:
        return weights
    step = 2.0 ** (np.floor(np.log2(largest)) - 12)
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


def _coarse_groups(ascending: np.ndarray, most: int = 512) -> list[np.ndarray]:
    """Places of ascending weights, nearby ones together where there are too many to be joined one by one."""
    if len(ascending) <= most:
        return [np.array([place]) for place in range(len(ascending))]
    bins = ((ascending - ascending[0]) / max(ascending[-1] - ascending[0], 1e-300) * (most - 1)).astype(int)
    return [np.flatnonzero(bins == value) for value in np.unique(bins)]
