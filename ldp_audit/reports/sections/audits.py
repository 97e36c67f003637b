"""Audits: lower bounds from the outputs of programs, beside their claims."""

from __future__ import annotations

from typing import Any

from ldp_audit.reports.blocks import Badge, Block, Code, Heading, Paragraph, Section, Table, Text
from ldp_audit.reports.sections.numbers import epsilon, many, short

_NONE: Text = (
    "No audits were gathered for this report (--without audits). ",
    Code("ldp-audit audit TARGET --json FILE"),
    " makes one, and ",
    Code("ldp-audit report --audits FILE"),
    " puts it here.",
)


def audits(report: dict[str, Any]) -> Section:
    """One table over all, then each in words."""
    found = report["audits"]
    if not found:
        return Section("audits", "Audits", [Paragraph(_NONE, "lead")])
    bad = sum(one["verdict"] == "violated" for one in found)
    lead = (
        f"{many(len(found), 'audit')}; {bad} found the claim violated. A bound holds with the stated confidence "
        "for every program. Consistent is no proof that a claim holds: each audit states what it may have missed."
    )
    head = ["program", "claimed epsilon", "at least", "verdict", "smallest that would show", "samples"]
    blocks: list[Block] = [
        Paragraph(lead, "lead"),
        Table("Audits of programs by what they put out", head, [_row(one) for one in found]),
    ]
    for place, one in enumerate(found, start=1):
        blocks += _one(one, place)
    return Section("audits", "Audits", blocks)


def _row(one: dict[str, Any]) -> list[Text]:
    exact = one["kind"] == "implementation"
    least = short(one["epsilon"] if exact else one["epsilon_lower"])
    delta = f" (delta {short(one['claimed_delta'])})" if one["claimed_delta"] else ""
    return [
        Code(one["target"]),
        f"{epsilon(one['claimed_epsilon'])}{delta}",
        f"{least}{' (exact)' if exact and one['exact'] else ''}",
        Badge(one["verdict"] or "no claim"),
        "–" if exact else short(one["detectable_epsilon"]),
        f"{one['words']:,} words" if exact else f"{one['samples_used']:,}",
    ]


def _one(one: dict[str, Any], place: int) -> list[Block]:
    blocks: list[Block] = [Heading(one["target"], f"audit-{place}")]
    if one["about"]:
        blocks.append(Paragraph(one["about"]))
    if one["kind"] == "implementation":
        words = [pair["worst"]["words"] for pair in one["pairs"] if pair["worst"]]
        return [*blocks, *(Paragraph(["Output: ", Code(line)]) for line in words)]
    blocks.append(Paragraph(["Witness: ", Code(one["witness"]["words"])]))
    floor = one["coverage_floor"]
    missed = "no other event was searched" if floor >= 1 else f"events rarer than {floor:.2g} may have been missed"
    delta = f" Delta at the claimed epsilon is at least {short(one['delta_lower'])}." if one["delta_lower"] else ""
    blocks.append(Paragraph(f"Confidence {short(one['confidence'], 10)}, seed {one['seed']}; {missed}.{delta}", "note"))
    return blocks + [Paragraph(note, "note") for note in one["notes"]]
