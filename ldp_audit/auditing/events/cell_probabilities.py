"""The outputs of a declared law at one input, in cells with exact probabilities; fixed by the law, not by any sample.

Every output is a cell of its own, up to 1024 of them. More numbers, or a density, are cut into intervals: at 32 equal
shares, in endless tails down to ten expected samples, and where the density jumps (`cells_of_densities.py`). What a law
may be is in `law_outputs.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldp_audit.auditing.declared.law_outputs import (
    density_of,
    is_number,
    many_points,
    masses_of,
    outputs_of,
    require_law,
    vectorised,
)
from ldp_audit.auditing.events.cells_of_densities import Interval, intervals_of_density, intervals_of_points
from ldp_audit.auditing.outputs import NOT_A_LABEL, Label, Outputs, canonical, cut

MASS_ERROR = 1e-9
"""How far a law's probabilities may be from adding up to 1, and the computed from the true ones."""


@dataclass(frozen=True, eq=False)
class CellLaw:
    """Cells of outputs y, and what the law gives them at one input.

    words: each cell in words.   up_to: the union of the first cells, for each of the ordered ones, in words.
    probabilities: float64, shape (cells,).   heights: mass, or mean density, shape (cells,); infinite for the atoms of
    a law with a density.   ordered: so many cells, the first ones, hold numbers, in ascending order.
    binned: whether cells are intervals of many outputs.
    edges, place: the number v lies in cell place[number of edges <= v]; -1 is off the support.
    labels: the cell of each label.   vectors: the outputs, shape (cells, d), where they are vectors.
    """

    words: tuple[str, ...]
    up_to: tuple[str, ...]
    probabilities: np.ndarray
    heights: np.ndarray
    ordered: int = 0
    binned: bool = False
    edges: np.ndarray = field(default_factory=lambda: np.zeros(0))
    place: np.ndarray = field(default_factory=lambda: np.full(1, -1))
    labels: dict[Label, int] = field(default_factory=dict)
    vectors: np.ndarray | None = None

    def counts(self, outputs: Outputs) -> np.ndarray:
        """How many outputs lie in each cell, and last how many lie off the support: int64, shape (cells + 1,)."""
        if outputs.shape != self.shape:
            raise ValueError(f"law must have outputs such as the sampler's, {outputs.shape}, got {self.shape}")
        if self.vectors is not None:
            found = _rows_among(outputs.known_numbers, self.vectors)
        else:
            found = self._of_scalars(outputs)
        return np.bincount(np.where(found < 0, len(self.words), found), minlength=len(self.words) + 1)

    @property
    def shape(self) -> str:
        """What `Outputs.shape` says of such outputs."""
        return "numbers or labels" if self.vectors is None else f"vectors of {self.vectors.shape[1]}"

    def _of_scalars(self, outputs: Outputs) -> np.ndarray:
        found = np.full(len(outputs), -1)
        if outputs.numbers is not None:
            known = ~np.isnan(outputs.numbers)
            found[known] = self.place[np.searchsorted(self.edges, outputs.numbers[known], side="right")]
        if outputs.labels is not None:
            for row, label in enumerate(outputs.labels):
                if label is not NOT_A_LABEL:
                    found[row] = self.labels.get(label, -1)
        return found


def cells_of(law: Any, x: Any, samples: int) -> CellLaw:
    """The cells of the law at the input x, for a test of so many samples.

    Raises ValueError that says what is accepted for laws of another kind, and for a log_prob that does not add up to 1.
    """
    require_law(law)
    if (density := density_of(law, x)) is not None:
        found = _binned(intervals_of_density(density, samples))
    elif (points := many_points(law, x)) is not None:
        found = _binned(intervals_of_points(points, np.exp(vectorised(law, x)(points)), samples))
    else:
        found = _finite(law, x, outputs_of(law))
    total = float(found.probabilities.sum())
    if not abs(total - 1) <= MASS_ERROR:
        raise ValueError(f"law must have probabilities that add up to 1 at input {cut(x)}, got {total!r} in all")
    return found


def _finite(law: Any, x: Any, outputs: Sequence[tuple[Any, ...]]) -> CellLaw:
    """A cell an output; each is given with the other names that it has."""
    first = [names[0] for names in outputs]
    if all(isinstance(y, tuple | list | np.ndarray) for y in first) and len({len(y) for y in first}) == 1:
        vectors = np.array(first, dtype=np.float64)
        masses = masses_of(law, x, list(vectors))
        words = tuple(f"y = ({', '.join(f'{number:.6g}' for number in vector)})" for vector in vectors)
        return CellLaw(words, (), masses, masses, vectors=vectors)
    outputs = sorted(outputs, key=lambda names: float(names[0]) if is_number(names[0]) else math.inf)
    first = [names[0] for names in outputs]
    masses, ordered = masses_of(law, x, first), sum(map(is_number, first))
    numbers = sorted((name, cell) for cell, names in enumerate(outputs) for name in names if is_number(name))
    edges, place = _around([number for number, _ in numbers], [cell for _, cell in numbers])
    labels = {canonical(y): cell for cell, names in enumerate(outputs) for y in names if _may_be_label(y)}
    words = tuple(f"y = {y if is_number(y) else canonical(y)!r}" for y in first)
    up_to = tuple(f"y <= {y}" for y in first[:ordered])
    return CellLaw(words, up_to, masses, masses, ordered, edges=edges, place=place, labels=labels)


def _binned(intervals: Sequence[Interval]) -> CellLaw:
    """Cells from intervals that ascend and touch; those off the support are no cells."""
    kept = [one for one in intervals if one.mass > 0]
    edges = np.array([one.low for one in intervals[1:]])
    numbered = itertools.count()
    place = np.array([next(numbered) if one.mass > 0 else -1 for one in intervals])
    return CellLaw(
        tuple(one.describe() for one in kept),
        tuple(f"y < {one.high:.12g}" for one in kept),
        np.array([one.mass for one in kept]),
        np.array([one.height for one in kept]),
        ordered=len(kept),
        binned=True,
        edges=edges,
        place=place,
    )


def _around(values: Sequence[Any], cells: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Intervals around ascending outputs. A float's reaches as far as single precision rounds, or to a quarter gap."""
    numbers = np.array(values, dtype=np.float64)
    gaps = np.diff(numbers, prepend=-math.inf, append=math.inf)
    reach = np.minimum(2.0**-20 * np.abs(numbers), np.minimum(gaps[:-1], gaps[1:]) / 4)
    reach[[isinstance(value, bool | int | np.integer) for value in values]] = 0
    edges = np.column_stack([numbers - reach, np.nextafter(numbers + reach, math.inf)]).ravel()
    place = np.full(len(edges) + 1, -1)
    place[1::2] = cells
    return edges, place


def _rows_among(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which of the known vectors each row is; -1 for none. Coordinates are compared as single outputs are."""
    found, codes = np.zeros(len(rows), dtype=np.int64), np.zeros(len(known), dtype=np.int64)
    for column in range(known.shape[1]):
        values = np.unique(known[:, column])
        edges, place = _around(values.tolist(), range(len(values)))
        cell = place[np.searchsorted(edges, rows[:, column], side="right")]
        code = codes * len(values) + np.searchsorted(values, known[:, column])
        wanted = np.where((found < 0) | (cell < 0), -1, found * len(values) + cell)
        prefixes, codes = np.unique(code, return_inverse=True)
        rank = np.minimum(np.searchsorted(prefixes, wanted), len(prefixes) - 1)
        found = np.where(prefixes[rank] == wanted, rank, -1)
    cell_of = np.empty(len(known), dtype=np.int64)
    cell_of[codes] = np.arange(len(known))
    return np.where(found < 0, -1, cell_of[found])


def _may_be_label(y: Any) -> bool:
    return isinstance(y, bool) or not is_number(y)
