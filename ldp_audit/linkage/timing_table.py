"""What an offset D between clients costs, as a function of D/T: the rows of the linkage report's table on times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldp_audit.linkage.arrivals import exact_number
from ldp_audit.linkage.attribution import Share
from ldp_audit.linkage.by_time import exposed_reports, find_late_report, tell_start


@dataclass(frozen=True)
class TimingRow:
    """One client starts `ratio` windows after n - 1 others; its reports are d, of all rounds together.

    find: how often its report is found among the n of an id; chance: 1 / n.
    linked: the probability that two or more of the d arrive where no other's can.   expected: how many do, on average.
    told: how often d reports that are known to share a client are told to be this one's or another's; by chance 1/2.
    window: the T, in offsets, at which one of the d is exposed on average: d itself.
    """

    n: int
    d: int
    ratio: Fraction
    find: Share
    chance: Fraction
    linked: float
    expected: float
    told: Share
    window: int

    def to_dict(self) -> dict[str, float]:
        """For JSON and tables."""
        return {
            "n": self.n,
            "d": self.d,
            "offset_over_window": float(self.ratio),
            "find": float(self.find),
            "chance": float(self.chance),
            "two_or_more_linked": self.linked,
            "expected_exposed": self.expected,
            "start_told": float(self.told),
            "window_for_one_exposed": self.window,
        }


def timing_table(
    clients: Iterable[int] = (2, 100, 200, 500),
    reports: Iterable[int] = (10_000, 1_000_000),
    ratios: Iterable[Any] = (Fraction(1, 10**6), Fraction(1, 10**4), Fraction(1, 100), Fraction(1, 10)),
) -> list[TimingRow]:
    """A row for each number of clients, of reports a client, and D/T >= 0, in this order."""
    sizes, counts = list(clients), list(reports)
    shares = [exact_number("ratios", ratio) for ratio in ratios]
    return [_row(n, d, ratio) for n in sizes for d in counts for ratio in shares]


def _row(n: int, d: int, ratio: Fraction) -> TimingRow:
    found = find_late_report(n, ratio, 1)
    return TimingRow(
        n=n,
        d=d,
        ratio=ratio,
        find=found.success,
        chance=Fraction(1, n),
        linked=exposed_reports(ratio, 1, d),
        expected=float(d * min(abs(ratio), Fraction(1))),
        told=tell_start(ratio, 1, d).success,
        window=d,
    )
