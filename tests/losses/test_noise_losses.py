"""The closed forms for Gaussian and Laplace noise, against ball arithmetic and numerical integration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from tests.together import together

MUS = [1e-12, 1e-6, 1e-3, 0.03, 0.3, 1.0, 3.0, 30.0, 1e4]


def normal_tail(z: arb) -> arb:
    return (z / arb(2).sqrt()).erfc() / 2


def exact_gaussian(mu: float, epsilon: float) -> arb:
    """ln delta, with as many digits as the cancellation needs."""
    for precision in (200, 2000, 20_000):
        with ctx.workprec(precision):
            m, e = arb(mu), arb(epsilon)
            delta = normal_tail(e / m - m / 2) - e.exp() * normal_tail(e / m + m / 2)
            if delta.rel_accuracy_bits() > 60:
                return delta.log()
    raise AssertionError(f"no digits at {mu}, {epsilon}")


@together(
    ("mu", "deviations"),
    itertools.product(MUS, [-20.0, -5.001, -4.999, -1.0, -0.1, 0.0, 0.4, 1.0, 3.0, 6.0, 10.0, 38.0, 100.0]),
)
def test_gaussian_delta_is_right_to_twelve_digits(mu, deviations):
    """Would catch the cancellation of the two tails, and a jump between two formulas."""
    epsilon = mu * mu / 2 + deviations * mu
    found = GaussianLoss(mu).log_delta_bounds(epsilon)[0]
    exact = exact_gaussian(mu, epsilon)
    # a unit in the last place of epsilon moves ln delta by about this much
    given_by_rounding = 2e-16 * (1 + abs(deviations)) * (abs(epsilon) / mu + mu + abs(deviations))
    assert abs(float((arb(found) - exact).mid())) < 2e-13 + 2 * given_by_rounding


@together("law", [GaussianLoss(0.01), GaussianLoss(1.0), GaussianLoss(7.0), LaplaceLoss(1e-6), LaplaceLoss(2.0)])
def test_cells_add_up_and_their_ratios_lie_between_their_edges(law):
    """Would catch a cell under the wrong distribution, and a tail that cancels."""
    scale = law.mu if isinstance(law, GaussianLoss) else law.epsilon
    edges = np.concatenate([np.linspace(-12, -1.01, 40), np.linspace(-1, 1, 101), np.linspace(1.01, 30, 80)]) * scale
    cells = law.masses(edges)
    assert np.exp(cells.first).sum() == pytest.approx(1, abs=1e-13)
    assert np.exp(cells.second).sum() == pytest.approx(1, abs=1e-13)
    first, second = cells.first[1:-1], cells.second[1:-1]
    known = np.isfinite(first)
    ratio = first[known] - second[known]
    assert np.all(ratio >= edges[:-1][known] - 1e-12 * (1 + scale))
    assert np.all(ratio <= edges[1:][known] + 1e-12 * (1 + scale))


@together(("wide", "z"), itertools.product([1e-6, 1e-3, 0.1, 3.0], [-30.0, -3.0, -0.0005, 0.0, 2.0, 25.0]))
def test_a_gaussian_cell_is_right_to_thirteen_digits(z, wide):
    """Would catch a narrow cell taken as the difference of two nearly equal numbers."""
    law = GaussianLoss(1.0)
    found = law.masses(np.array([z + 0.5, z + wide + 0.5])).first[1]
    with ctx.workprec(2000):
        low, high = arb(z + 0.5) - arb(0.5), arb(z + wide + 0.5) - arb(0.5)
        exact = (normal_tail(low) - normal_tail(high)).log()
    assert abs(float((arb(found) - exact).mid())) < 1e-13 * (1 + z * z / 10)


@given(st.floats(1e-6, 40), st.floats(-1.5, 1.5))
def test_laplace_delta_is_that_of_its_cells(epsilon, share):
    """Would catch a lost atom: half the mass lies at the supremum. The cell that contains epsilon counts in part."""
    law, level = LaplaceLoss(epsilon), share * epsilon
    edges = np.linspace(-1.01 * epsilon, 1.01 * epsilon, 4001)
    cells = law.masses(edges)
    gains = np.exp(cells.first) - np.exp(np.minimum(level + cells.second, 700))
    found, delta = np.maximum(gains, 0).sum(), math.exp(law.log_delta_bounds(level)[0])
    assert delta - 2 * (edges[1] - edges[0]) <= found <= delta + 1e-13


@together("epsilon", [1e-300, 1e-9, 0.5, 700.0])
def test_laplace_ends(epsilon):
    law = LaplaceLoss(epsilon)
    assert law.log_delta_bounds(epsilon)[0] == -math.inf
    assert math.exp(law.log_delta_bounds(0.0)[0]) == pytest.approx(-math.expm1(-epsilon / 2), rel=1e-14)
    assert law.reversed() is law


@together("value", [0.0, -1.0, math.inf, math.nan])
def test_what_is_no_noise_is_refused(value):
    for law in (GaussianLoss, LaplaceLoss):
        with pytest.raises(ValueError, match="must be > 0 and finite"):
            law(value)


def test_gaussian_at_infinite_epsilons():
    law = GaussianLoss(1.0)
    assert law.log_delta_bounds(math.inf) == (-math.inf, -math.inf)
    assert law.log_delta_bounds(-math.inf) == (0.0, 0.0)
    assert law.supremum() == math.inf
