"""The report of all papers, in text and in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldp_audit.cli import main
from tests.reports import check_pages
from tests.reports.chromium import find_chromium


@pytest.mark.slow
def test_the_whole_report_of_all_papers_passes_every_check(tmp_path: Path) -> None:
    assert main(["report", "--out", str(tmp_path), "--quiet"]) == 0
    found = check_pages.checked(tmp_path, program=find_chromium(), every=True)
    assert [one.describe() for one in found if not one.passed] == []
