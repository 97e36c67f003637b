"""When reports may arrive: each client's window of the length T, from its own start on.

LDP-FL (Sun, Qian, Chen, IJCAI 2021), Section 3.1.2: a client delays each of its reports by U(0, T), after a waiting
time that makes all clients start together. It does so by predictions: whatever these miss, and whatever the clocks are
off, moves all of a client's reports alike. With start s_u, a report of client u arrives at a time uniform on
[s_u, s_u + T], independently of the others. The starts cut time into cells; in a cell, the clients whose windows hold
it are equally likely to have sent a report, and in the order of their starts they are neighbours.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from numbers import Rational, Real
from typing import Any

import numpy as np

from ldp_audit.auditing.arguments import check_count


@dataclass(frozen=True)
class Cell:
    """An interval of time in which the same clients may send.

    length: in the unit of the window.   first, last: the clients first .. last - 1, in the order of their starts.
    """

    length: Fraction
    first: int
    last: int

    @property
    def clients(self) -> int:
        """How many may have sent a report that arrives here, >= 1."""
        return self.last - self.first


@dataclass(frozen=True)
class Arrivals:
    """n clients' windows. Times are kept as exact fractions; a float counts as the number that it is.

    window: T > 0.   starts: one a client, n >= 1, in any order, in the unit of the window.
    Raises ValueError for anything else.
    """

    window: Fraction
    starts: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        window = exact_number("window", self.window)
        if window <= 0:
            raise ValueError(f"window must be positive, got {self.window!r}")
        starts = tuple(exact_number("starts", start) for start in _members("starts", self.starts))
        if not starts:
            raise ValueError("starts must be one number a client, got none")
        object.__setattr__(self, "window", window)
        object.__setattr__(self, "starts", starts)

    @classmethod
    def of(cls, window: Any, starts: Iterable[Any]) -> Arrivals:
        """The same, from numbers of any kind: Python's, numpy's, fractions; arrays."""
        return cls(window, tuple(_members("starts", starts)))

    @classmethod
    def one_late(cls, n: int, offset: Any, window: Any) -> Arrivals:
        """n >= 1 clients of which the last starts later than all others by `offset` (earlier, where it is negative)."""
        clients = whole_number("n", n)
        return cls(window, (*[Fraction(0)] * (clients - 1), exact_number("offset", offset)))

    @classmethod
    def of_shuffler(cls, shuffler: Any) -> Arrivals:
        """Those of a `ldp_audit.mechanisms` ParameterShuffler: its offsets are what its predictions missed."""
        return cls.of(shuffler.window, shuffler.offsets())

    @property
    def n(self) -> int:
        """The number of clients."""
        return len(self.starts)

    def spread(self) -> Fraction:
        """From the first start to the last, as a share of the window."""
        return (max(self.starts) - min(self.starts)) / self.window

    def cells(self) -> Iterator[Cell]:
        """The intervals of time in which a report can arrive, in order; those that no window holds are left out."""
        starts = sorted(self.starts)
        ends = [start + self.window for start in starts]
        points = sorted({*starts, *ends})
        for left, right in pairwise(points):
            first, last = bisect_right(ends, left), bisect_right(starts, left)
            if first < last:
                yield Cell(right - left, first, last)

    def covered(self) -> Fraction:
        """The length of time that at least one window holds, in windows: between 1 and n."""
        return sum((cell.length for cell in self.cells()), Fraction(0)) / self.window

    def exposed(self) -> tuple[Fraction, ...]:
        """For each client, as `starts` has them: the share of its reports that arrive where no other's can."""
        order = sorted(range(self.n), key=lambda client: self.starts[client])
        shares = [Fraction(0)] * self.n
        for cell in self.cells():
            if cell.clients == 1:
                shares[order[cell.first]] += cell.length / self.window
        return tuple(shares)


def exact_number(name: str, value: Any) -> Fraction:
    """The number as a fraction; ValueError, naming the argument, for what is no finite real number."""
    given = value.item() if isinstance(value, np.generic) else value
    if isinstance(given, Rational) and not isinstance(given, bool):
        return Fraction(int(given.numerator), int(given.denominator))
    if isinstance(given, Real) and not isinstance(given, bool) and np.isfinite(float(given)):
        return Fraction(float(given))
    raise ValueError(f"{name} must be finite real numbers, got {value!r}")


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """The value as an int; ValueError unless it is a whole number >= least."""
    check_count(name, value, least)
    return int(value)


def _members(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a sequence of numbers, got {values!r}")
    return list(values)
