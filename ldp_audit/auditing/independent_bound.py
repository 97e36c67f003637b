r"""A lower bound on epsilon from one event a coordinate, where coordinates are independent given the input.

Let E_j be an event of coordinate j, of probability p_j on x and q_j on x'. If the coordinates are independent given the
input, E = "all of them at once" has P(E|x) / P(E|x') = prod p_j / q_j, so that

    epsilon >= sum over j of ln(p_j / q_j).

X_j of n, Y_j of m fell into E_j: 2d independent binomial counts. With the tails

    U_j(p) = P(X' >= X_j | p),  V_j(q) = P(Y' <= Y_j | q),  A_j = Phi^-1(1 - U_j),  B_j = Phi^-1(1 - V_j),

each A_j, B_j at the true parameter is stochastically at most a standard normal N, independent of the others. So for
weights w_j, v_j >= 0 that depend on the parameters and on no count,

    (1)  sum_j w_j(p_j) A_j(p_j) + v_j(q_j) B_j(q_j) <= z D**(1/2),   D = sum_j w_j**2 + v_j**2,

holds with probability Phi(z) or more (Stouffer et al. 1949). The chance that one of the 2d normals lies outside [-c, c]
is at most 4d Phi(-c): a small share of the error. Otherwise every A_j <= c, B_j <= c (Clopper-Pearson limits), and (1)
also holds with every A_j, B_j below -c raised to -c.

The bound is the infimum of sum ln p_j - ln q_j over what is left. For any multiplier lambda >= 0 and any t > 0, as
D**(1/2) <= t/2 + D/(2t), it is at least

      sum_j inf_p [ln p + lambda (w_j A_j - z w_j**2/(2t))]
    + sum_j inf_q [-ln q + lambda (v_j B_j - z v_j**2/(2t))] - lambda z t/2

(weak duality); lambda is the best of a search, t a guess. The weights w = (k/p)**(1/2), v = (k q)**(1/2), with k such
that at a design p0, q0 they are the standard deviations of ln(X/n), ln(Y/m), make w A about 1 - X/(n p) and v B about
(q - Y/m)/q0: convex in ln p and in -ln q, so that the 2d deviations add in squares and no corner of the region counts.

Each infimum is certified on cells of l = ln p (or ln q). On a cell of length h on which a function's slope stays in [s,
S], it is nowhere below the smaller of its ends less (S - s) h/4 (BD-CELL of `papers/own/claims.py`). For T =
Phi^-1(I_p(a, b)), I the incomplete beta function with b >= 1, the density of l is log-concave, so that its ratio to I
falls and its ratio to 1 - I grows; so do those of the normal density, and T' is enclosed between their quotients at the
two ends. The result is a lower bound up to the rounding of floating point, for which a margin is taken off.

Whether events that should be independent of each other are (`dependence`). Given how often two events happened in n
outputs, k and l times, independence makes the number g of outputs with both hypergeometric. Its log-concave tail beyond
g is at most P(g) / (1 - P(g + 1)/P(g)): a p-value that is never too small. All pairs together are looked at through the
sum of g - k l / n, for dependence that is spread thinly; its p-value is that of the normal approximation. Dependence of
three or more events that no pair shows goes unseen: this refutes independence, and never proves it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from ldp_audit.auditing.bounds import Counts
from ldp_audit.numerics import least_between

_END_SHARE = 0.02  # of the error, for all limits together
_CELLS = 128
_SHAVE = 1e-12  # relative; far above the error of the incomplete beta function
_MOST_LAMBDA, _NEAR = 8.0, 1e-6


def epsilon_lower_if_independent(
    counts: Sequence[Counts], error: float, designs: Sequence[tuple[float, float]]
) -> float:
    """At most sum_j ln(p_j / q_j), nats, with probability >= 1 - error; 0 where nothing is known.

    counts: one a coordinate, independent of each other.   error: in (0, 1); above 1/2 it is used as 1/2.
    designs: for each coordinate, where p and q are expected, in (0, 1). They change the tightness and never the
    validity, but must be chosen without looking at the counts.
    For pure epsilon: there is no such bound here with a delta above 0.
    """
    if not 0 < error < 1:
        raise ValueError(f"error must be in (0, 1), got {error!r}")
    if len(counts) != len(designs):
        raise ValueError(f"designs must be as many as counts, {len(counts)}, got {len(designs)}")
    if any(not (0 < p < 1 and 0 < q < 1) for p, q in designs):
        raise ValueError(f"designs must be pairs of numbers in (0, 1), got {list(designs)!r:.200}")
    if not counts or any(one.hits == 0 or one.other_hits == one.other_trials for one in counts):
        return 0.0
    tails = _tails(counts, designs)
    error = min(error, 0.5)
    z = -special.ndtri(error * (1 - _END_SHARE))
    limit = -special.ndtri(error * _END_SHARE / (2 * len(tails.sign)))
    dual = _dual(tails, float(z), float(limit))
    return 0.0 if dual is None else max(0.0, dual.greatest())


@dataclass(frozen=True)
class _Tails:
    """The 2d parameters u, first the p_j, then the q_j; arrays of shape (2d, 1).

    I_u(a, b) is U of a p, and 1 - V of a q.   sign: 1 for a p, -1 for a q.
    factor: the squared weight is factor * u**-sign.   centre: the frequency that was seen.
    """

    a: np.ndarray
    b: np.ndarray
    sign: np.ndarray
    factor: np.ndarray
    centre: np.ndarray


def _tails(counts: Sequence[Counts], designs: Sequence[tuple[float, float]]) -> _Tails:
    rows = [
        (c.hits, c.trials - c.hits + 1, 1, (1 - p) / c.trials, c.hits / c.trials)
        for c, (p, _) in zip(counts, designs, strict=True)
    ]
    rows += [
        (
            c.other_hits + 1,
            c.other_trials - c.other_hits,
            -1,
            (1 - q) / (c.other_trials * q * q),
            max(c.other_hits, 0.5) / c.other_trials,
        )
        for c, (_, q) in zip(counts, designs, strict=True)
    ]
    return _Tails(*(np.array(column, dtype=np.float64)[:, None] for column in zip(*rows, strict=True)))


@dataclass(frozen=True)
class _Dual:
    """The dual function: sum over parameters of the least of `fixed + lambda * linear` over cells, less lambda * cost.

    fixed, linear: at the ends of the cells, shape (2d, cells + 1).
    doubt: how far the inside of a cell may lie below its ends, where lambda is 1; shape (2d, cells).
    """

    fixed: np.ndarray
    linear: np.ndarray
    doubt: np.ndarray
    cost: float

    def at(self, multiplier: float) -> float:
        """The bound with this multiplier, >= 0; rounded downwards."""
        ends = self.fixed + multiplier * self.linear
        least = np.min(np.minimum(ends[:, :-1], ends[:, 1:]) - multiplier * self.doubt, axis=1)
        return float(least.sum()) - multiplier * self.cost - _SHAVE * (1 + float(np.abs(least).sum()))

    def greatest(self) -> float:
        """The best bound that a bounded search finds; the function is concave, and each of its values a bound."""
        return -least_between(lambda multiplier: -self.at(multiplier), 0.0, _MOST_LAMBDA, _NEAR)


def _dual(tails: _Tails, z: float, limit: float) -> _Dual | None:
    """None where the ends of the cells coincide.

    Outside |T| <= limit nothing is to be searched: there the parameter is excluded, or A (or B) stays at -limit and the
    function only grows.
    """
    beyond = special.ndtr(limit * (1 + 1e-6))
    last = np.log(special.betaincinv(tails.a, tails.b, beyond))
    first = np.log(special.betaincinv(tails.a, tails.b, special.ndtr(-limit * (1 + 1e-6))))
    logs = first + (last - first) * np.linspace(0, 1, _CELLS + 1)
    u = np.exp(logs)
    score = _normal_scores(tails, u)
    covered = (score[:, 0] <= -limit) & (score[:, -1] >= limit) & (u[:, -1] < 1)
    if not (covered.all() and (np.diff(logs) > 0).all()):
        return None
    squared = tails.factor * u**-tails.sign
    share = z / (2 * math.sqrt(float(np.sum(tails.factor * tails.centre**-tails.sign))))  # z / (2t)
    doubt = _spread(tails, u, score, squared, share) * np.diff(logs) / 4
    linear = -tails.sign * np.sqrt(squared) * score - share * squared
    return _Dual(tails.sign * logs, linear, doubt, z * z / (4 * share) if share else 0.0)


def _normal_scores(tails: _Tails, u: np.ndarray) -> np.ndarray:
    """T(u) = Phi^-1(I_u(a, b)), which grows with u, from the smaller tail; A is -T of a p, B is T of a q."""
    a, b = np.broadcast_to(tails.a, u.shape), np.broadcast_to(tails.b, u.shape)
    left = u < a / (a + b)
    small = ~left & (u < 1e-3)  # where 1 - u would lose digits; elsewhere the mirrored function is faster
    right = ~left & ~small
    scores = np.empty_like(u)
    scores[left] = special.ndtri(special.betainc(a[left], b[left], u[left]))
    scores[right] = -special.ndtri(special.betainc(b[right], a[right], 1 - u[right]))
    scores[small] = -special.ndtri(special.betaincc(a[small], b[small], u[small]))
    return scores


def _spread(tails: _Tails, u: np.ndarray, score: np.ndarray, squared: np.ndarray, share: float) -> np.ndarray:
    """How much the slope of `linear`, in ln u, can vary on each cell: -sign (weight T)' - share (weight**2)'.

    weight' = -sign weight/2, so the slope is -sign weight (T' - sign T/2) + sign share weight**2.
    """
    weight, half = np.sqrt(squared), -tails.sign * score / 2
    lowest, highest = _slopes(tails, u, score)
    lowest = lowest + np.minimum(half[:, :-1], half[:, 1:])
    highest = highest + np.maximum(half[:, :-1], half[:, 1:])
    small, large = np.minimum(weight[:, :-1], weight[:, 1:]), np.maximum(weight[:, :-1], weight[:, 1:])
    most = np.where(highest > 0, large, small) * highest
    least = np.where(lowest > 0, small, large) * lowest
    return most - least + share * (large**2 - small**2)


def _slopes(tails: _Tails, u: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Between what T' = dT/d(ln u) lies on each cell."""
    density = tails.a * np.log(u) + (tails.b - 1) * np.log1p(-u) - special.betaln(tails.a, tails.b)
    normal = -(score**2) / 2 - math.log(2 * math.pi) / 2
    slope = np.exp(density - normal)
    under, over = normal - special.log_ndtr(score), normal - special.log_ndtr(-score)  # fall, grow
    falling, growing = np.exp(np.diff(under)), np.exp(-np.diff(over))  # both at most 1
    left, right = slope[:, :-1], slope[:, 1:]
    rounding = 1e-8 + 1e-14 * (tails.a + tails.b)  # of the log density
    lowest = np.maximum(right * falling, left * growing) * (1 - rounding)
    return lowest, np.minimum(left / falling, right / growing) * (1 + rounding)


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
