"""Neighbouring score vectors, and the divergence of their laws, for selections by scores."""

from __future__ import annotations

from typing import Any

import numpy as np


def best_of_levels(m: Any, first: np.ndarray, second: np.ndarray, level: float) -> float:
    """The larger hockey-stick divergence of the laws at two score vectors, in both orders."""
    p, q = (np.asarray(m.log_prob(np.arange(m.candidates), x)) for x in (first, second))
    return max(float(np.sum(np.exp(a) * -np.expm1(np.minimum(level + b - a, 0)))) for a, b in ((p, q), (q, p)))


def assert_no_pair_is_worse(m: Any, count: int = 2000) -> None:
    """Random scores at random spreads, each moved by the whole sensitivity, up or down: none exceeds a bound."""
    rng, n = np.random.default_rng(1), m.candidates
    first = rng.normal(size=(count, n)) * rng.choice([0.01, 0.3, 1, 3, 10], size=(count, 1)) * m.scale()
    second = first + m.sensitivity * rng.choice([-1, 1], size=(count, n))
    p, q = (np.asarray(m.log_prob(np.arange(n), x[:, None, :])) for x in (first, second))
    assert np.abs(p - q).max() <= m.exact_epsilon() * (1 + 1e-9)
    for level in (0.0, 0.2 * m.epsilon, 0.7 * m.epsilon):
        found = np.sum(np.exp(p) * -np.expm1(np.minimum(level + q - p, 0)), axis=-1)
        assert found.max() <= float(m.delta(level)) * (1 + 1e-9) + 1e-15
    assert np.abs(p - q).max() > 0.5 * m.exact_epsilon()  # the pairs are no easy ones
