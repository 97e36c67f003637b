"""Figures drawn from their data, as SVG text for pages and files."""

from __future__ import annotations

import functools
import io
import itertools
import json
import re
from typing import Any

from ldp_audit.accounting.figure import Style

_COLOURS = ("#0b62a4", "#c8500a", "#2c7a3f", "#7a3e9d", "#8a6d00")
_LINES: dict[Style, str] = {"line": "-", "dashed": "--", "dotted": ":", "points": "o", "band": "-", "intervals": "|"}


def svg(figure: dict[str, Any]) -> str:
    """The figure as an <svg> element, with its title and description for screen readers.

    Equal data gives equal text: no date, and ids that follow from the name. The last few are cached, as a report shows
    a figure on several pages.
    """
    return _drawn(json.dumps(figure, sort_keys=True))


@functools.lru_cache(maxsize=16)
def _drawn(written: str) -> str:
    figure = json.loads(written)
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: Any = {
        "svg.hashsalt": figure["name"],
        "svg.fonttype": "none",
        "font.size": 10,
        "font.family": "sans-serif",
    }
    with mpl.rc_context(settings):
        canvas = FigureCanvasSVG(Figure(figsize=(9.6, 4.2)))
        axes = canvas.figure.subplots(1, len(figure["panels"]), squeeze=False)[0]
        for panel, axis in zip(figure["panels"], axes, strict=True):
            _draw(panel, axis)
        # Fixed room for ticks such as 6 x 10^-10: measuring them would double the time.
        canvas.figure.subplots_adjust(left=0.095, right=0.99, bottom=0.13, top=0.92, wspace=0.27)
        buffer = io.StringIO()
        canvas.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _described(buffer.getvalue(), figure)


def _draw(panel: dict[str, Any], axis: Any) -> None:
    colours = itertools.cycle(_COLOURS)
    colour = _COLOURS[0]
    for series in panel["series"]:
        if series["style"] == "band":
            axis.fill_between(series["x"], series["y"], series["upper"], label=series["label"], color="#9ec5e8")
            continue
        if series["style"] == "intervals":
            axis.vlines(series["x"], series["y"], series["upper"], color=colour, alpha=0.5)
            continue
        if series["style"] != "dashed":  # dashed curves and intervals belong to the previous curve
            colour = next(colours)
        axis.plot(series["x"], series["y"], _LINES[series["style"]], label=series["label"], color=colour)
    if panel.get("x_log"):
        axis.set_xscale("log")
    if panel["y_log"]:
        axis.set_yscale("log")
    axis.set(xlabel=panel["x_label"], ylabel=panel["y_label"])
    axis.set_title(panel["title"], y=1.0)  # a given y avoids measuring every tick
    axis.grid(visible=True, alpha=0.25)
    axis.legend(fontsize=8)


def _described(text: str, figure: dict[str, Any]) -> str:
    """The element alone, scalable, with a role and a label."""
    from html import escape

    element = text[text.index("<svg") :]
    element = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", element, count=1)
    element = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", element, count=1)
    # Ids must be unique among the figures of a page.
    element = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{figure['name']}-", element)
    label = escape(figure["alt"], quote=True)
    return element.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
