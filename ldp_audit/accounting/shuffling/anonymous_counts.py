"""One anonymous count and one client: the count's distribution under two hypotheses, and its privacy loss.

In each round the server receives, for each weight, n two-point reports without names. Only the number K of upper
reports matters. If the client sends one with probability p, and Q is the distribution of the other n - 1 clients'
count,

    P(k) = (1 - p) Q(k) + p Q(k - 1),        k = 0 .. n,

and two hypotheses about the client, p1 and p0, have the privacy loss L(k) = ln P1(k)/P0(k). For others who are all
alike, with probability q, Q(k - 1)/Q(k) = k (1 - q) / ((n - k) q), so L has a closed form that loses no digits. For
others whose chances are known one by one Q is a Poisson binomial distribution, added up trial by trial
(`count_masses`).

Floating point: the masses are kept as logarithms, and those of unlike clients as a float and a power of 2 a mass, so
that no count underflows. Nothing is subtracted. Each mass has a relative error below 1e-11 for n up to 10**4 (compared
with fractions in the tests; about 1e-13 in the bulk), each loss one of a few units in its last place. `exact_laws` is
the same in fractions, for small n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.laws.finite_laws import count_law
from ldp_audit.mechanisms.inputs import numbers_of
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.numerics import log_of_delta, nonnegative, whole

Others = Literal["one end", "center"]
"""Where the other clients' weights lie: all at the lower end, or all at the center of the range.

For many counts these are the worst and the friendliest for the client: a count's variance is least and greatest (in the
normal limit, and in the tests' searches). A single count may give a little more away for other inputs."""

Against = Literal["other end", "center", "absent"]
"""The client under the second hypothesis; under the first its weight lies at the upper end.

"other end": its weight lies there, LDP's own neighbours.   "absent": it sent nothing, among n - 1 others, and the
server knows the number of upper reports alone (if it saw that of all reports, it would need no test)."""

MOST_CLIENTS = 10**6
"""The largest n of a count's distribution; closed formulas of its mean and variance have no such limit."""

MOST_EPSILON = 700.0
"""The largest epsilon of a report whose rarer value has a chance with all digits."""

_LEAST_UNIT = 1e-300
"""The least divisor of chances."""


class Chance(NamedTuple):
    """The probability of an upper report, and of a lower one: both, as 1 - p loses digits of a small one.

    Numbers, or arrays with one for each count.
    """

    upper: Any
    lower: Any


@dataclass(frozen=True, eq=False)
class CountLaws:
    """The distributions of one count under two hypotheses.

    log_first, log_second: ln of the probabilities of k = 0 .. n, shape (n + 1,).
    loss: ln first/second, nats, same shape; infinite where one of them is 0, and 0 where both are.
    """

    log_first: NDArray[np.float64]
    log_second: NDArray[np.float64]
    loss: NDArray[np.float64]

    @property
    def first(self) -> NDArray[np.float64]:
        """The probabilities themselves, of which those below 1e-323 are 0."""
        return np.exp(self.log_first)

    @property
    def second(self) -> NDArray[np.float64]:
        """See `first`."""
        return np.exp(self.log_second)

    @cached_property
    def swapped(self) -> CountLaws:
        """The hypotheses in the other order."""
        return CountLaws(self.log_second, self.log_first, -self.loss)

    def log_delta(self, epsilon: float) -> float:
        """ln of the sum of (first - e**epsilon second)_+: this direction alone. epsilon: nats, any number."""
        over = (self.loss > epsilon) & (self.log_first > -math.inf)
        if not over.any():
            return -math.inf
        logs = self.log_first[over]
        top = float(logs.max())
        return top + math.log(float(np.sum(np.exp(logs - top) * -np.expm1(epsilon - self.loss[over]))))

    def delta(self, epsilon: float) -> float:
        """delta(epsilon) of this direction alone."""
        return min(1.0, math.exp(self.log_delta(epsilon)))

    def epsilon(self, delta: float) -> float:
        """The least epsilon, nats, >= 0, with delta(epsilon) <= delta in both directions; infinity if there is none.

        delta: in [0, 1]. Raises ValueError for anything else.
        """
        log_delta = log_of_delta(delta, None)

        def exceeds(epsilon: float) -> bool:
            return max(self.log_delta(epsilon), self.swapped.log_delta(epsilon)) > log_delta

        low, high = 0.0, float(np.max(np.abs(self.loss)))
        if not exceeds(0.0):
            return 0.0
        if math.isinf(high):
            high = float(np.max(np.abs(self.loss[np.isfinite(self.loss)]), initial=0.0))
            if exceeds(high):
                return math.inf
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if exceeds(middle) else (low, middle)
        return high

    def advantage(self) -> float:
        """The total variation distance: the best test's true-positive rate less its false-positive rate."""
        return self.delta(0.0)

    @cached_property
    def hellinger(self) -> float:
        """Squared Hellinger distance, half the sum of (sqrt(first) - sqrt(second))**2: 1 for disjoint supports."""
        finite = np.isfinite(self.loss)
        half = np.where(finite, np.abs(self.loss) / 2, 0.0)
        # (sqrt(q) - sqrt(p))**2, for p < q, is q (1 - sqrt(p/q))**2
        most = np.maximum(self.first, self.second)
        apart = np.where(finite, most * np.expm1(-half) ** 2, most)
        return min(1.0, float(apart.sum()) / 2)

    @cached_property
    def moments(self) -> Moments:
        """The moments of the loss under the first hypothesis."""
        finite = np.isfinite(self.loss)
        share, infinite = float(np.sum(self.first[finite])), float(np.sum(self.first[~finite]))
        if share <= 0:
            return Moments(0.0, 0.0, 0.0, 1.0)
        mass, loss = self.first[finite] / share, self.loss[finite]
        mean = float(mass @ loss)
        away = loss - mean
        return Moments(mean, float(mass @ away**2), float(mass @ np.abs(away) ** 3), infinite)


class Moments(NamedTuple):
    """Mean, variance and third absolute central moment of a finite loss; the probability of an infinite one."""

    mean: float
    variance: float
    third: float
    infinite: float


def anonymous_count(
    n: int, epsilon: float, *, others: Others | ArrayLike = "one end", against: Against = "other end"
) -> CountLaws:
    """The distributions of one weight's count in one round.

    n: clients with the target, 1 .. 10**6.   epsilon: of one report, nats, >= 0, at most 700, or infinity.
    others: see `Others`; or the n - 1 probabilities of an upper report, one each, none between 0 and 1e-160 (takes n**2
    steps).
    against: see `Against`.
    Raises ValueError for anything else.
    """
    whole(n, "n", 1, MOST_CLIENTS)
    first, second = hypotheses(epsilon, against)
    gap = gap_of(epsilon, against)
    if isinstance(others, str):
        share = chance_of_others(epsilon, others)
        law = _log_binomial(n - 1, share)
        loss = loss_of_count(np.arange(n + 1), n, first, second, share, gap)
    else:
        masses, powers = _placed(others, n)
        law = _log(masses) + math.log(2) * powers
        loss = loss_of_neighbours(*neighbouring_masses(masses, powers)[:2], first, second, gap)
    stays, moves = np.append(law, -math.inf), np.insert(law, 0, -math.inf)
    laws = [np.logaddexp(_log(chance.lower) + stays, _log(chance.upper) + moves) for chance in (first, second)]
    return CountLaws(laws[0], laws[1], np.where(np.maximum(*laws) > -math.inf, loss, 0.0))


def loss_of_count(
    counts: ArrayLike, n: int, first: Chance, second: Chance, others: Chance, gap: float | None = None
) -> NDArray[np.float64]:
    """ln P1(k)/P0(k) for others who are all alike in one weight, nats.

    counts: whole numbers 0 .. n, shape (...).   first, second: the client's two hypotheses.
    others: each other client's. Chances are numbers, or arrays that broadcast to `counts`.
    gap: first.upper - second.upper, where more of its digits are known than the difference has.
    """
    k = np.asarray(counts, dtype=np.float64)
    # in the proportion of Q(k) and Q(k - 1); their products with client 1's chances may be no floats
    unit = np.maximum(np.minimum(others.upper, others.lower), _LEAST_UNIT)
    stays, moves = (n - k) * (others.upper / unit), k * (others.lower / unit)
    sure = np.equal(others.upper, 0) | np.equal(others.lower, 0)
    at = np.where(np.equal(others.upper, 0), 0, n - 1)
    stays, moves = np.where(sure, k == at, stays), np.where(sure, k == at + 1, moves)
    return loss_of_neighbours(stays, moves, first, second, gap)


def loss_of_neighbours(
    stays: NDArray[np.float64], moves: NDArray[np.float64], first: Chance, second: Chance, gap: float | None
) -> NDArray[np.float64]:
    """ln of (lower stays + upper moves) at the first chances over that at the second; small ones by log1p.

    stays, moves: Q(k) and Q(k - 1), or numbers in their proportion, shape (...).   gap: see `loss_of_count`.
    """
    top = first.lower * stays + first.upper * moves
    bottom = second.lower * stays + second.upper * moves
    known = np.where(np.less(first.upper, 0.9), first.upper - second.upper, second.lower - first.lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = (known if gap is None else gap) * (moves - stays) / bottom
        small = np.log1p(change)
        large = np.log(top) - np.log(bottom)
    return np.where((top == 0) & (bottom == 0), 0.0, np.where(np.abs(change) < 0.5, small, large))


def hypotheses(epsilon: float, against: Against) -> tuple[Chance, Chance]:
    """The client's chance of an upper report under either hypothesis."""
    upper = Chance(expit(_checked(epsilon)), expit(-epsilon))
    choices = {"other end": Chance(upper.lower, upper.upper), "center": Chance(0.5, 0.5), "absent": Chance(0.0, 1.0)}
    if not isinstance(against, str) or against not in choices:
        raise ValueError(f"against must be one of {', '.join(choices)}, got {against!r}")
    return upper, choices[against]


def gap_of(epsilon: float, against: Against) -> float:
    """The difference of the two chances of an upper report, first less second, with all digits for tiny epsilons."""
    half = math.tanh(epsilon / 2)
    return {"other end": half, "center": half / 2, "absent": expit(epsilon)}[against]


def chance_of_others(epsilon: float, others: str) -> Chance:
    """The chance of an upper report of each other client."""
    choices = {"one end": Chance(expit(-_checked(epsilon)), expit(epsilon)), "center": Chance(0.5, 0.5)}
    if not isinstance(others, str) or others not in choices:
        raise ValueError(f"others must be one of {', '.join(choices)}, or n - 1 probabilities, got {others!r}")
    return choices[others]


def exact_laws(
    first: Fraction, second: Fraction, others: Sequence[Fraction]
) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """The two distributions in fractions: {count: probability}, for a client among others with these chances."""
    return count_law([first, *others]), count_law([second, *others])


def exact_advantage(first: dict[Any, Fraction], second: dict[Any, Fraction]) -> Fraction:
    """The total variation distance of two distributions, in fractions."""
    return sum((max(Fraction(0), mass - second.get(k, Fraction(0))) for k, mass in first.items()), Fraction(0))


def _checked(epsilon: float) -> float:
    nonnegative(epsilon)
    if MOST_EPSILON < epsilon < math.inf:
        raise ValueError(f"epsilon must be at most {MOST_EPSILON:g}, or infinity, got {epsilon!r}")
    return float(epsilon)


def _placed(others: Any, n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distribution of the others' count, each with its own chance, as `count_masses` returns it."""
    chances = checked_chances(others, n - 1)
    unsure = chances[(chances > 0) & (chances < 1)]
    masses, powers = count_masses(unsure)
    ones, zeros = int(np.count_nonzero(chances == 1)), int(np.count_nonzero(chances == 0))
    return np.pad(masses, (ones, zeros)), np.pad(powers, (ones, zeros), mode="edge")


def _log(masses: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(masses)


def _log_binomial(n: int, share: Chance) -> NDArray[np.float64]:
    """The binomial distribution from its mode outwards, where sums of logarithms are short and accurate."""
    law = np.full(n + 1, -math.inf)
    if share.upper == 0 or share.lower == 0 or n == 0:
        law[n if share.lower == 0 else 0] = 0.0
        return law
    k = np.arange(1, n + 1)
    steps = np.log((n - k + 1) / k) + (math.log(share.upper) - math.log(share.lower))
    mode = min(n, int((n + 1) * share.upper))
    law[mode] = 0.0
    law[mode + 1 :] = np.cumsum(steps[mode:])
    law[:mode] = -np.cumsum(steps[:mode][::-1])[::-1]
    return law - math.log(float(np.exp(law).sum()))


RAREST = 1e-160
"""The least chance that is not 0."""

_ROOM = 400.0
"""Binary orders of magnitude that a mass may lose or gain before its power of 2 is set anew."""

Numbers = NDArray[np.float64]


def count_masses(chances: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
    """The distribution of the number of successes: that of k is masses[k] * 2.0**powers[k], shape (m + 1,) each.

    chances: in [1e-160, 1), shape (m,).
    """
    masses, powers = np.zeros(chances.size + 1), np.zeros(chances.size + 1, dtype=np.int64)
    steps = np.ones(chances.size + 1)  # the powers of the masses before, over their own
    masses[0], moved, odds = 1.0, 0.0, 0.0
    for i, chance in enumerate(chances.tolist()):
        # no mass is more than `odds` times the next one
        most = max(1 - math.log2(min(chance, 1 - chance)), math.log2(1 + odds * chance))
        if moved + most > _ROOM:
            masses[: i + 1], more = np.frexp(masses[: i + 1])
            powers[: i + 1] += more
            powers[i + 1 :] = powers[i]
            steps[1:] = np.ldexp(1.0, powers[:-1] - powers[1:])
            moved = 0.0
        moved, odds = moved + most, odds + (1 - chance) / chance
        added = masses[: i + 1] * steps[1 : i + 2] * chance
        masses[: i + 1] *= 1 - chance
        masses[1 : i + 2] += added
    return masses, powers


def neighbouring_masses(masses: Numbers, powers: NDArray[np.int64]) -> tuple[Numbers, Numbers, NDArray[np.int64]]:
    """q(k) and q(k - 1) for k = 0 .. m + 1, and the power of 2 that multiplies both.

    masses, powers: see `count_masses`, shape (m + 1,).   returns: shape (m + 2,) each.
    """
    stays, moves = np.append(masses, 0.0), np.insert(masses, 0, 0.0)
    own, before = np.append(powers, powers[-1]), np.insert(powers, 0, powers[0])
    shared = np.maximum(own, before)
    return np.ldexp(stays, own - shared), np.ldexp(moves, before - shared), shared


def checked_chances(others: Any, count: int) -> Numbers:
    """The other clients' chances, shape (count,); ValueError unless each is 0, 1, or accepted by `count_masses`."""
    chances = numbers_of("others", others).astype(np.float64)
    if chances.shape != (count,):
        raise ValueError(f"others must be {count} probabilities, one a client, got shape {chances.shape}")
    wrong = ~((chances == 0) | ((chances >= RAREST) & (chances <= 1)))
    if wrong.any():
        raise ValueError(f"others must be probabilities, 0 or at least {RAREST:g}, got {float(chances[wrong][0])!r}")
    return chances
