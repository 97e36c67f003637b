"""What runs of the papers' protocols spend, beside what each paper claims for the whole run."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ldp_audit.accounting.protocols.protocol_file import load_protocol
from ldp_audit.accounting.protocols.protocol_report import account
from ldp_audit.training.spend import claim_of, protocol_spend, spend_values
from tests.training.test_spend import SHUFFLED

LDP_FL = replace(SHUFFLED, paper="ldp-fl")


def test_fedsel_records_the_budget_beside_what_is_spent():
    """Would catch another sentence of the paper taken for the whole run's, and a wrong scope."""
    protocol = load_protocol("fedsel-adult")
    found, report = protocol_spend(protocol), account(protocol)
    assert found["claimed"]["epsilon"] == 2
    assert found["everything"]["by_name"][1] == report.total("exact").epsilon
    assert found["one use"] == found["one round"] == found["everything"], "one epoch of one round"
    assert found["everything"]["pure"] > 2, "PE's selection has more than its share"
    assert spend_values(found)["exact"] == report.total("exact").epsilon


def test_fedmd_nfdp_has_a_delta_that_no_epsilon_helps():
    """Would catch an infinite number in JSON, and a claim without its delta."""
    found = json.loads(json.dumps(protocol_spend(load_protocol("fedmd-nfdp-cifar10-60")), allow_nan=False))
    values = spend_values(found)
    assert found["everything"]["pure"] == "inf"
    assert values["least delta"] == found["claimed"]["delta"] == pytest.approx(1 - (299 / 300) ** 60)
    assert "exact" not in values, "an infinite number has no place on an axis"


def test_ldp_fl_claims_epsilon_for_all_of_it():
    """Would catch T d epsilon or d epsilon taken for what the paper claims of its shuffled protocol."""
    found = claim_of(LDP_FL)
    assert found is not None
    assert (found["epsilon"], found["delta"]) == (1, 0)
    assert claim_of(replace(LDP_FL, paper=None)) is None
    assert claim_of(None) is None
    assert claim_of(load_protocol("fedmd-ldp")) is None, "the paper gives an order of magnitude alone"
