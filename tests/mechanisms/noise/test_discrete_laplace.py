"""Discrete Laplace noise and the truncated geometric mechanism, by brute force over whole numbers in high precision."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.accounting import compose, privacy_loss, shuffle, subsample
from ldp_audit.auditing import as_sampler, assert_fits, audit
from ldp_audit.mechanisms import DiscreteLaplace
from ldp_audit.mechanisms.noise import laplace_noise
from ldp_audit.mechanisms.noise.laplace_noise import PARTS, quotient_above
from ldp_audit.mechanisms.randomness import NumpySource
from tests.frequency import assert_frequency
from tests.together import together

PLAIN = [
    DiscreteLaplace(1.0),
    DiscreteLaplace(1.7, 2),
    DiscreteLaplace(0.6, 5),
    DiscreteLaplace(0.02),
    DiscreteLaplace(100.0, 3),
]
CLAMPED = [
    DiscreteLaplace(1.0, lower=0, upper=1),
    DiscreteLaplace(1.7, 2, -3, 4),
    DiscreteLaplace(0.6, 9, 10, 13),  # a range shorter than the sensitivity
    DiscreteLaplace(50.0, 2, 0, 6),
]
plain, clamped = together("m", PLAIN), together("m", CLAMPED)


def law(m: DiscreteLaplace, x: int) -> dict[int, Any]:
    """P(y | x), from the definition: noise, clamped to the range; up to 60 scales and 60 steps away."""
    far = math.ceil(60 * m.scale) + 60
    low, high = (x - far if m.lower is None else m.lower), (x + far if m.upper is None else m.upper)
    a, found = mpmath.exp(-1 / mpmath.mpf(m.scale)), Counter[int]()
    for z in range(-far, far + 1):
        found[min(max(x + z, low), high)] += (1 - a) / (1 + a) * a ** abs(z)
    return dict(found)


def divergence(first: dict[int, Any], second: dict[int, Any], level: float) -> float:
    t = mpmath.exp(level)
    return float(sum(max(p - t * second.get(y, 0), 0) for y, p in first.items()))


@plain
def test_epsilon_and_profile_by_brute_force(m: DiscreteLaplace) -> None:
    """In both orders, and for nearer inputs, which have no more."""
    with mpmath.workdps(40):
        laws = [law(m, x) for x in range(m.sensitivity + 1)]
        losses = [abs(mpmath.log(laws[0][y] / laws[-1][y])) for y in range(-3, m.sensitivity + 4)]
        assert m.exact_epsilon() == pytest.approx(float(max(losses)), rel=1e-13) == m.sensitivity / m.scale
        for share in (0.0, 0.1, 0.5, 0.93, 1.0, 1.2):
            level = share * m.exact_epsilon()
            found = [max(divergence(laws[0], one, level), divergence(one, laws[0], level)) for one in laws[1:]]
            assert m.delta(level) == pytest.approx(max(found), rel=1e-12, abs=1e-15)
            assert found == sorted(found)


@clamped
def test_a_truncated_mechanism_by_brute_force_over_all_neighbours(m: DiscreteLaplace) -> None:
    """Neighbours alone: inputs farther apart than the sensitivity have more, which is not counted."""
    assert m.lower is not None
    assert m.upper is not None
    with mpmath.workdps(40):
        laws = {x: law(m, x) for x in range(m.lower, m.upper + 1)}
        every = list(itertools.permutations(laws, 2))
        near = [(a, b) for a, b in every if abs(a - b) <= m.sensitivity]

        def largest(pairs: list[tuple[int, int]]) -> float:
            return max(float(mpmath.log(laws[a][y] / laws[b][y])) for a, b in pairs for y in laws)

        assert m.exact_epsilon() == pytest.approx(largest(near), rel=1e-13)
        if len(near) < len(every):
            assert largest(every) > 1.4 * m.exact_epsilon()
        for share in (0.0, 0.3, 0.8, 1.0):
            level = share * m.exact_epsilon()
            found = max(divergence(laws[a], laws[b], level) for a, b in near)
            assert m.delta(level) == pytest.approx(found, rel=1e-12, abs=1e-15)


@together("m", [*PLAIN, *CLAMPED, DiscreteLaplace(3.0, lower=2), DiscreteLaplace(3.0, 4, upper=2)])
def test_law_and_moments_by_brute_force(m: DiscreteLaplace) -> None:
    for x in {*m.worst_pair(), *map(int, m.domain())}:
        found = law(m, x)
        y = np.array(list(found), dtype=np.float64)
        p = np.array([float(mass) for mass in found.values()])
        known = p > 1e-300
        assert m.log_prob(y, x)[known] == pytest.approx(np.log(p[known]), rel=1e-12, abs=1e-13)
        assert m.mean(x) == pytest.approx(float(p @ y), rel=1e-12, abs=1e-12)
        assert m.variance(x) == pytest.approx(float(p @ (y - p @ y) ** 2), rel=1e-11)
    assert m.log_prob([0.5, math.nan, math.inf], m.worst_pair()[0]).tolist() == [-math.inf] * 3
    if m.lower is not None:
        assert m.log_prob(m.lower - 1, m.lower) == -math.inf


@together("scale", [1e-290, 0.5, 30.0, 1e4, 3e5, 9e6, 1e9, 1e15, 1e300])
def test_the_clamped_variance_at_every_width(scale: float) -> None:
    """Where sums of few steps cancel, and at the ends of scales; by a plain sum in high precision."""
    m = DiscreteLaplace(scale, 1, 0, 60)
    with mpmath.workdps(60):
        a = mpmath.exp(-1 / mpmath.mpf(scale))
        for x in (0, 1, 30, 60):
            masses = [(1 - a) / (1 + a) * a ** abs(y - x) for y in range(61)]
            masses[0], masses[60] = a**x / (1 + a), a ** (60 - x) / (1 + a)
            mean = mpmath.fsum(y * p for y, p in enumerate(masses))
            exact = mpmath.fsum((y - mean) ** 2 * p for y, p in enumerate(masses))
            assert m.mean(x) == pytest.approx(float(mean), rel=1e-13, abs=1e-290)
            assert m.variance(x) == pytest.approx(float(exact), rel=1e-10, abs=1e-290)


def test_the_variance_is_that_of_the_literature() -> None:
    """2 a/(1 - a)**2 (Inusah, Kozubowski 2006); at a = 1/2 it is 4, as is easily added up."""
    assert DiscreteLaplace(1 / math.log(2)).variance(0) == pytest.approx(4.0, rel=1e-14)


def convolved(m: DiscreteLaplace, times: int, level: float) -> float:
    """delta of the sum, by multiplying out all losses: (1, k) is the loss (d - 2 k)/b at y = k."""
    a, d = math.exp(-1 / m.scale), m.sensitivity
    single = [1 / (1 + a), *((1 - a) / (1 + a) * a**k for k in range(1, d)), a**d / (1 + a)]
    total = np.ones(1)
    for _ in range(times):
        total = np.convolve(total, single)
    losses = (times * d - 2 * np.arange(total.size)) / m.scale
    return float(total @ np.maximum(-np.expm1(level - losses), 0.0))


@together("m", [DiscreteLaplace(1.0), DiscreteLaplace(2.0, 3), DiscreteLaplace(2.0, 3, 0, 20), DiscreteLaplace(0.5, 4)])
def test_compositions_are_those_of_brute_force_convolution(m: DiscreteLaplace) -> None:
    loss = compose([(m, 10)])
    for share in (0.0, 0.2, 0.5, 0.8):
        level = share * 10 * m.exact_epsilon()
        low, high = loss.delta_bounds(level)
        assert low <= convolved(m, 10, level) * (1 + 1e-11) <= high * (1 + 2e-11)
        assert low == pytest.approx(high, rel=1e-9)
    epsilon = loss.epsilon(1e-6)
    assert 0.9999e-6 < convolved(m, 10, epsilon) <= 1e-6 * (1 + 1e-12)


def test_relations_of_neighbours() -> None:
    """A replaced record takes `replaced`; sampling and shuffling have their bounds."""
    m = DiscreteLaplace(2.0, 1, replaced=2)
    assert privacy_loss(m, "replace").delta(0.1) == pytest.approx(DiscreteLaplace(2.0, 2).delta(0.1), rel=1e-12)
    with pytest.raises(ValueError, match="replaced must be stated"):
        privacy_loss(DiscreteLaplace(1.0), "replace")
    assert shuffle(m, 10_000).epsilon(1e-6) < 0.06  # of a single replaced report it is 1
    replaced, present = (subsample(m, rate=0.1, adjacency=one).delta_bounds(0.02) for one in ("replace", "add/remove"))
    # a record at 1 in place of one at -1, by hand: 0.9 P(0) + 0.1 P(1) against 0.9 P(0) + 0.1 P(-1)
    laws = [{y: float(p) for y, p in law(m, x).items()} for x in (0, 1, -1)]
    mixed = [{y: 0.9 * laws[0].get(y, 0) + 0.1 * one.get(y, 0) for y in laws[0] | one} for one in laws[1:]]
    assert replaced[0] <= divergence(mixed[0], mixed[1], 0.02) <= replaced[1]
    assert present[0] == pytest.approx(divergence(mixed[0], laws[0], 0.02), rel=1e-9)


@given(st.floats(-30, 51).map(lambda power: 2.0**power), st.integers(1, 10**6), st.integers(2, 64))
def test_no_epsilon_is_above_the_ideal_one(scale: float, sensitivity: int, bits: int) -> None:
    """The scale is rounded up, in exact arithmetic, hardly, and to a float; a second time it stays."""
    ideal = DiscreteLaplace(scale, sensitivity)
    m = ideal.implemented(bits)
    t, s = quotient_above(scale)
    assert Fraction(m.scale) == Fraction(t, s)
    assert 1 <= Fraction(m.scale) / Fraction(scale) <= 1 + (Fraction(1, 2**50) if scale > 1e-3 else Fraction(1, 2**28))
    assert t % PARTS == 0
    assert 0 < t <= 2**54
    assert m.implemented().scale == m.scale
    assert m.exact_epsilon() <= ideal.exact_epsilon()
    for share in (0.0, 0.5) if sensitivity < 1000 else ():
        level = share * min(ideal.exact_epsilon(), 700.0)
        assert m.delta(level) <= ideal.delta(level) * (1 + 1e-12)


@together("epsilon", [0.01, 0.1, 1.0, 10.0, 50.0])
def test_epsilon_from_a_hundredth_to_fifty_is_kept(epsilon: float) -> None:
    m = DiscreteLaplace(1 / epsilon)
    assert epsilon * (1 - 1e-14) <= m.implemented_epsilon() <= m.exact_epsilon() == pytest.approx(epsilon, rel=1e-15)


def test_a_wider_scale_is_a_post_processing() -> None:
    """The noise of scale 2 is that of scale 1.3 plus a number that is 0, or noise of scale 2."""
    k, (a, b) = np.arange(-400, 401), (math.exp(-1 / 1.3), math.exp(-1 / 2.0))
    narrow, wide = ((1 - q) / (1 + q) * q ** np.abs(k) for q in (a, b))
    p = (1 - b) ** 2 * a / ((1 - a) ** 2 * b)
    added = (1 - p) * wide + p * (k == 0)
    assert np.convolve(narrow, added)[400:-400] == pytest.approx(wide, abs=1e-15)


def weighed(t: int, s: int, last: int) -> tuple[dict[int, float], float]:
    """The law of the noise, from every A up to `last`, every B and both signs, weighed; and the mass that was left out.

    The primitives' own laws, P(A >= a) = e**(-a/8) and that of B, are those of test_laplace_noise.py.
    """
    part = t // PARTS
    grid = np.meshgrid(np.arange(last + 1), np.arange(part), [-1, 0], indexing="ij")
    parts, within, sign = (one.ravel().astype(np.int64) for one in grid)
    weight = np.exp(-parts / PARTS) * -math.expm1(-1 / PARTS) * np.exp(-within / t)
    weight *= -math.expm1(-1 / t) / -math.expm1(-1 / PARTS) / 2

    class Listed(NumpySource):
        def words(self, shape: Any, bits: int = 64) -> np.ndarray:
            assert bits == 1
            return sign if shape[0] == sign.size else np.zeros(shape, np.int64)

    size = parts.size
    drawn = laplace_noise.either_sign(
        lambda n: laplace_noise.put_together(parts, within, t, s) if n == size else np.ones(n, np.int64),
        (size,),
        Listed(np.random.default_rng(0)),
    )
    again = (sign == -1) & ((parts * part + within) // s == 0)  # -0, drawn again as something else
    found: Counter[int] = Counter()
    for z, w in zip(drawn[~again].tolist(), weight[~again].tolist(), strict=True):
        found[z] += w / (1 - weight[again].sum())
    return dict(found), math.exp(-(last + 1) / PARTS)


@pytest.mark.parametrize(("t", "s", "wrong"), [(8, 1, False), (48, 32, False), (80, 7, False), (48, 32, True)])
def test_every_draw_weighed_is_the_law(t: int, s: int, wrong: bool) -> None:
    """The planted bug is a scale of t/(s + 1), whose likelihood ratios are above epsilon: it is seen."""
    found, left = weighed(t, s + wrong, 320)
    m = DiscreteLaplace(t / s)
    right = all(
        math.isclose(math.log(found[z]), m.log_prob(z, 0), rel_tol=1e-9) for z in range(-5 * t // s, 5 * t // s + 1)
    )
    assert right != wrong
    assert left < 1e-17


def draw(m: DiscreteLaplace, x: np.ndarray, library: str) -> np.ndarray:
    if library == "torch":
        return m.sample(torch.from_numpy(x), rng=torch.Generator().manual_seed(6)).numpy()
    return m.sample(x, rng=np.random.default_rng(6))


@together("library", ["numpy", "torch"])
@together("m", [*PLAIN, *CLAMPED, DiscreteLaplace(1e6, 10**6), DiscreteLaplace(1 / 50)])
def test_both_samplers_draw_from_the_law(m: DiscreteLaplace, library: str) -> None:
    """False alarm 1e-6 an event; 0.03 is missed with a chance below 1e-3."""
    trials, x = 20_000, m.worst_pair()[0]
    for dtype in (np.int64, np.float32):
        drawn = draw(m, np.full(trials, x, dtype=dtype), library)
        assert drawn.dtype == np.int64
        for y in range(x - 3, x + 4):
            assert_frequency(int((drawn == y).sum()), trials, math.exp(m.log_prob(y, x)))
        if m.upper is None:
            k = math.ceil(m.scale)
            assert_frequency(
                int((drawn > x + k).sum()), trials, math.exp(-(k + 1) / m.scale) / (1 + math.exp(-1 / m.scale))
            )


def test_an_audit_finds_its_epsilon_and_no_more() -> None:
    m = DiscreteLaplace(1.0, 2)
    found = audit(as_sampler(m), inputs=m.worst_pair(), claimed_epsilon=m.exact_epsilon(), samples=50_000)
    assert found.verdict == "consistent"
    assert found.epsilon_lower > 1.8
    assert audit(as_sampler(m), inputs=(0, 3), claimed_epsilon=m.exact_epsilon(), samples=50_000).verdict == "violated"


@together(
    "m",
    [
        DiscreteLaplace(1.0),
        DiscreteLaplace(0.3),
        DiscreteLaplace(500.0),
        DiscreteLaplace(2.0, lower=-1),
        DiscreteLaplace(2.0, 1, 0, 3),
    ],
)
def test_its_own_law_fits_and_a_wider_one_does_not(m: DiscreteLaplace) -> None:
    assert_fits(as_sampler(m), m, inputs=list(m.worst_pair()), samples=50_000)
    with pytest.raises(AssertionError):
        assert_fits(as_sampler(DiscreteLaplace(1.0)), DiscreteLaplace(1.2), inputs=[0], samples=50_000)


@together(
    ("call", "message"),
    [
        (lambda: DiscreteLaplace(0.0), "scale must be a finite number > 0, got 0.0"),
        (lambda: DiscreteLaplace(1e-300), "scale must be at least 1e-290, got 1e-300"),
        (lambda: DiscreteLaplace(1.0, 1.5), "sensitivity must be a whole number >= 1 and <= 1000000, got 1.5"),
        (lambda: DiscreteLaplace(1.0, 0), "sensitivity must be a whole number >= 1 and <= 1000000, got 0"),
        (lambda: DiscreteLaplace(1.0, lower=0.5), "lower must be a whole number in"),
        (lambda: DiscreteLaplace(1.0, lower=3, upper=3), "lower must be less than upper, got lower=3, upper=3"),
        (lambda: DiscreteLaplace(1.0, 2, replaced=1.5), "replaced must be a whole number >= 1, got 1.5"),
        (lambda: DiscreteLaplace(1.0, 2, replaced=5), "replaced must be a number > 0, at most twice the sensitivity 2"),
        (lambda: DiscreteLaplace(1.0).implemented(1), "bits must be a whole number >= 2 and <= 64"),
        (lambda: DiscreteLaplace(1e-10).implemented(), r"scale must lie in 2\*\*-30 .. 2\*\*52 to be sampled"),
        (lambda: DiscreteLaplace(1e16).sample([0], rng=np.random.default_rng(0)), r"scale must lie in 2\*\*-30"),
        (lambda: DiscreteLaplace(1.0).sample([0.5], rng=np.random.default_rng(0)), "x must be whole numbers in"),
        (lambda: DiscreteLaplace(1.0).sample([2**60], rng=np.random.default_rng(0)), "x must be whole numbers in"),
        (
            lambda: DiscreteLaplace(1.0, lower=0).sample([-1], rng=np.random.default_rng(0)),
            "x must be whole numbers in 0",
        ),
        (lambda: DiscreteLaplace(1.0).log_prob(0, 0.5), "x must be whole numbers in"),
        (lambda: DiscreteLaplace(1.0, lower=0, upper=2).mean(3), r"x must be whole numbers in 0\.\.2, got 3"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
