"""What reports that should be unlinkable give away: attacks, each with its exact or bounded success."""

from ldp_audit.linkage.arrivals import Arrivals
from ldp_audit.linkage.assign_by_time import TimeLinks, assign_by_time
from ldp_audit.linkage.attacks import attacks
from ldp_audit.linkage.attribution import Attribution, table
from ldp_audit.linkage.by_identifier import (
    full_models,
    name_by_channel,
    name_by_identifier,
    tell_pair_by_identifier,
)
from ldp_audit.linkage.by_time import (
    exposed_reports,
    find_late_report,
    link_two_clients,
    name_report,
    name_reports_of_id,
    start_interval,
    tell_pair,
    tell_start,
)
from ldp_audit.linkage.by_value import (
    OwnRange,
    ValueLinks,
    link_by_value,
    name_by_value,
    ranges_of,
    ranges_shown,
)
from ldp_audit.linkage.linked_pairs import LinkedPairs, linked_pairs
from ldp_audit.linkage.random_starts import name_report_normal_errors, name_report_uniform_errors
from ldp_audit.linkage.simulate_arrivals import simulate_arrivals
from ldp_audit.linkage.timing_table import TimingRow, timing_table

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
