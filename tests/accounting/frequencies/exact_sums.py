"""The delta of sums of many losses by ways that the package does not take, at 50 digits: what ends must enclose.

* Few values, some hundred times: the sum over all counts of each.
* EXP over any number of ranks, any number of times: the integral of its moment-generating function, a geometric sum,
  along a line (as in `contour_integral`), by a midpoint rule, which for so near a normal law errs by e**-100.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import acb, arb, ctx

DIGITS = 50
_WIDTH, _NODES = 14, 400
"""How many deviations of the transform the integral takes in, and at how many places."""


def by_counts(losses: tuple[float, float, float], logs: tuple[float, float, float], times: int) -> Callable:
    """ln delta as a function of the level, for a loss of three values with these ln of masses, so many times."""
    ctx.dps = DIGITS + 15
    first, second, third = (arb(loss) for loss in losses)
    masses = [arb(log).exp() for log in logs]
    sums, weights = [], []
    row = masses[2] ** times  # of the counts (0, j, T - j), from j = 0 on
    for i in range(times + 1):
        term, place = row, i * first + (times - i) * third
        for j in range(times - i + 1):
            sums.append(place)
            weights.append(term)
            term *= masses[1] / masses[2] * (times - i - j) / (j + 1)
            place += second - third
        row *= masses[0] / masses[2] * (times - i) / (i + 1)

    def log_delta(epsilon: float) -> arb:
        level = arb(epsilon)
        gains = (p * (1 - (level - x).exp()) for x, p in zip(sums, weights, strict=True) if x > level)
        return sum(gains, arb(0)).log()

    return log_delta


def of_selection(epsilon_0: float, d: int, times: int) -> Callable:
    """ln delta as a function of the level, for EXP with d ranks, so many times."""
    ctx.dps = DIGITS
    step = arb(epsilon_0) / (d - 1)

    def log_moment(z: acb) -> acb:
        """ln E e**(z L): from the top, the losses fall by 2 step and the ln of masses by step."""
        ratio, one = -(1 + 2 * z) * step, -acb(step)
        geometric = (1 - (d * ratio).exp()) / (1 - ratio.exp()) * (1 - one.exp()) / (1 - (d * one).exp())
        return z * step * (d - 1) + geometric.log()

    def log_delta(epsilon: float) -> arb:
        theta, deviation = _saddle(lambda z: float((times * log_moment(acb(z))).real.mid()), epsilon)
        level, peak = arb(epsilon), times * log_moment(acb(theta)).real - arb(theta) * arb(epsilon)

        step_w = arb(_WIDTH / deviation) / _NODES
        total = arb(0)
        for node in range(_NODES):
            z = acb(theta, step_w * (node + arb(0.5)))
            total += ((times * log_moment(z) - z * level - peak).exp() / (z * (z + 1))).real
        return peak + (total * step_w / arb.pi()).log()

    return log_delta


def _saddle(cumulant: Callable[[float], float], mean: float) -> tuple[float, float]:
    """About the tilt with this mean, and the tilted deviation; by differences, as only the line's place rests on it."""
    unit = 1e-7

    def slope(z: float) -> float:
        return (cumulant(z + unit) - cumulant(z - unit)) / (2 * unit)

    low, high = 1e-6, 1e-2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < mean else (low, middle)
    return low, math.sqrt((slope(low + 1e-6) - slope(low - 1e-6)) / 2e-6)
