"""Samplers that worker processes import, in a module that is quick to import; some of them come to a bad end."""

from __future__ import annotations

import os
import random
import signal
import time
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
