"""What a run spends, as its results record it: claimed by the paper, exact, and in every other convention.

`spend_of(run)` is `accounting.account` of the run's protocol, made short. A sweep's runs share few protocols, and one
takes from a fraction of a second (no shuffling) over some 10 s (shuffled reports) to a minute (a million weights at a
large epsilon): each distinct one is accounted for once in a process, whatever it is called.

    {"protocol": {"name", "source", "unit", "adjacency", "notes"}, "delta": 1e-05, "paper_key": "ldp-fl" or None,
     "claimed": {"epsilon", "delta", "says", "claims"} or None,     the paper's own number for all of the run
     "one use", "one round", "everything": {"uses", "pure", "by_name": [lower, upper], "shuffled": likewise or None},
     "conventions": [{"key", "says", "epsilon", "lower", "delta"}, ...], "paper": [the paper's sentences, ...],
     "least_delta", "meaning", "assumptions", "seconds"}

Infinities are written as text, "inf", as JSON has none. Upper ends hold; a lower one says how near they are.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ldp_audit.accounting.protocols.paper_conventions import paper_claims
from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.accounting.protocols.protocol_report import ProtocolReport, account

if TYPE_CHECKING:
    from ldp_audit.training.pipeline import Run

DELTA = 1e-5
"""Where an epsilon is not pure, this is its delta."""

SCOPES = ("one use", "one round", "everything")

_OF_THE_RUN = {"ldp-fl": -1, "fedsel": -1, "fedmd-nfdp": 0}
"""Which of a paper's sentences is about all of a run. FedMD-LDP has none: the paper gives an order of magnitude."""

_WIDTH = 1e-2
"""Nats: how far apart certified ends may be; what others' reports hide is known to a few percent only."""

_KNOWN: dict[tuple[Protocol, float], dict[str, Any]] = {}


def spend_of(run: Run, *, delta: float = DELTA, progress: Callable[[str], None] | None = None) -> dict[str, Any] | None:
    """What the run spends; None where nothing in it is private. See the module for the keys.

    delta: in (0, 1).   progress: called with a line before each longer part.
    Raises ValueError for another delta, and where the paper's accounting does not fit the protocol.
    """
    protocol = run.protocol()
    return None if protocol is None else protocol_spend(protocol, delta=delta, progress=progress)


def protocol_spend(
    protocol: Protocol, *, delta: float = DELTA, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """The same for a protocol."""
    nameless = replace(protocol, name="protocol", source="", notes=())
    try:
        found = _KNOWN.get((nameless, delta))
    except TypeError:  # a mechanism that cannot be hashed, such as one with a matrix: it is not remembered
        found = _accounted(nameless, delta, progress)
    if found is None:
        found = _KNOWN.setdefault((nameless, delta), _accounted(nameless, delta, progress))
    named = {"name": protocol.name, "source": protocol.source, "notes": list(protocol.notes)}
    found = copy.deepcopy(found)
    return found | {"protocol": found["protocol"] | named}


def claim_of(protocol: Protocol | None) -> dict[str, Any] | None:
    """What the protocol's paper says that the whole run spends: "claimed" of the module; None where it says nothing."""
    if protocol is None or protocol.paper is None or protocol.paper not in _OF_THE_RUN:
        return None
    whole = paper_claims(protocol)[_OF_THE_RUN[protocol.paper]].to_dict()
    return {key: whole[key] for key in ("epsilon", "delta", "says", "claims")}


def spend_values(spend: dict[str, Any]) -> dict[str, float]:
    """The numbers of the whole run that a figure may have as its axis, but for infinite and unknown ones.

    "claimed": epsilon by the paper.   "pure": exact.   "exact", "shuffled": at the spend's delta, by name and without
    names, never too small.   "least delta": below which no epsilon holds, where that is above 0.
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


def _accounted(protocol: Protocol, delta: float, progress: Callable[[str], None] | None) -> dict[str, Any]:
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


def _scopes(report: ProtocolReport) -> dict[str, dict[str, Any]]:
    """All three by name: the report leaves out those that are the same as a larger one."""
    given = {one.name.removesuffix(" of each step"): one.to_dict() for one in report.scopes}
    found: dict[str, dict[str, Any]] = {}
    larger: dict[str, Any] = {}
    for scope in reversed(SCOPES):
        larger = given.get(scope, larger)
        found[scope] = {key: larger[key] for key in ("uses", "pure", "by_name", "shuffled")}
    return {scope: found[scope] for scope in SCOPES}
