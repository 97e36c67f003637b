"""Programs as maps of their words: what is played back, what is refused and why, and what then is said of a claim."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing.adapters import as_sampler
from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.implementations import implementation
from ldp_audit.implementations.audit_implementation import implementation_of, uniforms_of
from ldp_audit.implementations.fake_generator import NotEnumerable
from ldp_audit.implementations.program_map import ProgramMap, map_of
from ldp_audit.mechanisms import RandomizedResponse, TwoPoint
from tests.implementations.programs import (
    Remembers,
    by_input,
    coarse,
    constant,
    copies,
    fails_at_zero,
    flat_by_draw,
    flat_by_output,
    hidden,
    mixed,
    noisy,
    of_one_value,
    of_the_library,
    one_draw_for_a_call,
    rejects,
    rejects_zero,
    shared_by_a_call,
    single_float,
    swallows,
    two_calls,
    two_columns,
    two_rows,
)
from tests.together import together

INPUTS = (-1.0, 1.0)
Generator = np.random.Generator


@cache
def planned(program: Any) -> ProgramMap:
    return map_of(as_sampler(program), INPUTS)


LAYOUTS: dict[str, tuple[Callable[..., Any], str, tuple[int, ...]]] = {
    "one column": (single_float, "rows", (24,)),
    "two rows": (two_rows, "columns", (53, 53)),
    "two columns": (two_columns, "rows", (53, 53)),
    "two calls": (two_calls, "rows", (53, 53)),
    "flat, by output": (flat_by_output, "rows", (53, 53)),
    "flat, by draw": (flat_by_draw, "columns", (53, 53)),
    "one value": (of_one_value, "calls", (8,)),
    "shared by a call": (shared_by_a_call, "single", (2, 1)),
    "mixed": (mixed, "rows", (3, 1)),
}


@together(("program", "layout", "widths"), LAYOUTS.values())
def test_the_words_of_an_output_are_found(program: Any, layout: str, widths: tuple[int, ...]) -> None:
    found = planned(program)
    assert (found.layout, found.widths) == (layout, widths)


@together("program", [two_rows, two_columns, two_calls, flat_by_output, flat_by_draw])
def test_each_output_is_made_of_its_own_words(program: Any) -> None:
    """Catches words that go to the wrong output or in the wrong order: x + u1 + 2 u2 is known."""
    first, second = np.random.default_rng(1).integers(0, 2**53, (2, 100)) * 2.0**-53
    second_value = 2 * (2 * second - 1) if program is two_calls else 2 * second
    assert np.array_equal(planned(program)(1.0, first, second), 1.0 + first + second_value)


@together(
    ("program", "reason"),
    [
        (rejects, "how much it draws varies"),
        (noisy, "it calls normal() of its generator"),
        (swallows, "it calls normal() of its generator"),
        (hidden, "it asks the operating system for random bytes, or for a seed"),
        (of_the_library, "it draws from numpy's shared generator"),
        (constant, "it draws nothing that can be played back"),
        (copies, "it calls bit_generator()"),
        (by_input, "how much it draws varies"),
    ],
)
def test_draws_that_cannot_be_played_back_are_refused_with_the_reason(program: Any, reason: str) -> None:
    with pytest.raises(NotEnumerable) as caught:
        planned(program)
    assert reason in str(caught.value)


@together(
    ("program", "words", "epsilon"),
    [
        (coarse, 2**8, math.log(3)),
        (of_one_value, 2**8, math.log(3)),
        (shared_by_a_call, 2**3, math.log(3)),
        (
            lambda x, n, rng: np.where(rng.random(n, dtype=np.float32) * 0 + rng.random(n, dtype=np.float32) < 2, x, x),
            2**20,
            math.inf,
        ),
    ],
)
def test_every_word_is_counted(program: Any, words: int, epsilon: float) -> None:
    bits = 10 if words == 2**20 else None
    result = implementation_of(program, INPUTS, claimed_epsilon=math.log(3) + 1e-12, bits=bits)
    assert result.method == "enumerated"
    assert result.words == words
    assert result.epsilon == pytest.approx(epsilon, abs=1e-12)
    assert result.verdict == ("holds" if bits is None else "not refuted")
    own_grid = not any("not the generator's own grid" in line for line in result.assumptions)
    assert own_grid == (bits is None)


FILLED = np.zeros(5000, dtype=np.int64)


def fills_one_array(x: int, n: int, rng: Generator) -> np.ndarray:
    """The same array each time; 7 at one word of input 1. The sign of a call makes it one call for each output."""
    sign = 1 - 2 * rng.integers(0, 2)
    FILLED[:n] = sign * np.where((rng.integers(0, 4, n) == 1) & (x == 1), 7, 1)
    return FILLED[:n]


def test_an_array_that_is_filled_anew_is_read_before_that() -> None:
    """Catches outputs of several calls that all show the last one's, on both inputs alike."""
    result = implementation_of(fills_one_array, (0, 1), claimed_epsilon=1.0)
    assert (result.words, result.epsilon, result.pairs[0].delta(1.0)) == (8, math.inf, 0.25)


@together(
    "row",
    [
        lambda x: (2**53 + x, 0.5),
        lambda x: (True if x else 1, 2),
    ],
)
def test_rows_that_an_adapter_makes_equal_are_not_counted(row: Callable[[int], Any]) -> None:
    def program(x: int, rng: Generator) -> Any:
        return row(x) if rng.integers(0, 2) else row(0)

    result = implementation_of(program, (0, 1), claimed_epsilon=0.0, samples=200)
    assert (result.method, result.verdict) == ("sampled", "not refuted")


def test_words_of_several_lengths_are_enumerated_as_one() -> None:
    """mixed: on 2 of 8 words a fair bit, else x; so that x has 12 of 16 and is x's alone."""
    result = implementation_of(mixed, (5, 7), claimed_epsilon=1.0)
    assert (result.words, result.epsilon, result.verdict) == (16, math.inf, "violated")
    assert result.pairs[0].delta(1.0) == 0.75


def test_words_too_long_for_one_are_longer_uniforms() -> None:
    """53 and 32 bits: the result is sampled, and each draw still takes its own word."""

    def program(x: float, n: int, rng: Generator) -> np.ndarray:
        return np.where(rng.random(n) < 0.5, x, -x) * (1 + (rng.integers(0, 2**32, n) >= 2**31))

    found = planned(program)
    assert (found.bits, found.uniforms, found.words) == (53, 2, True)
    high = np.array([0, 2**52], dtype=np.uint64)
    assert found(1.0, high, high).tolist() == [1.0, -2.0]
    assert implementation_of(program, INPUTS, claimed_epsilon=0.1, samples=2000).verdict == "not refuted"


@together(("program", "reason"), [(noisy, "it calls normal()"), (hidden, "asks the operating system")])
def test_what_cannot_be_enumerated_is_sampled_and_never_holds(program: Any, reason: str) -> None:
    """The same seed gives the same result where the seed decides the outputs."""
    first = implementation_of(program, INPUTS, claimed_epsilon=50.0, samples=500, seed=5)
    assert (first.method, first.verdict) == ("sampled", "not refuted")
    assert reason in first.assumptions[0]
    if program is noisy:
        again = implementation_of(program, INPUTS, claimed_epsilon=50.0, samples=500, seed=5)
        assert {**again.to_dict(), "seconds": 0} == {**first.to_dict(), "seconds": 0}


def test_a_violation_is_found_where_nothing_can_be_enumerated() -> None:
    """numpy's Laplace noise: its last bits tell inputs apart, and its shape does too. Fails by chance below 1e-6."""
    result = implementation_of(
        lambda x, n, rng: x + rng.laplace(0, 0.25, n), INPUTS, claimed_epsilon=1.0, samples=20_000
    )
    assert (result.method, result.verdict) == ("sampled", "violated")


@together("new", [lambda: Remembers().report, lambda: one_draw_for_a_call])
def test_samples_that_depend_on_each_other_accuse_nobody(new: Callable[[], Any]) -> None:
    results = [implementation_of(new(), (0, 1), claimed_epsilon=1.0, samples=5000, seed=seed) for seed in (5, 6)]
    assert {(one.method, one.verdict, one.epsilon) for one in results} == {("sampled", "not refuted", 0.0)}
    assert any("show less than once in a million times" in one.assumptions[-1] for one in results)


def test_a_draw_that_depends_on_a_rare_word_is_noticed_when_that_word_is_played() -> None:
    """Catches a count that treats the words that are drawn again as outputs."""
    result = implementation_of(rejects_zero, INPUTS, claimed_epsilon=2.0, samples=2000)
    assert (result.method, result.verdict) == ("sampled", "not refuted")
    assert "depends on what it drew" in result.assumptions[0]


def test_a_program_that_fails_at_a_word_is_an_error_that_says_so() -> None:
    with pytest.raises(ProgramError, match="ValueError: math domain error"):
        implementation_of(fails_at_zero, INPUTS)


def test_a_call_for_each_word_has_a_limit() -> None:
    def slow(x: float, rng: Generator) -> float:
        return x if rng.random(dtype=np.float32) < 0.5 else -x

    result = implementation_of(slow, INPUTS, claimed_epsilon=0.5, samples=500)
    assert (result.method, result.verdict) == ("sampled", "not refuted")
    assert "it makes one output a call, and 24 bits are too many calls" in result.assumptions[0]
    coarser = implementation_of(slow, INPUTS, claimed_epsilon=0.5, bits=8)
    assert (coarser.method, coarser.epsilon, coarser.verdict) == ("enumerated", 0.0, "not refuted")


def test_a_monotone_program_of_53_bits_is_exact() -> None:
    result = implementation_of(
        lambda x, n, rng: np.where(rng.random(n) < 0.25, -x, x), INPUTS, claimed_epsilon=1.1, monotone=True
    )
    assert (result.method, result.verdict) == ("monotone", "holds")
    assert result.epsilon == pytest.approx(math.log(3), abs=1e-15)


@together("epsilon", [0.01, 1.0, 8.0])
def test_a_shipped_mechanism_is_replayed_with_short_decisions_and_says_so(epsilon: float) -> None:
    mechanism = TwoPoint(epsilon)
    result = implementation_of(mechanism, INPUTS, claimed_epsilon=epsilon)
    assert (result.method, result.words, result.verdict) == ("enumerated", 2**16, "holds")
    assert result.epsilon == pytest.approx(mechanism.implemented(16).exact_epsilon(), abs=1e-12)
    assert "implemented(16), the same construction with decisions of 16 bits" in result.assumptions[0]
    assert not any("own grid" in line for line in result.assumptions)


@together(("mechanism", "claim"), [(RandomizedResponse(20.0), 12.0), (TwoPoint(1.0), 0.99995)])
def test_short_decisions_with_a_smaller_epsilon_do_not_hold_a_claim_for_the_mechanism(mechanism: Any, claim: float):
    inputs = (0, 1) if isinstance(mechanism, RandomizedResponse) else INPUTS
    result = implementation_of(mechanism, inputs, claimed_epsilon=claim)
    assert result.epsilon < claim < mechanism.exact_epsilon()
    assert (result.verdict, result.exact) == ("not refuted", False)


def test_a_shipped_mechanism_of_63_bits_is_exact_by_structure() -> None:
    result = implementation_of(TwoPoint(1.0), INPUTS, claimed_epsilon=1.0, bits=63, monotone=True)
    assert (result.method, result.words, result.verdict) == ("monotone", 2**63, "holds")
    assert result.epsilon == pytest.approx(1.0, abs=1e-15)


def test_a_mechanism_that_spends_more_than_it_claims_is_found() -> None:
    """The check of mechanisms can fail."""
    assert implementation_of(RandomizedResponse(1.0), (0, 1), claimed_epsilon=0.99).verdict == "violated"


def test_maps_are_known_by_their_parameters_names() -> None:
    def of_two(x: float, u1: Any, u2: Any) -> Any:
        return x + (u1 < 0.5) * (u2 < 0.5)

    assert uniforms_of(lambda x, u: u) == 1
    assert uniforms_of(of_two) == 2
    assert [uniforms_of(one) for one in (coarse, of_one_value, TwoPoint(1.0), lambda x: x, lambda u: u)] == [0] * 5
    assert implementation_of(lambda x, u: np.where(u < 0.25, -x, x), INPUTS, bits=6).words == 2**6
    assert implementation_of(of_two, (0, 1), bits=5).words == 2**10


@together(
    ("arguments", "message"),
    [
        ({"bits": 0}, "bits must be a whole number in 1 .. 64"),
        ({"bits": True}, "bits must be a whole number in 1 .. 64"),
        ({"claimed_epsilon": -1.0}, "claimed_epsilon must be"),
        ({"samples": 1}, "samples must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        implementation_of(coarse, INPUTS, **arguments)
    with pytest.raises(ValueError, match="inputs must be"):
        implementation_of(coarse, (1.0,))


def test_a_program_keeps_its_map_when_it_is_called_from_outside() -> None:
    """The map is one of `implementation`'s: the same counts with and without the program."""
    found = planned(coarse)
    direct = implementation(found, INPUTS, found.bits, words=True)
    assert direct.epsilon == implementation_of(coarse, INPUTS).epsilon


torch_programs: dict[str, Callable[..., Any]] = {
    "rand": lambda torch, batch, g: torch.where(torch.rand(batch.shape, generator=g) < 0.25, -batch, batch),
    "bernoulli": lambda torch, batch, g: torch.where(
        torch.bernoulli(torch.full_like(batch, 0.25), generator=g) > 0, -batch, batch
    ),
    "randint": lambda torch, batch, g: torch.where(torch.randint(4, batch.shape, generator=g) < 1, -batch, batch),
}


@together("name", torch_programs)
def test_a_torch_function_is_enumerated_through_its_adapter(name: str) -> None:
    torch = pytest.importorskip("torch")

    def program(batch: Any, generator: Any) -> Any:
        return torch_programs[name](torch, batch, generator)

    result = implementation_of(program, INPUTS, claimed_epsilon=1.1, bits=12)
    assert (result.method, result.verdict) == ("enumerated", "holds" if name == "randint" else "not refuted")
    assert result.words == (4 if name == "randint" else 2**12)
    assert result.epsilon == pytest.approx(math.log(3), abs=1e-12)


def test_torch_noise_cannot_be_played_back() -> None:
    torch = pytest.importorskip("torch")

    def program(batch: Any, generator: Any) -> Any:
        return batch + torch.randn(batch.shape, generator=generator)

    with pytest.raises(NotEnumerable, match="torch's randn"):
        planned(program)
