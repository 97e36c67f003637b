"""The privacy of m anonymous counts together: their losses add up, and the sum is nearly normal.

Let L be the loss of one count (`anonymous_counts`), with mean M1, variance V1 and third absolute central moment R1
under the first hypothesis, -M0, V0, R0 under the second. The best test says "first" where the sum over the m = R d
counts (R rounds, d weights) is above 0, and its advantage is

    Phi(sqrt(m) M1 / sqrt(V1)) + Phi(sqrt(m) M0 / sqrt(V0)) - 1,

up to 0.4748 (R1 / V1**1.5 + R0 / V0**1.5) / sqrt(m) at most (Berry-Esseen; Shevtsova 2011). With the squared Hellinger
distance h of one count it is also at least 1 - (1 - h)**m, and at most sqrt(1 - (1 - h)**(2 m)). For weak signals V = 2
M = mu**2 / m, the hypotheses are those of a normal mean shifted by mu, and the advantage is 2 Phi(mu/2) - 1 (Dong,
Roth, Su 2022, Gaussian differential privacy). With a gap p1 - p0 = (t - 1)/(t + 1), t = e**epsilon, and n clients at
the ends of the range, mu**2 = m (t - 1)**2 / (n t); with the others at the center it is about 4 m ((t - 1)/(t + 1))**2
/ n.

Approximations, not bounds, except where a function says so: the normal limit may err in either direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from ldp_audit.accounting.calibrate import gdp_within
from ldp_audit.accounting.shuffling.anonymous_counts import (
    Against,
    Chance,
    CountLaws,
    Others,
    chance_of_others,
    hypotheses,
)
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.numerics import as_float, exp_upwards, instance, nonnegative, whole

_BERRY_ESSEEN = 0.4748
_STEPS = 200  # of a bisection: floats are used up before


class Advantage(NamedTuple):
    """The best test's advantage in the normal limit, between two certain bounds.

    The bounds are theorems evaluated in floats: right to about 12 digits.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class NormalLoss:
    """The sum of m losses in the normal limit: the two directions.

    means, variances: nats, under the hypothesis that a direction starts from.   infinite: the probability that some
    loss is infinite, in either.   largest: an exact bound on every sum; infinity where one may be infinite.
    """

    means: tuple[float, float]
    variances: tuple[float, float]
    infinite: tuple[float, float]
    largest: float

    def delta(self, epsilon: float) -> float:
        """The larger of the two directions' hockey-stick divergences at epsilon, nats, >= 0; ValueError for others."""
        if nonnegative(epsilon) >= self.largest:
            return 0.0
        finite = (_delta(mean, variance, epsilon) for mean, variance in zip(self.means, self.variances, strict=True))
        return max(never + (1 - never) * d for never, d in zip(self.infinite, finite, strict=True))

    def epsilon(self, delta: float) -> float:
        """The least epsilon, nats, with delta(epsilon) <= delta; at most `largest`, which holds at delta = 0."""
        check_delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        if delta <= max(self.infinite):
            return self.largest
        reach = (m + 40 * math.sqrt(v) for m, v in zip(self.means, self.variances, strict=True))
        low, high = 0.0, min(self.largest, max(reach))
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high


def compose_counts(laws: CountLaws, m: int) -> NormalLoss:
    """The sum of the losses of m independent counts, in the normal limit. m: a whole number >= 1."""
    whole(m, "m")
    instance(laws, CountLaws, "laws", "the distributions of a count")
    directions = laws.moments, laws.swapped.moments
    return NormalLoss(
        means=(m * directions[0].mean, m * directions[1].mean),
        variances=(m * directions[0].variance, m * directions[1].variance),
        infinite=(_ever(directions[0].infinite, m), _ever(directions[1].infinite, m)),
        largest=m * float(np.max(np.abs(laws.loss))),
    )


def compose_signals(
    n: int, epsilon: float, m: int, *, others: Others = "one end", against: Against = "other end"
) -> NormalLoss:
    """The same from `signal` alone, for any number of clients: a normal mean shifted by mu.

    m: a whole number >= 1. Raises ValueError for anything else.
    """
    whole(m, "m")
    squared = m * signal(n, epsilon, others=others, against=against)
    largest = math.inf if against == "absent" else m * epsilon
    return NormalLoss((squared / 2, squared / 2), (squared, squared), (0.0, 0.0), largest)


def advantage(laws: CountLaws, m: int) -> Advantage:
    """The advantage of the best test on m independent counts; exact for m = 1. m: a whole number >= 1."""
    whole(m, "m")
    instance(laws, CountLaws, "laws", "the distributions of a count")
    if m == 1:
        return Advantage(*[laws.advantage()] * 3)
    directions = laws.moments, laws.swapped.moments
    value, error = -1.0, 0.0
    for mean, variance, third, infinite in directions:
        finite = (1 - infinite) ** m  # in the second direction the sum's sign is turned, and so is the mean's
        if variance > 0:
            value += 1 - finite + finite * float(special.ndtr(math.sqrt(m / variance) * mean))
            error += finite * min(1.0, _BERRY_ESSEEN * third / variance**1.5 / math.sqrt(m))
        else:
            value += 1 - finite + finite * (1.0 if mean > 0 else 0.5 if mean == 0 else 0.0)
    least, most = _by_hellinger(laws.hellinger, m)
    return Advantage(min(most, max(least, value)), max(least, value - error), min(most, value + error))


def signal(n: int, epsilon: float, *, others: Others = "one end", against: Against = "other end") -> float:
    """mu**2 of one count in the normal limit: the squared gap of the two means, over the (smaller) variance.

    n: clients with the target, any whole number >= 1.   epsilon: of one report, nats, >= 0.
    """
    whole(n, "n")
    gap, own, each = _ingredients(epsilon, others, against)
    variance = own + (n - 1) * each
    if gap == 0:
        return 0.0
    return gap**2 / variance if variance > 0 else math.inf


def limit_advantage(mu: float) -> float:
    """2 Phi(mu/2) - 1: the advantage between two normal distributions with means mu apart. mu: >= 0, or ValueError."""
    return float(special.erf(nonnegative(mu, "mu") / math.sqrt(8)))


def break_even_clients(
    epsilon: float,
    rounds: int,
    dimension: int,
    target_epsilon: float,
    delta: float,
    *,
    others: Others = "one end",
    against: Against = "other end",
) -> float:
    """The fewest clients at which (target_epsilon, delta) would hold for all rounds and weights together.

    In the normal limit, which is a good one for the sum of many counts, or for a count of large variance. For a single
    count the exact number was up to a fifth larger in the tests, at about 100 clients.
    1 where the reports' own epsilon suffices; infinity where no number does (delta = 0), or none that is a float.
    rounds, dimension: whole numbers >= 1.   epsilon, target_epsilon: nats, >= 0.   delta: in [0, 1).
    Raises ValueError for anything else.
    """
    m = whole(whole(rounds, "rounds") * whole(dimension, "dimension"), "rounds times dimension")
    nonnegative(target_epsilon, "target_epsilon")
    check_delta(delta)
    gap, own, each = _ingredients(epsilon, others, against)
    if gap == 0 or (target_epsilon >= m * epsilon and against != "absent"):
        return 1
    mu = gdp_within(target_epsilon, delta).value
    if mu == 0 or each == 0:
        return math.inf
    needed = (m * (gap / mu) * (gap / mu) - own) / each
    return 1 + max(0, math.ceil(needed)) if needed < math.inf else math.inf


def smallest_dimension(laws: CountLaws, rounds: int, wanted: float, *, surely: bool = False) -> int:
    """The fewest weights at which the advantage is at least `wanted`, in the normal limit, or for certain.

    rounds: a whole number >= 1.   wanted: in (0, 1).   Raises ValueError for others, and where the counts have no
    signal.
    """
    if not 0 < as_float(wanted) < 1:
        raise ValueError(f"wanted must be in (0, 1), got {wanted!r}")
    whole(rounds, "rounds")
    instance(laws, CountLaws, "laws", "the distributions of a count")
    if laws.advantage() == 0:
        raise ValueError("these counts say nothing: no number of weights gives any advantage")

    def reached(d: int) -> bool:
        found = advantage(laws, rounds * d)
        return (found.low if surely else found.value) >= wanted

    few, many = 0, 1
    while not reached(many):
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if reached(middle) else (middle, many)
    return many


def check_delta(delta: float) -> None:
    """Raise ValueError unless delta is in [0, 1)."""
    if not 0 <= as_float(delta) < 1:
        raise ValueError(f"delta must be in [0, 1), got {delta!r}")


def _by_hellinger(h: float, m: int) -> tuple[float, float]:
    """Bounds on the advantage over m counts from the squared Hellinger distance of one."""
    if h >= 1:
        return 1.0, 1.0
    log_affinity = m * math.log1p(-h)
    return -math.expm1(log_affinity), math.sqrt(-math.expm1(2 * log_affinity))


def _ever(probability: float, m: int) -> float:
    """The probability of at least one success in m independent trials."""
    return -math.expm1(m * math.log1p(-probability)) if probability < 1 else 1.0


def _ingredients(epsilon: float, others: Others, against: Against) -> tuple[float, float, float]:
    """The gap of the client's two chances, the smaller of their variances, and the variance of each other's report."""
    first, second = hypotheses(epsilon, against)
    gap = math.tanh(epsilon / 2) if against == "other end" else first.upper - second.upper
    return gap, min(_variance(first), _variance(second)), _variance(chance_of_others(epsilon, others))


def _variance(chance: Chance) -> float:
    return chance.upper * chance.lower


def _delta(mean: float, variance: float, epsilon: float) -> float:
    """E[(1 - e**(epsilon - S))_+] for a normal S: Gaussian noise's, at an epsilon shifted by the difference of means.

    It depends on the variance and on (epsilon - mean) alone, and Gaussian noise has half the variance for a mean.
    """
    if math.isinf(epsilon):
        return 0.0
    if variance <= 0:
        return -math.expm1(min(0.0, epsilon - mean))
    if math.isinf(mean) or math.isinf(variance):
        return 1.0
    asked = epsilon - (mean - variance / 2)
    return exp_upwards(GaussianLoss(math.sqrt(variance)).log_delta_bounds(asked)[1])
