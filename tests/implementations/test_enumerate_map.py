"""The channel of a map over its whole grid, against brute force; planted bugs, found and located; bad maps, refused."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit import implementation, search
from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.implementations import (
    Example,
    Exclusive,
    Implementation,
    JointCounts,
    enumerate_map,
    evaluation,
)
from tests.together import together

SIGNS = (-1.0, 1.0)


def two_point(thresholds: dict[float, int]) -> Callable[[Any, Any], Any]:
    """1 for the words below the input's threshold, -1 for others."""
    return lambda x, word: np.where(word < thresholds[x], 1.0, -1.0)


def worst_of(result: Implementation, pair: int = 0) -> Example:
    worst = result.pairs[pair].worst
    assert worst is not None
    return worst


def example_of(found: Exclusive) -> Example:
    assert found.example is not None
    return found.example


def laplace(x: float, u: np.ndarray) -> np.ndarray:
    centred = u - np.float32(0.5)
    return np.float32(x) - np.sign(centred) * np.log1p(-2 * np.abs(centred))


@given(st.lists(st.lists(st.integers(-3, 6), min_size=16, max_size=16), min_size=2, max_size=4), st.floats(0, 3))
@settings(max_examples=60)
def test_random_maps_have_the_channel_of_brute_force(tables: list[list[int]], epsilon: float) -> None:
    """Counts, epsilon, delta and shares of every pair; would catch any slip between the map and the numbers."""
    inputs = list(range(len(tables)))
    if tables[0] == tables[-1]:
        tables[-1] = tables[-1][::-1]
    result = implementation(lambda x, word: np.array(tables[x])[word], inputs, 4, words=True)
    assert [(pair.first, pair.second) for pair in result.pairs] == [(i, j) for i in inputs for j in inputs[i + 1 :]]
    for pair in result.pairs:
        first, second = Counter(tables[pair.first]), Counter(tables[pair.second])
        ratios = [max(first[y], second[y]) / m if (m := min(first[y], second[y])) else math.inf for y in first | second]
        assert pair.epsilon == pytest.approx(math.log(max(ratios)))
        t = Fraction(math.exp(epsilon))
        delta = max(sum(max(Fraction(0), a[y] - t * b[y]) for y in a) for a, b in ((first, second), (second, first)))
        assert pair.delta(epsilon) == pytest.approx(float(delta / 16), rel=1e-12, abs=1e-14)
        assert pair.delta(0) == sum(abs(first[y] - second[y]) for y in first | second) / 32
        for one in pair.exclusive:
            own, other = Counter(tables[one.reached]), Counter(tables[one.unreached])
            alone = {y: own[y] for y in own if not other[y]}
            assert (one.outputs, one.words, one.share) == (len(alone), sum(alone.values()), sum(alone.values()) / 16)
            example = example_of(one)
            assert example.word == (tables[one.reached].index(example.output),)
            assert example.below == max((y for y in other if y < example.output), default=None)
            assert example.above == min((y for y in other if y > example.output), default=None)
            assert own[example.output] == max(alone.values())
        assert (pair.delta(math.inf) > 0) == bool(pair.exclusive) == math.isinf(pair.epsilon)


@together("uniforms", [2, 3])
def test_several_uniforms_are_independent(uniforms: int) -> None:
    """Would catch two uniforms made of the same bits, or the example's words in the wrong order."""
    table = np.random.default_rng(uniforms).integers(0, 5, (2, *[8] * uniforms))
    table[0].flat[-2] = 9
    result = implementation(lambda x, *words: table[(x, *words)], (0, 1), 3, uniforms=uniforms, words=True)
    first, second = (Counter(side.ravel().tolist()) for side in table)
    assert result.words == 8**uniforms
    assert result.delta(0) == sum(abs(first[y] - second[y]) for y in first | second) / 2 / 8**uniforms
    example = worst_of(result)
    assert example.word == (7,) * (uniforms - 1) + (6,)
    assert (example.reached, example.output) == (0, 9)


def test_an_unreachable_output_is_found_and_located() -> None:
    """The planted bug: a probability that rounds to 1, so that one input never gives -1."""
    bug = implementation(two_point({-1.0: 1, 1.0: 4096}), SIGNS, 12, words=True, claimed_epsilon=20, claimed_delta=0.5)
    assert bug.verdict == "violated"
    assert bug.epsilon == math.inf
    (found,) = bug.pairs[0].exclusive
    example = example_of(found)
    assert (found.reached, found.unreached, found.outputs, found.words) == (-1.0, 1.0, 1, 4095)
    assert (example.output, example.word, example.above) == (-1.0, (1,), 1.0)
    assert "-1.0 with u = 1 (word 1) gives -1.0, which no word of 1.0 does" in bug.describe()


def test_the_textbook_laplace_tells_its_input_by_most_of_its_outputs() -> None:
    """At 16 bits; each example is checked by hand, as its sentence says."""
    result = implementation(laplace, (0.0, 1.0), 16, claimed_epsilon=1.0)
    with np.errstate(divide="ignore"):  # u = 0
        outputs = {x: laplace(x, np.arange(2**16, dtype=np.float32) / 2**16) for x in (0.0, 1.0)}
    alone = np.isin(outputs[0.0], outputs[1.0], invert=True)
    first = result.pairs[0].exclusive[0]
    assert first.words == alone.sum()
    assert result.delta(50.0) == max(one.share for one in result.pairs[0].exclusive) > 0.9
    for one in result.pairs[0].exclusive:
        example = example_of(one)
        (again,) = laplace(one.reached, np.array(example.uniform, dtype=np.float32))
        assert again == example.output == outputs[one.reached][example.word[0]]
        others = outputs[one.unreached]
        assert example.below == others[others < again].max()
        assert example.above == others[others > again].min()


def test_the_claim_is_compared_by_whole_numbers() -> None:
    """ln 2 is no float: a fair ratio of 2 neither violates `math.log(2)` nor, read as a number, keeps it."""
    thresholds = {-1.0: 1, 1.0: 2}
    claims = [math.nextafter(math.log(2), side) for side in (0, 1)]
    asked = [math.nextafter(claims[0], 0), math.log(2), claims[1]]
    map_ = two_point(thresholds)
    verdicts = [implementation(map_, SIGNS, 2, words=True, claimed_epsilon=claim).verdict for claim in asked]
    assert verdicts == ["violated", "not refuted", "holds"]
    undecided = implementation(map_, SIGNS, 2, words=True, claimed_epsilon=math.log(2))
    assert "missed by less than the step from its numbers to the next floats" in undecided.describe()


@together(
    ("epsilon", "delta", "verdict"),
    [
        (None, 0.0, None),
        (0.0, 0.0, "violated"),
        (1e-9, 0.0, "violated"),
        (50.0, 0.0, "violated"),
        (math.inf, 0.0, "holds"),  # promises nothing
        (0.0, 0.5, "holds"),
        (0.0, 0.25, "holds"),
        (0.0, 0.2499, "violated"),
        (50.0, 0.125, "holds"),
        (50.0, 0.1249, "violated"),
    ],
)
def test_the_ends_of_a_claim(epsilon: float | None, delta: float, verdict: str | None) -> None:
    """An exclusive mass of 1/8, a total variation of 1/4."""

    def map_(x: float, word: np.ndarray) -> np.ndarray:
        return np.where(word == 0, 2 if x > 0 else 1, np.where(word < (4 if x > 0 else 3), 0, 1))

    result = implementation(map_, SIGNS, 3, words=True, claimed_epsilon=epsilon, claimed_delta=delta)
    assert result.delta(0) == 0.25
    assert result.delta(math.inf) == 0.125
    assert result.verdict == verdict
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["verdict"] == verdict
    assert result.describe().startswith("no claim" if verdict is None else verdict)


@together(
    "map_",
    [
        lambda x, u: np.where(u < 0.25 + x / 4, "yes", "no"),
        lambda x, u: [None if v < 0.25 + x / 4 else 1 for v in u],
        lambda x, u: [(1, "a") if v < 0.25 + x / 4 else "a" for v in u],
        lambda x, u: u < 0.25 + x / 4,
        lambda x, u: (u < 0.25 + x / 4).astype(np.int8),
        lambda x, u: np.stack([u < 0.25 + x / 4] * 2, axis=1),
        lambda x, u: np.stack([u < 0.25 + x / 4] * 5, axis=1).astype(float),
        lambda x, u: torch.from_numpy(u < 0.25 + x / 4).to(torch.bfloat16),
    ],
)
def test_every_kind_of_output_gives_the_same_channel(map_: Callable[[float, Any], Any]) -> None:
    result = implementation(map_, (0.0, 1.0), 10, claimed_epsilon=0.7)
    assert result.pairs[0].counts == JointCounts(1024, ((256, 512, 1), (768, 512, 1)))
    assert result.verdict == "holds"
    json.dumps(result.to_dict(), allow_nan=False)


@together(("dtype", "bits"), [(torch.bfloat16, 8), (torch.float16, 11), (torch.float32, 14), (torch.float64, 14)])
def test_torch_maps_are_given_tensors(dtype: torch.dtype, bits: int) -> None:
    def map_(x: float, u: torch.Tensor) -> torch.Tensor:
        assert u.dtype == dtype
        return torch.where(u < 0.25 + x / 4, u.new_tensor(1.0), u.new_tensor(-1.0))

    result = implementation(map_, (0.0, 1.0), bits, dtype=dtype)
    assert result.epsilon == math.log(2)


def test_a_map_that_writes_into_its_uniforms_is_read_all_the_same() -> None:
    def map_(x: float, u: np.ndarray) -> np.ndarray:
        u *= 1 + x
        return u

    plain = implementation(lambda x, u: u * (1 + x), (0.0, 1.0), 12)
    assert implementation(map_, (0.0, 1.0), 12).pairs == plain.pairs


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a chunk's words lost, taken twice or counted from the wrong place."""
    whole = implementation(laplace, (0.0, 1.0, 3.0), 13)
    monkeypatch.setattr(evaluation, "_CHUNK", 1000)
    monkeypatch.setattr(enumerate_map, "_HELD", 0)  # and nothing is kept between the pairs
    assert implementation(laplace, (0.0, 1.0, 3.0), 13).pairs == whole.pairs


def test_what_search_returns_are_inputs_too() -> None:
    result = implementation(laplace, search(-1, 1, grid=3, random=0), 8)
    assert len(result.pairs) >= 3


def test_two_inputs_that_cannot_be_told_apart_have_epsilon_0() -> None:
    result = implementation(lambda x, u: u, (0, 1), 1, claimed_epsilon=0.0)
    assert (result.epsilon, result.delta(0.0), result.verdict, result.pairs[0].worst) == (0.0, 0.0, "holds", None)


def test_progress_is_said_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_SECONDS", 0.0)
    said: list[str] = []
    implementation(laplace, (0.0, 1.0), 16, progress=said.append)
    assert said[:2] == [f"enumeration: input 1 of 2, {n} of 65536 words" for n in (32768, 65536)]


def _shorter(x: float, u: np.ndarray) -> np.ndarray:
    return u[:-1]


def _drawn(x: float, u: np.ndarray) -> np.ndarray:
    return np.random.random(len(u))


def _centred(x: float, u: np.ndarray) -> np.ndarray:
    return u - u.mean()


def _by_place(x: float, u: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(u)) == 700, 1.0, u)


def _wider_at_one(x: float, u: np.ndarray) -> np.ndarray:
    return u.astype(np.float64) if x else u


def _wider_when_large(x: float, u: np.ndarray) -> np.ndarray:
    return u.astype(np.float64) if u.min() > 0.5 else u


def _failing(x: float, u: np.ndarray) -> np.ndarray:
    raise RuntimeError("no luck")


@together(
    ("map_", "message"),
    [
        (_shorter, r"on input 0.0 .*: it returned 1023 outputs for 1024 words"),
        (lambda x, u: 1.0, "it returned 1.0, not an array of outputs"),
        (_drawn, r"must be a function of x and u alone, but on input 0.0 word \d+ gives .* in a second call"),
        (_centred, r"must be a function of x and u alone, but on input 0.0 word \d+ gives .* among other words"),
        (_by_place, r"word \d+ gives 1.0, and .* among other words"),
        (_wider_at_one, r"on input 1.0 .*: it returned float64 after float32; outputs must be of one kind"),
        (_wider_when_large, "it returned float64 after float32"),
        (_failing, r"on input 0.0 .*: RuntimeError: no luck"),
    ],
)
def test_a_map_that_is_no_function_of_input_and_uniform_is_refused(map_: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        implementation(map_, (0.0, 1.0), 17)


@together(
    ("arguments", "message"),
    [
        ({"inputs": [1.0]}, "inputs must be two or more"),
        ({"inputs": []}, "inputs must be two or more"),
        ({"inputs": (1.0, 1.0)}, "inputs must be two or more that differ"),
        ({"bits": 0}, "bits must be"),
        ({"uniforms": 0}, "uniforms must be a whole number >= 1, got 0"),
        ({"uniforms": True}, "uniforms must be"),
        ({"uniforms": 2, "monotone": True}, "monotone is about a map of one uniform, got uniforms=2"),
        ({"claimed_epsilon": -1.0}, "claimed_epsilon must be"),
        ({"claimed_epsilon": math.nan}, "claimed_epsilon must be"),
        ({"claimed_delta": 1.0}, "claimed_delta must be"),
        ({"samples": 3}, "samples must be"),
        ({"seed": -1}, "seed must be"),
        ({"dtype": "float16", "bits": 12}, "bits must be at most 11 in float16"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"inputs": (0.0, 1.0), "bits": 4, **arguments}
    with pytest.raises(ValueError, match=message):
        implementation(lambda x, u: u, **given)


def test_more_words_than_can_be_enumerated_go_to_the_other_methods() -> None:
    """And neither says that something holds by having looked at some words."""
    by_steps = implementation(two_point({-1.0: 2**30, 1.0: 2**31}), SIGNS, 40, words=True, monotone=True)
    assert (by_steps.method, by_steps.epsilon) == ("monotone", math.log(2))
    assert by_steps.assumptions
    sampled = implementation(
        two_point({-1.0: 2**39, 1.0: 2**39 + 1}), SIGNS, 40, words=True, claimed_epsilon=1.0, samples=1000
    )
    assert (sampled.method, sampled.verdict) == ("sampled", "not refuted")


def test_memory_is_a_few_bytes_a_word() -> None:
    """Would catch outputs, or 64-bit places, kept for all words: 40 bytes a word are 670 MB at 2**24."""
    bits = 20
    tracemalloc.start()
    try:
        implementation(laplace, (0.0, 1.0), bits)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * 2**bits


@pytest.mark.slow
def test_2_to_the_24_words_take_5_seconds_and_1_gigabyte() -> None:
    """The benchmark says so by its exit status."""
    benchmark = Path(__file__).parents[2] / "benchmarks" / "implementation.py"
    ran = subprocess.run([sys.executable, benchmark, "--only", "Laplace, float32"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "0.790532" in ran.stdout
