"""Programs whose outputs are not independent: fixed seeds, small seeds, caches, tables of noise.

Within one large call most of these look sound.
"""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.draws import laplace, occurs
from tests.zoo.specimen import Specimen

_P = math.e / (math.e + 1)


def _noised(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + laplace(n, 1.0, rng)


def _fixed_seed(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + np.random.default_rng(42).laplace(size=n)


FIXED_SEED = Specimen(
    name="a seed that repeats",
    what_is_wrong="every call starts from seed 42, so that a report of one is a fixed function; true epsilon infinite",
    broken=_fixed_seed,
    sound=_noised,
    inputs=(0.0, 1.0),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
)


def _answered(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(occurs(n, _P, rng), x, 1 - x)


def _answered_with_fixed_seed(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _answered(x, n, np.random.default_rng(0))


FIXED_COIN = Specimen(
    name="randomised response with a seed that repeats",
    what_is_wrong="each call's first coin is the same, so that one answer is the truth, or its opposite; infinite",
    broken=_answered_with_fixed_seed,
    sound=_answered,
    inputs=(0, 1),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
)


def _small_seed(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return _noised(x, n, np.random.default_rng(int(rng.integers(0, 256))))


SMALL_SEED = Specimen(
    name="a seed of eight bits",
    what_is_wrong="a report of one takes 256 values, no two inputs the same ones; true epsilon infinite",
    broken=_small_seed,
    sound=_noised,
    inputs=(0.0, 1.0),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
)

_REMEMBERED: dict[float, float] = {}


def _remembered(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """The first report on an input is the report on it for good, for every client."""
    if x not in _REMEMBERED:
        _REMEMBERED[x] = float(_noised(x, 1, rng)[0])
    return np.full(n, _REMEMBERED[x])


CACHE = Specimen(
    name="a sampler that caches",
    what_is_wrong="the report is drawn once for each input; true epsilon infinite",
    broken=_remembered,
    sound=_noised,
    inputs=(0.0, 1.0),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
    remembers=True,
)

_POOL = laplace(1000, 1.0, np.random.default_rng(3))


def _from_the_pool(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + _POOL[rng.integers(0, len(_POOL), n)]


POOL = Specimen(
    name="noise from a table of a thousand",
    what_is_wrong="1000 possible reports for each input, no two inputs the same ones; true epsilon infinite",
    broken=_from_the_pool,
    sound=_noised,
    inputs=(0.0, 1.0),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
)

SPECIMENS = (FIXED_SEED, FIXED_COIN, SMALL_SEED, CACHE, POOL)
