"""The README's picture says what the report says now."""

from __future__ import annotations

from typing import Any

import pytest

from ldp_audit.claims import papers
from ldp_audit.cli import report_sections
from ldp_audit.reports import document
from ldp_audit.reports.sections import whole
from ldp_audit.reports.sections.summary import PROTOCOLS
from tests.conftest import SettledPaper
from tests.reports.picture import PICTURE, words_in, words_of

AGAIN = "docs/report.png is not of this report: make report, then python -m tests.reports.picture report"


def _first_page(settled_paper: SettledPaper, **sections: Any) -> str:
    pairs = [(papers.load(key), settled_paper(key)) for key in papers.PAPERS]
    empty: dict[str, Any] = {name: [] for name in ("mechanisms", "implementation", "audits", "accounting", "training")}
    return whole.rendered({**document.build(pairs, []), **empty, **sections})["index.html"]


def test_the_picture_shows_the_verdicts_of_the_report(settled_paper: SettledPaper) -> None:
    assert words_in(PICTURE)[0] == words_of(_first_page(settled_paper))[0], AGAIN


@pytest.mark.slow
def test_the_picture_shows_the_epsilons_of_the_report(settled_paper: SettledPaper) -> None:
    costs = words_of(_first_page(settled_paper, accounting=list(map(report_sections.accounted, PROTOCOLS))))[1]
    assert words_in(PICTURE)[1].startswith(costs), AGAIN
