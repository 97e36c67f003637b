"""Noise without flaws of its own, so that each program of the zoo has only the mistake that it shows."""

from __future__ import annotations

import numpy as np

from ldp_audit.mechanisms import Gaussian, Laplace


def laplace(shape: int | tuple[int, ...], scale: float, rng: np.random.Generator) -> np.ndarray:
    """Laplace noise on a grid (the shipped sampler); sums with whole numbers are exact. float64, of that shape."""
    return Laplace(scale).sample(np.zeros(shape), rng=rng)


def gaussian(n: int, sigma: float, rng: np.random.Generator) -> np.ndarray:
    """Normal noise on a grid; float64, shape (n,)."""
    return Gaussian(sigma).sample(np.zeros(n), rng=rng)


def two_sided_geometric(n: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers z with probability in proportion to e**(-epsilon |z|); int64, shape (n,)."""
    stops = -np.expm1(-epsilon)
    return rng.geometric(stops, n) - rng.geometric(stops, n)


def occurs(n: int, probability: float | np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Coins; booleans, shape (n,)."""
    return rng.random(n) < probability
