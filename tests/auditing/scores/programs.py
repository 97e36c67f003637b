"""Small programs with vectors as outputs, whose epsilon is known: (x, n, rng) -> array (n, d), x in {0, 1}."""

from __future__ import annotations

import itertools
import math

import numpy as np

KEEP = math.exp(0.5) / (1 + math.exp(0.5))
BITS = 10
ALL_BITS = np.array(list(itertools.product([0.0, 1.0], repeat=BITS)))
"""Every output of the bit programs, which have so few that probabilities can be summed exactly."""


def unary_encoding(x: int, n: int, rng: np.random.Generator, bits: int = BITS) -> np.ndarray:
    """One-hot of x, each bit kept with probability e^(1/2) / (1 + e^(1/2)): epsilon 1."""
    hot = np.zeros((n, bits))
    hot[:, x] = 1
    return np.abs(hot - (rng.random((n, bits)) >= KEEP))


def unary_encoding_law(x: int) -> np.ndarray:
    """The probability of every row of ALL_BITS."""
    hot = np.zeros(BITS)
    hot[x] = 1
    return np.where(hot == ALL_BITS, KEEP, 1 - KEEP).prod(axis=1)


def hidden_relation(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Fair bits, but bit 7 is bit 3, plus x, with probability e / (1 + e): epsilon 1, no single bit tells anything."""
    bits = rng.integers(0, 2, (n, BITS)).astype(float)
    kept = rng.random(n) < math.e / (1 + math.e)
    bits[:, 7] = np.where(kept, (bits[:, 3] + x) % 2, (bits[:, 3] + x + 1) % 2)
    return bits


def hidden_relation_law(x: int) -> np.ndarray:
    """The probability of every row of ALL_BITS."""
    kept = (ALL_BITS[:, 3] + x) % 2 == ALL_BITS[:, 7]
    return np.where(kept, math.e, 1.0) / (1 + math.e) / 2 ** (BITS - 1)


def rappor(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Four bits of each input, noise f = 1/2: a bit is 3/4 true; epsilon 8 ln 3."""
    true = np.isin(np.arange(BITS), [0, 2, 4, 6] if x == 0 else [1, 3, 5, 7])
    return (rng.random((n, BITS)) < np.where(true, 0.75, 0.25)).astype(float)


def rappor_law(x: int) -> np.ndarray:
    """The probability of every row of ALL_BITS."""
    true = np.isin(np.arange(BITS), [0, 2, 4, 6] if x == 0 else [1, 3, 5, 7])
    return np.where((ALL_BITS == 1) == true, 0.75, 0.25).prod(axis=1)


def hadamard(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """A column of 64 of a Hadamard matrix, its entry in row x + 1, true with probability e^4/(1 + e^4): epsilon 4."""
    column = rng.integers(0, 64, n)
    both = column & (x + 1)
    kept = rng.random(n) < math.exp(4) / (1 + math.exp(4))
    return np.stack([column, np.where(((both ^ both >> 1) & 1) == kept, 1, -1)], axis=1)


def nearly_fixed_sum(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Five normal numbers; on input 0 the last is minus the sum of the others and a little noise, of variance 1."""
    y = rng.normal(size=(n, 5))
    if x == 0:
        y[:, 4] = (0.3 * y[:, 4] - y[:, :4].sum(axis=1)) / math.sqrt(4.09)
    return y


def shifted_in_a_corner(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Three normal numbers; the last is shifted by x where the others are positive."""
    y = rng.normal(size=(n, 3))
    y[:, 2] += x * ((y[:, 0] > 0) & (y[:, 1] > 0))
    return y


def index_and_value(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """An index 0..3 and Laplace noise about +1/2 or -1/2, which of them depends on both x and the index: epsilon 1."""
    index = rng.integers(0, 4, n)
    return np.stack([index, np.where(index % 2 == x, 0.5, -0.5) + rng.laplace(0, 1, n)], axis=1)


def shared_noise(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """(x, 0, 0, 0, 0) plus one Laplace number, the same for all five: epsilon is infinite, y[0] - y[1] is x."""
    true = np.zeros(5)
    true[0] = x
    return true + rng.laplace(0, 1, (n, 1))


def noisy_maximum(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """The place and the noisy value of the greatest of five answers, all x: epsilon 5/2, where the maximum is <= 0."""
    y = x + rng.laplace(0, 2, (n, 5))
    return np.stack([np.argmax(y, axis=1), y.max(axis=1)], axis=1)


def laplace_vector(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Five answers, all x, released with Laplace noise of scale 2: epsilon 5/2, where all are <= 0."""
    return x + rng.laplace(0, 2, (n, 5))


def sparse_vector(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Ten answers compared with a noisy threshold but without noise of their own: epsilon is infinite."""
    answers = np.where(np.arange(10) < 5, x, 1 - x)
    return (answers >= rng.laplace(0, 2, (n, 1))).astype(float)


def common_and_own_noise(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """(x, 0, 0, 0, 0) plus a common Laplace number of scale 5 and own ones of scale 1: epsilon at most 1."""
    true = np.zeros(5)
    true[0] = x
    return true + rng.laplace(0, 5, (n, 1)) + rng.laplace(0, 1, (n, 5))


def running_sums(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Ten running sums of Laplace noise, one number more each, all numbers moved by 0.3: epsilon 3."""
    return np.cumsum(0.3 * x + rng.laplace(size=(n, 10)), axis=1)
