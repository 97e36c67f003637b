"""Mistakes that stay under the claim: the program is as private as it says, and is not what it says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldp_audit.mechanisms import Laplace, Piecewise, RandomizedResponse, TwoPoint
from tests.zoo.draws import laplace, occurs
from tests.zoo.specimen import Deviation

_RESPONSE = RandomizedResponse(1.0, 4)


def _response(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return _RESPONSE.sample(np.full(n, x), rng=rng)


def _response_told_of_others(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    truth = (math.e - 1) / (math.e + 3)
    return np.where(occurs(n, truth, rng), x, (x + rng.integers(1, 4, n)) % 4)


LIE_EXCLUDES = Deviation(
    name="a lie that cannot equal the truth, with the probabilities of one that can",
    what_is_wrong="the truth is told with 0.30 instead of 0.48; true epsilon 0.25, the estimator is biased",
    broken=_response_told_of_others,
    sound=_response,
    law=_RESPONSE,
    inputs=(0, 1, 2, 3),
    claimed_epsilon=1.0,
)


def _half_budget(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return RandomizedResponse(0.5, 4).sample(np.full(n, x), rng=rng)


HALF_BUDGET = Deviation(
    name="randomised response with half its budget",
    what_is_wrong="e**(epsilon/2) for e**epsilon; true epsilon 1/2",
    broken=_half_budget,
    sound=_response,
    law=_RESPONSE,
    inputs=(0, 1, 2, 3),
    claimed_epsilon=1.0,
)


def _noised(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + laplace(n, 1.0, rng)


def _noised_by_a_twentieth_more(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + laplace(n, 1.05, rng)


TOO_MUCH_NOISE = Deviation(
    name="noise of a twentieth too much",
    what_is_wrong="scale 1.05 for 1; true epsilon 0.952",
    broken=_noised_by_a_twentieth_more,
    sound=_noised,
    law=Laplace(1.0),
    inputs=(0.0, 1.0),
    claimed_epsilon=1.0,
)


def _reported(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return Piecewise(1.0).sample(np.full(n, x), rng=rng)


def _reported_and_negated(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return -_reported(x, n, rng)


SIGN = Deviation(
    name="PM with the sign turned",
    what_is_wrong="what is done to a report costs no privacy; every mean has the wrong sign",
    broken=_reported_and_negated,
    sound=_reported,
    law=Piecewise(1.0).implemented(),
    inputs=(-1.0, 0.5),
    claimed_epsilon=1.0,
)


def _two_points(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return TwoPoint(1.0).sample(np.full(n, x), rng=rng)


def _two_points_unscaled(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.sign(_two_points(x, n, rng))


UNSCALED = Deviation(
    name="a two-point report that is not scaled",
    what_is_wrong="-1 and 1 for -A and A; true epsilon 1, the mean is x/A",
    broken=_two_points_unscaled,
    sound=_two_points,
    law=TwoPoint(1.0),
    inputs=(-1.0, 1.0),
    claimed_epsilon=1.0,
)


@dataclass(frozen=True)
class OptimisedUnary:
    """Two bits: that of the value is 1 with probability 1/2, the other one with 1/(e + 1)."""

    outputs: tuple[tuple[float, float], ...] = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))

    def log_prob(self, y: Any, x: int) -> float:
        """Log probability of the bits y."""
        chances = unary_chances(x, 0.5, 1 / (math.e + 1))
        return float(np.sum(np.log(np.where(np.asarray(y) == 1, chances, 1 - chances))))


def unary_chances(x: int, p: float, q: float) -> np.ndarray:
    """That each of two bits is 1."""
    return np.where(np.arange(2) == x, p, q)


def _unary(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((n, 2)) < unary_chances(x, 0.5, 1 / (math.e + 1))).astype(np.float64)


def _unary_swapped(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return (rng.random((n, 2)) < unary_chances(x, 1 / (math.e + 1), 0.5)).astype(np.float64)


SWAPPED = Deviation(
    name="a unary encoding with p and q swapped",
    what_is_wrong="the ratio of p/(1 - p) and q/(1 - q) is turned upside down; true epsilon 1, all estimates negative",
    broken=_unary_swapped,
    sound=_unary,
    law=OptimisedUnary(),
    inputs=(0, 1),
    claimed_epsilon=1.0,
)

DEVIATIONS = (LIE_EXCLUDES, HALF_BUDGET, TOO_MUCH_NOISE, SIGN, UNSCALED, SWAPPED)
