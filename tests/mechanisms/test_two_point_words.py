"""TwoPoint as it is sampled: the counts of words, and both ways to draw from them."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit import TwoPoint
from ldp_audit.mechanisms.randomness import rarer_words
from tests.frequency import assert_frequency


def test_the_rarest_count_is_rounded_up_by_less_than_one() -> None:
    for epsilon in (0.1, 1.0, 20.0, 40.0):
        with mpmath.workdps(60):
            share = mpmath.mpf(2) ** 64 / (mpmath.exp(mpmath.mpf(epsilon)) + 1)
            assert share <= rarer_words(epsilon) < share + 1


@pytest.mark.covering(1)
@pytest.mark.parametrize("bits", [2, 3, 8, 24, 53, 64])
@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 1.0, 10.0, 30.0, 44.0, 45.0, 200.0, math.inf])
def test_the_implemented_epsilon_never_exceeds_the_claimed_one(epsilon: float, bits: int) -> None:
    """Probabilities of all inputs lie in [n, 2**bits - n] / 2**bits, and ln((2**bits - n)/n) <= epsilon exactly."""
    m = TwoPoint(epsilon).implemented(bits)
    inputs = np.concatenate([np.linspace(-1, 1, 1001), [np.nextafter(-1, 0), np.nextafter(1, 0)]])
    logs = np.concatenate([m.log_prob(y, inputs) for y in m.outputs()])
    assert logs.min() == math.log(m.rarest() / 2**bits)
    assert logs.max() == math.log((2**bits - m.rarest()) / 2**bits)
    with mpmath.workdps(60):
        assert mpmath.log(mpmath.mpf(2**bits - m.rarest()) / m.rarest()) <= mpmath.mpf(epsilon)


@given(st.floats(1e-9, 50.0), st.integers(2, 64), st.floats(-1, 1), st.floats(0, 60))
def test_it_is_a_mechanism_with_the_law_of_its_counts(epsilon: float, bits: int, x: float, level: float) -> None:
    m = TwoPoint(epsilon).implemented(bits)
    low, high = m.outputs()
    upper, lower = math.exp(m.log_prob(high, x)), math.exp(m.log_prob(low, x))
    assert upper + lower == pytest.approx(1.0, rel=1e-12)
    assert m.mean(x) == pytest.approx(low * lower + high * upper, rel=1e-9, abs=1e-9 * high)
    assert m.variance(x) == pytest.approx((high - low) ** 2 * upper * lower, rel=1e-9)
    first, second = m.worst_pair()
    gap = math.exp(m.log_prob(high, first)) - math.exp(level) * math.exp(m.log_prob(high, second))
    assert m.delta(level) == pytest.approx(max(0.0, gap), rel=1e-9, abs=1e-12)


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 1, 4)])
def test_tensors_give_tensors_of_the_same_kind(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    drawn = TwoPoint(1.0).sample(torch.zeros(shape, dtype=dtype), rng=torch.Generator().manual_seed(0))
    assert isinstance(drawn, torch.Tensor)
    assert (drawn.shape, drawn.dtype) == (torch.Size(shape), dtype)
    assert set(drawn.flatten().tolist()) <= set(
        torch.tensor(TwoPoint(1.0).outputs(), dtype=torch.float64).to(dtype).tolist()
    )


def test_a_generator_of_the_other_library_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rng must be a torch.Generator where x is a torch tensor"):
        TwoPoint(1.0).sample(torch.zeros(3), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"x must be a torch tensor where rng is a torch.Generator"):
        TwoPoint(1.0).sample(np.zeros(3), rng=torch.Generator())


def test_a_dtype_too_narrow_for_the_reports_is_refused() -> None:
    with pytest.raises(ValueError, match="x has dtype float16, which cannot hold the reports"):
        TwoPoint(1e-6).sample(np.zeros(3, np.float16), rng=np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["short words", "whole words", "torch"])
@pytest.mark.parametrize("epsilon", [0.1, 4.0])
@pytest.mark.parametrize("x", [-1.0, -0.3, 1.0])
def test_every_way_to_sample_draws_from_the_law(kind: str, epsilon: float, x: float) -> None:
    """False alarm 1e-6; with 40,000 draws a probability off by 0.02 is missed with a chance below 1e-3."""
    m, trials = TwoPoint(epsilon), 40_000
    if kind == "torch":
        drawn = m.sample(torch.full((trials,), x), rng=torch.Generator().manual_seed(5)).numpy()
    else:
        bits = 64 if kind == "short words" else 53
        drawn = m.implemented(bits).sample(np.full(trials, x), rng=np.random.default_rng(2024))
    assert_frequency(int((drawn > 0).sum()), trials, math.exp(m.log_prob(m.outputs()[1], x)))


@pytest.mark.parametrize("center", [0.0, 0.3, -5.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reports_are_the_two_outputs_wherever_the_center_is(center: float, dtype: type) -> None:
    """Two reports that differ in the sign alone are told apart by another step than two that do not."""
    m = TwoPoint(0.7, center, 1.2)
    drawn = m.sample(np.full(1000, center, dtype), rng=np.random.default_rng(0))
    assert set(drawn.tolist()) == {float(dtype(value)) for value in m.outputs()}
