"""The papers' protocols as files: each says where it is from, and LDP-FL's have its numbers."""

from __future__ import annotations

import re
from typing import Any

from ldp_audit.accounting.protocols.protocol import Shuffling
from ldp_audit.accounting.protocols.protocol_file import load_protocol, shipped
from ldp_audit.papers.ldp_fl.attacks.membership_simulation import SETTINGS
from tests.together import together


@together("name", shipped())
def test_every_shipped_protocol_reads_and_says_where_it_is_from(name: str) -> None:
    protocol = load_protocol(name)
    assert protocol.source
    assert protocol.paper
    assert all(step.name for step in protocol.steps)


@together("setting", SETTINGS)
def test_ldp_fls_files_have_the_papers_numbers_and_an_assumed_network(setting: Any) -> None:
    protocol = load_protocol("ldp-fl-" + re.sub("-", "", setting.data.lower()))
    (step,) = protocol.steps
    assert (step.shuffling, protocol.rounds) == (Shuffling(setting.n, "parameter"), setting.rounds)
    assert protocol.mechanisms[0].epsilon == setting.epsilon
    (network,) = [one for one in setting.networks if one.weights == protocol.dimensions]
    assert network.words in protocol.notes[0]
