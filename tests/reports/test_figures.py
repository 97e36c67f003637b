"""Figures: drawn from data, the same each time, with what a reader needs who cannot see them."""

from __future__ import annotations

from xml.etree import ElementTree

from ldp_audit.figure import Figure, Panel, Series, colours_of, draw
from ldp_audit.reports.figures import svg


def test_each_figure_is_valid_labelled_and_repeatable(paper_report: dict) -> None:
    for figure in paper_report["figures"]:
        text = svg(figure)
        assert text == svg(figure)
        root = ElementTree.fromstring(text)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"] == figure["alt"]
        for panel in figure["panels"]:
            assert all(panel[key] in text for key in ("title", "x_label", "y_label"))


def test_no_legend_stands_over_a_curve(paper_report: dict) -> None:
    """Its upper edge is below the axes, and it is not much wider than they are."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    for figure in paper_report["figures"]:
        canvas = FigureCanvasAgg(Canvas(figsize=(9.6, 6)))
        count = len(figure["panels"])
        side_by_side = canvas.figure.subplots(1, count, squeeze=False)[0]
        for panel, axes in zip(figure["panels"], side_by_side, strict=True):
            draw(panel, axes, colours=colours_of(figure), panels=count)
            canvas.draw()
            legend, box = axes.get_legend().get_window_extent(), axes.get_window_extent()
            assert legend.y1 < box.y0
            assert legend.width < 1.3 * box.width


def test_rounds_are_counted_in_whole_numbers() -> None:
    """Catches an axis with a round 1.2."""
    drawn = {}
    for label in ("round", "epsilon"):
        panel = Panel("", label, "accuracy", (Series("one", [1, 2], [0.1, 0.2]),))
        text = svg(Figure("short", "Short", "Two rounds.", "Two rounds.", (panel,)).to_dict())
        drawn[label] = "1.2</text>" in text
    assert drawn == {"round": False, "epsilon": True}
