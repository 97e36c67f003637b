"""Implementation findings: the claims about floating point, and the channels of textbook programs."""

from __future__ import annotations

from typing import Any

from ldp_audit.reports import wording
from ldp_audit.reports.blocks import Badge, Block, CaptionedTable, ClaimLink, Code, Heading, Items, Paragraph, Section
from ldp_audit.reports.sections.numbers import many, short

_PREFIX = "FP-"


def implementation(report: dict[str, Any]) -> Section | None:
    """Floating-point claims (ids that begin with FP-), then the programs."""
    claims = [one for one in report["claims"] if one["id"].startswith(_PREFIX)]
    programs = report["implementation"]
    if not programs:
        return None
    bad = [one for one in programs if one["verdict"] == "violated"]
    lead = (
        "What a mechanism guarantees on paper, its program may not: it works in finite precision. Of "
        f"{many(len(programs), 'run')} of textbook programs, each over the random words that it can draw, "
        f"{len(bad)} do not keep what the mechanism has on paper."
    )
    blocks: list[Block] = [Paragraph(lead, "lead")]
    blocks += _claims(claims) if claims else []
    blocks += _programs(programs)
    return Section("implementation", "Implementation findings", blocks)


def _claims(claims: list[dict[str, Any]]) -> list[Block]:
    rows = [
        [ClaimLink(one["id"], one["paper"]), Badge(wording.badge(one), one["verdict"]), one["statement"]]
        for one in claims
    ]
    return [
        Heading("Settled claims about floating point", "settled"),
        CaptionedTable("Claims about programs, settled by the engines", ["claim", "verdict", "statement"], rows),
    ]


def _claim(one: dict[str, Any]) -> str:
    """The claimed epsilon, with the ideal mechanism's delta at it."""
    delta = f", delta {short(one['claimed_delta'], 4)}" if one["claimed_delta"] else ""
    return f"epsilon {short(one['claimed_epsilon'])}{delta}"


def _programs(programs: list[dict[str, Any]]) -> list[Block]:
    head = [
        "program",
        "dtype",
        "inputs",
        "claim",
        "verdict",
        "implemented epsilon",
        "delta at the claim",
        "only one input",
    ]
    rows = []
    for one in programs:
        least = "" if one["exact"] else "at least "
        infinite = one["epsilon"] == "inf"
        rows.append(
            [
                Code(one["program"]),
                one["dtype"],
                " and ".join(short(x) for x in one["inputs"]),
                _claim(one),
                Badge(one["verdict"]),
                f"{'' if infinite else least}{short(one['epsilon'], 10)}",
                f"{least}{short(one['delta_at_claim'], 4)}",
                f"{least}{short(one['exclusive_share'], 4)}",
            ]
        )
    shown = [[Code(one["program"]), f" in {one['dtype']}: {one['example']}"] for one in programs if one["example"]]
    blocks: list[Block] = [
        Heading("Textbook programs", "programs"),
        Paragraph(
            "Each program is a published mechanism as it is commonly coded, compared with its guarantee on paper. "
            "Only one input: the share of random words whose output the other input never gives; an attacker who sees "
            "such an output knows the input. Not refuted: no violation among the words that were run, and no proof."
        ),
        CaptionedTable("What textbook programs guarantee as they run", head, rows),
    ]
    if shown:
        blocks += [Heading("Outputs that give the input away", "examples"), Items(shown)]
    return blocks
