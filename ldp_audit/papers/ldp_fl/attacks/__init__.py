"""Attacks on reports that should be unlinkable, with their exact or bounded success probabilities."""

from ldp_audit.papers.ldp_fl.attacks.attacks import attacks
from ldp_audit.papers.ldp_fl.attacks.attribution import Arrivals, Attribution, table
from ldp_audit.papers.ldp_fl.attacks.by_identifier import (
    full_models,
    name_by_channel,
    name_by_identifier,
    tell_pair_by_identifier,
)
from ldp_audit.papers.ldp_fl.attacks.by_time import (
    TimeLinks,
    assign_by_time,
    exposed_reports,
    find_late_report,
    link_two_clients,
    name_report,
    name_report_normal_errors,
    name_report_uniform_errors,
    name_reports_of_id,
    start_interval,
    tell_pair,
    tell_start,
)
from ldp_audit.papers.ldp_fl.attacks.by_value import (
    LinkedPairs,
    OwnRange,
    ValueLinks,
    link_by_value,
    linked_pairs,
    name_by_value,
    ranges_of,
    ranges_shown,
)
from ldp_audit.papers.ldp_fl.attacks.simulate_arrivals import TimingRow, simulate_arrivals, timing_table

__all__ = [
    "Arrivals",
    "Attribution",
    "LinkedPairs",
    "OwnRange",
    "TimeLinks",
    "TimingRow",
    "ValueLinks",
    "assign_by_time",
    "attacks",
    "exposed_reports",
    "find_late_report",
    "full_models",
    "link_by_value",
    "link_two_clients",
    "linked_pairs",
    "name_by_channel",
    "name_by_identifier",
    "name_by_value",
    "name_report",
    "name_report_normal_errors",
    "name_report_uniform_errors",
    "name_reports_of_id",
    "ranges_of",
    "ranges_shown",
    "simulate_arrivals",
    "start_interval",
    "table",
    "tell_pair",
    "tell_pair_by_identifier",
    "tell_start",
    "timing_table",
]
