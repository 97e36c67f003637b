from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ldp_audit import search
from ldp_audit.auditing.event_search import as_search
from tests.together import together


def test_a_range_gives_its_ends_a_grid_and_random_points() -> None:
    found = search(-1, 1, grid=3, random=2, seed=1)
    assert found.inputs[:3] == (-1.0, 0.0, 1.0)
    assert len(found) == 5
    assert all(-1 <= x <= 1 for x in found.inputs)
    assert len(found.pairs) == 10
    assert search(-1, 1, grid=3, random=2, seed=1) == found
    assert search(-1, 1, grid=3, random=2, seed=2) != found


def test_vectors_have_extremes_and_neighbours_in_one_coordinate() -> None:
    found = search(0, 1, dimension=3, random=0)
    assert (0.0, 0.0, 0.0) in found.inputs
    assert (1.0, 1.0, 1.0) in found.inputs
    assert (1.0, 0.0, 0.0) in found.inputs
    assert len(set(found.inputs)) == len(found.inputs)


def test_one_dimension_repeats_no_vector() -> None:
    assert sorted(search(0, 1, dimension=1, random=0).inputs) == [(0.0,), (1.0,)]


def test_sets_have_their_size() -> None:
    found = search(universe=6, size=2, random=3)
    assert all(len(set(x)) == 2 and max(x) < 6 for x in found.inputs)
    assert {(0, 1), (4, 5), (0, 5)} <= set(found.inputs)


def test_named_pairs_are_compared_with_each_other_alone() -> None:
    assert search(pairs=[(0, 1), (1, 0)]) == search(pairs=[(0, 1)])  # both directions are tried anyway
    found = search(pairs=[("a", "b"), ("b", "c")])
    assert found.inputs == ("a", "b", "c")
    assert found.pairs == ((0, 1), (1, 2))


def test_only_neighbours_are_compared_where_they_are_named() -> None:
    found = search(values=[0, 1, 2, 5], adjacent=lambda x, y: abs(x - y) == 1)
    assert found.pairs == ((0, 1), (1, 2))


def test_arrays_may_be_inputs() -> None:
    found = search(values=[np.zeros(2), np.ones(2), np.zeros(2)])
    assert len(found) == 2
    assert len(as_search([torch.zeros(2), torch.ones(2)])) == 2


def test_a_plain_list_means_all_pairs() -> None:
    assert as_search([0, 1, 2]).pairs == ((0, 1), (0, 2), (1, 2))


@together(
    ("arguments", "complaint"),
    [
        ({}, "leave a pair"),
        ({"values": [1]}, "leave a pair"),
        ({"low": 0}, "low and high"),
        ({"low": 1, "high": 0}, "low < high"),
        ({"low": 0, "high": math.inf}, "finite"),
        ({"low": 0, "high": 1, "grid": 1}, "grid must be a whole number in 2 .. 200, got 1"),
        ({"low": 0, "high": 1, "random": -1}, "random must be a whole number in 0 .. 200, got -1"),
        ({"low": 0, "high": 1, "dimension": 0}, "dimension must be a whole number >= 1"),
        ({"low": 0, "high": 1, "dimension": 2.5}, "whole number >= 1, got 2.5"),
        ({"low": 0, "high": 1, "grid": 2.5}, "grid must be a whole number in 2 .. 200, got 2.5"),
        ({"low": "0", "high": 1}, "low and high must be finite numbers"),
        ({"low": 0, "high": 1, "seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"universe": 3}, "size must be a whole number in 1"),
        ({"universe": 3.5, "size": 1}, "universe must be a whole number in 1"),
        ({"universe": 3, "size": 3}, "size must be in 1 .. universe - 1"),
        ({"values": range(201)}, "at most 200 inputs, got 201"),
        ({"values": [0, 1], "adjacent": lambda x, y: False}, "leave a pair"),
    ],
)
def test_a_search_of_nothing_is_refused(arguments: dict, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        search(**arguments)


@together("inputs", [[0], "ab", 3, []])
def test_fewer_than_two_inputs_are_refused(inputs: object) -> None:
    with pytest.raises(ValueError, match="inputs must be two or more"):
        as_search(inputs)
