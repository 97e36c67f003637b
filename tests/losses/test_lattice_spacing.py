"""The common spacing of lists of losses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.losses.discretisation import common_spacing


@given(
    st.floats(1e-9, 10),
    st.lists(st.lists(st.integers(-300, 300), min_size=2, max_size=5, unique=True), min_size=1, max_size=3),
)
def test_losses_on_a_lattice_are_found_on_it(step, places):
    """Would catch a spacing that misses one list's losses, and one that is too small by a whole factor."""
    losses = [step * np.array(sorted(one), dtype=np.float64) for one in places]
    found = common_spacing(losses)
    divisor = math.gcd(*(value - min(one) for one in places for value in one))
    assert found == pytest.approx(divisor * step, rel=1e-9)
    gaps = np.concatenate([one - one[0] for one in losses]) / (divisor * step)
    assert np.abs(gaps - np.round(gaps)).max() < 1e-6


@pytest.mark.parametrize("losses", [[[0.0, 1.0], [0.0, math.sqrt(2)]], [[-math.pi, 0.0, 1.0]], [[0.0, 1e-12, 1.0]]])
def test_losses_of_nothing_in_common_have_none(losses):
    """Would catch a spacing that is rounding alone."""
    assert common_spacing([np.array(one) for one in losses]) is None


def test_single_losses_need_no_spacing():
    """Would catch a division by a distance of 0."""
    assert common_spacing([np.array([0.3]), np.array([5.0])]) == math.inf
    assert common_spacing([]) == math.inf
