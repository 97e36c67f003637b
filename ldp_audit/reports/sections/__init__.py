"""The report's sections, in order: each a function of report.json's data alone; None where there is none of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ldp_audit.reports.blocks import Section
from ldp_audit.reports.sections.accounting import accounting
from ldp_audit.reports.sections.audits import audits
from ldp_audit.reports.sections.implementation import implementation
from ldp_audit.reports.sections.matrix import matrix
from ldp_audit.reports.sections.mechanisms import mechanisms
from ldp_audit.reports.sections.summary import summary
from ldp_audit.reports.sections.training import training

SECTIONS: tuple[Callable[[dict[str, Any]], Section | None], ...] = (
    summary,
    matrix,
    mechanisms,
    implementation,
    audits,
    accounting,
    training,
)


def all_sections(report: dict[str, Any]) -> list[Section]:
    """Every section of which the report has data."""
    return [section for one in SECTIONS if (section := one(report)) is not None]
