"""Discretised losses: their sums by FFT against products of polynomials, and their common spacing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.losses import grid_loss
from ldp_audit.losses.discretisation import TiltedDistribution, common_spacing, respaced
from ldp_audit.losses.grid_loss import added
from tests.together import together


def _law(weights: list[int], first: int = 0, spacing: float = 0.1) -> TiltedDistribution:
    masses = np.array(weights) / sum(weights)
    return TiltedDistribution(
        spacing, 0.0, 0.0, np.arange(first, first + len(weights), dtype=np.int64), masses, 0.0, 0.0
    )


def _exact(parts: list[tuple[list[int], int]]) -> list[Fraction]:
    """The masses of the sum, from the product of polynomials."""
    product, total = [1], 1
    for weights, times in parts:
        for _ in range(times):
            found = [0] * (len(product) + len(weights) - 1)
            for i, one in enumerate(product):
                for j, two in enumerate(weights):
                    found[i + j] += one * two
            product, total = found, total * sum(weights)
    return [Fraction(one, total) for one in product]


_WEIGHTS = st.lists(st.integers(0, 1000), min_size=1, max_size=12).filter(lambda weights: weights[0] and weights[-1])


@given(st.lists(st.tuples(_WEIGHTS, st.integers(1, 12)), min_size=1, max_size=3))
@settings(max_examples=60)
def test_every_mass_is_within_the_stated_error(parts):
    """Would catch a forgotten source of error, and a window that begins at the wrong place."""
    found = added([(_law(weights, first=-3), times) for weights, times in parts], 2**16)
    assert found is not None
    exact = _exact(parts)
    start = -3 * sum(times for _, times in parts)
    errors = [
        float(abs(Fraction(mass) - (exact[i - start] if 0 <= i - start < len(exact) else 0)))
        for i, mass in zip(found.indices.tolist(), found.masses.tolist(), strict=True)
    ]
    assert max(errors) <= found.mass_error + found.misplaced
    assert math.sqrt(math.fsum(error**2 for error in errors)) <= found.norm_error + found.misplaced
    assert found.mass_error < 1e-11


def test_the_stated_error_is_not_far_above_the_true_one_and_never_below():
    """A million losses: would catch an error bound that makes the bounds on delta useless."""
    found = added([(_law([1, 3, 2]), 10**6)], 2**16)
    assert found is not None
    assert found.mass_error < 1e-6 * found.masses.max()
    # the first moments of the sum of independent losses
    mean, variance = found.moments()
    assert mean == pytest.approx(10**6 * 7 / 6, rel=1e-9)
    assert variance == pytest.approx(10**6 * (11 / 6 - 49 / 36), rel=1e-6)


def test_a_transform_with_larger_errors_is_caught(monkeypatch):
    """The planted bug: a transform that loses three digits. The check of the errors must see it."""
    whole = np.fft.rfft
    parts = [([1] * 40, 6)]  # masses that are small enough to be transformed together

    def worst() -> float:
        found = added([(_law(weights), times) for weights, times in parts], 2**10)
        assert found is not None
        exact = _exact(parts)
        return max(
            abs(float(exact[i]) - mass) / (found.mass_error + found.misplaced)
            for i, mass in zip(found.indices.tolist(), found.masses.tolist(), strict=True)
            if i < len(exact)
        )

    def rounded(one: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[:] = whole(one).astype(np.complex64)
        return out

    assert worst() <= 1
    monkeypatch.setattr(grid_loss.np.fft, "rfft", rounded)
    assert worst() > 1


def test_too_many_points_are_refused():
    """Would catch a grid that takes all memory."""
    assert added([(_law([1] * 100), 10_000)], 2**10) is None


@given(_WEIGHTS.filter(lambda weights: len(weights) > 1), st.floats(0.01, 5.0), st.sampled_from([0.0, 1.5]))
def test_moving_to_another_grid_keeps_the_masses_of_both_distributions(weights, spacing, theta):
    """Would catch shares that change the mean of e**-loss, on which domination rests."""
    law = _law(weights)
    tilted = law.masses * np.exp(theta * law.spacing * law.indices)
    law = TiltedDistribution(law.spacing, theta, 0.0, law.indices, tilted / tilted.sum(), math.log(tilted.sum()), 0.0)
    moved = respaced(law, spacing)

    def untilted(one: TiltedDistribution, power: float) -> float:
        return float((one.masses * np.exp((power - theta) * one.spacing * one.indices)).sum()) * math.exp(one.log_sum)

    for power in (0.0, -1.0):
        assert untilted(moved, power) == pytest.approx(untilted(law, power), rel=1e-9)
    assert untilted(moved, -2.0) >= untilted(law, -2.0) * (1 - 1e-9)


@given(
    st.floats(1e-9, 10),
    st.lists(st.lists(st.integers(-300, 300), min_size=2, max_size=5, unique=True), min_size=1, max_size=3),
)
def test_losses_on_a_lattice_are_found_on_it(step, places):
    """Would catch a spacing that misses one list's losses, and one that is too small by a whole factor."""
    losses = [step * np.array(sorted(one), dtype=np.float64) for one in places]
    found = common_spacing(losses)
    divisor = math.gcd(*(value - min(one) for one in places for value in one))
    assert found == pytest.approx(divisor * step, rel=1e-9)
    gaps = np.concatenate([one - one[0] for one in losses]) / (divisor * step)
    assert np.abs(gaps - np.round(gaps)).max() < 1e-6


@together("losses", [[[0.0, 1.0], [0.0, math.sqrt(2)]], [[-math.pi, 0.0, 1.0]], [[0.0, 1e-12, 1.0]]])
def test_losses_of_nothing_in_common_have_none(losses):
    """Would catch a spacing that is rounding alone."""
    assert common_spacing([np.array(one) for one in losses]) is None


def test_single_losses_need_no_spacing():
    """Would catch a division by a distance of 0."""
    assert common_spacing([np.array([0.3]), np.array([5.0])]) == math.inf
    assert common_spacing([]) == math.inf
