"""Channels of monotone maps of one uniform of up to 64 bits, by bisection.

If the map has few values, bisection finds the words of each (`step_function`), and the channel is exact. If it has
many, random words of x give outputs, and bisection at x' finds the two consecutive words that bracket each (`search`):
an output strictly between theirs has no word at x', so that epsilon is infinite. The share of such outputs is bounded
from below. In addition, cutting the range at some outputs gives a coarser channel with exact counts.

Monotonicity is the caller's assertion; it is checked on many words, and never proved. As a logarithm may be out of
order by a unit in the last place, the words around a bracket are evaluated one by one.

`step_function` bisects all steps at once: by monotonicity two words with one value have no other between them, and
intervals between different values are halved until they are single steps, in some 64 calls for any number of words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ldp_audit.auditing.bounds import lower_limit
from ldp_audit.auditing.event_search import InputSearch, as_search
from ldp_audit.auditing.result import shown
from ldp_audit.implementations.evaluation import (
    BLOCK,
    OneUniform,
    SamplerMap,
    out_of_order,
    random_words,
    step_back,
    unit_of,
    with_direction,
)
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import Example, Exclusive, JointCounts, LowerBounds, PairChannel
from ldp_audit.implementations.output_keys import OutputKeys

_ERROR = 1e-6  # error probability of all shares together
_SEEDS = 4096  # initial words of the search for steps
_CUTS = 512  # of the range of outputs, for the coarser channel
_ROOM = 16.0  # an output counts as unreachable if it is this many largest steps back inside its window
MOST_STEPS = 2**16
"""Most values of a map that is resolved into steps."""

WINDOW = 64
"""Words on either side of a step that are evaluated one by one."""


def by_structure(
    sampler_map: SamplerMap,
    inputs: Sequence[Any] | InputSearch,
    grid: Grid,
    *,
    samples: int,
    seed: int,
    progress: Callable[[str], None] | None,
) -> tuple[tuple[PairChannel, ...], tuple[str, ...]]:
    """The channel of each pair of inputs, or lower bounds, and their assumptions.

    inputs: two or more, all pairs of which are examined, or a result of `search`.
    sampler_map: (x, u) -> outputs; numbers monotone in u, or labels each with consecutive words.
    samples: words of each input whose outputs are searched for at the others, if there are many outputs.
    Raises ValueError with two words that show that the map is not monotone.
    """
    search_of, reader = as_search(inputs), OutputKeys()
    rng = np.random.default_rng(seed)
    seeds = random_words(rng, grid.size, _SEEDS)
    maps = [OneUniform(sampler_map, x, grid, reader) for x in search_of.inputs]
    steps = []
    for place, one in enumerate(maps):
        _say(progress, f"input {place + 1} of {len(maps)}: looking for steps")
        steps.append(step_function(one, seeds))
    pairs = search_of.pairs
    many = sorted({place for pair in pairs for place in pair if any(steps[one] is None for one in pair)})
    drawn = {place: _drawn(maps[place], rng, samples) for place in many}
    back = max((one.back for one in drawn.values()), default=0.0)
    channels: list[PairChannel] = []
    for first, second in pairs:
        one, other = steps[first], steps[second]
        if one is not None and other is not None:
            channels.append(step_channel((maps[first], maps[second]), (one, other)))
        else:
            _say(progress, f"inputs {first + 1} and {second + 1}: looking for outputs of one at the other")
            bounds, met = _bounds(drawn[first], drawn[second], _ERROR / (2 * len(pairs)))
            channels.append(bounds)
            back = max(back, met)
    if not many:
        return tuple(channels), (_order_in_words(_SEEDS),)
    own = min(one.found for one in drawn.values())
    return tuple(channels), (_order_in_words(_SEEDS + samples), _search_in_words(own, back, samples))


@dataclass(frozen=True)
class _SampledMap:
    """An input's map with its direction, and the outputs of random words, then of the first and last word.

    samples: the number of random words.   allowed: tolerated step back.   back: the largest observed.
    found: the share of the map's own outputs that the search recovers.
    """

    one: OneUniform
    samples: int
    words: np.ndarray
    outputs: np.ndarray
    allowed: float
    back: float
    found: float


def _drawn(one: OneUniform, rng: np.random.Generator, samples: int) -> _SampledMap:
    words = np.append(random_words(rng, one.size, samples), np.array([0, one.size - 1], dtype=np.uint64))
    one, back = with_direction(one, words)
    outputs = one.numbers(words)
    allowed = unit_of(outputs)
    again = search(one, outputs, allowed)
    if again.excluded.any():
        raise _lost(one, int(words[int(np.argmax(again.excluded))]))
    return _SampledMap(one, samples, words, outputs, allowed, max(back, again.step_back), float(again.seen.mean()))


def _lost(one: OneUniform, word: int) -> ValueError:
    output = one.reader.output(one.keys(np.array([word], dtype=np.uint64))[0])
    return ValueError(
        f"monotone=True, but sampler_map is not monotone on input {shown(one.x)}: word {word} gives {shown(output)}, "
        f"and no word does where the outputs of the other words say it would be (within {WINDOW} words)"
    )


def _bounds(first: _SampledMap, second: _SampledMap, error: float) -> tuple[LowerBounds, float]:
    """Exclusive outputs (0.0 and -0.0 count as equal) with the coarser channel; the largest step back observed."""
    exclusive, back = [], 0.0
    for mine, theirs in ((first, second), (second, first)):
        found = search(theirs.one, mine.outputs, theirs.allowed)
        back = max(back, found.step_back)
        if found.excluded.any():
            exclusive.append(_exclusive(mine, theirs, found, error))
    worst = max(exclusive, key=lambda one: one.share).example if exclusive else None
    return LowerBounds(first.one.x, second.one.x, _coarser(first, second), tuple(exclusive), worst), back


def _exclusive(mine: _SampledMap, theirs: _SampledMap, found: Reachability, error: float) -> Exclusive:
    """Exclusive outputs; the example is their median. A single one has a share of at least one word with certainty."""
    places = np.flatnonzero(found.excluded)
    hits = int(np.count_nonzero(found.excluded[: mine.samples]))
    share = max(lower_limit(hits, mine.samples, error), 1 / mine.one.size)
    place = places[np.argsort(mine.outputs[places], kind="stable")[len(places) // 2]]
    word = int(mine.words[place])
    example = Example(
        output=mine.outputs[place].item(),
        word=(word,),
        uniform=(mine.one.uniform(word),),
        below=found.below[place].item() if found.has_below[place] else None,
        above=found.above[place].item() if found.has_above[place] else None,
        reached=mine.one.x,
        unreached=theirs.one.x,
    )
    outputs = len(np.unique(mine.outputs[places]))
    return Exclusive(mine.one.x, theirs.one.x, outputs, len(places), share, example)


def _coarser(first: _SampledMap, second: _SampledMap) -> JointCounts | None:
    """The word counts between drawn outputs; None where words around the cuts are out of order."""
    cuts = _cuts(np.concatenate([first.outputs, second.outputs]))
    cuts = np.unique(np.concatenate([cuts, first.outputs[-2:], second.outputs[-2:]]))
    below, clean = zip(*(words_below(side.one, cuts) for side in (first, second)), strict=True)
    if not (clean[0] & clean[1]).all():
        return None
    size = first.one.size
    edges = [np.array([0, *side, size], dtype=object) for side in below]
    rows = Counter(zip(np.diff(edges[0]).tolist(), np.diff(edges[1]).tolist(), strict=True))
    rows.pop((0, 0), None)
    return JointCounts(size, tuple((*pair, number) for pair, number in sorted(rows.items())))


def _cuts(outputs: np.ndarray) -> np.ndarray:
    """Outputs at equal shares, and at ranks 1, 2, 4 ... from both ends, for rare events."""
    known = np.sort(outputs)
    tail = 2 ** np.arange(int(np.log2(len(known))) + 1)
    ranks = np.concatenate([np.linspace(0, len(known) - 1, _CUTS).astype(int), tail - 1, len(known) - tail])
    return np.unique(known[ranks])


def _order_in_words(words: int) -> str:
    return (
        "monotone: on each input every output has consecutive words, and numbers rise or fall with the uniform "
        f"(the caller's word; {words} random words of each input do not contradict it)"
    )


def _search_in_words(own: float, back: float, samples: int) -> str:
    order = "neighbouring words were seen in order everywhere"
    if back:
        order = f"neighbouring words were seen out of order by up to {back:.3g}, and outputs that near are not counted"
    return (
        f"an output is taken as unreachable where no word within {WINDOW} of its place in the order leads to it; the "
        f"same search finds {100 * own:.6g}% of each input's own {samples} outputs; {order}; "
        f"shares are lower bounds that all hold with confidence {1 - _ERROR}"
    )


def _say(progress: Callable[[str], None] | None, message: str) -> None:
    if progress is not None:
        progress(message)


@dataclass(frozen=True)
class Reachability:
    """The result of a search for outputs.

    seen: whether a word gives the output.   excluded: whether, by monotonicity, no word does; neither where steps back
        prevent a decision.
    below, above: the nearest outputs of an excluded one, valid where has_below, has_above.   step_back: the largest
        observed.
    """

    seen: np.ndarray
    excluded: np.ndarray
    below: np.ndarray
    above: np.ndarray
    has_below: np.ndarray
    has_above: np.ndarray
    step_back: float


def search(one: OneUniform, wanted: np.ndarray, allowed: float, window: int = WINDOW) -> Reachability:
    """Search for numbers, shape (m,), among the outputs.   allowed: tolerated step back."""
    ranks, has_below, has_above = first_not_below(one, wanted)
    nearest = one.at_ranks(ranks)
    before = one.at_ranks(np.where(has_below & has_above, ranks, np.uint64(1)) - np.uint64(1))
    seen = nearest == wanted
    missing = np.flatnonzero(~seen)
    near, margins, back = _in_windows(one, ranks[missing], wanted[missing], allowed, window)
    seen[missing] = near
    excluded = ~seen
    excluded[missing] &= margins >= _ROOM * back
    return Reachability(seen, excluded, np.where(has_above, before, nearest), nearest, has_below, has_above, back)


def first_not_below(one: OneUniform, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first rank with output >= wanted, or the last rank; whether some output is below; whether one is not."""
    last = np.uint64(one.size - 1)
    ends = one.at_ranks(np.array([0, last], dtype=np.uint64))
    has_below, has_above = ends[0] < wanted, ends[1] >= wanted
    low, high = np.zeros(len(wanted), dtype=np.uint64), np.full(len(wanted), last)
    high[~has_below] = 0
    inside = has_below & has_above
    while True:
        apart = np.flatnonzero(inside & (high - low > 1))
        if not len(apart):
            return high, has_below, has_above
        middle = low[apart] + (high[apart] - low[apart]) // np.uint64(2)
        less = one.at_ranks(middle) < wanted[apart]
        low[apart[less]] = middle[less]
        high[apart[~less]] = middle[~less]


def words_below(one: OneUniform, wanted: np.ndarray, window: int = WINDOW) -> tuple[list[int], np.ndarray]:
    """The number of words with outputs below each of the wanted ones, and whether all words around are in order."""
    ranks, _, has_above = first_not_below(one, wanted)
    near = window_of(one.size, ranks, window)
    less = one.at_ranks(near.ravel()).reshape(near.shape) < wanted[:, None]
    clean = (less == ((near < ranks[:, None]) | ~has_above[:, None])).all(axis=1)
    return [rank if some else one.size for rank, some in zip(ranks.tolist(), has_above.tolist(), strict=True)], clean


def _in_windows(
    one: OneUniform, ranks: np.ndarray, wanted: np.ndarray, allowed: float, window: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Whether words around those ranks give the outputs, their margins to the windows' ends, and the step back."""
    found = np.zeros(len(ranks), dtype=bool)
    margins = np.full(len(ranks), np.inf)
    back, rows = 0.0, max(1, BLOCK // (2 * window))
    for first in range(0, len(ranks), rows):
        part = slice(first, first + rows)
        near = window_of(one.size, ranks[part], window)
        outputs = one.at_ranks(near.ravel()).reshape(near.shape)
        found[part] = (outputs == wanted[part, None]).any(axis=1)
        back = max(back, step_back(one, one.words(near), outputs, allowed))
        margins[part] = _margins(near, outputs, wanted[part], one.size)
    return found, margins, back


def _margins(near: np.ndarray, outputs: np.ndarray, wanted: np.ndarray, size: int) -> np.ndarray:
    """The distance of the wanted outputs from their windows' ends; infinite where a window meets the grid's end."""
    with np.errstate(invalid="ignore", over="ignore"):
        lower = np.where(near[:, 0] == 0, np.inf, wanted - outputs[:, 0].astype(np.float64))
        upper = np.where(near[:, -1] == np.uint64(size - 1), np.inf, outputs[:, -1].astype(np.float64) - wanted)
    return np.fmin(lower, upper)


@dataclass(frozen=True)
class StepFunction:
    """starts: the first word of each value, uint64, ascending from 0.   keys: of the values.   size: of the grid."""

    starts: np.ndarray
    keys: np.ndarray
    size: int

    def counts(self) -> dict[int, int]:
        """The number of words of each value, by its key."""
        edges = [*self.starts.tolist(), self.size]
        return {key: after - before for key, (before, after) in zip(self.keys.tolist(), pairwise(edges), strict=True)}


def step_function(one: OneUniform, words: np.ndarray, most: int = MOST_STEPS) -> StepFunction | None:
    """All values of the map with their words; None for more than `most`, or where steps are out of order.

    words: initial ones, uint64; other values are found as well, by monotonicity.
    Raises ValueError where the words of a value are not consecutive, or where numbers are not monotone.
    """
    places = np.unique(np.concatenate([np.array([0, one.size - 1], dtype=np.uint64), words]))
    keys = one.keys(places)
    steps = np.flatnonzero(keys[1:] != keys[:-1])
    low, high, below, above = places[steps], places[steps + 1], keys[steps], keys[steps + 1]
    starts, values = [places[:1]], [keys[:1]]
    while len(low):
        if len(low) + sum(map(len, starts)) > most:
            return None
        near = high - low == 1
        starts.append(high[near])
        values.append(above[near])
        low, high, below, above = _halved(one, low[~near], high[~near], below[~near], above[~near])
    order = np.argsort(np.concatenate(starts))
    found = StepFunction(np.concatenate(starts)[order], np.concatenate(values)[order], one.size)
    _check(one, found)
    return found if _clean(one, found) else None


def window_of(size: int, ranks: np.ndarray, window: int = WINDOW) -> np.ndarray:
    """The ranks within `window` of each: uint64, shape (m, 2 window), repeated at the end of the grid."""
    lowest = np.maximum(ranks, np.uint64(window)) - np.uint64(window)
    room = np.uint64(size - 1) - lowest  # avoids overflow for 2**64 words
    return lowest[:, None] + np.minimum(np.arange(2 * window, dtype=np.uint64), room[:, None])


def _halved(
    one: OneUniform, low: np.ndarray, high: np.ndarray, below: np.ndarray, above: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    if not len(low):
        return low, high, below, above
    middle = low + (high - low) // np.uint64(2)
    keys = one.keys(middle)
    left, right = below != keys, keys != above
    return (
        np.concatenate([low[left], middle[right]]),
        np.concatenate([middle[left], high[right]]),
        np.concatenate([below[left], keys[right]]),
        np.concatenate([keys[left], above[right]]),
    )


def _check(one: OneUniform, found: StepFunction) -> None:
    seen: dict[int, int] = {}
    for place, (start, key) in enumerate(zip(found.starts.tolist(), found.keys.tolist(), strict=True)):
        if key in seen:
            raise out_of_order(one, int(found.starts[place - 1]), start)
        seen[key] = place
    if one.reader.ordered:
        outputs = [one.reader.output(key) for key in found.keys]
        rises = outputs[-1] >= outputs[0]
        for start, (before, after) in zip(found.starts[1:].tolist(), pairwise(outputs), strict=True):
            if (after < before) if rises else (after > before):
                raise out_of_order(one, start - 1, start)


def _clean(one: OneUniform, found: StepFunction) -> bool:
    """Whether the words next to each step have the values expected; ValueError for labels that do not."""
    rows = BLOCK // (2 * WINDOW)
    for first in range(1, len(found.starts), rows):
        starts = found.starts[first : first + rows]
        near = window_of(found.size, starts).ravel()
        expected = found.keys[np.searchsorted(found.starts, near, side="right") - 1]
        wrong = one.keys(near) != expected
        if wrong.any() and not one.reader.ordered:  # for labels, rounding is no explanation
            word = int(near[int(np.argmax(wrong))])
            raise out_of_order(one, word, int(starts[int(np.argmin(np.abs(starts.astype(float) - word)))]))
        if wrong.any():
            return False
    return True


def step_channel(maps: tuple[OneUniform, OneUniform], steps: tuple[StepFunction, StepFunction]) -> PairChannel:
    """The exact channel, with an example of each input's exclusive outputs, or of the largest ratio."""
    words = steps[0].counts(), steps[1].counts()
    keys = sorted(set(words[0]) | set(words[1]))
    beside = {key: (words[0].get(key, 0), words[1].get(key, 0)) for key in keys}
    counts = JointCounts(maps[0].size, tuple((*pair, many) for pair, many in sorted(Counter(beside.values()).items())))
    exclusive = []
    for side in (0, 1):
        alone = [key for key in keys if beside[key][1 - side] == 0]
        if alone:
            outputs, number = counts.exclusive(side)
            example = _example(maps, steps, side, max(alone, key=lambda key: words[side][key]), math.inf)
            pair = maps[side].x, maps[1 - side].x
            exclusive.append(Exclusive(*pair, outputs, number, number / counts.total, example))
    if exclusive:
        worst = max(exclusive, key=lambda found: found.words).example
    else:
        worst = _most_telling(maps, steps, beside, counts.worst_row[:2])
    return PairChannel(maps[0].x, maps[1].x, counts, tuple(exclusive), worst)


def _most_telling(
    maps: tuple[OneUniform, OneUniform],
    steps: tuple[StepFunction, StepFunction],
    beside: dict[int, tuple[int, int]],
    row: tuple[int, int],
) -> Example | None:
    if row[0] == row[1]:
        return None
    key = next(key for key, pair in beside.items() if pair == row)
    return _example(maps, steps, 0 if row[0] > row[1] else 1, key, max(row) / min(row))


def _example(
    maps: tuple[OneUniform, OneUniform], steps: tuple[StepFunction, StepFunction], side: int, key: int, ratio: float
) -> Example:
    """One output, the first word that leads to it and, for an exclusive one, the other input's nearest outputs."""
    mine, theirs = maps[side], maps[1 - side]
    word = int(steps[side].starts[steps[side].keys.tolist().index(key)])
    nearest = [None, None]
    if math.isinf(ratio) and mine.reader.ordered:
        others = steps[1 - side].keys.tolist()
        sides = [value for value in others if value < key], [value for value in others if value > key]
        nearest = [max(sides[0], default=None), min(sides[1], default=None)]
    below, above = (None if value is None else _ordinary(mine.reader.output(value)) for value in nearest)
    output = _ordinary(mine.reader.output(key))
    return Example(output, (word,), (mine.uniform(word),), below, above, ratio, mine.x, theirs.x)


def _ordinary(value: object) -> object:
    """A numpy number as a Python one, which prints the same everywhere."""
    return value.item() if hasattr(value, "item") else value  # type: ignore[attr-defined]
