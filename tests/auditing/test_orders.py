"""Orders of cells, against the definition in plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.auditing.events import Cells, half_lines, ratio_orders


def runs(cells: Cells, size: int) -> list[list[int]]:
    """Neighbouring bins, so many in one; a cell of a single value, or of a label, is alone."""
    found: list[list[int]] = []
    for place in range(cells.numbers):
        fits = found and not cells.atom[place] and not cells.atom[found[-1][0]] and len(found[-1]) < size
        if fits:
            found[-1].append(place)
        else:
            found.append([place])
    return found + [[cells.numbers + place] for place in range(len(cells.labels))]


def by_loops(cells: Cells, size: int, hits: np.ndarray, other: np.ndarray) -> list[list[int]]:
    """The runs that were seen, by descending likelihood ratio; of equal ones the first."""
    seen = [run for run in runs(cells, size) if hits[run].sum() + other[run].sum() > 0]
    return sorted(seen, key=lambda run: -(hits[run].sum() + 0.5) / (other[run].sum() + 0.5))


@given(st.lists(st.booleans(), min_size=1, max_size=150), st.integers(0, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=80)
def test_prefixes_are_runs_by_descending_ratio(atoms: list[bool], labels: int, seed: int) -> None:
    cells = Cells(np.arange(len(atoms) - 1.0), np.array(atoms), tuple("abcd"[:labels]))
    rng = np.random.default_rng(seed)
    hits, other = rng.poisson(1.0, size=(2, len(atoms) + labels + 1))  # the last: outputs in no cell
    found = list(ratio_orders(cells, hits, other))
    assert len(found) <= 4
    for order, size in zip(found, (1, 4, 16, 64), strict=False):
        wanted = by_loops(cells, size, hits, other)
        if not wanted:
            continue
        pieces = np.split(order.cells, order.ends[:-1])
        assert [piece.tolist() for piece in pieces] == wanted
        assert order.prefixes(hits).tolist() == np.cumsum([hits[run].sum() for run in wanted]).tolist()


def test_half_lines_are_all_below_and_all_above_an_edge() -> None:
    below, above = half_lines(Cells(np.array([0.0, 1.0]), np.zeros(3, dtype=bool)))
    counts = np.array([1, 2, 4, 100])
    assert below.prefixes(counts).tolist() == [1, 3, 7]
    assert above.prefixes(counts).tolist() == [4, 6, 7]
