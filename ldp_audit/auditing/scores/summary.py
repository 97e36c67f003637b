"""Symmetric summaries of a vector: what a person would look at first, and what shows rare events that tables miss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.learning import distance, noise
from ldp_audit.auditing.scores.said import digits, literal
from ldp_audit.auditing.scores.score import CODED, Score

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


_WORDS = {
    "spread": "max(y) - min(y)",
    "zeros": "number of zeros in y",
    "distinct": "number of distinct values in y",
    "first_equal": "place of the first {} in y",
    "first_at_least": "place of the first >= {} in y",
    "count_equal": "number of {} in y",
}
_SOURCES = {
    "sum": "sum(y)",
    "max": "max(y)",
    "min": "min(y)",
    "norm": "scale * sqrt(sum((one / scale) ** 2 for one in y))",
    "spread": "max(y) - min(y)",
    "argmax": "y.index(max(y))",
    "argmin": "y.index(min(y))",
    "zeros": "y.count(0)",
    "distinct": "len(set(y))",
    "first_equal": "next((place for place, one in enumerate(y) if one == {}), len(y))",
    "first_at_least": "next((place for place, one in enumerate(y) if one >= {}), len(y))",
    "count_equal": "y.count({})",
}
"""Of the coded numbers, as Python."""


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
        candidates = every_summary(first, second)
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
        if self.value is None:
            return _WORDS.get(self.name, f"{self.name}(y)")
        return _WORDS[self.name].format(digits(self.value))

    def source(self) -> tuple[list[str], str]:
        """See `Score`."""
        lines = [*CODED, "y = [*map(coded, y)]"]
        if self.value is not None:
            return lines, _SOURCES[self.name].format(literal(self.value))
        if self.name == "norm":
            lines += ["from math import isfinite, sqrt", "largest = max(map(abs, y))"]
            lines += ["scale = largest if 0 < largest and isfinite(largest) else 1.0"]
        if self.name in ("sum", "spread"):
            lines += ["from math import frexp, isfinite", f"value = {_SOURCES[self.name]}"]
            lines += ["grid = 2.0 ** max(frexp(max(map(abs, y)))[1] - 40, -1000)  # rounding is no noise"]
            return lines, "round(value / grid) * grid if isfinite(value) else 0.0 if value != value else value"
        return lines, _SOURCES[self.name]

    def fits(self) -> bool:
        """See `Score`: a name that is known, with a value where it takes one."""
        return self.name in (PLAIN if self.value is None else WITH_VALUE)


def every_summary(first: np.ndarray, second: np.ndarray) -> list[Summary]:
    """All of them, those with a value for the three commonest ones."""
    values, times = np.unique(np.concatenate([first.reshape(-1), second.reshape(-1)]), return_counts=True)
    common = np.argsort(-times, kind="stable")[:3]
    looked_for = [float(values[place]) for place in common[times[common] >= 0.02 * times.sum()]]
    return [Summary(name) for name in PLAIN] + [Summary(name, value) for value in looked_for for name in WITH_VALUE]
