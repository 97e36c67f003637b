"""A map of one uniform that takes few values: where each value begins, by bisection of all words at once.

That every value has consecutive words is the caller's word. Under it, two ends with one value have no other between
them, and two ends with different values are halved until they are neighbours: some 64 calls, whatever the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ldp_audit.implementations.one_uniform import BLOCK, OneUniform, out_of_order

MOST_STEPS = 2**16
"""A map of more values than this is not resolved."""
WINDOW = 64
"""Words on either side of a step that are looked at one by one."""


@dataclass(frozen=True)
class StepFunction:
    """starts: the first word of each value, uint64, ascending from 0.   keys: of the values.   size: words in all."""

    starts: np.ndarray
    keys: np.ndarray
    size: int

    def counts(self) -> dict[int, int]:
        """The words that lead to each value, by its key."""
        edges = [*self.starts.tolist(), self.size]
        return {key: after - before for key, (before, after) in zip(self.keys.tolist(), pairwise(edges), strict=True)}


def step_function(one: OneUniform, words: np.ndarray, most: int = MOST_STEPS) -> StepFunction | None:
    """All values of the map with their words; None where there are more than `most`, or where steps are frayed.

    words: where to begin to look, uint64; a value that none of them has is found all the same, if it is monotone.
    Raises ValueError where a value has words apart from each other, or where numbers neither rise nor fall.
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
    """The ranks around each, window to either side: uint64, shape (m, 2 window), repeated at the end of the map."""
    lowest = np.maximum(ranks, np.uint64(window)) - np.uint64(window)
    room = np.uint64(size - 1) - lowest  # so that nothing overflows where there are 2**64 words
    return lowest[:, None] + np.minimum(np.arange(2 * window, dtype=np.uint64), room[:, None])


def _halved(
    one: OneUniform, low: np.ndarray, high: np.ndarray, below: np.ndarray, above: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of each interval the halves whose ends differ."""
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
    """Whether the words next to each step have the values that the bisection says.

    Raises ValueError where labels do not.
    """
    rows = BLOCK // (2 * WINDOW)
    for first in range(1, len(found.starts), rows):
        starts = found.starts[first : first + rows]
        near = window_of(found.size, starts).ravel()
        expected = found.keys[np.searchsorted(found.starts, near, side="right") - 1]
        wrong = one.keys(near) != expected
        if wrong.any() and not one.reader.ordered:  # of labels no order is known that a last place could disturb
            word = int(near[int(np.argmax(wrong))])
            raise out_of_order(one, word, int(starts[int(np.argmin(np.abs(starts.astype(float) - word)))]))
        if wrong.any():
            return False
    return True
