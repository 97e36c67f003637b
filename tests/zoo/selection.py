"""Selections: the largest query, a candidate by its utility, an index of the top k."""

from __future__ import annotations

import math

import numpy as np

from ldp_audit.mechanisms import PerturbedEncoding, PerturbedSampling
from tests.zoo.draws import laplace
from tests.zoo.specimen import Specimen

_NONE, _ALL, _ONE, _REST = (0.0,) * 5, (1.0,) * 5, (1.0, 0.0, 0.0, 0.0, 0.0), (0.0, 1.0, 1.0, 1.0, 1.0)


def _noisy(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return np.array(x) + laplace((n, len(x)), 2.0, rng)


def _noisy_max(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _noisy(x, n, rng).max(axis=1)


def _noisy_argmax(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _noisy(x, n, rng).argmax(axis=1)


NOISY_MAX = Specimen(
    name="report-noisy-max that returns the value",
    what_is_wrong="the largest of five noisy queries has epsilon 5/2, only its index has 1",
    broken=_noisy_max,
    sound=_noisy_argmax,
    inputs=(_NONE, _ALL, _ONE, _REST),
    claimed_epsilon=1.0,
    broken_epsilon=2.5,
    sound_epsilon=0.9185,  # by quadrature, rounded up
)


def _exponential(x: tuple[float, ...], n: int, factor: float, rng: np.random.Generator) -> np.ndarray:
    weights = np.exp(factor * np.array(x))
    return np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random(n), side="right")


def _without_the_two(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _exponential(x, n, 1.0, rng)


def _with_the_two(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _exponential(x, n, 0.5, rng)


def _exponential_epsilon(factor: float, others: int) -> float:
    """Of one candidate up and all others down, against the reverse."""
    t = math.exp(factor)
    return math.log(t * (1 + others * t) / (t + others))


EXPONENTIAL = Specimen(
    name="the exponential mechanism without the 2",
    what_is_wrong="utilities that all move at once need epsilon u / 2; true epsilon ln(e (1 + 9e) / (e + 9)) = 1.776",
    broken=_without_the_two,
    sound=_with_the_two,
    inputs=((1.0,) + (0.0,) * 9, (0.0,) + (1.0,) * 9),
    claimed_epsilon=1.0,
    broken_epsilon=_exponential_epsilon(1.0, 9),
    sound_epsilon=_exponential_epsilon(0.5, 9),
)

_PUBLISHED, _CALIBRATED = PerturbedEncoding(2.0, 4, 2), PerturbedEncoding.calibrated(2.0, 4, 2)


def _status(x: tuple[int, ...], n: int) -> np.ndarray:
    return np.broadcast_to(np.array(x), (n, len(x)))


def _published_encoding(x: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _PUBLISHED.sample(_status(x, n), rng=rng)


def _calibrated_encoding(x: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _CALIBRATED.sample(_status(x, n), rng=rng)


PERTURBED_ENCODING = Specimen(
    name="perturbed encoding at its published calibration",
    what_is_wrong="FedSel's Lemma 2 counts one bit, the report tells more; true epsilon 2.338 at d = 4, k = 2",
    broken=_published_encoding,
    sound=_calibrated_encoding,
    inputs=((1, 1, 0, 0), (0, 0, 1, 1)),
    claimed_epsilon=2.0,
    broken_epsilon=_PUBLISHED.exact_epsilon(),
    sound_epsilon=_CALIBRATED.exact_epsilon(),
)

_SAMPLING = PerturbedSampling(1.0, 10, 3)


def _sampled(x: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _SAMPLING.sample(_status(x, n), rng=rng)


def _sampled_and_discarded(x: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    _sampled(x, n, rng)  # and never looked at again
    return np.flatnonzero(x)[rng.integers(0, 3, n)]


DISCARDED = Specimen(
    name="a top-k selection that discards its own randomness",
    what_is_wrong="one of the top k takes the place of the perturbed index; true epsilon infinite",
    broken=_sampled_and_discarded,
    sound=_sampled,
    inputs=((1, 1, 1) + (0,) * 7, (0, 0, 1, 1, 1) + (0,) * 5),
    claimed_epsilon=1.0,
    broken_epsilon=math.inf,
    sound_epsilon=1.0,
)

SPECIMENS = (NOISY_MAX, EXPONENTIAL, PERTURBED_ENCODING, DISCARDED)
