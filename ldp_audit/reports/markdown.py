"""The report as Markdown: the same content as the HTML, for a review, an issue or a diff."""

from __future__ import annotations

import re
from typing import Any

from ldp_audit.reports import wording


def render(report: dict[str, Any]) -> str:
    """The whole report. Figures are linked as figures/NAME.svg."""
    blocks = [_heading(report), _table(report)]
    blocks += [mechanism_chapter(law) for paper in report["papers"] for law in paper["mechanisms"]]
    blocks += [figure_chapter(figure) for figure in report["figures"]]
    blocks += [claim_chapter(claim) for claim in report["claims"]]
    blocks.append(footer(report))
    return "\n\n".join(blocks) + "\n"


def _heading(report: dict[str, Any]) -> str:
    lines = ["# Proof-check report"]
    for paper in report["papers"]:
        about = ", ".join(part for part in (paper["authors"], paper["venue"]) if part)
        lines.append(f"\n**{plain(paper['title'])}**{' — ' + plain(about) if about else ''}")
    counts = ", ".join(f"{count} {verdict}" for verdict, count in report["summary"].items())
    failed = [f"\nNot settled, as it is not well formed: {plain(error)}" for error in report["failed"]]
    return "\n".join([*lines, f"\n{wording.counted(report)}: {counts}.", *failed])


def _table(report: dict[str, Any]) -> str:
    rows = ["| claim | place | verdict | engine | seconds |", "|---|---|---|---|---|"]
    for claim in report["claims"]:
        cells = [f"[{plain(claim['id'])}](#{anchor(claim['id'])})", plain(claim["place"]), plain(wording.tagged(claim))]
        rows.append(f"| {' | '.join(cells)} | {claim['engine']} | {claim['seconds']:.3f} |")
    return "\n".join(rows)


def mechanism_chapter(law: dict[str, Any]) -> str:
    """A mechanism of the claims: its definition and its variables."""
    return f"## Mechanism: {plain(law['name'])}\n\n{formula(law['latex'])}\n\n{plain(wording.where(law))}"


def figure_chapter(figure: dict[str, Any]) -> str:
    """A figure, linked, with its caption."""
    caption = f"*{plain(figure['caption'])}*"
    return (
        f"## Figure: {plain(figure['title'])}\n\n![{plain(figure['alt'])}](figures/{figure['name']}.svg)\n\n{caption}"
    )


def claim_chapter(claim: dict[str, Any]) -> str:
    """One claim with all its evidence."""
    lines = [
        f"## {plain(claim['id'])}",
        "",
        f"**{wording.badge(claim)}** · {plain(claim['place'])}",
        "",
        plain(claim["statement"]),
    ]
    if claim["latex"]:
        lines += ["", formula(claim["latex"])]
    notes = [wording.SOURCES[claim["source"]]]
    notes += [f"Assumed: {text}." for text in claim["assumptions"]]
    notes += [f"Rests on: {text}." for text in claim["rests_on"]]
    notes += [f"Sizes covered: {claim['evidence']['sizes']}."] if claim["evidence"]["sizes"] else []
    lines += [f"\n{plain(note)}" for note in notes if note]
    lines += ["", f"Read as: {plain(claim['reading'])}"] if claim["reading"] else []
    lines += _group(wording.as_stated(claim), claim["evidence"]["parts"])
    if claim["condition"]:
        lines += _group(f"Under the assumption: {plain(claim['condition'])}", claim["evidence"]["condition"])
        lines += _group("Which is a restriction", claim["evidence"]["narrower"])
    lines += ["", plain(f"Looked for in: {claim['looked'].rstrip('.')}.")] if claim["looked"] else []
    if claim["another"]:
        title = f"Another statement, which does not count for the verdict: {plain(claim['another'].rstrip('.'))}"
        lines += _group(title, claim["evidence"]["another"])
    lines += _group("Why it is worth nothing", claim["evidence"]["void"])
    if claim["corrected"]:
        verdict = f" ({claim['corrected']['verdict']})" if claim["corrected"]["verdict"] else ""
        lines += ["", f"**Corrected{verdict}.** {plain(claim['corrected']['statement'])}"]
        lines += ["", formula(claim["corrected"]["latex"])] if claim["corrected"]["latex"] else []
        lines += _group("", claim["evidence"]["corrected"])
    if claim["evidence"]["argument"]:
        lines += ["", f"Argument: {plain(claim['evidence']['argument'])}"]
    if claim.get("experiments"):
        lines += ["", wording.EXPERIMENTS, "", *(f"- {plain(line)}" for line in claim["experiments"])]
    return "\n".join([*lines, "", f"Engine: {claim['engine']}; {claim['seconds']:.3f} s."])


def _group(title: str, parts: list[dict[str, Any]]) -> list[str]:
    if not parts:
        return []
    lines = ["", f"{title}:", ""] if title else [""]
    for part in parts:
        lines.append(f"- {plain(part['label'] or 'part')}: **{part['verdict']}** ({part['engine']})")
        lines.append(f"  - {code(wording.formal(part))}")
        lines.append(f"  - {code(wording.explain(part))}")
    return lines


def footer(report: dict[str, Any]) -> str:
    """The program and versions that made the report."""
    tool = report["tool"]
    others = ", ".join(f"{name} {number}" for name, number in tool.items() if name not in ("name", "version"))
    made_by = f"Made by {tool['name']} {tool['version']} ({others})."
    mark = wording.digest(report["claims"])
    return f"---\n\n{made_by} Recheck the proofs: `ldp-audit recheck report.json`. Digest of the claims: {mark}."


def plain(text: str) -> str:
    """Text escaped for Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|$])", r"\\\1", text.replace("\n", " "))


def code(text: str) -> str:
    """Text as inline code, with sufficient delimiters."""
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{' '.join(text.splitlines())}{fence}"


def formula(latex: str) -> str:
    """Displayed mathematics; as code if the LaTeX would end it early."""
    return code(latex) if "$" in latex or "\n\n" in latex else f"$${latex}$$"


def anchor(name: str) -> str:
    """The anchor of a heading on most sites."""
    return re.sub(r"[^\w-]", "", name.lower())
