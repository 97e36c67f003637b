"""Choosing the event on three samples, none of which a bound is computed from.

From the first, cells of the outputs and orders of the cells are learned, by likelihood ratio or by value. The second
cuts each order at its best prefix. The third compares what is left, a dozen events a score, so that the best of them
does not win by luck alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.events import Event, Order, half_lines, ratio_orders, single_values
from ldp_audit.auditing.events import learned as learned_cells
from ldp_audit.auditing.outputs import Outputs, concatenated
from ldp_audit.auditing.scores import LEARNERS, NUMBER_LEARNERS, Score
from ldp_audit.auditing.scores.floating_point import UnitInLastPlace

DOUBT = 3.0
"""Standard deviations by which an event must stand out: with none the luckiest of rare events wins, with more no rare
event does."""
_NEARLY_ALL = 0.95
"""Of the outputs: an event of more shows little, and its complement's ratio is far larger if there is one."""
_READABLE = 0.001
"""Of the bound, given away for an event of fewer pieces."""


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


def choose(
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
    found = [one for score in chain(tried, more) for one in _best_of_score(first, second, score, judge)]
    telling = [one for one in found if one.seen.hits and min(one.seen.smoothed) <= _NEARLY_ALL] or found
    best = max(one.predicted for one in telling)
    equal = [one for one in telling if one.predicted >= best - _READABLE * max(1.0, abs(best))]
    return min(equal, key=lambda one: len(one.event.intervals) + len(one.event.labels))


def rejudged(choice: Choice, judge: Judge) -> Choice:
    """The choice judged by what was seen of its event."""
    return replace(choice, predicted=judge.expected(choice.seen, DOUBT))


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


def _best_of_score(first: Sample, second: Sample, score: Score | None, judge: Judge) -> Iterator[Choice]:
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
