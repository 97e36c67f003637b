r"""Runs of neighbouring counts as one, from below and from above: a binomial law by a few thousand of its counts.

The count's two laws are B(k) times something linear in k (`count_loss`), so that delta is a mean of a convex function
of Bin(n, p), to which Jensen's inequality applies. Counts that are replaced by their mean give no more away; a count
between two others that is replaced by these, with its mean kept, no less. All is linear in B, also the sums over runs.

Beyond the runs there are single counts, ever farther apart: below, with their own masses; above, each with the whole
tail from the one before on. Without them the largest loss would have all that is left, which no tilt of a sum could
bear.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.shuffling.stop_loss import Trials
from ldp_audit.losses.binomial_loss import binomial_window

_REACH = 700.0
"""-ln of how much rarer than the likeliest a count in a run may be: the smallest float is e**-708."""

_STEPS = ((9.0, 0.005), (20.0, 0.02), (math.inf, 0.1))
"""How long runs are, in standard deviations, up to so many from the mean."""

_RATIO = 1.1
"""Of the distances from the mean beyond the runs."""

Numbers = NDArray[np.float64]


class Runs(NamedTuple):
    """counts: ascending, not all whole.   log_masses: ln of what stands for their probabilities. Both of shape (m,)."""

    counts: Numbers
    log_masses: Numbers


def runs_of(trials: Trials) -> tuple[Runs, Runs]:
    """A law that Bin(n, p) exceeds in the convex order, and one that exceeds it."""
    counts = binomial_window(trials.n, *trials.log_chances, _REACH).counts
    logs = trials.log_masses(counts)
    top = float(logs.max())
    masses = np.exp(logs - top)
    cuts = _cuts(counts - counts[0], trials.n * trials.p - counts[0], math.sqrt(trials.n * trials.p * trials.q))
    ends = float(counts[0]), float(counts[-1])
    lower, upper = (
        _joined(trials, Runs(ends[0] + inner.counts, top + inner.log_masses), ends, end)
        for end, inner in enumerate((_merged(masses, cuts), _spread(masses, cuts)))
    )
    return lower, upper


def _joined(trials: Trials, inner: Runs, ends: tuple[float, float], end: int) -> Runs:
    """The runs between these two counts, and what lies beyond them."""
    below, above = (_beyond(trials, edge, end, way) for edge, way in zip(ends, (-1, 1), strict=True))
    places, logs = zip(below, inner, above, strict=True)
    return Runs(np.concatenate(places), np.concatenate(logs))


def _cuts(places: Numbers, mean: float, deviation: float) -> NDArray[np.int64]:
    """Where runs begin and end, as places in the list of counts: the first and the last of these among them."""
    last, found, start = float(places[-1]), [np.array([0.0, places[-1]])], 0.0
    for stop, step in _STEPS:
        stop = min(stop, (last + abs(mean)) / max(deviation, 1e-300))
        if stop > start:
            steps = np.arange(start, stop, max(step, 1 / max(deviation, 1e-300))) * deviation
            found += [mean - steps, mean + steps]
            start = stop
    return np.unique(np.clip(np.concatenate(found).round(), 0.0, last)).astype(np.int64)


def _merged(masses: Numbers, cuts: NDArray[np.int64]) -> Runs:
    """Each run, from one cut on and without the next one, at its mean."""
    starts = cuts[:-1] if cuts.size > 1 else cuts
    starts = np.append(starts, cuts[-1]) if starts[-1] != cuts[-1] else starts
    totals = np.add.reduceat(masses, starts)
    inside = np.arange(masses.size) - np.repeat(starts, np.diff(np.append(starts, masses.size)))
    means = starts + np.add.reduceat(masses * inside, starts) / totals
    return Runs(means, np.log(totals))


def _spread(masses: Numbers, cuts: NDArray[np.int64]) -> Runs:
    """Each count at the two cuts beside it."""
    if cuts.size == 1:
        return Runs(cuts.astype(np.float64), np.log(masses))
    starts, lengths = cuts[:-1], np.diff(cuts)
    inside = (np.arange(masses.size - 1) - np.repeat(starts, lengths)) / np.repeat(lengths, lengths)
    to_next = np.add.reduceat(masses[:-1] * inside, starts)
    kept = np.add.reduceat(masses[:-1] * (1 - inside), starts)
    return Runs(cuts.astype(np.float64), np.log(np.append(kept, masses[-1]) + np.insert(to_next, 0, 0.0)))


def _beyond(trials: Trials, edge: float, end: int, way: int) -> Runs:
    """Single counts from the edge of the runs to 0 (way -1) or to n (way 1), without the edge."""
    last = float(trials.n) if way > 0 else 0.0
    away = abs(edge - trials.n * trials.p) + 1
    steps = math.ceil(math.log((abs(last - edge) + away) / away) / math.log(_RATIO))
    places = edge + way * np.floor(away * (_RATIO ** np.arange(1, steps + 1) - 1))
    inner = (places - edge) * way < abs(last - edge)
    places = np.unique(np.append(places[inner & (places != edge)], [last] if last != edge else []))[::way]
    if not places.size:
        return Runs(places, places)
    if not end:
        logs = trials.log_masses(places)
    else:
        counted = trials if way > 0 else Trials(trials.n, trials.q, trials.p)
        firsts = np.append(edge, places[:-1]) + way
        logs = counted.log_tail(firsts if way > 0 else trials.n - firsts)
    return Runs(places[::way], logs[::way])
