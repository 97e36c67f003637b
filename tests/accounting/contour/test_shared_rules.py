"""Each p and y lies within what its rule is made for, and all that share a rule say so."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.accounting.contour.shared_rules import bracket, largest_at, place_of

TINY = 2.0**-499
"""As good as 0: a rule's error is bounded for the y that it is asked for, whatever y it was made for."""


@given(st.floats(1e-290, 1e290), st.floats(1e-6, 1e6))
def test_a_power_lies_in_its_bracket_which_is_short(power: float, apart: float) -> None:
    low, high = bracket(power, apart)
    assert low <= power <= high <= 2 * low
    assert high - low <= max(apart, 4e-16 * power) * (1 + 1e-9)
    assert bracket(low, apart) == (low, high)


def test_no_power_has_a_bracket_of_its_own() -> None:
    assert bracket(0.0, 1.0) == (0.0, 0.0)


@given(st.floats(0, 1e290))
def test_a_height_is_at_most_the_largest_at_its_place_and_not_much_less(y: float) -> None:
    largest = largest_at(place_of(y))
    assert y <= largest * (1 + 1e-12) + TINY
    assert largest <= 1.5 * y
