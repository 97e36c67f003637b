"""The verdicts as a picture: every claim by its name, in its paper's order; what we asked beside the papers apart."""

from __future__ import annotations

from typing import Any

from ldp_audit.reports import wording
from ldp_audit.reports.blocks import Block, ClaimLink, Heading, Paragraph, Section, Shares, Tile, Tiles

_BESIDE = (
    "No paper claims the statements below. A refuted one is a finding of ours, such as that a program in float32 does "
    "not keep what the mechanism has on paper; it is no error of the authors, and counts in no paper's verdicts."
)


def matrix(report: dict[str, Any]) -> Section | None:
    """The papers' own claims, paper by paper, coloured; then what we asked beside them, kind by kind, without colour.

    None without claims.
    """
    if not report["claims"]:
        return None
    blocks: list[Block] = []
    for paper in report["papers"]:
        own = [one for one in report["claims"] if one["paper"] == paper["key"] and one["source"] == "paper"]
        if own:
            tiles = Tiles(paper["title"], [_tile(one, one["place"]) for one in own])
            blocks += [Heading(paper["title"], paper["key"]), Shares(counts(own), paper["key"]), tiles]
    others = [one for one in report["claims"] if one["source"] != "paper"]
    if others:
        blocks += [Heading("What we asked beside the papers", "beside"), Paragraph(_BESIDE)]
    for place, words in enumerate(dict.fromkeys(map(wording.asked, others)), start=1):
        tiles = [_tile(one, f"{one['paper']}: {one['place']}") for one in others if wording.asked(one) == words]
        blocks += [Heading(words, f"beside-{place}", 2), Tiles(words, tiles)]
    return Section("matrix", "Every claim and its verdict", blocks)


def counts(claims: list[dict[str, Any]]) -> dict[str, int]:
    """How many claims have each verdict that occurs."""
    found = {word: sum(one["verdict"] == word for one in claims) for word in wording.VERDICTS}
    return {word: count for word, count in found.items() if count}


def _tile(one: dict[str, Any], place: str) -> Tile:
    link = ClaimLink(one["id"], one["paper"])
    return Tile(link, one["name"] or one["id"], place, one["verdict"], coloured=one["source"] == "paper")
