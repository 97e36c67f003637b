"""The channel of two inputs on both of which a map takes few values: counts, however many words there are."""

from __future__ import annotations

import math
from collections import Counter

from ldp_audit.implementations.implementation_result import Example, Exclusive, PairChannel
from ldp_audit.implementations.joint_counts import JointCounts
from ldp_audit.implementations.one_uniform import OneUniform
from ldp_audit.implementations.step_function import StepFunction


def step_channel(maps: tuple[OneUniform, OneUniform], steps: tuple[StepFunction, StepFunction]) -> PairChannel:
    """The exact channel, with an example of each input's exclusive outputs, or of the most telling output."""
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
    """The first output of largest ratio; None where the inputs cannot be told apart at all."""
    if row[0] == row[1]:
        return None
    key = next(key for key, pair in beside.items() if pair == row)
    return _example(maps, steps, 0 if row[0] > row[1] else 1, key, max(row) / min(row))


def _example(
    maps: tuple[OneUniform, OneUniform], steps: tuple[StepFunction, StepFunction], side: int, key: int, ratio: float
) -> Example:
    """One output, the first word that leads to it and, where no word of the other input does, its nearest outputs."""
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
    """A number of numpy's as one of Python's, which prints the same everywhere."""
    return value.item() if hasattr(value, "item") else value  # type: ignore[attr-defined]
