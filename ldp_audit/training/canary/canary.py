"""A canary: one unit of a run's data in two versions, and what an observer sees of the run with either.

World 0 and world 1 are neighbouring runs: all else is the same. `draw` repeats random steps of the run in one of them
and gives what the observer sees, or a function of it: what tells the worlds apart by a function of it does so by all
of it, so that a lower bound on epsilon holds for the observer too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ldp_audit.auditing.arguments import check_claim, check_count

Promisor = Literal["paper", "exact"]
"""Who promises: the paper's own accounting, or the exact mathematics of what the run is said to do."""


@dataclass(frozen=True)
class Promise:
    """An (epsilon, delta) that the canary's observer was promised not to exceed.

    by: see `Promisor`.   says: for what, and why, in words.   epsilon: nats, >= 0, may be infinite.   delta: in [0, 1).
    Raises ValueError for anything else.
    """

    by: Promisor
    says: str
    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if self.by not in ("paper", "exact"):
            raise ValueError(f"by must be paper or exact, got {self.by!r}")
        if math.isnan(self.epsilon):
            raise ValueError(f"epsilon must be a number >= 0, got {self.epsilon!r}")
        check_claim(self.epsilon, self.delta)


@dataclass(frozen=True)
class Canary:
    """Two neighbouring runs as one observer sees them.

    unit: whose data differ: "client", "weight", "user", "record".   observer: what is seen, in words.
    worlds: the canary in world 0 and in world 1, in words.
    draw: (world, n, rng) -> n independent outputs, each of a fresh repetition: numbers, labels, or (n, k) vectors.
    promises: one or more.   assumes: what the attacker knows, and which part of the run is repeated, in sentences.
    samples: repetitions of each world, unless the caller says how many.
    trained: whether a repetition is a training; there are then few, and no call for one output alone.
    Raises ValueError for no promises, and fewer than 10 samples.
    """

    unit: str
    observer: str
    worlds: tuple[str, str]
    draw: Callable[[int, int, np.random.Generator], Any]
    promises: tuple[Promise, ...]
    assumes: tuple[str, ...]
    samples: int = 100_000
    trained: bool = False

    def __post_init__(self) -> None:
        if not self.promises:
            raise ValueError("promises must be one or more, got none")
        check_count("samples", self.samples, 10)

    def deltas(self) -> tuple[float, ...]:
        """At which something is promised, each once, in their order."""
        return tuple(dict.fromkeys(promise.delta for promise in self.promises))
