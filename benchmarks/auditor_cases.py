"""The programs for every auditor, in numpy alone, so that each peer's own environment can load them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A program with its exact epsilon.

    sampler: (x, n, rng) -> n outputs.   inputs: two.   truth: exact epsilon, nats.
    values: the outputs, if they are few numbers.   span: an interval with nearly all mass of a real output.
    """

    sampler: Callable[[Any, int, np.random.Generator], np.ndarray]
    inputs: tuple[Any, Any]
    truth: float
    values: tuple[float, ...] = ()
    span: tuple[float, float] = (0.0, 0.0)
    dimension: int = 1


def k_rr(epsilon: float, k: int) -> Callable[[Any, int, np.random.Generator], np.ndarray]:
    """Randomised response on 0 .. k-1."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)

    def sampler(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        lie = (x + rng.integers(1, k, n)) % k
        return np.where(rng.random(n) < keep, x, lie)

    return sampler


def laplace(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Laplace noise of scale 1."""
    return x + rng.laplace(size=n)


def duchi(epsilon: float) -> Callable[[Any, int, np.random.Generator], np.ndarray]:
    """Duchi's two-point mechanism on [-1, 1]."""
    reach = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)

    def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(n) < 0.5 + x / (2 * reach), reach, -reach)

    return sampler


def piecewise(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Wang et al.'s piecewise mechanism at epsilon 1."""
    half = math.exp(0.5)
    c = (half + 1) / (half - 1)
    left = (c + 1) / 2 * x - (c - 1) / 2
    inside = rng.random(n) < half / (half + 1)
    near = left + (c - 1) * rng.random(n)
    far = (c + 1) * rng.random(n) - c
    return np.where(inside, near, np.where(far < left, far, far + (c - 1)))


def noisy_max_value(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """BROKEN: report-noisy-max that releases the value; five queries, claimed epsilon 1, true 2.5."""
    return (np.asarray(x)[None, :] + rng.laplace(scale=2.0, size=(n, 5))).max(axis=1)


def unary(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Symmetric unary encoding of one of 20 values, epsilon 1."""
    keep = math.exp(0.5) / (math.exp(0.5) + 1)
    truth = np.arange(20) == x
    return np.where(rng.random((n, 20)) < keep, truth, ~truth).astype(np.int64)


CASES: dict[str, Case] = {
    "a Warner 1": Case(k_rr(1.0, 2), (0, 1), 1.0, (0, 1)),
    "b Laplace 1": Case(laplace, (0.0, 1.0), 1.0, span=(-9.0, 10.0)),
    "c4 Duchi 4": Case(duchi(4.0), (-1.0, 1.0), 4.0, (-1.0373147207275482, 1.0373147207275482)),
    "d Piecewise 1": Case(piecewise, (-1.0, 1.0), 1.0, span=(-4.09, 4.09)),
    "e noisy max's value (claim 1)": Case(noisy_max_value, ((0,) * 5, (1,) * 5), 2.5, span=(-5.0, 25.0)),
    "f k-RR (10) 2": Case(k_rr(2.0, 10), (0, 1), 2.0, tuple(range(10))),
    "g unary, 20 bits, 1": Case(unary, (0, 1), 1.0, dimension=20),
}
