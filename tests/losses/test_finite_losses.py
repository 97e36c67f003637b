"""Symmetric laws of which nearly all is infinite."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from ldp_audit.mechanisms.finite_channel import FiniteChannel


@pytest.mark.parametrize("power", [10, 100, 320, 400, 2000])
def test_rows_that_share_less_than_a_float_can_tell_have_a_loss(power: int) -> None:
    """What an infinite loss lacked of 1 was rounded to 0, whose logarithm is an error: from 10**-324 on."""
    shared = Fraction(1, 10**power)
    law = FiniteChannel([[1 - shared, 0, shared], [0, 1 - shared, shared]]).pair_loss()
    low, high = law.log_delta_bounds(1.0)
    exact = -float(shared)  # ln(1 - shared)
    assert low == pytest.approx(exact, rel=1e-6, abs=1e-320)
    assert high == pytest.approx(exact, rel=1e-6, abs=1e-320)
    assert law.supremum() == math.inf
