"""The delta of a two-valued loss, T times, as an exact sum at 50 digits: the reference for floats."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, ctx

DIGITS = 50


def exact_log_delta(high: float, low: float, times: int, epsilon: float) -> arb:
    """ln delta(epsilon) as a ball; the sum stops where the remainder is below 10**-40 of it."""
    ctx.dps = DIGITS + 15
    upper, lower, level = arb(high), arb(low), arb(epsilon)
    p = (1 - lower.exp()) / (1 - (lower - upper).exp())
    q = 1 - p
    gap = Fraction(high) - Fraction(low)
    k = max(0, math.floor((Fraction(epsilon) - times * Fraction(low)) / gap) + 1)
    term = (log_choose(times, k) + k * p.log() + (times - k) * q.log()).exp()
    left, step = (level - times * lower - k * (upper - lower)).exp(), (lower - upper).exp()
    total, mean = arb(0), times * float(p.mid())
    while k <= times:
        total += term * (1 - left)
        term, left, k = term * (p / q) * (times - k) / (k + 1), left * step, k + 1
        if k % 256 == 0 and k > mean and term * (times - k) < total * arb(10) ** -40:
            break
    return total.log()


def log_choose(n: int, k: int) -> arb:
    return arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
