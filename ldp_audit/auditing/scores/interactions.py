"""Do coordinates tell more together than one by one? A quick test, to learn costly scores only where they can help.

On one half of the rows, a logistic regression on the cells of single coordinates is fitted; on the other half its
residuals (input minus prediction) are summed over each pair of cells. Where single coordinates tell everything, each
sum is close to normal with the variance that the prediction states (Rao's score test, 1948).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ldp_audit.auditing.scores.cuts import codes, cuts
from ldp_audit.auditing.scores.one_thread import one_thread

_ROWS = 20_000
_CELLS = (4, 2)  # of a coordinate; the fewer where there are many coordinates
_MOST_INDICATORS = 400
_STEPS = 8
_FALSE_ALARM = 1e-3


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

    def telling(self, most: int) -> list[int]:
        """The coordinates that tell anything, alone or in a pair, the strongest first, at most so many."""
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
