"""Randomised response: what is its own, beyond the tests over all mechanisms; and as it is sampled."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import RandomizedResponse
from tests.frequency import assert_frequency
from tests.together import together

epsilons = st.one_of(st.floats(1e-9, 50.0), st.sampled_from([0.0, 1e-9, 50.0, 700.0]))


@given(epsilons, st.integers(2, 40), st.data())
def test_moments_and_probabilities_are_those_of_the_definition(epsilon: float, k: int, data: st.DataObject) -> None:
    m, x = RandomizedResponse(epsilon, k), data.draw(st.integers(0, k - 1))
    with mpmath.workdps(60):
        t = mpmath.exp(mpmath.mpf(epsilon))
        law = [(t if y == x else 1) / (t + k - 1) for y in range(k)]
        own, other = t / (t + k - 1), 1 / (t + k - 1)
        variances = [float(p * (1 - p) / (own - other) ** 2) if t > 1 else math.inf for p in (other, own)]
    assert [m.log_prob(y, x) for y in range(k)] == pytest.approx([float(mpmath.log(p)) for p in law], rel=1e-12)
    if epsilon == 0 or epsilon > 1e-3:  # below, the difference of p and q has few digits
        assert [m.frequency_variance(1, share) for share in (0, 1)] == pytest.approx(variances, rel=1e-11)


def test_the_variance_of_a_label_is_refused_and_the_error_names_that_of_a_frequency() -> None:
    for m in (RandomizedResponse(1.0, 20), RandomizedResponse(1.0, 20).implemented()):
        with pytest.raises(ValueError, match=r"moments need reports that are numbers, got those of"):
            m.variance(0)
    with pytest.raises(ValueError, match=r"frequency_variance\(n\) is that of an estimated frequency"):
        RandomizedResponse(1.0, 20).mean(0)


def test_infinite_epsilon_reports_the_value_itself() -> None:
    m = RandomizedResponse(math.inf, 4)
    assert m.frequency_variance(1, [0.0, 1.0]).tolist() == [0.0, 0.0]
    assert m.exact_epsilon() == math.inf
    assert m.log_prob(1, 0) == -math.inf


WAYS = {"short words": (1.0, 10), "rare lies": (9.0, 10), "whole words": (6.0, 3000), "int16 labels": (4.0, 200)}
"""Parameters that numpy samples in different ways."""


@given(st.floats(1e-9, 50.0), st.integers(2, 10**6), st.integers(2, 64))
def test_the_implemented_epsilon_never_exceeds_the_claimed_one(epsilon: float, k: int, bits: int) -> None:
    m = RandomizedResponse(epsilon, k).implemented(bits)
    each = m.each()
    if each is None:
        assert m.exact_epsilon() == 0
        return
    ratio = Fraction(2**bits - (k - 1) * each, each)
    with mpmath.workdps(60):
        assert 0 <= mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator) <= mpmath.mpf(epsilon)
        assert each - 1 < mpmath.mpf(2) ** bits / (mpmath.exp(mpmath.mpf(epsilon)) + k - 1) <= each
    assert m.exact_epsilon() == pytest.approx(math.log1p(float(ratio - 1)), rel=1e-13)


@together("epsilon", [0.0, 1e-25, 1e-9, 700.0, math.inf])
@together("bits", [2, 64])
@together("k", [2, 3, 1000])
def test_the_ends_of_epsilon(epsilon: float, bits: int, k: int) -> None:
    m = RandomizedResponse(epsilon, k).implemented(bits)
    assert 0 <= m.exact_epsilon() <= min(epsilon, math.log(2**bits))
    if epsilon < 1e-20 or 2**bits < k:
        assert m.exact_epsilon() == 0
        assert m.log_prob(1, 0) == pytest.approx(-math.log(k))
        assert m.delta(0.0) == 0
    if bits == 64 and epsilon >= 700:
        assert m.exact_epsilon() == pytest.approx(64 * math.log(2))
    drawn = m.sample(np.arange(k).astype(np.int16), rng=np.random.default_rng(0))
    assert drawn.min() >= 0
    assert drawn.max() < k


@given(st.floats(1e-9, 50.0), st.integers(2, 9), st.integers(2, 64), st.floats(0, 60))
def test_it_is_a_mechanism_with_the_law_of_its_counts(epsilon: float, k: int, bits: int, level: float) -> None:
    m, labels = RandomizedResponse(epsilon, k).implemented(bits), np.arange(k)
    table = np.exp(m.log_prob(labels[:, None], labels))
    assert table.sum(axis=0) == pytest.approx(1, rel=1e-13)
    gaps = [np.maximum(p - math.exp(level) * q, 0).sum() for p in table.T for q in table.T]
    assert m.delta(level) == pytest.approx(max(gaps), rel=1e-9, abs=1e-13)
    first, second = m.worst_pair()
    assert np.max(np.log(table[:, first] / table[:, second])) == pytest.approx(m.exact_epsilon(), rel=1e-9, abs=1e-14)


def test_uniform_reports_where_no_count_is_safe() -> None:
    """False alarm 1e-6 a count."""
    m, trials = RandomizedResponse(0.0, 5), 40_000
    drawn = m.sample(torch.zeros(trials, dtype=torch.uint8), rng=torch.Generator().manual_seed(1)).numpy()
    for reports in (drawn, m.sample(np.zeros(trials, np.uint8), rng=np.random.default_rng(1))):
        assert reports.dtype == np.uint8
        for y in range(5):
            assert_frequency(int((reports == y).sum()), trials, 0.2)


INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@together("way", WAYS)
@together("dtype", [*INTEGERS, np.float16, np.float32, np.float64])
def test_reports_have_the_shape_and_dtype_of_the_values(way: str, dtype: type) -> None:
    epsilon, k = WAYS[way]
    m, rng = RandomizedResponse(epsilon, k), np.random.default_rng(0)
    largest = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 2 / np.finfo(dtype).eps
    if largest < k - 1:
        with pytest.raises(ValueError, match=rf"cannot hold the labels 0..{k - 1}"):
            m.sample(np.zeros(3, dtype), rng=rng)
        return
    for shape in ((), (0,), (3,), (2, 1, 4)):
        drawn = m.sample(np.full(shape, k - 1, dtype), rng=rng)
        assert (drawn.shape, drawn.dtype) == (shape, dtype)
        assert np.all((drawn >= 0) & (drawn < k) & (drawn == np.floor(drawn)))
    crossed = np.arange(12, dtype=dtype).reshape(3, 4).T % 2
    assert m.sample(crossed, rng=rng).shape == (4, 3)


@together("way", WAYS)
@together("bad", ["k", -1.0, 4000.0, 0.5, math.nan, math.inf, 1 + 1e-12, -0.25])
def test_values_that_are_no_labels_are_refused(way: str, bad: float | str) -> None:
    m = RandomizedResponse(*WAYS[way])
    bad = float(m.k) if isinstance(bad, str) else bad
    for values in (np.array([0, bad, 1]), torch.tensor([0, bad, 1], dtype=torch.float64)):
        rng: Any = np.random.default_rng(0) if isinstance(values, np.ndarray) else torch.Generator()
        with pytest.raises(ValueError, match=rf"x must be whole numbers in 0..{m.k - 1}, got {bad!r}"):
            m.sample(values, rng=rng)
