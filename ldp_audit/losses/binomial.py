"""Binomial probabilities, and their sums against 1 - e**-x, in log space, for n up to 10**18.

The sum is that of P(k) (1 - e**-(over + gap (k - first))) over k >= first. All terms are positive, so nothing cancels,
and its time hardly grows with n.

* Short sums are added term by term from the largest on, until a geometric series bounds the rest below 1e-17 of the
  sum. Each term follows from its neighbour by ln(1 + (k q - (n - k + 1) p) / ...), which loses no digits.
* Long ones are smooth: an integral, by Gauss-Legendre quadrature on pieces as long as the terms keep their size, and
  the Euler-Maclaurin corrections at the start a = K - 1/2, sum over k >= K of f = integral from a of f + f'(a)/24 - 7
  f'''(a)/5760 + ... Where f changes by less than 1/50 from one term to the next, the remainder is below 1e-14 of the
  sum. While the factor of P(k) changes faster than that, terms are added one by one.

Single probabilities are right to a few units in the last place. Logarithms of factorials would lose ten digits at n =
10**9; Loader's form (Fast and accurate computation of binomial probabilities, 2000) has only small terms: with the
deviance D(a, b) = a ln(a/b) + b - a,

    ln P(k) = s(n) - s(k) - s(n - k) - D(k, n p) - D(n - k, n q) + ln(n / (2 pi k (n - k))) / 2,

where s is the error of Stirling's formula. D depends on a - b, which is an argument of its own: at n = 10**18 the float
k - n p has no right digit, but the exact difference is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray
from scipy.special import gammaln

_BLOCK, _LARGEST_BLOCK = 2**10, 2**15
_LONG = 2**11
"""Terms above which a sum is an integral."""
_NEGLIGIBLE = 39.0
"""-ln of the share of a sum that its remainder may have."""
_REACH = 10.0
"""Standard deviations below the mean where a sum may begin: lower terms are below 1e-20 of it."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Binomial:
    """The binomial distribution of n trials of odds p / q = (1 - e**low) / (e**low (1 - e**-high)); low < 0 < high.

    logs: ln p and ln q.
    """

    n: int
    high: float
    low: float
    logs: tuple[float, float]

    @cached_property
    def deviation(self) -> float:
        """sqrt(n p q)."""
        return math.exp((math.log(self.n) + sum(self.logs)) / 2)

    @cached_property
    def mean(self) -> arb:
        """n p, to 70 digits."""
        with ctx.workprec(256):
            return self.n * arb(self.low).expm1() / (arb(self.low) - arb(self.high)).expm1()

    def away(self, k: int) -> float:
        """k - n p."""
        with ctx.workprec(256):
            return float((k - self.mean).mid())

    def log_terms(self, start: int, steps: Numbers) -> Numbers:
        """ln P(start + steps)."""
        k, rest, away = float(start) + steps, float(self.n - start) - steps, self.away(start) + steps
        return log_binomial_at(k, rest, away, float(self.n), *self.logs)

    def log_ratios(self, start: int, steps: Numbers, way: int) -> Numbers:
        """ln P(k + way) / P(k) at k = start + steps; it falls in the direction `way`."""
        (log_p, log_q), away = self.logs, self.away(start) + steps
        p, q = math.exp(log_p), math.exp(log_q)
        k, rest = float(start) + steps, float(self.n - start) - steps
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if way > 0:
                change, ratio = -(away + q) / ((k + 1) * q), np.log(rest / (k + 1)) + (log_p - log_q)
            else:
                change, ratio = (away - p) / ((rest + 1) * p), np.log(k / (rest + 1)) - (log_p - log_q)
            return np.where(np.abs(change) < 0.5, np.log1p(np.maximum(change, -0.75)), ratio)


def log_sum_of_gains(binomial: Binomial, first: int, over: float, gap: float) -> float:
    """ln of the sum over k >= first of P(k) (1 - e**-(over + gap (k - first))).

    first: 0 .. n.   over: > 0.   gap: > 0.
    """
    peak = max(first, min(binomial.n, first - math.ceil(binomial.away(first))))  # within 1 of the largest term
    drop = -float(binomial.log_ratios(peak, np.zeros(1), 1)[0]) if peak < binomial.n else math.inf
    if _LONG * drop >= _NEGLIGIBLE or 13 * binomial.deviation <= _LONG:
        up = _added(binomial, peak, first, over, gap, +1, binomial.n)
        down = _added(binomial, peak - 1, first, over, gap, -1, first) if peak > first else -math.inf
        return float(np.logaddexp(up, down))
    start = max(first, peak - math.ceil(_REACH * binomial.deviation))
    return _smooth(binomial, start, over + gap * (start - first), gap)


def _added(binomial: Binomial, start: int, first: int, over: float, gap: float, way: int, last: int) -> float:
    """ln of the sum of the terms from `start` on, in one direction, to `last` or until the remainder is negligible."""
    logs, total, size, at = float(binomial.log_terms(start, np.zeros(1))[0]), -math.inf, _BLOCK, start
    while True:
        count = min(size, abs(last - at) + 1)
        steps = way * np.arange(count, dtype=np.float64)
        ratios = binomial.log_ratios(at, steps, way)
        terms = np.empty(count)
        terms[0], terms[1:] = logs, logs + np.cumsum(ratios[:-1])
        gains = -np.expm1(-(over + gap * (float(at - first) + steps)))
        total = float(np.logaddexp(total, _log_dot(terms, gains)))
        at += way * count
        logs, ratio, left = float(terms[-1] + ratios[-1]), float(ratios[-1]), abs(last - at) + 1
        if (last - at) * way < 0 or _log_geometric(logs, ratio, left) < total - _NEGLIGIBLE:
            return total
        size = min(2 * size, _LARGEST_BLOCK)


def _smooth(binomial: Binomial, start: int, over: float, gap: float) -> float:
    """ln of the sum from `start` on: some terms one by one, and the integral of the others."""
    layer = math.ceil(_NEGLIGIBLE / gap) if gap * _LONG > _NEGLIGIBLE else 0
    steps = np.arange(layer, dtype=np.float64)
    edges = np.array(_pieces(binomial, start, layer - 0.5, gap))
    width = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + width * (_NODES + 1)).ravel()
    points = np.concatenate([steps, nodes, edges[:1]])
    factors = np.concatenate([np.ones(layer), (width * _WEIGHTS).ravel(), [1.0]])
    gains = -np.expm1(-(over + gap * points))
    slope = -float(binomial.log_ratios(start, edges[:1] + 0.5, -1)[0])  # of ln P, at the first edge
    gains[-1] = _correction(float(gains[-1]), gap, slope, -1 / binomial.deviation**2)
    return _log_dot(binomial.log_terms(start, points), gains * factors)


def _correction(gain: float, gap: float, slope: float, curvature: float) -> float:
    """f'/24 - 7 f'''/5760 over P, for f = P gain: gain' = gap (1 - gain); slope and curvature are of ln P."""
    change = gap * (1 - gain)
    first = gain * slope + change
    third = change * gap**2 - 3 * slope * change * gap + 3 * (slope**2 + curvature) * change
    third += (slope**3 + 3 * slope * curvature) * gain
    return first / 24 - 7 * third / 5760


def _pieces(binomial: Binomial, start: int, begin: float, gap: float) -> list[float]:
    """Ends of pieces, from `begin` steps after start to the last term that counts."""
    edges, room, end = [begin], 1 / gap, float(binomial.n - start)
    away, p, q = binomial.away(start), *(math.exp(log) for log in binomial.logs)
    fallen = 0.0
    while fallen < _NEGLIGIBLE + 8 and edges[-1] < end:
        x = away + edges[-1]
        slope = x / max(binomial.deviation**2 + x * (q - p), 1.0)  # about -d ln P/dk
        width = min(1.5 * binomial.deviation, 3 / max(abs(slope), 1e-300), max(room, edges[-1] - begin))
        edges.append(min(end, edges[-1] + width))
        fallen += max(0.0, slope) * width
    return edges


def _log_dot(logs: Numbers, factors: Numbers) -> float:
    """ln of the sum of e**logs * factors."""
    top = float(logs.max())
    total = 0.0 if math.isinf(top) else float(np.exp(logs - top) @ factors)
    return top + math.log(total) if total > 0 else -math.inf


def _log_geometric(log_first: float, log_ratio: float, count: int) -> float:
    """ln of a bound on the sum of `count` terms, each at most this multiple of the one before."""
    if log_ratio >= 0:
        return math.inf
    return log_first + min(math.log(count), -math.log(-math.expm1(log_ratio)))


_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_SMALL = 0.1


def log_binomial(k: Numbers, n: float, log_p: float, log_q: float) -> Numbers:
    """ln of C(n, k) p**k q**(n - k), shape of k; right to 1e-12 for n up to 10**6, less beyond, as n p is rounded.

    k: whole numbers in 0 .. n, as floats.   log_p, log_q: of p and of 1 - p.
    """
    return log_binomial_at(k, n - k, k - n * math.exp(log_p), n, log_p, log_q)


def log_binomial_at(k: Numbers, rest: Numbers, away: Numbers, n: float, log_p: float, log_q: float) -> Numbers:
    """`log_binomial` with n - k and k - n p as arguments of their own; k need not be whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = stirling_error(np.array([n])) - stirling_error(k) - stirling_error(rest)
        inner = inner - _deviance(k, away, n * math.exp(log_p), math.log(n) + log_p)
        inner = inner - _deviance(rest, -away, n * math.exp(log_q), math.log(n) + log_q)
        inner = inner + 0.5 * np.log(n / (2 * math.pi * k * rest))
        # at k = 0 and k = n only a power of one probability is left
        return np.where(k == 0, n * log_q, np.where(rest == 0, n * log_p, inner))


def stirling_error(n: Numbers) -> Numbers:
    """ln n! - ln(sqrt(2 pi n) (n / e)**n); 0 at n = 0, where it is not needed."""
    safe = np.maximum(n, 1.0)
    square = 1 / (safe * safe)
    series = np.zeros_like(safe)
    for coefficient in reversed(_SERIES):
        series = series * square + coefficient
    if np.min(safe) >= 16:
        return series / safe
    small = gammaln(safe + 1) - ((safe + 0.5) * np.log(safe) - safe + 0.5 * math.log(2 * math.pi))
    return np.where(safe < 16, small, series / safe)


def _deviance(a: Numbers, away: Numbers, b: float, log_b: float) -> Numbers:
    """a ln(a/b) + b - a, without cancellation where away = a - b is small."""
    v = np.clip(away / (a + b), -1.0, 1.0)
    square = v * v
    tail = np.zeros_like(v)
    for order in range(15, 0, -1):  # artanh's series: ln(a/b) = 2 (v + v**3/3 + ...)
        tail = tail * square + 1 / (2 * order + 1)
    near = away * v + 2 * a * v * square * tail
    if np.max(np.abs(v), initial=0.0) < _SMALL:
        return near
    far = a * (np.log(np.maximum(a, 1e-300)) - log_b) + b - a
    return np.where(np.abs(v) < _SMALL, near, far)


class BinomialWindow(NamedTuple):
    """The counts that hold nearly all of a binomial distribution.

    counts: consecutive whole numbers as floats.   log_masses: ln of their probabilities, same shape.
    log_missed: ln of an upper bound on the probability of all others; -inf where there are none.
    """

    counts: NDArray[np.float64]
    log_masses: NDArray[np.float64]
    log_missed: float


def binomial_window(n: int, log_p: float, log_q: float, reach: float, most: int = 0) -> BinomialWindow:
    """The counts of Bin(n, p) whose ln probability is at most `reach` below the largest.

    n: >= 0.   log_p, log_q: of p and 1 - p; one of them may be -inf.   most: with fewer trials all counts are returned.
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
