"""Which clients can have sent which reports, from arrival times and known starts.

Of an id each client sends one report. Put its n reports in the order of arrival and the clients in that of their
starts: the k-th report fits the k-th client (any two in the wrong order can be exchanged). Where report k comes before
client k + 1 starts, or report k + 1 after client k's window, no assignment crosses from the first k to the rest: one
that did would have some report i <= k from a client v > k, so t_k >= t_i >= s_v >= s_(k+1), and likewise t_(k+1) <=
s_k + T. Everywhere else exchanging the two is possible. The order falls into blocks: a report in a block of its own is
attributed without doubt, and one guess in each block is right in expectation, whatever its size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.inputs import finite


@dataclass(frozen=True)
class TimeLinks:
    """Who can have sent each report; arrays of the shape of the times.

    order: the clients, as `starts` numbers them, in the order of their starts.
    first, candidates: the candidates of a report are so many clients from place `first` of this order on.
    """

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    candidates: NDArray[np.int64]

    @property
    def clients(self) -> NDArray[np.int64]:
        """The only client that can have sent it, or -1 where several can."""
        return np.where(self.candidates == 1, self.order[self.first], -1)

    def guess(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """One of each report's candidates, all equally likely, independently: right with probability 1 / candidates."""
        return self.order[self.first + rng.integers(self.candidates)]

    @property
    def exposed(self) -> float:
        """The share of reports that are attributed without doubt."""
        return float(np.mean(self.candidates == 1))

    @property
    def success(self) -> float:
        """The expected share of right names, where one of the candidates is guessed. At most what is possible."""
        return float(np.mean(1 / self.candidates))


def assign_by_time(times: ArrayLike, starts: ArrayLike, window: float, *, tolerance: float = 0.0) -> TimeLinks:
    """The candidates of each report.

    times: shape (ids, n), for each id the arrivals of its n reports, one a client, in any order; or shape (reports,),
        where ids are unknown or reports are missing: each is then judged alone.
    starts: when each client's window begins, shape (n,).   window: T > 0, in the same unit.
    tolerance: >= 0; windows are longer by this at both ends, for clocks that round.
    Raises ValueError for other shapes, and where a report, or the n of an id, fit no clients.
    """
    arrived, begin = finite("times", times), finite("starts", starts)
    length, slack = float(finite("window", window)), float(finite("tolerance", tolerance))
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
    """The clients first .. last - 1, in the order of starts, whose windows hold each time."""
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
