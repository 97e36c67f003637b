"""Negative epsilons from the reversed loss: both bounds hold, also where delta is nearly 1 or nearly 0."""

from __future__ import annotations

import math

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.accounting.shuffling.worst_neighbourhood import WorstNeighbourhood
from ldp_audit.losses.loss import log_delta_from_reversed
from tests.together import together


def truth(epsilon: float, log_delta: float) -> arb:
    """ln(1 - e**epsilon (1 - delta'))."""
    return (-(arb(epsilon).exp() * -(arb(log_delta).expm1())) + 1).log()


@given(st.floats(-700, -1e-12), st.floats(-800, -1e-9))
def test_the_bounds_enclose_the_balls(epsilon: float, log_delta: float) -> None:
    low, high = log_delta_from_reversed(epsilon, (log_delta, log_delta))
    with ctx.workprec(3000):
        assert arb(low) <= truth(epsilon, log_delta) <= arb(high)
    assert high - low <= 1e-11 * (1 + abs(low))
    assert high <= 0


def test_larger_bounds_have_larger_ones_and_a_true_0_is_none() -> None:
    low, high = log_delta_from_reversed(-0.5, (-math.inf, -1.0))
    assert low == pytest.approx(math.log(-math.expm1(-0.5)), rel=1e-13)
    assert high == pytest.approx(math.log(1 - math.exp(-0.5) * (1 - math.exp(-1))), rel=1e-13)
    assert log_delta_from_reversed(-math.inf, (-3.0, -2.0)) == (0.0, 0.0)


@together("level", [-1e-12, -0.2, -1.5, -40.0, -math.inf])
def test_a_neighbourhood_s_lower_bound_is_not_rounded_up(level: float) -> None:
    """Would catch a lower bound of 1 at epsilons where 1 - delta is e**-40."""
    low, high = WorstNeighbourhood(1.0, 7).log_delta_bounds(level)
    assert low <= high <= 0
    assert low < 0 or level == -math.inf
