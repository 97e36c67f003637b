from __future__ import annotations

import math

import numpy as np

from ldp_audit.auditing.events import learned
from ldp_audit.auditing.outputs import read
from tests.together import together


def test_few_values_are_cells_of_their_own() -> None:
    cells = learned(np.array([0.0, 1.0, 1.0, 5.0]), None)
    assert cells.counts(np.array([0.0, 1.0, 5.0, 5.0, 0.5]), None).tolist() == [0, 1, 1, 1, 0, 2, 0]
    assert cells.atom.tolist() == [False, True, False, True, False, True, False]


def test_a_repeated_value_among_many_is_a_cell_of_its_own() -> None:
    rng = np.random.default_rng(0)
    cells = learned(np.concatenate([rng.normal(size=5000), np.zeros(5000)]), None)
    place = int(np.flatnonzero(cells.atom)[0])
    assert cells.edges[place - 1] == 0.0
    assert cells.edges[place] == math.nextafter(0.0, 1.0)


def test_every_number_lies_in_one_cell_and_rare_ends_are_resolved() -> None:
    rng = np.random.default_rng(1)
    sample = rng.laplace(size=20_000)
    cells = learned(sample, None)
    fresh = np.concatenate([rng.laplace(size=1000), [math.inf, -math.inf]])
    counts = cells.counts(fresh, None)
    assert counts.sum() == len(fresh)
    assert np.count_nonzero(sample < cells.edges[1]) <= 2


def test_what_the_search_counts_in_a_cell_is_what_its_event_holds() -> None:
    """Infinity's cell ends where others begin: an interval without end has it too."""
    sample = np.array([-math.inf, 0.0, 1.0, 1.0, 2.5, math.inf, math.inf])
    cells = learned(sample, None)
    counts = cells.counts(sample, None)
    every = np.eye(cells.numbers, dtype=bool)
    assert [cells.event(one, counts > 0, None).count(read(sample, 7)) for one in every] == counts.tolist()
    assert sorted(counts[counts > 0].tolist()) == [1, 1, 1, 2, 2]


def test_labels_are_cells_after_the_numbers_and_unseen_ones_are_in_none() -> None:
    outputs = read(["a", "b", "a", 1.0, None], 5)
    cells = learned(outputs.numbers, outputs.labels)
    fresh = read(["b", "c", None, 1.0], 4)
    counts = cells.counts(fresh.numbers, fresh.labels)
    assert cells.labels == ("a", "b", None)
    assert counts[cells.numbers :].tolist() == [0, 1, 1]
    assert counts.sum() == 3


def test_an_empty_cell_between_members_joins_them() -> None:
    cells = learned(np.array([0.0, 1.0, 2.0]), None)
    member = np.array([False, True, False, True, False, False, False])
    occupied = np.array([False, True, False, True, False, True, False])
    event = cells.event(member, occupied, None)
    assert event.describe() == "y <= 1"
    assert event.contains(read([-5.0, 0.0, 0.5, 1.0, 1.5, 2.0], 6)).tolist() == [True, True, True, True, False, False]


@together("numbers", [np.zeros(0), np.array([3.0]), np.array([math.inf, -math.inf, 1e308])])
def test_odd_samples_make_cells_too(numbers: np.ndarray) -> None:
    cells = learned(numbers, None)
    assert cells.counts(numbers, None).sum() == len(numbers)
