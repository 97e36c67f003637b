"""A paper's own accounting of a protocol, each sentence beside the verdict on it.

A paper registers a function of the protocols that name it (`ldp_audit.conventions` of `registry`). A statement is
repeated as the paper's, with its own numbers; `ldp_audit.claims` settles it under the id that is named, and
`ldp-audit check --only ID` shows the proof or the counterexample. The papers' tests hold the verdicts that are written
here to those that the engines reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ldp_audit import registry
from ldp_audit.accounting.protocols.protocol import Protocol, Step


@dataclass(frozen=True)
class PaperClaim:
    """One sentence of a paper's own accounting.

    epsilon: nats; None where the paper gives an order of magnitude alone.   delta: at which; 0 for pure epsilon.
    claims: the engines' verdicts by the ids of claims.   instead: the correction, where the sentence does not hold, or
    not alone.
    """

    says: str
    epsilon: float | None
    delta: float
    claims: Mapping[str, str]
    instead: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "says": self.says,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "claims": dict(self.claims),
            "instead": self.instead,
        }


def paper_claims(protocol: Protocol) -> tuple[PaperClaim, ...]:
    """The paper's own accounting of this protocol; empty where it names no paper.

    Raises ValueError where the protocol lacks a quantity of the paper's formulas.
    """
    return () if protocol.paper is None else registry.load(registry.CONVENTIONS, protocol.paper)(protocol)


def installed(paper: str) -> str | None:
    """The paper's name if it registers an accounting of its own, else None: a protocol then names no paper."""
    return paper if paper in registry.entries(registry.CONVENTIONS) else None


def only_step(protocol: Protocol) -> Step:
    """The step of a protocol that has one. Raises ValueError for more."""
    steps = list(protocol.steps)
    if len(steps) > 1:
        raise ValueError(f"the accounting of paper {protocol.paper!r} knows one step, got {len(steps)}")
    return steps[0]
