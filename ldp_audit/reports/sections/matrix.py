"""The verdicts as a picture: every claim by its name, in its paper's order, coloured by its verdict."""

from __future__ import annotations

from typing import Any

from ldp_audit.reports import wording
from ldp_audit.reports.blocks import Block, ClaimLink, Heading, Paragraph, Section, Shares, Tile, Tiles

_OTHERS = "Consequences that we quantified, claims about programs, and readings of a damaged conversion."


def matrix(report: dict[str, Any]) -> Section | None:
    """The papers' own claims, paper by paper; then the others. None without claims."""
    if not report["claims"]:
        return None
    blocks: list[Block] = []
    for paper in report["papers"]:
        mine = [one for one in report["claims"] if one["paper"] == paper["key"]]
        own = [one for one in mine if one["source"] == "paper"]
        for claims, words in ((own, ""), ([one for one in mine if one not in own], _OTHERS)):
            if claims:
                title = f"{paper['title']}{': beside its own claims' if words and own else ''}"
                blocks += [Heading(title, f"{paper['key']}{'-more' if words else ''}")]
                blocks += [Paragraph(words, "note")] if words else []
                blocks += [Shares(counts(claims), paper["key"]), Tiles(title, [_tile(one) for one in claims])]
    return Section("matrix", "Every claim and its verdict", blocks)


def counts(claims: list[dict[str, Any]]) -> dict[str, int]:
    """How many claims have each verdict that occurs."""
    found = {word: sum(one["verdict"] == word for one in claims) for word in wording.VERDICTS}
    return {word: count for word, count in found.items() if count}


def _tile(one: dict[str, Any]) -> Tile:
    link = ClaimLink(one["id"], one["paper"])
    return Tile(link, one["name"] or one["id"], one["place"], one["verdict"])
