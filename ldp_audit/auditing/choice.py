"""Choosing the event on three samples, none of which a bound is computed from.

From the first, cells of the outputs and orders of the cells are learned, by likelihood ratio or by value. The second
cuts each order at its best prefix. The third compares what is left, a dozen events a score, so that the best of them
does not win by luck alone.

Lone events are what one input gave several times and the other never. A leak of probability 1e-4 is seen a few times
in a search; among thousands of events whose frequencies vary by more than that it drowns. So lone events have a
comparison of their own (`lone_event`): each value and label that repeats, and all that lies beyond the last output of
the other input, at either end of a coordinate. Where no leak is, these are runs of coin tosses: of `asked` runs none is
as long as ln(asked / miss) / -ln(share), but with probability `miss`, where a toss falls to the likelier input with
probability `share` at most. Whatever is seen oftener is the longest of them, and is tested.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.events import Event, Order, half_lines, ratio_orders, single_values
from ldp_audit.auditing.events import learned as learned_cells
from ldp_audit.auditing.outputs import NOT_A_LABEL, Outputs, concatenated
from ldp_audit.auditing.scores import LEARNERS, NUMBER_LEARNERS, Score
from ldp_audit.auditing.scores.coordinate import Coordinate
from ldp_audit.auditing.scores.floating_point import UnitInLastPlace

DOUBT = 3.0
"""Standard deviations by which an event must stand out: with none the luckiest of rare events wins, with more no rare
event does."""
_NEARLY_ALL = 0.95
"""Of the outputs: an event of more shows little, and its complement's ratio is far larger if there is one."""
_READABLE = 0.001
"""Of the bound, given away for an event of fewer pieces."""
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


class Sample(NamedTuple):
    """The three search samples of one input."""

    learn: Outputs
    cut: Outputs
    compare: Outputs


@dataclass(frozen=True)
class Choice:
    """An event, on which of the two inputs it is likelier, and what was seen of it in the comparing samples.

    swapped: likelier on the second input.   predicted: the bound that its test is expected to give, less a margin for
    the doubt that the samples leave.
    """

    event: Event
    swapped: bool
    predicted: float
    seen: Counts

    def of(self, **changes: Any) -> Choice:
        """The same with other fields of its event: its score, or how outputs are taken apart."""
        return replace(self, event=replace(self.event, **changes))

    def design_epsilon(self, delta: float) -> float:
        """The log ratio at which the test should be tight, guessed from the search samples."""
        p, q = self.seen.smoothed
        return max(0.0, math.log(max(p - delta, 1e-12) / q))


def choose_score(
    first: Sample,
    second: Sample,
    judge: Judge,
    rng: np.random.Generator,
    *,
    scores: tuple[Score | None, ...] | None = None,
    floating_point: bool = False,
    more: tuple[Score, ...] = (),
) -> Choice:
    """The event with the greatest predicted bound, over every score, cell order and direction.

    judge: of the test that the event will have.
    scores: what to compare; None: the number itself, or for vectors whatever the learners propose.
    floating_point: whether to look at the last bits of numbers, too.
    more: scores to compare beside these.
    """
    tried = _scores(first, second, rng, floating_point=floating_point) if scores is None else iter(scores)
    found = [one for score in chain(tried, more) for one in best_of_score(first, second, score, judge)]
    seldom = [one for one in found if one.seen.other_hits < one.seen.other_trials]
    telling = [one for one in seldom if one.seen.hits and min(one.seen.smoothed) <= _NEARLY_ALL]
    telling = telling or [one for one in seldom if one.seen.hits or one.seen.other_hits] or found
    best = max(one.predicted for one in telling)
    equal = [one for one in telling if one.predicted >= best - _READABLE * max(1.0, abs(best))]
    return min(equal, key=lambda one: len(one.event.intervals) + len(one.event.labels))


def scored(outputs: Outputs, score: Score | None) -> Outputs:
    """The outputs with their numbers replaced by a score of them; the labels stay."""
    return outputs if score is None else Outputs(score.of(outputs.known_numbers), outputs.labels)


@dataclass(frozen=True)
class Judge:
    """What bound a test is expected to give.   trials: of each input.   error: that it may spend.   delta: claimed."""

    trials: int
    error: float
    delta: float

    def predicted(self, hits: np.ndarray, n: int, other: np.ndarray, m: int, doubt: float = DOUBT) -> np.ndarray:
        """The expected bound of a test, less so many standard deviations of the seen ratio; vectorised over events."""
        z = math.sqrt(max(0.0, -2 * math.log(min(1.0, 2.5 * self.error))))  # close to the normal quantile
        p, q = (hits + 0.5) / (n + 1), (other + 0.5) / (m + 1)
        ratio = np.log(np.maximum(p - self.delta, 1e-12) / q)
        high = _wilson(q, m, doubt)  # an event never seen on the other input is not taken at its luckiest
        return ratio - self._loss(p, high, self.trials, self.trials, z) - self._loss(p, q, n, m, doubt)

    def expected(self, seen: Counts, doubt: float = 0.0) -> float:
        """The bound that a test of an event so seen is expected to give, less so many standard deviations."""
        hits, other = np.array([seen.hits]), np.array([seen.other_hits])
        return float(self.predicted(hits, seen.trials, other, seen.other_trials, doubt)[0])

    def _loss(self, p: np.ndarray, q: np.ndarray, n: int, m: int, z: float) -> np.ndarray:
        """How far z deviations of n and m trials may lower the log ratio."""
        lowest = np.maximum(_wilson(p, n, -z) - self.delta, 1e-12)
        down = np.log(np.maximum(p - self.delta, 1e-12) / lowest)
        up = np.log(_wilson(q, m, z) / q)
        return np.hypot(down, up)


def _wilson(frequency: np.ndarray, n: int, z: float) -> np.ndarray:
    """Wilson's limit of a proportion, the lower one for negative z; sensible also where few or no hits were seen."""
    middle = frequency + z * z / (2 * n)
    reach = z * np.sqrt(frequency * (1 - frequency) / n + z * z / (4 * n * n))
    return np.clip((middle + reach) / (1 + z * z / n), 1e-12, 1.0)


def _scores(first: Sample, second: Sample, rng: np.random.Generator, *, floating_point: bool) -> Iterator[Score | None]:
    if first.learn.dimension == 1:
        yield None
        if floating_point and first.learn.labels is None and second.learn.labels is None:
            for learner in NUMBER_LEARNERS:
                yield from learner(first.learn.known_numbers, second.learn.known_numbers, rng)
        return
    for learner in (*LEARNERS, UnitInLastPlace.learn) if floating_point else LEARNERS:
        yield from learner(first.learn.known_numbers, second.learn.known_numbers, rng)


def best_of_score(first: Sample, second: Sample, score: Score | None, judge: Judge) -> Iterator[Choice]:
    """The best prefix of each order, in either direction."""
    parts = [[scored(outputs, score) for outputs in sample] for sample in (first, second)]
    pooled = concatenated(sample[0] for sample in parts)
    cells = learned_cells(pooled.numbers, pooled.labels)
    counts = np.array([[cells.counts(one.numbers, one.labels) for one in sample] for sample in parts])
    sizes = np.array([[len(one) for one in sample] for sample in parts])
    occupied = counts.sum(axis=(0, 1)) > 0
    # Nested half-lines are too few to flatter themselves, so that the same samples may cut and compare them.
    since = slice(0 if score is None else 1, None)
    for sides in ([0, 1], [1, 0]):
        ours, others = learn = counts[sides, 0]
        ways = [(order, slice(1, 2), slice(2, 3)) for order in ratio_orders(cells, ours, others)]
        ways += [(order, slice(1, None), slice(1, None)) for order in single_values(cells, *learn)]
        ways += [(order, since, since) for order in half_lines(cells)]
        for order, cut, compare in ways:
            prefix = _best_prefix(order, counts[sides, cut].sum(axis=1), sizes[sides, cut].sum(axis=1), judge)
            members = np.isin(np.arange(len(occupied)), prefix)
            hits, other = counts[sides, compare].sum(axis=1)[:, members].sum(axis=1).tolist()
            n, m = np.maximum(sizes[sides, compare].sum(axis=1), 1).tolist()
            seen = Counts(hits, n, other, m)
            yield Choice(cells.event(members, occupied, score), sides == [1, 0], judge.expected(seen, DOUBT), seen)


def _best_prefix(order: Order, counts: np.ndarray, sizes: np.ndarray, judge: Judge) -> np.ndarray:
    """The cells of the prefix with the greatest predicted bound, among those of not nearly all outputs."""
    hits, other = (order.prefixes(one) for one in counts)
    n, m = np.maximum(sizes, 1).tolist()
    value = judge.predicted(hits, n, other, m)
    shares = (hits + other) / (n + m)
    best = int(np.argmax(np.where(shares <= _NEARLY_ALL, value, value - 1e3)))
    return order.cells[: order.ends[best]]


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
    return Choice(best.event, best.swapped, judge.expected(seen, DOUBT), seen), asked


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


def lone_design(epsilon: float | None) -> float:
    """Of the test of a lone event, which is to refute this claim by as few hits as may be; None counts as 0."""
    return (epsilon or 0.0) + _ABOVE


def hits_needed(trials: int, error: float, epsilon: float, delta: float) -> float:
    """The least hits of a lone event in so many trials that refute the claim at this error; inf where none do."""

    def refutes(hits: int) -> bool:
        region = Region(Counts(hits, trials, 0, trials), error, lone_design(epsilon), delta, _FINENESS)
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
    labels = [_times_of_labels(sample) for sample in (first, second)]
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


def _times_of_labels(sample: Sample) -> Counter:
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
