"""Clients chosen at random for a round: what that protects from whom.

LDP-FL's cloud selects k of its n clients in each round, and so do FedSel's and FedMD's servers: who asks a client for a
report knows that it takes part. A selected client has then spent its whole loss, and one that is not selected nothing;
sampling amplifies nothing. It does so only against somebody who sees no more than what is computed from all selected
clients' reports together, and to whom the selection is kept secret.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.accounting.sampling.subsample import Adjacency, subsample
from ldp_audit.losses.budget_arguments import as_float, whole

Observer = Literal["selects", "sees the result"]

_ROUNDED = 4
"""By so many units in the last place a fraction may differ from that of a whole number of clients."""

_UNIT = "unit: one client's whole data, in one round"
_SELECTED = "the observer selects the clients, so sampling hides nobody: the loss is that of a client that takes part"
_RESULT = (
    "the observer sees only what is computed from all selected clients' reports together, which the loss given is of"
)


def sampled_clients(
    mechanism: Any,
    *,
    clients: int,
    selected: int | None = None,
    fraction: float | None = None,
    observer: Observer,
    adjacency: Adjacency = "replace",
) -> PrivacyLoss:
    """What one round spends of a client's data if a random part of the clients takes part.

    mechanism: a mechanism or a loss. Against "selects", that of one client's reports of the round; against "sees the
        result", that of the result, between rounds in which one selected client is replaced by another.
    clients: how many there are.   selected: how many take part, without replacement; or fraction: this part of all,
        which must be a whole number of clients.
    observer: "selects", who chooses the clients or sees their single reports (LDP-FL's cloud), or "sees the result".
    adjacency: between clients' data that are replaced, or of clients that are there or not.
    Raises ValueError for anything else.
    """
    if observer not in get_args(Observer):
        raise ValueError(f"observer must be 'selects' or 'sees the result', got {observer!r}")
    if adjacency not in get_args(Adjacency):
        raise ValueError(f"adjacency must be add/remove or replace, got {adjacency!r}")
    taking_part = _selected(clients, selected, fraction)
    if observer == "sees the result":
        loss = subsample(mechanism, kind="without", n=clients, k=taking_part, adjacency=adjacency)
        return PrivacyLoss(loss.directions, (*loss.assumptions, _RESULT, _UNIT))
    if not taking_part:
        return subsample(mechanism, rate=0.0)
    loss = privacy_loss(mechanism)
    return PrivacyLoss(loss.directions, (*loss.assumptions, _SELECTED, _UNIT))


def _selected(clients: int, selected: int | None, fraction: float | None) -> int:
    """How many clients take part."""
    count = whole(clients, "clients")
    if (selected is None) == (fraction is None):
        raise ValueError(
            f"one of selected and fraction must be given, got selected={selected!r}, fraction={fraction!r}"
        )
    if fraction is None:
        return whole(selected, "selected", 0, count)
    part = as_float(fraction)
    found = round(part * count) if 0 <= part <= 1 else None
    if found is None or abs(found / count - part) > _ROUNDED * math.ulp(part):
        raise ValueError(f"fraction must be in [0, 1] and a whole number of the {count} clients, got {fraction!r}")
    return found
