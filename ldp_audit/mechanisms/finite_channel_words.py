"""A finite channel in whole numbers of words: how the words are shared out so that no ratio grows.

Of W equally likely words, every output that some input can give gets `a` of them at every input, and the K = W - m a
words that are left (m such outputs) are shared out in proportion to its probability P, rounded to within one word:
c = a + P K + r with -1 < r < 1. At two inputs with P <= t P' the counts of one output then satisfy

    c <= a + 1 + P K <= a + 1 + t P' K <= t (a - 1 + P' K) <= t c'   if   a + 1 <= t (a - 1),

that is, if a >= (t + 1) / (t - 1) = coth(epsilon / 2), for the channel's own t = e**epsilon. So the implemented epsilon
is at most the channel's. As t is a ratio of the channel's probabilities, a is found in exact fractions. The share of a
uniform law that this mixes in is m a / W.

Where m a > W, and for epsilon = 0, every input gets the counts of the first one. Where epsilon is infinite there is no
ratio to keep: an output gets a word of its own at each input that can give it, if there are enough words, and none at
the others. Probabilities that are whole numbers of words already are used as they are.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def are_whole(weights: NDArray, words: int) -> bool:
    """Whether every probability is a whole number of words; see `word_counts`."""
    return not any(bool(np.any(row * words % row.sum())) for row in weights)


def word_counts(weights: NDArray, ratio: Fraction | None, words: int) -> list[list[int]]:
    """How many words lead to each output, for each input; rows add up to `words`.

    weights: shape (inputs, outputs), whole numbers of Python's; a row's probabilities are its shares of the row's sum.
    ratio: the largest of one output's probabilities at two inputs, e**epsilon; None for infinity.
    """
    rows = weights.tolist()
    if are_whole(weights, words):
        return [[weight * words // sum(row) for weight in row] for row in rows]
    if ratio is None:
        return [_shared_out(row, 1, words) for row in rows]
    floor = math.inf if ratio == 1 else math.ceil((ratio + 1) / (ratio - 1))
    if floor * int(np.count_nonzero(weights.any(axis=0))) > words:
        return [_shared_out(rows[0], 1, words)] * len(rows)
    return [_shared_out(row, int(floor), words) for row in rows]


def _shared_out(row: list[int], floor: int, words: int) -> list[int]:
    """So many words for each output with weight, where they suffice; the rest in proportion, by largest remainders."""
    total, outputs = sum(row), sum(map(bool, row))
    floor = floor if floor * outputs <= words else 0
    rest = words - floor * outputs
    counts = [floor + weight * rest // total if weight else 0 for weight in row]
    remainders = [-(weight * rest % total) for weight in row]
    for place in sorted(range(len(row)), key=remainders.__getitem__)[: words - sum(counts)]:
        counts[place] += 1
    return counts
