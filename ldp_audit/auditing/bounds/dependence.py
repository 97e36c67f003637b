"""Events that should be independent of each other: how unlikely what was seen of them together would then be.

Given how often two events happened in n outputs, k and l times, independence makes the number g of outputs with both
hypergeometric. Its log-concave tail beyond g is at most P(g) / (1 - P(g + 1)/P(g)): a p-value that is never too small.
All pairs together are looked at through the sum of g - k l / n, for dependence that is spread thinly; its p-value is
that of the normal approximation. Dependence of three or more events that no pair shows goes unseen: this refutes
independence, and never proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Dependence:
    """What spoke most against independence.

    pair: the two events, by their numbers, or None for all pairs together.   p_value: corrected for the choice; of
    independent events it is below a level no more often than that level says (for all pairs together, nearly so).
    """

    pair: tuple[int, int] | None
    p_value: float
    outputs: int


def dependence(together: np.ndarray, outputs: int) -> Dependence:
    """together: whole numbers, shape (d, d): in how many of the outputs events i and j both happened."""
    d = len(together)
    one, two = np.triu_indices(d, 1)
    if len(one) == 0 or outputs < 2:
        return Dependence(None, 1.0, outputs)
    often = np.diag(together).astype(np.float64)
    k, m, both = often[one], often[two], together[one, two].astype(np.float64)
    tail = np.minimum(_tail(both, k, m, outputs), _tail(k - both, k, outputs - m, outputs))
    found = int(np.argmin(tail))
    of_pair = min(1.0, 2 * len(one) * math.exp(min(0.0, float(tail[found]))))
    variance = float(np.sum(k * m * (outputs - k) * (outputs - m) / (outputs**2 * (outputs - 1.0))))
    away = abs(float(np.sum(both - k * m / outputs)))
    of_all = 2 * float(special.ndtr(-away / math.sqrt(variance))) if variance > 0 else 1.0
    p_value = min(1.0, 2 * min(of_pair, of_all))
    return Dependence((int(one[found]), int(two[found])) if of_pair <= of_all else None, p_value, outputs)


def _tail(both: np.ndarray, k: np.ndarray, m: np.ndarray, n: int) -> np.ndarray:
    """Log of a bound on P(at least so many of both)."""
    log_mass = _log_choose(m, both) + _log_choose(n - m, k - both) - _log_choose(np.full_like(k, n), k)
    step = (m - both) * (k - both) / ((both + 1) * (n - m - k + both + 1))
    return np.where(step < 1, log_mass - np.log1p(-np.minimum(step, 1 - 1e-15)), 0.0)


def _log_choose(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
