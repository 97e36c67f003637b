"""The part of a binomial law that holds all but a stated share of it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.binomial_terms import log_binomial


class BinomialWindow(NamedTuple):
    """counts: consecutive whole numbers as floats.   log_masses: ln of their probabilities, same shape.

    log_missed: ln of an upper bound on the probability of all others; -inf where there are none.
    """

    counts: NDArray[np.float64]
    log_masses: NDArray[np.float64]
    log_missed: float


def binomial_window(n: int, log_p: float, log_q: float, reach: float, most: int = 0) -> BinomialWindow:
    """The counts of Bin(n, p) whose probability is within so many nats of the largest one.

    n: >= 0.   log_p, log_q: of p and 1 - p; one of them may be -inf.   most: a law of at most so many counts is whole.
    """
    if n == 0 or log_q == -math.inf or log_p == -math.inf:
        return BinomialWindow(np.array([float(n if log_q == -math.inf else 0)]), np.zeros(1), -math.inf)
    low, high, missed = (0, n, -math.inf) if n < most else _ends(n, log_p, log_q, reach)
    counts = np.arange(low, high + 1, dtype=np.float64)
    return BinomialWindow(counts, log_binomial(counts, float(n), log_p, log_q), missed)


def _ends(n: int, log_p: float, log_q: float, reach: float) -> tuple[int, int, float]:
    mode = min(n, math.floor((n + 1) * math.exp(log_p)))

    def log_mass(count: int) -> float:
        return float(log_binomial(np.array([float(count)]), float(n), log_p, log_q)[0])

    floor, ends, missed = log_mass(mode) - reach, [], -math.inf
    for far in (0, n):
        end, beyond = mode, far
        while abs(beyond - end) > 1:
            middle = (end + beyond) // 2
            end, beyond = (middle, beyond) if log_mass(middle) > floor else (end, middle)
        end = far if log_mass(far) > floor else end
        ends.append(end)
        if end != far:  # the masses beyond fall at least as fast as at the first step
            following = log_mass(end + (1 if far else -1))
            missed = float(np.logaddexp(missed, following - math.log(-math.expm1(following - log_mass(end)))))
    return ends[0], ends[1], missed
