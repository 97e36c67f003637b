"""Samplers that worker processes import, in a module that is quick to import; some of them come to a bad end."""

from __future__ import annotations

import math
import os
import random
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ldp_audit.auditing.program import Program


def uniform(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.random(n) ** (1 + x)


def biased(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(n) < 0.9, x, -x)


class Bad:
    """Does something bad in these chunks, on input 0; once only, where a file is to say that it did."""

    def __init__(self, what: str, *chunks: int, once: Path | None = None) -> None:
        self.what, self.once = what, once
        self.firsts = [Program(uniform, 3).outputs(0.0, 1, (1, 0, chunk)).known_numbers[0] for chunk in chunks]

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        outputs = uniform(x, n, rng)
        if outputs[0] in self.firsts and not (self.once and self.once.exists()):
            if self.once:
                self.once.touch()
            if self.what == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.what == "hangs":
                time.sleep(100)
            raise ArithmeticError("boom")
        return outputs


class Unloadable:
    def __call__(self, x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return uniform(x, n, rng)

    def __reduce__(self) -> Any:
        return (_fail_to_load, ())


def _fail_to_load() -> None:
    raise ImportError("no such module here")


calls = [0]


def ends_the_scheduler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Ends its process in its ninth call, where the environment says that this is the scheduler's too."""
    calls[0] += 1
    if calls[0] == 9 and "ENDS_THE_SCHEDULER" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return (rng.random(n) < 0.5 + 0.2 * x).astype(float)


class MemoisedRappor:
    """One bit for each of 8 values, kept with probability 1/2 and else uniform, once for all; reports draw from it."""

    def __init__(self) -> None:
        self.permanent: dict[int, list[int]] = {}

    def report(self, x: int) -> list[int]:
        if x not in self.permanent:
            kept = [random.random() < 0.5 for _ in range(8)]
            self.permanent[x] = [int(i == x) if keep else random.randrange(2) for i, keep in enumerate(kept)]
        return [int(random.random() < (0.75 if bit else 0.25)) for bit in self.permanent[x]]


def repeating(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Warner's answer at epsilon 1, from a generator that is always the same: the first output tells the input."""
    return np.where(np.random.default_rng(1).random(n) < 0.7310585, x, -x)


class Rappor:
    """A permanent answer on eight bits, remembered for each value, and a fresh one from it: epsilon 1.02 a report."""

    def __init__(self) -> None:
        self.memory: dict[Any, np.ndarray] = {}

    def __call__(self, x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        if x not in self.memory:
            true = np.arange(8) == x
            self.memory[x] = np.where(rng.random(8) < 0.5, rng.random(8) < 0.5, true)
        return (rng.random((n, 8)) < np.where(self.memory[x], 0.75, 0.5)).astype(int)


def closure() -> Any:
    """The same, remembered by a closure, which has no name."""
    client = Rappor()
    return lambda x, n, rng: client(x, n, rng)


class OneAnswer:
    """Laplace noise with epsilon 1, drawn once for each value and sent for ever: epsilon 1 for all that is sent."""

    def __init__(self) -> None:
        self.memory: dict[Any, float] = {}

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.full(n, self.memory.setdefault(x, x + rng.laplace()))


class OfTwoSources:
    """RAPPOR on a bit: a permanent answer of epsilon 0.405, from the operating system, and coins of the generator."""

    def __init__(self) -> None:
        self.memory: dict[int, int] = {}

    def __call__(self, x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        truthful = random.SystemRandom().random() < 0.6
        bit = self.memory.setdefault(x, x if truthful else 1 - x)
        return np.where(rng.random(n) < 0.75, bit, 1 - bit)


MODULE = Rappor()


def of_a_module() -> Any:
    """The same, remembered by a module."""
    MODULE.memory.clear()
    return asked_module


def asked_module(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return MODULE(x, n, rng)


KEPT: dict[int, int] = {}


def keeper(epsilon: float = 1.02) -> Any:
    """A bit of this epsilon, drawn from the generator at the first call and kept by a module."""
    KEPT.clear()
    return partial(kept, epsilon=epsilon)


def kept(x: int, n: int, rng: np.random.Generator, epsilon: float) -> np.ndarray:
    bit = KEPT.setdefault(x, x if rng.random() < 1 / (1 + math.exp(-epsilon)) else 1 - x)
    return np.where(rng.random(n) < 0.997, bit, 1 - bit)


def of_a_record(x: dict[str, int], n: int, rng: np.random.Generator) -> np.ndarray:
    """A bit of epsilon 1.0986, kept in the client's record, and a report of it."""
    bit = x.setdefault("kept", x["value"] if rng.random() < 0.75 else 1 - x["value"])
    return np.where(rng.random(n) < 0.9, bit, 1 - bit)


SCALE = 1.0


def of_a_scale(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.laplace(scale=SCALE, size=n)


class WithAnAnswer:
    """Draws its noise once, from a generator of its own, when it is first asked."""

    def __init__(self) -> None:
        self.noise: float | None = None

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        if self.noise is None:
            self.noise = random.SystemRandom().gauss(0, 3)
        return np.array([x + self.noise + random.SystemRandom().gauss(0, 2) for _ in range(n)])


def own_entropy(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Too little noise, from elsewhere than the generator: nothing is remembered."""
    return x + 0.5 * np.random.default_rng().laplace(size=n)


def one_draw(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + np.full(n, rng.laplace())


def used_again(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Each draw of noise is used ten times in a call."""
    return x + np.tile(rng.laplace(size=-(-n // 10)), 10)[:n]


def too_little_noise(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.laplace(scale=0.5, size=n)


def one_seed(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Ignores the generator: each run repeats itself, which is a leak."""
    return x + np.random.default_rng(0).laplace(size=n)


def shifted(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Reports that say nothing of x; a call shares a tenth of their standard deviation."""
    return rng.normal(size=n) + rng.normal(scale=0.1)


def apart(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Laplace noise at its claim of 1, beside noise that a call shares."""
    return x + rng.laplace(size=n) + rng.normal(scale=0.3)
