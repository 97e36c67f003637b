"""The fake of numpy's generator: what it records is what numpy gives, and it gives back what was recorded."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ldp_audit.implementations.fake_generator import Draw, FakeGenerator, NotEnumerable, Tape
from tests.together import together

Generator = np.random.Generator

CALLS: dict[str, Callable[[Generator], Any]] = {
    "random": lambda rng: rng.random(),
    "random(5)": lambda rng: rng.random(5),
    "random((2, 3))": lambda rng: rng.random((2, 3)),
    "random(())": lambda rng: rng.random(()),
    "random float32": lambda rng: rng.random(7, dtype=np.float32),
    "random one float32": lambda rng: rng.random(dtype=np.float32),
    "random out": lambda rng: rng.random(out=np.empty(4)),
    "random numpy size": lambda rng: rng.random(np.int64(3)),
    "uniform": lambda rng: rng.uniform(),
    "uniform ends": lambda rng: rng.uniform(-0.3, 0.7, 50),
    "uniform arrays": lambda rng: rng.uniform([0.0, 1.0], [[2.0], [3.1]]),
    "uniform keyword": lambda rng: rng.uniform(high=0.1, low=0.05, size=(4, 2)),
    "integers": lambda rng: rng.integers(8),
    "integers low": lambda rng: rng.integers(-4, 4, 20),
    "integers endpoint": lambda rng: rng.integers(1, 16, 20, endpoint=True),
    "integers words": lambda rng: rng.integers(0, 2**64, 5, dtype=np.uint64),
    "integers int64": lambda rng: rng.integers(-(2**63), 2**63 - 1, 5, endpoint=True),
    "integers uint8": lambda rng: rng.integers(0, 256, 9, dtype=np.uint8),
    "integers bool": lambda rng: rng.integers(0, 2, 9, dtype=bool),
    "integers int": lambda rng: rng.integers(0, 2, dtype=int),
    "integers of one value": lambda rng: rng.integers(3, 4, 5),
    "bytes": lambda rng: rng.bytes(5),
    "choice": lambda rng: rng.choice(["a", "b"], 6),
    "choice of one": lambda rng: rng.choice(4),
    "choice with p": lambda rng: rng.choice([1, 2, 3], (2, 3), p=[0.5, 0.25, 0.25]),
    "nothing": lambda rng: rng.random(0),
}

REFUSED: dict[str, tuple[Callable[[Generator], Any], str]] = {
    "normal": (lambda rng: rng.normal(size=3), "it calls normal() of its generator"),
    "laplace": (lambda rng: rng.laplace(), "it calls laplace()"),
    "exponential": (lambda rng: rng.exponential(), "it calls exponential()"),
    "permutation": (lambda rng: rng.permutation(4), "it calls permutation()"),
    "shuffle": (lambda rng: rng.shuffle([1, 2]), "it calls shuffle()"),
    "choice": (lambda rng: rng.choice(4, 2, replace=False), "choice() without replacement"),
    "integers below 6": (lambda rng: rng.integers(6), "whole numbers below 6"),
    "integers of arrays": (lambda rng: rng.integers([2, 4]), "a different range for each"),
    "bit_generator": (lambda rng: rng.bit_generator, "it calls bit_generator()"),
    "spawn": (lambda rng: rng.spawn(1), "it calls spawn()"),
    "a copy": (lambda rng: copy.deepcopy(rng), "it copies the generator"),
}


def recorded(call: Callable[[Generator], Any]) -> tuple[Tape, Any]:
    tape = Tape()
    return tape, call(FakeGenerator(tape, 3))


def script(tape: Tape) -> list[tuple[Draw, np.ndarray]]:
    return list(zip(tape.draws, tape.words, strict=True))


@together("call", CALLS.values())
def test_what_is_recorded_is_what_numpy_gives_in_value_type_and_shape(call: Callable[[Generator], Any]) -> None:
    """Catches a fake that returns an array where numpy returns a float, another dtype, or other values."""
    _, found = recorded(call)
    wanted = call(np.random.Generator(np.random.PCG64(3)))
    assert type(found) is type(wanted)
    assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)
    assert np.shape(found) == np.shape(wanted)
    assert np.array_equal(found, wanted)


@together("call", CALLS.values())
def test_words_played_back_give_the_same_whatever_the_seed(call: Callable[[Generator], Any]) -> None:
    tape, found = recorded(call)
    again = Tape(script(tape))
    fake = FakeGenerator(again, 99)
    assert np.array_equal(call(fake), found)
    again.finish()
    assert fake.untouched


@together(("call", "reason"), REFUSED.values())
def test_other_draws_are_refused_by_name(call: Callable[[Generator], Any], reason: str) -> None:
    tape = Tape()
    with pytest.raises(NotEnumerable) as caught:
        call(FakeGenerator(tape, 3))
    assert reason in str(caught.value)
    with pytest.raises(NotEnumerable):  # also where the program swallowed it
        tape.finish()


def test_every_method_of_numpys_generator_is_played_back_or_refused() -> None:
    """Catches a method that a newer numpy adds."""
    for name in dir(np.random.Generator):
        if not name.startswith("_"):
            assert name in vars(FakeGenerator), name


def test_a_way_around_the_methods_is_noticed() -> None:
    fake = FakeGenerator(Tape([]), 3)
    assert fake.untouched
    np.random.Generator.normal(fake)
    assert not fake.untouched


@together(
    ("call", "bits", "ends"),
    [
        (lambda rng: rng.random(2), 53, [0.0, 1 - 2.0**-53]),
        (lambda rng: rng.random(2, dtype=np.float32), 24, [0.0, 1 - 2.0**-24]),
        (lambda rng: rng.uniform(-1, 1, 2), 53, [-1.0, 1 - 2.0**-52]),
        (lambda rng: rng.integers(-4, 4, 2), 3, [-4, 3]),
        (lambda rng: list(rng.bytes(2)), 8, [0, 255]),
        (lambda rng: rng.integers(0, 2**64, 2, dtype=np.uint64), 64, [0, 2**64 - 1]),
    ],
)
def test_the_first_and_the_last_word_give_the_ends_of_the_range(
    call: Callable[[Generator], Any], bits: int, ends: list[float]
) -> None:
    """Catches a word too many or too few, or a grid of another width."""
    (draw,) = recorded(call)[0].draws
    assert draw.bits == bits
    words = np.array([0, 2**bits - 1], dtype=np.uint64)
    assert list(call(FakeGenerator(Tape([(draw, words)]), 0))) == ends


def test_a_draw_that_was_not_expected_is_said() -> None:
    tape, _ = recorded(lambda rng: rng.random(2))
    for call, reason in (
        (lambda rng: rng.random(3), "random(float64) of shape (3,) comes where random(float64) of shape (2,) was"),
        (lambda rng: (rng.random(2), rng.random()), "random(float64) comes after all others"),
    ):
        with pytest.raises(NotEnumerable) as caught:
            call(FakeGenerator(Tape(script(tape)), 0))
        assert reason in str(caught.value)
    with pytest.raises(NotEnumerable, match="is not always there"):
        Tape(script(tape)).finish()


def test_a_program_that_draws_without_end_is_given_up_on() -> None:
    with pytest.raises(NotEnumerable, match="draws more than 4096 times"):
        recorded(lambda rng: [rng.random() for _ in range(5000)])


def test_a_numpy_of_other_values_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with numpy's own values can fail."""
    monkeypatch.setitem(FakeGenerator.__init__.__globals__["_BITS"], "float64", 30)
    with pytest.raises(NotEnumerable, match="does not give multiples"):
        recorded(lambda rng: rng.random(50))
