r"""Hockey-stick divergences from first principles, as balls of real numbers (python-flint's arb).

A `Divergence` of an ordered pair (P, Q) answers one question: H(gamma) = sum or integral of max(0, P - gamma Q) for any
gamma > 0, with delta(epsilon) = H(e**epsilon). Nothing here is shared with the library.

* `Outcomes`: finitely many outcomes, term by term.
* `Normal`, `Laplace`: two shifted noises; by Neyman and Pearson the best event is a half-line.
* `Sampled`: (1 - q) Q + q P against Q, and back.
* `Replaced`: (1 - q) N_0 + q N_v against (1 - q) N_0 + q N_w, or the reverse: the larger.
* `Mixed`: finitely many outcomes beside another pair: sum over outcomes of p H(gamma q / p).
* `LaplaceBeside`, `SampledNormalBeside`: one noise beside another pair: the same, as an integral over the noise.
* `Outcomes.allocated`, `AllocatedNormal`: one step of several has P, in secret, and the others Q.
* `Copies`: a record that is drawn j times moves the noise by j steps: sum_j w_j N(j) against N(0), and back.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from typing import cast

from flint import acb, arb, ctx, fmpq

BITS = 384
ctx.prec = BITS

Number = arb | float | int
ZERO, ONE = arb(0), arb(1)
_BISECTIONS = 250


def exp(x: Number) -> arb:
    return arb(x).exp()


def fraction(numerator: int, denominator: int) -> arb:
    return arb(fmpq(numerator, denominator))


def tail(x: Number) -> arb:
    """P(N > x) for a unit normal N."""
    return (arb(x) / arb(2).sqrt()).erfc() / 2


class Divergence(ABC):
    """The hockey-stick divergence of an ordered pair (P, Q)."""

    @abstractmethod
    def at(self, gamma: arb) -> arb:
        """The integral of max(0, P - gamma Q), gamma >= 0."""

    @abstractmethod
    def back(self) -> Divergence:
        """That of (Q, P)."""

    def delta(self, epsilon: Number) -> arb:
        return self.at(exp(epsilon))


@dataclass(frozen=True)
class Outcomes(Divergence):
    """Pairs (p, q): the probabilities of each outcome under P and under Q."""

    pairs: tuple[tuple[arb, arb], ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[Number, Number]]) -> Outcomes:
        listed = ((arb(p), arb(q)) for p, q in pairs)
        return cls(tuple((p, q) for p, q in listed if not (p == 0 and q == 0)))

    @classmethod
    def symmetric(cls, pairs: Iterable[tuple[Number, Number]], same: Number = 0) -> Outcomes:
        """Each pair in both orders, and outcomes of equal probability; p = q is in `same`."""
        listed = list(pairs)
        return cls.of([*listed, *((q, p) for p, q in listed), (same, same)])

    def at(self, gamma: arb) -> arb:
        return sum(((p - gamma * q).nonnegative_part() for p, q in self.pairs), ZERO)

    def back(self) -> Outcomes:
        return Outcomes(tuple((q, p) for p, q in self.pairs))

    def sampled(self, rate: Number) -> Outcomes:
        kept = arb(rate)
        return Outcomes.of(((1 - kept) * q + kept * p, q) for p, q in self.pairs)

    def times(self, other: Outcomes) -> Outcomes:
        return Outcomes(tuple((p * r, q * s) for (p, q), (r, s) in product(self.pairs, other.pairs)))

    def power(self, count: int) -> Outcomes:
        """Independent repetitions: one outcome for each vector of counts, by the multinomial formula."""
        found = [(count, ONE, ONE)]
        for p, q in self.pairs[:-1]:
            found = [
                (left - i, one * p**i * ways, two * q**i * ways)
                for left, one, two in found
                for i, ways in enumerate(_binomials(left))
            ]
        p, q = self.pairs[-1]
        return Outcomes(tuple((one * p**left, two * q**left) for left, one, two in found))

    def allocated(self, steps: int, times: int = 1) -> Outcomes:
        """P at `times` of the steps, drawn uniformly, against Q at all: one outcome for each vector of counts.

        Of the product of (q + p z) over the reports, the coefficient of z**times is the sum over all choices.
        """
        some = [(steps, [ONE] + [ZERO] * times)]
        for p, q in self.pairs:
            last, found = (p, q) == self.pairs[-1], []
            for left, terms in some:
                for i in range(left if last else 0, left + 1):
                    more = [math.comb(i, j) * p**j * q ** (i - j) if j <= i else ZERO for j in range(times + 1)]
                    ways = math.comb(left, i)
                    product_ = [
                        ways * sum((terms[j] * more[k - j] for j in range(k + 1)), ZERO) for k in range(times + 1)
                    ]
                    found.append((left - i, product_))
            some = found
        return Outcomes.of((terms[times] / math.comb(steps, times), terms[0]) for _, terms in some)


@lru_cache(maxsize=512)
def _binomials(count: int) -> list[int]:
    return [math.comb(count, i) for i in range(count + 1)]


@dataclass(frozen=True)
class ManyResponses(Divergence):
    """Randomised response on two values, very many times: the terms from the first positive one on."""

    epsilon: float
    times: int

    def at(self, gamma: arb) -> arb:
        odds, n = exp(self.epsilon), self.times
        truth = odds / (1 + odds)
        level = float((gamma.log() / self.epsilon).mid())
        first = max(0, math.floor((level + n) / 2) - 2)
        if first > n:
            return ZERO
        term = (arb(n + 1).lgamma() - arb(first + 1).lgamma() - arb(n - first + 1).lgamma()).exp()
        term *= truth**first * (1 - truth) ** (n - first)
        total = ZERO
        for k in range(first, n + 1):
            total += term * (1 - gamma * (self.epsilon * arb(n - 2 * k)).exp()).nonnegative_part()
            ratio = odds * (n - k) / (k + 1)
            if ratio < 0.999999 and term * 10**6 < total * arb(2) ** -150:  # those left add up to at most 10**6 of this
                return total.union(total + term * 10**6)
            term *= ratio
        return total

    def back(self) -> ManyResponses:
        return self


class Trivial(Divergence):
    """delta = 1: what is known from above where nothing is."""

    def at(self, gamma: arb) -> arb:
        return ONE

    def back(self) -> Divergence:
        return self


@dataclass(frozen=True)
class Normal(Divergence):
    """N(mu, 1) against N(0, 1): the event x > ln(gamma)/mu + mu/2."""

    mu: arb

    def at(self, gamma: arb) -> arb:
        if gamma == 0:
            return ONE
        level = gamma.log()
        return tail(level / self.mu - self.mu / 2) - gamma * tail(level / self.mu + self.mu / 2)

    def back(self) -> Normal:
        return self

    def at_complex(self, level: acb) -> acb:
        """The same as an analytic function of ln gamma."""
        root, half = arb(2).sqrt(), self.mu / 2
        upper, lower = (level / self.mu - half) / root, (level / self.mu + half) / root
        return (upper.erfc() - level.exp() * lower.erfc()) / 2


@dataclass(frozen=True)
class Laplace(Divergence):
    """Two Laplace densities, `shift` scales apart: between the two centers the loss falls from shift to -shift."""

    shift: arb

    def at(self, gamma: arb) -> arb:
        if gamma == 0:
            return ONE
        level = gamma.log()
        if level < -self.shift:
            return 1 - gamma
        return (1 - ((level - self.shift) / 2).exp()).nonnegative_part()

    def back(self) -> Laplace:
        return self

    def kinks(self) -> list[arb]:
        return [self.shift, -self.shift]


@dataclass(frozen=True)
class Sampled(Divergence):
    """(1 - q) Q + q P against Q: max(0, P' - gamma Q) = q max(0, P - (gamma - 1 + q)/q Q)."""

    base: Divergence
    rate: arb

    def at(self, gamma: arb) -> arb:
        excess = gamma - (1 - self.rate)
        if not excess > 0 or self.rate == 0:
            return (1 - gamma).nonnegative_part()
        return self.rate * self.base.at(excess / self.rate)

    def back(self) -> SampledBack:
        return SampledBack(self.base, self.rate)


@dataclass(frozen=True)
class SampledBack(Divergence):
    """Q against (1 - q) Q + q P: max(0, (1 - gamma (1 - q)) Q - gamma q P)."""

    base: Divergence
    rate: arb

    def at(self, gamma: arb) -> arb:
        weight = 1 - gamma * (1 - self.rate)
        if not weight > 0:
            return weight.nonnegative_part()
        return weight * self.base.back().at(gamma * self.rate / weight)

    def back(self) -> Sampled:
        return Sampled(self.base, self.rate)


@dataclass(frozen=True)
class Replaced(Divergence):
    """Noise N around 0, moved with chance q to v > 0, or to w < v; at gamma < 1 that of the reverse.

    At gamma >= 1 the best event is a half-line, as N_0/N_v and N_w/N_v fall; its end is enclosed by bisection.
    whole: that of N_v against N_w, for q = 1.
    """

    rate: arb
    first: arb
    second: arb
    whole: Divergence

    def at(self, gamma: arb) -> arb:
        if gamma < 1:
            return 1 - gamma + gamma * self.at(1 / gamma)
        if self.rate == 1:
            return self.whole.at(gamma)
        low, high = arb(-2000), arb(2000) + self.first
        if self.rate == 0:
            return ZERO
        if not self._gain(self._density, high, gamma) > 0:  # of Laplace noise nowhere; of normal noise farther out
            beyond = (1 - self.rate) * self._tail(high) + self.rate * self._tail(high - self.first)
            return ZERO.union(beyond) if isinstance(self.whole, Normal) else ZERO
        for _ in range(_BISECTIONS):
            middle = ((low + high) / 2).mid()
            low, high = (low, middle) if self._gain(self._density, middle, gamma) > 0 else (middle, high)
        value = self._gain(self._tail, high, gamma)
        return value.union(value + (high - low) * (1 + gamma)).nonnegative_part()

    def back(self) -> Replaced:
        return self

    def _gain(self, part: Callable[[arb], arb], x: arb, gamma: arb) -> arb:
        moved = part(x - self.first) - gamma * part(x - self.second)
        return (1 - self.rate) * (1 - gamma) * part(x) + self.rate * moved

    def _density(self, x: arb) -> arb:
        return (-x * x / 2).exp() if isinstance(self.whole, Normal) else (-abs(x)).exp()

    def _tail(self, x: arb) -> arb:
        if isinstance(self.whole, Normal):
            return tail(x)
        return (-x).exp() / 2 if x > 0 else 1 - x.exp() / 2


@dataclass(frozen=True)
class Mixed(Divergence):
    """Finitely many outcomes, and another pair beside them, independently."""

    outcomes: Outcomes
    other: Divergence

    def at(self, gamma: arb) -> arb:
        return sum((p * self.other.at(gamma * q / p) for p, q in self.outcomes.pairs if not p.is_zero()), ZERO)

    def back(self) -> Mixed:
        return Mixed(self.outcomes.back(), self.other.back())


@dataclass(frozen=True)
class LaplaceBeside(Divergence):
    """Laplace noise beside normal noise or beside one or two more Laplace noises.

    The loss u of the first is shift with probability 1/2, -shift with e**-shift/2, and between them has the density
    e**((u - shift)/2)/4.
    """

    shift: arb
    other: Normal | Laplace | LaplaceBeside

    def at(self, gamma: arb) -> arb:
        if gamma == 0:
            return ONE
        odds = exp(self.shift)
        ends = self.other.at(gamma / odds) / 2 + self.other.at(gamma * odds) / odds / 2
        return ends + (self._smooth(gamma) if isinstance(self.other, Normal) else self._in_pieces(gamma))

    def _smooth(self, gamma: arb) -> arb:
        level, other = gamma.log(), self.other
        assert isinstance(other, Normal)
        scale = (other.at(gamma / exp(self.shift)) / 2).lower()  # that of the largest loss alone, by which errors count

        def density(u: acb, _analytic: object) -> acb:
            return ((u - self.shift) / 2).exp() / 4 * other.at_complex(level - u)

        found = acb.integral(density, -self.shift, self.shift, rel_tol=arb(2) ** -100, abs_tol=scale * arb(2) ** -100)
        return cast(arb, found.real)

    def _in_pieces(self, gamma: arb) -> arb:
        """Sums of exponentials between the kinks: Gauss and Legendre's rule, whose error is far below 1e-30 here."""
        assert not isinstance(self.other, Normal)
        level = gamma.log()
        places = [level - kink for kink in self.other.kinks()]
        inner = [u for u in places if abs(u) < self.shift]
        edges = sorted([-self.shift, *inner, self.shift], key=lambda u: float(u.mid()))
        total = ZERO
        for low, high in pairwise(edges):
            half, middle = (high - low) / 2, (high + low) / 2
            for node, weight in _gauss_legendre(30 + int(float((high - low).mid()))):
                u = middle + half * node
                total += weight * half * ((u - self.shift) / 2).exp() / 4 * self.other.at((level - u).exp())
        return total * (1 + arb(0, 1e-25))

    def back(self) -> LaplaceBeside:
        return self

    def kinks(self) -> list[arb]:
        assert not isinstance(self.other, Normal)
        return [sign * self.shift + kink for sign in (1, -1) for kink in self.other.kinks()]


@lru_cache(maxsize=64)
def _gauss_legendre(count: int) -> list[tuple[arb, arb]]:
    return [arb.legendre_p_root(count, i, weight=True) for i in range(count)]


@dataclass(frozen=True)
class SampledNormalBeside(Divergence):
    """(1 - q) N(0, 1) + q N(mu, 1) against N(0, 1), or back, beside another pair: the trapezoid rule over the noise.

    The integrand is smooth, so that the error of half a step is far below that of the step: the ball has ten times the
    difference of the two.
    """

    rate: arb
    mu: arb
    other: Divergence
    swapped: bool = False

    def at(self, gamma: arb) -> arb:
        mu = float(self.mu.mid())
        step, reach = 0.03 / (1 + mu), 16.0
        count = math.ceil((2 * reach + mu) / step / 2)
        values = [self._density(arb(-reach) + step * i, gamma) for i in range(2 * count + 1)]
        fine, coarse = step * sum(values, ZERO), 2 * step * sum(values[::2], ZERO)
        return fine + arb(0, 1) * (10 * abs(fine - coarse) + tail(reach)).upper()

    def _density(self, x: arb, gamma: arb) -> arb:
        plain = (-x * x / 2).exp() / (2 * arb.pi()).sqrt()
        ratio = 1 - self.rate + self.rate * (self.mu * x - self.mu**2 / 2).exp()
        first, second = (plain, plain * ratio) if self.swapped else (plain * ratio, plain)
        return first * self.other.at(gamma * second / first)

    def back(self) -> SampledNormalBeside:
        return SampledNormalBeside(self.rate, self.mu, self.other.back(), not self.swapped)


@dataclass(frozen=True)
class AllocatedNormal(Divergence):
    """Two steps of normal noise, of which one is moved by mu, against two that are not: an integral over the first.

    Of the ratio r of the first, the second's must exceed 2 gamma - r; back, it must lie below 2/gamma - r. See
    `SampledNormalBeside` for the error.
    """

    mu: arb
    swapped: bool = False

    def at(self, gamma: arb) -> arb:
        mu = float(self.mu.mid())
        step, reach = 0.03 / (1 + mu), 16.0
        count = math.ceil((2 * reach + mu) / step / 2)
        values = [self._density(arb(-reach) + step * i, gamma) for i in range(2 * count + 1)]
        fine, coarse = step * sum(values, ZERO), 2 * step * sum(values[::2], ZERO)
        return fine + arb(0, 1) * (10 * abs(fine - coarse) + 2 * tail(reach)).upper()

    def _density(self, x: arb, gamma: arb) -> arb:
        plain = (-x * x / 2).exp() / (2 * arb.pi()).sqrt() / 2
        level = 2 * (1 / gamma if self.swapped else gamma) - (self.mu * x - self.mu**2 / 2).exp()
        if not self.swapped:
            return plain * (Normal(self.mu).at(level) if level > 0 else 1 - level)
        if not level > 0:
            return ZERO
        place = level.log() / self.mu
        return gamma * plain * (level * tail(-place - self.mu / 2) - tail(self.mu / 2 - place))

    def back(self) -> AllocatedNormal:
        return AllocatedNormal(self.mu, not self.swapped)


@dataclass(frozen=True)
class Copies(Divergence):
    """sum over j of w_j (noise moved by j steps) against the noise, or back (`swapped`).

    The ratio rises with x, so the best event is a half-line; its end is enclosed by bisection.
    """

    weights: tuple[arb, ...]
    step: arb
    laplace: bool
    swapped: bool = False

    def at(self, gamma: arb) -> arb:
        level = 1 / gamma if self.swapped else gamma
        low, high = arb(-2000), arb(2000) + len(self.weights) * self.step
        if not self._ratio(low) < level:
            return ZERO if self.swapped else 1 - gamma
        if not self._ratio(high) > level:
            return 1 - gamma if self.swapped else ZERO
        for _ in range(_BISECTIONS):
            middle = ((low + high) / 2).mid()
            low, high = (middle, high) if self._ratio(middle) < level else (low, middle)
        slack = (high - low) * (1 + gamma)
        moved = sum((w * self._tail(low - j * self.step) for j, w in enumerate(self.weights)), ZERO)
        still = self._tail(low)
        value = (1 - still) - gamma * (1 - moved) if self.swapped else moved - gamma * still
        return value.union(value + slack).nonnegative_part()

    def back(self) -> Copies:
        return Copies(self.weights, self.step, self.laplace, not self.swapped)

    def _ratio(self, x: arb) -> arb:
        moves = [j * self.step for j in range(len(self.weights))]
        if self.laplace:
            return sum((w * (abs(x) - abs(x - m)).exp() for w, m in zip(self.weights, moves, strict=True)), ZERO)
        return sum((w * (m * x - m * m / 2).exp() for w, m in zip(self.weights, moves, strict=True)), ZERO)

    def _tail(self, x: arb) -> arb:
        if not self.laplace:
            return tail(x)
        return (-x).exp() / 2 if x > 0 else 1 - x.exp() / 2


@dataclass(frozen=True)
class CopiesCap(Divergence):
    """At least what any mechanism has whose input moves by j steps with probability w_j: each j with its own test.

    By convexity, H(gamma) <= sum of w_j H_j(1 + (gamma - 1)/q), q = 1 - w_0, where H_j is that of j steps; and back,
    with c = 1 - gamma w_0, c/q times the sum of w_j H_j(gamma q/c). (Balle, Barthe, Gaboardi 2018, Theorem 10.)
    """

    weights: tuple[arb, ...]
    groups: tuple[Divergence, ...]
    swapped: bool = False

    def at(self, gamma: arb) -> arb:
        drawn = 1 - self.weights[0]
        share = 1 - gamma * self.weights[0] if self.swapped else drawn
        if not share > 0:
            return share.nonnegative_part()
        level = gamma * drawn / share if self.swapped else 1 + (gamma - 1) / drawn
        terms = (w * group.at(level) for w, group in zip(self.weights[1:], self.groups, strict=True))
        return share / drawn * sum(terms, ZERO)

    def back(self) -> CopiesCap:
        return CopiesCap(self.weights, self.groups, not self.swapped)


def binomial(count: int, chance: arb) -> list[arb]:
    return [math.comb(count, i) * chance**i * (1 - chance) ** (count - i) for i in range(count + 1)]
