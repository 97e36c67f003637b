"""A user's symbolic channel as it is sampled: private, on fixed grids, and close to the law."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Rational

from ldp_audit.mechanisms.bound_channel import BoundChannel
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.values.piecewise import PIECEWISE
from ldp_audit.mechanisms.values.two_point import TWO_POINT
from ldp_audit.mechanisms.variable import T, Variable
from tests.frequency import assert_frequency

x = Variable("x", 0, 1)
z = Variable("z", 0, 1)
LOW = Rational(1, 2) / (T + 1)
WAVE = SymbolicChannel("wave", Variable("x", -1, 1), pieces=[(-2, -1, LOW), (-1, 1, T * LOW), (1, 2, LOW)])
SLIDING = Variable("x", -1, 1)
SLIDE = SymbolicChannel(
    "slide", SLIDING, pieces=[(-2, SLIDING - 1, LOW), (SLIDING - 1, SLIDING + 1, T * LOW), (SLIDING + 1, 2, LOW)]
)
TWO_INPUTS = SymbolicChannel("two", [x, z], {1: (1 + x + 2 * x * z) / 5, 0: 1 - (1 + x + 2 * x * z) / 5})


@cache
def at_one(law: SymbolicChannel) -> BoundChannel:
    """At epsilon 1; kept, as its grids are made once."""
    return law.bind(epsilon=1.0) if law is not TWO_INPUTS else law.bind()


@given(st.floats(1e-6, 40.0), st.integers(2, 64))
@settings(max_examples=10, deadline=None)
def test_the_implemented_epsilon_is_at_most_the_exact_one(epsilon: float, bits: int) -> None:
    m = TWO_POINT.bind(epsilon=epsilon, c=0, r=1)
    assert m.implemented(bits).exact_epsilon() <= m.exact_epsilon() + 1e-15


@pytest.mark.parametrize(
    ("law", "epsilon"),
    [
        (SLIDE, 1.0),
        *(pytest.param(SLIDE, one, marks=pytest.mark.slow) for one in (0.1, 8.0)),
        *(pytest.param(PIECEWISE, one, marks=pytest.mark.slow) for one in (0.1, 1.0, 8.0)),
    ],
)
def test_densities_are_private_on_their_grid(law: SymbolicChannel, epsilon: float) -> None:
    m = at_one(law) if epsilon == 1 else law.bind(epsilon=epsilon)
    implemented = m.implemented()
    assert implemented.exact_epsilon() <= m.exact_epsilon() + 1e-15
    assert implemented.delta(0.0) <= m.delta(0.0) * (1 + 1e-9)


def test_affine_probabilities_are_kept_between_the_grid_points() -> None:
    m = TWO_POINT.bind(epsilon=1.0, c=0, r=1)
    at = np.linspace(-1, 1, 7)
    assert m.implemented().mean(at) == pytest.approx(m.mean(at), abs=1e-12)
    assert m.implemented().variance(at) == pytest.approx(m.variance(at))
    y = m.outputs()[0]
    assert m.implemented().log_prob(y, at) == pytest.approx(m.log_prob(y, at))


def test_a_density_keeps_its_moments_to_the_width_of_a_cell() -> None:
    m = at_one(SLIDE)
    at = np.linspace(-1, 1, 9)
    assert m.implemented().mean(at) == pytest.approx(m.mean(at), abs=1e-9)
    assert m.implemented().variance(at) == pytest.approx(m.variance(at), rel=1e-4)


@pytest.mark.parametrize("law", [SLIDE, WAVE, TWO_INPUTS], ids=lambda law: law.name)
def test_samples_follow_the_law(law: SymbolicChannel) -> None:
    """False alarm 1e-6; with 20,000 draws a probability off by 0.03 is missed below 1e-4."""
    m = at_one(law)
    trials, at = 20_000, [np.full(20_000, 0.4) for _ in law.inputs]
    of_torch = m.sample(*map(torch.from_numpy, at), rng=torch.Generator().manual_seed(3)).numpy()
    implemented = m.implemented()
    above = sum(math.exp(implemented.log_prob(y, *(0.4 for _ in law.inputs))) for y in implemented.outputs() if y > 0.5)
    for drawn in (m.sample(*at, rng=np.random.default_rng(3)), of_torch):
        assert set(np.unique(drawn)) <= set(implemented.outputs())
        assert_frequency(int((drawn > 0.5).sum()), trials, above)


def test_every_report_can_come_from_every_input() -> None:
    implemented = at_one(SLIDE).implemented()
    for y in implemented.outputs()[::37]:
        assert np.all(np.isfinite(implemented.log_prob(y, np.linspace(-1, 1, 11))))


def test_what_cannot_be_sampled_is_refused() -> None:
    with pytest.raises(ValueError, match="a support that depends on the input has no private sampler"):
        SymbolicChannel("moving", x, pieces=[(x, x + 1, 1)]).bind().sample(np.zeros(2), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="must be affine in 'x'"):
        SymbolicChannel("bent", x, {1: x**2 / 2, 0: 1 - x**2 / 2}).bind().sample([0.0], rng=np.random.default_rng(0))
    m = at_one(SLIDE)
    with pytest.raises(ValueError, match=r"x must lie in \[-1.0, 1.0\]"):
        m.sample(np.array([2.0]), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="inputs must be 1 arrays, got 2"):
        m.sample(np.zeros(2), np.zeros(2), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="bits must be"):
        m.implemented(1)


@settings(max_examples=8, deadline=None)
@given(st.floats(-3.0, 3.0), st.floats(0.1, 3.0), st.sampled_from([0.1, 1.0, 20.0]))
def test_ends_that_are_no_floats_cost_no_privacy(c: float, r: float, epsilon: float) -> None:
    center, radius = Variable("c", -5, 5), Variable("r", 0, 5, open="left")
    w = Variable("w", center - radius, center + radius)
    share = (w - center + radius) / (2 * radius)
    p = (1 + share * (T - 1)) / (T + 1)
    m = SymbolicChannel("ends", w, {1: p, 0: 1 - p}).bind(c=c, r=r, epsilon=epsilon)
    assert m.implemented().exact_epsilon() <= m.exact_epsilon()
    assert SymbolicChannel("all", w, {1: share, 0: 1 - share}).bind(c=c, r=r).implemented().exact_epsilon() == math.inf


def test_an_atom_may_be_the_middle_of_a_cell() -> None:
    middle = Rational(1, 1024)
    m = SymbolicChannel("both", x, {middle: Rational(1, 2)}, [(0, 1, Rational(1, 2))]).bind().implemented()
    assert len(m.outputs()) == 512
    assert math.exp(m.log_prob(float(middle), 0.5)) == pytest.approx(0.5 + 0.5 / 512)


def test_a_range_of_one_point_is_sampled() -> None:
    for point in (Variable("x", 1, 1), Variable("x", 1, 1, integer=True)):
        m = SymbolicChannel("point", point, {1: point / 2, 0: 1 - point / 2}).bind()
        assert m.implemented().mean(np.ones(3)) == pytest.approx([0.5] * 3)
        assert set(m.sample(np.ones(50), rng=np.random.default_rng(0)).tolist()) == {0.0, 1.0}


def test_whole_inputs_stay_whole_and_off_their_open_ends() -> None:
    n = Variable("n", 0, 3, open="right", integer=True)
    m = SymbolicChannel("whole", n, {1: (1 + n) / 9, 0: (8 - n) / 9}).bind()
    assert m.implemented().exact_epsilon() <= m.exact_epsilon()
    for bad in (0.5, 3.0):
        with pytest.raises(ValueError, match="n must be whole numbers"):
            m.sample(np.array([bad]), rng=np.random.default_rng(0))
