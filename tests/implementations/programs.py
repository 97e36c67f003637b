"""Programs as maps of their words. A new process that asks one of them afresh imports numpy alone."""

from __future__ import annotations

import math

import numpy as np

Generator = np.random.Generator


def coarse(x: float, n: int, rng: Generator) -> np.ndarray:
    """A threshold on 8 bits: 3 to 1."""
    return np.where(rng.integers(0, 256, n) < 64, -x, x)


def single_float(x: float, n: int, rng: Generator) -> np.ndarray:
    return np.where(rng.random(n, dtype=np.float32) < 0.25, -x, x)


def two_rows(x: float, n: int, rng: Generator) -> np.ndarray:
    u = rng.random((2, n))
    return x + u[0] + 2 * u[1]


def two_columns(x: float, n: int, rng: Generator) -> np.ndarray:
    u = rng.random((n, 2))
    return x + u[:, 0] + 2 * u[:, 1]


def two_calls(x: float, n: int, rng: Generator) -> np.ndarray:
    return x + rng.random(n) + 2 * rng.uniform(-1, 1, n)


def flat_by_output(x: float, n: int, rng: Generator) -> np.ndarray:
    u = rng.random(2 * n).reshape(n, 2)
    return x + u[:, 0] + 2 * u[:, 1]


def flat_by_draw(x: float, n: int, rng: Generator) -> np.ndarray:
    u = rng.random(2 * n).reshape(2, n)
    return x + u[0] + 2 * u[1]


def of_one_value(x: float, rng: Generator) -> float:
    return x if rng.integers(0, 256) < 192 else -x


def shared_by_a_call(x: float, n: int, rng: Generator) -> np.ndarray:
    """One sign for all outputs of a call."""
    return np.where(rng.integers(0, 4, n) == 0, -x, x) * (1 if rng.integers(0, 2) else 2)


def mixed(x: float, n: int, rng: Generator) -> np.ndarray:
    return np.where(rng.integers(0, 8, n) < 2, rng.integers(0, 2, n), x)


def rejects(x: float, n: int, rng: Generator) -> np.ndarray:
    drawn = rng.random(n)
    while (drawn < 0.3).any():
        again = drawn < 0.3
        drawn[again] = rng.random(again.sum())
    return np.where(drawn < 0.5, x, -x)


def rejects_zero(x: float, n: int, rng: Generator) -> np.ndarray:
    """Draws again at one word in 2**16, which no trace meets; `integers` stands for a uniform without its zero."""
    drawn = rng.integers(0, 2**16, n)
    while (drawn == 0).any():
        drawn[drawn == 0] = rng.integers(0, 2**16, (drawn == 0).sum())
    return np.where(drawn < 2**14, -x, x)


def noisy(x: float, n: int, rng: Generator) -> np.ndarray:
    return x + rng.normal(size=n)


def hidden(x: float, n: int, rng: Generator) -> np.ndarray:
    return np.where(rng.random(n) < 0.5, x, -x) * (1 + np.random.default_rng().random(n))


def of_the_library(x: float, n: int, rng: Generator) -> np.ndarray:
    return np.where(np.random.random(n) < 0.5, x, -x)


def swallows(x: float, n: int, rng: Generator) -> np.ndarray:
    """Catches the refusal and goes on without noise."""
    try:
        return x + rng.normal(size=n)
    except Exception:  # noqa: BLE001
        return np.full(n, x)


def copies(x: float, n: int, rng: Generator) -> np.ndarray:
    return x + np.random.Generator(rng.bit_generator).random(n)


def by_input(x: float, n: int, rng: Generator) -> np.ndarray:
    """Two draws on one input, one on the other."""
    return x + rng.random(n) + (rng.random(n) if x > 0 else 0)


def constant(x: float, n: int, rng: Generator) -> np.ndarray:
    return np.full(n, abs(x))


def fails_at_zero(x: float, rng: Generator) -> float:
    return x * math.log(rng.integers(0, 256))


class Remembers:
    """A client with a permanent answer to each question: epsilon 1 in all, however often it is asked."""

    def __init__(self) -> None:
        self.answers: dict[int, int] = {}

    def report(self, x: int, rng: Generator) -> int:
        """The answer, drawn where the question is new."""
        if x not in self.answers:
            self.answers[x] = x if rng.random() < math.e / (1 + math.e) else 1 - x
        return self.answers[x]


def one_draw_for_a_call(x: int, n: int, rng: Generator) -> np.ndarray:
    """Epsilon 1 for each output, and for a call as a whole."""
    return np.full(n, x if rng.exponential() < 1.3132616875182228 else 1 - x)
