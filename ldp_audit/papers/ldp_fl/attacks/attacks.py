"""The attacks on unlinkability through side channels, at given sizes: by value, by time, by identifier.

LDP-FL (Section 3.1.2) claims that splitting, shuffling and random delays leave every attack at chance. The rows give
the success of each attack when the claim's conditions hold, and when one of them does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ldp_audit.numerics import listed
from ldp_audit.papers.ldp_fl.attacks.attribution import Arrivals, Attribution, whole_number
from ldp_audit.papers.ldp_fl.attacks.by_identifier import full_models
from ldp_audit.papers.ldp_fl.attacks.by_time import (
    exposed_reports,
    find_late_report,
    name_report,
    name_reports_of_id,
    tell_pair,
    tell_start,
)
from ldp_audit.papers.ldp_fl.attacks.by_value import name_by_value, ranges_shown


def attacks(
    n: int,
    d: int,
    rounds: int,
    epsilon: float,
    *,
    window: Any,
    offset: Any,
    radii: Sequence[float] | None = None,
) -> list[Attribution]:
    """The linkage attacks on n clients' reports, d weights over so many rounds; every row exact or bounded.

    The observer knows the mechanism, and the clients' ranges and starts where a row uses them.

    epsilon: nats, > 0, of each report.   window: T > 0, the longest random delay.
    offset: the lag of one client behind all others, in the unit of the window, in every round; or the starts of all n
        clients.
    radii: one for each client, where clients choose their own; n different ones if not given.
    """
    clients, reports = whole_number("n", n), whole_number("d", d) * whole_number("rounds", rounds)
    chosen = range(1, clients + 1) if radii is None else listed(radii, "radii", "one number a client")
    if len(chosen) != clients:
        raise ValueError(f"radii must be one number a client, {clients}, got {len(chosen)}")
    rows = [
        replace(name_by_value([1.0] * clients, epsilon, d=reports), attack="by value, one range for all"),
        replace(name_by_value(chosen, epsilon, d=reports), attack="by value, own ranges"),
        *_own_weights(clients, d, epsilon),
        replace(
            name_report(Arrivals.one_late(clients, 0, window), reports),
            attack="by time, one report, all start together",
        ),
    ]
    rows += _times(clients, reports, window, offset)
    rows += [full_models(clients, reports), _reused_channel(clients, reports)]
    return rows


def _own_weights(n: int, d: int, epsilon: float) -> list[Attribution]:
    if d < 2:
        return []
    shown = ranges_shown(epsilon, d)
    return [
        Attribution(
            attack="by value, least and largest weight of a layer, range of own weights",
            clients=n,
            reports=d,
            success=shown,
            chance=0.0,
            exposed=shown,
            exact=d == 2,
            bounds=None if d == 2 else (shown, 1.0),
            note="d is that of the layer, one round",
        )
    ]


def _times(n: int, reports: int, window: Any, offset: Any) -> list[Attribution]:
    one = np.ndim(offset) == 0
    arrivals = Arrivals.one_late(n, offset, window) if one else Arrivals.of(window, offset)
    if arrivals.n != n:
        raise ValueError(f"offset must be a number or the starts of {n} clients, got {arrivals.n}")
    rows = [name_report(arrivals, reports), name_reports_of_id(arrivals)]
    if n > 1:
        rows.append(tell_pair(arrivals))
    if one and n > 1:
        linked = exposed_reports(offset, window, reports)
        note = "of the client that starts apart from all others, in all rounds"
        rows += [
            find_late_report(n, offset, window),
            Attribution(
                "by time, link two of one client's reports", n, reports, linked, 0.0, linked, exact=True, note=note
            ),
            tell_start(offset, window, reports),
        ]
    return rows


def _reused_channel(n: int, reports: int) -> Attribution:
    """Each client sends all reports on one channel of its own, whose client the server learns once."""
    return Attribution(
        attack="by channel, one for each client",
        clients=n,
        reports=n * reports,
        success=Fraction(1),
        chance=Fraction(1, n),
        exposed=Fraction(1),
        exact=True,
    )
