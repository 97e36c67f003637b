"""Sums of equal Laplace noises in closed form, against quadrature, exact convolutions and the contour."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from ldp_audit.accounting import compose
from ldp_audit.accounting.contour.contour_loss import ContourLoss
from ldp_audit.accounting.contour.laplace_sum import LaplaceSum
from ldp_audit.mechanisms import Laplace


def _log_delta_of_two(t: float, epsilon: float) -> mp.mpf:
    """By quadrature over the loss of one of the two."""
    with mp.workdps(40):
        top, level = mp.mpf(t), mp.mpf(epsilon)

        def one(at: mp.mpf) -> mp.mpf:
            if at >= top:
                return mp.mpf(0)
            return -mp.expm1(at) if at <= -top else -mp.expm1((at - top) / 2)

        breaks = sorted({-top, top, *(x for x in (level - top, level + top) if -top < x < top)})
        inner = mp.quad(lambda loss: mp.exp((loss - top) / 2) / 4 * one(level - loss), breaks)
        return mp.log(one(level - top) / 2 + mp.exp(-top) / 2 * one(level + top) + inner)


@pytest.mark.parametrize("t", [0.01, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("share", [-0.3, 0.0, 0.45, 0.7, 0.9999999])
def test_two_noises_are_told_to_their_last_digits(t: float, share: float) -> None:
    """Would catch a truncation that is left out, and one with the wrong sign."""
    epsilon = 2 * t * share
    found = LaplaceSum(t, 2).log_delta_bounds(epsilon)
    assert found is not None
    assert found[0] <= _log_delta_of_two(t, epsilon) <= found[1]
    assert found[1] - found[0] <= 1e-10


@pytest.mark.parametrize(("t", "times", "level"), [(10.0, 7, 40.0), (1.0, 30, 12.0), (0.1, 40, 0.9), (1.0, 900, 895.0)])
def test_the_closed_form_and_the_contour_agree(t: float, times: int, level: float) -> None:
    """Two routes that share no formula."""
    law = compose([(Laplace(1 / t), times)]).directions[0]
    assert isinstance(law, ContourLoss)
    top, found = law.total.parts[0][0].epsilon, law.grid.log_delta_bounds(level)  # type: ignore[attr-defined]
    told = LaplaceSum(top, times).log_delta_bounds(level)
    assert told is not None
    assert max(told[0], found[0]) <= min(told[1], found[1])
    assert told[1] - told[0] <= 1e-10


@pytest.mark.parametrize("gap", [1e-9, 1e-3, 0.4])
def test_next_to_the_largest_sum_many_noises_are_told(gap: float) -> None:
    """Below one truncated value delta is a sum over how many noises are not at their largest."""
    times, t = 1000, 1.0
    with mp.workdps(60):
        level = times * t - 2 * gap
        g = (times * mp.mpf(t) - mp.mpf(level)) / 2
        total = -mp.expm1(-2 * g)
        for m in range(1, 120):
            series = mp.fsum(g ** (m + k) / (mp.factorial(k) * (m + k)) for k in range(60))
            gain = mp.gammainc(m, 0, g, regularized=True) - mp.exp(-2 * g) * series / mp.factorial(m - 1)
            total += mp.binomial(times, m) * gain
        truth = mp.log(total) - times * mp.log(2)
    found = LaplaceSum(t, times).log_delta_bounds(level)
    assert found is not None
    assert found[0] <= truth <= found[1]
    assert found[1] - found[0] <= 1e-10


def test_what_has_too_many_terms_is_not_told() -> None:
    assert LaplaceSum(1.0, 2000).log_delta_bounds(1999.0) is None
    assert LaplaceSum(1.0, 1000).log_delta_bounds(0.0) is None
    assert not LaplaceSum(1.0, 1000).tells(-1.0)
    assert LaplaceSum(1.0, 1000).tells(-690.0)
    assert LaplaceSum(1.0, 30).tells(math.log(0.5))
    assert LaplaceSum(3.0, 2).log_delta_bounds(6.0) == (-math.inf, -math.inf)


@pytest.mark.parametrize(("scale", "times"), [(1.0, 100), (0.1, 1000), (0.02, 7), (1.0, 1000)])
def test_levels_of_deltas_of_1e_300_have_near_ends(scale: float, times: int) -> None:
    """They took seconds. Would catch a level that is looked for on a grid, and ends that do not meet there."""
    low, high = compose([(Laplace(scale), times)]).epsilon_bounds(1e-300)
    assert high * (1 - 1e-11) <= low <= high <= times / scale * (1 + 1e-15)
