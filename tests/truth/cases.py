"""The cases: number i is always the same question, whichever others are asked.

Each family draws code that can be pasted, and the truth beside it. `FAMILIES` says how often each comes in fifty cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from flint import arb

from tests.truth import parts
from tests.truth.parts import Part, Rng, budget, pick, round_to
from tests.truth.questions import Budget, DeltaAt, EpsilonAt, Question, Truth, ValueOf
from tests.truth.transform import Cumulant, SmoothSum, of_laplace, of_normal, of_outcomes, of_sampled_normal
from tests.truth.truths import (
    ZERO,
    Copies,
    CopiesCap,
    Divergence,
    Laplace,
    LaplaceBeside,
    ManyResponses,
    Normal,
    Outcomes,
    Sampled,
    SampledNormalBeside,
    Trivial,
    binomial,
    clones,
    exp,
    fraction,
    least_mu,
    miss_rate,
    normal_quantile,
    renyi,
    shuffled,
    tail,
)

DELTAS = (1e-2, 1e-5, 1e-6, 1e-10, 1e-15, 1e-20, 1e-30)


@dataclass(frozen=True)
class Case:
    """number, family: which.   code: what is asked of the library.   question: judges the answer."""

    number: int
    family: str
    code: str
    question: Question


def case(number: int, seed: int = 0) -> Case:
    """Case `number` of this seed."""
    family = family_of(number)
    code, question = FAMILIES[family][1](np.random.default_rng([seed, number]))
    return Case(number, family, code, question)


def family_of(number: int) -> str:
    return _CYCLE[number % len(_CYCLE)]


Asked = tuple[str, Question]


def _ask(rng: Rng, code: str, truth: Truth, top: float, *, by_delta: bool | None = None) -> Asked:
    """Delta at an epsilon or epsilon at a delta.   top: about the largest epsilon of interest, nats."""
    if rng.random() < 0.5 if by_delta is None else by_delta:
        delta = float(pick(rng, (*DELTAS, round_to(10 ** rng.uniform(-12, 0), 4))))
        delta = float(pick(rng, (0.0, 1.0, 0.5))) if rng.random() < 0.1 else delta
        return f"{code}.epsilon_bounds(delta={delta!r})", EpsilonAt(truth, delta)
    share = float(pick(rng, (0.0, 1e-6, 0.999999, 1.0, 1.2))) if rng.random() < 0.25 else round_to(rng.random(), 4)
    epsilon = top * share
    if rng.random() < 0.1:
        return f"{code}.profile().bounds({epsilon!r})", DeltaAt(truth, epsilon)
    return f"{code}.delta_bounds({epsilon!r})", DeltaAt(truth, epsilon)


def _typical(truth: Truth, delta: float = 1e-12) -> float:
    """An epsilon near which delta is small, to ask about."""
    high = 1e-3
    while high < 1e4 and truth.at(high)[0] > delta:
        high *= 2
    return high


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
    return _ask(rng, code, truth, _typical(truth) if exact else part.reach)


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
    if rng.random() < 0.5:
        rate = float(pick(rng, (1e-6, 1e-3, 0.01, 0.1, 0.5, 0.999, 0.0, 1.0, round_to(rng.random(), 4))))
        words, drawn = f"rate={rate!r}", arb(rate)
    else:
        n = int(pick(rng, (2, 3, 10, 1000, 10**6)))
        k = int(rng.integers(0, n if not replace else n + 1))
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
    return _ask(rng, code, truth, _typical(truth) if drawn > 0 else 1.0)


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
        shift = part.directions[0].shift  # pyright: ignore[reportAttributeAccessIssue]
        groups = tuple(Laplace(j * shift) for j in range(1, k + 1))
        reached = Copies(tuple(weights), shift, laplace=True)
    else:
        part = parts.response(budget(rng, 1e-2, 3.0))
        groups = tuple(_pure(arb(part.reach) * j) for j in range(1, k + 1))
        reached = Sampled(part.directions[0], 1 - weights[0])
    cap = CopiesCap(tuple(weights), groups)
    truth = Truth((reached, reached.back()), k * part.reach, (cap,) if replace else (cap, cap.back()))
    code = f"subsample({part.code}, kind='with', n={n}, k={k}, adjacency={'replace' if replace else 'add/remove'!r})"
    return _ask(rng, code, truth, _typical(truth, 1e-9))


def _pure(epsilon: arb) -> Outcomes:
    odds = exp(epsilon)
    return Outcomes.symmetric([(odds / (1 + odds), 1 / (1 + odds))])


def _rows(epsilon: float, k: int) -> list[list[arb]]:
    total = exp(epsilon) + k - 1
    return [[(exp(epsilon) if i == j else arb(1)) / total for j in range(k)] for i in range(k)]


def shuffling(rng: Rng) -> Asked:
    """Shuffled reports of few clients, by all histograms."""
    choice, epsilon = rng.random(), budget(rng, 1e-3, 8.0)
    if choice < 0.4:
        n, rows = int(rng.integers(2, 31)), _rows(epsilon, 2)
        placed = [[rows[1]] * m + [rows[0]] * (n - 1 - m) for m in range(n)]
        name = str(pick(rng, (f"TwoPoint({epsilon!r})", f"RandomizedResponse({epsilon!r})")))
        code, truth = f"shuffle({name}, {n})", _of_placings(rows, placed, epsilon)
    elif choice < 0.6:
        n, k = (int(rng.integers(2, 11)), 3) if rng.random() < 0.7 else (int(rng.integers(2, 6)), 4)
        rows = _rows(epsilon, k)
        placed = [list(one) for one in combinations_with_replacement(rows, n - 1)]
        code, truth = f"shuffle(RandomizedResponse({epsilon!r}, k={k}), {n})", _of_placings(rows, placed, epsilon)
    elif choice < 0.8:
        code, truth = _placed(rng, epsilon)
    else:
        code, truth = _of_clones(rng, epsilon)
    return _ask(rng, code, truth, epsilon)


def _of_placings(rows: list[list[arb]], placed: Sequence[Sequence[list[arb]]], epsilon: float) -> Truth:
    """Client 1 has the first value or the second, in either order; the others are placed in each way."""
    found = [shuffled(rows[0], rows[1], others) for others in placed]
    return Truth((*found, *(one.back() for one in found)), epsilon)


def _placed(rng: Rng, epsilon: float) -> tuple[str, Truth]:
    """Two values, and others whose places are known."""
    n, rows = int(rng.integers(2, 31)), _rows(epsilon, 2)
    kind = int(rng.integers(3))
    if kind == 0:
        words = "'one end'"
        placings = [[one] * (n - 1) for one in rows]
    elif kind == 1:
        words, placings = "'center'", [[[fraction(1, 2)] * 2] * (n - 1)]
    else:
        chances = [round_to(float(c), 6) for c in 0.5 + (rng.random(n - 1) - 0.5) * math.tanh(epsilon / 2) * 0.999]
        words, placings = repr(chances), [[[arb(c), 1 - arb(c)] for c in chances]]
    return f"shuffle(TwoPoint({epsilon!r}), {n}, others={words})", _of_placings(rows, placings, epsilon)


def _of_clones(rng: Rng, epsilon: float) -> tuple[str, Truth]:
    """Other mechanisms: the histograms with all others at the second input; from above, by clones."""
    n = int(rng.integers(2, 16))
    part = (parts.piecewise(epsilon), parts.exponential(epsilon, 3), parts.perturbed_sampling(epsilon, 6, 2))[
        int(rng.integers(3))
    ]
    first, second = zip(*part.outcomes[0].pairs, strict=True)
    found = shuffled(first, second, [second] * (n - 1))
    cap = clones(epsilon, n)
    return f"shuffle({part.code}, {n})", Truth((found, found.back()), epsilon, (cap, cap.back()))


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
    code = "compose([" + ", ".join(f"({part.code}, {times})" for part, times in listed) + "])"
    truth = Truth(tuple(truths), sum(part.reach * times for part, times in listed))
    return _ask(rng, code, truth, _typical(truth, 1e-9))


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
        return _ask(rng, f"compose([(RandomizedResponse({epsilon!r}), {times})])", truth, _typical(truth, 1e-9))
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
    code = "compose([" + ", ".join(f"({part.code}, {times})" for part, times in listed) + "])"
    truth = Truth(tuple(sums), reach)
    return _ask(rng, code, truth, _typical(truth, 1e-9))


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
    code = "compose([" + ", ".join(f"({part.code}, {times})" for part, times in listed) + "])"
    truth = Truth((total,), sum(part.reach * times for part, times in listed))
    top = sum(float(part.reach) * times for part, times in listed)
    return _ask(rng, code, truth, top, by_delta=None if shape != 3 else False)


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
    code = "compose([" + ", ".join(f"({p.code}, {times})" for p, times in listed) + "])"
    truth = Truth((total, total.back()), sum(p.reach * times for p, times in listed))
    return _ask(rng, code, truth, _typical(truth, 1e-9), by_delta=None if shape == 2 else False)


def smooth_sum(rng: Rng) -> Asked:
    """Many sampled Gaussians, or many uses of other mechanisms beside a Gaussian."""
    sigma, rate = round_to(float(np.exp(rng.uniform(-0.7, 2.3))), 4), float(pick(rng, (0.001, 0.01, 0.05, 0.2)))
    steps = int(pick(rng, (10, 100, 1000, 10_000, 100_000)))
    alone = (
        steps >= 100 and steps * rate**2 * math.expm1(sigma**-2) > 0.1
    )  # else the sum is not smooth enough by itself
    listed = [(parts.poisson(parts.gaussian(sigma), rate), steps)]
    ways = [[(of_sampled_normal(rate, 1 / sigma, swapped=swapped), steps)] for swapped in (False, True)]
    keep = 1 if alone else int(rng.integers(2))
    if not alone:
        noise = round_to(float(np.exp(rng.uniform(-0.5, 2))), 4)
        others: list[tuple[Part, Cumulant, int]] = [(parts.gaussian(noise), of_normal(1 / noise), 1)]
        for _ in range(int(rng.integers(1, 4))):
            finite, spread = parts.any_finite(rng, largest=2.0, sizes=6), parts.laplace(budget(rng, 0.01, 1.0, 0.0))
            times = int(10 ** rng.uniform(0, 2.5))
            others.append(
                (finite, of_outcomes(finite.outcomes[0]), times)
                if rng.random() < 0.6
                else (spread, of_laplace(spread.reach), times)
            )
        listed = listed * keep + [(part, times) for part, _, times in others]
        ways = [way * keep + [(cumulant, times) for _, cumulant, times in others] for way in ways]
    code = "compose([" + ", ".join(f"({p.code}, {times})" for p, times in listed) + "])"
    sums = tuple(SmoothSum(tuple(way)) for way in ways[: 1 + keep])
    truth = Truth(sums, sum(p.reach * times for p, times in listed))
    return _ask(rng, code, truth, max(one.typical() for one in sums))


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


def conversion(rng: Rng) -> Asked:
    """Between notions of privacy, each against the mechanism that attains it."""
    epsilon, alpha = budget(rng, 1e-4, 20.0), round_to(float(1 + np.exp(rng.uniform(-3, 4))), 5)
    mu, delta = round_to(float(np.exp(rng.uniform(-4, 2))), 5), float(pick(rng, DELTAS))
    level = round_to(float(rng.uniform(0, 2 * mu * mu + 4 * mu)), 5)
    rho = round_to(mu * mu / 2, 6)
    normal, rr = Truth((Normal(arb(mu)),), mu * mu), Truth(parts.response(epsilon).directions, epsilon)
    of_rho, pair = Truth((Normal((2 * arb(rho)).sqrt()),), mu * mu), parts.response(epsilon).outcomes[0]
    other = parts.any_finite(rng, largest=5.0, sizes=6)
    some, order = other.outcomes[0], arb(alpha)
    noise = order / (2 * order - 1) * ((order - 1) * arb(epsilon)).exp()
    noise += (order - 1) / (2 * order - 1) * (-order * arb(epsilon)).exp()
    loss = f"privacy_loss({other.code})"
    simple = bool(rng.integers(2))
    listed: tuple[Asked, ...] = (
        (f"gdp_to_delta({mu!r}, {level!r})", DeltaAt(normal, level)),
        (f"gdp_to_epsilon({mu!r}, {delta!r})", EpsilonAt(normal, delta)),
        (f"gdp_within({epsilon!r}, {delta!r})", Budget(_normal, epsilon, delta, 0.0, 1e3, increasing=True)),
        (f"gdp_of({loss})", ValueOf(least_mu(some))),
        (f"pure_to_gdp({epsilon!r})", ValueOf(2 * normal_quantile(1 / (1 + exp(epsilon))))),
        (f"pure_to_delta({epsilon!r}, {epsilon * 0.37!r})", DeltaAt(rr, epsilon * 0.37)),
        (f"pure_to_epsilon({epsilon!r}, {delta!r})", EpsilonAt(rr, delta)),
        (f"pure_to_renyi({epsilon!r}, {alpha!r})", ValueOf(renyi(pair, alpha))),
        (f"pure_to_zcdp({epsilon!r})", ValueOf(renyi(pair, 1))),
        (f"pure_to_zcdp_by_square({epsilon!r})", ValueOf(renyi(pair, 1))),
        (f"response_renyi({epsilon!r}, {alpha!r}, 7)", ValueOf(renyi(parts.response(epsilon, 7).outcomes[0], alpha))),
        (f"gaussian_renyi({mu!r}, {alpha!r})", ValueOf(order * arb(mu) ** 2 / 2)),
        (f"laplace_renyi({epsilon!r}, {alpha!r})", ValueOf(noise.log() / (order - 1))),
        (f"gaussian_zcdp({mu!r})", ValueOf(arb(mu) ** 2 / 2)),
        (f"laplace_zcdp({epsilon!r})", ValueOf(arb(epsilon) + (-arb(epsilon)).exp() - 1)),
        (f"renyi_divergence({loss}, {alpha!r})", ValueOf(renyi(some, alpha))),
        (f"zcdp_of({loss})", ValueOf(max((renyi(some, a) / a for a in (1, 1.5, 4.0)), key=float))),
        (
            f"renyi_to_epsilon(lambda a: renyi_divergence({loss}, a).value, {delta!r}, simple={simple})",
            EpsilonAt(Truth((some,), other.reach), delta),
        ),
        (f"renyi_to_epsilon(lambda a: a * {rho!r}, {delta!r})", EpsilonAt(of_rho, delta)),
        (f"renyi_to_delta(lambda a: a * {rho!r}, {level!r})", DeltaAt(of_rho, level)),
        (f"zcdp_to_epsilon({rho!r}, {delta!r}, simple={simple})", EpsilonAt(of_rho, delta)),
        (f"zcdp_to_delta({rho!r}, {level!r}, simple={simple})", DeltaAt(of_rho, level)),
    )
    return listed[int(rng.integers(len(listed)))]


def _normal(mu: float) -> Truth:
    return Truth((Normal(arb(mu)),), mu * mu) if mu > 0 else Truth((parts.response(0.0).outcomes[0],))


def calibration(rng: Rng) -> Asked:
    """The returned parameter must meet the budget by the truth."""
    target, delta = budget(rng, 0.05, 8.0, 0.2), float(pick(rng, DELTAS))
    times, rate = int(rng.integers(2, 40)), float(pick(rng, (0.01, 0.1)))
    ranges = f"epsilon={target!r}, delta={delta!r}, low={{}}, high={{}}, increasing={{}})"

    def responses(epsilon: float) -> Truth:
        return Truth((parts.response(epsilon).outcomes[0].power(times),), times * epsilon)

    def noises(sigma: float) -> Truth:
        return _normal(math.sqrt(times) / sigma)

    def samples(sigma: float) -> Truth:
        one = Sampled(Normal(1 / arb(sigma)), arb(rate))
        return Truth((one, one.back()), sigma**-2)

    def laplaces(scale: float) -> Truth:
        return Truth((Laplace(1 / arb(scale)),), 1 / scale)

    listed: tuple[tuple[str, Callable[[float], Truth], float, float, bool], ...] = (
        (f"lambda x: compose([(RandomizedResponse(x), {times})])", responses, 1e-6, 20.0, True),
        (f"lambda x: compose([(Gaussian(x), {times})])", noises, 0.05, 1e5, False),
        (f"lambda x: subsample(Gaussian(x), rate={rate!r})", samples, 0.1, 1e4, False),
        ("lambda x: Laplace(x)", laplaces, 1e-3, 1e3, False),
    )
    build, truth, low, high, rises = listed[int(rng.integers(len(listed)))]
    code = f"calibrate({build}, " + ranges.format(low, high, rises)
    return code, Budget(truth, target, delta, low, high, increasing=rises)


def trade_off(rng: Rng) -> Asked:
    """The least miss rate at a false-alarm rate, in whichever order it is less."""
    alpha = float(pick(rng, (1e-6, 0.01, 0.5, 0.9, round_to(rng.random(), 4))))
    shape = int(rng.integers(3))
    if shape == 0:
        mu = round_to(float(np.exp(rng.uniform(-3, 2))), 4)
        code, value = f"privacy_loss(Gaussian({1 / mu!r}))", tail(1 / arb(1 / mu) - normal_quantile(arb(alpha)))
    elif shape == 1:
        part = parts.laplace(budget(rng, 1e-3, 10.0))
        one = part.directions[0]
        assert isinstance(one, Laplace)
        few, many = exp(-one.shift) / 2 >= alpha, alpha >= 0.5
        value = 1 - exp(one.shift) * alpha if few else exp(-one.shift) * (1 - arb(alpha))
        value = value if few or many else exp(-one.shift) / (4 * arb(alpha))
        code = f"privacy_loss({part.code})"
    else:
        part, times = parts.any_finite(rng, largest=5.0, sizes=5), int(rng.integers(1, 4))
        code, value = f"compose([({part.code}, {times})])", miss_rate(part.outcomes[0].power(times), alpha)
    return f"{code}.trade_off({alpha!r})", ValueOf(value)


def from_points(rng: Rng) -> Asked:
    """The worst mechanism that satisfies a point (e0, d0): everything with d0, else randomised response."""
    epsilon, delta = budget(rng, 0.01, 5.0), float(pick(rng, DELTAS))
    rr = parts.response(epsilon).outcomes[0]
    rest = 1 - arb(delta)
    worst = Outcomes.of([(delta, 0), (0, delta), *((rest * p, rest * q) for p, q in rr.pairs)])
    asked = epsilon * round_to(rng.random(), 4)
    code = f"PrivacyProfile.from_points([({epsilon!r}, {delta!r})]).bounds({asked!r})"
    return code, DeltaAt(Truth((worst,), epsilon, (Trivial(),)), asked)


FAMILIES: dict[str, tuple[int, Callable[[Rng], Asked]]] = {
    "single": (8, single),
    "sampled": (5, sampled),
    "with replacement": (2, with_replacement),
    "shuffle": (5, shuffling),
    "finite sum": (6, finite_sum),
    "three-valued sum": (2, three_valued_sum),
    "normal sum": (3, normal_sum),
    "laplace sum": (3, laplace_sum),
    "sampled normal sum": (2, sampled_normal_sum),
    "smooth sum": (4, smooth_sum),
    "protocol": (1, protocol),
    "conversion": (5, conversion),
    "calibration": (2, calibration),
    "trade-off": (1, trade_off),
    "from points": (1, from_points),
}

_CYCLE = [name for name, (count, _) in FAMILIES.items() for _ in range(count)]
_CYCLE = [_CYCLE[i] for i in np.random.default_rng(0).permutation(len(_CYCLE))]
