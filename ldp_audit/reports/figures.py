"""Figures drawn from their data, as SVG text for pages and files."""

from __future__ import annotations

import functools
import io
import json
import re
from typing import Any

from ldp_audit.figure import colours_of, draw, legend_rows

_WIDTH, _HEIGHT, _ROW = 9.6, 4.2, 0.2
_BELOW, _ABOVE = 0.6, 0.34
"""Inches: of a figure without legends, of a legend's row, of the room for the axes' words below and above."""


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
        panels = figure["panels"]
        legend = max(legend_rows(panel, len(panels)) for panel in panels) * _ROW
        canvas = FigureCanvasSVG(Figure(figsize=(_WIDTH, _HEIGHT + legend)))
        axes = canvas.figure.subplots(1, len(panels), squeeze=False)[0]
        colours = colours_of(figure)
        for panel, one in zip(panels, axes, strict=True):
            draw(panel, one, colours=colours, panels=len(panels))
        # Fixed room for ticks such as 6 x 10^-10: measuring them would double the time.
        bottom, top = (_BELOW + legend) / (_HEIGHT + legend), 1 - _ABOVE / (_HEIGHT + legend)
        canvas.figure.subplots_adjust(left=0.095, right=0.99, bottom=bottom, top=top, wspace=0.27)
        buffer = io.StringIO()
        canvas.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _described(buffer.getvalue(), figure)


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
