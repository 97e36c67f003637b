r"""Linking reports by their arrival times: what an offset between clients gives away of LDP-FL's random delays.

A report of client u arrives at a time uniform on [s_u, s_u + T] (`Arrivals`). LDP-FL (Section 3.1.2) argues with equal
starts, where times carry nothing: every attack below is then exactly at chance. Otherwise, with q = D/T for two starts
that are D <= T apart, (derivations ours)

* One report alone: the best guess is right with probability (1/n) int max_u f_u = |union of the windows| / (n T), where
  f_u is the density of client u's times; for two clients (1 + q) / 2.
* All n reports of an id, one a client: a guess is an assignment, and all possible ones are equally likely. Reveal who
  sent what outside the time common to all windows: m reports are left, exchangeable, so that 1 of them is guessed. Each
  report misses the common time with probability w = min(1, spread / T): at most w + (1 - w^n) / n of the names are
  right. Two clients attain it, and so does the search for the report of one client that starts apart from n - 1 others:
  q (it falls where no other's can) + (1 - q) E[1 / (1 + Bin(n - 1, 1 - q))].
* d reports known to be of one client, whose start is s_1 or s_2: total variation 1 - (1 - q)^d.
* Two clients, d ids: an id is resolved with probability r = 1 - (1 - q)^2; all resolved ones are linked, of the others
  each is a coin: the best partition into clients is right with ((1 + r) / 2)^d + ((1 - r) / 2)^d.
* Two reports: the law of their two times, sent by one client or by two, is constant on pairs of cells (`arrivals`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from ldp_audit.linkage.arrivals import Arrivals, exact_number, whole_number
from ldp_audit.linkage.attribution import Attribution, power
from ldp_audit.mechanisms.inputs import finite


def name_report(arrivals: Arrivals, d: int = 1) -> Attribution:
    """Name the client of one report by its time alone; the server knows the starts. Exact.

    d: reports a client, >= 1; the share does not depend on it.
    """
    n, reports = arrivals.n, whole_number("d", d)
    exposed = sum(arrivals.exposed(), Fraction(0)) / n
    success = arrivals.covered() / n
    return Attribution("by time, one report", n, n * reports, success, Fraction(1, n), exposed, exact=True)


def name_reports_of_id(arrivals: Arrivals) -> Attribution:
    """Name the clients of the n reports of one id by all their times: the expected share of right names.

    Exact for two clients and for equal starts; otherwise between what `name_report` achieves and what revealing all
    reports outside the common time would: w + (1 - w**n) / n. `exposed` is then that of a report by its own time alone:
    the others' times can expose it too, so it is a lower bound as well.
    """
    n, alone = arrivals.n, name_report(arrivals)
    spread = min(arrivals.spread(), Fraction(1))
    most = spread + (1 - power(spread, n)) / n
    known = n <= 2 or most == alone.success
    return Attribution(
        attack="by time, all reports of an id",
        clients=n,
        reports=n,
        success=most if known else alone.success,
        chance=Fraction(1, n),
        exposed=2 * spread - spread**2 if n == 2 else alone.exposed,
        exact=known,
        bounds=None if known else (alone.success, most),
        note="" if known else "success and exposure are lower bounds",
    )


def find_late_report(n: int, offset: Any, window: Any) -> Attribution:
    """Find one client's report among the n of an id, where it starts `offset` after (or before) all others. Exact.

    The best guess: the report that only this client can have sent; else any of those in the common time.
    exposed: the share of its reports that arrive where no other's can, q = min(1, |offset| / window).
    """
    arrivals = Arrivals.one_late(n, offset, window)
    q = min(arrivals.spread(), Fraction(1))
    success = q + (1 - power(q, n)) / n
    note = "of the client that starts apart from the others"
    exposed = q if n > 1 else Fraction(1)
    return Attribution(
        "by time, find one client's report", n, n, success, Fraction(1, n), exposed, exact=True, note=note
    )


def tell_pair(arrivals: Arrivals, same: Any = Fraction(1, 2)) -> Attribution:
    """Say of two reports of different ids whether they are one client's, by their two times. Exact.

    same: how often such pairs are one client's, in (0, 1), for n >= 2; all clients, or pairs of them, equally likely.
    exposed: the share of pairs that are settled without doubt.
    """
    prior, n = exact_number("same", same), arrivals.n
    if not 0 < prior < 1 or n < 2:
        raise ValueError(f"same must lie in (0, 1) and there must be two clients, got same={same!r}, {n} clients")
    cells = list(arrivals.cells())
    unit = math.lcm(*(cell.length.denominator for cell in cells))
    lengths = [int(cell.length * unit) for cell in cells]
    one, two = prior / n, (1 - prior) / (n * (n - 1))
    scale = math.lcm(one.denominator, two.denominator)
    of_one, of_two = int(one * scale), int(two * scale)
    right = settled = 0
    for i, first in enumerate(cells):
        for j, second in enumerate(cells[: i + 1]):
            shared = max(0, second.last - first.first)
            both = of_one * shared, of_two * (first.clients * second.clients - shared)
            mass = lengths[i] * lengths[j] * (1 if i == j else 2)
            right += mass * max(both)
            settled += mass * sum(both) if 0 in both else 0
    whole = scale * (arrivals.window * unit) ** 2
    return Attribution(
        attack="by time, do two reports share a client",
        clients=n,
        reports=2,
        success=Fraction(right) / whole,
        chance=max(prior, 1 - prior),
        exposed=Fraction(settled) / whole,
        exact=True,
        note="" if prior != Fraction(1, 2) else "as many pairs of one client as of two",
    )


def link_two_clients(offset: Any, window: Any, d: int) -> Attribution:
    """Part the reports of two clients, d >= 1 ids each, into those of one and those of the other, by all times. Exact.

    exposed: the probability r that the two reports of an id are told apart.
    """
    ids, miss = whole_number("d", d), _overlap(offset, window) ** 2
    success = power(1 - miss / 2, ids) + power(miss / 2, ids)
    return Attribution(
        attack="by time, part two clients' reports",
        clients=2,
        reports=2 * ids,
        success=success,
        chance=power(Fraction(1, 2), ids - 1),
        exposed=1 - miss,
        exact=True,
    )


def tell_start(offset: Any, window: Any, d: int) -> Attribution:
    """Say from all d >= 1 reports of one client which of two clients it is, whose starts are `offset` apart. Exact.

    exposed: the probability that it is beyond doubt, the total variation of the two laws, 1 - (1 - q)**d.
    """
    reports = whole_number("d", d)
    unseen = power(_overlap(offset, window), reports)
    note = "reports known to share a client, by value or channel"
    return Attribution(
        "by time, whose are these reports",
        2,
        reports,
        1 - unseen / 2,
        Fraction(1, 2),
        1 - unseen,
        exact=True,
        note=note,
    )


def exposed_reports(offset: Any, window: Any, d: int, at_least: int = 2) -> float:
    """The probability that so many of a client's d reports arrive where no other's can: a binomial tail.

    offset: against all other clients.   at_least: >= 1; from two on, reports are linked to each other.
    """
    reports, least = whole_number("d", d), whole_number("at_least", at_least)
    q = float(1 - _overlap(offset, window))
    return float(betainc(least, reports - least + 1, q)) if least <= reports else 0.0


def start_interval(times: ArrayLike, window: float) -> tuple[float, float]:
    """Where a client must have started whose reports arrived at these times: [max - T, min], up to rounding.

    times: of one client, shape (d,), d >= 1.   Its mean length is 2 T / (d + 1): that the earliest of d reports misses
    the start by more than x has the probability (1 - x / T)**d. Raises ValueError where no window holds all times.
    """
    arrived, length = finite("times", times), exact_number("window", window)
    if arrived.ndim != 1 or arrived.size == 0:
        raise ValueError(f"times must have shape (d,) with d >= 1, got {arrived.shape}")
    if length <= 0:
        raise ValueError(f"window must be positive, got {window!r}")
    earliest, latest = float(np.min(arrived)), float(np.max(arrived))
    if Fraction(latest) - Fraction(earliest) > length:
        raise ValueError(f"times must lie within one window of {window!r}, got some from {earliest!r} to {latest!r}")
    return float(Fraction(latest) - length), earliest


def _overlap(offset: Any, window: Any) -> Fraction:
    """1 - q: the share of a window that a window `offset` apart holds too."""
    return 1 - min(Arrivals.one_late(2, offset, window).spread(), Fraction(1))
