"""TwoPoint's numbers are held to its symbolic definition, and its sampler to its numbers; and as it is sampled."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sympy import Expr, lambdify

from ldp_audit import TwoPoint
from ldp_audit.mechanisms.randomness import rarer_words
from ldp_audit.mechanisms.values.two_point import (
    CENTER,
    RADIUS,
    TWO_POINT,
    WEIGHT,
)
from ldp_audit.mechanisms.variable import T
from tests.together import together

epsilons = st.one_of(st.floats(1e-9, 50.0), st.sampled_from([1e-9, 1e-3, 1.0, 36.0, 50.0]))
centers = st.floats(-3, 3)
radii = st.floats(0.01, 3)
positions = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0]))


@functools.cache
def compiled(expression: Expr) -> Callable[..., mpmath.mpf]:
    return lambdify((T, CENTER, RADIUS, WEIGHT), expression, "mpmath")


VARIANCE = TWO_POINT.variance()


def exact(expression: Expr, m: TwoPoint, x: float) -> mpmath.mpf:
    """A symbolic expression at the mechanism's parameters, in 60 digits. The floats are taken as they are."""
    with mpmath.workdps(60):
        values = (mpmath.exp(mpmath.mpf(m.epsilon)), *map(mpmath.mpf, (m.center, m.radius, x)))
        return compiled(expression)(*values)


def build(epsilon: float, center: float, radius: float, position: float) -> tuple[TwoPoint, float]:
    m = TwoPoint(epsilon, center, radius)
    low, high = m.domain()
    return m, min(max(low + position * (high - low), low), high)


@given(epsilons, centers, radii, positions)
def test_log_prob_is_the_definition(epsilon: float, center: float, radius: float, position: float) -> None:
    m, x = build(epsilon, center, radius, position)
    for atom, y in zip(TWO_POINT.atoms, reversed(m.outputs()), strict=True):
        truth = exact(atom.probability, m, x)
        # x is rounded to a float: that moves the probability by at most half a unit of |c| + r over 2 r A.
        slack = 4e-16 * (abs(center) + radius) / radius
        assert math.exp(m.log_prob(y, x)) == pytest.approx(float(truth), rel=1e-12, abs=slack)


@given(epsilons, centers, radii, positions)
def test_mean_and_variance_are_those_of_the_definition(
    epsilon: float, center: float, radius: float, position: float
) -> None:
    m, x = build(epsilon, center, radius, position)
    assert m.mean(x) == x
    slack = 4e-15 * radius * (abs(center) + radius)
    assert m.variance(x) == pytest.approx(float(exact(VARIANCE, m, x)), rel=1e-12, abs=slack)


@given(epsilons, centers, radii, st.floats(0, 60))
def test_delta_is_the_largest_hockey_stick_divergence(
    epsilon: float, center: float, radius: float, level: float
) -> None:
    m = TwoPoint(epsilon, center, radius)
    high, low = m.worst_pair()
    with mpmath.workdps(60):
        t, e = mpmath.exp(mpmath.mpf(epsilon)), mpmath.exp(mpmath.mpf(level))
        direct = max(mpmath.mpf(0), (t - e) / (t + 1))
    assert m.delta(level) == pytest.approx(float(direct), rel=1e-12, abs=1e-300)
    p, q = (np.exp([m.log_prob(y, x) for y in m.outputs()]) for x in (high, low))
    assert np.maximum(p - math.exp(level) * q, 0).sum() == pytest.approx(m.delta(level), rel=1e-6, abs=1e-9)


@given(epsilons.filter(lambda e: e < 30), centers, radii, positions, positions)
def test_epsilon_is_attained_at_the_ends_and_nowhere_exceeded(
    epsilon: float, center: float, radius: float, first: float, second: float
) -> None:
    m, x = build(epsilon, center, radius, first)
    _, z = build(epsilon, center, radius, second)
    for y in m.outputs():
        assert m.log_prob(y, x) - m.log_prob(y, z) <= m.exact_epsilon() * (1 + 1e-12) + 1e-12
    a, b = m.worst_pair()
    assert m.log_prob(m.outputs()[1], a) - m.log_prob(m.outputs()[1], b) == pytest.approx(epsilon, rel=1e-9, abs=1e-15)


def test_a_report_that_is_neither_value_has_no_probability() -> None:
    assert TwoPoint(1.0).log_prob(0.0, 0.0) == -math.inf


def test_infinite_epsilon_reports_the_ends() -> None:
    m = TwoPoint(math.inf, 1.0, 2.0)
    assert m.outputs() == (-1.0, 3.0)
    assert m.variance(1.0) == 4.0
    assert list(m.delta([0.0, 1.0, math.inf])) == [1.0, 1.0, 1.0]
    assert m.exact_epsilon() == math.inf


@together(
    ("arguments", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a number > 0, got 0"),
        ({"epsilon": -1.0}, "epsilon must be a number > 0, got -1.0"),
        ({"epsilon": math.nan}, "epsilon must be a number > 0, got nan"),
        ({"epsilon": "1"}, "epsilon must be a number > 0, got '1'"),
        ({"epsilon": True}, "epsilon must be a number > 0, got True"),
        ({"epsilon": 1, "radius": 0}, "radius must be a finite number > 0, got 0"),
        ({"epsilon": 1, "radius": math.inf}, "radius must be a finite number > 0, got inf"),
        ({"epsilon": 1, "center": math.nan}, "center must be a finite number, got nan"),
        ({"epsilon": 1, "center": 1e300, "radius": 1e-300}, "center and radius must give an interval"),
    ],
)
def test_bad_parameters_are_named_with_value_and_domain(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        TwoPoint(**arguments)


def test_the_log_of_a_probability_near_one_has_all_its_digits() -> None:
    m = TwoPoint(50.0)
    low, high = m.outputs()
    rare = math.exp(-50) / (1 + math.exp(-50))
    assert m.log_prob(high, 1.0) == m.log_prob(low, -1.0) == pytest.approx(-rare, rel=1e-12, abs=0)
    other = (1 - 0.999999999) / 2  # exact; the rare report adds 2e-22
    assert m.log_prob(high, 0.999999999) == pytest.approx(math.log1p(-other), rel=1e-11, abs=0)


def test_the_rarest_count_is_rounded_up_by_less_than_one() -> None:
    for epsilon in (0.1, 1.0, 20.0, 40.0):
        with mpmath.workdps(60):
            share = mpmath.mpf(2) ** 64 / (mpmath.exp(mpmath.mpf(epsilon)) + 1)
            assert share <= rarer_words(epsilon) < share + 1


@together("bits", [2, 3, 8, 24, 53, 64])
@together("epsilon", [1e-9, 0.5, 1.0, 10.0, 30.0, 44.0, 45.0, 200.0, math.inf])
def test_the_implemented_epsilon_never_exceeds_the_claimed_one(epsilon: float, bits: int) -> None:
    """Probabilities of all inputs lie in [n, 2**bits - n] / 2**bits, and ln((2**bits - n)/n) <= epsilon exactly."""
    m = TwoPoint(epsilon).implemented(bits)
    inputs = np.concatenate([np.linspace(-1, 1, 1001), [np.nextafter(-1, 0), np.nextafter(1, 0)]])
    logs = np.concatenate([m.log_prob(y, inputs) for y in m.outputs()])
    assert logs.min() == math.log(m.rarest() / 2**bits)
    assert logs.max() == math.log((2**bits - m.rarest()) / 2**bits)
    with mpmath.workdps(60):
        assert mpmath.log(mpmath.mpf(2**bits - m.rarest()) / m.rarest()) <= mpmath.mpf(epsilon)


@given(st.floats(1e-9, 50.0), st.integers(2, 64), st.floats(-1, 1), st.floats(0, 60))
def test_it_is_a_mechanism_with_the_law_of_its_counts(epsilon: float, bits: int, x: float, level: float) -> None:
    m = TwoPoint(epsilon).implemented(bits)
    low, high = m.outputs()
    upper, lower = math.exp(m.log_prob(high, x)), math.exp(m.log_prob(low, x))
    assert upper + lower == pytest.approx(1.0, rel=1e-12)
    assert m.mean(x) == pytest.approx(low * lower + high * upper, rel=1e-9, abs=1e-9 * high)
    assert m.variance(x) == pytest.approx((high - low) ** 2 * upper * lower, rel=1e-9)
    first, second = m.worst_pair()
    gap = math.exp(m.log_prob(high, first)) - math.exp(level) * math.exp(m.log_prob(high, second))
    assert m.delta(level) == pytest.approx(max(0.0, gap), rel=1e-9, abs=1e-12)


@together(("m", "dtype"), [(TwoPoint(1.0, 0.0, 1e-9), np.float16), (TwoPoint(1.0, 1.0, 1e-9), np.float32)])
def test_a_dtype_in_which_both_reports_are_one_is_refused(m: TwoPoint, dtype: type) -> None:
    x = np.full(3, m.center, dtype=dtype)
    for asked in (lambda: m.sample(x, rng=np.random.default_rng(1)), lambda: m.log_prob(x, m.center)):
        with pytest.raises(
            ValueError, match=f"must have a wider dtype than {np.dtype(dtype)}, in which both reports are"
        ):
            asked()
    with pytest.raises(ValueError, match="in which both reports are"):
        m.sample(torch.from_numpy(x), rng=torch.Generator())


@together("center", [0.0, 0.3, -5.0])
@together("dtype", [np.float32, np.float64])
def test_reports_are_the_two_outputs_wherever_the_center_is(center: float, dtype: type) -> None:
    """Two reports that differ in the sign alone are told apart by another step than two that do not."""
    m = TwoPoint(0.7, center, 1.2)
    drawn = m.sample(np.full(1000, center, dtype), rng=np.random.default_rng(0))
    assert set(drawn.tolist()) == {float(dtype(value)) for value in m.outputs()}
