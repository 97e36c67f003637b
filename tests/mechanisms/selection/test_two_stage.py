"""FedSel's two stages against brute force over inputs and reports, in fractions where the law is rational."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.mechanisms import ExponentialSelection, PerturbedEncoding, PerturbedSampling, Piecewise, TwoPoint
from ldp_audit.mechanisms.selection.two_stage import TwoStage
from ldp_audit.mechanisms.values.hybrid import Hybrid
from tests.frequency import assert_frequency
from tests.mechanisms.four_points import FourPoints
from tests.together import together

SELECTIONS = [
    PerturbedSampling(math.log(3), 2, 1),
    PerturbedSampling(0.4, 3, 2),
    PerturbedEncoding(math.log(3), 2, 1),
    PerturbedEncoding(0.7, 3, 1),
    ExponentialSelection(1.3, 2),
    ExponentialSelection(0.9, 3),
]
VALUES = [TwoPoint(math.log(2)), TwoPoint(2.5), TwoPoint(1.0, 0.5, 0.5), TwoPoint(1.0, -2.0, 1.0), FourPoints()]
LEVELS = [0.0, 0.05, 0.3, 0.8, 1.4, 2.2, 3.0]


def reports_of(m: TwoStage) -> tuple[np.ndarray, np.ndarray]:
    """Every report: each index with each value, and none."""
    values = m.value.outputs() if callable(m.value.outputs) else m.value.outputs
    pairs = [*product(range(m.d), values), (-1, 0.0)]
    return np.array([j for j, _ in pairs]), np.array([y for _, y in pairs])


def channel(m: TwoStage, inputs: Sequence[Any] | np.ndarray) -> np.ndarray:
    """P(report | input) of every report and input; shape (inputs, reports)."""
    return np.exp(m.log_prob(reports_of(m), np.asarray(inputs, dtype=float)[:, None, :]))


def pair_delta(rows: np.ndarray, level: float) -> np.ndarray:
    """The hockey-stick divergence of every ordered pair of rows."""
    return np.maximum(rows[:, None] - math.exp(level) * rows[None], 0).sum(axis=-1)


def beyond_the_ends(m: TwoStage) -> list[tuple[float, ...]]:
    """All orders of magnitudes above the domain's ends, with all signs."""
    return [
        tuple(3.0 * s * z for s, z in zip(signs, order, strict=True))
        for signs in product((-1, 1), repeat=m.d)
        for order in permutations(range(1, m.d + 1))
    ]


def duchi(x: Fraction, sign: int, t: Fraction) -> Fraction:
    return Fraction(1, 2) * (1 + sign * x * (t - 1) / (t + 1))


@pytest.mark.parametrize(
    ("selection", "inside", "without_ties", "supremum"),
    [
        (PerturbedSampling(math.log(3), 2, 1), Fraction(3, 4), Fraction(24, 5), Fraction(6)),
        (PerturbedEncoding(math.log(3), 2, 1), Fraction(21, 32), Fraction(168, 25), Fraction(42, 5)),
    ],
    ids=["PS", "PE"],
)
def test_the_known_ratios_of_two_coordinates(
    selection: Any, inside: Fraction, without_ties: Fraction, supremum: Fraction
) -> None:
    """t1 = 3, t2 = 2, all of {+-1/2, +-1}^2 in fractions: 24/5 and 168/25 without ties, the exact epsilon with them."""
    outside = Fraction(1, 4) if inside == Fraction(3, 4) else Fraction(5, 32)
    half = Fraction(1, 2)

    def largest(inputs: list[tuple[Fraction, ...]]) -> Fraction:
        ratios = []
        for v, w in product(inputs, repeat=2):
            top, other = int(abs(v[0]) <= abs(v[1])), int(abs(w[0]) <= abs(w[1]))
            for j, sign in product((0, 1), (-1, 1)):
                one = (inside if j == top else outside) * duchi(v[j], sign, Fraction(2))
                two = (inside if j == other else outside) * duchi(w[j], sign, Fraction(2))
                ratios.append(one / two)
        return max(ratios)

    every = list(product((-1, -half, half, 1), repeat=2))
    apart = [v for v in every if abs(v[0]) != abs(v[1])]
    assert (largest(apart), largest(every)) == (without_ties, supremum)
    m = TwoStage(selection, TwoPoint(math.log(2)))
    for inputs, ratio in ((apart, without_ties), (every, supremum)):
        logs = m.log_prob(reports_of(m), np.array(inputs, dtype=float)[:, None, :])[:, :4]
        assert np.max(logs[:, None] - logs[None]) == pytest.approx(math.log(ratio), rel=1e-12)
    assert m.exact_epsilon() == pytest.approx(math.log(supremum), rel=1e-12)


@together("clip", [True, False])
@together("value", VALUES)
@together("selection", SELECTIONS)
def test_the_worst_pair_attains_the_exact_epsilon(selection: Any, value: Any, clip: bool) -> None:
    m = TwoStage(selection, value, clip)
    rows = channel(m, m.worst_pair())
    assert rows.sum(axis=1) == pytest.approx([1.0, 1.0], rel=1e-12)
    seen = rows[0] > 0
    assert np.max(np.log(rows[0][seen] / rows[1][seen])) == pytest.approx(m.exact_epsilon(), rel=1e-12)
    assert m.exact_epsilon() == selection.exact_epsilon() + value.exact_epsilon()


@together("value", VALUES)
@together("selection", SELECTIONS)
def test_the_profile_is_the_largest_divergence_of_all_orders_and_signs(selection: Any, value: Any) -> None:
    """With clipping: every ranking with every choice of ends; delta() is their maximum, and the worst pair has it."""
    m = TwoStage(selection, value, clip=True)
    rows, worst = channel(m, beyond_the_ends(m)), channel(m, m.worst_pair())
    for level in [*LEVELS, m.exact_epsilon()]:
        found = float(np.max(pair_delta(rows, level)))
        assert m.delta(level) == pytest.approx(found, rel=1e-11, abs=1e-15)
        assert pair_delta(worst, level)[0, 1] == pytest.approx(found, rel=1e-11, abs=1e-15)
    assert m.delta(np.array(LEVELS).reshape(7, 1)).shape == (7, 1)


@together("selection", SELECTIONS)
def test_without_clipping_the_profile_is_a_limit(selection: Any) -> None:
    """Coordinates a billionth inside the ends, in the worst orders: within 1e-8 of delta(), and not above it."""
    m, wide = TwoStage(selection, TwoPoint(1.0)), TwoStage(selection, TwoPoint(1.0), clip=True)
    near = [np.sign(v) * (1 - 1e-9 * (m.d + 1 - np.abs(v))) for v in wide.worst_pair()]
    rows = channel(m, near)
    for level in LEVELS:
        assert float(m.delta(level)) - 1e-8 <= pair_delta(rows, level)[0, 1] <= float(m.delta(level)) + 1e-15


@settings(max_examples=60)
@given(
    st.sampled_from(SELECTIONS),
    st.sampled_from(VALUES),
    st.lists(st.floats(-3, 3), min_size=6, max_size=6),
    st.floats(0, 4),
)
def test_no_pair_of_inputs_has_more(selection: Any, value: Any, numbers: list[float], level: float) -> None:
    m = TwoStage(selection, value, clip=True)
    rows = channel(m, [numbers[: m.d], numbers[3 : 3 + m.d]])
    assert rows.sum(axis=1) == pytest.approx([1.0, 1.0], rel=1e-12)
    assert np.max(pair_delta(rows, level)) <= float(m.delta(level)) + 1e-13
    seen = rows.min(axis=0) > 0
    assert np.max(np.abs(np.log(rows[0][seen] / rows[1][seen]))) <= m.exact_epsilon() + 1e-12


@together("value", VALUES)
@together("selection", SELECTIONS)
def test_the_moments_are_sums_over_the_reports(selection: Any, value: Any) -> None:
    m = TwoStage(selection, value, clip=True)
    vectors = np.linspace(-2.5, 1.7, 2 * m.d).reshape(2, m.d)
    index, values = reports_of(m)
    dense, rows = m.dense((index, values)), channel(m, vectors)
    assert m.mean(vectors) == pytest.approx(rows @ dense, rel=1e-12, abs=1e-12)
    assert m.variance(vectors) == pytest.approx(rows @ dense**2 - (rows @ dense) ** 2, rel=1e-10, abs=1e-12)
    assert m.index_probs(vectors).sum(axis=-1) == pytest.approx(rows[:, index >= 0].sum(axis=1), rel=1e-12)


@together(("epsilon", "d", "k"), [(1e-9, 1_000_000, 500_000), (0.3, 1000, 999), (50.0, 100, 5)])
def test_the_profile_keeps_its_digits_at_the_ends(epsilon: float, d: int, k: int) -> None:
    """PS and Duchi, both at epsilon: the sum over the four kinds of coordinates at 60 digits, to 1e-12 relative."""
    m = TwoStage(PerturbedSampling(epsilon, d, k), TwoPoint(epsilon), clip=True)
    with mpmath.workdps(60):
        t, h = mpmath.exp(mpmath.mpf(epsilon)), min(k, d - k)
        inside, outside = t / (d - k + t * k), 1 / (d - k + t * k)
        high, low = t / (t + 1), 1 / (t + 1)
        levels = np.array([0.0, 0.3, 0.9, 1.2, 1.99]) * epsilon
        for level, found in zip(levels, m.delta(levels), strict=True):
            factor = mpmath.exp(mpmath.mpf(level))
            total = mpmath.mpf(0)
            kinds = ((h, inside, outside), (h, outside, inside), (k - h, inside, inside), (d - k - h, outside, outside))
            for count, p, q in kinds:
                for up, down in ((high, low), (low, high)):
                    total += count * max(mpmath.mpf(0), p * up - factor * q * down)
            assert found == pytest.approx(float(total), rel=1e-12, abs=0)


@together("selection", SELECTIONS)
def test_the_profile_with_pm_is_the_integral_over_its_pieces(selection: Any) -> None:
    """At the worst pair both densities are level between the ends of the two inner intervals."""
    m = TwoStage(selection, Piecewise(1.5), clip=True)
    edges = np.unique([-m.value.reach(), *np.concatenate(m.value.inner(np.array([-1.0, 1.0]))), m.value.reach()])
    middles, lengths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    index, values = np.arange(m.d)[:, None], middles[None, :]
    one, two = (np.exp(m.log_prob((index, values), x)) * lengths for x in m.worst_pair())
    none = [math.exp(m.log_prob((None, 0.0), x)) for x in m.worst_pair()]
    assert one.sum() + none[0] == pytest.approx(1.0, rel=1e-12)
    for level in LEVELS:
        gap = np.maximum(one - math.exp(level) * two, 0).sum() + max(0.0, none[0] - math.exp(level) * none[1])
        assert m.delta(level) == pytest.approx(float(gap), rel=1e-11, abs=1e-14)


@together("value", [TwoPoint(1.0), Piecewise(1.0), Hybrid(1.0)])
@together("kind", ["numpy", "torch"])
def test_what_is_sampled_has_a_probability_in_its_own_dtype(value: Any, kind: str) -> None:
    """float32: a value that were rounded on another way than the value mechanism's own would be unknown to it."""
    m = TwoStage(PerturbedSampling(1.0, 6, 3), value, clip=True)
    x = np.tile(np.linspace(-2, 2, 6, dtype=np.float32), (200, 1))
    if kind == "torch":
        index, y = (part.numpy() for part in m.sample(torch.from_numpy(x), rng=torch.Generator().manual_seed(0)))
    else:
        index, y = m.sample(x, rng=np.random.default_rng(0))
    assert y.dtype == np.float32
    assert np.all(np.isfinite(m.implemented().log_prob((index, y), x)))


@together("bits", [2, 6, 24, 64])
@together("selection", SELECTIONS)
def test_what_is_implemented_is_a_two_stage_mechanism_with_at_most_that_epsilon(selection: Any, bits: int) -> None:
    ideal = TwoStage(selection, TwoPoint(0.8), clip=True)
    m = ideal.implemented(bits)
    assert m.exact_epsilon() <= ideal.exact_epsilon() * (1 + 1e-14)  # a sum of two rounded logarithms of counts
    rows, all_rows = channel(m, m.worst_pair()), channel(m, beyond_the_ends(m))
    assert all_rows.sum(axis=1) == pytest.approx(1.0, rel=1e-12)
    assert np.max(np.log(rows[0][rows[0] > 0] / rows[1][rows[0] > 0])) == pytest.approx(m.exact_epsilon(), abs=1e-12)
    for level in LEVELS:
        assert m.delta(level) == pytest.approx(np.max(pair_delta(all_rows, level)), rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize(
    "selection", [PerturbedSampling(1.0, 6, 3), PerturbedEncoding(0.5, 6, 3), ExponentialSelection(2.0, 3)], ids=repr
)
def test_the_samplers_draw_from_the_law(selection: Any, kind: str) -> None:
    """Each report's frequency; false alarm 1e-6 each. With 20,000 draws a probability off by 0.03 is missed with a
    chance below 1e-3."""
    m, trials = TwoStage(selection, TwoPoint(1.0), clip=True), 20_000
    vector = np.array([0.2, -3.0, 0.9, -0.4, 1.5, 0.1])[: m.d]
    if kind == "torch":
        x = torch.from_numpy(vector).float().expand(trials, -1)
        drawn = m.sample(x, rng=torch.Generator().manual_seed(4))
        assert drawn.value.dtype == torch.float32
        index, value = drawn.index.numpy(), drawn.value.numpy()
    else:
        index, value = m.sample(np.tile(vector, (trials, 1)), rng=np.random.default_rng(7))
    for j, y in zip(*reports_of(m), strict=True):
        hits = int(np.sum((index == j) & (np.sign(value) == np.sign(y))))
        assert_frequency(hits, trials, math.exp(m.log_prob((j, y), vector)))


def test_no_index_means_the_zero_vector() -> None:
    m = TwoStage(PerturbedEncoding(0.5, 2, 1), TwoPoint(1.0))
    drawn = m.sample(np.full((500, 2), 0.5, dtype=np.float32), rng=np.random.default_rng(1))
    dense = m.dense(drawn)
    assert (dense.shape, dense.dtype) == ((500, 2), np.float32)
    assert np.array_equal(np.count_nonzero(dense, axis=1), (drawn.index >= 0).astype(int))
    assert np.any(drawn.index < 0)
    assert np.all(drawn.value[drawn.index < 0] == 0)
    assert m.log_prob((None, 0.0), [0.1, 0.2]) == m.selection.none_log_prob()
    assert m.log_prob((None, 1.0), [0.1, 0.2]) == -math.inf


def test_large_magnitudes_are_an_error_unless_clipping_is_asked_for() -> None:
    m = TwoStage(PerturbedSampling(1.0, 2, 1), TwoPoint(1.0))
    with pytest.raises(ValueError, match=r"x must lie in \[-1.0, 1.0\], got 1.5; clip first"):
        m.sample([[0.5, 1.5]], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"x must lie in \[-1.0, 1.0\], got nan"):
        m.log_prob((0, 1.0), [0.5, math.nan])
    with pytest.raises(ValueError, match=r"x must be real vectors of shape \(..., 2\)"):
        m.mean([0.5, 0.5, 0.5])
    clipping = TwoStage(m.selection, m.value, clip=True)
    assert clipping.mean([0.5, 1.5])[1] == pytest.approx(clipping.index_probs([0.5, 1.5])[1], rel=1e-12)
    with pytest.raises(ValueError, match="x must be finite real numbers"):
        clipping.mean([0.5, math.inf])


def test_clipping_does_not_change_what_is_selected() -> None:
    vector = np.array([-5, 2, 4])
    by_status = TwoStage(PerturbedSampling(1.0, 3, 1), TwoPoint(1.0), clip=True)
    by_rank = TwoStage(ExponentialSelection(1.0, 3), TwoPoint(1.0), clip=True)
    assert list(by_status.selection_input(vector)) == [True, False, False]
    assert list(by_rank.selection_input(vector)) == [3, 1, 2]


def test_parts_that_are_no_mechanisms_are_refused() -> None:
    with pytest.raises(ValueError, match=r"selection must be a mechanism with .*: no exact_epsilon"):
        TwoStage(3, TwoPoint(1.0))
    with pytest.raises(ValueError, match=r"value must be a mechanism with .*: no exact_epsilon"):
        TwoStage(PerturbedSampling(1.0, 2, 1), None)
    with pytest.raises(ValueError, match="selection must take rankings or status vectors"):
        TwoStage(TwoPoint(1.0), TwoPoint(1.0))
    with pytest.raises(ValueError, match="clip must be True or False, got 1"):
        TwoStage(PerturbedSampling(1.0, 2, 1), TwoPoint(1.0), 1)
    with pytest.raises(ValueError, match=r"value must offer implemented\(bits\)"):
        TwoStage(PerturbedSampling(1.0, 2, 1), FourPoints()).implemented(8)
