"""Random and hostile numbers, and what is asked about a divergence."""

from __future__ import annotations

import math

import numpy as np

from tests.truth.questions import DeltaAt, EpsilonAt, Question, Truth

Rng = np.random.Generator
Asked = tuple[str, Question]

HOSTILE = (1e-9, 1e-3, 0.1, 1.0, 10.0, 50.0)
DELTAS = (1e-2, 1e-5, 1e-6, 1e-10, 1e-15, 1e-20, 1e-30)


def pick(rng: Rng, values: tuple) -> object:
    return values[int(rng.integers(len(values)))]


def budget(rng: Rng, low: float = 1e-4, high: float = 20.0, hostile: float = 0.3) -> float:
    """An epsilon, log-uniform or hostile."""
    if rng.random() < hostile:
        return float(pick(rng, tuple(one for one in HOSTILE if low <= one <= high or hostile == 1.0)))
    return round_to(float(np.exp(rng.uniform(math.log(low), math.log(high)))), 6)


def round_to(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def asked(rng: Rng, code: str, truth: Truth, top: float, *, by_delta: bool | None = None) -> Asked:
    """Delta at an epsilon or epsilon at a delta.   top: about the largest epsilon of interest, nats."""
    if rng.random() < 0.5 if by_delta is None else by_delta:
        delta = float(pick(rng, (*DELTAS, round_to(10 ** rng.uniform(-12, 0), 4))))
        delta = float(pick(rng, (0.0, 1.0, 0.5))) if rng.random() < 0.1 else delta
        return f"{code}.epsilon_bounds(delta={delta!r})", EpsilonAt(truth, delta)
    share = float(pick(rng, (0.0, 1e-6, 0.999999, 1.0, 1.2))) if rng.random() < 0.25 else round_to(rng.random(), 4)
    epsilon = top * share
    if rng.random() < 0.1:
        return f"{code}.profile().bounds({epsilon!r})", DeltaAt(truth, epsilon)
    return f"{code}.delta_bounds({epsilon!r})", DeltaAt(truth, epsilon)


def typical(truth: Truth, delta: float = 1e-12) -> float:
    """An epsilon near which delta is small, to ask about."""
    high = 1e-3
    while high < 1e4 and truth.at(high)[0] > delta:
        high *= 2
    return high
