"""Hockey-stick divergences in doubled floats, against exact fractions and sixty digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms.hockey_stick import doubled, hockey_stick
from tests.together import together

laws = st.lists(st.integers(0, 10**40) | st.integers(0, 9), min_size=4, max_size=4).filter(any)


def exact(first: list[int], second: list[int], level: float) -> float:
    with mpmath.workdps(400):
        t = mpmath.exp(mpmath.mpf(level))
        p, q = ([mpmath.mpf(weight) / sum(law) for weight in law] for law in (first, second))
        return float(mpmath.fsum(max(a - t * b, 0) for a, b in zip(p, q, strict=True)))


@given(laws, laws, st.floats(0, 3) | st.floats(0, 700))
def test_all_digits_are_right(first: list[int], second: list[int], level: float) -> None:
    p, q = (doubled(law, [sum(law)] * 4) for law in (first, second))
    assert float(hockey_stick(p, q, level)) == pytest.approx(exact(first, second, level), rel=1e-14, abs=1e-300)


@together("bits", range(4, 60, 5))
def test_no_digit_is_lost_next_to_the_point_where_the_divergence_vanishes(bits: int) -> None:
    """Two laws whose largest log ratio is the level, but for a 2**-bits-th of it; plain floats fail."""
    second = [10**30, 3 * 10**30, 6 * 10**30, 7]
    with mpmath.workdps(60):
        ratio = mpmath.exp(mpmath.mpf(1.5) * (1 + mpmath.mpf(2) ** -bits))
        first = [int(ratio * second[0]), 10**30, 10**30, 7]
    first[3] += sum(second) - sum(first)
    p, q = (doubled(law, [sum(law)] * 4) for law in (first, second))
    found = float(hockey_stick((p[0][:3], p[1][:3]), (q[0][:3], q[1][:3]), 1.5))
    with mpmath.workdps(60):
        wanted = (first[0] - mpmath.exp(1.5) * second[0]) / sum(second)
    assert found == pytest.approx(float(wanted), rel=1e-12, abs=0)
    if bits > 20:
        plain = first[0] / sum(first) - np.exp(1.5) * (second[0] / sum(second))
        assert plain != pytest.approx(float(wanted), rel=1e-12, abs=0)


def test_laws_broadcast_and_nothing_overflows() -> None:
    p = doubled([1, 1, 0], [2, 2, 1])
    q = (np.array([[0.0, 0.5, 0.5], [0.5, 0.5, 0.0]]), np.zeros((2, 3)))
    assert hockey_stick(p, q, 700.0).tolist() == [0.5, 0.0]
    assert hockey_stick(p, q, 1e6).tolist() == [0.5, 0.0]
    assert hockey_stick(p, q, 0.0).tolist() == [0.5, 0.0]


def test_doubled_quotients_have_a_hundred_bits() -> None:
    nearest, lacking = doubled([1, 2, 10**30], [3, 7, 3 * 10**30 + 1])
    for high, low, wanted in zip(
        nearest, lacking, (Fraction(1, 3), Fraction(2, 7), Fraction(10**30, 3 * 10**30 + 1)), strict=True
    ):
        assert abs(Fraction(float(high)) + Fraction(float(low)) - wanted) < wanted / 2**104
