"""The event that is shortest to say, among those that show nearly as much as the best one.

A learned score finds more than a person would, and says it in a way that no person can count. So the search ends by
looking for a condition on a few fields, a set of outputs or a rounder number whose predicted bound is at most 3% below
that of the best event, and takes the shortest. It is chosen on the search samples, before anything is counted, so that
the bound, which is computed from other samples, stays valid whatever is chosen.

Conditions are grown greedily from half-lines and values of single coordinates, by predicted bound (as rules are in
PRIM, Friedman and Fisher 1999). Sets are the rows, or values, of greatest likelihood ratio.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np

from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.choice import DOUBT, Choice, Judge, Sample, best_of_score, scored
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import Outputs, concatenated
from ldp_audit.auditing.scores import Score
from ldp_audit.auditing.scores.boxes import Boxes, Literal
from ldp_audit.auditing.scores.coordinate import Coordinate
from ldp_audit.auditing.scores.learning import cuts, interactions
from ldp_audit.auditing.scores.said import Interval
from ldp_audit.auditing.scores.score import MINUS_ZERO
from ldp_audit.auditing.scores.summary import every_summary

GIVEN_AWAY = 0.03
"""Of the best predicted bound, for an event that is shorter to say."""
_OF_THE_DISTANCE = 0.1
"""Of what lies between that bound and the claim: a near miss, or a narrow violation, keeps the best event."""
_BY_ROUNDING = 0.01
"""Of the bound, which rounder edges may gain by luck: what is further below is not tried with them."""
_SHORT = 40  # characters, beside which no further events are tried; the plainest kinds come first
_LINE = 100
_LONGEST = 2 * _LINE  # characters: two lines
_ROWS = 10_000  # of each input, to grow conditions on
_MOST_LITERALS = 10
_COORDINATES, _PAIRED, _BINS = 32, 16, 12
_FEW_VALUES = 12  # of a coordinate, each a literal
_MOST_ROWS = 4096  # different ones, of which sets are made
_DIGITS = (1, 2, 3, 4)


def plainest(
    choice: Choice, first: Sample, second: Sample, judge: Judge, epsilon: float | None, *, lone: bool = False
) -> Choice:
    """The shortest event near the best one, on the same pair and in the same direction.

    first, second: the search samples of the pair, as the choice was made on them.   epsilon: as claimed, or None.
    lone: whether it is a lone event, of which each sighting counts: its edges alone may change.
    """
    ours, others = (second, first) if choice.swapped else (first, second)
    ground = _Ground.of(choice, ours, others, judge)
    best = ground.judged(choice.event)
    least = best.predicted - (0.0 if lone else _allowed(best, judge, epsilon))
    found, words = best, _length(best.event)
    seen: set[str] = set()
    for candidate in [choice.event] if lone else _candidates(choice, ground, first, second):
        if ground.judged(candidate).predicted < least - _BY_ROUNDING * abs(least):
            continue
        for event in _rounded(candidate, ground):
            said = event.describe()
            if said in seen or not (event.intervals or event.labels):
                continue
            seen.add(said)
            length = _length(event)
            if length > words or math.isinf(length):
                continue
            judged = ground.judged(event)
            if judged.predicted >= least and (length < words or judged.predicted > found.predicted):
                found, words = judged, length
        if words <= _SHORT:
            break
    return found


def _allowed(best: Choice, judge: Judge, epsilon: float | None) -> float:
    """How much of the predicted bound may be given away."""
    most = GIVEN_AWAY * max(best.predicted, 0.0)
    return most if epsilon is None else min(most, _OF_THE_DISTANCE * abs(judge.expected(best.seen) - epsilon))


def _length(event: Event) -> float:
    """Characters; inf for what is too long for two lines, or not all that there is to say."""
    length = len(event.describe())
    return length if length <= _LONGEST and event.complete else math.inf


class _Ground:
    """What events are compared on.

    sides: outputs of the input on which the event is likelier, and of the other, to judge by.
    learn: of both, to learn from.   judge: of the test.   choice: the best event.
    """

    def __init__(self, choice: Choice, judge: Judge, sides: Sequence[Outputs], learn: Sequence[Outputs]) -> None:
        self.choice, self.judge, self.sides, self.learn = choice, judge, sides, learn
        self._last: tuple[Score | None, Sequence[Outputs]] = (None, sides)  # events of one score come together

    @staticmethod
    def of(choice: Choice, ours: Sample, others: Sample, judge: Judge) -> _Ground:
        """Judged by as many samples as the choice was seen in: the last one, the last two, or all."""
        trials = choice.seen.trials
        kept = next(k for k in (1, 2, 3) if k == 3 or sum(map(len, ours[-k:])) >= trials)
        learn = slice(0, 2 if kept == 1 else 1)
        both = (ours, others)
        return _Ground(
            choice, judge, [concatenated(one[-kept:]) for one in both], [concatenated(one[learn]) for one in both]
        )

    @property
    def dimension(self) -> int:
        """Of an output."""
        return self.sides[0].dimension

    def judged(self, event: Event) -> Choice:
        """The event with what was seen of it."""
        bare = Event(event.intervals, event.labels)
        hits, other = map(bare.count, self._scored_by(event.score))
        seen = Counts(hits, len(self.sides[0]), other, len(self.sides[1]))
        return replace(self.choice, event=event, predicted=self.judge.expected(seen, DOUBT), seen=seen)

    def event(self, intervals: Sequence[Interval], score: Score | None) -> Event:
        """Of outputs taken apart as those of the best event are."""
        return Event(tuple(intervals), (), score, self.choice.event.structure)

    def values(self, score: Score | None) -> np.ndarray:
        """What the score of an output may be, ascending, without repetition."""
        numbers = [one.numbers for one in self._scored_by(score) if one.numbers is not None]
        values = np.concatenate(numbers) if numbers else np.zeros(0)
        return np.unique(values[~np.isnan(values)])

    def _scored_by(self, score: Score | None) -> Sequence[Outputs]:
        if self._last[0] is not score:
            self._last = score, [scored(one, score) for one in self.sides]
        return self._last[1]


def _candidates(choice: Choice, ground: _Ground, first: Sample, second: Sample) -> Iterator[Event]:
    """Events that may be shorter; the best one first."""
    structure = choice.event.structure
    yield from _fewer(choice.event, ground)
    scores: list[Score | None]
    if ground.dimension == 1:
        scores = [None]
    else:
        numbers = [one.known_numbers[:_ROWS] for one in ground.learn]
        yield from _sets_of_rows(numbers, ground)
        places = _telling(numbers)
        yield from (
            ground.event(((1.0, math.inf),), Boxes.of_boxes([box])) for box in _conjunctions(numbers, places, ground)
        )
        scores = [*map(Coordinate, places[:3]), *every_summary(*numbers)]
    for score in scores:
        for one in best_of_score(first, second, score, ground.judge):
            if one.swapped == choice.swapped:
                yield from _fewer(replace(one.event, structure=structure), ground)


def _fewer(event: Event, ground: _Ground) -> Iterator[Event]:
    """The event, and its most frequent parts: so many intervals and labels as a line holds."""
    yield event
    pieces = [replace(event, intervals=(one,), labels=()) for one in event.intervals]
    pieces += [replace(event, intervals=(), labels=(one,)) for one in event.labels]
    if not 1 < len(pieces) <= _MOST_ROWS:
        return
    ordered = sorted(pieces, key=lambda piece: -piece.count(ground.learn[0]))[:_MOST_LITERALS]
    for size in range(1, len(ordered) + 1):
        kept = ordered[:size]
        intervals = sorted(chain.from_iterable(one.intervals for one in kept))
        yield replace(event, intervals=tuple(intervals), labels=tuple(one.labels[0] for one in kept if one.labels))


def _rounded(event: Event, ground: _Ground) -> Iterator[Event]:
    """The event as single values where it has few; with edges of few digits; and as it is."""
    if event.score is not None and event.score.TRUTH:
        yield from (replace(event, score=one) for one in _rounder_conditions(event.score, ground))
        yield event
        return
    if event.intervals and len(values := ground.values(event.score)):
        for intervals in _rounder(event.intervals, values):
            yield replace(event, intervals=intervals)
    yield event


def _rounder(intervals: tuple[Interval, ...], values: np.ndarray) -> Iterator[tuple[Interval, ...]]:
    """The intervals as single values, and with rounder edges.   values: what was seen, ascending, each once."""
    inside = [values[np.searchsorted(values, low) : np.searchsorted(values, high)] for low, high in intervals]
    if sum(map(len, inside)) <= _FEW_VALUES and all(len(one) for one in inside):
        yield _points(np.concatenate(inside), values)
    alone = [len(one) == 1 for one in inside]
    if any(alone) and not all(alone):
        parts = zip(inside, alone, intervals, strict=True)
        mixed = [_points(one, values) if its else (ends,) for one, its, ends in parts]
        yield tuple(chain.from_iterable(mixed))
    for digits in (None, *_DIGITS):
        edges = [_edge(edge, values, digits) for ends in intervals for edge in ends]
        if all(low < high for low, high in pairwise(edges)):
            yield tuple(zip(edges[::2], edges[1::2], strict=True))


def _points(inside: np.ndarray, values: np.ndarray) -> tuple[Interval, ...]:
    """An interval for each value; 0 has no sign where only one zero was seen."""
    found = []
    both = bool(np.isin([0.0, MINUS_ZERO], values).all())
    for value in map(float, inside):
        zero = value in (0.0, MINUS_ZERO) and not both
        found.append((MINUS_ZERO if zero else value, math.nextafter(0.0 if zero else value, math.inf)))
    return tuple(found)


def _edge(edge: float, values: np.ndarray, digits: int | None) -> float:
    """The number of fewest digits between the same two values; or the nearest of so many digits."""
    if not math.isfinite(edge) or abs(edge) >= sys.float_info.max:
        return edge
    if digits is not None:
        return float(f"{edge:.{digits - 1}e}")
    place = int(np.searchsorted(values, edge))
    above = float(values[place]) if place < len(values) else math.inf
    below = float(values[place - 1]) if place else -math.inf
    if below < MINUS_ZERO < 0.0 == above or (below < above == MINUS_ZERO):
        return MINUS_ZERO  # of numbers >= 0, and of those below
    for size in range(1, 17):
        for one in (float(f"{edge:.{size - 1}e}"), *(_towards(edge, end, size) for end in (below, above))):
            if below < one <= above:
                return one
    return edge


def _towards(edge: float, end: float, digits: int) -> float:
    """The middle between the edge and the end of its gap, of so many digits."""
    return edge if not math.isfinite(end) else float(f"{(edge + end) / 2:.{digits - 1}e}")


def _rounder_conditions(score: Score, ground: _Ground) -> Iterator[Score]:
    """A condition with edges of few digits, and without those of its literals that tell least."""
    if not isinstance(score, Boxes):
        return
    numbers = np.concatenate([one.known_numbers[:_ROWS] for one in ground.sides])
    columns = {place: np.unique(numbers[:, place]) for box in score.places for place in box}
    for half_lines in (False, True):
        for digits in (None, *_DIGITS):
            yield Boxes.of_boxes(
                [[_rounder_literal(one, columns[one[0]], digits, half_lines) for one in box] for box in score.boxes]
            )


def _rounder_literal(literal: Literal, values: np.ndarray, digits: int | None, half_lines: bool) -> Literal:  # noqa: FBT001
    """half_lines: whether the greatest and the least value are all beyond a number."""
    place, low, high = literal
    inside = values[np.searchsorted(values, low) : np.searchsorted(values, high)]
    alone = len(inside) == 1
    if alone and half_lines and inside[0] == values[-1]:
        high = math.inf
    elif alone and half_lines and inside[0] == values[0]:
        low = -math.inf
    elif alone:
        return (place, *_points(inside, values)[0])
    low, high = (_edge(one, values, digits) for one in (low, high))
    return (place, low, high) if low < high else literal


def _telling(numbers: Sequence[np.ndarray]) -> list[int]:
    """Coordinates that tell the inputs apart by themselves, the best first; and those that do in pairs."""
    alone = [one.place for one in Coordinate.ranked(*numbers)[:_COORDINATES]]
    return list(dict.fromkeys(alone + interactions(*numbers).informative(_PAIRED)))


def _conjunctions(numbers: Sequence[np.ndarray], places: list[int], ground: _Ground) -> Iterator[list[Literal]]:
    """Of one literal, two, ...: each next one is that of the greatest predicted bound."""
    literals = [one for place in places for one in _literals(np.concatenate([one[:, place] for one in numbers]), place)]
    if not literals:
        return
    holds = [np.array([_holds(one, rows) for one in literals], dtype=np.float32) for rows in numbers]
    inside = [np.ones(len(rows), dtype=np.float32) for rows in numbers]
    box: list[Literal] = []
    before = -math.inf
    for _ in range(_MOST_LITERALS):
        hits, other = (each @ mask for each, mask in zip(holds, inside, strict=True))
        value = ground.judge.predicted(hits, len(numbers[0]), other, len(numbers[1]))
        place = int(np.argmax(value))
        if value[place] <= before:
            return
        before = float(value[place])
        box = [*box, literals[place]]
        inside = [mask * each[place] for each, mask in zip(holds, inside, strict=True)]
        yield box


def _literals(column: np.ndarray, place: int) -> Iterator[Literal]:
    values = np.unique(column)
    if len(values) <= _FEW_VALUES:
        yield from ((place, low, high) for low, high in _points(values, values))
    edges = values[1:] if len(values) <= _FEW_VALUES else cuts(column, _BINS)
    if len(values) > 2:
        yield from ((place, float(edge), math.inf) for edge in edges)
        yield from ((place, -math.inf, float(edge)) for edge in edges)


def _holds(literal: Literal, rows: np.ndarray) -> np.ndarray:
    place, low, high = literal
    return (rows[:, place] >= low) & ((rows[:, place] < high) | (high == math.inf))


def _sets_of_rows(numbers: Sequence[np.ndarray], ground: _Ground) -> Iterator[Event]:
    """The rows of greatest ratio, one, two, ...: as many as two lines hold."""
    rows, where = np.unique(np.concatenate(numbers), axis=0, return_inverse=True)
    if len(rows) > _MOST_ROWS:
        return
    where = where.reshape(-1)
    counts = [np.bincount(part, minlength=len(rows)) for part in np.split(where, [len(numbers[0])])]
    values = np.unique(rows)
    for key in ((counts[0] + 0.5) / (counts[1] + 0.5), counts[0] - counts[1]):
        boxes: list[list[Literal]] = []
        for row in rows[np.argsort(-key, kind="stable")[:_FEW_VALUES]]:
            boxes.append([(place, *_points(one, values)[0]) for place, one in enumerate(row[:, None])])
            event = ground.event(((1.0, math.inf),), Boxes.of_boxes(boxes))
            if len(event.describe()) > _LONGEST:
                break
            yield event
