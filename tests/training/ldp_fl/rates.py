"""How likely a layer's measures are, at most, if the pipeline is right: rigorous bounds, whatever the weights are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

FALSE_ALARM = 1e-6


def bias_chance(record: Mapping[str, Any], clients: int, epsilon: float) -> float:
    """Of a mean error so far from 0: Bernstein's bound for k m independent errors of at most 2 r A."""
    total = record["bias_sd"] * record["weights"] * clients
    z, most = abs(record["bias_z"]), 2 * _reach(record, epsilon)
    return min(1.0, 2 * math.exp(-(z**2) / 2 / (1 + most * z / (3 * total))))


def variance_chance(record: Mapping[str, Any], clients: int, epsilon: float) -> float:
    """Of a mean squared error so far from its expectation; for small epsilons, where it has power.

    Above: e is sub-Gaussian with proxy P = r^2 A^2 / k, so that m e^2 / P is no heavier than chi-squared (Chernoff).
    Below: sums of nonnegative X fall short by x with chance at most exp(-x^2 / (2 sum E X^2)), and E e^4 <= 3 P^2.
    """
    proxy, m = _reach(record, epsilon) ** 2 / clients, record["weights"]
    if record["variance"] > record["variance_exact"]:
        t = record["variance"] / proxy - 1
        return 1.0 if t <= 0 else math.exp(-m / 2 * (t - math.log1p(t)))
    short = m * (record["variance_exact"] - record["variance"])
    return math.exp(-(short**2) / (2 * 3 * m * proxy**2))


def _reach(record: Mapping[str, Any], epsilon: float) -> float:
    return record["radius"] / math.tanh(epsilon / 2)
