"""The channel of two inputs from their word counts, and the outputs that are worth an example."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ldp_audit.implementations.implementation_result import Example, Exclusive, PairChannel
from ldp_audit.implementations.joint_counts import JointCounts
from ldp_audit.implementations.output_keys import OutputKeys
from ldp_audit.implementations.word_counts import SideBySide, WordCounts


@dataclass(frozen=True)
class Exemplar:
    """An output to show.   place: the number of the input that reaches it.   example: still without its word."""

    place: int
    key: Any
    example: Example


@dataclass(frozen=True)
class CountedPair:
    """Two inputs' joint counts.   inputs: the two.   exemplars: at most one for each."""

    inputs: tuple[Any, Any]
    places: tuple[int, int]
    counts: JointCounts
    exemplars: tuple[Exemplar, ...]

    def channel(self, worked_out: Callable[[Exemplar], Example]) -> PairChannel:
        """With its examples worked out, that is, with their words."""
        examples = {one.place: worked_out(one) for one in self.exemplars}
        exclusive = []
        for side, place in enumerate(self.places):
            outputs, words = self.counts.exclusive(side)
            if outputs:
                share = words / self.counts.total
                pair = self.inputs[side], self.inputs[1 - side]
                exclusive.append(Exclusive(*pair, outputs, words, share, examples[place]))
        only = [one.example for one in sorted(exclusive, key=lambda one: -one.words)]
        worst = next(iter(only or examples.values()), None)
        return PairChannel(*self.inputs, self.counts, tuple(exclusive), worst)


def counted_pair(
    inputs: Sequence[Any], places: tuple[int, int], sides: tuple[WordCounts, WordCounts], total: int, keys: OutputKeys
) -> CountedPair:
    """Join two inputs' counts and choose what to show: in each direction the exclusive output of most words.

    inputs: all of them.   places: the numbers of these two.   total: words of each.
    Where no output is exclusive, the one of largest ratio is chosen, unless the two cannot be told apart at all.
    """
    joined = SideBySide(*sides, total)
    exemplars = []
    for side in (0, 1):
        exclusive = [row for row in joined.counts.rows if row[1 - side] == 0]
        if exclusive:
            key = joined.key_in(max(exclusive, key=lambda row: row[side]))
            nearest = _nearest(sides[1 - side], key, keys)
            exemplars.append(_exemplar(inputs, (places[side], places[1 - side]), key, keys, nearest, math.inf))
    row = joined.counts.worst_row
    if not exemplars and row[0] != row[1]:
        side = 0 if row[0] > row[1] else 1
        ratio = row[side] / row[1 - side]
        pair = places[side], places[1 - side]
        exemplars.append(_exemplar(inputs, pair, joined.key_in(row), keys, (None, None), ratio))
    return CountedPair((inputs[places[0]], inputs[places[1]]), places, joined.counts, tuple(exemplars))


def with_word(example: Example, word: tuple[int, ...], uniform: tuple[float, ...]) -> Example:
    """The example with the words that lead to it."""
    return replace(example, word=word, uniform=uniform)


def _nearest(side: WordCounts, key: Any, keys: OutputKeys) -> tuple[Any, Any]:
    """The outputs of a side that are nearest to one it cannot reach, below and above; a NaN is near nothing."""
    if not keys.ordered or _is_nan(keys.output(key)):
        return None, None
    below, above = (None if near is None else keys.output(near) for near in side.neighbours(key))
    return below, None if _is_nan(above) else above


def _is_nan(output: Any) -> bool:
    return bool(output != output)


def _exemplar(
    inputs: Sequence[Any], pair: tuple[int, int], key: Any, keys: OutputKeys, nearest: tuple[Any, Any], ratio: float
) -> Exemplar:
    reached, unreached = (inputs[place] for place in pair)
    example = Example(keys.output(key), (), (), *nearest, ratio, reached, unreached)
    return Exemplar(pair[0], key, example)
