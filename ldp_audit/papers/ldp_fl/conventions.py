"""LDP-FL's own accounting of its protocol (Section 4), with the verdicts on it."""

from __future__ import annotations

import math

from ldp_audit.accounting.protocols.paper_claims import PaperClaim, only_step
from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.numerics import as_float

VERDICTS = {
    "LF-CURSE": "REFUTED",
    "LF-EPSTOT": "REFUTED",
    "LF-MODEL": "REFUTED",
    "LF-SEQ": "PROVED",
    "LF-UNLINK": "REFUTED",
}
"""The engines' verdicts, by claim; a test holds them to what the engines reach."""


def _on(*claims: str) -> dict[str, str]:
    return {claim: VERDICTS[claim] for claim in claims}


def ldp_fl(protocol: Protocol) -> tuple[PaperClaim, ...]:
    """T d epsilon by name, d epsilon with model shuffling, epsilon with parameter shuffling.

    Raises ValueError for a mechanism without an epsilon, and for more than one step.
    """
    step = only_step(protocol)
    epsilon = as_float(getattr(protocol.mechanisms[0], "epsilon", None))
    if math.isnan(epsilon):
        raise ValueError(f"LDP-FL's accounting needs a mechanism with an epsilon, got {protocol.mechanisms[0]!r:.200}")
    every, a_round = protocol.times(step), protocol.times(step, without=("rounds",))
    return (
        PaperClaim("without shuffling, the budget grows to T d epsilon", every * epsilon, 0.0, _on("LF-SEQ")),
        PaperClaim(
            "model shuffling reduces it to d epsilon",
            a_round * epsilon,
            0.0,
            _on("LF-MODEL"),
            "The pure epsilon stays T d epsilon, for any number of clients.",
        ),
        PaperClaim(
            "parameter shuffling leaves epsilon, for nothing can be linked",
            epsilon,
            0.0,
            _on("LF-UNLINK", "LF-CURSE", "LF-EPSTOT"),
            "The anonymous counts add up over weights and rounds; see 'shuffled' above.",
        ),
    )
