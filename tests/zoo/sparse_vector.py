"""Sparse vector: which of many queries lie above a threshold, said c times at the price of c, not of all.

The variants are those of Lyu, Su, Li, "Understanding the Sparse Vector Technique for Differential Privacy" (VLDB 2017),
Algorithms 1 and 3 to 6, with epsilon halved between threshold and queries, and sensitivity 1. Reports are vectors with
an entry a query: 1 above, 0 below, -1 not answered.
"""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.draws import laplace
from tests.zoo.specimen import Specimen

_THRESHOLD = 0.5
_UP, _DOWN = (0.0,) * 5 + (1.0,) * 5, (1.0,) * 5 + (0.0,) * 5

_ALONE, _THREE = 0.8746, 0.5880
"""The exact epsilon of the sound program on this pair, with c = 1 and c = 3. These numbers, and those of Algorithms 4
and 6 below, are by quadrature over the threshold, for each outcome; rounded up."""


def _answers(x: tuple[float, ...], threshold: np.ndarray, noise: np.ndarray, most: int) -> np.ndarray:
    """threshold: shape (n, 1).   noise: of the queries, shape (n, queries).   most: answers above, then it stops."""
    above = np.array(x) + noise >= threshold
    answered = np.cumsum(above, axis=1) - above < most
    return np.where(answered, above, -1).astype(np.float64)


def _noisy_threshold(n: int, scale: float, rng: np.random.Generator) -> np.ndarray:
    return _THRESHOLD + laplace((n, 1), scale, rng)


def _sound(x: tuple[float, ...], n: int, epsilon: float, most: int, rng: np.random.Generator) -> np.ndarray:
    threshold = _noisy_threshold(n, 2 / epsilon, rng)
    return _answers(x, threshold, laplace((n, len(x)), 4 * most / epsilon, rng), most)


def _first_alone(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _sound(x, n, 1.0, 1, rng)


def _first_three(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _sound(x, n, 1.0, 3, rng)


def _value_for_the_answer(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 3 with c = 1: the noisy query is reported where it lies above."""
    threshold, noise = _noisy_threshold(n, 2.0, rng), laplace((n, len(x)), 2.0, rng)
    above = _answers(x, threshold, noise, 1)
    return np.where(above == 1, np.array(x) + noise, np.where(above == 0, -1000.0, -2000.0))


VALUE = Specimen(
    name="sparse vector that reports the query's value",
    what_is_wrong="a value lies above the noisy threshold, which is so given away (Lyu et al., Algorithm 3); infinite",
    broken=_value_for_the_answer,
    sound=_first_alone,
    inputs=(_UP, _DOWN),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=_ALONE,
)


def _noise_for_one_answer(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 4: the noise of the queries does not grow with the answers above that are allowed."""
    threshold = _noisy_threshold(n, 4.0, rng)
    return _answers(x, threshold, laplace((n, len(x)), 4 / 3, rng), 3)


NOISE_FOR_ONE = Specimen(
    name="sparse vector whose noise does not grow with its answers",
    what_is_wrong="noise for one answer above, three are given (Lyu et al., Algorithm 4); true epsilon 4.18",
    broken=_noise_for_one_answer,
    sound=_first_three,
    inputs=(_UP, _DOWN),
    claimed_epsilon=1.0,
    broken_epsilon=4.1807,
    sound_epsilon=_THREE,
)


def _no_noise_on_queries(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 5: the threshold alone is noisy."""
    return _answers(x, _noisy_threshold(n, 2.0, rng), np.zeros((n, len(x))), len(x))


QUIET_QUERIES = Specimen(
    name="sparse vector without noise on its queries",
    what_is_wrong="five below and five above is impossible on the reversed input (Lyu et al., Algorithm 5); infinite",
    broken=_no_noise_on_queries,
    sound=_first_alone,
    inputs=(_UP, _DOWN),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=_ALONE,
)


def _no_end(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 6: as many answers above as there are queries."""
    return _answers(x, _noisy_threshold(n, 2.0, rng), laplace((n, len(x)), 2.0, rng), len(x))


NO_END = Specimen(
    name="sparse vector that never stops",
    what_is_wrong="answers above without limit (Lyu et al., Algorithm 6); true epsilon 4.06 on ten queries",
    broken=_no_end,
    sound=_first_alone,
    inputs=(_UP, _DOWN),
    claimed_epsilon=1.0,
    broken_epsilon=4.0612,
    sound_epsilon=_ALONE,
)

SPECIMENS = (VALUE, NOISE_FOR_ONE, QUIET_QUERIES, NO_END)
