"""Choosing the event on three samples, none of which a bound is computed from.

From the first, cells of the outputs and orders of the cells are learned, by likelihood ratio or by value. The second
cuts each order at its best prefix. The third compares what is left, a dozen events a score, so that the best of them
does not win by luck alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.events import Cells, Event, Order, half_lines, ratio_orders, single_values
from ldp_audit.auditing.events import learned as learned_cells
from ldp_audit.auditing.outputs import Outputs
from ldp_audit.auditing.scores import LEARNERS, NUMBER_LEARNERS, Score
from ldp_audit.auditing.scores.floating_point import UnitInLastPlace

_DOUBT_OF_MANY = 3.0  # standard deviations by which the best of some hundred prefixes flatters itself
_DOUBT_OF_ALTERNATIVES = 0.5  # and of those that may be tested beside the best
_LEAST_DOUBT = 1.5  # and of those of which much was seen
_LUCK = -1.5  # and of those that fresh samples may show to be the best
_MOST_ALTERNATIVES, _MOST_TESTED = 11, 3  # that are named beside an event, and tested with it
_WORTH_A_SHARE = 0.05  # of the distance of the expected bound from the log ratio, which sharing the error adds to it
_SHARE, _SHARE_OF_SUREST = 0.3, 0.05  # of the error, of the alternatives, and of a sure one beside a promising event
_ALIKE = 0.15  # events of one score whose counts differ by less, in nats, are not both tested
DOUBT_OF_FEW = 3.5
"""Standard deviations by which the best of a dozen events must stand out, for a rarer one not to win by luck."""
_NEARLY_ALL = 0.95  # of the outputs
_READABLE = 0.001  # of the bound, given away for an event of fewer pieces


class Sample(NamedTuple):
    """The three search samples of one input."""

    learn: Outputs
    cut: Outputs
    compare: Outputs


@dataclass(frozen=True)
class Choice:
    """An event, on which of the two inputs it is likelier, and what was seen of it in the comparing samples.

    swapped: likelier on the second input.   predicted: the bound that its test is expected to give, less a margin for
    the doubt that the samples leave.   optimistic: with a small margin.   alternatives: events on the same pair that
    may show more than this one, of which too little was seen to decide; the most optimistic first.
    """

    event: Event
    swapped: bool
    predicted: float
    seen: Counts
    optimistic: float = 0.0
    alternatives: tuple[Choice, ...] = ()

    def bound(self, doubt: float) -> float:
        """The bound that its test is expected to give, less so many standard deviations of what was seen.

        On the line through `predicted` and `optimistic`, so that rare events, of which little was seen, lose more.
        """
        steps = (doubt - _DOUBT_OF_ALTERNATIVES) / (DOUBT_OF_FEW - _DOUBT_OF_ALTERNATIVES)
        return self.optimistic + steps * (self.predicted - self.optimistic)

    def worth(self, scale: float) -> float:
        """The bound to be compared with those of other events, of which about `scale` is expected.

        Less 1.5 deviations where these are far below the scale, and up to 3.5 where one is as large: then little was
        seen of the event, and the best of many such events is so by luck.
        """
        deviation = (self.optimistic - self.predicted) / (DOUBT_OF_FEW - _DOUBT_OF_ALTERNATIVES)
        share = min(1.0, deviation / scale) if scale > 0 else 1.0
        return self.bound(_LEAST_DOUBT + share * (DOUBT_OF_FEW - _LEAST_DOUBT))

    @property
    def possible(self) -> float:
        """The bound that its test may well give: where little was seen, far above the expected one."""
        return self.bound(_LUCK)

    @property
    def best_case(self) -> float:
        """The greatest bound that the event or an alternative may well give."""
        return max(one.optimistic for one in (self, *self.alternatives))

    @property
    def least_optimistic(self) -> float:
        """The optimistic bound from which on an alternative is worth a share of the error."""
        p, q = self.seen.smoothed
        return self.optimistic + _WORTH_A_SHARE * (math.log(p / q) - self.optimistic)

    def tested(self) -> Choice:
        """The same with the few alternatives that are worth a share of the error, the most optimistic first.

        Without any, with the one of which most is known, if that is more than of this event.
        """
        least = self.least_optimistic
        worth = sorted((one for one in self.alternatives if one.optimistic > least), key=lambda one: -one.optimistic)
        surest = max(self.alternatives, key=lambda one: one.predicted, default=self)
        sure = [surest] if surest.predicted > self.predicted else []
        return replace(self, alternatives=tuple(worth[:_MOST_TESTED] or sure))

    @property
    def error_of_alternatives(self) -> float:
        """The share of the error that the tests of the alternatives spend together; 0 without any."""
        if not self.alternatives:
            return 0.0
        return _SHARE if any(one.optimistic > self.least_optimistic for one in self.alternatives) else _SHARE_OF_SUREST

    @property
    def events(self) -> tuple[Event, ...]:
        """The event and the alternatives' events."""
        return (self.event, *(one.event for one in self.alternatives))

    def of(self, **changes: Any) -> Choice:
        """The same with other fields of its events: their score, or how outputs are taken apart."""
        found = [replace(one, event=replace(one.event, **changes)) for one in (self, *self.alternatives)]
        return replace(found[0], alternatives=tuple(found[1:]))

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
    telling = [one for one in found if one.tells(0)] or found
    best = max(one.predicted[0] for one in telling)
    hopeful = telling is found or any(one.optimistic[0] > 0 for one in telling)
    least = best - _READABLE * max(1.0, abs(best)) if hopeful else -math.inf
    equal = [one.choice(0) for one in telling if one.predicted[0] >= least]
    safest = min(equal, key=_pieces if hopeful else lambda one: (abs(one.seen.smoothed[0] - 0.5), _pieces(one)))
    return replace(safest, alternatives=_alternatives(safest, found))


def _pieces(choice: Choice) -> int:
    return len(choice.event.intervals) + len(choice.event.labels)


def recounted(choice: Choice, counts: Counts, judge: Judge) -> Choice:
    """The choice judged by fresh counts of its event, on the two inputs in the order that `choose` had them in."""
    return rejudged(replace(choice, seen=counts.swapped() if choice.swapped else counts), judge)


def rejudged(choice: Choice, judge: Judge) -> Choice:
    """The choice judged by what was seen of its event."""
    seen = choice.seen
    safe, bold = (judge.expected(seen, doubt) for doubt in (DOUBT_OF_FEW, _DOUBT_OF_ALTERNATIVES))
    return replace(choice, predicted=safe, optimistic=bold, alternatives=())


def scored(outputs: Outputs, score: Score | None) -> Outputs:
    """The outputs with their numbers replaced by a score of them; the labels stay."""
    return outputs if score is None else Outputs(score.of(outputs.known_numbers), outputs.labels)


@dataclass(frozen=True)
class Judge:
    """What bound a test is expected to give.   trials: of each input.   error: that it may spend.   delta: claimed."""

    trials: int
    error: float
    delta: float

    def predicted(
        self, hits: np.ndarray, n: np.ndarray, other: np.ndarray, m: np.ndarray, doubts: np.ndarray | float
    ) -> np.ndarray:
        """The expected bound of a test, less so many standard deviations of the seen ratio; vectorised over events."""
        z = math.sqrt(max(0.0, -2 * math.log(min(1.0, 2.5 * self.error))))  # close to the normal quantile
        p, q = (hits + 0.5) / (n + 1), (other + 0.5) / (m + 1)
        ratio = np.log(np.maximum(p - self.delta, 1e-12) / q)
        high = _wilson(q, m, doubts)  # an event never seen on the other input is not taken at its luckiest
        return ratio - self._loss(p, high, self.trials, self.trials, z) - self._loss(p, q, n, m, doubts)

    def expected(self, seen: Counts, doubt: float = 0.0) -> float:
        """The bound that a test of an event so seen is expected to give, less so many standard deviations."""
        hits, n, other, m = np.array([[seen.hits], [seen.trials], [seen.other_hits], [seen.other_trials]])
        return float(self.predicted(hits, n, other, m, doubt)[0])

    def _loss(
        self, p: np.ndarray, q: np.ndarray, n: np.ndarray | int, m: np.ndarray | int, z: np.ndarray | float
    ) -> np.ndarray:
        """How far z deviations of n and m trials may lower the log ratio."""
        lowest = np.maximum(_wilson(p, n, -z) - self.delta, 1e-12)
        down = np.log(np.maximum(p - self.delta, 1e-12) / lowest)
        up = np.log(_wilson(q, m, z) / q)
        return np.hypot(down, up)


def _wilson(frequency: np.ndarray, n: np.ndarray | int, z: np.ndarray | float) -> np.ndarray:
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


def _alternatives(best: Choice, candidates: list[_Candidate]) -> tuple[Choice, ...]:
    """Those that may well show more than the best event, the worthiest first, each unlike those before it."""
    least, found = best.least_optimistic, [best]
    others = [
        one.choice(which)
        for one in candidates
        for which in (0, 1)
        if one.optimistic[which] > least and one.tells(which)
    ]
    for one in sorted(others, key=lambda one: -one.worth(best.optimistic)):
        if len(found) > _MOST_ALTERNATIVES:
            break
        if not any(_alike(one, other) for other in found):
            found.append(one)
    return tuple(found[1:])


def _alike(one: Choice, other: Choice) -> bool:
    if one.swapped != other.swapped:
        return False
    if one.event.score is not other.event.score:
        return one.seen == other.seen
    counts = ((one.seen.hits, other.seen.hits), (one.seen.other_hits, other.seen.other_hits))
    return all(abs(math.log((a + 1) / (b + 1))) < _ALIKE for a, b in counts)


@dataclass(frozen=True)
class _Candidate:
    """Two prefixes of one order: the cells of the best with great doubt, and of the best with little."""

    cells: Cells
    occupied: np.ndarray
    score: Score | None
    swapped: bool
    members: np.ndarray  # bool, shape (2, cells)
    seen: list[Counts]
    predicted: list[float]
    optimistic: list[float]

    def tells(self, which: int) -> bool:
        """Not so where no output is in it, or nearly all on either input: the complement's ratio is far larger then."""
        seen = self.seen[which]
        return seen.hits + seen.other_hits > 0 and min(seen.smoothed) <= _NEARLY_ALL

    def choice(self, which: int) -> Choice:
        """That of great doubt, 0, or of little, 1."""
        event = self.cells.event(self.members[which], self.occupied, self.score)
        return Choice(event, self.swapped, self.predicted[which], self.seen[which], self.optimistic[which])


def _best_of_score(first: Sample, second: Sample, score: Score | None, judge: Judge) -> list[_Candidate]:
    """The best prefix of each order, in either direction."""
    learn = [scored(sample.learn, score) for sample in (first, second)]
    cells = learned_cells(_joined([one.numbers for one in learn]), _joined([one.labels for one in learn]))
    learned = [_counted(cells, one) for one in learn]
    cut, compared = (
        [_counted(cells, scored(sample, score)) for sample in samples]
        for samples in ((first.cut, second.cut), (first.compare, second.compare))
    )
    every = [a + b + c for a, b, c in zip(learned, cut, compared, strict=True)]
    occupied = every[0] + every[1] > 0
    # Nested half-lines are too few to flatter themselves, so that all samples may cut and compare them; but where the
    # score was learned on the first ones, it fits their noise, and they would promise more than fresh samples show.
    seen_since = [b + c for b, c in zip(cut, compared, strict=True)]
    unseen = every if score is None else seen_since
    proposals = []
    for one, two in ((0, 1), (1, 0)):
        ways = [(order, cut, compared) for order in ratio_orders(cells, learned[one], learned[two])]
        ways += [(order, seen_since, seen_since) for order in single_values(cells, learned[one], learned[two])]
        ways += [(order, unseen, unseen) for order in half_lines(cells)]
        proposals += [
            _Proposal(one == 1, order, cutting[one], cutting[two], comparing[one], comparing[two])
            for order, cutting, comparing in ways
        ]
    members = _best_prefixes(proposals, judge)
    hits = np.array([one.compare for one in proposals])
    other = np.array([one.other_compare for one in proposals])
    n, m = (np.maximum(counts.sum(axis=1), 1)[:, None] for counts in (hits, other))
    x, y = (np.einsum("pwc,pc->pw", members, counts) for counts in (hits, other))
    predicted, optimistic = (
        judge.predicted(x, n, y, m, doubt).tolist() for doubt in (DOUBT_OF_FEW, _DOUBT_OF_ALTERNATIVES)
    )
    seen = [
        [Counts(int(a), int(trials), int(b), int(others)) for a, b in zip(*both, strict=True)]
        for *both, trials, others in zip(x, y, n[:, 0], m[:, 0], strict=True)
    ]
    return [
        _Candidate(cells, occupied, score, one.swapped, *each)
        for one, each in zip(proposals, zip(members, seen, predicted, optimistic, strict=True), strict=True)
    ]


@dataclass(frozen=True)
class _Proposal:
    """An order of cells for one direction, and the counts that cut it and compare it; swapped: as of `Choice`."""

    swapped: bool
    order: Order
    cut: np.ndarray
    other_cut: np.ndarray
    compare: np.ndarray
    other_compare: np.ndarray


def _counted(cells: Cells, outputs: Outputs) -> np.ndarray:
    """The counts of the cells, and last that of the outputs in none (labels that were not learned)."""
    counts = cells.counts(outputs.numbers, outputs.labels)
    return np.append(counts, len(outputs) - counts.sum())


def _best_prefixes(proposals: Sequence[_Proposal], judge: Judge) -> np.ndarray:
    """The cells of each order's best prefix, with great doubt and with little: bool, shape (proposals, 2, cells).

    All are judged in one call, since there are a dozen of them and most are short.
    """
    lengths = [len(one.order.ends) for one in proposals]
    hits = np.concatenate([one.order.prefixes(one.cut) for one in proposals])
    other = np.concatenate([one.order.prefixes(one.other_cut) for one in proposals])
    n = np.repeat([max(1, int(one.cut.sum())) for one in proposals], lengths)
    m = np.repeat([max(1, int(one.other_cut.sum())) for one in proposals], lengths)
    doubts = np.array([[_DOUBT_OF_MANY], [_DOUBT_OF_ALTERNATIVES]])
    values = judge.predicted(hits, n, other, m, doubts)
    # where nothing is expected, nearly all outputs win with about 0, and a test of them can show nothing: half of them
    shares = (hits + other) / (n + m)
    masks = np.zeros((len(proposals), 2, len(proposals[0].cut)), dtype=bool)
    first = 0
    for one, length, mask in zip(proposals, lengths, masks, strict=True):
        here = slice(first, first + length)
        for which, value in enumerate(values[:, here]):
            best = np.argmax(value)
            if value[best] <= 0 and shares[here][best] > _NEARLY_ALL:
                best = np.argmin(np.abs(shares[here] - 0.5))
            mask[which, one.order.cells[: one.order.ends[best]]] = True
        first += length
    return masks


def _joined(arrays: list[np.ndarray | None]) -> np.ndarray | None:
    """Both samples' numbers, or labels; None where neither has any."""
    known = [array for array in arrays if array is not None]
    return np.concatenate(known) if known else None
