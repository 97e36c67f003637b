"""Duchi's vector mechanism against enumeration of all corners, and what the usually printed form really has."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from ldp_audit.mechanisms import DuchiVector, TwoPoint
from tests.frequency import assert_frequency

SIZES = [(e, d, printed) for e in (1e-3, 1.0, math.log(3), 4.0) for d in (1, 2, 3, 4, 5) for printed in (False, True)]
every_size = pytest.mark.parametrize(("epsilon", "d", "printed"), SIZES)


def corners(d: int) -> list[np.ndarray]:
    return [np.array(signs, dtype=float) for signs in product((-1, 1), repeat=d)]


def law(m: DuchiVector, x: np.ndarray) -> np.ndarray:
    return np.exp([float(m.log_prob(m.reach() * y, x)) for y in corners(m.d)])


@every_size
def test_total_and_mean(epsilon: float, d: int, printed: bool) -> None:
    m = DuchiVector(epsilon, d, printed)
    for x in (np.zeros(d), np.ones(d), np.linspace(-0.9, 0.7, d)):
        p = law(m, x)
        assert math.fsum(p) == pytest.approx(1, abs=1e-13)
        reports = m.reach() * np.array(corners(d))
        assert p @ reports == pytest.approx(x, abs=1e-9)
        assert p @ (reports - x) ** 2 == pytest.approx(m.variance(x), rel=1e-9)


@every_size
def test_epsilon_and_delta_over_all_corners(epsilon: float, d: int, printed: bool) -> None:
    m = DuchiVector(epsilon, d, printed)
    laws = [law(m, v) for v in corners(d)]
    brute = max(float(np.max(np.log(p) - np.log(q))) for p, q in product(laws, laws))
    assert m.exact_epsilon() == pytest.approx(brute, rel=1e-9)
    first, second = (law(m, v) for v in m.worst_pair())
    assert np.max(np.log(first) - np.log(second)) == pytest.approx(brute, rel=1e-9)
    for share in (0.0, 0.5, 0.95, 1.2):
        level = share * m.exact_epsilon()
        delta = max(float(np.maximum(p - math.exp(level) * q, 0).sum()) for p, q in product(laws, laws))
        assert m.delta(level) == pytest.approx(delta, rel=1e-8, abs=1e-14)


def test_the_printed_form_is_off_for_even_d_only() -> None:
    t = 3.0
    for d in range(1, 7):
        expected = math.log(t + 1) if d % 2 == 0 else math.log(t)
        assert DuchiVector(math.log(t), d, printed=True).exact_epsilon() == pytest.approx(expected, rel=1e-15)
    m = DuchiVector(math.log(t), 2, printed=True)
    tie = m.reach() * np.array([1, -1])
    assert math.exp(m.log_prob(tie, [1.0, 1.0])) == pytest.approx(1 / 3)
    assert math.exp(m.log_prob(tie, [-1.0, 1.0])) == pytest.approx(1 / 12)


def test_one_dimension_is_the_two_point_mechanism() -> None:
    m, two_point = DuchiVector(1.3, 1), TwoPoint(1.3)
    assert m.reach() == pytest.approx(two_point.outputs()[1], rel=1e-14)
    assert m.delta([0.0, 0.7]) == pytest.approx(two_point.delta([0.0, 0.7]), rel=1e-13)
    assert m.log_prob([[m.reach()]], [[0.4]]) == pytest.approx(two_point.log_prob(two_point.outputs()[1], 0.4))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_sampler_draws_from_the_law(d: int) -> None:
    """False alarm 1e-6 a corner; a probability off by 0.03 is missed with a chance below 1e-3."""
    m, trials, x = DuchiVector(1.0, d), 20_000, np.linspace(-0.5, 1.0, d)
    drawn = m.sample(np.tile(x, (trials, 1)), rng=np.random.default_rng(6))
    for y, probability in zip(corners(d), law(m, x), strict=True):
        assert_frequency(int(np.sum(np.all(np.sign(drawn) == y, axis=1))), trials, float(probability))
    assert m.implemented_epsilon() <= 1.0


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 50.0])
@pytest.mark.parametrize("d", [1, 2, 101, 1000])
def test_the_ends(epsilon: float, d: int) -> None:
    m = DuchiVector(epsilon, d)
    assert m.implemented_epsilon() <= epsilon
    assert 0 < m.delta(0.0) <= 1
    assert m.delta(epsilon) == 0
    assert m.reach() > 1 - 1e-12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DuchiVector(0, 2), "epsilon must be a finite number > 0"),
        (lambda: DuchiVector(1.0, 0), "d must be a whole number >= 1, got 0"),
        (lambda: DuchiVector(1.0, 2, 1), "printed must be True or False"),
        (lambda: DuchiVector(1.0, 2).mean([0.0]), "x must be real vectors of shape"),
        (lambda: DuchiVector(1.0, 2).mean([0.0, 1.1]), "x must lie in"),
        (lambda: DuchiVector(1.0, 2, printed=True).sample([0.0, 0.0], rng=np.random.default_rng(0)), "is not sampled"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_report_has_no_probability() -> None:
    assert DuchiVector(1.0, 2).log_prob([0.0, 1.0], [0.0, 0.0]) == -math.inf
