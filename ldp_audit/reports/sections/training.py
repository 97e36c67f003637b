"""Training: accuracy beside the exact epsilon."""

from __future__ import annotations

from typing import Any

from ldp_audit.reports import training_page
from ldp_audit.reports.blocks import Block, CaptionedTable, Heading, Paragraph, Picture, Section
from ldp_audit.reports.sections.numbers import many


def training(report: dict[str, Any]) -> Section | None:
    """Each experiment: its settings, tables and figures."""
    found = report["training"]
    if not found:
        return None
    blocks: list[Block] = [Paragraph(_lead(found), "lead")]
    for place, one in enumerate(found, start=1):
        blocks.append(Heading(training_page.title(one["results"]), f"training-{place}"))
        blocks += [Paragraph(line) for line in training_page.about(one["results"])]
        for table in training_page.tables(one["results"]):
            name = f"training-{place}-{table.title.lower().replace(' ', '-')}"
            blocks += [
                Heading(table.title, name, 2),
                CaptionedTable(_caption(one, table.title), table.rows[0], table.rows[1:]),
            ]
        blocks += [Picture(figure) for figure in one["figures"]]
    return Section("training", "Training", blocks)


def _lead(found: list[dict[str, Any]]) -> str:
    runs = sum(len(one["results"]["runs"]) for one in found)
    return (
        f"{many(runs, 'training run')}: the accuracy of the last round beside the epsilon of the whole run, exact and "
        "as the paper counts it."
    )


def _caption(one: dict[str, Any], title: str) -> str:
    return f"{title} of {training_page.title(one['results']).lower()}"
