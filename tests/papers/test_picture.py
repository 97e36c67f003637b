"""The README's picture says what the report says now."""

from __future__ import annotations

from typing import Any

import pytest

from ldp_audit.claims.loading import load_paper, paper_keys
from ldp_audit.cli import report_sections
from ldp_audit.reports import document
from ldp_audit.reports.sections import whole
from tests.papers.conftest import SettledPaper
from tests.reports.picture import PICTURE, words_in, words_of

AGAIN = "docs/report.png is not of this report: make report, then python -m tests.reports.picture report"


def _first_page(settled_paper: SettledPaper, **sections: Any) -> str:
    pairs = [(load_paper(key), settled_paper(key)) for key in paper_keys()]
    empty: dict[str, Any] = {name: [] for name in ("mechanisms", "implementation", "audits", "accounting", "training")}
    return whole.rendered({**document.build(pairs, []), **empty, **sections})["index.html"]


def test_the_picture_shows_the_verdicts_of_the_report(settled_paper: SettledPaper) -> None:
    assert words_in(PICTURE)[0] == words_of(_first_page(settled_paper))[0], AGAIN


@pytest.mark.slow
def test_the_picture_shows_the_epsilons_of_the_report(settled_paper: SettledPaper) -> None:
    costs = words_of(
        _first_page(
            settled_paper,
            accounting=list(
                map(report_sections.accounted, [one.protocol for one in map(load_paper, paper_keys()) if one.protocol])
            ),
        )
    )[1]
    assert words_in(PICTURE)[1].startswith(costs), AGAIN
