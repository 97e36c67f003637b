"""Encodings of one value of many as bits or as a hash.

Unary encoding sends bit i as 1 with probability p where i is the value and q elsewhere; all bits together have
epsilon ln(p (1 - q) / (q (1 - p))), each alone at most ln(p/q) or ln((1 - q)/(1 - p)), whichever is larger.
"""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.specimen import Specimen


def _unary(x: int, n: int, k: int, p: float, q: float, rng: np.random.Generator) -> np.ndarray:
    """Bits as float64, shape (n, k)."""
    chance = np.full(k, q)
    chance[x] = p
    return (rng.random((n, k)) < chance).astype(np.float64)


def _epsilon(p: float, q: float) -> float:
    return math.log(p * (1 - q) / (q * (1 - p)))


_HALF_BUDGET = math.exp(0.25) / (math.exp(0.25) + 1)
_BUDGET = math.exp(0.5) / (math.exp(0.5) + 1)
_TWICE = math.e / (math.e + 1)


def _set_without_clearing(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """The value's bit is set with probability p, and otherwise stays what noise made it."""
    p, q = _HALF_BUDGET, 1 - _HALF_BUDGET
    return _unary(x, n, 20, p + (1 - p) * q, q, rng)


def _symmetric_half(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _unary(x, n, 20, _HALF_BUDGET, 1 - _HALF_BUDGET, rng)


TRUE_BIT = Specimen(
    name="a unary encoding that does not keep its true bit with probability p",
    what_is_wrong="the bit is 1 with p + (1 - p) q (pure-LDP 1.1.2); true epsilon 1.37, one bit alone shows 0.82",
    broken=_set_without_clearing,
    sound=_symmetric_half,
    inputs=(0, 1, 19),
    claimed_epsilon=0.5,
    broken_epsilon=_epsilon(_HALF_BUDGET + (1 - _HALF_BUDGET) ** 2, 1 - _HALF_BUDGET),
    sound_epsilon=0.5,
)


def _budget_for_each_bit(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _unary(x, n, 20, _TWICE, 1 - _TWICE, rng)


def _symmetric(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _unary(x, n, 20, _BUDGET, 1 - _BUDGET, rng)


SYMMETRIC_TWICE = Specimen(
    name="a symmetric unary encoding with twice its budget",
    what_is_wrong="e/(e + 1) for each of the two bits that differ; true epsilon 2, one bit alone shows 1",
    broken=_budget_for_each_bit,
    sound=_symmetric,
    inputs=(0, 1),
    claimed_epsilon=1.0,
    broken_epsilon=2.0,
    sound_epsilon=1.0,
)


def _two_bits_twice(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _unary(x, n, 2, _TWICE, 1 - _TWICE, rng)


def _two_bits(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _unary(x, n, 2, _BUDGET, 1 - _BUDGET, rng)


TWO_BITS_TWICE = Specimen(
    name="a unary encoding of two values with twice its budget",
    what_is_wrong="true epsilon 2; the event that the value is guessed right shows 1",
    broken=_two_bits_twice,
    sound=_two_bits,
    inputs=(0, 1),
    claimed_epsilon=1.0,
    broken_epsilon=2.0,
    sound_epsilon=1.0,
)


def _optimised_twice(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _unary(x, n, 20, 0.5, 1 / (math.exp(2) + 1), rng)


def _optimised(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _unary(x, n, 20, 0.5, 1 / (math.e + 1), rng)


OPTIMISED_TWICE = Specimen(
    name="an optimised unary encoding with twice its budget",
    what_is_wrong="q = 1/(e**2 + 1); true epsilon 2, one bit alone shows 1.43",
    broken=_optimised_twice,
    sound=_optimised,
    inputs=(0, 1),
    claimed_epsilon=1.0,
    broken_epsilon=2.0,
    sound_epsilon=1.0,
)

_SEEDS, _BUCKETS, _VALUES = 100, 3, 20
_TABLE = np.random.default_rng(1).integers(0, _BUCKETS, (_SEEDS, _VALUES))
"""The bucket of each value under each hash function, public."""


def _hashed(x: int, seeds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n = len(seeds)
    buckets = _TABLE[seeds, x]
    lies = (buckets + rng.integers(1, _BUCKETS, n)) % _BUCKETS
    kept = rng.random(n) < math.e / (math.e + _BUCKETS - 1)
    return np.stack([seeds, np.where(kept, buckets, lies)], axis=1)


def _hash_seeded_by_the_value(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _hashed(x, (7 * x + rng.integers(0, 10, n)) % _SEEDS, rng)


def _local_hashing(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _hashed(x, rng.integers(0, _SEEDS, n), rng)


HASH_SEED = Specimen(
    name="local hashing whose seed depends on the value",
    what_is_wrong="seeds 7 x .. 7 x + 9 name the value, whatever is done with the bucket; true epsilon infinite",
    broken=_hash_seeded_by_the_value,
    sound=_local_hashing,
    inputs=(0, 1, 2),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
)

SPECIMENS = (TRUE_BIT, SYMMETRIC_TWICE, TWO_BITS_TWICE, OPTIMISED_TWICE, HASH_SEED)
