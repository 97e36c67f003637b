"""The random-projection compressor: its law by enumeration, its projection by algebra."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from ldp_audit.mechanisms import TwoPoint
from ldp_audit.mechanisms.values.random_projection import RandomProjection
from tests.frequency import assert_frequency
from tests.mechanisms.four_points import FourPoints
from tests.together import together


def drawn(epsilon: float = 1.0, d: int = 5, q: int = 3, *, clip: bool = False, seed: int = 3) -> RandomProjection:
    return RandomProjection.drawn(TwoPoint(epsilon), d, q, np.random.default_rng(seed), clip=clip)


def channel(m: RandomProjection, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The dense reports, and the probability of each at every input; shapes (reports, q), (inputs, reports)."""
    values = m.value.outputs() if callable(m.value.outputs) else m.value.outputs
    every = list(product(range(m.q), values))
    index, value = np.array([i for i, _ in every]), np.array([y for _, y in every])
    return m.dense((index, value)), np.exp(m.log_prob((index, value), np.asarray(inputs)[:, None, :]))


@together("clip", [True, False])
@together("value", [TwoPoint(1.2), TwoPoint(1.2, 3.0, 0.5), FourPoints()])
def test_epsilon_and_profile_are_those_of_the_value(value: TwoPoint | FourPoints, clip: bool) -> None:
    """The worst pair has them; without clipping to within a few roundings of the ends."""
    m = RandomProjection.drawn(value, 6, 4, np.random.default_rng(0), clip=clip)
    _, rows = channel(m, np.stack(m.worst_pair()))
    assert rows.sum(axis=1) == pytest.approx([1.0, 1.0], rel=1e-12)
    assert np.max(np.log(rows[0] / rows[1])) == pytest.approx(m.exact_epsilon(), rel=1e-11)
    assert m.exact_epsilon() == value.exact_epsilon()
    for level in (0.0, 0.4, 1.0):
        assert m.delta(level) == pytest.approx(np.maximum(rows[0] - math.exp(level) * rows[1], 0).sum(), rel=1e-10)
    assert m.delta([0.0, 0.4]).shape == (2,)


def test_the_dense_report_is_unbiased_for_the_clipped_combinations() -> None:
    m = drawn(clip=True)
    inputs = np.random.default_rng(1).normal(size=(4, 5)) * 2
    dense, rows = channel(m, inputs)
    u = np.clip(m.project(inputs), -1, 1)
    assert np.any(np.abs(m.project(inputs)) > 1)
    assert m.mean(inputs) == pytest.approx(u, abs=1e-15)
    assert rows @ dense == pytest.approx(u, abs=1e-12)
    assert m.variance(inputs) == pytest.approx(rows @ dense**2 - u**2, rel=1e-11)
    assert m.project(inputs) == pytest.approx(np.einsum("ij,ni->nj", m.matrix, inputs), rel=1e-12)


@together(("d", "q"), [(1, 1), (5, 5), (7, 3), (40, 4)])
def test_recovery_is_the_projection_on_the_columns(d: int, q: int) -> None:
    """P is symmetric, idempotent, of trace q, and the columns' own: over any orthonormal basis the lost energy averages
    1 - q/d exactly. With the draw's invariance under rotations that is its expectation for every single g."""
    m = drawn(d=d, q=q)
    projection = m.recover(m.project(np.eye(d)))
    assert projection == pytest.approx(projection.T, abs=1e-9)
    assert projection @ projection == pytest.approx(projection, abs=1e-9)
    assert projection @ m.matrix == pytest.approx(m.matrix, abs=1e-9)
    assert np.trace(projection) == pytest.approx(q, rel=1e-9)
    assert np.mean(np.sum((projection - np.eye(d)) ** 2, axis=1)) == pytest.approx(1 - q / d, abs=1e-9)


def test_what_is_recovered_of_one_vector_is_a_beta_share_of_its_energy() -> None:
    """|P g|^2 / |g|^2 has the law Beta(q/2, (d - q)/2); d = 4, q = 2 make it uniform on [0, 1].

    False alarm 1e-6 a call; with 4,000 matrices a share off by 0.06 is missed with a chance below 1e-2. Fails, say, for
    a pseudo-inverse of the wrong side.
    """
    rng, g, trials = np.random.default_rng(6), np.array([3.0, 0.0, -1.0, 0.5]), 4_000
    shares = []
    for _ in range(trials):
        m = RandomProjection.drawn(TwoPoint(1.0), 4, 2, rng)
        shares.append(np.sum(m.recover(m.project(g)) ** 2) / np.sum(g**2))
    for bound in (0.2, 0.5, 0.8):
        assert_frequency(int(np.sum(np.array(shares) < bound)), trials, bound)


def test_entries_have_variance_one_over_q() -> None:
    """A sign and a quantile of N(0, 1/q) in 20,000 entries; false alarm 1e-6 each; a standard deviation off by 10% is
    missed with a chance below 1e-6."""
    entries = drawn(d=200, q=100).matrix.ravel()
    assert_frequency(int(np.sum(entries > 0)), entries.size, 0.5)
    within = math.erf(1 / math.sqrt(2))
    assert_frequency(int(np.sum(np.abs(entries) < 0.1)), entries.size, within)


@together("bits", [2, 8, 64])
def test_what_is_implemented_has_the_values_implemented_law(bits: int) -> None:
    ideal = drawn(clip=True)
    m = ideal.implemented(bits)
    assert m.exact_epsilon() == ideal.value.implemented(bits).exact_epsilon()
    _, rows = channel(m, np.stack(m.worst_pair()))
    assert np.max(np.log(rows[0] / rows[1])) == pytest.approx(m.exact_epsilon(), rel=1e-12)
    assert m.matrix is ideal.matrix or np.array_equal(m.matrix, ideal.matrix)


def test_bad_input_is_refused() -> None:
    m = drawn()
    with pytest.raises(ValueError, match=r"Phi\^T x must lie in \[-1.0, 1.0\]"):
        m.sample(100 * np.ones(5), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="x must be finite real numbers"):
        m.mean(np.array([0.0, math.nan, 0.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match=r"x must be real vectors of shape \(..., 5\)"):
        m.mean(np.zeros(4))
    with pytest.raises(ValueError, match="q must be a whole number from 1 to d = 2, got 3"):
        drawn(d=2, q=3)
    with pytest.raises(ValueError, match=r"q must be a whole number >= 1, got 1\.5"):
        drawn(d=2, q=1.5)
    with pytest.raises(ValueError, match=r"matrix must have shape \(d, q\) and rank q"):
        RandomProjection(TwoPoint(1.0), np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"matrix must have shape \(d, q\) and rank q"):
        RandomProjection(TwoPoint(1.0), np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        m.matrix[0, 0] = 1.0
