"""FedSel's own accounting of its protocol (Lemmas 1 to 3, Theorem 3.1), with the verdicts on it."""

from __future__ import annotations

from ldp_audit.accounting.protocols.paper_claims import PaperClaim
from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.mechanisms import ExponentialSelection, PerturbedEncoding, PerturbedSampling

VERDICTS = {
    "FS-EPOCH": "PROVED",
    "FS-L1": "PROVED",
    "FS-L2": "REFUTED",
    "FS-L3": "PROVED",
    "FS-MUB": "PROVED",
    "FS-T31": "PROVED",
    "FS-T31pe": "REFUTED",
}
"""The engines' verdicts, by claim; a test holds them to what the engines reach."""


def _on(*claims: str) -> dict[str, str]:
    return {claim: VERDICTS[claim] for claim in claims}


def fedsel(protocol: Protocol) -> tuple[PaperClaim, ...]:
    """mu epsilon/E for the selection, epsilon/E an epoch, epsilon in all.

    Raises ValueError for a protocol without a split.
    """
    if protocol.split is None:
        raise ValueError("FedSel's accounting needs a [split]")
    budgets, whole = protocol.budgets(), protocol.split.epsilon
    selection = next(
        (m for s, m in zip(protocol.steps, protocol.mechanisms, strict=True) if s.stage == "selection"), None
    )
    published = isinstance(selection, PerturbedEncoding)
    by_kind = ((PerturbedEncoding, "FS-L2"), (ExponentialSelection, "FS-L1"), (PerturbedSampling, "FS-L3"))
    stage = tuple(claim for kind, claim in by_kind if isinstance(selection, kind))
    exact = f"Exactly {selection.exact_epsilon():.6g}." if published else ""
    if protocol.split.mu is not None:
        how = f"mu epsilon/E (mu = {protocol.split.mu:g})"
    else:
        how = f"what the value stage leaves, at most {protocol.split.threshold:g} of an epoch"
    more = "More, by the excess of PE's selection." if published else ""
    return (
        PaperClaim(f"the selection spends {how}", budgets["selection"], 0.0, _on(*stage, "FS-MUB"), exact),
        PaperClaim(
            "selection and value together spend epsilon/E an epoch",
            whole / protocol.epochs,
            0.0,
            _on("FS-T31pe" if published else "FS-T31"),
            more,
        ),
        PaperClaim(
            "E epochs spend epsilon",
            whole,
            0.0,
            _on("FS-EPOCH"),
            "If each record takes part once an epoch and each stage has the epsilon it claims.",
        ),
    )
