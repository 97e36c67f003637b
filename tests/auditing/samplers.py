"""Samplers whose exact epsilon is known, for the tests of the auditor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldp_audit.mechanisms import Laplace, Piecewise, RandomizedResponse, TwoPoint


def randomized_response(epsilon: float, k: int = 2) -> Any:
    return lambda x, n, rng: RandomizedResponse(epsilon, k).sample(np.full(n, x), rng=rng)


def two_point(epsilon: float) -> Any:
    return lambda x, n, rng: TwoPoint(epsilon).sample(np.full(n, float(x)), rng=rng)


def piecewise(epsilon: float) -> Any:
    return lambda x, n, rng: Piecewise(epsilon).sample(np.full(n, float(x)), rng=rng)


def laplace(epsilon: float) -> Any:
    return lambda x, n, rng: Laplace(1 / epsilon).sample(np.full(n, float(x)), rng=rng)


def noisy_max_value(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """Report-noisy-max that releases its value: five queries, claimed 1, in truth 2.5."""
    return (np.array(x)[None, :] + rng.laplace(scale=2.0, size=(n, 5))).max(axis=1)


def labels(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """yes, no, or None; epsilon = log 3 between 0 and 1."""
    chances = (0.6, 0.2, 0.2) if x == 0 else (0.2, 0.6, 0.2)
    return np.array(["yes", "no", None], dtype=object)[rng.choice(3, size=n, p=chances)]


def atom_and_density(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """0 with probability 0.2 on input 0 and 0.6 on input 1, else a normal number: epsilon = log 3."""
    zero = rng.random(n) < (0.2 if x == 0 else 0.6)
    return np.where(zero, 0.0, rng.normal(size=n))


LOG_3 = math.log(3)
