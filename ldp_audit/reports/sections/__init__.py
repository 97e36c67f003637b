"""The sections of the whole report, in order: each a function of report.json's data alone."""

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

SECTIONS: tuple[Callable[[dict[str, Any]], Section], ...] = (
    summary,
    matrix,
    mechanisms,
    implementation,
    audits,
    accounting,
    training,
)


def all_sections(report: dict[str, Any]) -> list[Section]:
    """Every section of the report; those without data say so."""
    return [one(report) for one in SECTIONS]
