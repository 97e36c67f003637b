"""The events that a test of fit counts, by kind. They depend on the laws alone.

likeliest   "y is among the likeliest outputs of its law", over all inputs;
pooled      single cells and "y <= v" over all inputs, where their cells are the same; else, for intervals, "y lies
            below the j/16 quantile of its law";
cells       each cell on each input;
half-lines  "y <= v" on each input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ldp_audit.auditing.events.cell_probabilities import MASS_ERROR, CellLaw

WEIGHTS = {"likeliest": 0.4, "pooled": 0.2, "cells": 0.2, "half-lines": 0.2}
"""How the error is shared out; a kind without events leaves its share to the others."""

_QUANTILES, _EIGHTHS = 16, 8
_MOST_LEVELS = 8


@dataclass(frozen=True)
class FitEvent:
    """A set of cells on each of some inputs.

    kind: one of `WEIGHTS`.   words: of an output y.   parts: pairs (the input's number, the cells' numbers).
    """

    kind: str
    words: str
    parts: tuple[tuple[int, np.ndarray], ...]

    def probability(self, laws: list[CellLaw]) -> float:
        """The average over its inputs."""
        masses = [math.fsum(laws[place].probabilities[cells]) for place, cells in self.parts]
        return min(1.0, math.fsum(masses) / len(masses))

    def hits(self, counts: list[np.ndarray]) -> int:
        """How many of the counted outputs are in it."""
        return sum(int(counts[place][cells].sum()) for place, cells in self.parts)


def fit_events(laws: list[CellLaw]) -> list[FitEvent]:
    """All events that the laws leave to chance. ValueError if there are none."""
    found = [*_likeliest(laws), *(_pooled(laws) if len(laws) > 1 else ()), *_of_each_input(laws)]
    found = [event for event in found if event.parts and MASS_ERROR < event.probability(laws) < 1 - MASS_ERROR]
    if not found:
        raise ValueError("law must leave something to chance: on every input its output is certain")
    return found


def _likeliest(laws: list[CellLaw]) -> Iterator[FitEvent]:
    """The highest level of each law; the further ones where all have as many, or else eighths of the mass."""
    orders = [np.lexsort((-law.probabilities, -law.heights)) for law in laws]
    ends = [_level_ends(law.heights[order]) for law, order in zip(laws, orders, strict=True)]
    yield FitEvent("likeliest", "y is a likeliest output of its law", _prefixes(orders, [one[0] for one in ends]))
    if len({len(one) for one in ends}) == 1 and len(ends[0]) <= _MOST_LEVELS:
        for level in range(1, len(ends[0]) - 1):
            words = f"y is of the {level + 1} likeliest kinds of its law"
            yield FitEvent("likeliest", words, _prefixes(orders, [one[level] for one in ends]))
        return
    for share in range(1, _EIGHTHS):
        sizes = [_size(law.probabilities[order], share / _EIGHTHS) for law, order in zip(laws, orders, strict=True)]
        words = f"y is in the likeliest {share}/{_EIGHTHS} of its law, as cells go"
        yield FitEvent("likeliest", words, _prefixes(orders, sizes))


def _pooled(laws: list[CellLaw]) -> Iterator[FitEvent]:
    every = range(len(laws))
    if all(law.words == laws[0].words for law in laws):
        for cell, words in enumerate(laws[0].words):
            yield FitEvent("pooled", words, tuple((place, np.array([cell])) for place in every))
        for size in range(2, _half_lines(laws[0]) + 1):
            yield FitEvent("pooled", laws[0].up_to[size - 1], tuple((place, np.arange(size)) for place in every))
    elif all(law.binned for law in laws):
        orders = [np.arange(law.ordered) for law in laws]
        for share in range(1, _QUANTILES):
            sizes = [_size(law.probabilities, share / _QUANTILES) for law in laws]
            words = f"y lies below the cut next to the {share}/{_QUANTILES} quantile of its law"
            yield FitEvent("pooled", words, _prefixes(orders, sizes))


def _of_each_input(laws: list[CellLaw]) -> Iterator[FitEvent]:
    for place, law in enumerate(laws):
        if not len(law.words) == 2 == law.ordered:  # of two such cells the half-line is one, and the other what is left
            for cell, words in enumerate(law.words):
                yield FitEvent("cells", words, ((place, np.array([cell])),))
        for size in range(1, _half_lines(law) + 1):
            yield FitEvent("half-lines", law.up_to[size - 1], ((place, np.arange(size)),))


def _half_lines(law: CellLaw) -> int:
    """How many unions of first cells are not everything."""
    return law.ordered - (law.ordered == len(law.words))


def _level_ends(heights: np.ndarray) -> list[int]:
    """Heights descend: how many lie in the first level, the first two, ...; equal to 1e-9 is equal."""
    falls = heights[1:] < heights[:-1] * (1 - 1e-9)
    return [*(np.flatnonzero(falls) + 1).tolist(), len(heights)]


def _size(masses: np.ndarray, share: float) -> int:
    """How many of the first cells hold about this share."""
    return int(np.argmin(np.abs(np.cumsum(masses) - share))) + 1


def _prefixes(orders: list[np.ndarray], sizes: list[int]) -> tuple[tuple[int, np.ndarray], ...]:
    """So many first cells of each order; an input of which that is everything has no part in the event."""
    pairs = enumerate(zip(orders, sizes, strict=True))
    return tuple((place, order[:size]) for place, (order, size) in pairs if size < len(order))
