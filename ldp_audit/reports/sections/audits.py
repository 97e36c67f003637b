"""Audits: lower bounds from the outputs of programs, beside their claims."""

from __future__ import annotations

import math
from typing import Any

from ldp_audit.reports.blocks import (
    Badge,
    Block,
    CaptionedTable,
    Code,
    Heading,
    Listing,
    Paragraph,
    Section,
    Strip,
    Text,
)
from ldp_audit.reports.sections.numbers import epsilon, many, short

_MOST = 2.2
"""The end of the axis, in multiples of the largest claim: bounds beyond are drawn up to it."""

MARKS = (
    "Bar: epsilons that the audit excludes, with its confidence, from 0 on. Upright line: the claim. Circle: the "
    "smallest epsilon at which such an audit would have caught the program. Diamond: the exact epsilon, where the "
    "mechanism is known."
)


def audits(report: dict[str, Any]) -> Section | None:
    """One table over all, then each in words."""
    found = report["audits"]
    if not found:
        return None
    bad = sum(one["verdict"] == "violated" for one in found)
    lead = (
        f"{many(len(found), 'audit')}; {bad} found the claim violated. A bound holds with the stated confidence if "
        "the outputs are independent. Consistent is no proof that a claim holds: each audit states what it may have "
        "missed."
    )
    blocks: list[Block] = [Paragraph(lead, "lead"), *overview(found)]
    for place, one in enumerate(found, start=1):
        blocks += _one(one, place)
    return Section("audits", "Audits", blocks)


def overview(found: list[dict[str, Any]]) -> list[Block]:
    """Every audit as an interval on one axis, with its claim, and in numbers."""
    claims = [float(one["claimed_epsilon"]) for one in found if one["claimed_epsilon"] is not None]
    bounds = [bound for one in found if math.isfinite(bound := _least(one))]
    most = _MOST * max(claims) if claims else 1.1 * max(bounds, default=1.0)
    head = ["program", "epsilon claimed", "epsilons excluded", "epsilon is at least", "verdict"]
    head += ["would be caught from epsilon", "samples"]
    rows = [_row(one, most or 1.0) for one in found]
    return [CaptionedTable("Audits of programs by what they put out", head, rows), Paragraph(MARKS, "note")]


def _least(one: dict[str, Any]) -> float:
    return float(one["epsilon"] if one["kind"] == "implementation" else one["epsilon_lower"])


def _row(one: dict[str, Any], most: float) -> list[Text]:
    exact = one["kind"] == "implementation"
    least = short(one["epsilon"] if exact else one["epsilon_lower"])
    known = (one["claimed_epsilon"], one.get("exact_epsilon"))
    claim, truth = (None if value is None else float(value) for value in known)
    shows = None if exact else float(one["detectable_epsilon"])
    words = f"at least {least}" + ("" if claim is None else f", {short(claim)} claimed")
    strip = Strip(words, most, _least(one), claim, truth, shows)
    delta = f" (delta {short(one['claimed_delta'])})" if one["claimed_delta"] else ""
    return [
        Code(one["target"]),
        f"{epsilon(one['claimed_epsilon'])}{delta}",
        strip,
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
    if source := one["witness"].get("python"):  # files of earlier versions have none
        rule = "Count it yourself" if one["witness"]["complete"] else "The whole rule, as a function that counts it"
        blocks.append(Listing(f"{rule} (Python)", source))
    floor = one["coverage_floor"]
    missed = "no other event was searched" if floor >= 1 else f"events rarer than {floor:.2g} may have been missed"
    delta = f" Delta at the claimed epsilon is at least {short(one['delta_lower'])}." if one["delta_lower"] else ""
    blocks.append(Paragraph(f"Confidence {short(one['confidence'], 10)}, seed {one['seed']}; {missed}.{delta}", "note"))
    return blocks + [Paragraph(note, "note") for note in one["notes"]]
