"""Staircase noise: closed forms of the source, profile and moments step by step, and its sampler on a grid."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.accounting import compose, privacy_loss, shuffle, subsample
from ldp_audit.auditing import as_sampler, assert_fits, audit
from ldp_audit.mechanisms import Laplace, StaircaseNoise
from ldp_audit.mechanisms.noise import staircase_noise
from ldp_audit.mechanisms.noise.staircase_noise import StaircaseGrid
from ldp_audit.mechanisms.randomness import NumpySource
from tests.frequency import assert_frequency
from tests.together import together

SOME = [
    StaircaseNoise(1.0),
    StaircaseNoise(0.3, 2.0, 0.8),
    StaircaseNoise(2.0, 0.7, 0.0),
    StaircaseNoise(2.0, 0.7, 1.0),
    StaircaseNoise(5.0, 3.0, 0.5),
    StaircaseNoise(50.0),
    StaircaseNoise(0.2),
]
some = together("m", SOME)


def edges(m: StaircaseNoise, *centers: float) -> list[Any]:
    """The ends of all steps around these inputs, to 60 nats away, exactly."""
    count, gamma = math.ceil(60 / m.epsilon) + 2, mpmath.mpf(m.plateau())
    ends = {sign * (k + gamma) * m.sensitivity + x for k in range(count) for sign in (1, -1) for x in centers}
    return sorted(ends)


def density(m: StaircaseNoise, size: Any) -> Any:
    """Definition 1 of the source: by the whole and the fractional part of the size in sensitivities."""
    gamma, b = mpmath.mpf(m.plateau()), mpmath.exp(-mpmath.mpf(m.epsilon))
    height = (1 - b) / (2 * m.sensitivity * (gamma + b * (1 - gamma)))
    whole = mpmath.floor(size / m.sensitivity)
    return height * b ** (whole if size / m.sensitivity - whole < gamma else whole + 1)


def laws(m: StaircaseNoise, distance: float) -> list[tuple[Any, Any]]:
    """The probabilities of both inputs in every interval on which both densities are constant."""
    both = []
    for low, high in pairwise(edges(m, 0.0, distance)):
        middle, width = (low + high) / 2, high - low
        both.append((width * density(m, abs(middle)), width * density(m, abs(middle - distance))))
    return both


def divergence(both: list[tuple[Any, Any]], level: float) -> float:
    return float(mpmath.fsum(max(p - mpmath.exp(level) * q, 0) for p, q in both))


@some
def test_epsilon_and_profile_step_by_step(m: StaircaseNoise) -> None:
    """Of inputs a sensitivity apart; nearer ones have less."""
    with mpmath.workdps(40):
        found = [laws(m, share * m.sensitivity) for share in (0.1, 0.45, 0.8, 1.0)]
        losses = [float(mpmath.log(p / q)) for p, q in found[-1] if p > mpmath.mpf(10) ** -20]
        assert max(losses) == pytest.approx(m.exact_epsilon(), rel=1e-12)
        for share in (0.0, 0.3, 0.9, 1.0):
            level = share * m.epsilon
            deltas = [divergence(both, level) for both in found]
            assert m.delta(level) == pytest.approx(deltas[-1], rel=1e-12, abs=1e-15)
            assert all(a <= b + 1e-15 for a, b in pairwise(deltas))


@some
@together("share", [0.2, 0.7, 1.0, 1.3, 1.75, 2.0])
def test_losses_at_other_distances(m: StaircaseNoise, share: float) -> None:
    loss = m.moved(share * m.sensitivity)
    assert loss.reversed() is loss
    with mpmath.workdps(40):
        both = laws(m, share * m.sensitivity)
        for level in (0.0, 0.4 * m.epsilon, 1.3 * m.epsilon):
            assert math.exp(loss.log_delta_bounds(level)[1]) == pytest.approx(
                divergence(both, level), rel=1e-10, abs=1e-14
            )


@some
def test_law_and_moments_step_by_step(m: StaircaseNoise) -> None:
    with mpmath.workdps(40):
        parts = [(low, high, density(m, abs(low + high) / 2)) for low, high in pairwise(edges(m, 0.0))]
        for low, high, height in parts[:: max(1, len(parts) // 9)]:
            found = m.log_prob(float((low + high) / 2) + 0.25, 0.25)
            assert found == pytest.approx(float(mpmath.log(height)), rel=1e-12)
        total = mpmath.fsum((high - low) * height for low, high, height in parts)
        square = mpmath.fsum((high**3 - low**3) / 3 * height for low, high, height in parts)
        size = mpmath.fsum(abs(high * abs(high) - low * abs(low)) / 2 * height for low, high, height in parts)
        assert total == pytest.approx(1.0, rel=1e-13)
        assert m.variance(0.0) == pytest.approx(float(square), rel=1e-12)
        assert m.mean_size() == pytest.approx(float(size), rel=1e-12)
    assert m.mean([1.0, 2.0]).tolist() == [1.0, 2.0]
    knots = m.breakpoints(0.5)
    assert knots is not None
    assert knots[0] < 0.5 < knots[-1]


@together("epsilon", [0.01, 0.1, 1.0, 4.0, 20.0, 50.0])
def test_the_moments_of_the_source(epsilon: float) -> None:
    """Theorem 3: the least E|noise|; Theorem 5: the least variance, at the gamma given there."""
    m, b = StaircaseNoise(epsilon, 1.7), mpmath.exp(-mpmath.mpf(epsilon))
    assert m.plateau() == pytest.approx(1 / (1 + math.exp(epsilon / 2)), rel=1e-14)
    assert m.mean_size() == pytest.approx(1.7 * math.exp(epsilon / 2) / math.expm1(epsilon), rel=1e-13)
    with mpmath.workdps(40):
        gamma = -b / (1 - b) + mpmath.cbrt(b - 2 * b**2 + 2 * b**4 - b**5) / (mpmath.cbrt(2) * (1 - b) ** 2)
        least = (mpmath.cbrt(b**2 * (1 + b) ** 2 / 4) + b) / (1 - b) ** 2 * mpmath.mpf(1.7) ** 2
    assert StaircaseNoise(epsilon, 1.7, float(gamma)).variance(0.0) == pytest.approx(float(least), rel=1e-11)
    for other in (0.0, 0.1, 0.3, 0.5, 0.9):
        one = StaircaseNoise(epsilon, 1.7, other)
        assert one.mean_size() >= m.mean_size() * (1 - 1e-14)
        assert one.variance(0.0) >= float(least) * (1 - 1e-11)
    assert m.mean_size() <= 1.7 / epsilon  # of Laplace noise


def test_it_has_less_noise_than_laplace_noise_of_the_same_epsilon() -> None:
    assert StaircaseNoise(8.0).variance(0) < 0.22 * Laplace(1 / 8).variance(0)


@together("gamma", [None, 0.0, 0.5, 1.0])
@together("epsilon", [1e-300, 1e-120, 1e-9, 700.0])
def test_ends_of_epsilon(epsilon: float, gamma: float | None) -> None:
    """The limits: 1/epsilon and 2/epsilon**2 of Laplace noise for tiny epsilon, a plateau alone for a large one."""
    m = StaircaseNoise(epsilon, gamma=gamma)
    assert 0 <= m.delta(0.0) <= 1
    if epsilon < 1:
        assert m.delta(0.0) == pytest.approx(epsilon / 2, rel=1e-6, abs=1e-15)
        assert m.mean_size() == pytest.approx(1 / epsilon, rel=1e-6)
        assert m.variance(0.0) == (pytest.approx(2 / epsilon**2, rel=1e-6) if epsilon > 1e-150 else math.inf)
    elif gamma:
        assert m.mean_size() == pytest.approx(gamma / 2, rel=1e-12)
        assert m.variance(0.0) == pytest.approx(gamma**2 / 3, rel=1e-12)


def test_compositions_are_those_of_brute_force_convolution() -> None:
    m, times = StaircaseNoise(0.7, 2.0, 0.3), 10
    with mpmath.workdps(30):
        masses: Counter[int] = Counter()
        for p, q in laws(m, m.sensitivity):
            masses[round(float(mpmath.log(p / q)) / m.epsilon)] += float(p)
    total = np.ones(1)
    for _ in range(times):
        total = np.convolve(total, [masses[k] for k in (-1, 0, 1)])
    losses = np.arange(-times, times + 1) * m.epsilon
    loss = compose([(m, times)])
    for level in (0.0, 1.0, 3.0, 6.5):
        brute = float(total @ np.maximum(-np.expm1(level - losses), 0.0))
        assert loss.delta_bounds(level) == pytest.approx((brute, brute), rel=1e-9)


def test_relations_of_neighbours() -> None:
    m = StaircaseNoise(1.0, 1.0, replaced=2.0)
    assert privacy_loss(m, "replace").supremum() == pytest.approx(2.0)
    with pytest.raises(ValueError, match="replaced must be stated"):
        privacy_loss(StaircaseNoise(1.0), "replace")
    assert shuffle(m, 10_000).epsilon(1e-6) < 0.3
    low, high = subsample(m, rate=0.1, adjacency="replace").delta_bounds(0.02)
    assert 0 < low < high < m.delta(0.0)


def coarse(m: StaircaseNoise, exponent: int) -> StaircaseGrid:
    return StaircaseGrid(m, exponent)


GRIDS = [
    coarse(StaircaseNoise(1.0), -3),
    coarse(StaircaseNoise(0.8, 0.7, 0.8), -3),  # the sensitivity is 5.6 spacings
    coarse(StaircaseNoise(2.0, 1.0, 0.0), -2),
    coarse(StaircaseNoise(2.0, 1.0, 1.0), -2),
    coarse(StaircaseNoise(3.0), 0),  # one spacing: discrete Laplace noise
]
grids = together("m", GRIDS)


def reports(m: StaircaseGrid) -> np.ndarray:
    """All that matter: beyond 40 nats there is less than 1e-17."""
    steps = (math.ceil(40 / m.exact_epsilon()) + 3) * m.steps()
    return np.arange(-steps, steps + 1) * 2.0**m.exponent


@grids
def test_epsilon_and_profile_of_the_grid_by_brute_force(m: StaircaseGrid) -> None:
    """Over inputs on the grid and between its points, in both orders: none is worse than M whole spacings."""
    y, far = reports(m), m.worst_pair()[1]
    table = {x: m.log_prob(y, x) for x in np.linspace(0, far, 19)}
    inside = np.abs(y) < far * 20 / m.exact_epsilon()
    assert m.exact_epsilon() <= m.mechanism.epsilon
    assert far >= m.mechanism.sensitivity
    losses = [float(np.max((a - b)[inside])) for a in table.values() for b in table.values()]
    assert max(losses) == pytest.approx(m.exact_epsilon(), rel=1e-12)
    for share in (0.0, 0.4, 0.99, 1.0):
        level = share * m.exact_epsilon()
        found = [
            np.maximum(np.exp(a) - math.exp(level) * np.exp(b), 0).sum() for a in table.values() for b in table.values()
        ]
        assert m.delta(level) == pytest.approx(float(max(found)), rel=1e-9, abs=1e-14)


@grids
@together("x", [0.0, 0.1, -0.3])
def test_the_law_of_the_grid_adds_up_with_its_moments(m: StaircaseGrid, x: float) -> None:
    y = reports(m)
    p = np.exp(m.log_prob(y, x))
    assert math.fsum(p) == pytest.approx(1, abs=1e-13)
    assert p @ y == pytest.approx(m.mean(x), abs=1e-12)
    assert p @ (y - x) ** 2 == pytest.approx(m.variance(x), rel=1e-11)
    assert m.log_prob([2.0**m.exponent / 3, math.nan], x).tolist() == [-math.inf] * 2


class _TooNarrow(StaircaseGrid):
    def steps(self) -> int:
        return super().steps() - 1


def test_steps_that_are_too_narrow_are_seen() -> None:
    """The bug is planted in the width: inputs a sensitivity apart then have more than epsilon."""
    for kind, largest in ((StaircaseGrid, 1.0), (_TooNarrow, 2.0)):
        m = kind(StaircaseNoise(1.0), -3)
        y = reports(m)[100:-100]
        assert np.max(m.log_prob(y, 0.0) - m.log_prob(y, 1.0)) == pytest.approx(largest, rel=1e-12)


@given(st.floats(-20, 9.45).map(lambda power: 2.0**power), st.floats(-200, 200).map(lambda power: 2.0**power))
def test_no_epsilon_is_above_the_ideal_one(epsilon: float, sensitivity: float) -> None:
    """In exact fractions, and hardly below it; no draw leaves 62 bits but with a chance below e**-255."""
    m = StaircaseNoise(epsilon, sensitivity).implemented()
    t, s = m.quotient()
    lost = max(Fraction(1, 2**48), Fraction(epsilon) / 2**58)
    assert Fraction(epsilon) * (1 - lost) <= Fraction(s, t) <= Fraction(epsilon)
    assert m.exact_epsilon() <= epsilon
    assert m.steps() * m.grid().spacing() >= Fraction(sensitivity)
    assert 2**32 <= m.steps() <= 2**49
    assert 1 <= m.plateau() <= m.steps()
    assert (2**62 / m.steps() - 2) * epsilon > 255


@together("epsilon", [0.01, 0.1, 1.0, 10.0, 50.0])
def test_the_grid_is_nearly_the_noise(epsilon: float) -> None:
    ideal = StaircaseNoise(epsilon, 1.3)
    m = ideal.implemented()
    assert m.exact_epsilon() == pytest.approx(epsilon, rel=1e-14)
    assert m.variance(0.0) == pytest.approx(ideal.variance(0.0), rel=1e-4)
    for share in (0.0, 0.5, 0.99):
        assert m.delta(share * epsilon) == pytest.approx(ideal.delta(share * epsilon), rel=1e-4)


@grids
def test_every_draw_weighed_is_the_law(m: StaircaseGrid) -> None:
    """All answers of the coin, both uniforms, A up to 5 and the sign, weighed; A has the law of `geometric`."""
    whole, flat, r = m.steps(), m.plateau(), math.exp(-m.exact_epsilon())
    chance, last = flat / (flat + whole * r / (1 - r)), 6
    grid = np.meshgrid([True, False], range(flat), range(whole), range(last), [-1, 0], indexing="ij")
    on, inner, within, steps, sign = (each.ravel() for each in grid)
    weight = np.where(on, chance / (1 - r**last), 1 - chance) / flat / whole * (1 - r) * r**steps / 2

    class Listed(NumpySource):
        def words(self, shape: Any, bits: int = 64) -> np.ndarray:
            assert bits == 1
            return sign if shape[0] == on.size else np.zeros(shape, int)

    drawn = staircase_noise.either_sign(
        lambda n: m.size_of(on, inner, steps, within) if n == on.size else np.ones(n, int),
        (on.size,),
        Listed(np.random.default_rng(0)),
    )
    again = (sign == -1) & on & (inner == 0)
    found: Counter[int] = Counter()
    for z, w in zip(drawn[~again].tolist(), weight[~again].tolist(), strict=True):
        found[z] += w / (1 - weight[again].sum())
    for z in range(-(flat + (last - 1) * whole) + 1, flat + (last - 1) * whole):
        assert math.log(found[z]) == pytest.approx(float(m.log_prob(z * 2.0**m.exponent, 0.0)), rel=1e-9, abs=1e-9)


class Scripted(NumpySource):
    """Hands out these words, one array after the other."""

    def __init__(self, *given: Any) -> None:
        super().__init__(np.random.default_rng(0))
        self.given = [np.asarray(words, dtype=np.int64) for words in given]

    def words(self, shape: Any, bits: int = 64) -> np.ndarray:
        assert bits == 64
        return self.given.pop(0).reshape(shape)


@together("epsilon", [0.1, 1.0, 30.0])
def test_a_word_beside_the_chance_of_the_plateau_is_settled_by_more_bits(epsilon: float) -> None:
    """The first 192 bits of c, in high precision, and the next ones: less than them, or more."""
    m = StaircaseNoise(epsilon).implemented()
    t, s = m.quotient()
    with mpmath.workdps(120):
        r = mpmath.exp(-mpmath.mpf(s) / t)
        c = m.plateau() / (m.plateau() + m.steps() * r / (1 - r))
        digits = int(mpmath.floor(c * mpmath.mpf(2) ** 192))
    one, two, three = ((digits >> shift) % 2**64 - 2**63 for shift in (128, 64, 0))
    answers = [([one - 1], True), ([one + 1], False)]
    for words, kept in answers:
        assert m._on_plateau(1, Scripted(words)).tolist() == [kept]  # noqa: SLF001
    assert m._on_plateau(1, Scripted([one], two - 1)).tolist() == [True]  # noqa: SLF001
    assert m._on_plateau(1, Scripted([one], two + 1)).tolist() == [False]  # noqa: SLF001
    assert m._on_plateau(1, Scripted([one], two, three - 1)).tolist() == [True]  # noqa: SLF001
    assert m._on_plateau(1, Scripted([one], two, three + 1)).tolist() == [False]  # noqa: SLF001


@together("library", ["numpy", "torch"])
@together("m", [*GRIDS, *(one.implemented() for one in SOME)])
def test_both_samplers_draw_from_the_law(m: StaircaseGrid, library: str) -> None:
    """Sizes by their steps. False alarm 1e-6 an event; 0.03 is missed with a chance below 1e-3."""
    trials, g = 20_000, 2.0**m.exponent
    x = np.full(trials, 3 * g)
    if library == "torch":
        drawn = m.sample(torch.from_numpy(x), rng=torch.Generator().manual_seed(6)).numpy()
    else:
        drawn = m.sample(x, rng=np.random.default_rng(6))
    assert set((drawn / g % 1).tolist()) == {0.0}
    noise, r = drawn / g - 3, math.exp(-m.exact_epsilon())
    at_zero = math.exp(float(m.log_prob(0.0, 0.0)))
    for k in range(3):
        inside = at_zero * (2 * m.plateau() - 1 + 2 * m.steps() * sum(r**j for j in range(1, k + 1)))
        assert_frequency(int((np.abs(noise) < m.plateau() + k * m.steps()).sum()), trials, min(inside, 1.0))
    assert_frequency(int((noise > 0).sum()), trials, (1 - at_zero) / 2)
    half = at_zero * (2 * m.plateau() - 1 + 2 * (m.steps() // 2) * r)
    assert_frequency(int((np.abs(noise) < m.plateau() + m.steps() // 2).sum()), trials, min(half, 1.0))


def test_an_audit_finds_its_epsilon_and_no_more() -> None:
    m = StaircaseNoise(1.0, 2.0)
    found = audit(as_sampler(m), inputs=m.worst_pair(), claimed_epsilon=1.0, samples=50_000)
    assert found.verdict == "consistent"
    assert found.epsilon_lower > 0.9
    assert audit(as_sampler(m), inputs=m.worst_pair(), claimed_epsilon=0.8, samples=50_000).verdict == "violated"


def test_its_own_law_fits_and_laplace_noise_of_the_same_size_does_not() -> None:
    m = StaircaseNoise(1.0)
    for law in (m, m.implemented()):
        assert_fits(as_sampler(m), law, inputs=[0.0, 1.0], samples=50_000)
    with pytest.raises(AssertionError):
        assert_fits(as_sampler(Laplace(m.mean_size())), m, inputs=[0.0], samples=50_000)


@together(
    ("call", "message"),
    [
        (lambda: StaircaseNoise(0.0), "epsilon must be a finite number > 0 and <= 700, got 0.0"),
        (lambda: StaircaseNoise(701.0), "epsilon must be a finite number > 0 and <= 700, got 701.0"),
        (lambda: StaircaseNoise(1.0, 0.0), "sensitivity must be a finite number > 0, got 0.0"),
        (lambda: StaircaseNoise(1.0, 1.0, 1.5), r"gamma must be a number in \[0, 1\], or None, got 1.5"),
        (lambda: StaircaseNoise(1.0, 1.0, math.nan), r"gamma must be a number in \[0, 1\], or None, got nan"),
        (lambda: StaircaseNoise(1.0, replaced=3.0), "replaced must be a number > 0, at most twice the sensitivity 1.0"),
        (lambda: StaircaseNoise(1e-9).implemented(), r"epsilon must be at least 2\*\*-20 to be sampled"),
        (lambda: StaircaseNoise(1.0, 1e200).implemented(), r"sensitivity must lie in 2\*\*-500 .. 2\*\*500"),
        (lambda: StaircaseNoise(1.0).implemented(1), "bits must be a whole number >= 2 and <= 64"),
        (lambda: StaircaseGrid(StaircaseNoise(1.0), -50), r"exponent must give at most 2\*\*49 spacings, got -50"),
        (lambda: StaircaseNoise(1.0).sample([1e10], rng=np.random.default_rng(0)), "x must lie in"),
        (lambda: StaircaseNoise(1.0).log_prob(math.nan, 0.0), "y must be finite real numbers"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
