"""Maps of one uniform of up to 64 bits that rise, or fall, with it: all words by structure.

Where the map takes few values, bisection finds the words of each, and the channel is exact. Where it takes many, random
words of x give outputs, and bisection at x' finds the two consecutive words between whose outputs each lies: one that
lies strictly between has no word at x', so that no epsilon holds. How often that happens is counted, and bounded from
below. Beside that, cutting the outputs at some of them gives a coarser channel, whose counts are exact again.

What is taken on trust is the order of the words; it is looked at on many of them, and never proved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldp_audit.auditing.bounds import lower_limit
from ldp_audit.auditing.event_search import InputSearch, as_search
from ldp_audit.auditing.result import shown
from ldp_audit.implementations.bracket import Search, search, words_below
from ldp_audit.implementations.evaluation import SamplerMap
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import Example, Exclusive, PairChannel
from ldp_audit.implementations.joint_counts import JointCounts
from ldp_audit.implementations.lower_bounds import LowerBounds
from ldp_audit.implementations.one_uniform import OneUniform, random_words, unit_of, with_direction
from ldp_audit.implementations.output_keys import OutputKeys
from ldp_audit.implementations.step_channel import step_channel
from ldp_audit.implementations.step_function import WINDOW, step_function

_ERROR = 1e-6  # of all shares together
_SEEDS = 4096  # words that a step function is first looked at on
_CUTS = 512  # of the outputs, for the coarser channel


def by_structure(
    sampler_map: SamplerMap,
    inputs: Sequence[Any] | InputSearch,
    grid: Grid,
    *,
    samples: int,
    seed: int,
    progress: Callable[[str], None] | None,
) -> tuple[tuple[PairChannel, ...], tuple[str, ...]]:
    """What is known of each pair of inputs, and what that takes on trust.

    inputs: two or more, all pairs of which are examined, or what `search` returns.
    sampler_map: (x, u) -> outputs; numbers that rise or fall with u, or labels each of which has consecutive words.
    samples: words of each input whose outputs are looked for at the others, where there are many outputs.
    Raises ValueError with two words where the map is seen not to be monotone.
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
class _Drawn:
    """An input's map with its direction, and outputs of random words; the last two are those of the two ends.

    samples: how many words are random.   allowed: a step back that is no error.   back: the largest that was seen.
    found: the share of the map's own outputs that the search finds again.
    """

    one: OneUniform
    samples: int
    words: np.ndarray
    outputs: np.ndarray
    allowed: float
    back: float
    found: float


def _drawn(one: OneUniform, rng: np.random.Generator, samples: int) -> _Drawn:
    words = np.append(random_words(rng, one.size, samples), np.array([0, one.size - 1], dtype=np.uint64))
    one, back = with_direction(one, words)
    outputs = one.numbers(words)
    allowed = unit_of(outputs)
    again = search(one, outputs, allowed)
    if again.excluded.any():
        raise _lost(one, int(words[int(np.argmax(again.excluded))]))
    return _Drawn(one, samples, words, outputs, allowed, max(back, again.step_back), float(again.seen.mean()))


def _lost(one: OneUniform, word: int) -> ValueError:
    output = one.reader.output(one.keys(np.array([word], dtype=np.uint64))[0])
    return ValueError(
        f"monotone=True, but sampler_map is not monotone on input {shown(one.x)}: word {word} gives {shown(output)}, "
        f"and no word does where the outputs of the other words say it would be (within {WINDOW} words)"
    )


def _bounds(first: _Drawn, second: _Drawn, error: float) -> tuple[LowerBounds, float]:
    """Outputs of each that the other cannot give, and the coarser channel; the largest step back that was met.

    0.0 and -0.0, which have no order, are not told apart here.
    """
    exclusive, back = [], 0.0
    for mine, theirs in ((first, second), (second, first)):
        found = search(theirs.one, mine.outputs, theirs.allowed)
        back = max(back, found.step_back)
        if found.excluded.any():
            exclusive.append(_exclusive(mine, theirs, found, error))
    worst = max(exclusive, key=lambda one: one.share).example if exclusive else None
    return LowerBounds(first.one.x, second.one.x, _coarser(first, second), tuple(exclusive), worst), back


def _exclusive(mine: _Drawn, theirs: _Drawn, found: Search, error: float) -> Exclusive:
    """What was found; the example is the excluded output in the middle of all that are.

    Its one word is a share that is certain, however many of the random words there are.
    """
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


def _coarser(first: _Drawn, second: _Drawn) -> JointCounts | None:
    """The words of either input between outputs that were drawn; None where words around the cuts are out of order."""
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
    """Outputs at equal shares, and at ranks 1, 2, 4 ... from both ends, where rare events lie."""
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
