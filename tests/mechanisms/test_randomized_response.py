"""Randomised response's numbers are held to its definition; its sampler, in `test_randomized_response_words.py`."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import RandomizedResponse

epsilons = st.one_of(st.floats(1e-9, 50.0), st.sampled_from([0.0, 1e-9, 50.0, 700.0]))


@given(epsilons, st.integers(2, 40), st.data())
def test_moments_and_probabilities_are_those_of_the_definition(epsilon: float, k: int, data: st.DataObject) -> None:
    m, x = RandomizedResponse(epsilon, k), data.draw(st.integers(0, k - 1))
    with mpmath.workdps(60):
        t = mpmath.exp(mpmath.mpf(epsilon))
        law = [(t if y == x else 1) / (t + k - 1) for y in range(k)]
        mean = mpmath.fsum(y * p for y, p in enumerate(law))
        variance = mpmath.fsum((y - mean) ** 2 * p for y, p in enumerate(law))
    assert m.mean(x) == pytest.approx(float(mean), rel=1e-12)
    assert m.variance(x) == pytest.approx(float(variance), rel=1e-12)
    assert [m.log_prob(y, x) for y in range(k)] == pytest.approx([float(mpmath.log(p)) for p in law], rel=1e-12)


def test_moments_of_very_many_labels_need_no_list_of_them() -> None:
    m = RandomizedResponse(1.0, 10**9)
    assert np.shape(m.variance(np.zeros((2, 3)))) == (2, 3)
    assert m.variance(0) == pytest.approx((1e18 - 1) / 12, rel=1e-6)


def test_infinite_epsilon_reports_the_value_itself() -> None:
    m = RandomizedResponse(math.inf, 4)
    assert list(m.mean([0, 3])) == [0.0, 3.0]
    assert list(m.variance([0, 3])) == [0.0, 0.0]
    assert m.exact_epsilon() == math.inf
    assert m.log_prob(1, 0) == -math.inf


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint8, np.int8])
def test_moments_have_all_digits_whatever_the_dtype_of_the_labels(dtype: type) -> None:
    m, labels = RandomizedResponse(1.0, 1000), [0, 1, 100]
    assert np.array_equal(m.mean(np.array(labels, dtype=dtype)), m.mean(labels))
    assert np.array_equal(m.variance(np.array(labels, dtype=dtype)), m.variance(labels))
