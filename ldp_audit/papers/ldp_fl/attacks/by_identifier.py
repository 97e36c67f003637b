"""Linking reports by their labels: the ids of the weights, and the channels on which they arrive.

LDP-FL (Algorithm 3) labels each report with the position of its weight. If each client sends each id once, two reports
of the same id are of different clients, and any two of different ids are one client's with probability 1/n: ids link
nothing. If clients send different ids (partial models, lost reports), a report of an id that k clients send is one of
these k's: the expected share of right names is sum_j k_j (1/k_j) / sum_j k_j, the number of distinct ids over that of
the reports; this is optimal, as an id's reports are exchangeable.

A channel (an address, a connection, metadata) that a client uses more than once links its messages. Section 3.1.2
requires a new one for each client; a new one for each report is needed. (Derivations ours.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import array_of
from ldp_audit.numerics import listed
from ldp_audit.papers.ldp_fl.attacks.attribution import Attribution, whole_number


def name_by_identifier(sent: ArrayLike) -> Attribution:
    """Name a report's client by its id, where the server knows which client sends which ids. Exact.

    sent: which client sends which id, shape (n, d), of bools or 0 and 1.
    chance: always naming the client with most reports.   Raises ValueError for anything else, and without reports.
    """
    who = _incidence(sent)
    senders = who.sum(axis=0)
    reports = int(senders.sum())
    return Attribution(
        attack="by id",
        clients=who.shape[0],
        reports=reports,
        success=Fraction(int(np.sum(senders > 0)), reports),
        chance=Fraction(int(who.sum(axis=1).max()), reports),
        exposed=Fraction(int(np.sum(senders == 1)), reports),
        exact=True,
    )


def full_models(n: int, d: int) -> Attribution:
    """`name_by_identifier` for n clients that send all d ids each: chance, 1/n. Takes constant memory."""
    clients, ids = whole_number("n", n), whole_number("d", d)
    share = Fraction(1, clients)
    exposed = Fraction(int(clients == 1))
    return Attribution("by id, each client sends each once", clients, clients * ids, share, share, exposed, exact=True)


def tell_pair_by_identifier(sent: ArrayLike, first: int, second: int) -> Fraction:
    """The probability that a report of one id and another report, of the same or another id, are one client's.

    sent: as above.   first, second: columns of it. Over all such pairs of different reports, equally likely: 0 for the
        same id; else the number of clients that send both, over the product of the numbers that send each. Raises
        ValueError if there is no such pair.
    """
    who = _incidence(sent)
    for name, column in (("first", first), ("second", second)):
        if whole_number(name, column, least=0) >= who.shape[1]:
            raise ValueError(f"{name} must be an id in 0..{who.shape[1] - 1}, got {column!r}")
    senders = int(who[:, first].sum()), int(who[:, second].sum())
    pairs = senders[0] * (senders[1] - (first == second))
    if pairs <= 0:
        raise ValueError(f"there must be two reports, got {senders[0]} of id {first} and {senders[1]} of id {second}")
    return Fraction(0 if first == second else int(np.sum(who[:, first] & who[:, second])), pairs)


def name_by_channel(channels: Iterable[Iterable[Hashable]]) -> Attribution:
    """Name a report's client by its channel, where the server knows how often each client uses each. Exact.

    channels: for each client, the channel of each of its reports: numbers or text. As `success` is that of the best
        guess given this knowledge, single-use channels count as known too; `linked_pairs` does not need it.
    """
    of = "the channels of each client's reports"
    used = [listed(one, "channels", of) for one in listed(channels, "channels", of)]
    counts: dict[Hashable, dict[int, int]] = {}
    for client, own in enumerate(used):
        for channel in own:
            if not _is_hashable(channel):
                raise ValueError(f"channels must be numbers or text, got {channel!r} of client {client}")
            of_channel = counts.setdefault(channel, {})
            of_channel[client] = of_channel.get(client, 0) + 1
    sizes = [len(own) for own in used]
    if sum(sizes) == 0:
        raise ValueError("channels must hold a report at least, got none")
    reports = sum(sizes)
    right = sum(max(clients.values()) for clients in counts.values())
    exposed = sum(sum(clients.values()) for clients in counts.values() if len(clients) == 1)
    return Attribution(
        attack="by channel",
        clients=len(used),
        reports=reports,
        success=Fraction(right, reports),
        chance=Fraction(max(sizes), reports),
        exposed=Fraction(exposed, reports),
        exact=True,
        note="the server knows who uses which channel",
    )


def _is_hashable(channel: Any) -> bool:
    try:
        hash(channel)
    except TypeError:
        return False
    return True


def _incidence(sent: Any) -> NDArray[np.bool_]:
    given = array_of("sent", sent)
    if given.ndim != 2 or given.dtype.kind not in "biu" or not np.all((given == 0) | (given == 1)):
        raise ValueError(f"sent must have shape (n, d), of bools or 0 and 1, got {given.dtype} of shape {given.shape}")
    if not given.any():
        raise ValueError("sent must have a client that sends an id, got none")
    return given.astype(bool)
