"""The privacy spend of a run as its results record it: the paper's claim, the exact values, and other conventions.

`spend_of(run)` condenses `accounting.account` of the run's protocol. An account takes from a fraction of a second (no
shuffling) to 10 s (shuffled reports) or a minute (a million weights at a large epsilon); a sweep accounts for each of
its distinct protocols once (`experiment`).

    {"protocol": {"name", "source", "unit", "adjacency", "notes"}, "delta": 1e-05, "paper_key": "ldp-fl" or None,
     "claimed": {"epsilon", "delta", "says", "claims"} or None,     the paper's own number for the whole run
     "one use", "one round", "everything": {"uses", "pure", "by_name": [lower, upper], "shuffled": likewise or None},
     "conventions": [{"key", "says", "epsilon", "lower", "delta"}, ...], "paper": [the paper's sentences, ...],
     "least_delta", "meaning", "assumptions", "seconds"}

Infinities are the text "inf", as JSON has none. Upper bounds are certified, lower bounds too; their distance is the
error.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ldp_audit.accounting.protocols.paper_claims import paper_claims
from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.accounting.protocols.protocol_report import ProtocolReport, account

if TYPE_CHECKING:
    from ldp_audit.training.pipeline import Run

DELTA = 1e-5
"""The delta of every epsilon that is not pure."""

SCOPES = ("one use", "one round", "everything")

_WHOLE_RUN_CLAIM = {"ldp-fl": -1, "fedsel": -1, "fedmd-nfdp": 0}
"""Index of the paper's claim about the whole run. FedMD-LDP has none: the paper states an order of magnitude."""

_WIDTH = 1e-2
"""Nats: largest distance of the certified bounds; amplification by shuffling is known to a few percent only."""


def spend_of(run: Run, *, delta: float = DELTA, progress: Callable[[str], None] | None = None) -> dict[str, Any] | None:
    """What the run spends; None if nothing in it is private. The module lists the keys.

    delta: in (0, 1).   progress: called with a line before each longer part.
    Raises ValueError for another delta, and if the paper's accounting does not fit the protocol.
    """
    protocol = run.protocol()
    return None if protocol is None else protocol_spend(protocol, delta=delta, progress=progress)


def protocol_spend(
    protocol: Protocol, *, delta: float = DELTA, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """What a protocol spends."""
    start = time.perf_counter()
    report = account(protocol, delta=delta, width=_WIDTH, progress=progress)
    whole = report.to_dict()
    return {
        "protocol": whole["protocol"],
        "delta": delta,
        "paper_key": protocol.paper,
        "claimed": claim_of(protocol),
        **_scopes(report),
        "conventions": whole["totals"],
        "paper": whole["paper"],
        "least_delta": whole["least_delta"],
        "meaning": whole["meaning"],
        "assumptions": whole["assumptions"],
        "seconds": time.perf_counter() - start,
    }


def claim_of(protocol: Protocol | None) -> dict[str, Any] | None:
    """The paper's claim for the whole run, the key "claimed" of the module; None if the paper makes none."""
    if protocol is None or protocol.paper is None or protocol.paper not in _WHOLE_RUN_CLAIM:
        return None
    whole = paper_claims(protocol)[_WHOLE_RUN_CLAIM[protocol.paper]].to_dict()
    return {key: whole[key] for key in ("epsilon", "delta", "says", "claims")}


def spend_values(spend: dict[str, Any]) -> dict[str, float]:
    """Finite numbers of the whole run that a figure may use as its axis.

    "claimed": the paper's epsilon.   "pure": exact pure epsilon.   "exact", "shuffled": upper bounds at the spend's
    delta, for reports by name and shuffled.   "least delta": the delta below which no epsilon holds, if above 0.
    """
    everything, claimed = spend["everything"], spend["claimed"]
    found = {
        "claimed": None if claimed is None else claimed["epsilon"],
        "pure": everything["pure"],
        "exact": everything["by_name"][1],
        "shuffled": None if everything["shuffled"] is None else everything["shuffled"][1],
        "least delta": spend["least_delta"] or None,
    }
    return {key: float(value) for key, value in found.items() if value is not None and math.isfinite(float(value))}


def _scopes(report: ProtocolReport) -> dict[str, dict[str, Any]]:
    """All three scopes by name; the report omits a scope that equals a larger one."""
    given = {one.name.removesuffix(" of each step"): one.to_dict() for one in report.scopes}
    found: dict[str, dict[str, Any]] = {}
    larger: dict[str, Any] = {}
    for scope in reversed(SCOPES):
        larger = given.get(scope, larger)
        found[scope] = {key: larger[key] for key in ("uses", "pure", "by_name", "shuffled")}
    return {scope: found[scope] for scope in SCOPES}
