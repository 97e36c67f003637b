"""The mechanisms: definition, exact epsilon, bias, variance, and the implemented epsilon."""

from __future__ import annotations

from typing import Any

from ldp_audit.reports.blocks import Block, CaptionedTable, Code, Formula, Heading, Paragraph, Picture, Section
from ldp_audit.reports.sections.numbers import many, short


def mechanisms(report: dict[str, Any]) -> Section | None:
    """One table over all, then each with its formulas."""
    found = report["mechanisms"]
    if not found:
        return None
    off = [one["name"] for one in found if one["claimed_epsilon"] not in (None, one["exact_epsilon"])]
    beyond = f" In {many(len(off), 'case')} the exact epsilon is not the one calibrated to: {', '.join(off)}."
    lead = (
        f"{many(len(found), 'mechanism')}, each defined once as an exact distribution, from which everything below is "
        "derived. Calibrated to: the requested epsilon. Exact: the tight epsilon. Implemented: that "
        f"of the shipped finite-precision sampler.{beyond if off else ''}"
    )
    rows = [
        [
            Code(one["example"]),
            short(one["claimed_epsilon"]),
            short(one["exact_epsilon"]),
            short(one["implemented_epsilon"]),
            *_moments(one),
        ]
        for one in found
    ]
    head = ["mechanism", "calibrated to", "exact epsilon", "implemented", "bias there", "variance there"]
    blocks: list[Block] = [
        Paragraph(lead, "lead"),
        CaptionedTable("Epsilons, and moments at the worst input", head, rows),
    ]
    for one in found:
        blocks += _one(one)
    return Section("mechanisms", "Mechanisms", blocks)


def _moments(one: dict[str, Any]) -> list[str]:
    """Bias and variance at the first worst input; dashes where reports are not numbers of the input's shape."""
    if not one["moments"]:
        return ["–", "–"]
    first = one["moments"][0]
    return ["–" if first["bias"] is None else short(first["bias"]), short(first["variance"])]


def _one(one: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = [
        Heading(one["name"], one["name"]),
        Paragraph(one["summary"]),
        Formula(one["law"], f"law of {one['name']}"),
        Paragraph(f"{one['letters']}.", "note"),
    ]
    rows = [
        ("Exact epsilon", one["epsilon_latex"]),
        ("Bias", one["bias_latex"]),
        ("Variance", one["variance_latex"]),
    ]
    for name, latex in rows:
        if latex:
            blocks += [Paragraph(f"{name}:"), Formula(latex, f"{name.lower()} of {one['name']}")]
    if one["composed"]:
        blocks.append(Paragraph(f"Exact epsilon: {one['composed']}."))
    elif not one["epsilon_latex"]:
        blocks.append(Paragraph("Exact epsilon: infinite. Some delta is needed."))
    pair = " and ".join(short(x) for x in one["worst_pair"])
    blocks.append(Paragraph(["Worst pair of ", Code(one["example"]), f": {pair}."]))
    blocks.append(Picture(one["figure"]))
    if one["source"]:
        blocks.append(Paragraph(f"Source: {one['source']}", "note"))
    return blocks
