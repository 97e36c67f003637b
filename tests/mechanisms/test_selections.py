"""FedSel's selections against exact enumeration; PE's true epsilon against known values and its calibration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import ExponentialSelection, PerturbedEncoding, PerturbedSampling
from tests.frequency import assert_frequency
from tests.together import together

TRUE_EPSILON = {
    (0.2, 2, 1): 0.266470, (0.2, 10, 1): 0.224385, (0.2, 10, 5): 0.221878,
    (0.2, 100, 1): 0.202239, (0.2, 100, 10): 0.202194,
    (1, 2, 1): 1.310550, (1, 10, 1): 1.173043, (1, 10, 5): 1.096724, (1, 100, 1): 1.017509, (1, 100, 10): 1.015024,
    (4, 2, 1): 4.666287, (4, 10, 1): 4.643440, (4, 10, 5): 4.177551, (4, 100, 1): 4.428502, (4, 100, 10): 4.082686,
}  # fmt: skip


def encoded(t: Fraction, status: tuple[int, ...]) -> dict[int | None, Fraction]:
    """PE's law by all 2**d flips, exactly."""
    law: dict[int | None, Fraction] = {}
    for flips in product((0, 1), repeat=len(status)):
        weight = math.prod((1 if flip else t) / (t + 1) for flip in flips)
        ones = [j for j, (bit, flip) in enumerate(zip(status, flips, strict=True)) if bit ^ flip]
        for y in ones or [None]:
            law[y] = law.get(y, Fraction(0)) + weight / max(len(ones), 1)
    return law


@together(("t", "d", "k"), [(2, 2, 1), (3, 3, 1), (3, 3, 2), (Fraction(5, 4), 6, 2), (20, 7, 5)])
def test_perturbed_encoding_is_the_law_of_all_flips(t: int | Fraction, d: int, k: int) -> None:
    status = (1,) * k + (0,) * (d - k)
    m = PerturbedEncoding(math.log(t), d, k)
    for y, probability in encoded(Fraction(t), status).items():
        assert math.exp(m.log_prob(y, list(status))) == pytest.approx(float(probability), rel=1e-13, abs=0)


@together(("key", "value"), TRUE_EPSILON.items())
def test_perturbed_encodings_true_epsilon(key: tuple, value: float) -> None:
    assert PerturbedEncoding(*key).exact_epsilon() == pytest.approx(value, abs=6e-7)
    assert PerturbedEncoding(*key).exact_epsilon() > key[0]


@together("t", [1.0000001, 1.5, 3.0, 50.0, 1e8])
def test_the_closed_forms_of_the_smallest_sizes(t: float) -> None:
    epsilon = math.log(t)
    with mpmath.workdps(40):
        t = mpmath.exp(mpmath.mpf(epsilon))
        two_one = mpmath.log(t * (2 * t + 1) / (t + 2))
        three_two = mpmath.log(t * (3 * t**2 + 8 * t + 3) / (2 * t**2 + 6 * t + 6))
    assert PerturbedEncoding(epsilon, 2, 1).exact_epsilon() == pytest.approx(float(two_one), rel=1e-12, abs=0)
    assert PerturbedEncoding(epsilon, 3, 2).exact_epsilon() == pytest.approx(float(three_two), rel=1e-12, abs=0)


@together(("epsilon", "d", "k"), [(0.5, 1000, 3), (2.0, 100_000, 400), (1e-9, 1_000_000, 10), (50.0, 1000, 999)])
def test_large_sizes_against_the_sum_over_the_two_binomials(epsilon: float, d: int, k: int) -> None:
    """theta = E[1/(2+S)]/E[1/(1+S)] by mpmath's quadrature of the generating function, at 30 digits."""
    with mpmath.workdps(30):
        t = mpmath.exp(mpmath.mpf(epsilon))
        p, q = t / (t + 1), 1 / (t + 1)
        scale = 1 / max(mpmath.mpf(1), (k - 1) * p + (d - k - 1) * q)
        edges = [mpmath.mpf(0), *(scale * 2**j for j in range(-2, 40) if scale * 2**j < 1), mpmath.mpf(1)]

        def g(v: mpmath.mpf) -> mpmath.mpf:
            return (1 - p * v) ** (k - 1) * (1 - q * v) ** (d - k - 1)

        a = mpmath.quad(g, edges)
        c = mpmath.quad(lambda v: v * g(v), edges)
        exact = epsilon + mpmath.log1p((p - q) * c / (a - p * c))
    assert PerturbedEncoding(epsilon, d, k).exact_epsilon() == pytest.approx(float(exact), rel=1e-12, abs=0)


@together(("wanted", "d", "k"), [(0.2, 2, 1), (1, 10, 1), (4, 100, 10), (1e-6, 5, 2), (30.0, 4, 3)])
def test_calibration_keeps_to_the_epsilon_in_its_name(wanted: float, d: int, k: int) -> None:
    m = PerturbedEncoding.calibrated(wanted, d, k)
    assert m.exact_epsilon() <= wanted
    assert m.exact_epsilon() == pytest.approx(wanted, rel=1e-12, abs=0)
    assert m.epsilon < wanted


@together("d", [2, 10, 1_000_000])
@together("epsilon", [1e-9, 1.0, 50.0])
def test_exponential_selection_at_the_ends(epsilon: float, d: int) -> None:
    m = ExponentialSelection(epsilon, d)
    logs = m.rank_log_probs()
    assert math.fsum(np.exp(logs)) == pytest.approx(1, rel=1e-12, abs=0)
    assert logs[-1] - logs[0] == pytest.approx(epsilon, rel=1e-9, abs=1e-12)
    assert m.implemented().exact_epsilon() <= epsilon
    assert m.delta(epsilon) == 0
    assert 0 < m.delta(0.0) <= 1


SIZES = [(2, 1), (5, 2), (7, 6), (1000, 999), (1_000_000, 1), (1_000_000, 1000), (1_000_000, 999_999)]
EPSILONS = [1e-9, 1e-3, 0.5, 1.0, 10.0, 50.0, 700.0]
BITS = [2, 3, 8, 24, 53, 64]


def exceeds(first: Fraction, epsilon: float) -> bool:
    """Whether the ratio is above e**epsilon, at 60 digits."""
    with mpmath.workdps(60):
        return mpmath.mpf(first.numerator) / first.denominator > mpmath.exp(mpmath.mpf(epsilon))


SELECTIONS = (PerturbedSampling, PerturbedEncoding, PerturbedEncoding.calibrated)
CASES = [
    (SELECTIONS[(i + j) % 3], epsilon, *size) for i, epsilon in enumerate(EPSILONS) for j, size in enumerate(SIZES)
]
"""Each epsilon with each size, and either with each selection."""


@together(("selection", "epsilon", "d", "k"), CASES)
def test_the_implemented_epsilon_never_exceeds_the_exact_one(selection: Any, epsilon: float, d: int, k: int) -> None:
    """Also not by the rounding of the float that exact_epsilon() is; a calibrated one keeps to what was asked."""
    m = selection(epsilon, d, k)
    for bits in BITS:
        inside, outside, none = m.implemented(bits).probabilities()
        assert k * inside + (d - k) * outside + none == 1
        assert inside >= outside > 0
        assert not exceeds(inside / outside, m.exact_epsilon())
        assert 0 <= m.implemented(bits).exact_epsilon() <= m.exact_epsilon()
        if selection == PerturbedEncoding.calibrated:
            assert m.implemented(bits).exact_epsilon() <= epsilon


@together("bits", BITS)
@together("d", [2, 3, 30, 1_000_000])
@together("epsilon", [2.95e-16, *EPSILONS])
def test_the_extreme_weights_of_exponential_selection_keep_the_ratio(epsilon: float, d: int, bits: int) -> None:
    """Any two ranks, not only rank d and rank 1: all weights lie between those two."""
    m = ExponentialSelection(epsilon, d).implemented(bits)
    weights = m.weights()
    assert weights.shape == (d,)
    assert np.all(np.diff(weights) >= 0)
    assert not exceeds(Fraction(int(weights[-1]), int(weights[0])), epsilon)
    assert (weights[0], weights[-1]) == (m.lowest(), m.highest())
    assert np.all(weights == 1) or weights.sum() <= 2 ** min(bits, 62)
    assert 0 <= m.exact_epsilon() <= epsilon


def test_64_bits_come_close_to_the_exact_epsilon() -> None:
    for epsilon in (1e-6, 0.5, 5.0, 25.0):
        for d, k in SIZES[:4]:
            for m in (PerturbedSampling(epsilon, d, k), PerturbedEncoding(epsilon, d, k)):
                assert m.implemented().exact_epsilon() == pytest.approx(m.exact_epsilon(), rel=1e-6, abs=0)
        assert ExponentialSelection(epsilon, 100).implemented().exact_epsilon() == pytest.approx(
            epsilon, rel=1e-6, abs=0
        )
    assert ExponentialSelection(20.0, 1_000_000).implemented().exact_epsilon() == pytest.approx(20, rel=1e-6, abs=0)


@given(
    st.sampled_from([PerturbedSampling, PerturbedEncoding]),
    st.floats(1e-9, 50.0),
    st.integers(2, 64),
    st.integers(2, 30).flatmap(lambda d: st.tuples(st.just(d), st.integers(1, d - 1))),
    st.floats(0, 60),
)
def test_it_is_a_mechanism_with_the_law_of_its_counts(
    selection: Any, epsilon: float, bits: int, size: tuple, level: float
) -> None:
    m = selection(epsilon, *size).implemented(bits)
    first, second = m.worst_pair()
    p, q = (np.exp(m.log_prob(np.arange(-1, m.mechanism.d), x)) for x in (first, second))
    assert math.fsum(p) == pytest.approx(1.0, rel=1e-12, abs=0)
    assert [Fraction(float(p[1])), Fraction(float(p[-1]))] == pytest.approx(m.probabilities()[:2], rel=1e-12, abs=0)
    assert m.delta(level) == pytest.approx(np.maximum(p - math.exp(level) * q, 0).sum(), rel=1e-9, abs=1e-12)
    assert m.delta(m.exact_epsilon()) == 0


@given(st.floats(1e-9, 50.0), st.integers(2, 64), st.integers(2, 5), st.floats(0, 1))
def test_exponential_selection_is_a_mechanism_too(epsilon: float, bits: int, d: int, share: float) -> None:
    """delta() against all pairs of rankings, in fractions: none is worse than the reversed one."""
    m = ExponentialSelection(epsilon, d).implemented(bits)
    weights, level = m.weights(), share * m.exact_epsilon()
    with mpmath.workdps(40):
        t = mpmath.exp(mpmath.mpf(level))
        gaps = [
            sum(max(mpmath.mpf(0), int(weights[i]) - t * int(weights[j])) for i, j in enumerate(order))
            for order in permutations(range(d))
        ]
        worst = float(max(gaps) / int(weights.sum()))
    assert m.delta(level) == pytest.approx(worst, rel=1e-9, abs=1e-15)
    first, second = m.worst_pair()
    logs = m.log_prob(np.arange(d), first), m.log_prob(np.arange(d), second)
    assert math.fsum(np.exp(logs[0])) == pytest.approx(1.0, rel=1e-12, abs=0)
    assert np.max(logs[0] - logs[1]) == pytest.approx(m.exact_epsilon(), rel=1e-9, abs=1e-13)
    assert m.delta([m.exact_epsilon(), 100.0, math.inf]).tolist() == [0, 0, 0]


@together("selection", [PerturbedSampling, PerturbedEncoding])
def test_few_words_ignore_the_input(selection: Any) -> None:
    """A ratio of whole numbers in [1, e**epsilon] does not exist there: False alarm 1e-6."""
    m = selection(1e-3, 6, 2).implemented(4)
    assert m.rarer() is None
    assert m.exact_epsilon() == 0 == m.delta(0.0)
    first, second = m.worst_pair()
    assert np.array_equal(m.log_prob(np.arange(6), first), m.log_prob(np.arange(6), second))
    drawn = m.sample(np.tile(first, (20_000, 1)), rng=np.random.default_rng(4))
    assert_frequency(int(np.sum(drawn == 5)), 20_000, math.exp(m.log_prob(5, first)))


def test_exponential_selection_with_fewer_words_than_ranks_is_uniform() -> None:
    m = ExponentialSelection(3.0, 100).implemented(6)
    assert m.exact_epsilon() == 0 == m.delta(0.0)
    assert np.all(m.weights() == 1)


@together("library", ["numpy", "torch"])
def test_a_million_coordinates(library: str) -> None:
    """Three rows; at epsilon 30 the reports are almost surely in the set, and among the highest ranks."""
    d, k = 1_000_000, 1000
    ranks = np.random.default_rng(1).permutation(d)[None, :] + np.array([[1], [1], [1]])
    status = ranks > d - k
    to_array = np.asarray if library == "numpy" else torch.as_tensor
    rng: Any = np.random.default_rng(2) if library == "numpy" else torch.Generator().manual_seed(2)
    for m in (PerturbedSampling(30.0, d, k), PerturbedEncoding(30.0, d, k)):
        assert np.all(status[range(3), np.asarray(m.sample(to_array(status), rng=rng))])
    drawn = np.asarray(ExponentialSelection(30.0, d).sample(to_array(ranks), rng=rng))
    assert np.all(ranks[range(3), drawn] > d / 4)  # e**(-30 * 3/4) < 1e-9
