"""Sums listed value by value: which are too many is known before any is added."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.losses import discrete_loss
from ldp_audit.losses.discrete_loss import (
    MOST_COMBINATIONS,
    BinomialLoss,
    DiscreteLoss,
    least_support_size,
    sum_of_losses,
    symmetric_loss,
)
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss

Values = st.lists(st.integers(1, 60), min_size=1, max_size=3, unique=True)


def law_of(values: list[int]) -> PairLoss:
    """Symmetric, of these losses in thirds of a nat, and 0."""
    return symmetric_loss(np.array(values) / 3, np.log(np.full(len(values), 0.1)))


@given(st.lists(st.tuples(Values, st.integers(1, 3)), min_size=1, max_size=3))
def test_there_are_at_least_so_many_different_sums(parts: list[tuple[list[int], int]]) -> None:
    """Of whole numbers, added up in all ways: would catch a law that is counted too often."""
    sums = {0}
    for values, times in parts:
        signed = [0, *values, *(-value for value in values)]
        for _ in range(times):
            sums = {one + two for one, two in itertools.product(sums, signed)}
    assert least_support_size([(law_of(values), times) for values, times in parts]) <= len(sums)


def test_evenly_spaced_losses_have_no_more() -> None:
    """The bound is the best there is."""
    assert least_support_size([(law_of([1, 2]), 7), (law_of([3, 1, 2]), 2)]) == 1 + 7 * 4 + 2 * 6
    assert least_support_size([(BinomialLoss(0.5, -0.5, 10), 3)]) == 31


def test_what_has_no_list_counts_as_one_value() -> None:
    assert least_support_size([(GaussianLoss(1.0), 10**9), (law_of([1]), 2)]) == 5


@pytest.mark.parametrize("times", [10**5, 10**9, 10**300])
def test_too_many_values_are_known_before_any_is_added(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def added(*_: DiscreteLoss) -> None:
        raise AssertionError

    monkeypatch.setattr(discrete_loss, "_sums", added)
    assert sum_of_losses([(law_of([1, 2]), times), (law_of([5]), 1)]) is None


def test_the_most_values_that_are_listed_are_all_there() -> None:
    """A sum of just so few values: not refused beforehand."""
    count = MOST_COMBINATIONS // 2 - 1
    law, small = BinomialLoss(1e-3, -1e-3, count), BinomialLoss(math.pi / 10, -math.pi / 10, 1)
    found = sum_of_losses([(law, 1), (small, 1)])
    assert isinstance(found, DiscreteLoss)
    assert found.losses.size == 2 * (count + 1)
    assert found.losses[-1] == pytest.approx(float(count * Fraction(1e-3) + Fraction(math.pi / 10)), rel=1e-15)
    assert float(np.logaddexp.reduce(found.log_probabilities)) == pytest.approx(0.0, abs=1e-9)
    assert math.isfinite(found.supremum())
