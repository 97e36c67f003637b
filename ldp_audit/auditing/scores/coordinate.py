"""One coordinate of a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.score import Score

_TRIED = 3
_NUMBERS = 2**19
"""Of all coordinates together, those that are looked at; 4,000 of each at least."""


@dataclass(frozen=True)
class Coordinate(Score):
    """y[place], the place counted from 0."""

    KIND: ClassVar[str] = "coordinate"
    place: int

    @staticmethod
    def learn(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> list[Coordinate]:  # noqa: ARG004
        """The few coordinates of which a half-line, or one value, is the most deviations apart in the two samples."""
        return Coordinate.ranked(first, second)[:_TRIED]

    @staticmethod
    def ranked(first: np.ndarray, second: np.ndarray) -> list[Coordinate]:
        """All coordinates, those first that are the most deviations apart."""
        rows = max(4000, _NUMBERS // first.shape[1])
        apart = [_deviations(*pair) for pair in zip(first[:rows].T, second[:rows].T, strict=True)]
        return [Coordinate(int(place)) for place in np.argsort(apart)[::-1]]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        return numbers[:, self.place]

    def describe(self) -> str:
        """See `Score`."""
        return f"y[{self.place}]"

    def source(self) -> tuple[list[str], str]:
        """See `Score`."""
        return [], f"y[{self.place}]"


def _deviations(first: np.ndarray, second: np.ndarray) -> float:
    """The most standard deviations between the two counts of a half-line or of a value, were both samples alike."""
    values = np.concatenate([first, second])
    order = np.argsort(values)
    values = values[order]
    ends = np.append(np.flatnonzero(values[1:] != values[:-1]), len(values) - 1)  # the last place of each value
    below, counts = np.cumsum(np.where(order < len(first), 1 / len(first), -1 / len(second)))[ends], ends + 1
    above, alone = counts[-1] - counts, np.diff(counts, prepend=0)
    with np.errstate(invalid="ignore"):
        found = [below / np.sqrt(counts), below[:-1] / np.sqrt(above[:-1]), np.diff(below, prepend=0) / np.sqrt(alone)]
    return float(max(np.abs(one).max(initial=0.0) for one in found))
