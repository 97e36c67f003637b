"""The figure of the membership test: its numbers agree with its caption, and it can be drawn."""

from __future__ import annotations

import time

import pytest

from ldp_audit.figure import Figure
from ldp_audit.papers.ldp_fl.attacks.membership_simulation import membership_figure


@pytest.fixture(scope="module")
def figure() -> Figure:
    return membership_figure()


def test_it_is_made_in_about_a_second_and_is_the_same_each_time(figure: Figure) -> None:
    start = time.process_time()
    assert membership_figure() == figure
    assert time.process_time() - start < 4


def test_dots_lie_on_the_curves_and_the_caption_is_true(figure: Figure) -> None:
    for panel in figure.panels:
        for dots, intervals, curve in zip(*(iter(panel.series),) * 3, strict=True):
            for x, y, low, high in zip(dots.x, dots.y, intervals.y, intervals.upper, strict=True):
                near = min(curve.x, key=lambda at: abs(at / x - 1))
                assert low <= y <= high
                if near == x and x >= 10:  # for one weight the limit is only an approximation
                    assert low - 0.02 <= curve.y[list(curve.x).index(near)] <= high + 0.02
    assert "d = 311 / 95 / 221" in figure.caption
    assert "d = 244 / 7 / 1 " in figure.caption
    assert "at most 0.4621 / 0.964 / 0.9999" in figure.caption


def test_it_is_drawn_with_its_intervals(figure: Figure) -> None:
    from ldp_audit.reports.figures import svg

    text = svg(figure.to_dict())
    assert text == svg(figure.to_dict())
    assert "LineCollection" in text  # the intervals
    assert "normal limit: n = 500" in text
