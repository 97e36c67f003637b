"""The test of fit against laws that users write."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ldp_audit.auditing.fitting import fit
from ldp_audit.mechanisms import (
    SymbolicChannel,
    Variable,
)
from tests.auditing.test_goodness_of_fit import laplace, sampler_of
from tests.frequency import FALSE_ALARM

SURE = 1 - FALSE_ALARM


class Dice:
    """A user's law on labels: six faces, the sixth loaded by x."""

    outputs = ("one", "two", "three", "four", "five", "six")

    def log_prob(self, y: str, x: float) -> float:
        return math.log(1 / 6 + (x if y == "six" else -x / 5))


class Triangle:
    """A user's density on [x - 1, x + 1], with an atom at 5 of mass a quarter."""

    outputs = (5.0,)

    def log_prob(self, y: Any, x: float) -> Any:
        y = np.asarray(y, dtype=float)
        with np.errstate(divide="ignore"):
            density = np.log(0.75 * np.maximum(0.0, 1 - np.abs(y - x)))
        return np.where(y == 5.0, math.log(0.25), density)

    def breakpoints(self, x: float) -> list[float]:
        return [x - 1, x, x + 1]


def triangle(atom: float) -> Callable:
    def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(n) < atom, 5.0, x + rng.random(n) - rng.random(n))

    return sampler


def test_a_law_of_the_users_own_on_labels() -> None:
    def dice(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(Dice.outputs, size=n, p=[1 / 6 - x / 5] * 5 + [1 / 6 + x])

    assert not fit(dice, Dice(), [0.0, 0.1], samples=5_000, confidence=SURE).differs
    found = fit(lambda x, n, rng: dice(x + 0.1, n, rng), Dice(), [0.0, 0.1], samples=5_000, confidence=SURE)
    assert found.differs
    assert "y = 'six'" in fit(lambda x, n, rng: dice(0.1, n, rng), Dice(), [0.0], samples=5_000).describe()


def test_a_law_of_the_users_own_with_a_density_and_an_atom() -> None:
    assert not fit(triangle(0.25), Triangle(), [0.0, 2.0], samples=10_000, confidence=SURE).differs
    assert fit(triangle(0.30), Triangle(), [0.0, 2.0], samples=10_000, confidence=SURE).differs
    assert fit(laplace, Triangle(), [0.0], samples=1_000, confidence=SURE).p_value == 0


W = Variable("w", -1, 1)


def test_a_symbolic_channel_of_the_users_own_once_it_is_bound() -> None:
    """A coin with 1/2 +- w/4, and a density that is three times as high around w as elsewhere."""
    from sympy import Rational

    coin = SymbolicChannel("coin", W, [(1, Rational(1, 2) + W / 4), (-1, Rational(1, 2) - W / 4)]).bind()

    def flip(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(n) < 0.5 + x / 4, 1, -1)

    assert not fit(flip, coin, [-1.0, 0.5], samples=5_000, confidence=SURE).differs
    assert fit(lambda x, n, rng: flip(-x, n, rng), coin, [-1.0, 0.5], samples=5_000, confidence=SURE).differs
    steps = SymbolicChannel(
        "steps", W, pieces=[(-2, W - 1, Rational(1, 8)), (W - 1, W + 1, Rational(3, 8)), (W + 1, 2, Rational(1, 8))]
    )

    def step(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        inside = rng.random(n) < 3 / 4
        y = 2 * rng.random(n) - 2
        return np.where(inside, x + 2 * rng.random(n) - 1, np.where(y < x - 1, y, y + 2))

    assert not fit(step, steps.bind(), [-1.0, 0.37], samples=20_000, confidence=SURE).differs
    off = fit(lambda x, n, rng: step(x / 2, n, rng), steps.bind(), [0.37], samples=20_000, confidence=SURE)
    assert off.differs
    drawn = sampler_of(coin)
    assert not fit(drawn, coin.implemented(), [-1.0, 0.5], samples=5_000, confidence=SURE).differs
