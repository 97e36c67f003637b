"""What runs spend: the exact numbers and the paper's."""

from __future__ import annotations

import math

import pytest

from ldp_audit.accounting.protocols.protocol import Protocol, Shuffling, Step
from ldp_audit.accounting.protocols.protocol_report import account
from ldp_audit.mechanisms import FiniteChannel
from ldp_audit.training.spend import protocol_spend, spend_of, spend_values

SHUFFLED = Protocol(
    "small",
    (Step("TwoPoint(epsilon=1)", ("rounds", "dimensions"), shuffling=Shuffling(3)),),
    rounds=2,
    dimensions=3,
)


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
    found, report = protocol_spend(SHUFFLED), account(SHUFFLED)
    scopes = {"one use": "one use of each step", "one round": "one round", "everything": "everything"}
    for key, name in scopes.items():
        (expected,) = [one.to_dict() for one in report.scopes if one.name == name]
        assert found[key] == {part: expected[part] for part in ("uses", "pure", "by_name", "shuffled")}
    assert [found[key]["uses"] for key in scopes] == [1, 3, 6]
    assert spend_values(found)["shuffled"] < spend_values(found)["exact"] <= spend_values(found)["pure"] == 6
