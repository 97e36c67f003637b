"""The whole report: papers, mechanisms, implementation findings, audits, accounting, training, in every form."""

from __future__ import annotations

from typing import Any

from ldp_audit.reports import blocks_markdown, html, junit, site
from ldp_audit.reports.figures import svg
from ldp_audit.reports.page_names import is_figure_name
from ldp_audit.reports.sections import all_sections
from ldp_audit.reports.write import as_json


def rendered(report: dict[str, Any], fail_on: str | None = None) -> dict[str, str]:
    """Every file by its path: the pages, report.md, report.json, junit.xml, figures; for claims report.html too.

    report: from `document.build`, with lists (possibly empty) "mechanisms", "implementation", "audits", "accounting"
        and "training".   fail_on: the verdicts that fail in junit.xml, a key of `junit.FAILING`.
    Raises ValueError for a figure whose name is no file name, and for two figures of one name.
    """
    sections = all_sections(report)
    files = {f"figures/{figure['name']}.svg": svg(figure) + "\n" for figure in _figures(report)}
    files |= site.pages(report, sections)
    if report["claims"]:
        files["report.html"] = html.render(report)
    files["junit.xml"] = junit.render(report, fail_on)
    files["report.md"] = blocks_markdown.render(report, sections)
    files["report.json"] = as_json(report)
    return files


def _figures(report: dict[str, Any]) -> list[dict[str, Any]]:
    found = [*report["figures"], *(one["figure"] for one in report["mechanisms"])]
    found += [one["figure"] for one in report["accounting"] if one["figure"]]
    found += [one["figure"] for paper in report["papers"] for one in paper["mechanisms"] if "figure" in one]
    found += [figure for one in report["training"] for figure in one["figures"]]
    names = [figure["name"] for figure in found]
    for name in names:
        if not is_figure_name(name):
            raise ValueError(f"a figure's name must be letters, digits, - and _, got {name!r}")
        if names.count(name) > 1:
            raise ValueError(f"figures must have names of their own, got {name!r} twice")
    return found
