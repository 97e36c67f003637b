"""A weighted sum of the coordinates, each centred, scaled and clipped.

Two ways to the weights. Fisher's discriminant (1936), the direction in which the means lie furthest apart for their
common spread: noise that coordinates share cancels in it. The directions in which the two spreads differ most
(generalised eigenvectors; Fukunaga and Koontz 1970): what one input fixes and the other does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.learning import distance, noise, one_thread
from ldp_audit.auditing.scores.said import literal
from ldp_audit.auditing.scores.score import CODED, Score, finite

_LIMIT = 30.0  # scales from the centre at which a coordinate is clipped
_GRID = 2.0**-30
_ROWS = 20_000  # of each input to learn from, and as many to check with; fewer of long vectors
_MOST_VALUES = 2**22
_QUICK_ROWS = 4000  # for medians
_RIDGE = 1e-13  # of the mean variance; what lies below it is rounding
_SPREAD = 0.05  # log ratio of standard deviations below which a direction of spread is of no use


@dataclass(frozen=True)
class Linear(Score):
    """sum over i of weights[i] * clip((y[places[i]] - centres[i]) / scales[i], -30, 30), to the nearest 2^-30.

    Where noise cancels, what is left of it is rounding: on a grid, what is one value in exact arithmetic is one again.
    """

    KIND: ClassVar[str] = "linear"
    COMPLETE: ClassVar[bool] = False
    places: tuple[int, ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[Linear]:  # noqa: ARG004
        """Discriminant and spread directions, each where held-out rows show it; at most three."""
        columns = _Columns.of(first, second)
        if not columns.places or min(len(first), len(second)) < 20:
            return []
        with one_thread():
            return [columns.score(direction) for direction in _directions(columns, first, second)]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`. One coordinate after the other, so that a row's score does not depend on the rows beside it."""
        total = np.zeros(len(numbers))
        for place, centre, scale, weight in zip(self.places, self.centres, self.scales, self.weights, strict=True):
            total += weight * _scaled(numbers[:, place], centre, scale)
        return np.rint(total / _GRID) * _GRID

    def describe(self) -> str:
        """See `Score`."""
        order = sorted(range(len(self.places)), key=lambda i: -abs(self.weights[i]))[:3]
        parts = [f"{self.weights[i] / self.scales[i]:+.4g} y[{self.places[i]}]" for i in order]
        more = f" ... ({len(self.places)} coordinates)" if len(self.places) > 3 else ""
        return f"linear score {' '.join(parts)}{more}"

    def source(self) -> tuple[list[str], str]:
        """See `Score`."""
        terms = [
            f"    ({', '.join(map(literal, one))}),"
            for one in zip(self.places, self.centres, self.scales, self.weights, strict=True)
        ]
        lines = [*CODED, "terms = [  # place, centre, scale, weight", *terms, "]", "total = 0.0"]
        lines += [
            "for place, centre, scale, weight in terms:",
            f"    total += weight * min(max((coded(y[place]) - centre) / scale, -{_LIMIT}), {_LIMIT})",
        ]
        return lines, f"round(total / {_GRID}) * {_GRID}"

    def fits(self) -> bool:
        """See `Score`: as many of each, one at least, and scales above 0."""
        columns = self.centres, self.scales, self.weights
        alike = len({len(self.places), *map(len, columns)}) == 1
        return alike and finite(*columns) and min(self.scales, default=0) > 0


@dataclass(frozen=True)
class _Columns:
    """The coordinates that vary, with a robust centre and scale each."""

    places: tuple[int, ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]

    @staticmethod
    def of(first: np.ndarray, second: np.ndarray) -> _Columns:
        """From the medians and quartiles of both samples; extremes where more than half of a column is one value."""
        both = np.concatenate([first[:_QUICK_ROWS], second[:_QUICK_ROWS]])
        ordered = np.sort(np.where(np.isfinite(both), both, np.sign(both) * 1e300), axis=0)
        shares = [int(share * (len(ordered) - 1)) for share in (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)]
        ranks = ordered[shares] / 4  # a quarter, so that a difference does not overflow
        scales = np.zeros(both.shape[1])
        for low, high in ((2, 4), (1, 5), (0, 6)):
            scales = np.where(scales > 0, scales, 4 * np.minimum(ranks[high] - ranks[low], 2e307))
        kept = np.flatnonzero(scales > 1e-300)
        return _Columns(tuple(map(int, kept)), tuple(4 * ranks[3][kept]), tuple(map(float, scales[kept])))

    def scaled(self, numbers: np.ndarray) -> np.ndarray:
        """Shape (n, columns)."""
        parts = zip(self.places, self.centres, self.scales, strict=True)
        return np.stack([_scaled(numbers[:, place], centre, scale) for place, centre, scale in parts], axis=1)

    def score(self, direction: np.ndarray) -> Linear:
        """The direction as a score of the outputs themselves; its greatest weight is 1 in size."""
        weights = direction / np.max(np.abs(direction))
        return Linear(self.places, tuple(map(float, self.centres)), self.scales, tuple(map(float, weights)))


def _scaled(column: np.ndarray, centre: float, scale: float) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.clip((column - centre) / scale, -_LIMIT, _LIMIT)


_Pair = tuple[np.ndarray, np.ndarray]


def _directions(columns: _Columns, first: np.ndarray, second: np.ndarray) -> list[np.ndarray]:
    """Those that held-out rows confirm."""
    rows = 2 * min(_ROWS, _MOST_VALUES // len(columns.places))
    learn, check = _halves(columns, first[:rows], second[:rows])
    means, spreads = _moments(learn)
    discriminant = np.linalg.solve(_ridged(spreads[0] + spreads[1]), means[0] - means[1])
    confirmed = [discriminant] if _apart(discriminant, check) > noise(len(check[0]), len(check[1])) else []
    return confirmed + [end for end in _spread_directions(spreads) if _spread_apart(end, check)]


def _halves(columns: _Columns, first: np.ndarray, second: np.ndarray) -> tuple[_Pair, _Pair]:
    """Scaled rows to learn from and rows to check with, of both inputs."""
    scaled = [columns.scaled(sample) for sample in (first, second)]
    learn = scaled[0][::2], scaled[1][::2]
    return learn, (scaled[0][1::2], scaled[1][1::2])


def _moments(samples: _Pair) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Means, and covariances, of both samples."""
    means = [sample.mean(axis=0) for sample in samples]
    centred = [sample - mean for sample, mean in zip(samples, means, strict=True)]
    return means, [one.T @ one / len(one) for one in centred]


def _ridged(spread: np.ndarray) -> np.ndarray:
    """Invertible: coordinates that repeat each other, or cancel, leave directions without any spread."""
    return spread + np.eye(len(spread)) * max(_RIDGE * float(np.trace(spread)) / len(spread), 1e-300)


def _apart(direction: np.ndarray, samples: _Pair) -> float:
    values = [sample @ direction for sample in samples]
    return distance(*values) if all(np.isfinite(value).all() for value in values) else 0.0


def _spread_apart(direction: np.ndarray, samples: _Pair) -> bool:
    """Whether held-out rows confirm that one input spreads wider in this direction."""
    sizes = [float(np.std(sample @ direction)) for sample in samples]
    if min(sizes) == 0:
        return max(sizes) > 0
    return abs(math.log(sizes[0] / sizes[1])) > _SPREAD + 4 / math.sqrt(len(samples[0]))


def _spread_directions(spreads: list[np.ndarray]) -> list[np.ndarray]:
    """The directions of greatest and of least spread on one input for its spread on both."""
    values, vectors = np.linalg.eigh(_ridged(spreads[0] + spreads[1]))
    whitener = vectors / np.sqrt(np.maximum(values, values[-1] * _RIDGE))
    turned = np.linalg.eigh(whitener.T @ spreads[0] @ whitener)[1]
    ends = (whitener @ turned)[:, [0, -1]].T
    return [end for end in ends if math.isfinite(float(np.sum(end))) and np.max(np.abs(end)) > 0]
