"""The whole report as linked pages: no network, no script but the filter of the claims' list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment

from ldp_audit.reports import document, wording
from ldp_audit.reports.blocks import Badge, CaptionedTable, ClaimLink, FoundLink, Heading, Section, spans
from ldp_audit.reports.html import environment
from ldp_audit.reports.page_names import claim_pages, paper_pages

_MENU = {
    "index": "Summary",
    "claims": "Claims",
    "matrix": "Verdicts",
    "mechanisms": "Mechanisms",
    "implementation": "Implementation",
    "audits": "Audits",
    "accounting": "Accounting",
    "training": "Training",
}


def pages(report: dict[str, Any], sections: Sequence[Section]) -> dict[str, str]:
    """Every page by its path in the report's folder, and their style sheet."""
    made = _environment(report)
    shown = {*(section.key for section in sections), *(["claims"] if report["claims"] else [])}
    menu = [(key, words) for key, words in _MENU.items() if key in shown] if len(shown) > 1 else []
    names: dict[str, Any] = made.globals
    names["menu"] = menu
    files = {"style.css": _style(made)}
    for section in sections:
        files[f"{section.key}.html"] = _section(made, report, section)
    if report["claims"]:
        files["claims.html"] = _claims(made, report)
    files |= {name: _paper(made, report, key) for key, name in paper_pages(report["papers"]).items()}
    return files | _each_claim(made, report)


def _environment(report: dict[str, Any]) -> Environment:
    made = environment()
    found = claim_pages(report["claims"])
    made.filters.update(
        spans=spans,
        tone=_tone,
        claim_page=lambda one: found[_key(one)],
        filters=_filters,
        heading_id=heading_id,
        finder=_finder,
    )
    return made


def _tone(badge: Badge) -> str:
    return (badge.tone or badge.text).replace(" ", "-")


def heading_id(heading: Heading) -> str:
    """An id that is unique on the page: letters and digits unchanged, other characters by their codes."""
    return "at-" + "".join(one if one.isascii() and one.isalnum() else f"-{ord(one):x}-" for one in heading.name)


def _key(one: Any) -> tuple[str, str]:
    return (one.paper, one.id) if isinstance(one, ClaimLink) else (one["paper"], one["id"])


def _filters(link: FoundLink) -> str:
    wanted = {name: value for name, value in (("paper", link.paper), ("verdict", link.verdict)) if value}
    return f"#{urlencode(wanted)}" if wanted else ""


def _finder(one: Any) -> Callable[[str], FoundLink]:
    paper = one["papers"][0]["key"] if isinstance(one, dict) else one.paper
    return lambda verdict: FoundLink("", paper, verdict)


def _style(made: Environment) -> str:
    return "".join(made.get_template(name).render() for name in ("report.css", "site.css"))


def _page(made: Environment, template: str, report: dict[str, Any], path: str, title: str, /, **more: Any) -> str:
    root = "../" * path.count("/")
    given = {"description": f"{title}: {wording.counted(report)}", "current": path.removesuffix(".html")}
    written = {
        "menu": made.globals["menu"],
        "root": root,
        "title": title,
        "tool": report["tool"],
        "claims": bool(report["claims"]),
        **given,
        **more,
    }
    return made.get_template(template).render(written)


def _section(made: Environment, report: dict[str, Any], section: Section) -> str:
    papers = report["papers"] if section.key == "index" and not document.is_own(report) else []
    more = {"section": section, "papers": papers, "paper_pages": paper_pages(report["papers"])}
    return _page(made, "section.html.j2", report, f"{section.key}.html", section.title, **more)


def _claims(made: Environment, report: dict[str, Any]) -> str:
    verdicts = [word for word in wording.VERDICTS if any(one["verdict"] == word for one in report["claims"])]
    whose = list(dict.fromkeys(one["source"] for one in report["claims"]))
    return _page(
        made, "claims.html.j2", report, "claims.html", "All claims", report=report, verdicts=verdicts, whose=whose
    )


def _paper(made: Environment, report: dict[str, Any], key: str) -> str:
    part = document.of_paper(report, key)
    path, paper = paper_pages(report["papers"])[key], part["papers"][0]
    own = [one for one in part["claims"] if one["source"] == "paper"]
    others = [one for one in part["claims"] if one["source"] != "paper"]
    given = {
        "listing": _listing("Its claims, in order", own, key) if own else None,
        "beside": _listing("No claims of the paper: what we asked beside them", others, key) if others else None,
    }
    return _page(made, "paper.html.j2", report, path, paper["title"], paper=paper, part=part, **given)


def _listing(caption: str, claims: list[dict[str, Any]], paper: str) -> CaptionedTable:
    """Claims with their verdicts, coloured where they are the paper's own."""
    rows: list[list[Any]] = [
        [
            ClaimLink(one["id"], paper),
            f"{one['statement']} ({one['place']})",
            Badge(wording.tagged(one), one["verdict"] if one["source"] == "paper" else "beside"),
        ]
        for one in claims
    ]
    return CaptionedTable(caption, ["claim", "statement", "verdict"], rows)


def _each_claim(made: Environment, report: dict[str, Any]) -> dict[str, str]:
    paths = [claim_pages(report["claims"])[_key(one)] for one in report["claims"]]
    names, papers = paper_pages(report["papers"]), {paper["key"]: paper for paper in report["papers"]}
    near = [{"id": one["id"], "page": path} for one, path in zip(report["claims"], paths, strict=True)]
    files = {}
    for place, (claim, path) in enumerate(zip(report["claims"], paths, strict=True)):
        files[path] = _page(
            made,
            "claim_page.html.j2",
            report,
            path,
            f"{claim['id']}: {claim['verdict']}",
            claim=claim,
            paper=papers[claim["paper"]],
            paper_page=names[claim["paper"]],
            meaning=wording.VERDICTS[claim["verdict"]],
            sources=wording.SOURCES,
            before=near[place - 1] if place else None,
            after=near[place + 1] if place + 1 < len(near) else None,
        )
    return files
