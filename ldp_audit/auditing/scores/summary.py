"""Symmetric summaries of a vector: what a person would look at first, and what shows rare events that tables miss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.learning import distance, noise
from ldp_audit.auditing.scores.score import Score

_TRIED = 3
_ROWS = 4000  # of each input; fewer of long vectors
_MOST_VALUES = 2**20


def _sum(numbers: np.ndarray) -> np.ndarray:
    return _without_rounding(numbers.sum(axis=1), numbers)


def _spread(numbers: np.ndarray) -> np.ndarray:
    return _without_rounding(numbers.max(axis=1) - numbers.min(axis=1), numbers)


def _without_rounding(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """To the nearest 2^-40 of the row's greatest power of two: noise that cancels leaves one value, not a cloud."""
    grid = np.ldexp(1.0, np.maximum(np.frexp(np.abs(numbers).max(axis=1))[1] - 40, -1000))
    return np.where(np.isfinite(values), np.rint(values / grid) * grid, values)


def _distinct(numbers: np.ndarray) -> np.ndarray:
    ordered = np.sort(numbers, axis=1)
    return 1.0 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)


def _norm(numbers: np.ndarray) -> np.ndarray:
    largest = np.max(np.abs(numbers), axis=1)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    return scale * np.sqrt(np.sum((numbers / scale[:, None]) ** 2, axis=1))


def _first(numbers: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The place of the first coordinate that is chosen; how many coordinates there are where none is."""
    return np.where(chosen.any(axis=1), np.argmax(chosen, axis=1), numbers.shape[1])


PLAIN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sum": _sum,
    "max": lambda numbers: numbers.max(axis=1),
    "min": lambda numbers: numbers.min(axis=1),
    "norm": _norm,
    "spread": _spread,
    "argmax": lambda numbers: np.argmax(numbers, axis=1),
    "argmin": lambda numbers: np.argmin(numbers, axis=1),
    "zeros": lambda numbers: np.count_nonzero(numbers == 0, axis=1),
    "distinct": _distinct,
}
WITH_VALUE: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "first_equal": lambda numbers, value: _first(numbers, numbers == value),
    "first_at_least": lambda numbers, value: _first(numbers, numbers >= value),
    "count_equal": lambda numbers, value: np.count_nonzero(numbers == value, axis=1),
}


@dataclass(frozen=True)
class Summary(Score):
    """A named function of the whole vector, some with a value that they look for.

    What is undefined (inf - inf) counts as 0.
    """

    KIND: ClassVar[str] = "summary"
    name: str
    value: float | None = None

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[Summary]:  # noqa: ARG004
        """The few whose samples lie furthest apart (Kolmogorov-Smirnov distance on a subsample), if not by noise."""
        rows = max(500, min(_ROWS, _MOST_VALUES // first.shape[1]))
        first, second = first[:rows], second[:rows]
        candidates = [Summary(name) for name in PLAIN]
        values, times = np.unique(np.concatenate([first.reshape(-1), second.reshape(-1)]), return_counts=True)
        common = np.argsort(-times, kind="stable")[:3]
        for place in common[times[common] >= 0.02 * times.sum()]:
            candidates += [Summary(name, float(values[place])) for name in WITH_VALUE]
        distances = [distance(candidate.of(first), candidate.of(second)) for candidate in candidates]
        order = np.argsort(-np.array(distances), kind="stable")[:_TRIED]
        return [candidates[place] for place in order if distances[place] > noise(len(first), len(second))]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        with np.errstate(invalid="ignore", over="ignore"):
            found = PLAIN[self.name](numbers) if self.value is None else WITH_VALUE[self.name](numbers, self.value)
        found = found.astype(np.float64, copy=False)
        missing = np.isnan(found)
        return np.where(missing, 0.0, found) if missing.any() else found

    def describe(self) -> str:
        """See `Score`."""
        words = self.name.replace("_", " ")
        return f"{words} of y" if self.value is None else f"{words} {self.value:.6g} of y"

    def fits(self) -> bool:
        """See `Score`: a name that is known, with a value where it takes one."""
        return self.name in (PLAIN if self.value is None else WITH_VALUE)
