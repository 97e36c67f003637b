"""Programs as people write them, each with its epsilon: what the benchmarks of errors and of power are run on.

A program is made anew for each audit, so that one that remembers begins without a memory.
"""

from __future__ import annotations

import itertools
import json
import math
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from auditor_cases import k_rr
from published_audits import sparse_vector
from scipy.special import expit

Sampler = Callable[[Any, int, np.random.Generator], Any]


@dataclass(frozen=True)
class Made:
    """make(epsilon) -> a program of that epsilon for each output alone, exactly or at most.

    inputs: those that show it first.   epsilon: for audits of a true claim.
    """

    make: Callable[[float], Sampler]
    inputs: tuple[Any, ...]
    epsilon: float = 1.0


def responses(values: int) -> Callable[[float], Sampler]:
    """Randomised response."""
    return lambda epsilon: k_rr(epsilon, values)


def bits(number: int) -> Callable[[float], Sampler]:
    """Symmetric unary encoding of one of so many values."""

    def make(epsilon: float) -> Sampler:
        keep = float(expit(epsilon / 2))

        def sampler(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
            return (np.arange(number) == x) ^ (rng.random((n, number)) >= keep)

        return lambda x, n, rng: sampler(x, n, rng).astype(int)

    return make


def noise(dimension: int, moved: int) -> Callable[[float], Sampler]:
    """Laplace noise on so many numbers, of which the input, 0 or 1, moves the first few."""

    def make(epsilon: float) -> Sampler:
        def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
            found = rng.laplace(scale=moved / epsilon, size=(n, dimension))
            found[:, :moved] += x
            return found[:, 0] if dimension == 1 else found

        return sampler

    return make


def geometric(epsilon: float) -> Sampler:
    """Two-sided geometric noise."""
    stop = -math.expm1(-epsilon)
    return lambda x, n, rng: x + rng.geometric(stop, n) - rng.geometric(stop, n)


def subsets(epsilon: float) -> Sampler:
    """Subset selection, two of six values, as six bits."""
    d, size = 6, 2
    chosen = [set(one) for one in itertools.combinations(range(d), size)]
    members = np.array([[value in one for value in range(d)] for one in chosen], dtype=int)

    def sampler(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        weights = np.where(members[:, x] == 1, math.exp(epsilon), 1.0)
        return members[rng.choice(len(members), n, p=weights / weights.sum())]

    return sampler


def one_answer(epsilon: float) -> Sampler:
    """The sparse vector technique with up to one answer of five; epsilon at most."""
    return sparse_vector(2 / epsilon, 4 / epsilon, above=0.0)


def running_sums(epsilon: float) -> Sampler:
    """Sums of three noisy numbers, one number more each."""
    return lambda x, n, rng: np.cumsum(x / 3 + rng.laplace(scale=1 / epsilon, size=(n, 3)), axis=1)


def maximum(epsilon: float) -> Sampler:
    """The greatest of five noisy values, its value released; all five move."""
    return lambda x, n, rng: (x + rng.laplace(scale=5 / epsilon, size=(n, 5))).max(axis=1)


def keyed(epsilon: float) -> Sampler:
    """A dictionary with a version and four bits."""
    of_bits = bits(4)(epsilon)
    return lambda x, n, rng: [{"version": 2, "bits": row} for row in of_bits(x, n, rng).tolist()]


def numbered(epsilon: float) -> Sampler:
    """A line of JSON with a running number."""
    number, answer = itertools.count(), k_rr(epsilon, 2)

    def sampler(x: int, n: int, rng: np.random.Generator) -> list[str]:
        return [json.dumps({"id": next(number), "value": one}) for one in answer(x, n, rng).tolist()]

    return sampler


def with_uuid(epsilon: float) -> Sampler:
    """A random identifier and an answer."""
    answer = k_rr(epsilon, 2)
    return lambda x, n, rng: [(str(uuid.uuid4()), one) for one in answer(x, n, rng).tolist()]


def with_bytes(epsilon: float) -> Sampler:
    """A byte that answers, and eight random ones."""
    answer = k_rr(epsilon, 2)
    return lambda x, n, rng: [bytes([one]) + rng.bytes(8) for one in answer(x, n, rng).tolist()]


def with_clock(clock: Callable[[], Any]) -> Callable[[float], Sampler]:
    """A line of JSON with an id, what the clock shows, and an answer."""

    def make(epsilon: float) -> Sampler:
        answer = k_rr(epsilon, 2)

        def sampler(x: int, n: int, rng: np.random.Generator) -> list[str]:
            found = answer(x, n, rng).tolist()
            return [json.dumps({"id": str(uuid.uuid4()), "at": clock(), "value": one}) for one in found]

        return sampler

    return make


def _battery(begun: float = time.monotonic()) -> int:
    """A level that falls by one every half second, and starts anew below 1."""
    return 100 - int(2 * (time.monotonic() - begun)) % 100


CLOCKS: dict[str, Callable[[], Any]] = {
    "an ISO time": lambda: datetime.now(UTC).isoformat(),
    "whole seconds": lambda: int(time.time()),
    "milliseconds": lambda: int(1e3 * time.time()),
    "nanoseconds": time.time_ns,
    "a battery's level": _battery,
}


def one_output(epsilon: float) -> Sampler:  # noqa: ARG001  (whatever it is)
    """A stub."""
    return lambda x, n, rng: ["ok"] * n  # noqa: ARG005


class Remembering:
    """RAPPOR: a permanent answer on eight bits for each value, and a fresh report from it."""

    def __init__(self, epsilon: float) -> None:
        self.flips, self.memory = 1 / (1 + math.exp(epsilon / 2)), dict[Any, np.ndarray]()

    def __call__(self, x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """Of one client."""
        if x not in self.memory:
            self.memory[x] = (np.arange(8) == x) ^ (rng.random(8) < self.flips)
        return np.where(self.memory[x], rng.random((n, 8)) < 0.75, rng.random((n, 8)) < 0.25).astype(int)


def used_again(times: int | None) -> Callable[[float], Sampler]:
    """Each draw of Laplace noise is used so often in a call; None: one draw for the whole call."""

    def make(epsilon: float) -> Sampler:
        def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
            drawn = rng.laplace(scale=1 / epsilon, size=1 if times is None else -(-n // times))
            return x + np.resize(drawn, n)

        return sampler

    return make


def telling(dimension: int, rare: float, kind: str) -> Sampler:
    """Laplace noise of epsilon 1 on so many numbers, the last of which tells the input 1 with this probability.

    kind: by one "value", by what lies far in the "tail", or by 17 values of a "grid".
    """

    def sampler(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        found = rng.laplace(size=(n, dimension))
        found[:, 0] += x
        told = (rng.random(n) < rare) & (x == 1)
        leaks = {"value": 0.123, "tail": 60 + found[told, -1], "grid": rng.integers(-8, 9, int(told.sum())) / 4}
        found[told, -1] = leaks[kind]
        return found[:, 0] if dimension == 1 else found

    return sampler


NULLS: dict[str, Made] = {
    "geometric noise": Made(geometric, (0, 1)),
    "subset selection, as bits": Made(subsets, (0, 1)),
    "unary encoding, 10 bits": Made(bits(10), (0, 1)),
    "sparse vector": Made(one_answer, ((0, 0, 0, 0, 0), (1, 1, 1, 1, 1))),
    "running sums": Made(running_sums, (0.0, 1.0)),
    "three noisy numbers, four inputs": Made(noise(3, 3), (0.0, 0.3, 0.6, 1.0)),
    "a dictionary of bits": Made(keyed, (0, 1)),
    "JSON with a running number": Made(numbered, (0, 1)),
    "an identifier and an answer": Made(with_uuid, (0, 1)),
    "bytes, one of which answers": Made(with_bytes, (0, 1)),
    "300 noisy numbers": Made(noise(300, 1), (0, 1)),
    **{f"JSON with {name}": Made(with_clock(clock), (0, 1)) for name, clock in CLOCKS.items()},
    "one output": Made(one_output, (0, 1)),
    "RAPPOR that remembers": Made(Remembering, (0, 1)),
    "noise used ten times": Made(used_again(10), (0.0, 1.0)),
    "one draw for a call": Made(used_again(None), (0.0, 1.0)),
}
"""Outside of the mechanisms of coverage.py; audits of a true claim."""


def settings() -> dict[str, tuple[Made, float]]:
    """Forty-six settings of `assert_private`: a program, and the claim that it breaks by a stated factor."""
    found: dict[str, tuple[Made, float]] = {}
    scalars = {
        "randomised response": responses(2),
        "10-ary response": responses(10),
        "geometric noise": geometric,
        "Laplace noise": noise(1, 1),
        "greatest of five values": maximum,
    }
    for (name, make), claim in itertools.product(scalars.items(), (0.5, 1.0, 2.0)):
        found[f"{name}, claim {claim:g}"] = Made(make, (0, 1)), claim
    for pairs, claim in itertools.product((2, 6, 15), (0.5, 1.0)):
        inputs = tuple(np.linspace(0, 1, {2: 3, 6: 4, 15: 6}[pairs]).tolist()) if pairs > 2 else (0.0, 1.0, 0.5)
        found[f"Laplace noise, {len(inputs)} inputs, claim {claim:g}"] = Made(noise(1, 1), inputs), claim
    for dimension, claim in itertools.product((2, 3, 5, 10, 30), (0.5, 1.0)):
        found[f"{dimension} noisy numbers, one moves, claim {claim:g}"] = Made(noise(dimension, 1), (0, 1)), claim
    for number, claim in itertools.product((4, 10, 30), (0.5, 1.0)):
        found[f"unary encoding, {number} bits, claim {claim:g}"] = Made(bits(number), (0, 1)), claim
    for name, make in {"a dictionary of bits": keyed, "subset selection": subsets, "bytes": with_bytes}.items():
        found[f"{name}, claim 1"] = Made(make, (0, 1)), 1.0
    found["300 noisy numbers, one moves, claim 1"] = Made(noise(300, 1), (0, 1)), 1.0
    for name, clock in CLOCKS.items():
        found[f"JSON with {name}, claim 1"] = Made(with_clock(clock), (0, 1)), 1.0
    return found
