r"""Where the characteristic function of a sum of very many losses is not small.

For one law let F(w) be the square of the size of its characteristic function, the mean of cos(w D) for the difference D
of two of its losses. As F'' >= -2 V with its variance V, F + V w**2 is convex, so that in a cell of the width h

    F <= max(F at both ends) + V h**2 / 4.

With `noise` beside the losses nothing counts beyond some frequency. Up to it F is known at the ends of cells, by fast
transforms of bins' sums (`expansion`); cells where the product over all losses may not be small are cut further.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len, rfft

from ldp_audit.accounting.frequencies.expansion import EPS, TERMS, Expansion, expansion, moments
from ldp_audit.accounting.frequencies.noise import Noise
from ldp_audit.accounting.frequencies.tilted_atoms import Numbers, TiltedAtoms, TiltedSum

DROPPED = 40.0
"""-ln of a size that counts as 0."""
_CELL, _MOST_CELLS = 0.5, 2**16
"""A cell's width times the deviation of one loss, and how many cells there may be."""
_MOST_WINDOWS, _MOST_LOSSES, _FEWEST = 2000, 2 * 10**6, 8
"""How many cells may be left, and losses in them all; but so many cells in any case."""
_MOST_POINTS = 2 * 10**5
_PARTS, _STEPS, _MOST_PIECES = 16, 8, 2**14
"""Cells are cut into so many parts until they have so few frequencies, or are so many."""
_OFTEN = 100
"""So often a law must count to make the product small by itself."""


class Window(NamedTuple):
    """Frequencies that count, ascending, shape (n,), and each law around them."""

    frequencies: Numbers
    laws: tuple[Expansion, ...]


def windows(tilted: TiltedSum, noise: Noise, step: float) -> list[Window] | None:
    """All (j + 1/2) step > 0 at which the product may be above e**-DROPPED; None where they are too many."""
    width = _CELL / _usual_deviation(tilted)
    count = math.ceil(math.sqrt(2 * DROPPED) / noise.deviation / width)
    ends = width * np.arange(count + 1, dtype=np.float64)
    squares = [_squares_by_transform(part, width, count) for part in tilted.parts]
    cells = np.flatnonzero(_undecided(tilted.parts, noise, ends, squares))
    losses = sum(part.away.size for part in tilted.parts)
    if cells.size > max(_FEWEST, min(_MOST_WINDOWS, _MOST_LOSSES / losses)):
        return None
    usual = [None if one is None else np.minimum(one[:-1], one[1:]) for one in squares]
    surely = np.count_nonzero(_log_sizes(tilted.parts, noise, ends, usual) > -DROPPED)
    if surely * width > _MOST_POINTS * step:  # cells at both of whose ends the product is not small are full of them
        return None
    found, points = [], 0.0
    for low, high in zip(ends[cells].tolist(), ends[cells + 1].tolist(), strict=True):
        middle = (low + high) / 2 if low else 0.0
        laws = tuple(expansion(part, middle, high - middle) for part in tilted.parts)
        pieces = _narrowed(tilted.parts, noise, laws, np.array([[low, high]]), step)
        points += float((pieces[:, 1] - pieces[:, 0]).sum()) / step
        if points > _MOST_POINTS:
            return None
        if (at := _midpoints(pieces, step)).size:
            found.append(Window(at, laws))
    return found


def least_deviation(tilted: TiltedSum) -> float:
    """Of noise with which there are not too many cells, nats."""
    return math.sqrt(2 * DROPPED) / _MOST_CELLS / _CELL * _usual_deviation(tilted)


def _usual_deviation(tilted: TiltedSum) -> float:
    """The deviation of one loss of the law that varies most in all, of those that count often if there are some."""
    often = [part for part in tilted.parts if part.times >= _OFTEN] or tilted.parts
    return math.sqrt(max((part.times * part.variance, part.variance) for part in often)[1])


def _squares_by_transform(part: TiltedAtoms, width: float, count: int) -> Numbers | None:
    """Upper ends of F at the multiples 0 .. count of the width; None for a law that a cell says nothing of."""
    if part.variance * width**2 >= 4:
        return None
    size: int = next_fast_len(math.ceil(math.pi * count), real=True)  # type: ignore[assignment]
    # losses in units of 1/width, as powers of tiny ones, and of their frequencies, are no floats
    found = moments(part.away * width, part.masses, 2 * math.pi / size)
    places, multiples = found.places % size, np.arange(count + 1, dtype=np.float64)
    values, power = np.zeros(count + 1, dtype=np.complex128), np.ones(count + 1, dtype=np.complex128)
    for column in found.sums.T:
        values += power * np.asarray(rfft(np.bincount(places, column, size)))[: count + 1]
        power *= -1j * multiples
    rounding = 3 * (part.rounding + EPS * (80 + 4 * math.log2(size * part.away.size) + found.places.size))
    errors = rounding + 12 * EPS * part.turning * width * multiples + found.left_out * multiples**TERMS
    return np.minimum(np.abs(values) + errors, 1.0) ** 2


def _undecided(
    parts: Sequence[TiltedAtoms], noise: Noise, ends: Numbers, squares: Sequence[Numbers | None]
) -> NDArray[np.bool_]:
    """Whether the product may not be small, for the cells between neighbouring ends along the last axis.

    squares: upper ends of F at the ends, for each law.
    """
    most = [
        None if one is None else np.maximum(one[..., :-1], one[..., 1:]) + part.variance / 4 * np.diff(ends) ** 2
        for part, one in zip(parts, squares, strict=True)
    ]
    return _log_sizes(parts, noise, ends, most) > -DROPPED


def _log_sizes(parts: Sequence[TiltedAtoms], noise: Noise, ends: Numbers, squares: Sequence[Numbers | None]) -> Numbers:
    """ln of the product's size in each cell, for these F; 1 where none is given."""
    logs = noise.log_sizes(ends[..., :-1])
    for part, one in zip(parts, squares, strict=True):
        if one is not None:
            logs += part.times / 2 * np.log(np.minimum(one, 1.0))
    return logs


def _narrowed(
    parts: Sequence[TiltedAtoms], noise: Noise, laws: Sequence[Expansion], cells: Numbers, step: float
) -> Numbers:
    """What is left of cells, shape (n, 2), when they are cut until they have few frequencies or are many; ascending."""
    while 0 < cells.size < _MOST_PIECES and cells[0, 1] - cells[0, 0] > _STEPS * step:
        ends = np.linspace(cells[:, 0], cells[:, 1], _PARTS + 1, axis=-1)
        squares = [np.minimum(law.sizes(ends), 1.0) ** 2 for law in laws]
        left = _undecided(parts, noise, ends, squares)
        cells = np.stack([ends[:, :-1][left], ends[:, 1:][left]], axis=-1)
    return cells


def _midpoints(cells: Numbers, step: float) -> Numbers:
    """(j + 1/2) step in the cells, which exclude their upper ends."""
    first, last = np.ceil(cells / step - 0.5).astype(np.int64).T
    sizes = np.maximum(last - first, 0)
    places = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    return (places + 0.5) * step
