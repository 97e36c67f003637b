"""Closed forms' ends where ln delta is minus millions: what they round is a share of that."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from ldp_audit.accounting.contour.simple_ends import SimpleEnds, moved
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss


def _log_delta_of_two_values(loss: float, times: int, epsilon: float) -> mp.mpf:
    """Of so many losses of this size or its negative."""
    with mp.workdps(50):
        high, level = mp.mpf(loss), mp.mpf(epsilon)
        p = 1 / (1 + mp.exp(-high))
        k = int(mp.floor((level / high + times) / 2)) + 1
        log = mp.loggamma(times + 1) - mp.loggamma(k + 1) - mp.loggamma(times - k + 1)
        log += k * mp.log(p) + (times - k) * mp.log(1 - p)
        total, share = mp.mpf(0), mp.mpf(1)
        while share > mp.mpf(10) ** -30 * total:
            total += share * -mp.expm1(level - (2 * k - times) * high)
            share *= mp.mpf(times - k) / (k + 1) * p / (1 - p)
            k += 1
        return log + mp.log(total)


@pytest.mark.parametrize(("loss", "times", "share"), [(0.1, 10**8, 0.5), (0.1, 10**8, 0.6), (0.2, 10**9, 0.6)])
def test_the_ends_of_a_binomial_sum_hold_at_minus_ten_millions(loss: float, times: int, share: float) -> None:
    """The sum is right to 1e-14 of ln delta, 2e-7 here. Would catch a rounding of 1e-11 whatever ln delta is."""
    epsilon = times * loss * share
    truth = _log_delta_of_two_values(loss, times, epsilon)
    assert truth < -9e6
    low, high = SimpleEnds([(BinomialLoss(loss, -loss, 1).atoms(), times)], times * loss).log_delta_bounds(epsilon)
    assert low <= truth <= high
    assert low >= truth * (1 + 1e-10)
    value = BinomialLoss(loss, -loss, times).log_delta_bounds(epsilon)[0]
    assert 1e-9 < abs(value - truth) <= 3e-14 * abs(truth)
    assert moved(value, -1) <= truth <= moved(value, 1)


@pytest.mark.parametrize("mu", [1e-3, 1.0, 30.0, 1e3])
def test_the_ends_of_gaussian_noise_hold_at_minus_ten_millions(mu: float) -> None:
    epsilon = mu * (math.sqrt(2e7) + mu / 2)
    with mp.workdps(50):
        m, level = mp.mpf(mu), mp.mpf(epsilon)
        x = level / m - m / 2
        truth = mp.log(mp.erfc(x / mp.sqrt(2)) / 2 - mp.exp(level + mp.log(mp.erfc((x + m) / mp.sqrt(2)) / 2)))
    low, high = SimpleEnds([(GaussianLoss(mu), 1)], math.inf).log_delta_bounds(epsilon)
    assert low <= truth <= high
    assert high <= truth * (1 - 1e-10)
