"""Two inputs' whole-number counts: epsilon, delta and the decision, against sums over outputs in fractions."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.implementations.implementation_result import JointCounts
from tests.together import together


def counts_of(first: list[int], second: list[int]) -> JointCounts:
    """One row an output."""
    return JointCounts(sum(first), tuple((a, b, 1) for a, b in zip(first, second, strict=True)))


def hockey_stick(first: list[int], second: list[int], t: Fraction) -> Fraction:
    sums = [
        sum((max(Fraction(0), a - t * b) for a, b in zip(*sides, strict=True)), Fraction(0))
        for sides in ((first, second), (second, first))
    ]
    return max(sums) / sum(first)


def power(epsilon: float) -> Fraction:
    with localcontext() as context:
        context.prec = 100
        return Fraction(Decimal(epsilon).exp())


@st.composite
def two_sides(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Counts of one to eight outputs with the same total, zeros among them."""
    outputs = draw(st.integers(1, 8))
    total = draw(st.integers(1, 2**20))
    sides = []
    for _ in range(2):
        cuts = sorted(draw(st.lists(st.integers(0, total), min_size=outputs - 1, max_size=outputs - 1)))
        sides.append([end - start for start, end in zip([0, *cuts], [*cuts, total], strict=True)])
    return sides[0], sides[1]


@given(two_sides(), st.floats(0, 20))
def test_delta_is_the_sum_over_outputs(sides: tuple[list[int], list[int]], epsilon: float) -> None:
    """Would catch a direction left out, a lost multiplicity, rounding of e**epsilon that shows in the float."""
    exact = hockey_stick(*sides, power(epsilon))
    assert counts_of(*sides).delta(epsilon) == pytest.approx(float(exact), rel=1e-15, abs=0)


@given(two_sides())
def test_delta_at_0_is_total_variation_and_at_inf_the_exclusive_mass(sides: tuple[list[int], list[int]]) -> None:
    first, second = sides
    counts, total = counts_of(first, second), sum(first)
    assert counts.delta(0) == sum(abs(a - b) for a, b in zip(first, second, strict=True)) / 2 / total
    alone = [sum(a for a, b in zip(*pair, strict=True) if b == 0) for pair in (sides, sides[::-1])]
    assert counts.delta(math.inf) == max(alone) / total
    assert [counts.exclusive(side)[1] for side in (0, 1)] == alone


@given(two_sides())
def test_epsilon_is_where_delta_becomes_0(sides: tuple[list[int], list[int]]) -> None:
    """Would catch an epsilon of one direction only."""
    counts = counts_of(*sides)
    if math.isinf(counts.epsilon):
        assert counts.delta(1e6) > 0
        return
    assert not counts.exceeds(counts.epsilon * (1 + 1e-14) + 1e-300, 0.0)
    assert counts.epsilon == 0 or counts.exceeds(counts.epsilon * (1 - 1e-14), 0.0)


@given(two_sides(), st.floats(0, 12), st.floats(0, 1))
def test_the_decision_is_that_of_fractions(sides: tuple[list[int], list[int]], epsilon: float, delta: float) -> None:
    exact = hockey_stick(*sides, power(epsilon))
    assert counts_of(*sides).exceeds(epsilon, delta) == (exact > Fraction(delta))


def test_the_decision_sees_the_last_digit_of_a_float() -> None:
    """ln 2 lies above the float next to it: a decision by floats would call the two equal."""
    counts = counts_of([2, 1], [1, 2])
    assert counts.exceeds(math.log(2), 0.0)
    assert not counts.exceeds(math.nextafter(math.log(2), 1), 0.0)
    assert counts.exceeds(0.0, math.nextafter(1 / 3, 0))
    assert counts.exceeds(0.0, 1 / 3)  # the float is below the fraction
    assert not counts.exceeds(0.0, math.nextafter(1 / 3, 1))


def test_equality_does_not_exceed() -> None:
    """Would catch >= in place of >: a total variation of exactly 1/4, and an exclusive mass of exactly 1/2."""
    assert not counts_of([3, 1], [2, 2]).exceeds(0.0, 0.25)
    assert not counts_of([2, 0, 2], [0, 2, 2]).exceeds(3.0, 0.5)
    assert not counts_of([5, 7], [5, 7]).exceeds(0.0, 0.0)


@together("epsilon", [5e-324, 1e-300, 1e-9, 50.0, 700.0, 1e308, math.inf])
def test_the_ends_of_epsilon_are_decided(epsilon: float) -> None:
    counts = counts_of([2**63 + 1, 2**63 - 1], [2**63, 2**63])
    assert counts.exceeds(epsilon, 0.0) == (epsilon < 1e-18)
    assert counts.delta(epsilon) == pytest.approx(2**-64 if epsilon < 1e-18 else 0.0, rel=1e-15)


def test_64_bit_counts_keep_their_epsilon() -> None:
    assert counts_of([2**63 + 1, 2**63 - 1], [2**63, 2**63]).epsilon == pytest.approx(2**-63, rel=1e-12)


def test_digits_of_the_power_are_added_until_it_is_decided() -> None:
    """Would catch an enclosure that is none: 60 digits cannot tell these epsilons from 0."""
    counts = counts_of([10**80 + 1, 10**80 - 1], [10**80, 10**80])
    assert counts.exceeds(0.9e-80, 0.0)
    assert not counts.exceeds(1.1e-80, 0.0)


def test_rows_stand_for_as_many_outputs_as_they_say() -> None:
    merged = JointCounts(6, ((2, 1, 2), (1, 2, 2), (0, 0, 3)))
    assert merged.delta(0.3) == counts_of([2, 2, 1, 1], [1, 1, 2, 2]).delta(0.3)
    assert merged.epsilon == math.log(2)


def test_counts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="second input's counts must add up to 4 words, they make 3"):
        JointCounts(4, ((2, 1, 2), (0, 1, 1)))
    with pytest.raises(ValueError, match="whole numbers >= 0"):
        JointCounts(1, ((2, 1, 1), (-1, 0, 1)))


@together("epsilon", [-1e-300, -1.0, math.nan])
def test_a_negative_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon must be a number >= 0"):
        counts_of([1], [1]).delta(epsilon)
