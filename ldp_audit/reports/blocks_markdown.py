"""Sections as Markdown: the same blocks as the pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldp_audit.reports import markdown
from ldp_audit.reports.blocks import (
    Badge,
    Block,
    CaptionedTable,
    ClaimLink,
    Code,
    Formula,
    FoundLink,
    Heading,
    Items,
    Listing,
    Mathematics,
    Paragraph,
    Picture,
    Section,
    SectionLink,
    Shares,
    Span,
    Strip,
    Strong,
    Text,
    Tiles,
    spans,
)
from ldp_audit.reports.markdown import anchor, code, formula, plain


def render(report: dict[str, Any], sections: Sequence[Section]) -> str:
    """The whole report: the sections, the papers' figures, then claim by claim."""
    parts = [_section(section) for section in sections]
    parts += [markdown.mechanism_chapter(law) for paper in report["papers"] for law in paper["mechanisms"]]
    parts += [markdown.figure_chapter(figure) for figure in report["figures"]]
    parts += [markdown.claim_chapter(claim) for claim in report["claims"]]
    return "\n\n".join([*parts, markdown.footer(report)]) + "\n"


def _section(section: Section) -> str:
    mark = "#" if section.key == "index" else "##"
    heading = f'<a id="section-{section.key}"></a>\n\n{mark} {plain(section.title)}'
    return "\n\n".join([heading, *(_block(block) for block in section.blocks)])


def _block(one: Block) -> str:
    match one:
        case Paragraph():
            return text(one.text)
        case Heading():
            return f"{'#' * (one.level + 2)} {plain(one.text)}"
        case CaptionedTable():
            return _table(one)
        case Items():
            return "\n".join(f"- {text(item)}" for item in one.items)
        case Formula():
            return formula(one.latex)
        case Listing():
            return f"{plain(one.words)}:\n\n" + "\n".join(f"    {line}" for line in one.source.splitlines())
        case Picture():
            name, alt = one.figure["name"], plain(one.figure["alt"])
            title, caption = plain(one.figure["title"]), plain(one.figure["caption"])
            return f"![{alt}](figures/{name}.svg)\n\n**{title}.** {caption}"
        case Shares():
            return ", ".join(f"{count} {verdict}" for verdict, count in one.counts.items()) + "."
        case Tiles():
            lines = ((tile.link, f" {tile.name} ({tile.place}): ", Badge(tile.verdict)) for tile in one.tiles)
            return "\n".join(f"- {text(line)}" for line in lines)


def _table(one: CaptionedTable) -> str:
    lines = [f"*{plain(one.caption)}*", "", f"| {' | '.join(map(plain, one.head))} |", f"|{'---|' * len(one.head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(text(cell) for cell in row)} |" for row in one.rows)])


def text(parts: Text) -> str:
    """Spans on one line; nothing in them is markup."""
    return "".join(_span(one) for one in spans(parts))


def _span(one: Span) -> str:
    match one:
        case str():
            return plain(one)
        case ClaimLink():
            return f"[{plain(one.id)}](#{anchor(one.id)})"
        case SectionLink():
            return f"[{plain(one.text)}](#section-{one.section})"
        case Badge() | Strong():
            return f"**{plain(one.text)}**"
        case Mathematics() | Strip():
            return plain(one.words)
        case Code():
            return code(one.text).replace("|", r"\|")
        case FoundLink():
            return plain(one.text)
