"""A loss of two values, T times: a binomial sum, exactly, for T up to 10**18.

If one report has the loss a with probability p and b < a with q = 1 - p under P, the sum of T independent ones is
T b + K (a - b) with K binomial, and

    delta(epsilon) = sum over k of C(T, k) p**k q**(T - k) (1 - e**(epsilon - T b - k (a - b)))_+.

Where the first positive term lies, and how far above epsilon its loss is, are exact: losses are the fractions that
their floats are. `binomial_sum` adds the terms. Randomised response on two values and the two-point mechanism have such
a loss, and it is the worst one of any pure epsilon (Kairouz, Oh, Viswanath, ICML 2015, Theorem 3.3).

Sums of a binomial law against 1 - e**-x, in log space, in a time that hardly grows with n.

The sum is that of P(k) (1 - e**-(over + gap (k - first))) over k >= first. All terms are positive, so nothing cancels.

* Short sums are added term by term from the largest on, until a geometric series bounds the rest below 1e-17 of the
  sum. Each term follows from its neighbour by ln(1 + (k q - (n - k + 1) p) / ...), which loses no digits.
* Long ones are smooth: an integral, by Gauss and Legendre on pieces as long as the terms keep their size, and Euler
  and Maclaurin's corrections at the start a = K - 1/2, sum over k >= K of f = integral from a of f + f'(a)/24
  - 7 f'''(a)/5760 + ... Where f changes by less than 1/50 from one term to the next, what is left out is below 1e-14
  of the sum. While the factor of P(k) changes faster than that, terms are added one by one.

ln of binomial probabilities, right to a few units in the last place of the probability itself, up to n = 10**18.

The logarithms of factorials would lose ten digits at n = 10**9. Loader's form (Fast and accurate computation of
binomial probabilities, 2000) has only small terms: with the deviance D(a, b) = a ln(a/b) + b - a,

    ln P(k) = s(n) - s(k) - s(n - k) - D(k, n p) - D(n - k, n q) + ln(n / (2 pi k (n - k))) / 2,

where s is the error of Stirling's formula. D depends on a - b, which is given by itself: at n = 10**18 no float k - n p
has a right digit, but k - n p can be known all the same.

The part of a binomial law that holds all but a stated share of it.
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
"""Terms: a sum that takes more of them is an integral."""
_NEGLIGIBLE = 39.0
"""-ln of the share of a sum that its rest may have."""
_REACH = 10.0
"""Standard deviations below the mean where a sum may begin: what lies lower is below 1e-20 of it."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Binomial:
    """The binomial law of n trials of odds p / q = (1 - e**low) / (e**low (1 - e**-high)); low < 0 < high."""

    n: int
    high: float
    low: float

    @cached_property
    def logs(self) -> tuple[float, float]:
        """ln p and ln q; the one near 0 from the other, as n times it has to have its digits."""
        whole = math.expm1(self.low - self.high)  # ratios first: logarithms of tiny losses would lose digits
        log_p, log_q = math.log(math.expm1(self.low) / whole), self.low + math.log(math.expm1(-self.high) / whole)
        if log_p > log_q:
            return math.log1p(-math.exp(log_q)), log_q
        return log_p, math.log1p(-math.exp(log_p))

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
        """ln P(k + way) / P(k) at k = start + steps; it falls as k goes that way."""
        (log_p, log_q), away = self.logs, self.away(start) + steps
        p, q = math.exp(log_p), math.exp(log_q)
        k, rest = float(start) + steps, float(self.n - start) - steps
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if way > 0:
                change, ratio = -(away + q) / ((k + 1) * q), np.log(rest / (k + 1)) + (log_p - log_q)
            else:
                change, ratio = (away - p) / ((rest + 1) * p), np.log(k / (rest + 1)) - (log_p - log_q)
            return np.where(np.abs(change) < 0.5, np.log1p(np.maximum(change, -0.75)), ratio)


def log_sum_of_gains(law: Binomial, first: int, over: float, gap: float) -> float:
    """ln of the sum over k >= first of P(k) (1 - e**-(over + gap (k - first))).

    first: 0 .. n.   over: > 0.   gap: > 0.
    """
    peak = max(first, min(law.n, first - math.ceil(law.away(first))))  # within 1 of the largest term
    drop = -float(law.log_ratios(peak, np.zeros(1), 1)[0]) if peak < law.n else math.inf
    if _LONG * drop >= _NEGLIGIBLE or 13 * law.deviation <= _LONG:
        up = _added(law, peak, first, over, gap, +1, law.n)
        down = _added(law, peak - 1, first, over, gap, -1, first) if peak > first else -math.inf
        return float(np.logaddexp(up, down))
    start = max(first, peak - math.ceil(_REACH * law.deviation))
    return _smooth(law, start, over + gap * (start - first), gap)


def _added(law: Binomial, start: int, first: int, over: float, gap: float, way: int, last: int) -> float:
    """ln of the sum of the terms from `start` on, in one direction, to `last` or until the rest is negligible."""
    logs, total, size, at = float(law.log_terms(start, np.zeros(1))[0]), -math.inf, _BLOCK, start
    while True:
        count = min(size, abs(last - at) + 1)
        steps = way * np.arange(count, dtype=np.float64)
        ratios = law.log_ratios(at, steps, way)
        terms = np.empty(count)
        terms[0], terms[1:] = logs, logs + np.cumsum(ratios[:-1])
        gains = -np.expm1(-(over + gap * (float(at - first) + steps)))
        total = float(np.logaddexp(total, _log_dot(terms, gains)))
        at += way * count
        logs, ratio, left = float(terms[-1] + ratios[-1]), float(ratios[-1]), abs(last - at) + 1
        if (last - at) * way < 0 or _log_geometric(logs, ratio, left) < total - _NEGLIGIBLE:
            return total
        size = min(2 * size, _LARGEST_BLOCK)


def _smooth(law: Binomial, start: int, over: float, gap: float) -> float:
    """ln of the sum from `start` on: some terms one by one, and the integral of the others."""
    layer = math.ceil(_NEGLIGIBLE / gap) if gap * _LONG > _NEGLIGIBLE else 0
    steps = np.arange(layer, dtype=np.float64)
    edges = np.array(_pieces(law, start, layer - 0.5, gap))
    width = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + width * (_NODES + 1)).ravel()
    points = np.concatenate([steps, nodes, edges[:1]])
    factors = np.concatenate([np.ones(layer), (width * _WEIGHTS).ravel(), [1.0]])
    gains = -np.expm1(-(over + gap * points))
    slope = -float(law.log_ratios(start, edges[:1] + 0.5, -1)[0])  # of ln P, at the first edge
    gains[-1] = _correction(float(gains[-1]), gap, slope, -1 / law.deviation**2)
    return _log_dot(law.log_terms(start, points), gains * factors)


def _correction(gain: float, gap: float, slope: float, curvature: float) -> float:
    """f'/24 - 7 f'''/5760 over P, for f = P gain: gain' = gap (1 - gain), and ln P has this slope and curvature."""
    change = gap * (1 - gain)
    first = gain * slope + change
    third = change * gap**2 - 3 * slope * change * gap + 3 * (slope**2 + curvature) * change
    third += (slope**3 + 3 * slope * curvature) * gain
    return first / 24 - 7 * third / 5760


def _pieces(law: Binomial, start: int, begin: float, gap: float) -> list[float]:
    """Ends of pieces, from `begin` steps beyond start to where nothing is left; on each the terms keep their size."""
    edges, room, end = [begin], 1 / gap, float(law.n - start)
    away, p, q = law.away(start), *(math.exp(log) for log in law.logs)
    fallen = 0.0
    while fallen < _NEGLIGIBLE + 8 and edges[-1] < end:
        x = away + edges[-1]
        slope = x / max(law.deviation**2 + x * (q - p), 1.0)  # about -d ln P/dk
        width = min(1.5 * law.deviation, 3 / max(abs(slope), 1e-300), max(room, edges[-1] - begin))
        edges.append(min(end, edges[-1] + width))
        fallen += max(0.0, slope) * width
    return edges


def _log_dot(logs: Numbers, factors: Numbers) -> float:
    """ln of the sum of e**logs * factors."""
    top = float(logs.max())
    total = 0.0 if math.isinf(top) else float(np.exp(logs - top) @ factors)
    return top + math.log(total) if total > 0 else -math.inf


def _log_geometric(log_first: float, log_ratio: float, count: int) -> float:
    """ln of a bound on so many terms, of which each is at most this multiple of the one before."""
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
    """The same with n - k and k - n p given too, each as right as can be; k need not be whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = stirling_error(np.array([n])) - stirling_error(k) - stirling_error(rest)
        inner = inner - _deviance(k, away, n * math.exp(log_p), math.log(n) + log_p)
        inner = inner - _deviance(rest, -away, n * math.exp(log_q), math.log(n) + log_q)
        inner = inner + 0.5 * np.log(n / (2 * math.pi * k * rest))
        # at the ends a power of one probability is all there is
        return np.where(k == 0, n * log_q, np.where(rest == 0, n * log_p, inner))


def stirling_error(n: Numbers) -> Numbers:
    """ln n! - ln(sqrt(2 pi n) (n / e)**n); 0 at n = 0, where nothing asks for it."""
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
