"""The verdict matrix: papers by verdicts, with every claim in its cell."""

from __future__ import annotations

from typing import Any

from ldp_audit.reports import wording
from ldp_audit.reports.blocks import Block, ClaimLink, Heading, Paragraph, Section, Span, Table, Text
from ldp_audit.reports.sections.numbers import many


def matrix(report: dict[str, Any]) -> Section:
    """A row for each paper, a column for each verdict that occurs; then the claims that are not the papers' own."""
    own = [one for one in report["claims"] if one["source"] == "paper"]
    others = [one for one in report["claims"] if one["source"] != "paper"]
    blocks: list[Block] = [Paragraph("Each claim in the cell of its paper and its verdict.", "lead")]
    if own:
        blocks += [Heading("The papers' own claims", "own"), _table(report, own, "The papers' own claims by verdict")]
    if others:
        note = (
            "Quantifications of ours, claims about programs, and readings of a damaged conversion, which test engines."
        )
        blocks += [Heading("Claims that are not the papers'", "others"), Paragraph(note)]
        blocks.append(_table(report, others, "Claims that are not the papers', by verdict"))
    return Section("matrix", "Verdict matrix", blocks)


def _table(report: dict[str, Any], claims: list[dict[str, Any]], caption: str) -> Table:
    verdicts = [word for word in wording.VERDICTS if any(one["verdict"] == word for one in claims)]
    rows: list[list[Text]] = []
    for paper in report["papers"]:
        mine = [one for one in claims if one["paper"] == paper["key"]]
        if mine:
            cells = [_cell([one for one in mine if one["verdict"] == word]) for word in verdicts]
            rows.append([f"{paper['key']} ({many(len(mine), 'claim')})", *cells])
    return Table(caption, ["paper", *verdicts], rows)


def _cell(claims: list[dict[str, Any]]) -> Text:
    if not claims:
        return "–"
    found: list[Span] = [f"{len(claims)}: "]
    for place, one in enumerate(claims):
        found += [" " if place else "", ClaimLink(one["id"], one["paper"])]
    return found
