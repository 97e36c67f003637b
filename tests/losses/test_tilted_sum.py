"""Adding laws by FFT, against sums of whole numbers' products: the stated errors hold, and are of use."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.losses import grid_loss
from ldp_audit.losses.discretisation import TiltedLaw, regridded
from ldp_audit.losses.grid_loss import added


def _law(weights: list[int], first: int = 0, spacing: float = 0.1) -> TiltedLaw:
    masses = np.array(weights) / sum(weights)
    return TiltedLaw(spacing, 0.0, 0.0, np.arange(first, first + len(weights), dtype=np.int64), masses, 0.0, 0.0)


def _exact(parts: list[tuple[list[int], int]]) -> list[Fraction]:
    """The masses of the sum, from the polynomials' product."""
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
    """A million losses: the error is a small share of the masses. Would catch a bound that makes the ends useless."""
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
    parts = [([5, 1, 7, 2], 6)]

    def worst() -> float:
        found = added([(_law(weights), times) for weights, times in parts], 2**10)
        assert found is not None
        exact = _exact(parts)
        return max(
            abs(float(exact[i]) - mass) / (found.mass_error + found.misplaced)
            for i, mass in zip(found.indices.tolist(), found.masses.tolist(), strict=True)
            if i < len(exact)
        )

    assert worst() <= 1
    monkeypatch.setattr(grid_loss.np.fft, "rfft", lambda *given_: whole(*given_).astype(np.complex64))
    assert worst() > 1


def test_too_many_points_are_refused():
    """Would catch a grid that takes all memory."""
    assert added([(_law([1] * 100), 10_000)], 2**10) is None


@given(_WEIGHTS.filter(lambda weights: len(weights) > 1), st.floats(0.01, 5.0), st.sampled_from([0.0, 1.5]))
def test_moving_to_another_grid_keeps_the_masses_of_both_laws(weights, spacing, theta):
    """Would catch shares that do not keep the mean of e**-loss, which domination rests on."""
    law = _law(weights)
    tilted = law.masses * np.exp(theta * law.spacing * law.indices)
    law = TiltedLaw(law.spacing, theta, 0.0, law.indices, tilted / tilted.sum(), math.log(tilted.sum()), 0.0)
    moved = regridded(law, spacing)

    def untilted(one: TiltedLaw, power: float) -> float:
        return float((one.masses * np.exp((power - theta) * one.spacing * one.indices)).sum()) * math.exp(one.log_sum)

    for power in (0.0, -1.0):
        assert untilted(moved, power) == pytest.approx(untilted(law, power), rel=1e-9)
    assert untilted(moved, -2.0) >= untilted(law, -2.0) * (1 - 1e-9)
