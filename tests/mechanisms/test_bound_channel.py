"""Symbolic channels with numbers put in: the suprema against closed forms and against a search over a grid."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import E, Expr, Mul, Piecewise, Rational

from ldp_audit.mechanisms.channel import Ind, SymbolicChannel
from ldp_audit.mechanisms.frequency.randomized_response import RandomizedResponse
from ldp_audit.mechanisms.frequency.unary_encoding import UnaryEncoding
from ldp_audit.mechanisms.noise.laplace import LAPLACE
from ldp_audit.mechanisms.selection.subsample_release import WITHOUT_REPLACEMENT
from ldp_audit.mechanisms.values.hybrid import HYBRID
from ldp_audit.mechanisms.values.piecewise import PIECEWISE
from ldp_audit.mechanisms.values.two_point import TWO_POINT, TwoPoint
from ldp_audit.mechanisms.variable import ROOT_T, T, Variable
from tests.frequency import assert_frequency
from tests.together import together

epsilons = st.one_of(st.floats(1e-9, 50.0), st.sampled_from([1e-9, 0.1, 1.0, 50.0]))
x = Variable("x", 0, 1)
z = Variable("z", 0, 1)


@settings(max_examples=8)
@given(epsilons, st.floats(-3, 3), st.floats(0.01, 3), st.floats(0, 60))
def test_the_two_point_mechanism_comes_out_as_its_closed_forms(e: float, c: float, r: float, level: float) -> None:
    m, closed = TWO_POINT.bind(epsilon=e, c=c, r=r), TwoPoint(e, c, r)
    assert m.exact_epsilon() == pytest.approx(e, rel=1e-14)
    assert m.delta(level) == pytest.approx(closed.delta(level), rel=1e-12, abs=1e-30)
    assert sorted(m.worst_pair()) == pytest.approx([c - r, c + r])


@given(epsilons, st.floats(0, 60))
@settings(max_examples=8)
def test_the_piecewise_mechanism_has_its_profile(e: float, level: float) -> None:
    with mpmath.workdps(50):
        t, ratio = mpmath.exp(e), mpmath.exp(level)
        expected = float(max(mpmath.mpf(0), (t - ratio) / (t + mpmath.sqrt(t))))
    m = PIECEWISE.bind(epsilon=e)
    assert m.exact_epsilon() == pytest.approx(e, rel=1e-14)
    assert m.delta(level) == pytest.approx(expected, rel=1e-12, abs=1e-30)


def test_a_mixed_law_mixes_profiles() -> None:
    m = HYBRID.bind(epsilon=1.0, alpha=0.3)
    t = math.e
    for level in (0.0, 0.4):
        parts = (t - math.exp(level)) / (t + math.exp(0.5)), (t - math.exp(level)) / (t + 1)
        assert m.delta(level) == pytest.approx(0.3 * parts[0] + 0.7 * parts[1], rel=1e-12)
    assert m.exact_epsilon() == pytest.approx(1.0)


def test_a_channel_with_an_indicator_has_the_numbers_of_randomised_response() -> None:
    answer = RandomizedResponse(1.0, k=4)
    m = answer.symbolic().bind(epsilon=1.0)
    assert m.exact_epsilon() == pytest.approx(1.0, rel=1e-14)
    assert m.delta([0.0, 0.3]) == pytest.approx(answer.delta([0.0, 0.3]), rel=1e-12)
    assert m.log_prob(1, 2) == pytest.approx(answer.log_prob(1, 2), rel=1e-12)


def test_a_channel_of_bits_has_the_numbers_of_unary_encoding() -> None:
    """Outputs that are tuples: the law, the suprema, and samples, with a false alarm of 1e-6 for each report."""
    known, x = UnaryEncoding(1.0, 3), Variable("x", 0, 2, integer=True)
    ones = [Rational(1, 2) * Ind(x, v) + (1 - Ind(x, v)) / (T + 1) for v in range(3)]
    law = [(y, Mul(*(p if bit else 1 - p for bit, p in zip(y, ones, strict=True)))) for y in product((0, 1), repeat=3)]
    m = SymbolicChannel("bits", x, law).bind(epsilon=1.0)
    assert m.exact_epsilon() == pytest.approx(1.0, rel=1e-14)
    assert m.delta([0.0, 0.3]) == pytest.approx(known.delta([0.0, 0.3]), rel=1e-12)
    every = np.array(list(product((0, 1), repeat=3)))
    assert m.log_prob(every, 1) == pytest.approx(known.log_prob(every, 1), rel=1e-12)
    assert m.log_prob([0, 0, 2], 1) == -math.inf
    assert list(m.reports()) == known.reports()
    assert m.implemented_epsilon() <= 1.0
    assert m.implemented().log_prob((0, 1, 0), 1) == pytest.approx(known.log_prob((0, 1, 0), 1), rel=1e-12)
    drawn = m.sample(np.ones(20_000), rng=np.random.default_rng(1))
    for y in m.reports():
        assert_frequency(int(np.all(drawn == y, axis=1).sum()), 20_000, math.exp(known.log_prob(y, 1)))
    with pytest.raises(ValueError, match=r"y must be vectors of shape \(..., 3\), got shape \(2,\)"):
        m.log_prob([0, 1], 1)
    for moment in (m.implemented().mean, m.implemented().variance):
        with pytest.raises(ValueError, match="moments need reports that are numbers"):
            moment(1)


def brute_force(channel: SymbolicChannel, level: float, steps: int = 41) -> float:
    """The largest divergence over pairs of a grid of inputs."""
    grids = [np.linspace(float(v.lower), float(v.upper), steps) for v in channel.inputs]
    points = np.array(np.meshgrid(*grids)).reshape(len(grids), -1)
    from sympy import lambdify

    rows = np.array(
        [np.broadcast_to(lambdify(channel.inputs, a.probability)(*points), points.shape[1]) for a in channel.atoms]
    )
    gaps = np.maximum(rows[:, :, None] - math.exp(level) * rows[:, None, :], 0).sum(axis=0)
    return float(gaps.max())


CURVED = SymbolicChannel("curved", x, {1: (1 + 4 * x * (1 - x)) / 3, 0: (2 - 4 * x * (1 - x)) / 3})
THREE = SymbolicChannel("three", x, {0: x**2 / 4, 1: (1 - x) ** 2 / 4, 2: 1 - (x**2 + (1 - x) ** 2) / 4})
TWO_INPUTS = SymbolicChannel("two inputs", [x, z], {1: (1 + x + 2 * x * z) / 5, 0: 1 - (1 + x + 2 * x * z) / 5})


@together("channel", [CURVED, THREE, TWO_INPUTS])
@together("level", [0.0, 0.1, 0.5])
def test_delta_is_the_largest_over_a_fine_grid(channel: SymbolicChannel, level: float) -> None:
    assert channel.bind().delta(level) == pytest.approx(brute_force(channel, level), abs=2e-3)
    assert channel.bind().delta(level) >= brute_force(channel, level) - 1e-12


def test_the_turning_point_of_a_curved_probability_is_found() -> None:
    m = CURVED.bind()
    assert m.exact_epsilon() == pytest.approx(math.log(2), rel=1e-14)
    assert 0.5 in m.worst_pair()


def test_supports_that_differ_have_no_epsilon() -> None:
    shifted = SymbolicChannel("shifted", x, pieces=[(x, x + 1, 1)]).bind()
    assert shifted.exact_epsilon() == math.inf
    assert list(shifted.delta([0.0, 5.0])) == [1.0, 1.0]
    sampled = WITHOUT_REPLACEMENT.bind(n=10, k=3)
    assert sampled.exact_epsilon() == math.inf
    assert list(sampled.delta([0.0, 1.0, math.inf])) == pytest.approx([0.3] * 3)


def test_a_step_that_hides_its_input_has_epsilon_zero() -> None:
    hidden = SymbolicChannel("hidden", x, pieces=[(-1, x, Rational(1, 3)), (x, 2, Rational(1, 3))]).bind()
    assert hidden.exact_epsilon() == 0.0
    assert hidden.delta(0.0) == pytest.approx(0.0, abs=1e-40)


def test_numbers_are_those_of_the_definition() -> None:
    m, closed = TWO_POINT.bind(epsilon=2.0, c=0.5, r=2.0), TwoPoint(2.0, 0.5, 2.0)
    at = np.array([-1.5, 0.0, 2.5])
    assert m.mean(at) == pytest.approx(at)
    assert m.variance(at) == pytest.approx(closed.variance(at))
    assert m.log_prob(closed.outputs()[1], at) == pytest.approx(closed.log_prob(closed.outputs()[1], at))
    density = PIECEWISE.bind(epsilon=1.0)
    assert density.log_prob(9.0, 0.0) == -math.inf
    inside, outside = density.log_prob(0.0, 0.0), density.log_prob(4.0, 0.0)
    assert inside - outside == pytest.approx(1.0)


@together(
    ("values", "message"),
    [
        ({}, "needs a number for c, r, t"),
        ({"epsilon": -1, "c": 0, "r": 1}, "epsilon must be a number with 0 < epsilon < oo, got -1.0"),
        ({"epsilon": 1, "c": 0, "r": 1, "q": 2}, "has no q; it has c, epsilon, r, t"),
        ({"epsilon": 1, "t": 2, "c": 0, "r": 1}, "give t or epsilon, not both"),
        ({"epsilon": math.nan, "c": 0, "r": 1}, "epsilon must be a number with"),
    ],
)
def test_bad_numbers_are_named(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TWO_POINT.bind(**values)


def test_laws_that_are_not_solved_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="input 'x' must have a bounded range"):
        LAPLACE.bind(b=1.0).exact_epsilon()
    moving = SymbolicChannel("moving", x, {x + 2: Rational(1, 2), -1: Rational(1, 2)})
    with pytest.raises(ValueError, match="outputs that depend on the input"):
        moving.bind().log_prob(2.0, 0.0)
    bent = SymbolicChannel("bent", x, pieces=[(0, 1, (1 + x) / 2), (1, 2, (1 - x) / 2)])
    with pytest.raises(ValueError, match="densities free of it"):
        bent.bind().exact_epsilon()
    with pytest.raises(ValueError, match=r"x must lie in \[0.0, 1.0\]"):
        CURVED.bind().mean(2.0)
    with pytest.raises(ValueError, match="inputs must be 1 arrays"):
        CURVED.bind().mean(0.5, 0.5)


def test_the_parameter_of_an_exponential_may_be_given_directly() -> None:
    assert TWO_POINT.bind(t=2.0, c=0, r=1).exact_epsilon() == pytest.approx(math.log(2))
    assert T.name == "t"


def test_exponentials_and_logarithms_that_are_linked_agree() -> None:
    """t = 4 and s = 7 were one epsilon of two values."""
    both = binary(1 / (ROOT_T + 1) + x * (T - 1) / (4 * (T + 1)))
    exact = both.bind(epsilon=math.log(2)).exact_epsilon()
    assert both.bind(t=2, s=math.sqrt(2)).exact_epsilon() == pytest.approx(exact, rel=1e-12)
    with pytest.raises(ValueError, match=r"s = .* and t = .* must agree, got 7.0 and 4.0; give epsilon instead"):
        both.bind(s=7, t=4)
    a = Variable("a", 1, 3)
    logarithm = binary((Variable("l", 0, 2, log_of=a) + a + x) / 9)
    assert logarithm.bind(a=2, l=math.log(2)).exact_epsilon() > 0
    with pytest.raises(ValueError, match=r"l must be log\(a\), got 1\.0 and 2\.0"):
        logarithm.bind(a=2, l=1)


def test_an_input_that_follows_another_variable_is_refused() -> None:
    """E = e**x was a free input: its epsilon was 1.3 instead of 0.3."""
    follows, free = Variable("w", 1, E, exp_of=x), Variable("w", 1, 2, log_of=Variable("a", 2, 7))
    for channel in (
        binary((3 + follows) / 9, x, follows),
        binary((3 + follows + Variable("v", 1, 9, exp_of=2 * x)) / 99, follows, Variable("v", 1, 9, exp_of=2 * x)),
        binary((free + free.log_of) / 19, free),
    ):
        with pytest.raises(ValueError, match=r"input 'w' is .* which is not free of the other variables .* not solved"):
            channel.bind(**{"a": 3.0} if free in channel.inputs else {})
    alone = Variable("w", 1, E, exp_of=Variable("y", 0, 1))
    assert sorted(binary(alone / 4, alone).bind().worst_pair()) == [1.0, math.e]


def test_a_pole_within_the_range_is_refused() -> None:
    a = Variable("a", -1, 2)
    pole = binary(Rational(1, 2) + Rational(1, 10**6) / (x - a))
    for where in (0.3, 0.0, 1 / 7):
        with pytest.raises(ValueError, match=f"is infinite at x = {where}"):
            pole.bind(a=where).exact_epsilon()
    assert pole.bind(a=1.5).exact_epsilon() > 0
    removable = (x**2 - Rational(1, 9)) / (x - Rational(1, 3)) / 4
    assert binary(removable + Rational(1, 4)).bind().exact_epsilon() == pytest.approx(math.log(7 / 4))


def binary(p: Expr, *inputs: Variable) -> SymbolicChannel:
    return SymbolicChannel("binary", inputs or (x,), {1: p, 0: 1 - p})


def test_outputs_that_move_are_not_answered_as_if_they_stood_still() -> None:
    moving = SymbolicChannel("moving", x, {x + 2: Rational(1, 2), -1: Rational(1, 2)}).bind()
    for ask in (moving.exact_epsilon, moving.worst_pair, lambda: moving.delta(0.0)):
        with pytest.raises(ValueError, match="outputs that depend on the input"):
            ask()


def test_steps_are_not_taken_for_straight_lines() -> None:
    step = Piecewise((Rational(1, 4), x < Rational(1, 3)), (Rational(3, 4), x < Rational(2, 3)), (Rational(1, 4), True))
    with pytest.raises(ValueError, match="must be affine in 'x', or rational"):
        binary(step).bind().exact_epsilon()
    with pytest.raises(ValueError, match="the ends of pieces must be affine"):
        SymbolicChannel("cut", x, pieces=[(0, step, 1), (step, 1, 1)]).bind().exact_epsilon()


@together("sides", ["left", "right", "both"])
def test_open_ends_of_whole_numbers_are_left_out(sides: str) -> None:
    n = Variable("n", 0, 3, open=sides, integer=True)
    m = binary((1 + n) / 5, n).bind()
    low, high = 1 + (sides != "right"), 4 - (sides != "left")
    assert m.exact_epsilon() == pytest.approx(math.log(max(high / low, (5 - low) / (5 - high))))
    with pytest.raises(ValueError, match="n must be whole numbers in"):
        m.mean(0.5)


@settings(max_examples=5, deadline=None)
@given(st.floats(0.01, 5.0), st.floats(0.01, 0.99))
def test_a_probability_that_is_zero_in_disguise_is_zero(epsilon: float, a: float) -> None:
    disguised = binary(x * T / (T + 1) + x / (T + 1)).bind(epsilon=epsilon)
    where = Variable("a", 0, 1, open="both")
    touching = binary(x**2 - 2 * where * x + where**2).bind(a=a)
    for m in (disguised, touching):
        assert m.exact_epsilon() == math.inf
        assert 0.0 < m.delta(math.inf) <= 1.0


def test_tiny_probabilities_turn_too() -> None:
    p = Variable("p", 0, 1, open="left")
    assert binary(p * (1 + 4 * x * (1 - x)) / 2).bind(p=1e-50).exact_epsilon() == pytest.approx(math.log(2))


def test_small_numbers_are_no_rounding_errors() -> None:
    """As zeros, these had infinite epsilon, and next to none."""
    for epsilon in (700.0, 1500.0):
        assert binary((1 + x * (T - 1)) / (T + 1)).bind(epsilon=epsilon).exact_epsilon() == pytest.approx(epsilon)
    p, tiny = Variable("p", 0, 1, open="left"), Rational(1, 10**310)
    for m in (binary(tiny * (1 + x)).bind(), binary(p**2 * (1 + x) / 2).bind(p=1e-320)):
        assert m.exact_epsilon() == pytest.approx(math.log(2))


def test_a_channel_without_inputs_has_moments_and_no_reports() -> None:
    coin = SymbolicChannel("coin", (), {1: Rational(1, 4), 0: Rational(3, 4)}).bind()
    assert (coin.mean(), coin.variance()) == (0.25, 0.1875)
    with pytest.raises(ValueError, match="'coin' has no inputs, and a report is drawn for each input"):
        coin.sample(rng=np.random.default_rng(0))


def test_a_range_of_one_point_has_epsilon_zero() -> None:
    point = Variable("x", 1, 1)
    assert SymbolicChannel("point", point, pieces=[(0, point, 1)]).bind().exact_epsilon() == 0.0


def test_what_is_no_law_or_leans_on_an_input_is_refused() -> None:
    for channel, message in (
        (SymbolicChannel("half", x, {1: x / 4, 0: x / 4}), "is no law at x = 0.0"),
        (binary(2 * x - Rational(1, 2)), "is no law"),
        (SymbolicChannel("gap", x, pieces=[(0, x / 2, 1), (1, 2 - x / 2, 1)]), "pieces must touch"),
        (SymbolicChannel("alike", x, [(1, x), (1, 1 - x)]), "two atoms are the same output"),
        (binary((2 + Variable("w", -z, z)) / 4, z, Variable("w", -z, z)), "depends on another input"),
    ):
        with pytest.raises(ValueError, match=message):
            channel.bind().exact_epsilon()
    for leaning in (Variable("w", -x, x), Variable("w", 1, E, exp_of=x)):
        with pytest.raises(ValueError, match="depends on an input"):
            binary((3 + leaning) / 9).bind(w=1.0)


def test_a_parameter_may_be_called_like_a_function_of_the_arithmetic() -> None:
    name = Variable("mpf", 1, 3)
    assert binary((1 + x) / 3 / name).bind(mpf=2.0).exact_epsilon() == pytest.approx(math.log(2))


@together("y", ["a", None, 1j, [[1], [1, 2]]])
def test_reports_that_are_no_numbers_are_refused(y: object) -> None:
    with pytest.raises(ValueError, match="y must be"):
        CURVED.bind().log_prob(y, 0.5)
