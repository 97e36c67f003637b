"""The Markdown report has the content of the HTML one, and what it quotes stays text."""

from __future__ import annotations

from ldp_audit.reports import markdown, wording
from tests.reports.test_html import hostile_report


def test_every_claim_verdict_and_piece_of_evidence_is_there(paper_report: dict) -> None:
    page = markdown.render(paper_report)
    for claim in paper_report["claims"]:
        section = page[page.index(f"\n## {claim['id']}\n") :].split("\n## ")[1]
        assert f"**{wording.badge(claim)}**" in section
        for group in ("parts", "condition", "void", "corrected"):
            for part in claim["evidence"][group]:
                assert wording.explain(part) in section
    for figure in paper_report["figures"]:
        assert f"figures/{figure['name']}.svg" in page


def test_markup_is_escaped() -> None:
    page = markdown.render(hostile_report())
    assert "\n<script>" not in page
    assert "\\<script\\>" in page


def test_what_is_not_the_papers_own_is_counted_apart(paper_report: dict) -> None:
    others = [claim for claim in paper_report["claims"] if claim["source"] != "paper"]
    own = [claim for claim in paper_report["claims"] if claim["source"] == "paper"]
    assert {claim["source"] for claim in others} == {"derived", "damaged conversion"}
    assert paper_report["not_the_papers"] == len(others)
    assert paper_report["summary"]["REFUTED"] == sum(claim["verdict"] == "REFUTED" for claim in own)
    assert f"{len(own)} claims, and {len(others)} that are not the paper's" in markdown.render(paper_report)
