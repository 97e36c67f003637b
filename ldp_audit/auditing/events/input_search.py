"""Which inputs to try: extremes, a grid, random ones, and pairs that the user names.

Local privacy holds between any two inputs. Where a claim is about neighbouring ones alone (central privacy), say which
are neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ldp_audit.auditing.arguments import check_count, check_seed, is_number

_MOST_INPUTS = 200


@dataclass(frozen=True)
class InputSearch:
    """Inputs and the pairs of them, by their places, that an audit may compare."""

    inputs: tuple[Any, ...]
    pairs: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.inputs)


def search(
    low: float | None = None,
    high: float | None = None,
    *,
    dimension: int | None = None,
    universe: int | None = None,
    size: int | None = None,
    values: Iterable[Any] = (),
    pairs: Iterable[tuple[Any, Any]] = (),
    grid: int = 5,
    random: int = 4,
    adjacent: Callable[[Any, Any], bool] | None = None,
    seed: int = 0,
) -> InputSearch:
    """Inputs for `audit`: numbers, vectors, sets, and what you name.

    low, high: ends of the range of a number; with dimension, of each coordinate of a vector.
    universe, size: inputs are sets of so many of the numbers 0 .. universe - 1, given as sorted tuples.
    values: inputs to compare with each other and with the others.   pairs: two inputs each, compared with each other.
    grid: points of the range, its ends included.   random: further random inputs.
    adjacent: which of the pairs count; None: all of them.
    Raises ValueError where nothing is left to compare, or for more than 200 inputs.
    """
    check_seed(seed)
    check_count("grid", grid, 2)
    check_count("random", random, 0)
    rng = np.random.default_rng(seed)
    found = list(values)
    if low is not None or high is not None:
        ends = _checked_range(low, high)
        found += _numbers(*ends, grid, random, rng) if dimension is None else _vectors(*ends, dimension, random, rng)
    if universe is not None or size is not None:
        found += _sets(universe, size, random, rng)
    found = _distinct(found)
    compared = set(combinations(range(len(found)), 2))
    for one, two in pairs:
        compared.add((_place(found, one), _place(found, two)))
    if adjacent is not None:
        compared = {pair for pair in compared if adjacent(found[pair[0]], found[pair[1]])}
    if not compared:
        raise ValueError("search must leave a pair to compare: give low and high, universe and size, values or pairs")
    if len(found) > _MOST_INPUTS:
        raise ValueError(f"search must give at most {_MOST_INPUTS} inputs, got {len(found)}; name fewer of them")
    return InputSearch(tuple(found), tuple(sorted(compared)))


def as_search(inputs: Sequence[Any] | InputSearch) -> InputSearch:
    """Two inputs or more, all of whose pairs count, unless a search says otherwise."""
    if isinstance(inputs, InputSearch):
        return inputs
    if isinstance(inputs, str | bytes) or not hasattr(inputs, "__len__") or len(inputs) < 2:
        raise ValueError(f"inputs must be two or more inputs, or a search(...), got {inputs!r:.200}")
    if len(inputs) > _MOST_INPUTS:
        raise ValueError(f"inputs must be at most {_MOST_INPUTS}, got {len(inputs)}")
    if len(_distinct(list(inputs))) < 2:
        raise ValueError(f"inputs must be two or more that differ, got {inputs!r:.200}")
    return InputSearch(tuple(inputs), tuple(combinations(range(len(inputs)), 2)))


def _checked_range(low: Any, high: Any) -> tuple[float, float]:
    if not (is_number(low) and is_number(high)) or not -math.inf < low < high < math.inf:
        raise ValueError(f"low and high must be finite numbers with low < high, got {low!r}, {high!r}")
    return float(low), float(high)


def _numbers(low: float, high: float, grid: int, random: int, rng: np.random.Generator) -> list[float]:
    return [*np.linspace(low, high, grid).tolist(), *rng.uniform(low, high, random).tolist()]


def _vectors(low: float, high: float, dimension: int, random: int, rng: np.random.Generator) -> list[tuple[float, ...]]:
    """All low, all high, half and half, one coordinate apart from either, and random corners."""
    check_count("dimension", dimension, 1)
    lows, highs = np.full(dimension, low), np.full(dimension, high)
    first_high, first_low = lows.copy(), highs.copy()
    first_high[0], first_low[0] = high, low
    alternating = np.where(np.arange(dimension) % 2 == 0, low, high)
    corners = [lows, highs, first_high, first_low, alternating, lows + highs - alternating]
    corners += [np.where(rng.random(dimension) < 0.5, low, high) for _ in range(random)]
    return [tuple(corner.tolist()) for corner in corners]


def _sets(universe: Any, size: Any, random: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """The first and the last, two that share all but one member, and random ones."""
    for name, value in (("universe", universe), ("size", size)):
        check_count(name, value, 1)
    if size >= universe:
        raise ValueError(f"size must be in 1 .. universe - 1, got size {size!r}, universe {universe!r}")
    first = tuple(range(size))
    sets = [first, tuple(range(universe - size, universe)), (*first[:-1], universe - 1)]
    sets += [tuple(sorted(rng.choice(universe, size, replace=False).tolist())) for _ in range(random)]
    return sets


def _distinct(inputs: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for one in inputs:
        if not any(_same(one, other) for other in kept):
            kept.append(one)
    return kept


def _place(inputs: list[Any], one: Any) -> int:
    """Where the input is in the list, to which it is added if it is new."""
    for place, other in enumerate(inputs):
        if _same(one, other):
            return place
    inputs.append(one)
    return len(inputs) - 1


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    try:
        return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)
    except ValueError:  # arrays within tuples: taken for different
        return False
