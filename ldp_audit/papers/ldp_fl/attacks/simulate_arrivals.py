"""Simulated rounds of LDP-FL's random delays under attack, to compare with the formulas of `by_time`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.auditing.bounds import lower_limit, upper_limit
from ldp_audit.numerics import between, instance, listed, whole
from ldp_audit.papers.ldp_fl.attacks.attribution import Arrivals, Attribution, Share, exact_number, whole_number
from ldp_audit.papers.ldp_fl.attacks.by_time import (
    assign_by_time,
    exposed_reports,
    find_late_report,
    name_report,
    name_reports_of_id,
    tell_start,
)

_AT_ONCE = 2**20


def simulate_arrivals(
    arrivals: Arrivals, d: int, *, rng: np.random.Generator, confidence: float = 0.999
) -> list[Attribution]:
    """Draw the arrivals of d ids of all clients, guess, and count; for any n and d, in bounded memory.

    One row each for naming one report by its time and for naming the n reports of an id by all their times; a third, if
    all clients but one start together, for finding that one's report. `theory` has the formula, or, in the second row,
    its bounds in the note. Each interval has coverage >= confidence: exact for counts of independent guesses (Hoeffding
    1956 for those of unequal probability), empirical Bernstein for the second row (Maurer, Pontil 2009, Theorem 4,
    two-sided). Times are floats.
    """
    ids = whole_number("d", d)
    confidence = between(confidence, "confidence", "in (0, 1)", lambda one: 0 < one < 1)
    instance(arrivals, Arrivals, "arrivals", "Arrivals")
    instance(rng, np.random.Generator, "rng", "a numpy.random.Generator")
    starts, window = np.array([float(start) for start in arrivals.starts]), float(arrivals.window)
    apart, sender = _apart(arrivals), np.arange(arrivals.n)
    hits = exposed = certain = found = late_exposed = 0
    shares: list[NDArray[np.float64]] = []
    for times in _rounds(starts, window, ids, rng):
        alone = assign_by_time(times.ravel(), starts, window)
        exposed += int(np.sum(alone.candidates == 1))
        hits += int(np.sum(alone.guess(rng).reshape(times.shape) == sender))
        together = assign_by_time(times, starts, window)
        certain += int(np.sum(together.candidates == 1))
        shares.append(np.mean(together.guess(rng) == sender, axis=1))
        if apart is not None:
            right, sure = _find(times, starts, window, apart, rng)
            found, late_exposed = found + right, late_exposed + sure
    n, total = arrivals.n, arrivals.n * ids
    theory, of_id = name_report(arrivals), name_reports_of_id(arrivals)
    rows = [
        _counted(theory, hits, total, exposed, confidence),
        _averaged(of_id, np.concatenate(shares), certain / total, confidence),
    ]
    if apart is not None and n > 1:
        law = find_late_report(n, arrivals.starts[apart] - arrivals.starts[apart - 1], arrivals.window)
        rows.append(_counted(law, found, ids, late_exposed, confidence))
    return rows


def _rounds(starts: NDArray, window: float, ids: int, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    """Batches of arrivals, shape (some ids, n), a column for each client, until there are `ids`."""
    step = max(1, _AT_ONCE // len(starts))
    for done in range(0, ids, step):
        yield starts + window * rng.random((min(step, ids - done), len(starts)))


def _apart(arrivals: Arrivals) -> int | None:
    """The client that starts apart from all others, which start together; the last one if all do."""
    starts = arrivals.starts
    for client in reversed(range(arrivals.n)):
        if len({*starts[:client], *starts[client + 1 :]}) <= 1:
            return client
    return None


def _find(times: NDArray, starts: NDArray, window: float, client: int, rng: np.random.Generator) -> tuple[int, int]:
    """How often the best guess is the client's own report, and how often that was the only candidate."""
    usual = starts[client - 1]
    possible = (times >= starts[client]) & (times <= starts[client] + window)
    surely = possible & ((times < usual) | (times > usual + window))
    rank = np.where(surely, 2.0, np.where(possible, rng.random(times.shape), -1.0))
    return int(np.sum(np.argmax(rank, axis=1) == client)), int(np.sum(surely[:, client]))


def _counted(law: Attribution, hits: int, trials: int, exposed: int, confidence: float) -> Attribution:
    error = (1 - confidence) / 2
    bounds = (lower_limit(hits, trials, error), upper_limit(hits, trials, error))
    return _simulated(law, hits / trials, trials, exposed / trials, bounds, confidence, law.success)


def _averaged(law: Attribution, shares: NDArray, exposed: float, confidence: float) -> Attribution:
    mean, ids = float(np.mean(shares)), len(shares)
    logarithm = math.log(4 / (1 - confidence))
    spread = float(np.var(shares, ddof=1)) if ids > 1 else 0.25
    radius = math.sqrt(2 * spread * logarithm / ids) + 7 * logarithm / (3 * max(1, ids - 1))
    bounds = (max(0.0, mean - radius), min(1.0, mean + radius))
    theory = law.success if law.exact else None
    return _simulated(law, mean, law.clients * ids, exposed, bounds, confidence, theory)


def _simulated(
    law: Attribution,
    success: float,
    reports: int,
    exposed: float,
    bounds: tuple[float, float],
    confidence: float,
    theory: Share | None,
) -> Attribution:
    note = law.note
    if law.bounds is not None:
        low, high = (float(Fraction(end)) for end in law.bounds)
        note = f"the best guess is right with probability {low:.6g} to {high:.6g}"
    return Attribution(
        attack=law.attack,
        clients=law.clients,
        reports=reports,
        success=success,
        chance=law.chance,
        exposed=exposed,
        exact=False,
        bounds=bounds,
        confidence=confidence,
        theory=theory,
        note=note,
    )


@dataclass(frozen=True)
class TimingRow:
    """One client starts `ratio` windows after n - 1 others; its reports are d, of all rounds together.

    find: the probability of finding its report among the n of an id; chance: 1 / n.
    linked: the probability that two or more of the d arrive where no other's can.   expected: their mean number.
    told: the probability of deciding whether d reports of one client are this one's or another's; chance is 1/2.
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
    """A row for each number of clients, of reports of a client, and D/T >= 0, in this order."""
    sizes = [whole(n, "clients") for n in listed(clients, "clients", "whole numbers")]
    counts = [whole(d, "reports") for d in listed(reports, "reports", "whole numbers")]
    shares = [exact_number("ratios", ratio) for ratio in listed(ratios, "ratios", "finite real numbers")]
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
