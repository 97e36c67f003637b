"""Linking reports by their arrival times: the information in clients' offsets despite LDP-FL's random delays.

A report of client u arrives uniformly on [s_u, s_u + T] (`Arrivals`). LDP-FL (Section 3.1.2) assumes equal starts,
where times carry no information: every attack below is then exactly at chance. Otherwise, with q = D/T for two starts
at distance D <= T (derivations ours):

* One report alone: the best guess is right with probability (1/n) int max_u f_u = |union of the windows| / (n T), where
  f_u is the density of client u's times; for two clients (1 + q) / 2.
* All n reports of an id, one for each client: a guess is an assignment, and all possible ones are equally likely.
  Reveal the senders outside the time common to all windows: the m remaining reports are exchangeable, so the expected
  number of right names among them is 1. Each report misses the common time with probability w = min(1, spread / T): at
  most a share w + (1 - w^n) / n of the names is right. Two clients attain it, and so does the search for the report of
  one client that starts apart from n - 1 others: q (no other's can arrive there) + (1 - q) E[1 / (1 + Bin(n - 1, 1 -
  q))].
* d reports known to be of one client, whose start is s_1 or s_2: total variation 1 - (1 - q)^d.
* Two clients, d ids: an id is resolved with probability r = 1 - (1 - q)^2; all resolved ones are linked, the others are
  guesses: the best partition into clients is right with probability ((1 + r) / 2)^d + ((1 - r) / 2)^d.
* Two reports: the joint density of their times, for one sender or two, is constant on pairs of cells (`Arrivals`).

Random offsets, as from errors of prediction: LDP-FL's waiting time T_W = T_S - t_LC - t_C uses predicted times. If
their errors are i.i.d. with distribution function F, a time t is in no client's window with probability (1 - F(t) + F(t
- T))^n, so the expected length of the union of the windows, and with it the success of naming one report from its time
and the starts, is

    (1/(n T)) int 1 - (1 - F(t) + F(t - T))^n dt.

For errors uniform on an interval of length L, whose n - 1 spacings exceed x with probability (1 - x/L)^n each, it is
1/n + (n-1)/n L/(T (n+1)) (1 - (1 - T/L)_+^(n+1)). (Derivations ours; Section 3.1.2 predicts without error.)

Possible senders of each report, given arrival times and known starts (`assign_by_time`), where each client sends one
report of an id: in the order of arrival and of starts, the k-th report fits the k-th client (any two in the wrong order
can be exchanged). Where report k precedes the start of client k + 1, or report k + 1 follows client k's window, no
assignment crosses from the first k to the rest: one that did would have some report i <= k from a client v > k, so t_k
>= t_i >= s_v >= s_(k+1), and likewise t_(k+1) <= s_k + T. Everywhere else the two can be exchanged. The order thus
falls into blocks: a report in a block of its own is attributed with certainty, and the expected number of right guesses
in each block is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.special import betainc, ndtr

from ldp_audit.mechanisms.inputs import finite
from ldp_audit.numerics import between, instance
from ldp_audit.papers.ldp_fl.attacks.attribution import Arrivals, Attribution, exact_number, power, whole_number


def name_report(arrivals: Arrivals, d: int = 1) -> Attribution:
    """Name the client of one report by its time alone; the server knows the starts. Exact, for every d >= 1."""
    instance(arrivals, Arrivals, "arrivals", "Arrivals")
    n, reports = arrivals.n, whole_number("d", d)
    exposed = sum(arrivals.exposed(), Fraction(0)) / n
    success = arrivals.covered() / n
    return Attribution("by time, one report", n, n * reports, success, Fraction(1, n), exposed, exact=True)


def name_reports_of_id(arrivals: Arrivals) -> Attribution:
    """Name the clients of the n reports of one id by all their times: the expected share of right names.

    Exact for two clients and for equal starts; otherwise between `name_report` and the bound w + (1 - w**n) / n.
    `exposed` is then that of a report by its own time alone, a lower bound, as the others' times can expose it too.
    """
    instance(arrivals, Arrivals, "arrivals", "Arrivals")
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

    The best guess is the report that only this client can have sent, else any in the common time.
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
    """Decide whether two reports of different ids are one client's, by their times. Exact.

    same: the prior probability that they are, in (0, 1), for n >= 2; all clients, or pairs of them, equally likely.
    exposed: the share of pairs that are decided with certainty.
    """
    instance(arrivals, Arrivals, "arrivals", "Arrivals")
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
    """Partition the reports of two clients, d >= 1 ids each, by all times. Exact; `exposed` is r for each id."""
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
    """Decide from one client's d >= 1 reports which of two starts it has. Exact; `exposed` is 1 - (1 - q)**d."""
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
    """The probability that at least `at_least` >= 1 of a client's d reports arrive alone: a binomial tail."""
    reports, least = whole_number("d", d), whole_number("at_least", at_least)
    q = float(1 - _overlap(offset, window))
    return float(betainc(least, reports - least + 1, q)) if least <= reports else 0.0


def start_interval(times: ArrayLike, window: float) -> tuple[float, float]:
    """The possible starts of a client whose reports arrived at these times: [max - T, min], up to rounding.

    times: of one client, shape (d,), d >= 1.   The mean length is 2 T / (d + 1): the earliest of d reports is later
        than the start by more than x with probability (1 - x / T)**d. Raises ValueError where no window contains all
        times.
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
    """1 - q: the overlap of two windows `offset` apart, as a share of one."""
    return 1 - min(Arrivals.one_late(2, offset, window).spread(), Fraction(1))


def name_report_uniform_errors(n: int, length: Any, window: Any) -> Attribution:
    """Name a report's client where starts are known and uniform on an interval of this length >= 0. Exact."""
    clients, spread = whole_number("n", n), _share("length", length, window)
    short = max(Fraction(0), 1 - 1 / spread) if spread else Fraction(0)
    gap = spread * (1 - power(short, clients + 1)) / (clients + 1)
    return Attribution(
        attack="by time, one report, starts uniformly random",
        clients=clients,
        reports=clients,
        success=(1 + (clients - 1) * gap) / clients,
        chance=Fraction(1, clients),
        exposed=_alone(clients, float(spread)) if clients > 1 else Fraction(1),
        exact=True,
    )


def name_report_normal_errors(n: int, sigma: float, window: float) -> Attribution:
    """Name a report's client where starts are known and normal, sigma >= 0; `bounds`: of the quadrature."""
    clients, scale = whole_number("n", n), float(_share("sigma", sigma, window))
    exposed, success, error = Fraction(1, 1) if clients == 1 else 0.0, 1 / clients, 0.0
    if scale > 0:
        success, error = _integral(lambda t: _covered(_within(t, scale), clients), scale)
        # starts spread over many windows: each probability is a difference of two close numbers, rounded
        success, error = min(1.0, success / clients), error / clients + success / clients * scale * 2.0**-50
        exposed = min(1.0, _integral(lambda t: _single(_within(t, scale), clients), scale)[0])
    return Attribution(
        attack="by time, one report, starts normally random",
        clients=clients,
        reports=clients,
        success=success,
        chance=Fraction(1, clients),
        exposed=exposed,
        exact=scale == 0,
        bounds=(max(0.0, success - error), min(1.0, success + error)),
        note="by quadrature",
    )


def _share(name: str, length: Any, window: Any) -> Fraction:
    spread, whole = exact_number(name, length), exact_number("window", window)
    if spread < 0 or whole <= 0:
        raise ValueError(f"{name} must be >= 0 and window > 0, got {length!r} and {window!r}")
    share = spread / whole
    between(share, f"{name} / window", "in the range of floats", math.isfinite)
    return share


def _within(t: float, scale: float) -> float:
    """The probability that one client's window, of length 1, contains the time t."""
    early, late = (t - 1, t) if t < 0.5 else (-t, 1 - t)  # of two mirror images, the one without cancellation
    return float(ndtr(late / scale) - ndtr(early / scale))


def _covered(share: float, n: int) -> float:
    return 1.0 if share >= 1 else -math.expm1(n * math.log1p(-share))


def _single(share: float, n: int) -> float:
    """The probability, over n, that exactly one of n windows contains a time, each with probability `share`."""
    return share * (1 - share) ** (n - 1)


def _integral(value: Any, scale: float) -> tuple[float, float]:
    """The integral over all times, in pieces that resolve the steep edges of the window."""
    reach = 40 * scale
    points = sorted({-reach, -8 * scale, 0.0, 8 * scale, 0.5, 1 - 8 * scale, 1.0, 1 + 8 * scale, 1 + reach})
    points = [point for point in points if -reach <= point <= 1 + reach]
    pieces = [quad(value, a, b, limit=200) for a, b in pairwise(points)]
    return float(np.sum([piece[0] for piece in pieces])), float(np.sum([piece[1] for piece in pieces]))


def _alone(n: int, spread: float) -> float:
    """The share of reports in their client's window only, for starts uniform on an interval of this length."""
    if spread == 0:
        return 0.0

    def single(t: float) -> float:
        return _single(max(0.0, min(t, spread) - max(t - 1, 0.0)) / spread, n)

    ends = sorted({0.0, min(1.0, spread), max(1.0, spread), 1 + spread})
    return min(1.0, float(sum(quad(single, a, b, limit=200)[0] for a, b in pairwise(ends))))


@dataclass(frozen=True)
class TimeLinks:
    """The possible senders of each report; arrays of the shape of the times.

    order: the clients, as numbered in `starts`, in the order of their starts.
    first, candidates: a report's candidates are the `candidates` clients from position `first` of this order.
    """

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    candidates: NDArray[np.int64]

    @property
    def clients(self) -> NDArray[np.int64]:
        """The only possible sender, or -1 where there are several."""
        return np.where(self.candidates == 1, self.order[self.first], -1)

    def guess(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """A uniform, independent choice among each report's candidates: right with probability 1 / candidates."""
        instance(rng, np.random.Generator, "rng", "a numpy.random.Generator")
        return self.order[self.first + rng.integers(self.candidates)]

    @property
    def exposed(self) -> float:
        """The share of reports attributed with certainty."""
        return float(np.mean(self.candidates == 1))

    @property
    def success(self) -> float:
        """The expected share of right names for a uniform guess among the candidates, a lower bound on the best."""
        return float(np.mean(1 / self.candidates))


def assign_by_time(times: ArrayLike, starts: ArrayLike, window: float, *, tolerance: float = 0.0) -> TimeLinks:
    """The candidates of each report.

    times: shape (ids, n), for each id the arrivals of its n reports, one for each client, in any order; or shape
        (reports,), if ids are unknown or reports are missing: each is then treated alone.
    starts: of each client's window, shape (n,).   window: T > 0, in the same unit.
    tolerance: >= 0; extends windows at both ends, for clocks that round.
    Raises ValueError for other shapes, and where a report, or the n of an id, fit no clients.
    """
    arrived, begin = finite("times", times), finite("starts", starts)
    length, slack = float(exact_number("window", window)), float(exact_number("tolerance", tolerance))
    if begin.ndim != 1 or begin.size == 0:
        raise ValueError(f"starts must have shape (n,) with n >= 1, got {begin.shape}")
    if arrived.ndim not in (1, 2) or (arrived.ndim == 2 and arrived.shape[1] != begin.size):
        raise ValueError(f"times must have shape (ids, {begin.size}) or (reports,), got {arrived.shape}")
    if not (length > 0 and slack >= 0):
        raise ValueError(f"window must be positive and tolerance >= 0, got window={window!r}, tolerance={tolerance!r}")
    order = np.argsort(begin, kind="stable")
    opens, closes = begin[order] - slack, begin[order] + length + slack
    if arrived.ndim == 1:
        first, last = _windows_around(arrived, opens, closes)
        return TimeLinks(order, first, last - first)
    ranks = np.argsort(arrived, axis=1, kind="stable")
    sorted_first, sorted_last = _blocks(np.take_along_axis(arrived, ranks, axis=1), opens, closes)
    first, last = np.empty_like(ranks), np.empty_like(ranks)
    np.put_along_axis(first, ranks, sorted_first, axis=1)
    np.put_along_axis(last, ranks, sorted_last, axis=1)
    return TimeLinks(order, first, last - first)


def _windows_around(times: Any, opens: Any, closes: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The clients first .. last - 1, in the order of starts, whose windows contain each time."""
    first = np.searchsorted(closes, times, side="left").astype(np.int64)
    last = np.searchsorted(opens, times, side="right").astype(np.int64)
    if np.any(first >= last):
        raise ValueError(f"times must lie in some client's window, got {float(times[first >= last][0])!r}")
    return first, last


def _blocks(times: Any, opens: Any, closes: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The candidates first .. last - 1 of each of the reports of an id, in order: those of its block that it fits."""
    if np.any((times < opens) | (times > closes)):
        row = int(np.argmax(np.any((times < opens) | (times > closes), axis=1)))
        raise ValueError(f"times must fit one report to each client in every row, row {row} does not")
    places = np.arange(len(opens))
    cut = (times[:, :-1] < opens[1:]) | (times[:, 1:] > closes[:-1])
    begins = np.zeros(times.shape, dtype=np.int64)
    begins[:, 1:] = np.where(cut, places[1:], 0)
    finishes = np.full(times.shape, len(opens), dtype=np.int64)
    finishes[:, :-1] = np.where(cut, places[1:], len(opens))
    begins = np.maximum.accumulate(begins, axis=1)
    finishes = np.minimum.accumulate(finishes[:, ::-1], axis=1)[:, ::-1]
    first, last = _windows_around(times, opens, closes)
    return np.maximum(first, begins), np.minimum(last, finishes)
