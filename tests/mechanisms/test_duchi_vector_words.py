"""DuchiVector as it is sampled: the counts of words, and the samplers of both libraries."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import DuchiVector
from tests.frequency import assert_frequency


def corners(d: int) -> list[np.ndarray]:
    return [np.array(signs, dtype=float) for signs in product((-1, 1), repeat=d)]


@given(st.floats(-21, 6.5).map(math.exp), st.integers(1, 400), st.integers(2, 64))
def test_the_implemented_epsilon_never_exceeds_the_claimed_one(epsilon: float, d: int, bits: int) -> None:
    """The ratio of the exact probabilities, in sixty digits; at 1, input-free, where there are too few words."""
    m = DuchiVector(epsilon, d).implemented(bits)
    same, other, _ = m.probabilities()
    likely = m.mechanism.likely()
    assert same * likely + other * (2**d - likely) == 1
    assert same >= other > 0
    with mpmath.workdps(60):
        assert (
            mpmath.log(mpmath.mpf(same.numerator) * other.denominator / same.denominator / other.numerator) <= epsilon
        )
    assert m.exact_epsilon() <= epsilon


def test_sixty_four_bits_lose_nearly_nothing() -> None:
    for d in (1, 2, 51, 1000):
        for epsilon in (1e-3, 1.0, 20.0):
            assert DuchiVector(epsilon, d).implemented().exact_epsilon() == pytest.approx(epsilon, rel=1e-9, abs=0)
        assert DuchiVector(200.0, d).implemented().exact_epsilon() > 40
        assert DuchiVector(1e-3, d).implemented(3).exact_epsilon() == 0


@pytest.mark.covering(1)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("epsilon", "bits"), [(1.0, 4), (1.0, 64), (4.0, 6), (0.01, 5)])
def test_it_is_a_mechanism_with_the_law_of_its_counts(d: int, epsilon: float, bits: int) -> None:
    """All words, roundings of the input and corners counted, in fractions."""
    m = DuchiVector(epsilon, d).implemented(bits)
    same, other, _ = m.probabilities()
    for x in ([1.0] * d, [0.25] * d, [-0.5, *[0.75] * (d - 1)]):
        law = []
        for y in corners(d):
            probability = Fraction(0)
            for v in corners(d):
                rounding = math.prod((1 + Fraction(a) * int(s)) / 2 for a, s in zip(x, v, strict=True))
                probability += rounding * (same if v @ y > 0 else other)
            law.append(float(probability))
            assert math.exp(m.log_prob(m.mechanism.reach() * y, x)) == pytest.approx(law[-1], rel=1e-12, abs=0)
        reports = m.mechanism.reach() * np.array(corners(d))
        assert math.fsum(law) == pytest.approx(1, abs=1e-14)
        assert m.mean(x) == pytest.approx(np.array(law) @ reports, rel=1e-9, abs=1e-12 * m.mechanism.reach())
        assert m.variance(x) == pytest.approx(np.array(law) @ (reports - m.mean(x)) ** 2, rel=1e-9, abs=0)
    first, second = (
        np.exp([float(m.log_prob(m.mechanism.reach() * y, v)) for y in corners(d)]) for v in m.worst_pair()
    )
    for level in (0.0, 0.3 * epsilon, 2 * epsilon):
        brute = np.maximum(first - math.exp(level) * second, 0).sum()
        assert m.delta(level) == pytest.approx(brute, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("bits", [3, 64])
def test_both_samplers_draw_from_the_law(library: str, d: int, bits: int) -> None:
    """False alarm 1e-6 a corner; with 20,000 draws a probability off by 0.03 is missed with a chance below 1e-3."""
    m, trials, x = DuchiVector(1.5, d).implemented(bits), 20_000, np.linspace(-0.5, 1.0, d)
    drawn = draw(m, np.tile(x, (trials, 1)), library)
    assert set(np.abs(drawn).ravel()) == {m.mechanism.reach()}
    for y in corners(d):
        found = int(np.sum(np.all(np.sign(drawn) == y, axis=1)))
        assert_frequency(found, trials, math.exp(m.log_prob(m.mechanism.reach() * y, x)))


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("d", [101, 102])
def test_the_sampler_in_many_dimensions(library: str, d: int) -> None:
    """False alarm 1e-6; 20,000 draws miss a side's probability off by 0.03 with a chance below 1e-3."""
    m, trials, v = DuchiVector(1.0, d).implemented(), 20_000, np.resize([1.0, -1.0, -1.0], d)
    drawn = draw(m, np.tile(v, (trials, 1)), library)
    same = float(m.probabilities()[0] * m.mechanism.likely())
    assert_frequency(int(np.sum(np.sign(drawn) @ v > 0)), trials, same)
    if d % 2 == 0:
        ties = float(m.probabilities()[1] * m.mechanism.ties())
        assert_frequency(int(np.sum(np.sign(drawn) @ v == 0)), trials, ties)


def test_too_few_words_ignore_the_input() -> None:
    """False alarm 1e-6 a corner: all are equally likely."""
    m = DuchiVector(1e-3, 2).implemented(4)
    drawn = draw(m, np.ones((20_000, 2)), "numpy")
    for y in corners(2):
        assert_frequency(int(np.sum(np.all(np.sign(drawn) == y, axis=1))), 20_000, 0.25)


def draw(m: Any, x: np.ndarray, library: str) -> np.ndarray:
    if library == "torch":
        return m.sample(torch.from_numpy(x), rng=torch.Generator().manual_seed(6)).numpy()
    return m.sample(x, rng=np.random.default_rng(6))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3,), (0, 3), (2, 1, 3)])
def test_tensors_give_tensors_of_the_same_kind(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    m = DuchiVector(1.0, 3)
    drawn = m.sample(torch.zeros(shape, dtype=dtype), rng=torch.Generator().manual_seed(0))
    assert (drawn.shape, drawn.dtype) == (torch.Size(shape), dtype)
    assert set(drawn.abs().flatten().tolist()) <= {torch.tensor(m.reach(), dtype=torch.float64).to(dtype).item()}
    array = m.sample(np.zeros(shape, np.float32), rng=np.random.default_rng(0))
    assert (array.shape, array.dtype) == (shape, np.float32)


@pytest.mark.parametrize("bits", [1, 65])
def test_bits_are_checked(bits: int) -> None:
    with pytest.raises(ValueError, match="bits must be a whole number >= 2 and <= 64"):
        DuchiVector(1.0, 2).implemented(bits)


def test_inputs_are_checked() -> None:
    m, rng = DuchiVector(1.0, 2), np.random.default_rng(0)
    for x, message in ([1.1, 0.0], "x must lie in"), ([0.0], "x must be real vectors"), (["a", "b"], "x must"):
        with pytest.raises(ValueError, match=message):
            m.sample(x, rng=rng)
