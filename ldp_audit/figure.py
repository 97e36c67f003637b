"""A figure as data: its curves with their numbers, labels and caption; and its panels drawn on matplotlib's axes.

Curves of equal label, or of equal epsilon where labels name one, have one colour in all panels of a figure. Legends
stand below the axes, never over a curve. matplotlib is imported by `new_axes` alone.
"""

from __future__ import annotations

import math
import re
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


_COLOURS = ("#0b62a4", "#c8500a", "#2c7a3f", "#7a3e9d", "#8a6d00", "#b0175b", "#3a6e74", "#5a5a5a")
_LINES: dict[Style, str] = {"line": "-", "dashed": "--", "dotted": ":", "points": "o", "band": "-", "intervals": "|"}
_BAND = BAR = "#9ec5e8"
CLAIM = "#a40e26"
"""Of what an audit excludes, and of what is claimed."""
_VALUE = re.compile(r"\b(?:epsilon|k) = [\d.]+")
_LETTERS_A_ROW = 70
"""About the letters of a legend's row below a panel that takes half of a figure."""


def colours_of(figure: dict[str, Any]) -> dict[str, str]:
    """A colour for each curve's label, in order of appearance; curves that name one epsilon or k share it."""
    found: dict[str, str] = {}
    for panel in figure["panels"]:
        for series in panel["series"]:
            if series["style"] not in ("band", "intervals", "dashed"):
                found.setdefault(_key(series["label"]), _COLOURS[len(found) % len(_COLOURS)])
    return found


def _key(label: str) -> str:
    named = _VALUE.search(label)
    return named[0] if named else label


def legend_rows(panel: dict[str, Any], panels: int) -> int:
    """The rows of the legend below one of so many panels."""
    columns = _columns(panel, panels)
    labels = [series["label"] for series in panel["series"] if series["label"]]
    return math.ceil(len(labels) / columns) if labels else 0


def _columns(panel: dict[str, Any], panels: int) -> int:
    longest = max((len(series["label"]) for series in panel["series"]), default=0) + 5  # the line before the words
    return max(1, min(4, 2 * _LETTERS_A_ROW // (panels * longest)))


def draw(panel: dict[str, Any], axes: Any, *, colours: dict[str, str], panels: int = 1) -> None:
    """Draw a panel, in the form of `Figure.to_dict`, on matplotlib's axes, its legend below them.

    colours: from `colours_of`.   panels: how many stand side by side in the figure.
    """
    colour = _COLOURS[0]
    for series in panel["series"]:
        if series["style"] == "band":
            axes.fill_between(series["x"], series["y"], series["upper"], label=series["label"], color=_BAND)
            continue
        if series["style"] == "intervals":
            axes.vlines(series["x"], series["y"], series["upper"], color=colour, alpha=0.5)
            continue
        if series["style"] != "dashed":  # dashed curves and intervals belong to the previous curve
            colour = colours[_key(series["label"])]
        axes.plot(series["x"], series["y"], _LINES[series["style"]], label=series["label"] or None, color=colour)
    if panel.get("x_log"):
        axes.set_xscale("log")
    else:
        whole = panel["x_label"].startswith("round")  # there is no round 1.2
        axes.locator_params(axis="x", nbins=7, integer=whole)  # more would overprint each other
    if panel["y_log"]:
        axes.set_yscale("log")
    axes.set(xlabel=panel["x_label"], ylabel=panel["y_label"])
    axes.set_title(panel["title"], y=1.0)  # a given y avoids measuring every tick
    axes.grid(visible=True, alpha=0.25)
    if legend_rows(panel, panels) > 0:
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "frameon": False, "borderaxespad": 0.0}
        axes.legend(fontsize=8, ncols=_columns(panel, panels), **below)


def plotted(panel: Panel, axes: Any = None) -> Any:
    """The panel on matplotlib's axes, which are returned; on those of a new figure where None are given.

    A panel drawn on axes that have curves already takes the colours after theirs, so that several can be compared.
    """
    axes = new_axes() if axes is None else axes
    data = asdict(panel)
    before = len(axes.lines)
    colours = {
        key: _COLOURS[(before + place) % len(_COLOURS)] for place, key in enumerate(colours_of({"panels": [data]}))
    }
    draw(data, axes, colours=colours, panels=2)
    return axes


def new_axes() -> Any:
    """The axes of a new figure of pyplot's, with room for a legend below."""
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]
