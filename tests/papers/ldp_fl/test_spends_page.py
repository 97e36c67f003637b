"""docs/what-ldp-fl-spends.md is what the accounting gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldp_audit.accounting.protocols.protocol_file import load_protocol
from ldp_audit.papers.ldp_fl import spends_page as ldp_fl_page

PAGE = (Path(__file__).parents[3] / "docs" / "what-ldp-fl-spends.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_is_what_the_accounting_gives() -> None:
    assert ldp_fl_page.render() == PAGE, "run `make docs`"


def test_rows_of_the_page_are_what_the_accounting_gives() -> None:
    """One report, and one weight in all rounds, of the first setting."""
    protocol = load_protocol(ldp_fl_page.NAMES[0])
    rows = ldp_fl_page.rows(protocol, ldp_fl_page.SCOPES[:2])
    table = "\n".join(ldp_fl_page.cells(rows))
    head, _, _ = ldp_fl_page.section(protocol, rows).partition(table)
    assert head + table in PAGE, "run `make docs`"


def test_one_report_costs_what_the_inventory_says() -> None:
    """The central epsilon of one weight in one round, all others at one end; an independent computation's numbers."""
    found = [ldp_fl_page.rows(load_protocol(name), ldp_fl_page.SCOPES[:1])[0] for name in ldp_fl_page.NAMES]
    assert [round(row.one_end[1], 3) for row in found] == [0.408, 4.0, 10.0]
    assert [round(row.center[1], 2) for row in found] == [0.31, 0.49, 0.3]
