"""The samplers whose decisions are uniform whole numbers: ExponentialSelection, FiniteChannel, SubsampleRelease.

Their own code, on every number that they can draw. Numbers below a bound that is no power of two are words of more
bits, and those beyond the bound a report of their own, the same at every input: as if they were drawn again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.implementations import implementation
from ldp_audit.mechanisms import ExponentialSelection, FiniteChannel, RandomizedResponse, SubsampleRelease
from ldp_audit.mechanisms.exponential_selection import FiniteSelection
from ldp_audit.mechanisms.finite_precision import AliasTable
from ldp_audit.numerics import log_ratio
from tests.implementations.scripted_generators import Script, ScriptedNumpy, scripted_torch
from tests.implementations.shipped_runs import (
    BITS,
    FLOATS,
    WHOLE,
    Draw,
    assert_sound,
    enumerated,
    every_epsilon,
    some_float,
    words_leading_to,
)

every_number = pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE], ids=str)
every_whole = pytest.mark.parametrize("dtype", WHOLE, ids=str)
AGAIN = "drawn again"


def exponential(draw: Draw, law: FiniteSelection, dtype: Any, bits: int, claimed: float) -> Any:
    """Three rankings of four coordinates, the first two each other's reverse; every number below the weights' sum."""
    total = int(law.weights().sum())

    def mapped(ranks: Any, words: Any) -> Any:
        drawn = np.asarray(draw(law, ranks, len(words), dtype, [(("below", total), words % total)])).astype(np.int64)
        return np.where(words < total, drawn, -1)

    inputs = [(1, 2, 3, 4), (4, 3, 2, 1), (2, 4, 1, 3)]
    return implementation(mapped, inputs, bits, words=True, claimed_epsilon=claimed)


@pytest.mark.covering(1)
@every_whole
@every_epsilon
@pytest.mark.parametrize("bits", BITS)
def test_exponential_selection(draw: Draw, epsilon: float, dtype: Any, bits: int) -> None:
    law = ExponentialSelection(epsilon, 4).implemented(bits)
    assert law.weights().sum() <= 2**bits
    found = exponential(draw, law, dtype, bits, epsilon)
    assert_sound(found)
    assert found.epsilon == pytest.approx(law.exact_epsilon(), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_weight_too_few_in_exponential_selection_is_seen(monkeypatch: Any, draw: Draw, epsilon: float) -> None:
    """The lowest weight one less than the sampler's: the same run fails, and locates the lowest rank's report."""
    law = ExponentialSelection(epsilon, 4).implemented(8)
    lowest = law.lowest()
    monkeypatch.setattr(FiniteSelection, "lowest", lambda _self: lowest - 1)
    found = exponential(draw, law, np.int64, 8, epsilon)
    assert found.verdict == "violated"


def channels(epsilon: float) -> Iterator[FiniteChannel]:
    """Three inputs, four outputs, tight at one pair; and the randomised response, of floats that do not add up to 1."""
    t = Fraction(math.exp(epsilon))
    rows = [[t, t, 1, 1], [1, t, t, 1], [1, 1, 1, 1]]
    yield FiniteChannel([[entry / sum(row) for entry in row] for row in rows])
    lie = math.exp(float(RandomizedResponse(epsilon, 3).log_prob(1, 0)))
    yield FiniteChannel([[1 - 2 * lie if i == j else lie for j in range(3)] for i in range(3)], [-1.5, 0.0, 7.0])


@pytest.mark.covering(1)
@every_number
@every_epsilon
@pytest.mark.parametrize("bits", BITS)
def test_finite_channel(draw: Draw, epsilon: float, dtype: Any, bits: int) -> None:
    """Rows may be of any dtype that holds them. Thresholds of the table are whole words of these bits: the rest of a
    word decides nothing.
    """
    for channel in channels(epsilon):
        law = channel.implemented(bits)
        inputs = range(len(law.matrix))
        claimed = channel.exact_epsilon()
        found = enumerated(
            draw,
            law,
            inputs,
            dtype,
            bits,
            lambda words: [(("words", 64), words.astype(np.uint64) << np.uint64(64 - bits))],
            claimed,
        )
        assert_sound(found)
        assert found.epsilon == pytest.approx(law.exact_epsilon(), rel=1e-12)


@every_epsilon
def test_finite_channel_with_64_bits_slot_by_slot(epsilon: float) -> None:
    """The table's own draws at both ends of both parts of every slot; the parts' sizes add up to the counts, exactly,
    and no ratio of counts is above the channel's.
    """
    for channel in channels(epsilon):
        counts = [[int(p * 2**64) for p in row] for row in channel.implemented().matrix]
        for place, row in enumerate(counts):
            assert words_leading_to(AliasTable.of(counts), place, len(row)) == row
        ratios = [
            log_ratio(a, b) for first, second in product(counts, counts) for a, b in zip(first, second, strict=True)
        ]
        assert max(ratios) <= channel.exact_epsilon()


RELEASES = [
    pytest.param(SubsampleRelease(4, 2, replacement=True), 4, 2, id="with replacement"),
    pytest.param(SubsampleRelease(3, 2, replacement=True), 4, 2, id="with replacement, three records"),
    pytest.param(SubsampleRelease(4, 2), 8, 2, id="different draws"),
    pytest.param(SubsampleRelease(5, 1), 6, 3, id="different draws, five records"),
    pytest.param(SubsampleRelease(3, 2), 9, 3, id="keys"),
    pytest.param(SubsampleRelease(3, 3), 9, 3, id="keys, all records"),
]
"""A release, the bits of all its draws together, and the bits of one draw."""


@some_float
@pytest.mark.parametrize(("m", "bits", "each"), RELEASES)
def test_subsample_release(monkeypatch: Any, m: SubsampleRelease, bits: int, each: int, dtype: Any) -> None:
    """Data sets that differ in a record: delta is at most the chance that the record is drawn, at every epsilon.

    Less only by the draws that decide nothing, numbers beyond n and keys that agree: the same ones at every input. All
    ordered samples have as many of the others.
    """
    current: list[Script] = []
    scripted_torch(monkeypatch, lambda: current[-1])
    outcomes: dict[Any, np.ndarray] = {}

    def mapped(records: Any, words: Any) -> Any:
        if records not in outcomes:
            x = np.array(records)
            x = torch.from_numpy(x).to(dtype) if isinstance(dtype, torch.dtype) else x.astype(dtype)
            digits = np.arange(2**bits)[:, None] >> each * np.arange(bits // each) & 2**each - 1
            outcomes[records] = np.array([released(current, m, x, row, each) for row in digits])
        return outcomes[records][words.astype(np.int64)]

    data = tuple(float(2 + n) for n in range(m.n))
    others = [(*data[:place], -1.0, *data[place + 1 :]) for place in (0, m.n - 1)]
    found = implementation(mapped, [data, *others], bits, words=True)
    samples = [Counter(drawn.tolist()) for drawn in outcomes.values()]
    again = {counts.pop(AGAIN, 0) for counts in samples}
    assert len(again) == 1
    decided = 1 - again.pop() / 2**bits
    assert decided > 0.25
    assert all(len(counts) == (m.n**m.k if m.replacement else math.perm(m.n, m.k)) for counts in samples)
    assert all(len(set(counts.values())) == 1 for counts in samples)
    assert found.method == "enumerated"
    near = [pair for pair in found.pairs if data in (pair.first, pair.second)]
    assert len(near) == 2
    for pair in near:
        for epsilon in (0.0, 0.01, 0.1, 1.0, 4.0, 10.0, 20.0, 50.0):
            assert pair.delta(epsilon) == pytest.approx(decided * m.inclusion(), rel=1e-12)


def released(current: list[Script], m: SubsampleRelease, x: Any, digits: np.ndarray, each: int) -> str:
    """One release, with these digits as its draws; AGAIN where they do not suffice."""
    by_keys = not m.replacement and 2 * m.k > m.n
    if not by_keys and digits.max() >= m.n:
        return AGAIN
    if by_keys:
        script = Script([(("words", 64), digits.astype(np.uint64) << np.uint64(64 - each))])
    else:
        empty = [] if m.replacement else [(("below", m.n), digits[:0])]  # what the stream of draws begins with
        script = Script([*empty, (("below", m.n), digits)])
    current.append(script)
    try:
        drawn = m.sample(x, rng=torch.Generator() if isinstance(x, torch.Tensor) else ScriptedNumpy(script))
    except IndexError:
        if script.answers:
            raise
        return AGAIN
    return " ".join(f"{one:g}" for one in drawn.tolist())


def test_a_record_that_is_kept_back_is_seen(monkeypatch: Any) -> None:
    """Draws below n - 1: the last record is never released, so others are likelier than k / n."""
    m = SubsampleRelease(4, 1, replacement=True)
    monkeypatch.setattr(SubsampleRelease, "sample", lambda _self, x, *, rng: x[rng.integers(0, 4, size=(1,)) % 3])

    def mapped(records: Any, words: Any) -> Any:
        return np.array([released([], m, np.array(records), np.array([w]), 2) for w in words.tolist()])

    found = implementation(
        mapped, [(1.0, 2.0, 3.0, 4.0), (0.0, 2.0, 3.0, 4.0)], 2, words=True, claimed_epsilon=1.0, claimed_delta=0.25
    )
    assert found.verdict == "violated"
