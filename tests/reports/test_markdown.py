"""The Markdown report has the content of the HTML one, and what it quotes stays text."""

from __future__ import annotations

from ldp_audit.reports import markdown, wording
from tests.reports.test_html import hostile_report


def test_every_claim_verdict_and_piece_of_evidence_is_there(ldp_fl_report: dict) -> None:
    page = markdown.render(ldp_fl_report)
    for claim in ldp_fl_report["claims"]:
        section = page[page.index(f"\n## {claim['id']}\n") :].split("\n## ")[1]
        assert f"**{wording.badge(claim)}**" in section
        for group in ("parts", "condition", "void", "corrected"):
            for part in claim["evidence"][group]:
                assert wording.explain(part) in section
    for figure in ldp_fl_report["figures"]:
        assert f"figures/{figure['name']}.svg" in page


def test_markup_is_escaped() -> None:
    page = markdown.render(hostile_report())
    assert "\n<script>" not in page
    assert "\\<script\\>" in page


def test_the_readings_of_a_damaged_conversion_are_counted_apart(ldp_fl_report: dict) -> None:
    others = [claim for claim in ldp_fl_report["claims"] if claim["source"] != "paper"]
    assert ldp_fl_report["not_the_papers"] == len(others) >= 11
    assert sum(claim["source"] == "damaged conversion" for claim in others) == 2
    assert ldp_fl_report["summary"]["REFUTED"] == 7
    assert (
        f"{len(ldp_fl_report['claims']) - len(others)} claims, and {len(others)} that are not the paper's"
        in markdown.render(ldp_fl_report)
    )
