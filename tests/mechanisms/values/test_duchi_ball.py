"""Duchi's mechanism for the ball: the closed forms of the paper, one dimension, the profile; and as it is sampled."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from sympy import exp, simplify

from ldp_audit.mechanisms import DuchiBall, TwoPoint
from tests.frequency import assert_frequency
from tests.mechanisms.values.few_directions import FewDirections
from tests.together import together


@together("d", [1, 2, 3, 50, 100_000])
@together("epsilon", [1e-9, 0.01, 1.0, 50.0])
def test_the_length_of_reports_is_that_of_duchi_et_al(d: int, epsilon: float) -> None:
    """Their B, with sqrt(pi)/2 d Gamma((d - 1)/2 + 1)/Gamma(d/2 + 1)."""
    with mpmath.workdps(40):
        n, t = mpmath.mpf(d), mpmath.exp(mpmath.mpf(epsilon))
        length = (t + 1) / (t - 1) * mpmath.sqrt(mpmath.pi) / 2 * n
        length *= mpmath.exp(mpmath.loggamma((n - 1) / 2 + 1) - mpmath.loggamma(n / 2 + 1))
    assert DuchiBall(epsilon, d).reach() == pytest.approx(float(length), rel=1e-10)
    assert DuchiBall(epsilon, d).exact_epsilon() == epsilon


def test_one_dimension_is_the_two_point_mechanism() -> None:
    m, two_point = DuchiBall(1.3, 1), TwoPoint(1.3)
    assert m.reach() == pytest.approx(two_point.outputs()[1], rel=1e-12)
    assert m.delta([0.0, 0.7]) == pytest.approx(two_point.delta([0.0, 0.7]), rel=1e-12)
    for x in (-1.0, 0.4, 1.0):
        chance = math.exp(two_point.log_prob(two_point.outputs()[1], x))
        assert math.exp(m.log_prob([m.reach()], [x])) / 2 == pytest.approx(chance, rel=1e-12)
        assert m.variance([x])[0] == pytest.approx(two_point.variance(x), rel=1e-12)


def test_law_and_moments_in_the_plane() -> None:
    """By an integral over the circle; the ratio of densities is the most between opposite unit vectors."""
    m = DuchiBall(1.5, 2)
    angles = (np.arange(20_000) + 0.5) / 20_000 * 2 * math.pi
    y = m.reach() * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    inputs = [np.array(x) for x in ([0.0, 0.0], [1.0, 0.0], [0.3, -0.5], [-0.6, 0.8])]
    laws = [np.exp(m.log_prob(y, x)) / 20_000 for x in inputs]
    for x, masses in zip(inputs, laws, strict=True):
        assert masses.sum() == pytest.approx(1, abs=1e-9)
        assert masses @ y == pytest.approx(x, abs=1e-3)
        assert masses @ (y - x) ** 2 == pytest.approx(m.variance(x), rel=1e-3)
        assert m.implemented().mean(x) == pytest.approx(x, abs=1e-12)
        assert m.implemented().variance(x) == pytest.approx(m.variance(x), rel=1e-12)
    for level in (0.0, 0.5, 1.49):
        gaps = [np.maximum(p - math.exp(level) * q, 0).sum() for p in laws for q in laws]
        first, second = (np.exp(m.log_prob(y, x)) / 20_000 for x in m.worst_pair())
        assert max(gaps) <= m.delta(level) * (1 + 1e-9)
        assert np.maximum(first - math.exp(level) * second, 0).sum() == pytest.approx(m.delta(level), rel=1e-9)


def test_the_definition_is_symbolic_and_adds_up() -> None:
    m, law = DuchiBall(1.0, 4), DuchiBall.symbolic()
    assert simplify(law.total() - 1) == 0
    for one, sign in zip(law.classes, (1, -1), strict=True):
        density = float(one.probability.subs({v: exp(1) for v in one.probability.free_symbols}))
        y = sign * m.reach() * np.eye(4)[0]
        assert m.log_prob(y, np.eye(4)[0]) == pytest.approx(math.log(2 * density), rel=1e-12)


ANGLES = np.array([0.1, 0.6, 1.4, 2.2])
DRAWN = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)


def test_a_report_is_a_direction_or_its_opposite_by_the_side_alone() -> None:
    """Of a law of four directions, without symmetry: p or 1 - p; of no input 1/2. False alarm 1e-6 for each."""
    m, trials = DuchiBall(1.0, 2), 40_000
    p = 1 / (1 + math.exp(-1))
    for x in ([1.0, 0.0], [0.0, -1.0], [0.3, 0.4], [0.0, 0.0]):
        inputs = np.tile(x, (trials, 1))
        reports = m.implemented().drawn(inputs, FewDirections(4, ANGLES))
        for v in DRAWN:
            hits = int(np.all(np.abs(reports - m.reach() * v) < 1e-9, axis=-1).sum())
            pulled = (2 * p - 1) * math.hypot(*x) * np.sign(v @ x)
            both = 2 if np.any(np.all(-v == DRAWN, axis=-1)) else 1
            assert_frequency(hits, trials, both / 4 * (1 + pulled) / 2)


@together("d", [1, 2, 7])
@together("dtype", [np.float32, np.float64, torch.float64])
def test_samples_have_the_law(d: int, dtype: Any) -> None:
    """False alarm 1e-6 for each; with 50,000 reports a share off by 0.015 is missed below 1e-6."""
    m, trials = DuchiBall(1.0, d), 50_000
    for x in (np.eye(d)[0], -0.6 * np.ones(d) / math.sqrt(d), np.zeros(d)):
        inputs = np.tile(x, (trials, 1))
        if isinstance(dtype, torch.dtype):
            drawn = m.sample(torch.from_numpy(inputs).to(dtype), rng=torch.Generator().manual_seed(3))
        else:
            drawn = m.sample(inputs.astype(dtype), rng=np.random.default_rng(3))
        assert drawn.dtype == dtype
        wide = np.asarray(drawn, dtype=np.float64)
        assert np.linalg.norm(wide, axis=-1) == pytest.approx(m.reach(), rel=1e-6)
        expected = 0.5 + np.linalg.norm(x) * math.tanh(0.5) / 2
        if np.any(x):
            assert_frequency(int((wide @ x > 0).sum()), trials, expected)
            with pytest.raises(AssertionError, match="where"):
                assert_frequency(int((wide @ x > 0).sum()), trials, expected - 0.03)
        else:
            assert_frequency(int((wide[:, 0] > 0).sum()), trials, 0.5)


def test_the_implemented_epsilon_never_exceeds_the_claimed_one() -> None:
    for epsilon in (1e-3, 0.01, 1.0, 50.0):
        for bits in (2, 3, 16, 64):
            law = DuchiBall(epsilon, 5).implemented(bits)
            inside, outside, _ = law.probabilities()
            with mpmath.workdps(40):
                ratio = mpmath.mpf((inside / outside).numerator) / (inside / outside).denominator
                assert 0 <= mpmath.log(ratio) <= mpmath.mpf(epsilon)
    assert DuchiBall(1.0, 5).implemented().exact_epsilon() == pytest.approx(1.0, rel=1e-12)
    assert DuchiBall(1e-3, 5).implemented(2).exact_epsilon() == 0


def test_inputs_longer_than_one_are_clipped_on_request_and_otherwise_refused() -> None:
    m = DuchiBall(1.0, 2)
    assert m.clip([[3.0, 4.0], [0.3, 0.4]]) == pytest.approx(np.array([[0.6, 0.8], [0.3, 0.4]]))
    assert m.mean([0.603, 0.804]) == pytest.approx([0.6, 0.8])  # by half a percent: rounding
    for call in (m.mean, m.variance, lambda x: m.log_prob([m.reach(), 0.0], x)):
        with pytest.raises(ValueError, match=r"x must be vectors of length at most 1, to 1%, got one of length 5\.0"):
            call([[0.0, 0.1], [3.0, 4.0]])
    with pytest.raises(ValueError, match=r"x must be vectors of length at most 1, to 1%, got one of length 5\.0"):
        m.sample(torch.tensor([[3.0, 4.0]]), rng=torch.Generator())


@together(
    ("call", "message"),
    [
        (lambda: DuchiBall(0, 3), "epsilon must be a finite number > 0"),
        (lambda: DuchiBall(1.0, 0), "d must be a whole number >= 1 and <= 100000, got 0"),
        (lambda: DuchiBall(1.0, 2).mean([0.0]), "x must be real vectors of shape"),
        (lambda: DuchiBall(1.0, 2).mean([math.nan, 0.0]), "x must lie in"),
        (lambda: DuchiBall(1.0, 2).log_prob([0.0], [0.0, 1.0]), "y must be real vectors of shape"),
        (lambda: DuchiBall(1e-5, 2).sample(np.eye(2, dtype=np.float16), rng=np.random.default_rng(0)), "cannot hold"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_report_has_no_probability() -> None:
    m = DuchiBall(1.0, 2)
    assert np.all(np.isneginf(m.log_prob([[0.0, 1.0], [0.0, m.reach() * (1 + 1e-9)]], [1.0, 0.0])))
