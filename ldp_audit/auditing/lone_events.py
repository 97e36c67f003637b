"""Lone events: what one input gave several times and the other never; and how rare a leak an audit finds for certain.

A leak of probability 1e-4 is seen a few times in a search. Among thousands of events of a whole distribution's body,
whose frequencies vary by more than that, it drowns. So lone events have a comparison of their own: each value and label
that repeats, and all that lies beyond the last output of the other input, at either end of a coordinate. Where no leak
is, these are runs of coin tosses: of `asked` runs none is as long as ln(asked / miss) / -ln(share), but with
probability `miss`, where a toss falls to the likelier input with probability `share` at most. Whatever is seen oftener
is the longest of them, and is tested.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.choice import Choice, Judge, Sample, rejudged
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import NOT_A_LABEL
from ldp_audit.auditing.scores.coordinate import Coordinate

LONE_SHARE = 0.02
"""Of an audit's error: other tests hardly feel it, and that of an event with a few dozen hits and none makes do."""
_POWER = 0.95
_LUCK = 0.01
"""The probability that a sound run is as long as the sightings which a leak is stated to need."""
_GIVEN_AWAY = 0.25
"""Of the outputs beyond the other input's last one: among so many nearest to it, a cut lies where the gap is widest."""
_FEW = 4
"""Values that come less often are not counted as asked about: no leak is stated to be found by so few sightings."""
_MARGIN = 0.01
_FINENESS = 0.05
_ABOVE = 1.0
"""Nats above the claim, at which a test of a lone event is tight: there fewest hits, of none, refute the claim."""


@dataclass(frozen=True)
class _LoneRun:
    """So many outputs of one input only, and an event that holds all or most of them: `hits`.

    swapped: of the second input.
    """

    length: int
    hits: int
    swapped: bool
    event: Event


def lone_event(first: Sample, second: Sample, judge: Judge) -> tuple[Choice | None, int]:
    """The lone event that was seen the most often in all search samples, if any; and how many were asked about."""
    sizes = [sum(map(len, sample)) for sample in (first, second)]
    best: _LoneRun | None = None
    asked = 0
    for runs, number in _every_run(first, second):
        asked += number
        for run in runs:
            if best is None or run.length > best.length:
                best = run
    if best is None:
        return None, asked
    trials, others = sizes[::-1] if best.swapped else sizes
    seen = Counts(best.hits, trials, 0, others)
    return rejudged(Choice(best.event, best.swapped, 0.0, seen), judge), asked


def sightings_needed(asked: int, searched: int, log_ratio: float, delta: float) -> float:
    """So often is one of the lone events seen by luck, in so many search samples, with probability 0.01; may be inf.

    log_ratio, delta: as the inputs of a sound program may differ, nats.
    """
    unlikely = math.log(_LUCK / max(1, 2 * asked))
    share = -math.log1p(math.exp(-log_ratio))
    allowed = delta * searched
    return math.ceil(unlikely / share + allowed + 3 * math.sqrt(allowed)) if share < 0 else math.inf


def sightings_to_win(searched: int, predicted: float, judge: Judge) -> float:
    """So often must a lone event be seen in as many search samples, to be tested in the place of the best event."""
    hits = np.arange(1, searched + 1) if searched < 1000 else np.unique(np.geomspace(1, searched, 1000).astype(int))
    value = judge.predicted(hits, searched, np.zeros(len(hits)), searched)
    enough = np.flatnonzero(value > predicted)
    return int(hits[enough[0]]) if len(enough) else math.inf


def design_epsilon(epsilon: float | None) -> float:
    """Of the test of a lone event, which is to refute this claim by as few hits as may be; None counts as 0."""
    return (epsilon or 0.0) + _ABOVE


def hits_needed(trials: int, error: float, epsilon: float, delta: float) -> float:
    """The least hits of a lone event in so many trials that refute the claim at this error; inf where none do."""

    def refutes(hits: int) -> bool:
        region = Region(Counts(hits, trials, 0, trials), error, design_epsilon(epsilon), delta, _FINENESS)
        return region.exceeds(epsilon, delta)

    few, many = 0, 1
    while not refutes(min(many, trials)):
        if many >= trials:
            return math.inf
        few, many = many, 2 * many
    many = min(many, trials)
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if refutes(middle) else (middle, many)
    return many


def coverage_floor(searched: int, sightings: float, trials: int, hits: float) -> float:
    """The least probability at which a leak is seen so often in the search and in the test, with probability 0.95.

    Up to one percent. 1 where none is: so too where an infinite number is needed.
    """
    if sightings > searched or hits > trials:
        return 1.0

    def shown(p: float) -> bool:
        return _at_least(sightings, searched, p) * _at_least(hits, trials, p) >= _POWER + _LUCK

    low, high = 0.0, 1.0
    while high - low > _MARGIN * high:
        middle = math.sqrt(low * high) if low > 0 else high / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


def _at_least(hits: float, trials: int, p: float) -> float:
    """P(Binomial(trials, p) >= hits)."""
    return 1.0 if hits <= 0 else float(special.betainc(hits, trials - hits + 1, p))


def _every_run(first: Sample, second: Sample) -> Iterator[tuple[list[_LoneRun], int]]:
    """Of the labels, then of each coordinate: the runs that may be the longest, and how many were asked about."""
    labels = [_labels(sample) for sample in (first, second)]
    if any(labels):
        runs = [
            _LoneRun(times, times, swapped, Event(labels=(label,)))
            for ours, others, swapped in ((labels[0], labels[1], False), (labels[1], labels[0], True))
            for label, times in ours.items()
            if label not in others
        ]
        yield runs, sum(times >= _FEW for one in labels for times in one.values())
    dimension = first.learn.dimension
    for place in range(dimension):
        columns = [_column(sample, place) for sample in (first, second)]
        score = None if dimension == 1 else Coordinate(place)
        found = [_runs_of(columns[i], columns[1 - i], score, swapped=i == 1) for i in (0, 1)]
        yield [run for runs, _ in found for run in runs], 2 + sum(number for _, number in found)


def _labels(sample: Sample) -> Counter:
    times = Counter(label for outputs in sample if outputs.labels is not None for label in outputs.labels)
    del times[NOT_A_LABEL]
    return times


def _column(sample: Sample, place: int) -> np.ndarray:
    """A coordinate of all samples, ascending. Infinity counts as the largest float, as it does in cells."""
    parts = [one.numbers for one in sample if one.numbers is not None]
    column = np.concatenate([part if part.ndim == 1 else part[:, place] for part in parts]) if parts else np.zeros(0)
    return np.sort(np.minimum(column[~np.isnan(column)], sys.float_info.max))


def _runs_of(
    ours: np.ndarray, others: np.ndarray, score: Coordinate | None, *, swapped: bool
) -> tuple[list[_LoneRun], int]:
    """Both ends and the likeliest value of one input's outputs, ascending; and of how many values that come again."""
    if len(ours) == 0:
        return [], 0
    runs = []
    low, high = (others[0], others[-1]) if len(others) else (math.inf, -math.inf)
    above = ours[np.searchsorted(ours, high, side="right") :]
    if len(above):
        edge = above[_cut(above, high)]
        event = Event(((float(edge), math.inf),), (), score)
        runs.append(_LoneRun(len(above), int(np.count_nonzero(above >= edge)), swapped, event))
    below = ours[: np.searchsorted(ours, low, side="left")]
    if len(below):
        edge = below[len(below) - 1 - _cut(-below[::-1], -low)]
        event = Event(((-math.inf, float(np.nextafter(edge, math.inf))),), (), score)
        runs.append(_LoneRun(len(below), int(np.count_nonzero(below <= edge)), swapped, event))
    again = np.unique(ours[1:][ours[1:] == ours[:-1]])
    times = np.searchsorted(ours, again, side="right") - np.searchsorted(ours, again, side="left")
    lone = np.searchsorted(others, again, side="right") == np.searchsorted(others, again, side="left")
    if lone.any():
        best = int(np.argmax(np.where(lone, times, 0)))
        value, number = float(again[best]), int(times[best])
        event = Event(((value, math.nextafter(value, math.inf)),), (), score)
        runs.append(_LoneRun(number, number, swapped, event))
    return runs, int(np.count_nonzero(times >= _FEW))


def _cut(ascending: np.ndarray, last: float) -> int:
    """Which of a run's outputs is its first: behind the widest gap among the nearest quarter.

    last: the other input's last output, from which the first gap begins.
    """
    nearest = int(_GIVEN_AWAY * len(ascending))
    with np.errstate(over="ignore"):
        return int(np.argmax(np.diff(ascending[: nearest + 1], prepend=last)))
