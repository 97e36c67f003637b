"""Mechanisms by themselves and on samples, and profiles that are known at a point."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from flint import arb

from tests.truth import parts
from tests.truth.draws import DELTAS, Asked, Rng, asked, budget, pick, round_to, typical
from tests.truth.parts import Part
from tests.truth.questions import DeltaAt, Truth
from tests.truth.truths import (
    AllocatedNormal,
    Copies,
    CopiesCap,
    Divergence,
    Laplace,
    Normal,
    Outcomes,
    Replaced,
    Sampled,
    Trivial,
    binomial,
    exp,
    fraction,
)


def _whole_part(rng: Rng) -> Part:
    """A mechanism by itself."""
    epsilon, d = budget(rng, 1e-9, 50.0, 0.5), int(rng.integers(2, 9))
    small = parts.any_finite(rng, largest=5.0, sizes=6)
    sigma = float(pick(rng, (1e-3, 0.1, 0.5, 1.0, 3.0, 100.0, 1e6, budget(rng, 0.05, 50.0, 0.0))))
    draws, some = int(rng.integers(1, 40)), bool(rng.integers(2))
    makers: tuple[Callable[[], Part], ...] = (
        lambda: parts.response(epsilon),
        lambda: parts.response(epsilon, int(pick(rng, (3, 10, 1000, 10**6, 10**9)))),
        lambda: parts.two_point(epsilon),
        lambda: parts.laplace(epsilon),
        lambda: parts.laplace(epsilon),
        lambda: parts.gaussian(sigma),
        lambda: parts.gaussian(sigma, float(pick(rng, (0.1, 1.0, 2.0)))),
        lambda: parts.piecewise(epsilon),
        lambda: parts.hybrid(epsilon if not 0.5 < epsilon < 0.7 else 0.4),
        lambda: parts.duchi(epsilon, d),
        lambda: parts.exponential(epsilon, int(pick(rng, (2, 3, 5, 50, 300)))),
        lambda: parts.perturbed_sampling(epsilon, d, int(rng.integers(1, d))),
        lambda: parts.perturbed_encoding(epsilon, d, int(rng.integers(1, d))),
        lambda: parts.random_atoms(rng, int(rng.integers(2, 12))),
        lambda: parts.channel(rng, int(rng.integers(2, 5)), int(rng.integers(2, 6))),
        lambda: parts.two_stage(parts.perturbed_sampling(small.reach, 4, 2), parts.piecewise(small.reach)),
        lambda: parts.two_stage(parts.exponential(small.reach, 5), parts.two_point(1.5)),
        lambda: parts.coordinates("Piecewise", parts.piecewise, epsilon, 9, int(rng.integers(1, 6))),
        lambda: parts.release(40, draws, replacement=some),
        lambda: parts.nfdp(40, draws, replacement=some, rounds=int(rng.integers(1, 5)), replace=bool(rng.integers(2))),
    )
    return makers[int(rng.integers(len(makers)))]()


def single(rng: Rng) -> Asked:
    part = _whole_part(rng)
    truth = Truth(part.directions, part.reach)
    code = part.code if part.code.startswith("nfdp") else f"privacy_loss({part.code})"
    exact = part.code.startswith(("Gaussian", "Subsample", "nfdp", "Loss", "Finite"))
    return asked(rng, code, truth, typical(truth) if exact else part.reach)


def _symmetric(rng: Rng) -> Part:
    """A mechanism whose loss is its own mirror image."""
    choice = rng.random()
    if choice < 0.2:
        return parts.laplace(budget(rng, 1e-3, 20.0))
    if choice < 0.5:
        return parts.gaussian(round_to(float(np.exp(rng.uniform(-1, 2))), 4))
    return parts.any_finite(rng)


def sampled(rng: Rng) -> Asked:
    """A sample by rate or without replacement; for replaced records the worst mechanism leaves the other one out."""
    part, replace, name = _symmetric(rng), rng.random() < 0.4, "subsample"
    share = float(pick(rng, (0.5, 1.0, 1.5, 2.0)))
    if rng.random() < 0.5:
        rate = float(pick(rng, (1e-6, 1e-3, 0.01, 0.1, 0.5, 0.999, 0.0, 1.0, round_to(rng.random(), 4))))
        words, drawn = f"rate={rate!r}", arb(rate)
        if replace and part.moved is not None:
            noise = part.replacing(share)
            truth = Truth(
                (Replaced(drawn, part.moved, (1 - arb(share)) * part.moved, noise.directions[0]),), noise.reach
            )
            code = f"subsample({noise.code}, {words}, adjacency='replace')"
            return asked(rng, code, truth, typical(truth) if drawn > 0 else 1.0)
    else:
        n = int(pick(rng, (2, 3, 10, 1000, 10**6)))
        k, part = int(rng.integers(0, n if not replace else n + 1)), part.replacing(share)
        if rng.random() < 0.2:
            name = "sampled_clients"
        # of all samples of k records, a share of C(n - 1, k - 1)/C(n, k) holds a given one
        words, drawn = f"kind='without', n={n}, k={k}", fraction(k, n)
        if name == "sampled_clients":
            words = f"clients={n}, selected={k}, observer='sees the result'"
    if not replace and part.code.startswith("RandomizedResponse") and rng.random() < 0.5:
        part = Part(f"compose([({part.code}, 4)])", (part.outcomes[0].power(4),), 4 * part.reach)
    one = Sampled(part.directions[0], drawn)
    truth = Truth((one,) if replace else (one, one.back()), part.reach)
    code = f"{name}({part.code}, {words}, adjacency={'replace' if replace else 'add/remove'!r})"
    return asked(rng, code, truth, typical(truth) if drawn > 0 else 1.0)


def with_replacement(rng: Rng) -> Asked:
    """A record taken j times: above, each j by itself; below, noise on a sum, or a report whether it was drawn."""
    n, k = int(pick(rng, (2, 5, 50, 1000))), int(rng.integers(1, 12))
    replace = rng.random() < 0.4
    weights = binomial(k, fraction(1, n))
    kind = int(rng.integers(3))
    groups: tuple[Divergence, ...]
    if kind == 0:
        part = parts.gaussian(round_to(float(np.exp(rng.uniform(-0.5, 2))), 4))
        mu = arb(1) / arb(float(part.code.split("(")[1].split(",")[0]))
        groups = tuple(Normal(j * mu) for j in range(1, k + 1))
        reached: Divergence = Copies(tuple(weights), mu, laplace=False)
    elif kind == 1:
        part = parts.laplace(budget(rng, 1e-2, 3.0))
        shift = part.directions[0].shift
        groups = tuple(Laplace(j * shift) for j in range(1, k + 1))
        reached = Copies(tuple(weights), shift, laplace=True)
    else:
        part = parts.response(budget(rng, 1e-2, 3.0))
        groups = tuple(_pure(arb(part.reach) * j) for j in range(1, k + 1))
        reached = Sampled(part.directions[0], 1 - weights[0])
    cap = CopiesCap(tuple(weights), groups)
    truth = Truth((reached, reached.back()), k * part.reach, (cap,) if replace else (cap, cap.back()))
    words = f"kind='with', n={n}, k={k}, adjacency={'replace' if replace else 'add/remove'!r}"
    code = f"subsample({part.replacing(1.0).code}, {words})"
    return asked(rng, code, truth, typical(truth, 1e-9))


def allocation(rng: Rng) -> Asked:
    """A record in some of an epoch's steps; of one that is in several there is no truth above but for enumeration."""
    if rng.random() < 0.15:
        sigma = round_to(float(np.exp(rng.uniform(-1.0, 2.0))), 4)
        twice = AllocatedNormal(1 / arb(sigma))
        truth = Truth((twice, twice.back()), 1.0)
        return asked(rng, f"random_allocation(Gaussian({sigma!r}), steps=2)", truth, typical(truth))
    part = parts.response(budget(rng, 1e-6, 20.0)) if rng.random() < 0.4 else parts.any_finite(rng, sizes=4)
    pair = part.outcomes[0]
    size = len(pair.pairs)
    steps = int(rng.integers(1, 30 if size == 2 else 6 if size < 6 else 4))
    times = int(rng.integers(1, steps + 1)) if rng.random() < 0.3 else 1
    one = pair.allocated(steps, times)
    truth = Truth((one, one.back()), times * part.reach)
    code = f"random_allocation({part.code}, steps={steps}, times={times})"
    return asked(rng, code, truth, typical(truth))


def group(rng: Rng) -> Asked:
    """Records that are there together or not; see `with_replacement`."""
    size = int(rng.integers(1, 13))
    without = rng.random() < 0.4
    if without:
        k = int(rng.integers(1, 30))
        n = size + k + int(pick(rng, (0, 1, 50, 10**4)))
        ways = arb(math.comb(n, k))
        weights = [math.comb(size, j) * math.comb(n - size, k - j) / ways for j in range(min(size, k) + 1)]
        words = f"kind='without', n={n}, k={k}, group={size}"
    else:
        rate = float(pick(rng, (1e-9, 1e-3, 0.01, 0.3, 0.999, round_to(rng.random(), 4))))
        weights, words = binomial(size, arb(rate)), f"rate={rate!r}, group={size}"
    kind = int(rng.integers(3))
    if kind < 2:
        part = (
            parts.gaussian(round_to(float(np.exp(rng.uniform(-1.0, 3.0))), 4))
            if kind
            else parts.laplace(budget(rng, 1e-2, 3.0))
        )
        moved = part.moved
        assert moved is not None
        reached: Divergence = Copies(tuple(weights), moved, laplace=not kind)
        truth = Truth((reached, reached.back()), size * size * part.reach)
    else:
        part = parts.response(budget(rng, 1e-2, 3.0))
        cap = CopiesCap(tuple(weights), tuple(_pure(arb(part.reach) * j) for j in range(1, len(weights))))
        reached = Sampled(part.directions[0], 1 - weights[0])
        truth = Truth((reached, reached.back()), size * part.reach, (cap, cap.back()))
    code = f"subsample({part.replacing(1.0).code if without else part.code}, {words})"
    return asked(rng, code, truth, typical(truth, 1e-9))


def _pure(epsilon: arb) -> Outcomes:
    odds = exp(epsilon)
    return Outcomes.symmetric([(odds / (1 + odds), 1 / (1 + odds))])


def from_points(rng: Rng) -> Asked:
    """The worst mechanism that satisfies a point (e0, d0): everything with d0, else randomised response."""
    epsilon, delta = budget(rng, 0.01, 5.0), float(pick(rng, DELTAS))
    rr = parts.response(epsilon).outcomes[0]
    rest = 1 - arb(delta)
    worst = Outcomes.of([(delta, 0), (0, delta), *((rest * p, rest * q) for p, q in rr.pairs)])
    asked = epsilon * round_to(rng.random(), 4)
    code = f"PrivacyProfile.from_points([({epsilon!r}, {delta!r})]).bounds({asked!r})"
    return code, DeltaAt(Truth((worst,), epsilon, (Trivial(),)), asked)
