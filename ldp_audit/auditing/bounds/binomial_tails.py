r"""The tails of a binomial count as functions of its probability, and the probabilities that give a wanted tail.

P(X >= k | p) = I_p(k, n - k + 1), the regularised incomplete beta function, grows in p. Its inverse is found by SciPy,
which stops at a relative error of up to 2**-26 (measured: 5e-9 for 1,000 hits of a million); one step of Newton's
leaves what the tail itself is off by. That was measured against 40 digits: 3e-11 relative up to 10**10 trials for the
smaller of the two tails, but for few hits of many trials 1e-17 a trial for the larger one, or 1e-8 for 10**9. The
complement of betainc is slow in SciPy; where trials are few, betainc at 1 - p, whose rounding costs 1e-16 a trial, is
as good and takes a twelfth of the time.

For tails below 1e-100 SciPy's inverse is nan here and there, and now and then beyond the truth. There the limit is that
of the union bound, P(X >= k | p) <= C(n, k) p**k, which is lower and certain.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

_FEW_TRIALS = 10_000
_LEAST_TAIL = 1e-100
_SLACK = 0.01  # nats off the union bound's logarithm, for the rounding of SciPy's betaln: 1e-3 for 10**12 trials
_FURTHEST = 1e-3  # relative; no step is larger, since there the inverse has failed, or the density underflows


def _far(trials: int) -> float:
    """The deviation beyond which the other tail, the smaller one, is worked out."""
    return 2.0 if trials <= _FEW_TRIALS else 0.0


def _complement(a: int, b: int, p: np.ndarray) -> np.ndarray:
    """1 - I_p(a, b)."""
    return special.betainc(b, a, 1 - p) if a + b <= _FEW_TRIALS else special.betaincc(a, b, p)


def deviation(hits: int, trials: int, p: np.ndarray) -> np.ndarray:
    """Phi^-1(P(X < hits | p)), which falls in p; for hits >= 1."""
    found = -special.ndtri(special.betainc(hits, trials - hits + 1, p))
    late = found < -_far(trials)
    found[late] = special.ndtri(_complement(hits, trials - hits + 1, p[late]))
    return found


def probability(hits: int, trials: int, deviations: np.ndarray) -> np.ndarray:
    """The q with Phi^-1(P(Y > hits | q)) equal to the deviations; 1 for hits = trials."""
    found = np.ones_like(deviations)
    if hits < trials:
        up = deviations > _far(trials)
        found[up] = _greatest(hits, trials, special.ndtr(-deviations[up]))
        found[~up] = lower_limits(hits + 1, trials, special.ndtr(deviations[~up]))
    return found


def lower_limit(hits: int, trials: int, error: float) -> float:
    """The Clopper-Pearson lower limit of one proportion: at most the truth with probability >= 1 - error."""
    return 0.0 if hits == 0 else float(lower_limits(hits, trials, np.array([error]))[0])


def upper_limit(hits: int, trials: int, error: float) -> float:
    """The Clopper-Pearson upper limit of one proportion: at least the truth with probability >= 1 - error."""
    return 1.0 if hits >= trials else float(_greatest(hits, trials, np.array([error]))[0])


def lower_limits(hits: int, trials: int, tail: np.ndarray) -> np.ndarray:
    """The p with P(X >= hits | p) equal to the tail: `lower_limit` for several errors; for hits >= 1."""
    a, b = hits, trials - hits + 1
    found = _nearer(a, b, special.betaincinv(a, b, tail), lambda p: special.betainc(a, b, p) - tail)
    deep = tail < _LEAST_TAIL
    return np.where(deep, _by_union(hits, trials, tail), found) if np.any(deep) else found


def _greatest(hits: int, trials: int, tail: np.ndarray) -> np.ndarray:
    """The q with P(Y <= hits | q) equal to the tail."""
    a, b = hits + 1, trials - hits
    found = _nearer(a, b, special.betainccinv(a, b, tail), lambda q: tail - _complement(a, b, q))
    deep = tail < _LEAST_TAIL
    return np.where(deep, np.nextafter(1 - _by_union(b, trials, tail), 1.0), found) if np.any(deep) else found


def _by_union(hits: int, trials: int, tail: np.ndarray) -> np.ndarray:
    """A p with P(X >= hits | p) below the tail; for hits >= 1."""
    log_choices = -special.betaln(hits + 1, trials - hits + 1) - np.log1p(trials)
    with np.errstate(divide="ignore"):
        return np.exp((np.log(tail) - log_choices - _SLACK) / hits)


def _nearer(a: int, b: int, p: np.ndarray, excess: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """After one step of Newton's towards an excess of 0, whose derivative is the density of Beta(a, b)."""
    with np.errstate(all="ignore"):
        density = np.exp(special.xlogy(a - 1, p) + special.xlog1py(b - 1, -p) - special.betaln(a, b))
        step = excess(p) / density
    small = np.abs(step) <= _FURTHEST * np.minimum(p, 1 - p)  # False for nan
    return np.where(small, p - step, p)
