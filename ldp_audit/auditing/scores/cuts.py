"""Cutting one coordinate into cells for a table: its repeated values alone, what is left at quantiles.

Edges e_0 < e_1 < ... make cells (-inf, e_0), [e_0, e_1), ..., [e_last, inf]; a number's code is its cell, from 0. A
score that is a table of codes is defined for every number, infinite ones included.
"""

from __future__ import annotations

import math

import numpy as np

_TAILS = (2**-7, 2**-10)  # quantiles near both ends, where a table may hold a rare and telling event


def cuts(values: np.ndarray, bins: int) -> np.ndarray:
    """Ascending edges for about so many cells.

    values: float64, shape (n,), a sample of both inputs, infinities allowed.   returns: float64, shape (cells - 1,).
    """
    distinct, times = np.unique(values, return_counts=True)
    if len(distinct) <= bins:
        return distinct[1:]
    often = times >= max(3, len(values) // (2 * bins))
    atoms = distinct[often]
    rest = np.repeat(distinct[~often], times[~often])
    after = np.nextafter(atoms, math.inf)
    edges = np.unique(np.concatenate([atoms, after, _quantiles(rest, max(2, bins - len(atoms)))]))
    return edges[edges > distinct[0]]


def codes(column: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The cell of each number: whole numbers, shape (n,)."""
    if len(edges) <= 3:
        found = np.zeros(len(column), dtype=np.intp)
        for edge in edges:
            found += column >= edge
        return found
    return np.searchsorted(edges, column, side="right")


def cell_counts(column: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """How many numbers lie in each cell: int64, shape (cells,)."""
    return np.bincount(codes(column, edges), minlength=len(edges) + 1)


def _quantiles(rest: np.ndarray, bins: int) -> np.ndarray:
    """Values at equal shares of the sorted rest, and a few near either end."""
    if len(rest) == 0:
        return rest
    shares = np.concatenate([np.arange(1, bins) / bins, _TAILS, 1 - np.array(_TAILS)])
    return rest[np.minimum((shares * len(rest)).astype(int), len(rest) - 1)]
