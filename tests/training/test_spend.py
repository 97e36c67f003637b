"""What runs spend: the exact numbers and the paper's."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from ldp_audit.accounting.protocols.protocol import Protocol, Shuffling, Step
from ldp_audit.accounting.protocols.protocol_file import load_protocol
from ldp_audit.accounting.protocols.protocol_report import account
from ldp_audit.mechanisms import FiniteChannel
from ldp_audit.training.spend import claim_of, protocol_spend, spend_of, spend_values

LDP_FL = Protocol(
    "small",
    (Step("TwoPoint(epsilon=1)", ("rounds", "dimensions"), shuffling=Shuffling(3)),),
    rounds=2,
    dimensions=3,
    paper="ldp-fl",
)


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


def test_a_mechanism_that_cannot_be_hashed_is_accounted_for_all_the_same():
    """Would catch an account that asks for a hash of a matrix."""
    channel = FiniteChannel([[0.75, 0.25], [0.25, 0.75]])
    found = protocol_spend(Protocol("a channel", (Step(channel, ("rounds",)),), rounds=2))
    assert found["everything"]["pure"] == pytest.approx(2 * math.log(3))
    assert found["claimed"] is None


def test_a_run_that_protects_nothing_spends_nothing_that_could_be_said():
    """Would catch a crash where protocol() is None."""

    class Bare:
        def protocol(self):
            return None

    assert spend_of(Bare()) is None


@pytest.mark.slow
def test_shuffled_ends_are_the_reports():
    """Would catch ends of another scope: each of the three has its own."""
    found, report = protocol_spend(LDP_FL), account(LDP_FL)
    scopes = {"one use": "one use of each step", "one round": "one round", "everything": "everything"}
    for key, name in scopes.items():
        (expected,) = [one.to_dict() for one in report.scopes if one.name == name]
        assert found[key] == {part: expected[part] for part in ("uses", "pure", "by_name", "shuffled")}
    assert [found[key]["uses"] for key in scopes] == [1, 3, 6]
    assert spend_values(found)["shuffled"] < spend_values(found)["exact"] <= spend_values(found)["pure"] == 6
