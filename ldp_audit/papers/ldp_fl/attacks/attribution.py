"""The success of a linkage attack: the probability that its best guess is right, and that of a blind guess.

An attack names the client of a report, or decides whether several reports are one client's. It does not use the
weights: a report attributed to its client counts against that client's budget together with its other reports.

Times of arrival (`Arrivals`) follow LDP-FL (Sun, Qian, Chen, IJCAI 2021), Section 3.1.2: a client delays each of its
reports by U(0, T), after a waiting time that makes all clients start together. The waiting time rests on predictions,
whose errors, and those of clocks, shift all of a client's reports alike. With start s_u, a report of client u arrives
uniformly on [s_u, s_u + T], independently of the others. The starts divide time into cells; in a cell, the clients
whose windows contain it are equally likely senders, and they are consecutive in the order of starts.
"""

from __future__ import annotations

import math
import textwrap
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from numbers import Rational
from typing import Any

import numpy as np

from ldp_audit.accounting.protocols.protocol_report import table as table_of
from ldp_audit.mechanisms.values.parameter_shuffler import ParameterShuffler
from ldp_audit.numerics import between, instance, listed, whole

Share = Fraction | float
_LONGEST_WRITTEN = 256  # bits of a denominator


@dataclass(frozen=True)
class Attribution:
    """An attack's success.

    attack: what is guessed, and from what.   clients, reports: their numbers.
    success: the probability that the guess is right; chance: that of the best guess without the attack's information.
    exposed: the share of the reports (for an attack on one client, of its reports) attributed with certainty.
    exact: whether `success` is exact (a float where the fraction would be too long); otherwise `bounds` contain it:
        always, or with probability `confidence` where it was simulated.
    theory: a formula's value, beside a simulation.   note: the assumptions.
    Raises ValueError unless the shares lie in [0, 1].
    """

    attack: str
    clients: int
    reports: int
    success: Share
    chance: Share
    exposed: Share
    exact: bool
    bounds: tuple[Share, Share] | None = None
    confidence: float | None = None
    theory: Share | None = None
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("success", "chance", "exposed"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)!r}")

    @property
    def advantage(self) -> Share:
        """(success - chance) / (1 - chance): 0 at chance, 1 if every guess is right."""
        return (self.success - self.chance) / (1 - self.chance) if self.chance < 1 else 0 * self.success

    def describe(self) -> str:
        """One line of text."""
        parts = [f"{self.attack}: right with probability {_shown(self.success)}, by chance {_shown(self.chance)}"]
        parts.append(self._certainty())
        if self.theory is not None:
            parts.append(f"the formula says {_shown(self.theory)}")
        parts.append(f"attributed without doubt {_shown(self.exposed)}")
        return "; ".join(part for part in (*parts, self.note) if part)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: shares as floats; exact ones also as text, such as "25/32", unless they are very long."""
        bounds = None if self.bounds is None else [float(end) for end in self.bounds]
        shares: dict[str, Any] = {}
        for name in ("success", "chance", "exposed", "theory"):
            share = getattr(self, name)
            shares[name] = None if share is None else float(share)
            if isinstance(share, Fraction) and share.denominator.bit_length() <= _LONGEST_WRITTEN:
                shares[f"{name}_fraction"] = str(share)
        return {
            "attack": self.attack,
            "clients": self.clients,
            "reports": self.reports,
            **shares,
            "exact": self.exact,
            "bounds": bounds,
            "confidence": self.confidence,
            "note": self.note,
        }

    def _certainty(self) -> str:
        if self.exact or self.bounds is None:
            return ""
        low, high = (f"{float(end):.6g}" for end in self.bounds)
        how = "" if self.confidence is None else f" (simulated, confidence {self.confidence:.6g})"
        return f"between {low} and {high}{how}"


_NAME = 41
"""Columns of an attack's name."""


def table(rows: Sequence[Attribution]) -> str:
    """The attacks as lines of text: attack, success, chance, exposed share; ">=" before a lower bound."""
    rows = listed(rows, "rows", "a sequence of Attribution")
    for row in rows:
        instance(row, Attribution, "rows", "a sequence of Attribution")
    shown = [["attack", "success", "chance", "exposed"]]
    for row in rows:
        least = "" if row.exact or row.confidence else ">= "
        shares = (f"{least}{float(row.success):.6g}", f"{float(row.chance):.6g}", f"{least}{float(row.exposed):.6g}")
        name, *more = textwrap.wrap(row.attack, _NAME, subsequent_indent="  ") or [""]
        shown += [[name, *shares], *([line, "", "", ""] for line in more)]
    return table_of(shown)


def power(base: Fraction, exponent: int) -> Share:
    """base**exponent, base in [0, 1]: a Fraction of up to some thousand digits, else a float."""
    if base in (0, 1) or exponent * base.denominator.bit_length() <= 4096:
        return base**exponent
    complement = float(1 - base)  # more precise than the base near 1
    return math.exp(exponent * math.log1p(-complement)) if complement < 0.5 else float(base) ** exponent


def _shown(share: Share) -> str:
    if isinstance(share, Fraction) and 1 < share.denominator < 10**8:
        return f"{share} = {float(share):.6g}"
    return f"{float(share):.6g}"


@dataclass(frozen=True)
class ArrivalInterval:
    """An interval of time, `length` windows long, in which the clients first .. last - 1 by start may send."""

    length: Fraction
    first: int
    last: int

    @property
    def clients(self) -> int:
        """The number of possible senders of a report that arrives here, >= 1."""
        return self.last - self.first


@dataclass(frozen=True)
class Arrivals:
    """n clients' windows, in exact fractions; a float counts as its exact value.

    window: T > 0.   starts: one for each client, n >= 1, in any order, in the unit of the window.
    Raises ValueError for anything else.
    """

    window: Fraction
    starts: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        window = exact_number("window", self.window)
        if window <= 0:
            raise ValueError(f"window must be positive, got {self.window!r}")
        starts = tuple(
            exact_number("starts", start) for start in listed(self.starts, "starts", "a sequence of numbers")
        )
        if not starts:
            raise ValueError("starts must be one number a client, got none")
        object.__setattr__(self, "window", window)
        object.__setattr__(self, "starts", starts)

    @classmethod
    def of(cls, window: Any, starts: Iterable[Any]) -> Arrivals:
        """The same, from Python's or numpy's numbers, fractions or arrays."""
        return cls(window, tuple(listed(starts, "starts", "a sequence of numbers")))

    @classmethod
    def one_late(cls, n: int, offset: Any, window: Any) -> Arrivals:
        """n >= 1 clients of which the last starts later than all others by `offset` (earlier if negative)."""
        clients = whole(n, "n")
        return cls(window, (*[Fraction(0)] * (clients - 1), exact_number("offset", offset)))

    @classmethod
    def of_shuffler(cls, shuffler: Any) -> Arrivals:
        """The arrivals of a `ParameterShuffler`, with its prediction errors as starts."""
        instance(shuffler, ParameterShuffler, "shuffler", "a ParameterShuffler")
        return cls.of(shuffler.window, shuffler.offsets())

    @property
    def n(self) -> int:
        """The number of clients."""
        return len(self.starts)

    def spread(self) -> Fraction:
        """The distance of the first and the last start, as a share of the window."""
        return (max(self.starts) - min(self.starts)) / self.window

    def cells(self) -> Iterator[ArrivalInterval]:
        """The intervals of time in which a report can arrive, in order."""
        starts = sorted(self.starts)
        ends = [start + self.window for start in starts]
        points = sorted({*starts, *ends})
        for left, right in pairwise(points):
            first, last = bisect_right(ends, left), bisect_right(starts, left)
            if first < last:
                yield ArrivalInterval(right - left, first, last)

    def covered(self) -> Fraction:
        """The length of the union of the windows, in windows: between 1 and n."""
        return sum((cell.length for cell in self.cells()), Fraction(0)) / self.window

    def exposed(self) -> tuple[Fraction, ...]:
        """For each client, in the order of `starts`: the share of its reports that arrive where no other's can."""
        order = sorted(range(self.n), key=lambda client: self.starts[client])
        shares = [Fraction(0)] * self.n
        for cell in self.cells():
            if cell.clients == 1:
                shares[order[cell.first]] += cell.length / self.window
        return tuple(shares)


def exact_number(name: str, value: Any) -> Fraction:
    """The number as a fraction; ValueError, naming the argument, unless it is a finite real number."""
    given = value.item() if isinstance(value, np.generic) else value
    number = between(given, name, "finite real numbers", math.isfinite)
    return Fraction(int(given.numerator), int(given.denominator)) if isinstance(given, Rational) else Fraction(number)


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """The value as an int; ValueError unless it is a whole number >= least."""
    return whole(value, name, least)
