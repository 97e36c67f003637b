"""Duchi's vector mechanism against enumeration of all corners, and what the usually printed form really has."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import exp, simplify

from ldp_audit.mechanisms import DuchiVector, T, TwoPoint
from tests.frequency import assert_frequency
from tests.together import together

EPSILONS = [1e-3, 1.0, math.log(3), 4.0]
CASES = [(EPSILONS[(d + printed) % 4], d, printed) for d in range(1, 6) for printed in (False, True)]


def corners(d: int) -> list[np.ndarray]:
    return [np.array(signs, dtype=float) for signs in product((-1, 1), repeat=d)]


def law(m: DuchiVector, x: np.ndarray) -> np.ndarray:
    return np.exp([float(m.log_prob(m.reach() * y, x)) for y in corners(m.d)])


@together(("epsilon", "d", "printed"), CASES)
def test_total_and_mean(epsilon: float, d: int, printed: bool) -> None:
    m = DuchiVector(epsilon, d, printed)
    for x in (np.zeros(d), np.ones(d), np.linspace(-0.9, 0.7, d)):
        p = law(m, x)
        assert math.fsum(p) == pytest.approx(1, abs=1e-13)
        reports = m.reach() * np.array(corners(d))
        assert p @ reports == pytest.approx(x, abs=1e-9)
        assert p @ (reports - x) ** 2 == pytest.approx(m.variance(x), rel=1e-9, abs=0)


@together(("epsilon", "d", "printed"), CASES)
def test_epsilon_and_delta_over_all_corners(epsilon: float, d: int, printed: bool) -> None:
    m = DuchiVector(epsilon, d, printed)
    laws = [law(m, v) for v in corners(d)]
    brute = max(float(np.max(np.log(p) - np.log(q))) for p, q in product(laws, laws))
    assert m.exact_epsilon() == pytest.approx(brute, rel=1e-9, abs=0)
    first, second = (law(m, v) for v in m.worst_pair())
    assert np.max(np.log(first) - np.log(second)) == pytest.approx(brute, rel=1e-9, abs=0)
    for share in (0.0, 0.5, 0.95, 1.2):
        level = share * m.exact_epsilon()
        delta = max(float(np.maximum(p - math.exp(level) * q, 0).sum()) for p, q in product(laws, laws))
        assert m.delta(level) == pytest.approx(delta, rel=1e-8, abs=1e-14)


def test_the_printed_form_is_off_for_even_d_only() -> None:
    t = 3.0
    for d in range(1, 7):
        expected = math.log(t + 1) if d % 2 == 0 else math.log(t)
        assert DuchiVector(math.log(t), d, printed=True).exact_epsilon() == pytest.approx(expected, rel=1e-15, abs=0)
    m = DuchiVector(math.log(t), 2, printed=True)
    tie = m.reach() * np.array([1, -1])
    assert math.exp(m.log_prob(tie, [1.0, 1.0])) == pytest.approx(1 / 3)
    assert math.exp(m.log_prob(tie, [-1.0, 1.0])) == pytest.approx(1 / 12)


def test_one_dimension_is_the_two_point_mechanism() -> None:
    m, two_point = DuchiVector(1.3, 1), TwoPoint(1.3)
    assert m.reach() == pytest.approx(two_point.outputs()[1], rel=1e-14, abs=0)
    assert m.delta([0.0, 0.7]) == pytest.approx(two_point.delta([0.0, 0.7]), rel=1e-13, abs=0)
    assert m.log_prob([[m.reach()]], [[0.4]]) == pytest.approx(two_point.log_prob(two_point.outputs()[1], 0.4))


@together("epsilon", [1e-9, 1.0, 50.0, 700.0])
@together("d", [1, 2, 101, 1000, 9999, 10_000])
@together("printed", [False, True])
def test_the_ends(epsilon: float, d: int, printed: bool) -> None:
    m = DuchiVector(epsilon, d, printed)
    assert epsilon <= m.exact_epsilon() <= math.log1p(math.exp(epsilon)) * (1 + 1e-15)
    assert 0 < m.delta(0.0) <= 1
    assert m.delta(m.exact_epsilon()) == 0
    assert m.reach() > 1 - 1e-12
    assert np.all(m.variance(np.ones(d)) >= 0)


@together("epsilon", [1e-9, 0.7, 50.0])
@together("d", [2, 3, 40, 999, 5000])
def test_large_d_in_sixty_digits(epsilon: float, d: int) -> None:
    """The spec's closed forms with mpmath: no float overflows, and no digit is lost at either end."""
    m, printed = DuchiVector(epsilon, d), DuchiVector(epsilon, d, printed=True)
    with mpmath.workdps(60):
        t, ties = mpmath.exp(epsilon), 0 if d % 2 else math.comb(d, d // 2)
        side, central = (2**d - ties) // 2, math.comb(d - 1, d // 2)
        total = (t - 1) * side + 2**d
        assert m.reach() == pytest.approx(float(total / ((t - 1) * central)), rel=1e-14, abs=0)
        assert m.delta(epsilon / 3) == pytest.approx(
            float(side * (t - mpmath.exp(epsilon / 3)) / total), rel=1e-14, abs=0
        )
        assert m.variance(np.ones(d))[0] == pytest.approx(
            float((total / ((t - 1) * central)) ** 2 - 1), rel=1e-13, abs=0
        )
        corner = np.ones(d)
        assert m.log_prob(m.reach() * corner, corner) == pytest.approx(float(mpmath.log(t / total)), rel=1e-14, abs=0)
        assert m.log_prob(-m.reach() * corner, corner) == pytest.approx(float(-mpmath.log(total)), rel=1e-14, abs=0)
        closed = (t + 1) / (t - 1) * (side + ties) / mpmath.mpf(central)
        assert printed.reach() == pytest.approx(float(closed), rel=1e-14, abs=0)


def test_the_printed_profile_over_all_pairs_of_corners() -> None:
    """By the number of places in which two corners differ, all corners counted: which the closed form says is d - 1."""
    for epsilon, d in ((1.0, 6), (0.01, 10), (8.0, 20), (2.0, 50)):
        m, t = DuchiVector(epsilon, d, printed=True), math.exp(epsilon)
        mass = {1: t / (t + 1) / m.likely(), 0: 1 / m.likely(), -1: 1 / (t + 1) / m.likely()}
        counts = [joint_sides(d, h) for h in range(1, d + 1)]
        for level in (0.0, 0.3 * epsilon, epsilon, 0.5 * epsilon + 0.5 * m.exact_epsilon()):
            gaps = {(a, b): max(0.0, mass[a] - math.exp(level) * mass[b]) for a in mass for b in mass}
            found = [math.fsum(count * gaps[sides] for sides, count in one.items()) for one in counts]
            assert m.delta(level) == pytest.approx(max(found), rel=1e-9, abs=0)
            assert found[d - 2] == pytest.approx(max(found), rel=1e-12, abs=0)


def joint_sides(d: int, h: int) -> dict[tuple[int, int], int]:
    """How many corners lie on each side of v and each side of w, which differ in h places."""
    found: dict[tuple[int, int], int] = {}
    for i, j in product(range(d - h + 1), range(h + 1)):
        sides = tuple(int(np.sign(2 * (i + agreeing) - d)) for agreeing in (j, h - j))
        found[sides] = found.get(sides, 0) + math.comb(d - h, i) * math.comb(h, j)
    return found


def test_the_definition_is_symbolic_and_adds_up() -> None:
    for printed, d in ((False, 3), (False, 4), (True, 4), (True, 5)):
        m = DuchiVector(1.0, d, printed)
        law = m.symbolic()
        counts = {"N": (2**d - m.ties()) // 2, "M": 2**d, "N_0": m.ties()}
        at = law.at({v: counts[v.name] for v in law.variables() if v.name in counts})
        assert simplify(at.total() - 1) == 0
        corner = np.ones(d)
        likely = float(at.classes[0].probability.subs({T: exp(1)}))
        assert m.log_prob(m.reach() * corner, corner) == pytest.approx(math.log(likely), rel=1e-13, abs=0)
    assert len(DuchiVector(1.0, 4, printed=True).symbolic().classes) == 3


@together(
    ("call", "message"),
    [
        (lambda: DuchiVector(0, 2), "epsilon must be a finite number > 0"),
        (lambda: DuchiVector(1.0, 0), "d must be a whole number >= 1 and <= 100000, got 0"),
        (lambda: DuchiVector(1.0, 2, 1), "printed must be True or False"),
        (lambda: DuchiVector(1.0, 2).mean([0.0]), "x must be real vectors of shape"),
        (lambda: DuchiVector(1.0, 2).mean([0.0, 1.1]), "x must lie in"),
        (lambda: DuchiVector(1.0, 2).mean([0.0, math.nan]), "x must lie in"),
        (lambda: DuchiVector(1.0, 2).log_prob([0.0], [0.0, 0.0]), "y must be real vectors of shape"),
        (lambda: DuchiVector(1.0, 2, printed=True).sample([0.0, 0.0], rng=np.random.default_rng(0)), "is not sampled"),
        (lambda: DuchiVector(1.0, 2, printed=True).implemented(), "is not sampled"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_report_has_no_probability() -> None:
    m = DuchiVector(1.0, 2)
    assert m.log_prob([0.0, 1.0], [0.0, 0.0]) == -math.inf
    assert m.log_prob([m.reach(), m.reach() * (1 + 1e-9)], [0.0, 0.0]) == -math.inf


def test_log_prob_broadcasts_and_knows_rounded_reports() -> None:
    m = DuchiVector(1.0, 3)
    y, x = m.reach() * np.array(corners(3)), np.linspace(-1, 1, 6).reshape(2, 1, 3)
    assert m.log_prob(y, x).shape == (2, 8)
    assert np.exp(m.log_prob(y, x)).sum(axis=1) == pytest.approx([1, 1])
    assert m.log_prob(y.astype(np.float32), x) == pytest.approx(m.log_prob(y, x))


@given(st.floats(-21, 6.5).map(math.exp), st.integers(1, 400), st.integers(2, 64))
def test_the_implemented_epsilon_never_exceeds_the_claimed_one(epsilon: float, d: int, bits: int) -> None:
    """The ratio of the exact probabilities, in sixty digits; at 1, input-free, where there are too few words."""
    m = DuchiVector(epsilon, d).implemented(bits)
    same, other, _ = m.probabilities()
    likely = m.mechanism.likely()
    assert same * likely + other * (2**d - likely) == 1
    assert same >= other > 0
    with mpmath.workdps(60):
        assert (
            mpmath.log(mpmath.mpf(same.numerator) * other.denominator / same.denominator / other.numerator) <= epsilon
        )
    assert m.exact_epsilon() <= epsilon


def test_sixty_four_bits_lose_nearly_nothing() -> None:
    for d in (1, 2, 51, 1000):
        for epsilon in (1e-3, 1.0, 20.0):
            assert DuchiVector(epsilon, d).implemented().exact_epsilon() == pytest.approx(epsilon, rel=1e-9, abs=0)
        assert DuchiVector(200.0, d).implemented().exact_epsilon() > 40
        assert DuchiVector(1e-3, d).implemented(3).exact_epsilon() == 0


@together("d", [1, 2, 3, 4, 5])
@together(("epsilon", "bits"), [(1.0, 4), (1.0, 64), (4.0, 6), (0.01, 5)])
def test_it_is_a_mechanism_with_the_law_of_its_counts(d: int, epsilon: float, bits: int) -> None:
    """All words, roundings of the input and corners counted, in fractions."""
    m = DuchiVector(epsilon, d).implemented(bits)
    same, other, _ = m.probabilities()
    for x in ([1.0] * d, [0.25] * d, [-0.5, *[0.75] * (d - 1)]):
        law = []
        for y in corners(d):
            probability = Fraction(0)
            for v in corners(d):
                rounding = math.prod((1 + Fraction(a) * int(s)) / 2 for a, s in zip(x, v, strict=True))
                probability += rounding * (same if v @ y > 0 else other)
            law.append(float(probability))
            assert math.exp(m.log_prob(m.mechanism.reach() * y, x)) == pytest.approx(law[-1], rel=1e-12, abs=0)
        reports = m.mechanism.reach() * np.array(corners(d))
        assert math.fsum(law) == pytest.approx(1, abs=1e-14)
        assert m.mean(x) == pytest.approx(np.array(law) @ reports, rel=1e-9, abs=1e-12 * m.mechanism.reach())
        assert m.variance(x) == pytest.approx(np.array(law) @ (reports - m.mean(x)) ** 2, rel=1e-9, abs=0)
    first, second = (
        np.exp([float(m.log_prob(m.mechanism.reach() * y, v)) for y in corners(d)]) for v in m.worst_pair()
    )
    for level in (0.0, 0.3 * epsilon, 2 * epsilon):
        brute = np.maximum(first - math.exp(level) * second, 0).sum()
        assert m.delta(level) == pytest.approx(brute, rel=1e-9, abs=1e-14)


def test_too_few_words_ignore_the_input() -> None:
    """False alarm 1e-6 a corner: all are equally likely."""
    m = DuchiVector(1e-3, 2).implemented(4)
    drawn = m.sample(np.ones((20_000, 2)), rng=np.random.default_rng(6))
    for y in corners(2):
        assert_frequency(int(np.sum(np.all(np.sign(drawn) == y, axis=1))), 20_000, 0.25)
