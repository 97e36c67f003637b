"""Events: sets of outputs, fixed before they are counted, readable, and the same again when read back from JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ldp_audit.auditing.outputs import NOT_A_LABEL, Label, Outputs
from ldp_audit.auditing.scores import Score, score_from_dict


@dataclass(frozen=True)
class Event:
    """A number is in it if it lies in one of the intervals, a label if it is among the labels.

    intervals: half-open [low, high), ascending, apart from each other; high = inf includes inf.
    labels:    labels.
    score:     what is compared with the intervals: the number itself (None), or a score of the number or vector.
    """

    intervals: tuple[tuple[float, float], ...] = ()
    labels: tuple[Label, ...] = ()
    score: Score | None = None

    def contains(self, outputs: Outputs) -> np.ndarray:
        """Boolean, shape (n,)."""
        member = np.zeros(len(outputs), dtype=bool)
        if outputs.labels is not None and self.labels:
            wanted = set(self.labels)
            member |= np.fromiter((_among(label, wanted) for label in outputs.labels), bool, len(outputs))
        if outputs.numbers is not None and self.intervals:
            member |= self._inside(outputs.numbers if self.score is None else self.score.of(outputs.numbers))
        return member

    def count(self, outputs: Outputs) -> int:
        """How many of the outputs are in it."""
        return int(np.count_nonzero(self.contains(outputs)))

    def _inside(self, numbers: np.ndarray) -> np.ndarray:
        if len(self.intervals) <= 3:
            inside = np.zeros(len(numbers), dtype=bool)
            for low, high in self.intervals:
                above = numbers >= low
                inside |= above if high == math.inf else above & (numbers < high)
            return inside
        edges = np.array([edge for interval in self.intervals for edge in interval])
        if edges[-1] == math.inf:
            edges = edges[:-1]
        return (np.searchsorted(edges, numbers, side="right") % 2 == 1) & ~np.isnan(numbers)

    def describe(self) -> str:
        """In words, of an output y."""
        name = "y" if self.score is None else self.score.describe()
        parts = [_interval_words(name, low, high) for low, high in self.intervals[:6]]
        if len(self.intervals) > 6:
            parts.append(f"{len(self.intervals) - 6} more intervals")
        if self.labels:
            shown = ", ".join(repr(label) for label in self.labels[:12])
            more = f", and {len(self.labels) - 12} more" if len(self.labels) > 12 else ""
            parts.append(f"y in {{{shown}{more}}}" if len(self.labels) > 1 else f"y = {shown}")
        return " or ".join(parts) or "never"

    def to_dict(self) -> dict[str, Any]:
        """For JSON: an end without end is null, infinity itself the text "inf"."""
        return {
            "words": self.describe(),
            "intervals": [[_end(low, -math.inf), _end(high, math.inf)] for low, high in self.intervals],
            "labels": list(self.labels),
            "score": None if self.score is None else self.score.to_dict(),
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Event:
        """The event that `to_dict` wrote. Raises ValueError for anything else."""
        try:
            intervals = tuple(
                (-math.inf if low is None else float(low), math.inf if high is None else float(high))
                for low, high in data["intervals"]
            )
            labels = tuple(data["labels"])
            score = data["score"]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"event must be one that an audit wrote, got {data!r:.200}") from error
        edges = [edge for interval in intervals for edge in interval]
        if edges[-2:] == [math.inf, math.inf]:  # infinity itself
            edges.pop()
        if any(not low < high for low, high in pairwise(edges)):
            raise ValueError(f"event's intervals must ascend and lie apart, got {data['intervals']!r:.200}")
        if not all(label is None or isinstance(label, str | bool | int) for label in labels):
            raise ValueError(f"event's labels must be text, true, false or null, got {data['labels']!r:.200}")
        return Event(intervals, labels, None if score is None else score_from_dict(score))


def _among(label: Any, wanted: set[Label]) -> bool:
    return label is not NOT_A_LABEL and label in wanted


def _end(edge: float, open_end: float) -> float | str | None:
    return None if edge == open_end else edge if math.isfinite(edge) else str(edge)


def _interval_words(name: str, low: float, high: float) -> str:
    """An end that lies next to a rounder number excludes, or includes, that number."""
    if low == -math.inf and high == math.inf:
        return f"any number {name}"
    if high == math.nextafter(low, math.inf):
        return f"{name} = {low:.12g}"
    below, above = _rounder(low), _rounder(high)
    lower = f"{low:.12g} <= " if below is None else f"{below:.12g} < "
    upper = f" < {high:.12g}" if above is None else f" <= {above:.12g}"
    if low == -math.inf:
        return f"{name}{upper}"
    if high == math.inf:
        return f"{name} >= {low:.12g}" if below is None else f"{name} > {below:.12g}"
    return f"{lower}{name}{upper}"


def _rounder(edge: float) -> float | None:
    """The float just below, if that is the shorter number: then the edge was put next to it."""
    before = math.nextafter(edge, -math.inf)
    return before if math.isfinite(edge) and len(repr(before)) < len(repr(edge)) else None
