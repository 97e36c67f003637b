from __future__ import annotations

import math
import threading
import time
from typing import Any

import numpy as np
import pytest
from sympy import Rational

from ldp_audit import audit
from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.auditing.assertions import NoPowerError, assert_private
from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.program import CHUNK_VALUES, Program
from ldp_audit.mechanisms import SymbolicChannel
from tests.together import together

half = Rational(1, 2)


def test_a_call_is_determined_by_seed_and_key() -> None:
    def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.random(n)

    same = [Program(sampler, seed=3).outputs(0, 5, (1, 0, 7)).known_numbers.tolist() for _ in range(2)]
    assert same[0] == same[1]
    others = [Program(sampler, seed=3).outputs(0, 5, (1, 1, 7)), Program(sampler, seed=4).outputs(0, 5, (1, 0, 7))]
    assert all(other.known_numbers.tolist() != same[0] for other in others)


@together("seed", [0, 5, 2**32 + 7, 2**130 + 5])
def test_its_generator_is_numpys_for_the_seed_and_the_spawn_key(seed: int) -> None:
    """Also what the program spawns of it, so that anyone can repeat a call by numpy alone."""
    program = Program(lambda x, n, rng: np.append(rng.random(n - 1), rng.spawn(1)[0].random()), seed)
    usual = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3, 1)))
    expected = [*usual.random(2), usual.spawn(1)[0].random()]
    assert program.outputs(0, 3, (3, 1)).known_numbers.tolist() == expected


@together("target", [3, SymbolicChannel("fair", (), {0: half, 1: half})])
def test_what_is_no_sampler_is_refused_with_what_is_accepted(target: Any) -> None:
    with pytest.raises(
        ValueError, match=r"sampler must be something to draw from, got .* accepted: a sampler \(x, n, rng\)"
    ):
        audit(target, (0, 1), 1.0)


def test_many_outputs_are_drawn_in_calls_of_bounded_size() -> None:
    sizes: list[int] = []

    def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        sizes.append(n)
        return np.zeros((n, 1000))

    program = Program(sampler)
    program.fit_rows(1000)
    assert len(program.many(0, 3000, (0,))) == 3000
    assert sum(sizes) == 3000
    assert max(sizes) * 1000 <= CHUNK_VALUES


@together(
    ("sampler", "complaint"),
    [
        (lambda x, n, rng: 1 / 0, "it raised ZeroDivisionError: division by zero"),
        (lambda x, n, rng: [1.0], "it returned 1 outputs, 4 were asked for"),
        (lambda x, n, rng: 5, "it returned 5, not 4 outputs"),
    ],
)
def test_a_failing_program_is_named_with_its_input_and_call(sampler: object, complaint: str) -> None:
    with pytest.raises(ProgramError) as caught:
        Program(sampler).outputs(-1.0, 4, (1, 0, 2))
    assert str(caught.value).startswith("the sampler, on input -1.0 (call 1.0.2, n = 4): ")
    assert complaint in str(caught.value)


def test_a_changing_shape_is_an_error_that_names_both() -> None:
    program = Program(lambda x, n, rng: np.zeros(n) if x == 0 else np.zeros((n, 2)))
    program.outputs(0, 3, (0,))
    with pytest.raises(ProgramError, match=r"it returned vectors of 2 after numbers or labels in an earlier call"):
        program.outputs(1, 3, (1,))


def test_rows_whose_lengths_differ_are_labels_in_every_call() -> None:
    """A call for one of them looks like a vector, one for several like labels: sets of places were refused for that."""
    rows = [(1, 2), (3,), (0, 2)]
    program = Program(lambda x, n, rng: [rows[x]] if n == 1 else rows[:n])
    assert program.outputs(0, 1, (0,)).dimension == 2
    for x, n in ((0, 3), (2, 1)):
        labels = program.outputs(x, n, (1,)).labels
        assert labels is not None
        assert labels[-1] == "(0, 2)"

    def places(x: int, n: int, rng: np.random.Generator) -> list[list[int]]:
        ones = rng.random((n, 3)) < np.where(np.arange(3) == x, 0.8, 0.2)
        return [np.flatnonzero(row).tolist() for row in ones]

    for seed in range(3):
        assert audit(places, (0, 1), 1.0, samples=10_000, seed=seed).violated
    assert not audit(places, (0, 1), 2 * math.log(4), samples=10_000).violated


def test_truth_values_and_numbers_at_one_place_of_rows_are_refused() -> None:
    """Within a call, and between calls; beside each other they are as usual."""
    for rows in ([(True, 5.0), (1, 5.0)], [(1, 5.0), (True, 5.0)]):
        with pytest.raises(ProgramError, match="rows of numbers and rows with truth values at 0"):
            Program(lambda x, n, rng, rows=rows: rows).outputs(0, 2, (0,))
        program = Program(lambda x, n, rng, rows=rows: [rows[x]] * n)
        program.outputs(0, 3, (0,))
        with pytest.raises(ProgramError, match="rows of numbers and rows with truth values at 0"):
            program.outputs(1, 3, (1,))
    assert Program(lambda x, n, rng: [(True, 5.0), (False, 1)]).outputs(0, 2, (0,)).dimension == 2


def test_an_array_of_objects_in_rows_is_read_as_its_rows() -> None:
    """As a table's values are."""
    rows = np.array([["p", 1.5], ["q", 1.5]], dtype=object)
    labels = Program(lambda x, n, rng: rows).outputs(0, 2, (0,)).labels
    assert labels is not None
    assert labels.tolist() == ["('p', 1.5)", "('q', 1.5)"]


def test_a_program_that_hangs_is_left_behind_after_the_timeout() -> None:
    release = threading.Event()

    def sampler(x: float, n: int, rng: np.random.Generator) -> list[float]:
        release.wait(20)
        return [0.0] * n

    start = time.perf_counter()
    with pytest.raises(ProgramError, match=r"on input 1 \(call 0, n = 2\): no answer within 0.1 s"):
        Program(sampler, timeout=0.1).outputs(1, 2, (0,))
    release.set()
    assert time.perf_counter() - start < 10


def test_a_timeout_changes_neither_outputs_nor_errors() -> None:
    def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        if x == 1:
            raise KeyError("x")
        return rng.random(n)

    with_timeout, without = Program(sampler, timeout=10), Program(sampler)
    assert with_timeout.outputs(0, 3, (5,)).known_numbers.tolist() == without.outputs(0, 3, (5,)).known_numbers.tolist()
    with pytest.raises(ProgramError, match="it raised KeyError: 'x'"):
        with_timeout.outputs(1, 3, (5,))


def hashed(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Local hashing onto two values without any perturbation: a hash of x, and the seed of the hash."""
    seeds = rng.integers(0, 2**32, n)
    return np.column_stack([hash_of(x, seeds), seeds])


def hash_of(x: int, seeds: np.ndarray) -> np.ndarray:
    """One bit of a mixture of x and the seed."""
    mixed = (seeds.astype(np.uint64) + np.uint64(x << 40)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return ((mixed ^ (mixed >> np.uint64(32))) & np.uint64(1)).astype(np.int64)


def test_a_seed_in_a_structured_output_leaves_the_verdict_open_and_fails_an_assertion() -> None:
    """Audits of hashes without noise were consistent, without a word where the seed was in a dictionary or a text."""
    forms = (lambda h, seed: {"seed": seed, "hash": h}, lambda h, seed: f"{seed}:{h}")
    for form in forms:
        sampler = lambda x, n, rng, form=form: [form(*row) for row in hashed(x, n, rng).tolist()]  # noqa: E731
        result = audit(sampler, (0, 1), 1.0, samples=5_000)
        assert result.inconclusive
        assert any("the seed of a hash" in note for note in result.notes)
    with pytest.raises(NoPowerError, match="seed of a hash"):
        assert_private(hashed, epsilon=1.0, inputs=(0, 1), detects=2.0)


FORMS = [
    "16 bits",
    "24 bits",
    "63 bits",
    "signed",
    "a share of 1",
    "63 bits in a dictionary",
    "32 bits in hex",
    "in bytes",
]


@pytest.mark.parametrize("form", FORMS)
def test_seeds_of_every_kind_leave_the_verdict_open(form: str) -> None:
    """Would catch a hash without noise that passes because its seed is short, long, signed or no whole number."""
    lowest, highest = {"16": (0, 2**16), "24": (0, 2**24), "63": (0, 2**63), "si": (-(2**31), 2**31)}.get(
        form[:2], (0, 2**32)
    )

    def sampler(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        seeds = rng.integers(lowest, highest, n)
        hashes = hash_of(x, seeds).tolist()
        shown = (seeds / 2**32).tolist() if form == "a share of 1" else seeds.tolist()
        rows = list(zip(shown, hashes, strict=True))
        if form == "32 bits in hex":
            return [(f"{seed:08x}", one) for seed, one in rows]
        if form == "in bytes":
            return [seed.to_bytes(4) + bytes([one]) for seed, one in rows]
        return [{"seed": seed, "hash": one} for seed, one in rows] if "dictionary" in form else rows

    result = audit(sampler, (0, 1), 1.0, samples=20_000)
    assert result.inconclusive
    assert sum("the seed of a hash" in note for note in result.notes) == 1


def test_an_id_in_hex_hides_no_answer_beside_it() -> None:
    """Where the answers differ between the inputs, something was tested, whatever else never recurs."""

    def sampler(x: int, n: int, rng: np.random.Generator) -> list[tuple[str, int]]:
        return [(rng.bytes(8).hex(), int(one)) for one in response(x, n, rng)]

    result = audit(sampler, (0, 1), 1.0, samples=20_000)
    assert result.verdict == "consistent"
    assert result.epsilon_lower > 0.3


def response(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Randomised response of epsilon 0.5."""
    return x ^ (rng.random(n) > 1 / (1 + math.exp(-0.5)))


def test_noise_in_fixed_point_and_clocks_are_no_seeds() -> None:
    """Half-lines test numbers of these kinds, large and never twice as they are."""

    def fixed(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.rint(2.0**30 * (40 + x + rng.laplace(size=n)))

    def clock(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.column_stack([1_700_000_000 + np.arange(n), x + rng.laplace(size=n)])

    for sampler in (fixed, clock):
        assert audit(sampler, (0, 1), 1.0, samples=5_000).verdict == "consistent"


def test_a_seed_in_the_output_is_noted_and_the_advice_finds_what_the_seed_hides() -> None:
    """The seed with its hash gives the input away, and no event of the two numbers alone shows it."""
    split = audit(hashed, (0, 1), 1.0, samples=20_000)
    (note,) = split.notes
    assert split.epsilon_lower < 0.1
    assert split.inconclusive
    assert note.startswith("y[1]: values that did not recur")
    alone = audit(lambda x, n, rng: 2 * rng.integers(0, 2**40, n) + x, (0, 1), 1.0, samples=2_000)
    assert alone.inconclusive
    assert alone.notes[0].startswith("y: values that did not recur"), "whose last digit is the input"

    def supported(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        report = hashed(x, n, rng)
        return np.column_stack([hash_of(v, report[:, 1]) == report[:, 0] for v in (0, 1)]).astype(int)

    seen = audit(supported, (0, 1), 1.0, samples=20_000)
    assert seen.violated
    assert not seen.notes


def test_counts_and_noise_are_no_seeds() -> None:
    def noise(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.column_stack([x + rng.geometric(1e-9, n) - rng.geometric(1e-9, n), rng.integers(0, 1000, n)])

    assert not audit(noise, (0, 1), 1.0, samples=5_000).notes


ALIKE = [Counts(500, 1000, 510, 1000)]
"""Of a test whose event tells nothing."""


@together("coordinates", [10, 300, 3_000])
@together("dtype", ["float64", "float32", "int64", "int16"])
def test_noise_in_many_coordinates_is_no_seed_and_a_seed_among_them_is_one(dtype: str, coordinates: int) -> None:
    """Would catch that a sound vector of 2,000 noisy numbers is refused, since one of them looks evenly spread.

    False alarms: that of one coordinate is below 1e-10 (its distance is more than 5 deviations above `_UNEVEN`). Power:
    a seed is missed once in 1,500 times.
    """

    def noisy(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.rint(rng.normal(0, 5_000, (n, coordinates))).astype(dtype)

    def seeded(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        found = noisy(x, n, rng).astype(np.float64)
        found[:, coordinates // 2] = rng.integers(0, 2**32, n)
        return found

    for sampler, named in ((noisy, None), (seeded, f"y[{coordinates // 2}]: values that did not recur")):
        program = Program(sampler, seed=1, rows=300)
        program.many(0, 1_024, (0,))
        untested = program.untested(ALIKE)
        assert untested is None if named is None else str(untested).startswith(named)


@pytest.mark.parametrize("other", [True, [1]], ids=["a truth value", "a row of one"])
@pytest.mark.parametrize("in_one_call", [False, True])
def test_what_would_be_read_as_one_number_is_refused(other: Any, in_one_call: bool) -> None:
    """Would catch a program that sends 1 on the one input and True on the other, and is called consistent."""

    def sampler(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        return [other if (place % 2 if in_one_call else x) else 1 for place in range(n)]

    with pytest.raises(ProgramError, match=r"it returned numbers and (truth values|rows of one number); as numbers"):
        audit(sampler, (0, 1), 1.0, samples=500)
