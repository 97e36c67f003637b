"""The privacy loss of shuffled reports in which one client hides among those that say nothing of their sender.

The blanket. Let w be masses on a report's outcomes with w <= R_z for every input z, c = 1 - |w|. Each other client's
report is one drawn from w with probability |w|, whatever its input. Whoever is told all other reports sees M ~ Bin(n -
1, |w|) of these mixed with client 1's own, drawn from P or from Q. With X = (P(Y) - e**epsilon Q(Y))/w(Y) with
probability w(Y), and X = 0 with probability c,

    delta(epsilon) = E[(X_1 + ... + X_n)_+] / n

(Balle, Bell, Gascon, Nissim, "The Privacy Blanket of the Shuffle Model", CRYPTO 2019, Lemma 5.3, where the masses are
normalised). So this is an upper bound for shuffled reports whatever the others' inputs. With w = R_z for one input z, c
= 0, it is delta itself while all others hold z, which may be client 1's own: a lower bound of the worst.

The sum (`_Tilted`). Let L(s) = (c + sum of w e**(s X))**n - c**n, the transform of the sum's distribution where not all
are 0, F the two-sided Laplace transform of a function f, f(x) e**(-theta x) integrable. Then for every period N

    (1/N) sum over all j of L(theta + i u_j) F(theta + i u_j),   u_j = 2 pi j/N,

is E[f(sum)] and the sum over k != 0 of e**(-theta k N) E[f(sum + k N)] (Poisson's summation). Of

    f(x) = E[(x + noise)_+] = x Phi(x/tau) + tau phi(x/tau) >= x_+   and   x Phi(x/tau) <= x_+

the transforms are e**(s**2 tau**2/2)/s**2, and that less tau**2 e**(s**2 tau**2/2): one is an upper and the other a
lower bound, with few frequencies, as they fall like normal densities. The lines through a saddle point of L(s)/s**2, so
that a delta of 1e-300 has its digits. The errors that are counted:

* The repeated terms, k != 0, are positive for the upper f, which stays one. For the lower one they are at most
  e**(a x - 1 + a**2 tau**2/2)/a of x = sum + k N for all a > 0 (Chernoff), with a below theta for k > 0, else above.
* Frequencies left out, where |L| <= L(theta).
* Rounding: of the weights, n times; of angles, and of sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.discrete_loss import ZERO_LOSS
from ldp_audit.losses.hulls import atoms_below, chord_levels, chord_loss, level_of
from ldp_audit.losses.loss import EPS, KnownLoss, PairLoss, log_delta_from_reversed
from ldp_audit.mechanisms.blanket import Blanket

MOST_CLIENTS = 10**8
MOST_EPSILON = 700.0
"""The largest epsilon of one report, nats."""

Numbers = NDArray[np.float64]

_OF_A_MASS = 256 * EPS
"""The relative rounding of a probability, over a mass, times e**epsilon."""
_SMOOTH, _LEAST_SMOOTH, _MOST_SMOOTH = 0.015, 0.03, 0.3
"""theta tau, as a share of theta times the width of the saddle; its least and its largest value."""
_CLOSE, _FINER, _MOST_ANGLES = 0.03, 8.0, 1 << 18
"""The difference of the bounds above which tau becomes so many times smaller, if angles are no more than these."""
_MOST_OF_ALL = 1 << 24
"""The angles beyond which, for a delta below e**-1e6, Chernoff's bound is all that is known."""
_HARDLY = 0.9
"""The share of the difference that must go for tau to become still smaller."""
_LEFT_OUT = 7.5
"""tau times the last frequency: e**-28 of the rest."""
_REPEATED = 23.0
"""-ln of the repeated terms' share."""
_FARTHEST, _DEEPEST, _LEAST_VALUE = 600.0, -690.0, -1e60
"""theta times the largest summand at most, ln of the weights that count, and a summand that no n others outweigh."""
_AT_ONCE = 1 << 20
_OF_A_HINT = 0.01
"""The rounding of a Chernoff bound's logarithm, and more."""
_WIDEST, _STEEPEST, _MOST_LAWS = 4, 2, 64
"""The placings that are tried, by variance and by ratio, alike ones once; and the inputs among which they are."""
_GRID, _ROUNDS = 24, 4
_BESIDE = np.array([0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 11.0])
"""The places a of the bounds on repeated terms, over theta."""
_NEAR = np.array([-7.0, 7.0])
"""More of them, from theta, in inverse widths: the best ones of normal sums."""
_USUAL = -14.0
"""ln of a usual delta."""
_LEVELS = 120
"""Epsilons of a discrete loss beside this one, as each takes milliseconds."""


@dataclass(frozen=True, eq=False)
class PooledReports(PairLoss):
    """The loss of one client's report, from P against Q, among those of n clients in all drawn from w.

    n: clients, 1 .. 10**8.   shared, first, second: w, P and Q by outcome, none 0, but for a few roundings, shape (m,).
    """

    n: int
    shared: Numbers
    first: Numbers
    second: Numbers

    def supremum(self) -> float:
        """See `PairLoss`: that of the report alone, where nobody else's is hidden, or all are alike."""
        return max(0.0, float(np.max(np.log(self.first) - np.log(self.second)))) + _OF_A_MASS

    def reversed(self) -> PooledReports:
        """See `PairLoss`."""
        return PooledReports(self.n, self.shared, self.second, self.first)

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; the bounds differ by about a hundredth, of an epsilon by a thousandth."""
        if epsilon < 0:
            return log_delta_from_reversed(epsilon, self.reversed().log_delta_bounds(-epsilon))
        if epsilon >= self.supremum():
            return -math.inf, -math.inf
        return self.log_delta(epsilon, 0), self.log_delta(epsilon, 1)

    def log_delta(self, epsilon: float, end: int) -> float:
        """A lower (0) or an upper (1) bound of ln delta.   epsilon: nats, >= 0."""
        gains = summands(self.shared, self.first, self.second, epsilon, end)
        return log_excess(self.n, self.shared, gains, end) - math.log(self.n)

    def log_chernoff(self, epsilon: float) -> float:
        """An upper bound of ln delta but for rounding, in a tenth of the time, a few nats from it."""
        gains = summands(self.shared, self.first, self.second, epsilon, 0)
        return float(log_chernoff(self.n, self.shared, gains)) - math.log(self.n)

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: a list from below, from few epsilons."""
        return self._dominated if end == 0 else None

    @cached_property
    def _dominated(self) -> KnownLoss:
        return atoms_below(self, _LEVELS // 2)


@dataclass(frozen=True, eq=False)
class ShuffledReports(PairLoss):
    """The loss of one client's report among the shuffled ones of n: the supremum over all inputs, its own reverse.

    blanket: of the reports.   epsilon0: of one report, nats, > 0, at most 350.   n: clients, 2 .. 10**8.
    """

    blanket: Blanket = field(repr=False)
    epsilon0: float
    n: int

    def supremum(self) -> float:
        """See `PairLoss`: epsilon0, whatever the others hold."""
        return self.epsilon0

    def reversed(self) -> ShuffledReports:
        """See `PairLoss`: the same."""
        return self

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`: of others placed at one value, and of the blanket."""
        if epsilon < 0:
            return log_delta_from_reversed(epsilon, self.log_delta_bounds(-epsilon))
        if epsilon >= self.epsilon0:
            return -math.inf, -math.inf
        high = self._log_above(epsilon)
        hints = [float(one.log_chernoff(epsilon)) for one in self._placed]
        low = -math.inf
        for hint, one in sorted(zip(hints, self._placed, strict=True), key=lambda pair: -pair[0]):
            if hint < low:
                break
            low = max(low, one.log_delta(epsilon, 0))
        return min(low, high), high

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: of the best placing, or a list that dominates."""
        if end is None:
            return None
        return self._dominating if end else self._dominated

    @cached_property
    def _dominated(self) -> KnownLoss:
        """Of the placing that gives away most about where delta is usual."""
        level = level_of(self._log_above, self.epsilon0, _USUAL)
        best = max(self._placed, key=lambda one: one.log_delta(level, 0), default=None)
        return ZERO_LOSS if best is None else best.known(0) or ZERO_LOSS

    @cached_property
    def _dominating(self) -> KnownLoss:
        levels = chord_levels(self._log_above, self.epsilon0, _LEVELS // 2, _LEVELS // 2)
        return chord_loss(levels, np.array([*(self._log_above(float(one)) for one in levels[:-1]), -math.inf]))

    def _log_above(self, epsilon: float) -> float:
        """The largest bound of all pairs of inputs, those first whose Chernoff bounds are largest."""
        shared, found = self.blanket.shared, -math.inf
        values = summands(shared, self.blanket.first, self.blanket.second, epsilon, 1)
        hints = log_chernoff(self.n, shared, values) if len(values) > 1 else np.array([math.inf])
        for place in np.argsort(-hints).tolist():
            if hints[place] + _OF_A_HINT < found:
                break
            found = max(found, log_excess(self.n, shared, values[place], 1))
        return min(0.0, found - math.log(self.n))

    @cached_property
    def _placed(self) -> tuple[PooledReports, ...]:
        """Inputs x and x', and one of all others, the largest variances of (R_x - R_x')/R_other first.

        Then those with the largest ratios R_x/R_x' at some outcome, and the others where this outcome is likeliest.
        """
        laws = self.blanket.laws[:_MOST_LAWS]
        if not len(laws):
            return ()
        sizes = np.einsum("xj,yj,zj->xyz", laws, laws, 1 / laws, optimize=True)
        own = np.einsum("xxz->xz", sizes)
        apart, ratios = own[:, None] + own[None] - 2 * sizes, laws[:, None] / laws[None]
        spread = np.transpose(np.unravel_index(np.argsort(-apart, axis=None)[: _WIDEST * len(laws)], apart.shape))
        steep = np.transpose(np.unravel_index(np.argsort(-ratios, axis=None)[:_STEEPEST], ratios.shape))
        steep[:, 2] = laws.argmax(axis=0)[steep[:, 2]]
        found: dict[bytes, PooledReports] = {}
        for triples, most in ((spread, _WIDEST), (steep, _WIDEST + _STEEPEST)):
            for x, y, z in triples.tolist():
                table = np.stack([laws[z], laws[x], laws[y]])
                if x != y and len(found) < most:  # alike but for the outcomes' names count once
                    found.setdefault(table[:, np.lexsort(table)].tobytes(), PooledReports(self.n, *table))
        return tuple(found.values())


def summands(shared: Numbers, first: Numbers, second: Numbers, epsilon: float, end: int) -> Numbers:
    """(P - e**epsilon Q)/w, rounded down (0) or up (1); P and Q of shape (..., m), w of shape (m,)."""
    gains = (first - second) - math.expm1(epsilon) * second
    error = _OF_A_MASS * (first + math.exp(epsilon) * second)
    return (gains + (error if end else -error)) / shared


def log_excess(n: int, masses: Numbers, values: Numbers, end: int) -> float:
    """A lower (0) or an upper (1) bound of ln E[(X_1 + ... + X_n)_+] for independent copies.

    X is values[j] with probability masses[j], and else 0; shape (m,). The masses may be right to a few roundings.
    """
    top = float(values.max())
    if top <= 0:
        return -math.inf
    slack = masses.size * 2 * EPS
    rest = max(0.0, 1 - math.fsum(masses.tolist()) + (slack if end else -slack))
    with np.errstate(over="ignore"):
        scaled = np.maximum(values / top, _LEAST_VALUE)
    return _Tilted.at_the_saddle(n, rest, masses, scaled).log_mean(end) + math.log(top)


def log_chernoff(n: int, masses: Numbers, values: Numbers) -> Numbers:
    """Upper bounds of `log_excess` but for rounding, a factor of about ten apart from it; values of shape (..., m)."""
    top = values.max(axis=-1)
    rest, found = max(0.0, 1 - math.fsum(masses.tolist())), np.full(top.shape, math.inf)
    for share in np.geomspace(1e-9, 1.0, 30):
        theta = np.where(top > 0, share * _FARTHEST / np.maximum(top, 1e-300), 0.0)
        logs = n * np.log(rest + np.exp(theta[..., None] * values) @ masses) - 1 - np.log(np.maximum(theta, 1e-300))
        found = np.minimum(found, logs)
    return np.where(top > 0, found, -math.inf)


class _Smoothed(NamedTuple):
    """In units of L(theta): the mean of the upper f, that of tau phi(x/tau), by which the lower one is less; errors.

    error: of either mean, but for the terms that are repeated.   angles: their number, of frequencies times outcomes.
    """

    above: float
    bump: float
    error: float
    repeated: float
    angles: int


@dataclass(frozen=True, eq=False)
class _Tilted:
    """The distribution of the sum, tilted by theta > 0.

    rest: the probability of X = 0 beside the masses.   values: the largest is 1.
    """

    n: int
    rest: float
    masses: Numbers
    values: Numbers
    theta: float

    @classmethod
    def at_the_saddle(cls, n: int, rest: float, masses: Numbers, values: Numbers) -> _Tilted:
        """The tilt where ln L(theta) - 2 ln theta, a convex function, is about least."""
        low, high = math.log(1e-9 / n / float(np.abs(values).max())), math.log(_FARTHEST)
        for _ in range(_ROUNDS):
            places = np.linspace(low, high, _GRID)
            heights = _log_transforms(n, rest, masses, values, np.exp(places)) - 2 * places
            best = int(np.argmin(heights))
            low, high = places[max(0, best - 1)], places[min(_GRID - 1, best + 1)]
        return cls(n, rest, masses, values, math.exp((low + high) / 2))

    def log_mean(self, end: int) -> float:
        """A lower (0) or an upper (1) bound of ln E[sum_+], with less noise where a probable sum is next to 0."""
        tau = min(max(_SMOOTH * self.theta * self._width, _LEAST_SMOOTH), _MOST_SMOOTH) / self.theta
        if _LEFT_OUT / tau * self._period(tau)[0] * self.values.size > _MOST_OF_ALL:
            return self._log_total - 1 - math.log(self.theta) + self._rounding if end else -math.inf  # by Chernoff
        found = self._smoothed(tau)
        while found.bump > _CLOSE * found.above and found.angles * _FINER < _MOST_ANGLES:
            tau, before = tau / _FINER, found
            found = self._smoothed(tau)
            if found.bump > _HARDLY * found.above * min(1.0, before.bump / before.above):
                break
        rounding = self._rounding
        if end:
            value = found.above + found.error
        else:
            value = found.above * (1 - rounding) - found.bump * (1 + rounding) - 2 * found.error - found.repeated
        if value <= 0:
            return -math.inf
        return self._log_total + math.log(value) + (rounding if end else -rounding)

    def _smoothed(self, tau: float) -> _Smoothed:
        """The sums over frequencies with normal noise of this deviation."""
        theta, (period, repeated) = self.theta, self._period(tau)
        step = 2 * math.pi / period
        count = math.ceil(_LEFT_OUT / tau / step)
        smooth = math.exp((theta * tau) ** 2 / 2)
        above, bump = smooth / theta**2, tau**2 * smooth  # of the frequency 0
        error = 64 * EPS * (above + bump)
        size = max(1, _AT_ONCE // self.values.size)
        for start in range(1, count + 1, size):
            turns = step * np.arange(start, min(start + size, count + 1), dtype=np.float64)
            shares, errors = self._transforms(turns)
            s = theta + 1j * turns
            normal = np.exp(s * s * (tau * tau / 2))
            above += 2 * float((shares * normal / (s * s)).real.sum())
            bump += 2 * tau**2 * float((shares * normal).real.sum())
            error += 2 * float((errors + 64 * EPS * np.abs(shares)) @ (np.abs(normal) * (1 / np.abs(s * s) + tau**2)))
        last = step * count
        tail = smooth * math.exp(-((last * tau) ** 2) / 2) / (math.pi * last * tau**2) * (1 / last**2 + tau**2)
        return _Smoothed(
            above / period, max(0.0, bump) / period, error / period + tail, repeated, count * self.values.size
        )

    @cached_property
    def _weights(self) -> Numbers:
        return self.masses * np.exp(self.theta * self.values)

    @cached_property
    def _log_none(self) -> float:
        """ln of the probability, under the tilt, that all summands are 0 for their first reason; -inf for c = 0."""
        total = float(self._weights.sum())
        return self.n * math.log1p(-total / (self.rest + total)) if self.rest > 0 else -math.inf

    @cached_property
    def _log_total(self) -> float:
        """ln L(theta)."""
        return self.n * math.log(self.rest + float(self._weights.sum())) + math.log(-math.expm1(self._log_none))

    @cached_property
    def _rounding(self) -> float:
        """The relative rounding of L(theta), n times that of a weight, and of the logarithm's."""
        exponents = np.minimum(np.abs(self.theta * self.values), -_DEEPEST)
        log_mean = abs(math.log(self.rest + float(self._weights.sum())))
        return EPS * (self.n * (256 + 2 * float(exponents.max()) + 4 * log_mean) + 64)

    @cached_property
    def _width(self) -> float:
        """The standard deviation of the tilted sum's part beyond the pole, about: the saddle's."""
        share = self._weights / (self.rest + float(self._weights.sum()))
        mean, square = float(share @ self.values), float(share @ self.values**2)
        some = -math.expm1(self._log_none)
        variance = self.n * (square - mean**2) / some - (self.n * mean / some) ** 2 * (1 - some)
        return math.sqrt(max(variance, 0.0) + 2 / self.theta**2)

    def _period(self, tau: float) -> tuple[float, float]:
        """N, and a bound on the repeated terms of the upper f, in units of L(theta)."""
        theta = self.theta
        beside = np.concatenate([theta * _BESIDE, theta + _NEAR / self._width])
        beside = beside[(beside > 0) & (beside < -_DEEPEST)]
        logs = _log_transforms(self.n, self.rest, self.masses, self.values, beside) - self._log_total
        logs += (beside * tau) ** 2 / 2 - 1 - np.log(beside) + self._rounding
        away, left = np.abs(beside - theta), beside < theta
        wanted = -_REPEATED - 2 * math.log(theta) - 0.5 * math.log(2 * math.pi) - math.log(self._width)
        period = max(1 / theta, *(float(((logs - wanted) / away)[side].min()) for side in (left, ~left)))
        with np.errstate(under="ignore", over="ignore"):
            terms = np.exp(logs - away * period) / -np.expm1(-away * period)
        return period, float(terms[left].min() + terms[~left].min())

    def _transforms(self, turns: Numbers) -> tuple[NDArray[np.complex128], Numbers]:
        """L(theta + i u)/L(theta) for these u, and bounds on the rounding, shape of both."""
        total = self.rest + float(self._weights.sum())
        share = self._weights / total
        angles = np.multiply.outer(turns, self.values)
        # the mean of e**(i u X), less 1
        real, imaginary = -2 * (np.sin(angles / 2) ** 2 @ share), np.sin(angles) @ share
        with np.errstate(divide="ignore"):
            size = np.log1p(np.maximum(2 * real + real * real + imaginary * imaginary, -1.0)) / 2
        logs, turned = np.maximum(self.n * size, -800.0), self.n * np.arctan2(imaginary, 1 + real)
        none, some = math.expm1(self._log_none), -math.expm1(self._log_none)
        grown = np.exp(logs)
        found = np.expm1(logs) * np.cos(turned) - 2 * np.sin(turned / 2) ** 2 - none + 1j * grown * np.sin(turned)
        moved = turns * float(np.abs(self.values) @ share) * (self.values.size + 8)
        before = np.exp(np.maximum((self.n - 1) * size, -800.0))  # of all clients but one
        error = before * self.n * moved + grown * 4 * (np.abs(logs) + np.abs(turned)) + 4 * np.abs(found)
        return found / some, EPS * error / some


def _log_transforms(n: int, rest: float, masses: Numbers, values: Numbers, places: Numbers) -> Numbers:
    """ln L(s) at real s, shape of `places`, s times the largest value at most 690."""
    totals = np.exp(np.multiply.outer(places, values)) @ masses
    with np.errstate(divide="ignore"):
        none = n * np.log1p(-totals / (rest + totals)) if rest > 0 else np.full(places.shape, -math.inf)
    return n * np.log(rest + totals) + np.log(-np.expm1(none))
