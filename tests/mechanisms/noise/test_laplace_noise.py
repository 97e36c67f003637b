"""Exact discrete Laplace noise: the coins by enumeration, the table by high precision, the draws by their law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import torch

from ldp_audit.mechanisms.noise.laplace_noise import decays, discrete_laplace, tails
from ldp_audit.mechanisms.randomness import NumpySource, Source, source_of
from tests.frequency import assert_frequency
from tests.together import together


class EveryOutcome(NumpySource):
    """All outcomes of a coin's first tosses, side by side: value i draws the digits of i, as long as it tosses."""

    def __init__(self, numerator: int, denominator: int, tosses: int) -> None:
        super().__init__(np.random.default_rng(0))
        self.numerator, self.count, self.last = numerator, denominator**tosses * math.factorial(tosses), 2 * tosses - 1
        self.left, self.head, self.calls = np.arange(self.count), np.ones(self.count, dtype=bool), 0

    def below(self, bound: int, shape: Sequence[int]) -> np.ndarray:
        """Toss 1 is one number; every later toss k is one below the denominator and one below k. Then all fail."""
        assert tuple(shape) == self.left.shape
        self.calls += 1
        if self.calls > self.last:
            return np.full(tuple(shape), bound - 1)
        drawn, self.left = self.left % bound, self.left // bound
        if self.calls == 1 or self.calls % 2 == 0:
            self.head = drawn < self.numerator
        else:
            self.head = self.head & (drawn == 0)
        if self.calls % 2 == 1:
            self.left, self.head = self.left[self.head], self.head[self.head]
        return drawn


@together(("numerator", "denominator"), [(0, 3), (1, 3), (2, 3), (3, 3), (1, 1), (4, 5)])
def test_the_coins_of_probability_exp_by_enumeration(numerator: int, denominator: int) -> None:
    """Every outcome of four tosses, each as likely: the frequencies are the first terms of the series, exactly."""
    tosses = 4
    source = EveryOutcome(numerator, denominator, tosses)
    found = decays(np.full(source.count, numerator), denominator, source)
    x = Fraction(numerator, denominator)
    stopped_at = [x ** (k - 1) / math.factorial(k - 1) - x**k / math.factorial(k) for k in range(1, tosses + 1)]
    odd = sum(stopped_at[::2]) + x**tosses / math.factorial(tosses)  # the scripted fifth coin fails
    assert Fraction(int(found.sum()), source.count) == odd
    assert abs(float(odd) - math.exp(-x)) <= float(x**5) / 120 + 1e-15


@together("library", ["numpy", "torch"])
def test_the_coins_of_probability_exp_by_frequency(library: str) -> None:
    """False alarm 1e-6 each; 20,000 tosses miss a chance off by 0.03 with a chance below 1e-3."""
    for n, d in ((0, 7), (1, 7), (5, 7), (7, 7), (2**39, 2**40)):
        if library == "numpy":
            found = decays(np.full(20_000, n), d, source_of(np.random.default_rng(3)))
        else:
            found = decays(torch.full((20_000,), n), d, source_of(torch.Generator().manual_seed(3)))
        assert_frequency(int(found.sum()), 20_000, math.exp(-n / d))


class Scripted(NumpySource):
    """Hands out these words, one array after the other."""

    def __init__(self, *given: Any) -> None:
        super().__init__(np.random.default_rng(0))
        self.given = [np.asarray(words, dtype=np.int64) for words in given]

    def words(self, shape: Any, bits: int = 64) -> np.ndarray:
        assert bits == 64
        return self.given.pop(0).reshape(shape)


@together("a", [1, 2, 8, 77, 300, 354])
def test_a_word_on_either_side_of_a_power_settles_the_count(a: int) -> None:
    with mpmath.workdps(80):
        end = int(mpmath.floor(mpmath.exp(mpmath.mpf(-a) / 8) * 2**64))
        counts = [int(mpmath.floor(-8 * mpmath.log((w + mpmath.mpf(0.5)) / 2**64))) for w in (end - 1, end + 1)]
    words = [w - 2**63 for w in (end - 1, end + 1)]
    assert counts[0] >= a > counts[1]
    found = tails((2,), Scripted(words, *[0] * 4))  # a neighbour may leave the count open too
    assert found.tolist() == counts


@together("a", [1, 8, 100, 400])
def test_a_word_that_leaves_the_count_open_is_settled_by_more_bits(a: int) -> None:
    """The first 192 bits of e**(-a/8), and the next ones: less than them, or more."""
    with mpmath.workdps(120):
        digits = int(mpmath.floor(mpmath.exp(mpmath.mpf(-a) / 8) * mpmath.mpf(2) ** 192))
    words = [(digits >> shift & (2**64 - 1)) - 2**63 for shift in (128, 64, 0)]
    assert tails((1,), Scripted([words[0]], words[1] - 1)).tolist() == [a]
    assert tails((1,), Scripted([words[0]], words[1] + 1)).tolist() == [a - 1]
    assert tails((1,), Scripted([words[0]], words[1], words[2] - 1)).tolist() == [a]
    assert tails((1,), Scripted([words[0]], words[1], words[2] + 1)).tolist() == [a - 1]


@together("library", ["numpy", "torch"])
@together("t", [8, 24, 2**40, 2**54])
def test_the_noise_has_the_discrete_law(library: str, t: int) -> None:
    """P(z <= k) = 1 - q**(k+1)/(1+q), q = e**(-1/t). False alarm 1e-6 an event; 0.03 is missed with chance 1e-3."""
    rng: Source = source_of(np.random.default_rng(4) if library == "numpy" else torch.Generator().manual_seed(4))
    drawn, trials, q = np.asarray(discrete_laplace(t, (100, 200), rng)), 20_000, math.exp(-1 / t)
    assert drawn.shape == (100, 200)
    assert drawn.dtype == np.int64
    for k in (0, t // 8 - 1, t // 2, t + t // 3, 3 * t):
        upper = math.exp(-(k + 1) / t) / (1 + q)
        assert_frequency(int((drawn > k).sum()), trials, upper)
        assert_frequency(int((drawn < -k).sum()), trials, upper)
    if t < 100:
        assert_frequency(int((drawn == 0).sum()), trials, math.tanh(0.5 / t))
        assert_frequency(int((drawn == t).sum()), trials, math.tanh(0.5 / t) / math.e)
        assert_frequency(int((drawn % (t // 8) == 0).sum()), trials, share_of_multiples(t, t // 8))


def share_of_multiples(t: int, step: int) -> float:
    """P(z is a multiple of the step)."""
    q = math.exp(-1 / t)
    return (1 - q) / (1 + q) * (1 + q**step) / (1 - q**step)


def test_no_draws_at_all() -> None:
    assert discrete_laplace(8, (0, 3), source_of(np.random.default_rng(0))).shape == (0, 3)
    assert discrete_laplace(8, (), source_of(torch.Generator())).shape == ()
