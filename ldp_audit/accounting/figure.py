"""A figure as data: its curves with their numbers, labels and caption. `reports` draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Style = Literal["line", "dashed", "dotted", "points", "band", "intervals"]


@dataclass(frozen=True)
class Series:
    """One curve, or, with `upper`, the band between two, or an upright interval at each x.

    x, y: numbers of equal length.   upper: the band's upper edge, or the upper ends of the intervals.
    label: for the legend; "" for none.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    upper: Sequence[float] = ()
    style: Style = "line"


@dataclass(frozen=True)
class Panel:
    """One pair of axes, labelled with units."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    y_log: bool = False
    x_log: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels side by side.

    name: the file's name without its ending.   caption: what to see.   alt: a description for readers who cannot see
    it.
    """

    name: str
    title: str
    caption: str
    alt: str
    panels: tuple[Panel, ...]

    def to_dict(self) -> dict[str, Any]:
        """As in report.json."""
        return asdict(self)
