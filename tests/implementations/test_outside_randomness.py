"""Randomness that a program takes from elsewhere: rare enough to be missed by calls, and noticed all the same.

Every program here does on input 1, rarely or when it is not looked at, what it never does on input 0.
"""

from __future__ import annotations

import math
import os
import random
import sys
import uuid
from collections.abc import Callable
from functools import lru_cache
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.implementations import implementation, implementation_of
from ldp_audit.implementations.outside_randomness import OutsideRandomness, OwnGenerators
from tests.together import together

RARE = 1e-6
OWN, OWN_TORCH, OWN_PYTHON = np.random.default_rng(5), torch.Generator().manual_seed(9), random.Random(3)
Generator = np.random.Generator


def leaks(outside: Callable[[int], Any]) -> Callable[[int, int, Generator], Any]:
    """A program with an output of its own on input 1, where outside(n) is below RARE."""

    def program(x: int, n: int, rng: Generator) -> np.ndarray:
        outputs = rng.integers(0, 4, n)
        return np.where((np.asarray(outside(n)) < RARE) & (x == 1), 7, outputs)

    return program


def in_a_thread(n: int) -> Any:
    drawn: list[Any] = []
    thread = Thread(target=lambda: drawn.append(torch.rand(n)))
    thread.start()
    thread.join()
    return drawn[0].numpy()


def put_back(n: int) -> np.ndarray:
    before = np.random.get_state()
    drawn = np.random.random(n)
    np.random.set_state(before)
    return drawn


def of_batch(drawn: Callable[[tuple[int, ...], Any], Any]) -> Callable[..., Any]:
    """A function for torch's adapter, which seeds a generator for it."""

    def program(batch: torch.Tensor, generator: Any) -> torch.Tensor:
        outputs = torch.randint(4, batch.shape, generator=generator)
        rare = torch.as_tensor(drawn(tuple(batch.shape), generator)) < RARE
        return torch.where(rare & (batch == 1), 7, outputs)

    return program


class HoldsOne:
    """A program with a generator as an attribute."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(3)

    def __call__(self, x: int, n: int, rng: Generator) -> np.ndarray:
        return np.where((self.rng.random(n) < RARE) & (x == 1), 7, rng.integers(0, 4, n))


@lru_cache
def cached() -> Generator:
    return np.random.default_rng(1)


ELSEWHERE: dict[str, tuple[Any, str]] = {
    "numpy's shared": (leaks(np.random.random), "numpy's shared generator"),
    "put back": (leaks(put_back), "numpy's shared generator"),
    "Python's shared": (leaks(lambda n: random.random()), "Python's shared generator"),
    "os.urandom": (leaks(lambda n: os.urandom(4) != bytes(4)), "the operating system"),
    "uuid4": (leaks(lambda n: uuid.uuid4().int / 2**128), "the operating system"),
    "a new numpy generator": (leaks(lambda n: np.random.default_rng().random(n)), "the operating system"),
    "a global of its module": (leaks(lambda n: OWN.random(n)), "a generator of its own"),
    "one of Python's": (leaks(lambda n: OWN_PYTHON.random()), "a generator of its own"),
    "a cached one": (leaks(lambda n: cached().random(n)), "a generator of its own"),
    "an attribute": (HoldsOne(), "a generator of its own"),
    "torch in a thread": (leaks(in_a_thread), "torch's shared generator"),
    "an adapter's, numpy's shared": (of_batch(lambda shape, g: np.random.random(shape)), "numpy's shared generator"),
    "an adapter's, a global": (of_batch(lambda shape, g: OWN.random(shape)), "a generator of its own"),
    "an adapter's, another of torch": (
        of_batch(lambda shape, g: torch.randint(2**20, shape, generator=OWN_TORCH)),
        "draws from another one of its own",
    ),
}


@together(("program", "reason"), ELSEWHERE.values())
def test_rare_randomness_from_elsewhere_is_noticed_and_never_holds(program: Any, reason: str) -> None:
    result = implementation_of(program, (0, 1), claimed_epsilon=1.0, samples=100)
    assert (result.method, result.verdict) == ("sampled", "not refuted")
    assert reason in result.assumptions[0]


def test_a_large_container_hides_no_generator() -> None:
    """Catches an exact verdict where the search for generators ended among other objects."""
    held = [[[one] for one in range(50_000)], lambda n: OWN.random(n)]

    def program(x: int, n: int, rng: Generator) -> np.ndarray:
        return np.where((held[1](n) < RARE) & (x == 1), 7, rng.integers(0, 4, n))

    assert implementation_of(program, (0, 1), claimed_epsilon=1.0, samples=200).verdict == "not refuted"


@together(
    ("program", "inputs", "epsilon"),
    [
        (lambda x: x if random.random() < 1 / (1 + math.exp(-12)) else -x, (-1, 1), 12.1),
        (lambda x: 1 if x == 1 and random.random() < 1e-4 else 0, (0, 1), 1.0),
    ],
)
def test_a_program_that_is_handed_no_generator_gets_no_exact_verdict(program: Any, inputs: Any, epsilon: float) -> None:
    """Catches a count of one word, of what some calls happened to return."""
    assert implementation_of(program, inputs, claimed_epsilon=epsilon, samples=200).verdict == "not refuted"


def seeded_alike(x: int, n: int, rng: Generator) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randint(4, (n,)) + 0 * x


def put_torch_back(x: int, n: int, rng: Generator) -> torch.Tensor:
    with torch.random.fork_rng(devices=()):
        return torch.randint(4, (n,))


def seeded_by_a_word(x: int, n: int, rng: Generator) -> torch.Tensor:
    torch.manual_seed(int(rng.integers(0, 4)))
    return torch.randint(4, (n,))


def of_its_own(x: int, n: int, rng: Generator) -> torch.Tensor:
    return torch.randint(4, (n,), generator=torch.Generator().manual_seed(42))


def adapted_and_seeded(batch: torch.Tensor, generator: Any) -> torch.Tensor:
    return torch.randint(4, batch.shape, generator=torch.Generator().manual_seed(42))


@together("program", [seeded_alike, put_torch_back, seeded_by_a_word, of_its_own, adapted_and_seeded])
def test_torch_draws_that_repeat_are_not_counted_as_independent(program: Any) -> None:
    result = implementation_of(program, (0, 1), claimed_epsilon=1.0, samples=200)
    assert (result.method, result.verdict) == ("sampled", "not refuted")
    assert "torch's" in result.assumptions[0]


def test_a_torch_program_that_draws_plainly_is_still_enumerated() -> None:
    result = implementation_of(lambda x, n, rng: torch.randint(4, (n,)), (0, 1), claimed_epsilon=0.0)
    assert (result.method, result.words, result.verdict) == ("enumerated", 4, "holds")


def test_a_program_of_many_words_is_no_adapter_that_seeds() -> None:
    """Catches 20,000 bits an output taken for the seeds of a twister, with draws that then go unseen."""

    def program(x: int, n: int, rng: Generator) -> np.ndarray:
        return rng.random((n, 400)).sum(axis=1) > 216 + 100 * x

    result = implementation_of(program, (0, 1), claimed_epsilon=1.0, samples=50)
    assert (result.method, result.uniforms, result.verdict) == ("sampled", 400, "not refuted")
    assert "2**21200 words" in result.describe()


def by_one(x: int, n: int, rng: Generator) -> np.ndarray:
    drawn = rng.integers(0, 2**10, n)
    return drawn < (712 + 200 * x if n == 1 else 512)


def by_few(x: int, n: int, rng: Generator) -> np.ndarray:
    drawn = rng.integers(0, 2**10, n)
    return drawn < (512 + 400 * x if 1 < n < 60 else 512)


@together("program", [by_one, by_few])
def test_another_law_for_other_numbers_of_outputs_is_no_rounding(program: Any) -> None:
    """Catches any difference taken for one of the last place; at worst each output is played back by its own call."""
    found = implementation_of(program, (0, 1), claimed_epsilon=0.1)
    assert found.verdict == ("violated" if program is by_one else "holds")
    assert not any("outputs of one call" in line for line in found.assumptions)


def test_a_program_that_looks_at_the_type_of_its_generator_is_caught_beside_torch_too() -> None:
    def program(x: int, n: int, rng: Generator) -> np.ndarray:
        torch.rand(n)
        return rng.random(n) < (0.5 + 0.4 * x if type(rng) is Generator else 0.5)

    result = implementation_of(program, (0, 1), claimed_epsilon=0.1, bits=6, samples=1000)
    assert result.verdict == "violated"
    assert "with a generator that is recorded than with a plain one" in result.assumptions[0]


@together(
    ("drawn", "reason"),
    [
        (lambda m: OWN.random(m), "a generator of its own"),
        (np.random.random, "numpy's shared generator"),
        (lambda m: np.full(m, os.urandom(4) != bytes(4)), "the operating system"),
    ],
)
@together("how", [{"bits": 16}, {"bits": 53, "monotone": True}])
def test_a_map_that_draws_is_no_function_of_x_and_u(drawn: Any, reason: str, how: dict[str, Any]) -> None:
    with pytest.raises(ProgramError, match=f"function of x and u alone, but it .*{reason}"):
        implementation(lambda x, u: np.where(drawn(len(u)) < -x, 7, u < 0.5), (0, 1), samples=200, **how)


def test_what_an_enumerated_map_takes_on_trust_is_said() -> None:
    result = implementation(lambda x, u: u < 0.5, (0, 1), 8, claimed_epsilon=0.0)
    assert "taken on trust: each output is a function of x and its own words alone" in result.describe()


@together("how", [{"bits": 8}, {"bits": 53, "monotone": True}])
def test_a_map_that_ends_the_process_is_an_error(how: dict[str, Any]) -> None:
    with pytest.raises(ProgramError, match="SystemExit: 0"):
        implementation(lambda x, u: sys.exit(0), (0, 1), **how)


def test_a_claim_beyond_all_floats_is_named() -> None:
    with pytest.raises(ValueError, match="claimed_epsilon must be a number >= 0, or None, got a number of 1329 bits"):
        implementation(lambda x, u: u, (0, 1), 8, claimed_epsilon=10**400)


def test_generators_are_put_back_and_nothing_is_seen_where_nothing_is_drawn() -> None:
    real = os.urandom, np.random.set_state, random.setstate
    with OutsideRandomness(on_torch=True) as outside:
        np.random.default_rng(1).random(3)
        random.Random(1).random()
    assert outside.seen is None
    assert (os.urandom, np.random.set_state, random.setstate) == real


def test_generators_are_found_in_containers_closures_and_methods() -> None:
    held = np.random.default_rng(1)
    table = {"of": [held]}
    for program in (lambda: table, leaks(lambda n: table["of"][0].random(n)), [HoldsOne().__call__, held]):
        own = OwnGenerators(program)
        assert not own.moved()
        held.random()
        assert own.moved()
