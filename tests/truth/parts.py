"""Mechanisms as pasteable code, each with its divergences by definition: one direction, or from and to the record."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from flint import arb

from tests.truth.draws import Rng, budget, pick
from tests.truth.truths import (
    ZERO,
    Divergence,
    Laplace,
    Mixed,
    Normal,
    Outcomes,
    Sampled,
    binomial,
    exp,
    fraction,
)


@dataclass(frozen=True)
class Part:
    """code: the mechanism.   directions: its pairs.   reach: nats, how large its losses are; see `questions.Truth`.

    moved: for noise on a sum, the sensitivity in scales of the noise.
    """

    code: str
    directions: tuple[Divergence, ...]
    reach: float
    moved: arb | None = None

    def replacing(self, share: float, sensitivity: float = 1.0) -> Part:
        """Noise on a sum that a replaced record moves by this share of the sensitivity; any other part as it is."""
        if self.moved is None:
            return self
        distance = arb(share * sensitivity) / arb(sensitivity) * self.moved
        pair, reach = (Normal, 4.0) if self.code.startswith("Gaussian") else (Laplace, 2.0)
        code = f"{self.code[:-1]}, replaced={share * sensitivity!r})"
        return Part(code, (pair(distance),), reach * self.reach, self.moved)

    @property
    def outcomes(self) -> tuple[Outcomes, ...]:
        return tuple(one for one in self.directions if isinstance(one, Outcomes))


def response(epsilon: float, k: int = 2) -> Part:
    total = exp(epsilon) + (k - 1)
    pairs = Outcomes.symmetric([(exp(epsilon) / total, 1 / total)], (k - 2) / total)
    return Part(f"RandomizedResponse({epsilon!r}, k={k})", (pairs,), epsilon)


def two_point(epsilon: float) -> Part:
    return Part(f"TwoPoint({epsilon!r}, center=0.5, radius=2.0)", response(epsilon).directions, epsilon)


def laplace(epsilon: float) -> Part:
    scale = 1 / epsilon
    return Part(f"Laplace({scale!r})", (Laplace(1 / arb(scale)),), epsilon, 1 / arb(scale))


def gaussian(sigma: float, sensitivity: float = 1.0) -> Part:
    mu = arb(sensitivity) / arb(sigma)
    return Part(f"Gaussian({sigma!r}, {sensitivity!r})", (Normal(mu),), float(mu.mid()) ** 2, mu)


def _piecewise(epsilon: float) -> Outcomes:
    """The inner interval of length 2/(s - 1) at either end of the range has s/(s + 1), and t less from the other."""
    s = exp(arb(epsilon) / 2)
    inner = s * (s - 1) / (2 * (s + 1)) * 2 / (s - 1)
    return Outcomes.symmetric([(inner, inner / s**2)], 1 - inner - inner / s**2)


def piecewise(epsilon: float) -> Part:
    return Part(f"Piecewise({epsilon!r})", (_piecewise(epsilon),), epsilon)


def hybrid(epsilon: float) -> Part:
    """PM with probability 1 - e**(-epsilon/2), for epsilon above about 0.61; else the two-point mechanism."""
    share = 1 - exp(-arb(epsilon) / 2) if epsilon > 0.62 else ZERO
    points = response(epsilon).outcomes[0]
    pairs = [(share * p, share * q) for p, q in _piecewise(epsilon).pairs]
    pairs += [((1 - share) * p, (1 - share) * q) for p, q in points.pairs]
    return Part(f"Hybrid({epsilon!r})", (Outcomes.of(pairs),), epsilon)


def duchi(epsilon: float, d: int) -> Part:
    """Corners on v's side weigh t, all others 1, ties among them; the worst other input is -v."""
    ties = math.comb(d, d // 2) if d % 2 == 0 else 0
    side = (2**d - ties) // 2
    total = side * exp(epsilon) + (2**d - side)
    pairs = Outcomes.symmetric([(side * exp(epsilon) / total, side / total)], ties / total)
    return Part(f"DuchiVector({epsilon!r}, {d})", (pairs,), epsilon)


def exponential(epsilon: float, d: int) -> Part:
    """Weights y**rank, the ranking against its reverse."""
    step = exp(arb(epsilon) / (d - 1))
    weights = [step**i for i in range(1, d + 1)]
    total = sum(weights, ZERO)
    pairs = Outcomes.of((one / total, two / total) for one, two in zip(weights, reversed(weights), strict=True))
    return Part(f"ExponentialSelection({epsilon!r}, {d})", (pairs,), epsilon)


def _swapped_sets(inside: arb, outside: arb, none: arb, d: int, k: int) -> Outcomes:
    """Two sets of k of d indices that share as few as they can."""
    apart = min(k, d - k)
    shared = (k - apart) * inside + (d - k - apart) * outside
    return Outcomes.symmetric([(apart * inside, apart * outside)], shared + none)


def perturbed_sampling(epsilon: float, d: int, k: int) -> Part:
    total = k * exp(epsilon) + (d - k)
    pairs = _swapped_sets(exp(epsilon) / total, 1 / total, ZERO, d, k)
    return Part(f"PerturbedSampling({epsilon!r}, {d}, {k})", (pairs,), epsilon)


def perturbed_encoding(epsilon: float, d: int, k: int) -> Part:
    """Each bit is flipped with probability 1/(t + 1); an index is reported uniformly among the ones."""
    kept = exp(epsilon) / (1 + exp(epsilon))

    def reported(bit: arb, ones: int, zeros: int) -> arb:
        """The chance of one index whose bit is on with this chance, beside so many ones and zeros."""
        on, off = binomial(ones, kept), binomial(zeros, 1 - kept)
        return bit * sum((on[u] * off[v] / (1 + u + v) for u, v in product(range(ones + 1), range(zeros + 1))), ZERO)

    inside, outside = reported(kept, k - 1, d - k), reported(1 - kept, k, d - k - 1)
    none = (1 - kept) ** k * kept ** (d - k)
    pairs = _swapped_sets(inside, outside, none, d, k)
    return Part(f"PerturbedEncoding({epsilon!r}, {d}, {k})", (pairs,), 2 * epsilon)


def two_stage(selection: Part, value: Part) -> Part:
    """A selected index and its value: every coordinate goes from one end to the other."""
    pairs = selection.outcomes[0].times(value.outcomes[0])
    code = f"TwoStage({selection.code}, {value.code}, clip=True)"
    return Part(code, (pairs,), selection.reach + value.reach)


def coordinates(name: str, build: Callable[[float], Part], epsilon: float, d: int, k: int) -> Part:
    pairs = build(epsilon / k).outcomes[0].power(k)
    return Part(f"CoordinateSampling({name}, {epsilon!r}, {d}, {k})", (pairs,), epsilon)


def release(n: int, k: int, *, replacement: bool) -> Part:
    """A replaced record: the sample shows it with probability q, and is the same otherwise."""
    left_out = fraction((n - 1) ** k, n**k) if replacement else fraction(n - k, n)
    pairs = Outcomes.of([(1 - left_out, 0), (0, 1 - left_out), (left_out, left_out)])
    return Part(f"SubsampleRelease({n}, {k}, {replacement})", (pairs,), 0.0)


def nfdp(n: int, k: int, *, replacement: bool, rounds: int, replace: bool) -> Part:
    """Samples with the record are impossible without it; those of the k that lack it are not told apart."""
    left_out = (fraction((n - 1) ** k, n**k) if replacement else fraction(n - k, n)) ** rounds
    first = Outcomes.of([(1 - left_out, 0), (left_out, 1)])
    both = Outcomes.of([(1 - left_out, 0), (0, 1 - left_out), (left_out, left_out)])
    adjacency = "replace" if replace else "add/remove"
    code = f"nfdp({n}, {k}, replacement={replacement}, adjacency={adjacency!r}, rounds={rounds})"
    return Part(code, (both,) if replace else (first, first.back()), float(-left_out.log().mid()) if k < n else 0.0)


def random_atoms(rng: Rng, size: int) -> Part:
    """Two random laws of fractions with the denominator 2**20, all of them floats, in both orders; some disjoint."""
    first, second = (_whole_masses(rng, size) for _ in range(2))
    if rng.random() < 0.2 and size > 2:
        first[0], first[1], second[1], second[2] = 0, first[0] + first[1], 0, second[1] + second[2]
    words = [", ".join(f"{i}: {mass}/2**20" for i, mass in enumerate(law)) for law in (first, second)]
    code = f"DiscreteLoss.of_laws({{{words[0]}}}, {{{words[1]}}})"
    pairs = [(fraction(p, 2**20), fraction(q, 2**20)) for p, q in zip(first, second, strict=True)]
    both = Outcomes.of(pairs)
    return Part(code, (both, both.back()), 14.0)


def _whole_masses(rng: Rng, size: int) -> list[int]:
    shares = rng.dirichlet(np.full(size, float(pick(rng, (0.3, 1.0, 5.0)))))
    masses = [max(1, int(share * 2**20)) for share in shares]
    masses[int(np.argmax(masses))] += 2**20 - sum(masses)
    return masses


def channel(rng: Rng, rows: int, columns: int) -> Part:
    """A table of fractions: the largest divergence over ordered pairs of rows."""
    table = [_whole_masses(rng, columns) for _ in range(rows)]
    code = "FiniteChannel([" + ", ".join("[" + ", ".join(f"'{m}/{2**20}'" for m in row) + "]" for row in table) + "])"
    pairs = [
        Outcomes.of((fraction(p, 2**20), fraction(q, 2**20)) for p, q in zip(one, two, strict=True))
        for one in table
        for two in table
        if one is not two
    ]
    return Part(code, tuple(pairs), 14.0)


def poisson(part: Part, rate: float) -> Part:
    """With the record in the sample by chance `rate`, against without it; and back."""
    base, code = part.directions[0], f"subsample({part.code}, rate={rate!r})"
    forward = base.sampled(rate) if isinstance(base, Outcomes) else Sampled(base, arb(rate))
    backward = part.directions[-1].back() if len(part.directions) > 1 else base
    # to the record: the sampled pair of the other direction, reversed
    other = backward.sampled(rate) if isinstance(backward, Outcomes) else Sampled(backward, arb(rate))
    return Part(code, (forward, other.back()), part.reach)


def beside(first: Divergence, second: Divergence) -> Divergence:
    """Two independent pairs, of which one has finitely many outcomes."""
    if isinstance(first, Outcomes):
        return first.times(second) if isinstance(second, Outcomes) else Mixed(first, second)
    if isinstance(second, Outcomes):
        return Mixed(second, first)
    raise ValueError(f"one must be finite, got {first!r} and {second!r}")


def any_finite(rng: Rng, *, largest: float = 20.0, sizes: int = 8) -> Part:
    """A finite mechanism of few outcomes, its own mirror image."""
    epsilon, d = budget(rng, 1e-3, largest), int(rng.integers(3, sizes))
    k = int(rng.integers(1, d))
    makers: tuple[Callable[[], Part], ...] = (
        lambda: response(epsilon),
        lambda: response(epsilon, int(pick(rng, (3, 4, 10, 1000)))),
        lambda: two_point(epsilon),
        lambda: piecewise(epsilon),
        lambda: hybrid(epsilon if not 0.5 < epsilon < 0.7 else 0.4),
        lambda: duchi(epsilon, d),
        lambda: exponential(epsilon, d),
        lambda: perturbed_sampling(epsilon, d, k),
        lambda: perturbed_encoding(epsilon, d, k),
    )
    return makers[int(rng.integers(len(makers)))]()
