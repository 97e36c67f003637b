"""Compositions, each by a method that is exact for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from flint import arb

from tests.truth import parts
from tests.truth.draws import Asked, Rng, asked, budget, pick, round_to, typical
from tests.truth.parts import Part
from tests.truth.questions import EpsilonAt, Truth
from tests.truth.transform import SmoothSum, of_laplace, of_normal, of_outcomes, of_sampled_normal
from tests.truth.truths import (
    ZERO,
    Divergence,
    Laplace,
    LaplaceBeside,
    ManyResponses,
    Normal,
    Sampled,
    SampledNormalBeside,
)


def _code(listed: Sequence[tuple[Part, int]]) -> str:
    return "compose([" + ", ".join(f"({part.code}, {times})" for part, times in listed) + "])"


def _composed(rng: Rng, listed: Sequence[tuple[Part, int]], power: Callable[[Part, int], list[Divergence]]) -> Asked:
    """The sum, direction by direction."""
    count = max(len(part.directions) for part, _ in listed)
    sums = [power(part, times) for part, times in listed]
    truths = []
    for i in range(count):
        total = sums[0][i % len(sums[0])]
        for more in sums[1:]:
            total = parts.beside(total, more[i % len(more)])
        truths.append(total)
    truth = Truth(tuple(truths), sum(part.reach * times for part, times in listed))
    return asked(rng, _code(listed), truth, typical(truth, 1e-9))


def _powers(part: Part, times: int) -> list[Divergence]:
    return [one.power(times) for one in part.outcomes]


def finite_sum(rng: Rng) -> Asked:
    """Finitely many outcomes: every vector of counts."""
    shape = int(rng.integers(7))
    if shape == 5:
        some = [parts.response(budget(rng, 1e-2, 3.0, 0.0)) for _ in range(int(rng.integers(6, 12)))]
        return _composed(rng, [(part, 1) for part in some], _powers)
    if shape == 6:
        epsilon, times = budget(rng, 1e-4, 1.0, 0.0), int(10 ** rng.uniform(2, 6))
        truth = Truth((ManyResponses(epsilon, times),), epsilon * times)
        return asked(rng, f"compose([(RandomizedResponse({epsilon!r}), {times})])", truth, typical(truth, 1e-9))
    if shape == 0:
        part = parts.response(budget(rng, 1e-4, 10.0))
        return _composed(rng, [(part, int(rng.integers(2, 201)))], _powers)
    if shape == 1:
        both, most = [parts.response(budget(rng, 1e-3, 5.0)) for _ in range(2)], int(pick(rng, (10, 60, 200)))
        return _composed(rng, [(part, int(rng.integers(1, most + 1))) for part in both], _powers)
    if shape == 2:
        some = [parts.any_finite(rng, largest=5.0, sizes=5) for _ in range(int(rng.integers(2, 6)))]
        return _composed(rng, [(part, 1) for part in some], _powers)
    if shape == 3:
        return _composed(rng, [(parts.random_atoms(rng, 3), int(rng.integers(2, 50)))], _powers)
    part = parts.poisson(parts.response(budget(rng, 1e-2, 5.0)), float(pick(rng, (0.01, 0.1, 0.5))))
    extra = parts.response(budget(rng, 1e-2, 2.0), 3)
    return _composed(rng, [(part, int(rng.integers(2, 101))), (extra, int(rng.integers(1, 9)))], _powers)


def three_valued_sum(rng: Rng) -> Asked:
    """Many uses of one mechanism of three classes of outcomes, or with mass at infinity."""
    shape = int(rng.integers(3))
    if shape == 0:
        part = parts.response(budget(rng, 1e-3, 5.0), int(pick(rng, (3, 10, 1000))))
    elif shape == 1:
        part = parts.piecewise(budget(rng, 1e-3, 5.0))
    else:
        part = parts.nfdp(50, int(rng.integers(1, 9)), replacement=False, rounds=1, replace=bool(rng.integers(2)))
    return _composed(rng, [(part, int(rng.integers(2, 101)))], _powers)


def normal_sum(rng: Rng) -> Asked:
    """Normal noises, whose sum is normal, alone or beside finitely many outcomes."""
    noises = [parts.gaussian(round_to(float(np.exp(rng.uniform(0, 5))), 5)) for _ in range(int(rng.integers(1, 4)))]
    listed = [(part, int(pick(rng, (1, 2, 10, 100)))) for part in noises]
    square = ZERO
    for part, times in listed:
        one = part.directions[0]
        assert isinstance(one, Normal)
        square += times * one.mu**2
    total = Normal(square.sqrt())
    sums: list[Divergence] = [total]
    reach = float(square.mid())
    if rng.random() < 0.75:
        other = parts.any_finite(rng, largest=5.0, sizes=5)
        if rng.random() < 0.4:
            other = parts.poisson(other, float(pick(rng, (0.01, 0.3))))
        times = int(pick(rng, (1, 2, 5, 100 if len(other.outcomes[0].pairs) == 2 else 7)))
        listed.append((other, times))
        reach += times * other.reach
        sums = [parts.beside(total, one.power(times)) for one in other.outcomes]
    truth = Truth(tuple(sums), reach)
    return asked(rng, _code(listed), truth, typical(truth, 1e-9))


def laplace_sum(rng: Rng) -> Asked:
    """Laplace noise with other noise: integrals between the kinks."""
    shape = int(rng.integers(4))
    first, second = (parts.laplace(budget(rng, 0.02, 10.0, 0.2)) for _ in range(2))
    one, two = (part.directions[0] for part in (first, second))
    assert isinstance(one, Laplace)
    assert isinstance(two, Laplace)
    if shape == 0:
        other = parts.any_finite(rng, largest=5.0, sizes=5)
        return _composed(rng, [(other, 3), (first, 1)], lambda p, n: _powers(p, n) if p.outcomes else [*p.directions])
    if shape == 1:
        listed, total = [(first, 1), (second, 1)], LaplaceBeside(one.shift, two)
    elif shape == 2:
        noise = parts.gaussian(round_to(float(np.exp(rng.uniform(-0.5, 2))), 4))
        normal = noise.directions[0]
        assert isinstance(normal, Normal)
        listed, total = [(first, 1), (noise, 1)], LaplaceBeside(one.shift, normal)
    else:
        first, second = (parts.laplace(budget(rng, 0.05, 3.0, 0.0)) for _ in range(2))
        one, two = (part.directions[0] for part in (first, second))
        assert isinstance(one, Laplace)
        assert isinstance(two, Laplace)
        listed, total = [(first, 2), (second, 1)], LaplaceBeside(one.shift, LaplaceBeside(one.shift, two))
    truth = Truth((total,), sum(part.reach * times for part, times in listed))
    top = sum(float(part.reach) * times for part, times in listed)
    return asked(rng, _code(listed), truth, top, by_delta=None if shape != 3 else False)


def sampled_normal_sum(rng: Rng) -> Asked:
    """Two sampled Gaussians, or one beside another mechanism: the trapezoid rule."""
    rate, sigma = float(pick(rng, (0.01, 0.1, 0.5))), round_to(float(np.exp(rng.uniform(-0.3, 1.5))), 4)
    part = parts.poisson(parts.gaussian(sigma), rate)
    mu = 1 / arb(sigma)
    one = Sampled(Normal(mu), arb(rate))
    shape = int(rng.integers(3))
    if shape == 0:
        listed, total = [(part, 2)], SampledNormalBeside(arb(rate), mu, one)
    elif shape == 1:
        noise = parts.gaussian(round_to(float(np.exp(rng.uniform(-0.3, 1.5))), 4))
        listed, total = [(part, 1), (noise, 1)], SampledNormalBeside(arb(rate), mu, noise.directions[0])
    else:
        other = parts.response(budget(rng, 0.01, 5.0))
        listed, total = [(part, 1), (other, 3)], parts.beside(one, other.outcomes[0].power(3))
    truth = Truth((total, total.back()), sum(p.reach * times for p, times in listed))
    return asked(rng, _code(listed), truth, typical(truth, 1e-9), by_delta=None if shape == 2 else False)


def smooth_sum(rng: Rng) -> Asked:
    """Many sampled Gaussians, or many uses of other mechanisms beside a Gaussian."""
    sigma, rate = round_to(float(np.exp(rng.uniform(-0.7, 2.3))), 4), float(pick(rng, (0.001, 0.01, 0.05, 0.2)))
    steps = int(pick(rng, (10, 100, 1000, 10_000, 100_000)))
    alone = (
        steps >= 100 and steps * rate**2 * math.expm1(sigma**-2) > 0.1
    )  # else the sum is not smooth enough by itself
    listed = [(parts.poisson(parts.gaussian(sigma), rate), steps)]
    sampled = [(of_sampled_normal(rate, 1 / sigma, swapped=swapped), steps) for swapped in (False, True)]
    keep, normals, atoms = 1 if alone else int(rng.integers(2)), [], []
    if not alone:
        noise = round_to(float(np.exp(rng.uniform(-0.5, 2))), 4)
        normals, others = [(of_normal(1 / noise), 1)], [(parts.gaussian(noise), 1)]
        for _ in range(int(rng.integers(1, 4))):
            finite, spread = parts.any_finite(rng, largest=2.0, sizes=6), parts.laplace(budget(rng, 0.01, 1.0, 0.0))
            times = int(10 ** rng.uniform(0, 2.5))
            is_finite = rng.random() < 0.6
            others.append((finite if is_finite else spread, times))
            atoms.append((of_outcomes(finite.outcomes[0]) if is_finite else of_laplace(spread.reach), times))
        listed = listed * keep + others
    sums = tuple(SmoothSum((*[one] * keep, *normals), tuple(atoms)) for one in sampled[: 1 + keep])
    truth = Truth(sums, sum(p.reach * times for p, times in listed))
    return asked(rng, _code(listed), truth, max(one.typical() for one in sums))


def protocol(rng: Rng) -> Asked:
    """A protocol's total: by the losses themselves, or the sum of the epsilons."""
    rounds, delta = int(rng.integers(2, 13)), float(pick(rng, (1e-3, 1e-5, 1e-10)))
    one, two = parts.response(budget(rng, 0.01, 1.0, 0.0), 2), parts.piecewise(budget(rng, 0.01, 1.0, 0.0))
    steps = f"Step({one.code}, ('rounds', 3)), Step({two.code}, ('rounds',))"
    total = one.outcomes[0].power(3 * rounds).times(two.outcomes[0].power(rounds))
    truth = Truth((total,), rounds * (3 * one.reach + two.reach))
    code = f"account(Protocol('survey', ({steps}), rounds={rounds}), delta={delta!r})"
    if rng.random() < 0.2:
        return f"{code}.total('basic').epsilon", EpsilonAt(truth, 0.0)
    return f"{code}.total('exact')", EpsilonAt(truth, delta)
