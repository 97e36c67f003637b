"""PrivUnit: the closed forms of Bhowmick et al., the best cap, the profile over all angles; and as it is sampled."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sympy import exp, simplify

from ldp_audit.mechanisms import PrivUnit
from ldp_audit.mechanisms.values import priv_unit
from ldp_audit.mechanisms.values.priv_unit import SMALLEST_CAP
from ldp_audit.mechanisms.values.sphere import cap_area, cap_moments
from tests.frequency import assert_frequency
from tests.mechanisms.values.few_directions import FewDirections
from tests.together import together


def chance(m: PrivUnit) -> float:
    """p, the probability of the cap."""
    return 1 / (1 + (1 - m.area()) / m.area() * math.exp(-m.epsilon))


@together("d", [2, 3, 10, 500])
@together("epsilon", [0.01, 1.0, 4.0, 50.0])
def test_the_scale_is_that_of_bhowmick_et_al(d: int, epsilon: float) -> None:
    """That of their Algorithm 1, with alpha = (d - 1)/2 and tau = (1 + gamma)/2, in high precision."""
    m = PrivUnit(epsilon, d)
    with mpmath.workdps(60):
        alpha, gamma = mpmath.mpf(d - 1) / 2, mpmath.mpf(m.gamma())
        tau, below = (1 + gamma) / 2, mpmath.betainc(alpha, alpha, 0, (1 + gamma) / 2)
        above = mpmath.betainc(alpha, alpha, tau, 1)
        odds = above / below * mpmath.exp(mpmath.mpf(epsilon))  # p/(1 - p)
        p = odds / (1 + odds)
        scale = (1 - gamma**2) ** alpha / (mpmath.mpf(2) ** (d - 2) * (d - 1)) * (p / above - (1 - p) / below)
    assert 1 / m.reach() == pytest.approx(float(scale), rel=1e-10)
    assert chance(m) == pytest.approx(float(p), rel=1e-10)


@together("d", [2, 3, 8, 64, 1000, 100_000])
@together("epsilon", [1e-6, 0.01, 1.0, 4.0, 10.0])
def test_no_other_cap_has_less_variance(d: int, epsilon: float) -> None:
    """On a grid of heights, at the exact epsilon; at the best one the height is m."""
    m = PrivUnit(epsilon, d)
    assert m.gamma() * m.reach() == pytest.approx(1, rel=1e-9)
    decay, more = math.exp(-epsilon), -math.expm1(-epsilon)
    for height in [*np.linspace(0, 0.999, 50), *(m.gamma() * factor for factor in (0.9, 0.99, 1.01, 1.1))]:
        if height < 1 and cap_area(height, d) > 1e-200:
            total = decay + cap_area(height, d) * more
            assert cap_moments(height, d)[0] * more / total <= 1 / m.reach() * (1 + 1e-12)


def test_the_smallest_cap_binds_beyond_an_epsilon_of_11(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for smallest in (SMALLEST_CAP, 2.0**-40):
        monkeypatch.setattr(priv_unit, "SMALLEST_CAP", smallest)
        priv_unit.best_height.cache_clear()
        for epsilon in (11.0, 12.0, 14.0, 16.0):
            found[smallest, epsilon] = [PrivUnit(epsilon, d).reach() ** 2 - 1 for d in (4, 8, 16, 100, 1000)]
    priv_unit.best_height.cache_clear()
    for epsilon, most in ((11.0, 1.001), (12.0, 1.05), (14.0, 1.3), (16.0, 1.9)):
        factors = np.array(found[SMALLEST_CAP, epsilon]) / found[2.0**-40, epsilon]
        assert 1 - 1e-9 <= factors.max() <= most
    assert factors.max() > 1.5


@together("epsilon", [0.1, 1.0, 5.0])
def test_the_profile_is_the_largest_over_all_angles(epsilon: float) -> None:
    """On the circle the law is constant on four arcs; a pair at every angle, in both orders."""
    m = PrivUnit(epsilon, 2)
    half, levels = math.acos(m.gamma()), np.array([0.0, 0.3, 0.99]) * epsilon
    inside, outside = math.log(chance(m) / m.area()), math.log((1 - chance(m)) / (1 - m.area()))
    assert inside - outside == pytest.approx(epsilon, rel=1e-12)
    largest = np.zeros(3)
    for angle in np.linspace(0.01, math.pi, 60):
        only = min(angle, 2 * half, 2 * (math.pi - half)) / (2 * math.pi)  # share of the first cap beyond the second
        found = only * (math.exp(inside) - np.exp(levels + outside))
        assert np.all(found <= m.delta(levels) * (1 + 1e-12))
        largest = np.maximum(largest, found)
        y = m.reach() * np.array([math.cos(half - 1e-9), math.sin(half - 1e-9)])
        assert m.log_prob(y, [1.0, 0.0]) == pytest.approx(inside, rel=1e-12)
    assert largest == pytest.approx(m.delta(levels), rel=1e-12)
    assert m.delta(epsilon) == 0


@together("d", [2, 3, 5])
def test_law_and_moments_over_the_sphere(d: int) -> None:
    """By an integral over <v, x> and, around it, a direction; a second coordinate by symmetry."""
    m = PrivUnit(1.5, d)
    x = np.eye(d)[0]
    angles = (np.arange(200_000) + 0.5) / 200_000 * math.pi
    weights = np.sin(angles) ** (d - 2)
    y = np.zeros((angles.size, d))
    y[:, 0], y[:, 1] = np.cos(angles), np.sin(angles)
    masses = weights / weights.sum() * np.exp(m.log_prob(m.reach() * y, x))
    assert masses.sum() == pytest.approx(1, abs=1e-4)
    assert m.reach() * masses @ y[:, 0] == pytest.approx(1, abs=1e-3)
    along, around = masses @ y[:, 0] ** 2, masses @ y[:, 1] ** 2 / (d - 1)
    expected = [m.reach() ** 2 * along - 1, *[m.reach() ** 2 * around] * (d - 1)]
    assert m.variance(x) == pytest.approx(expected, rel=1e-3)
    slanted = np.arange(1, d + 1) / np.linalg.norm(np.arange(1, d + 1))
    assert m.variance(slanted).sum() == pytest.approx(m.reach() ** 2 - 1, rel=1e-12)
    assert m.implemented().variance(slanted) == pytest.approx(m.variance(slanted), rel=1e-5)
    assert m.implemented().mean(slanted) == pytest.approx(slanted, rel=1e-5)


def test_the_definition_is_symbolic_and_adds_up() -> None:
    m, law = PrivUnit(1.0, 4), PrivUnit.symbolic()
    assert simplify(law.total() - 1) == 0
    values = {"A": m.area(), "t": exp(1)}
    first, second = (
        float(one.probability.subs({v: values[v.name] for v in one.probability.free_symbols})) for one in law.classes
    )
    x = np.eye(4)[0]
    assert m.log_prob(m.reach() * x, x) == pytest.approx(math.log(first), rel=1e-12)
    assert m.log_prob(-m.reach() * x, x) == pytest.approx(math.log(second), rel=1e-12)


@given(st.floats(-14, 5).map(math.exp), st.sampled_from([2, 3, 10, 1000, 100_000]), st.integers(2, 64))
def test_the_implemented_epsilon_never_exceeds_the_claimed_one(epsilon: float, d: int, bits: int) -> None:
    """For every share of a cap within the slack, of two inputs, whatever they favour; in exact fractions."""
    m = PrivUnit(epsilon, d)
    law = m.implemented(bits)
    rarer, words = law.rarer(), 2**bits
    if rarer is None:
        assert law.exact_epsilon() == 0
        return
    area, slack = m.sides()[0], m.slack()
    shares = [area - slack, area, area + slack]
    inside = [Fraction(words - rarer, words) / share for share in shares]
    outside = [Fraction(rarer, words) / (1 - share) for share in shares]
    ratio = max(inside + outside) / min(inside + outside)
    with mpmath.workdps(60):
        assert mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator) <= mpmath.mpf(epsilon)
        assert law.exact_epsilon() >= float(mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)) * (1 - 1e-12)
    for level in (0.0, 1e-7, 0.3 * epsilon):
        t, chances = math.exp(level), (float(1 - Fraction(rarer, words)), rarer / words)
        for (i, o, a), (q, b) in product(
            zip(inside, outside, shares, strict=True), zip(outside, shares, strict=True)
        ):  # opposite caps of shares a and b; what lies in neither has a loss too
            between = float((1 - a - b) / (1 - a))
            gap = chances[0] * max(0.0, 1 - t * float(q / i)) + chances[1] * between * max(0.0, 1 - t * float(q / o))
            assert gap <= float(law.delta(level)) * (1 + 1e-9) + 1e-12


def test_sixty_four_bits_lose_little() -> None:
    for d in (2, 16, 1000):
        for epsilon in (0.01, 1.0, 8.0):
            assert PrivUnit(epsilon, d).implemented().exact_epsilon() == pytest.approx(epsilon, rel=1e-12)
    assert PrivUnit(50.0, 16).implemented().exact_epsilon() > 49.9
    assert PrivUnit(1e-7, 16).implemented().exact_epsilon() == 0  # the slack is larger
    assert PrivUnit(3e-4, 100_000).implemented().exact_epsilon() > 0


def test_the_mean_is_shrunk_by_no_more_than_is_stated() -> None:
    for d, small, one in ((2, 1e-4, 1e-6), (100, 1e-4, 1e-6), (10_000, 2e-3, 2e-5), (100_000, 0.012, 1.3e-4)):
        for epsilon, most in ((0.01, small), (1.0, one)):
            m = PrivUnit(epsilon, d)
            assert 0 <= 1 - m.implemented().mean(m.worst_pair()[0])[0] <= most


FINITE = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-0.6, 0.8], [-1.0, 0.0], [0.28, -0.96]])
SHARES = [3, 2, 1, 2, 3, 1]
"""Six directions, and how often of twelve times each is drawn, so that caps have different shares."""


@together("bits", [2, 64])
def test_a_direction_is_reported_with_a_probability_that_knows_the_side_alone(bits: int) -> None:
    """Of a law of six directions: P(v) p/P(cap) or P(v) (1 - p)/(1 - P(cap)). False alarm 1e-6 for each."""
    m, trials = PrivUnit(3.0, 2), 30_000
    law = m.implemented(bits)
    angles = np.arctan2(FINITE[:, 1], FINITE[:, 0])[np.repeat(np.arange(6), SHARES)]
    rarer = law.rarer()
    for x in ([1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]):
        inputs = np.tile(x, (trials, 1))
        reports = law.drawn(inputs, FewDirections(4, angles))
        near = FINITE @ np.array(x) >= m.gamma()
        cap = sum(share for share, one in zip(SHARES, near, strict=True) if one) / 12
        p = 0.0 if rarer is None else 1 - rarer / 2**bits
        for v, share, favoured in zip(FINITE, SHARES, near, strict=True):
            expected = share / 12 * (1.0 if rarer is None else p / cap if favoured else (1 - p) / (1 - cap))
            hits = int(np.all(np.abs(reports - m.reach() * v) < 1e-9, axis=-1).sum())
            assert_frequency(hits, trials, expected)


def beyond(reports: Any, x: np.ndarray, m: PrivUnit) -> None:
    """How many reports lie in caps around x and around another axis; false alarm 1e-6 for each."""
    wide = np.asarray(reports, dtype=np.float64) / m.reach()
    assert_frequency(int((wide @ x >= m.gamma()).sum()), len(wide), chance(m))
    inside, outside = chance(m) / m.area(), (1 - chance(m)) / (1 - m.area())
    higher = cap_area((m.gamma() + 1) / 2, m.d)
    assert_frequency(int((wide @ x >= (m.gamma() + 1) / 2).sum()), len(wide), inside * higher)
    opposite = cap_area(0.3, m.d)
    assert_frequency(int((wide @ -x >= 0.3).sum()), len(wide), outside * opposite)
    other = np.zeros(m.d)
    other[np.argmin(np.abs(x))] = 1.0
    other -= (other @ x) * x
    assert_frequency(int((wide @ other >= 0).sum()), len(wide), 0.5)  # by symmetry


@together(("epsilon", "d"), [(1.0, 2), (4.0, 3), (3.0, 20)])
@together("dtype", [np.float32, np.float64, torch.float32])
def test_samples_have_the_law(epsilon: float, d: int, dtype: Any) -> None:
    """Around an axis and a slanted vector; with 20,000 reports a share off by 0.03 is missed below 1e-6."""
    m, trials = PrivUnit(epsilon, d), 20_000
    for x in (np.eye(d)[1], np.arange(1, d + 1) / np.linalg.norm(np.arange(1, d + 1))):
        inputs = np.tile(x, (trials, 1))
        if isinstance(dtype, torch.dtype):
            drawn = m.sample(torch.from_numpy(inputs).to(dtype), rng=torch.Generator().manual_seed(3))
        else:
            drawn = m.sample(inputs.astype(dtype), rng=np.random.default_rng(3))
        assert drawn.dtype == dtype
        assert np.linalg.norm(np.asarray(drawn, dtype=np.float64), axis=-1) == pytest.approx(m.reach(), rel=1e-6)
        beyond(drawn, x, m)


def test_samples_of_another_epsilon_do_not_pass() -> None:
    x = np.tile([0.6, 0.8, 0.0], (50_000, 1))
    drawn = PrivUnit(1.2, 3).sample(x, rng=np.random.default_rng(3))
    drawn *= PrivUnit(1.0, 3).reach() / PrivUnit(1.2, 3).reach()
    with pytest.raises(AssertionError, match="where"):
        beyond(drawn, x[0], PrivUnit(1.0, 3))


def test_a_large_epsilon_is_sampled_in_reasonable_time() -> None:
    drawn = PrivUnit(50.0, 10).sample(np.tile(np.eye(10)[0], (50, 1)), rng=np.random.default_rng(1))
    assert np.all(drawn[:, 0] >= PrivUnit(50.0, 10).gamma() * PrivUnit(50.0, 10).reach() * (1 - 1e-9))


@together(
    ("call", "message"),
    [
        (lambda: PrivUnit(0, 3), "epsilon must be a finite number > 0"),
        (lambda: PrivUnit(math.inf, 3), "epsilon must be a finite number > 0"),
        (lambda: PrivUnit(1.0, 1), "d must be a whole number >= 2 and <= 100000, got 1"),
        (lambda: PrivUnit(1.0, 2.5), "d must be a whole number"),
        (lambda: PrivUnit(1.0, 2).mean([1.0]), "x must be real vectors of shape"),
        (lambda: PrivUnit(1.0, 2).mean([1.0, 1.0]), "x must be vectors of length 1, to 1%, got one of length 1.41"),
        (lambda: PrivUnit(1.0, 2).variance([0.0, 0.0]), "x must be vectors of length 1, to 1%, got one of length 0.0"),
        (lambda: PrivUnit(1.0, 2).mean([math.nan, 1.0]), "x must lie in"),
        (lambda: PrivUnit(1.0, 2).mean([math.inf, 0.0]), "x must be vectors of length 1"),
        (lambda: PrivUnit(1.0, 2).sample([0.0, 0.5], rng=np.random.default_rng(0)), "x must be vectors of length 1"),
        (lambda: PrivUnit(1.0, 2).log_prob([0.0], [0.0, 1.0]), "y must be real vectors of shape"),
        (lambda: PrivUnit(1e-5, 2).sample(np.eye(2, dtype=np.float16), rng=np.random.default_rng(0)), "cannot hold"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_report_has_no_probability() -> None:
    m, x = PrivUnit(1.0, 2), np.array([[1.0, 0.0], [0.0, 1.0]])
    assert np.all(np.isneginf(m.log_prob([0.0, 1.0], x)))
    assert np.all(np.isneginf(m.log_prob([0.0, m.reach() * (1 + 1e-9)], x)))
    assert m.log_prob(np.array([0.0, m.reach()], np.float32), x).shape == (2,)
    assert np.all(np.isfinite(m.log_prob(np.array([0.0, m.reach()], np.float32), x)))


@together("epsilon", [1e-9, 0.01, 50.0, 700.0, 1e4])
def test_the_ends_of_epsilon(epsilon: float) -> None:
    for d in (2, 3, 1000, 100_000):
        m = PrivUnit(epsilon, d)
        assert m.exact_epsilon() == epsilon
        assert SMALLEST_CAP * (1 - 1e-9) <= m.area() <= 0.5
        assert 0 < m.delta(0.0) <= 1
        assert m.reach() > 1
        assert np.all(m.variance(m.worst_pair()[0]) > 0)
