from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit, search
from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.choice import Choice, Judge, Sample, choose_score
from ldp_audit.auditing.events import Event, learned, single_values
from ldp_audit.auditing.outputs import read
from ldp_audit.auditing.program import Program
from tests.auditing import samplers
from tests.together import together


def chosen(sampler: Any, inputs: tuple[Any, Any], size: int = 5000, delta: float = 0.0) -> Choice:
    program = Program(sampler)
    first, second = (
        Sample(*(program.many(x, times * size, (0, place, part)) for part, times in enumerate((1, 1, 2))))
        for place, x in enumerate(inputs)
    )
    rng = np.random.default_rng(0)
    return choose_score(first, second, Judge(100_000, 0.05, delta), rng)


def test_the_expected_bound_is_about_what_a_test_gives() -> None:
    """Of an event seen in samples that it was not chosen on; the audit that stops when it knows compares with it."""
    seen = Counts(5000, 10_000, 2500, 10_000)
    region = Region(Counts(50_000, 100_000, 25_000, 100_000), 0.05, math.log(2))
    assert Judge(100_000, 0.05, 0.0).expected(seen) == pytest.approx(region.epsilon_lower(), abs=0.004)
    assert Judge(100_000, 0.05, 0.1).expected(seen) < Judge(100_000, 0.05, 0.0).expected(seen)
    assert Judge(1000, 0.05, 0.0).expected(seen) < Judge(100_000, 0.05, 0.0).expected(seen) < math.log(2)


def test_labels_are_ordered_by_their_likelihood_ratio() -> None:
    choice = chosen(samplers.labels, (0, 1))
    assert choice.event.labels in {("yes",), ("no",)}
    assert choice.swapped == (choice.event.labels == ("no",))


def test_an_atom_is_found_within_a_density() -> None:
    choice = chosen(samplers.atom_and_density, (0, 1))
    assert choice.event.describe() == "y = 0"
    assert choice.swapped


def test_each_value_that_may_be_the_likeliest_is_an_event_by_itself() -> None:
    """By what is left of the likelihood ratio after its standard deviation; no part of a density is a value."""
    cells = learned(np.concatenate([np.repeat(np.arange(10.0), 100), np.linspace(0.1, 0.9, 2000)]), None)
    values = np.flatnonzero(cells.atom)
    hits, other = np.full(len(cells.atom) + 1, 100), np.full(len(cells.atom) + 1, 100)
    hits[~np.append(cells.atom, True)] = 1000
    hits[values[3]], (hits[values[5]], other[values[5]]) = 150, (12, 6)
    found = single_values(cells, hits, other)
    assert [order.cells.tolist() for order in found[:2]] == [[values[3]], [values[5]]]
    assert {int(order.cells[0]) for order in found} <= set(values.tolist())
    assert all(order.ends.tolist() == [1] for order in found)


def test_a_band_in_the_middle_is_found() -> None:
    def band(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(scale=0.1 if x == 0 else 1.0, size=n)

    choice = chosen(band, (0, 1))
    narrow = choice.event.contains(read([0.0, 0.05, 1.0, -1.5], 4))
    assert narrow.tolist() == [not choice.swapped] * 2 + [choice.swapped] * 2
    assert choice.design_epsilon(0.0) > 1.5


def test_the_second_input_may_be_the_likelier_one() -> None:
    choice = chosen(lambda x, n, rng: (rng.random(n) < (0.01 if x == 0 else 0.3)).astype(int), (0, 1))
    assert choice.swapped
    assert choice.event.describe() == "y >= 1"


def test_delta_turns_the_choice_to_common_events() -> None:
    """Half a percent of all outputs show the input for certain; a delta of 1% forgives that."""

    def leak(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        honest = (rng.random(n) < (0.3 if x == 0 else 0.7)).astype(float)
        return np.where(rng.random(n) < 0.005, 10.0 + x, honest)

    strict, forgiving = chosen(leak, (0, 1)), chosen(leak, (0, 1), delta=0.01)
    assert "1" in strict.event.describe()
    assert strict.seen.hits / strict.seen.trials < 0.1
    assert forgiving.seen.hits / forgiving.seen.trials > 0.5


def test_a_sample_of_one_output_still_gives_an_event() -> None:
    choice = chosen(samplers.randomized_response(1.0), (0, 1), size=1)
    assert isinstance(choice.event, Event)
    assert choice.predicted < 1


@together("delta", [0.0, 0.5, 1.0])
def test_the_design_is_never_negative(delta: float) -> None:
    choice = Choice(Event(), False, 0.0, Counts(0, 10, 10, 10))
    assert choice.design_epsilon(delta) == 0
    assert math.isfinite(Choice(Event(), False, 0.0, Counts(10, 10, 0, 10)).design_epsilon(delta))


def test_no_pair_is_chosen_by_luck() -> None:
    """The greatest of five noisy values, eight pairs of which one or two show twice the claim, in rare events.

    8 of 8 seeds at 300,000 samples; 1 of 8 where the luckiest rare event chooses the pair.
    """
    one, two, none = (1,) * 5, (2,) * 5, (0,) * 5
    first_low, first_high, split = (0, 1, 1, 1, 1), (2, 1, 1, 1, 1), (2, 2, 0, 0, 0)
    others = (first_low, first_high, (2, 0, 0, 0, 0), (0, 2, 2, 2, 2), split, two, none)

    def greatest(x: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
        return (np.array(x) + rng.laplace(scale=20, size=(n, 5))).max(axis=1)

    pairs = [*((one, other) for other in others), ((1, 1, 0, 0, 0), (0, 0, 1, 1, 1))]
    result = audit(greatest, search(pairs=pairs), 0.1, samples=300_000, seed=0)
    assert result.violated, result.describe()
    assert {sum(x) for x in result.witness.inputs} in ({0, 5}, {5, 10})


def test_a_rare_event_of_one_pair_is_found_beside_common_ones_of_others() -> None:
    """Of eight pairs seven show 0.3 in a common event, and one shows 1 in a rare one."""

    def program(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        common, rare = 0.5 * math.exp(0.3 * (0 < x < 8)), 0.002 * math.exp(x == 8)
        return np.where(rng.random(n) < rare, 2, (rng.random(n) < common).astype(int))

    pairs = [(0, x) for x in range(1, 9)]
    results = [audit(program, search(pairs=pairs), samples=1_000_000, seed=seed) for seed in range(3)]
    assert all(set(result.witness.inputs) == {0, 8} for result in results)
    assert all(0.7 < result.epsilon_lower < 1 for result in results)
