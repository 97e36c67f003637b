"""Accounting: the exact epsilon of each protocol beside the paper's."""

from __future__ import annotations

from typing import Any

from ldp_audit.reports.blocks import (
    Badge,
    Block,
    CaptionedTable,
    ClaimLink,
    Heading,
    Items,
    Paragraph,
    Picture,
    Section,
    Span,
    Text,
)
from ldp_audit.reports.sections.numbers import ends, epsilon, grouped, many, short


def accounting(report: dict[str, Any]) -> Section | None:
    """One table over all protocols, then each in every convention."""
    found = report["accounting"]
    if not found:
        return None
    lead = (
        f"What {many(len(found), 'protocol')} spend in all, at delta = {short(found[0]['delta'])}: the exact "
        "composition, reports by name; without names, where they are shuffled; and what the paper says of the whole "
        "run. An interval is certain."
    )
    head = ["protocol", "neighbours", "the paper says", "exact, if reports carry names", "exact, if they are shuffled"]
    head += ["sum of the parts"]
    rows = [
        [*(one["protocol"][key] for key in ("name", "adjacency")), *spent(one), epsilon(total(one, "basic"))]
        for one in found
    ]
    blocks: list[Block] = [Paragraph(lead, "lead"), CaptionedTable("Epsilon of everything", head, rows, scrolls=True)]
    for one in found:
        blocks += _one(one, {claim["id"]: claim["paper"] for claim in report["claims"]})
    return Section("accounting", "Accounting", blocks)


def spent(one: dict[str, Any]) -> list[str]:
    """Of a whole protocol: the paper's epsilon, the exact one, and the shuffled one."""
    claimed = one["claimed"]
    says = "no number" if claimed is None or claimed["epsilon"] is None else _at(claimed["epsilon"], claimed["delta"])
    return [says, *(_of(one, key) for key in ("exact", "shuffled"))]


def total(one: dict[str, Any], key: str) -> Any:
    """The epsilon of one convention; None where it does not apply."""
    return next((found["epsilon"] for found in one["totals"] if found["key"] == key), None)


def _of(one: dict[str, Any], key: str) -> str:
    found = next((found for found in one["totals"] if found["key"] == key), None)
    if found is None:
        return "–"
    if found["epsilon"] == "inf" and one["least_delta"] > one["delta"]:
        return f"infinite, for any delta below {short(one['least_delta'], 4)}"
    return ends((found["lower"], found["epsilon"]))


def _bounds_or_upper(one: dict[str, Any], found: dict[str, Any]) -> str:
    """An upper bound alone, or both bounds where the convention has them."""
    return epsilon(found["epsilon"]) if found["lower"] is None else _of(one, found["key"])


def _at(value: float, delta: float) -> str:
    return f"{epsilon(value)} (delta {short(delta, 4)})" if delta else epsilon(value)


def _one(one: dict[str, Any], papers: dict[str, str]) -> list[Block]:
    protocol = one["protocol"]
    about = f"{protocol['source']}. " if protocol["source"] else ""
    about += f"Protects one {protocol['unit']}; neighbours: {protocol['adjacency']}; delta = {short(one['delta'])}."
    shuffled = any(cost["shuffled"] for cost in one["scopes"])
    head = ["epsilon of", "uses", "pure", "at delta, with names", *(["at delta, shuffled"] if shuffled else [])]
    costs = [
        [cost["name"], grouped(str(cost["uses"])), epsilon(cost["pure"]), ends(cost["by_name"])]
        + ([ends(cost["shuffled"])] if shuffled else [])
        for cost in [*(one["steps"] if len(one["steps"]) > 1 else ()), *one["scopes"]]
    ]
    rows = [
        [
            found["key"],
            _bounds_or_upper(one, found),
            short(found["delta"]),
            found["says"],
        ]
        for found in one["totals"]
    ]
    blocks: list[Block] = [
        Heading(protocol["name"], one["key"]),
        Paragraph(about),
        CaptionedTable(f"Costs of {protocol['name']}", head, costs),
        CaptionedTable(
            f"Everything in {protocol['name']}, by convention", ["convention", "epsilon", "delta", "how"], rows
        ),
    ]
    if one["figure"]:
        blocks.append(Picture(one["figure"]))
    if one["paper"]:
        blocks += [Heading("The paper says", f"{one['key']}-paper", 2), Items([_said(c, papers) for c in one["paper"]])]
    if one["meaning"]:
        blocks += [Heading("What it means", f"{one['key']}-means", 2), Items(one["meaning"])]
    rests = [*one["assumptions"], *protocol["notes"]]
    return blocks + ([Heading("Rests on", f"{one['key']}-rests", 2), Items(rests)] if rests else [])


def _said(claim: dict[str, Any], papers: dict[str, str]) -> Text:
    value = "" if claim["epsilon"] is None else f": epsilon {_at(claim['epsilon'], claim['delta'])}"
    found: list[Span] = [f"{claim['says']}{value}."]
    for name, verdict in claim["claims"].items():
        found += [" ", ClaimLink(name, papers[name]) if name in papers else name, " ", Badge(verdict)]
    return [*found, f" {claim['instead']}"] if claim["instead"] else found
