"""A condition on a few coordinates: y[0] = 0 and y[3] >= 1, or one of several such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldp_audit.auditing.scores.said import Interval, in_python, in_words
from ldp_audit.auditing.scores.score import Score

Literal = tuple[int, float, float]
"""A coordinate, and the ends between which it lies: low <= y[place] < high."""


@dataclass(frozen=True)
class Boxes(Score):
    """1 where all of the literals hold of one of the boxes, 0 elsewhere.

    places: of each box, its coordinates.   lows, highs: the ends for each of them.
    """

    KIND: ClassVar[str] = "boxes"
    TRUTH: ClassVar[bool] = True
    places: tuple[tuple[int, ...], ...]
    lows: tuple[tuple[float, ...], ...]
    highs: tuple[tuple[float, ...], ...]

    @staticmethod
    def of_boxes(boxes: Sequence[Sequence[Literal]]) -> Boxes:
        """Each box a list of literals; several of one coordinate are their intersection."""
        merged = [_merged(box) for box in boxes]
        places = tuple(tuple(place for place, _, _ in box) for box in merged)
        lows, highs = (tuple(tuple(float(one[end]) for one in box) for box in merged) for end in (1, 2))
        return Boxes(places, lows, highs)

    @property
    def boxes(self) -> list[list[Literal]]:
        """What `of_boxes` was given, merged."""
        parts = zip(self.places, self.lows, self.highs, strict=True)
        return [list(zip(*box, strict=True)) for box in parts]

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """See `Score`."""
        found = np.zeros(len(numbers), dtype=bool)
        for box in self.boxes:
            inside = np.ones(len(numbers), dtype=bool)
            for place, low, high in box:
                column = numbers[:, place]
                inside &= (column >= low) & ((column < high) | (high == np.inf))
            found |= inside
        return found.astype(np.float64)

    def describe(self) -> str:
        """See `Score`."""
        return f"[{self.says(((1.0, np.inf),))}]"

    def says(self, intervals: Sequence[Interval]) -> str:
        """See `Score`; a set of rows as such."""
        rows = [[in_words("y", ((low, high),)) for _, low, high in box] for box in self.boxes]
        whole = len(rows) > 1 and all(places == tuple(range(len(places))) for places in self.places)
        if whole and all(words.startswith("y = ") for row in rows for words in row):
            words = f"y in {{{', '.join('(' + ','.join(one[4:] for one in row) + ')' for row in rows)}}}"
        else:
            words = " or ".join(
                " and ".join(in_words(f"y[{place}]", ((low, high),)) for place, low, high in box) for box in self.boxes
            )
        return f"not ({words})" if any(low <= 0 < high for low, high in intervals) else words

    def source(self) -> tuple[list[str], str]:
        """See `Score`."""
        boxes = [" and ".join(_literal_source(*one) for one in box) for box in self.boxes]
        return [], " or ".join(boxes)

    def fits(self) -> bool:
        """See `Score`: ends for each place, in order, of one box at least, and one literal at least in each."""
        sizes = [[*map(len, part)] for part in (self.places, self.lows, self.highs)]
        alike = sizes[0] == sizes[1] == sizes[2] != [] and 0 not in sizes[0]
        return alike and all(low < high for box in self.boxes for _, low, high in box)


def _merged(box: Sequence[Literal]) -> list[Literal]:
    ends: dict[int, tuple[float, float]] = {}
    for place, low, high in box:
        held = ends.get(place, (-np.inf, np.inf))
        ends[place] = (max(held[0], low), min(held[1], high))
    return [(place, *ends[place]) for place in sorted(ends)]


def _literal_source(place: int, low: float, high: float) -> str:
    text = in_python(f"y[{place}]", ((low, high),))
    return f"({text})" if " or " in text else text
