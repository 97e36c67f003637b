"""What the enumeration over the registry (`tests/mechanisms/test_every_mechanism.py`) leaves of the shipped samplers.

Duchi's corners in even dimensions, a finite channel of 64 bits, subsamples, and a planted bug, which is seen.
`test_shipped_noise.py` has Laplace and Gaussian with all that they draw, `test_shipped_samplers_by_structure.py` what
cannot be enumerated.
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
from ldp_audit.mechanisms import (
    DuchiVector,
    FiniteChannel,
    RandomizedResponse,
    SubsampleRelease,
    TwoPoint,
)
from ldp_audit.mechanisms.finite_precision import AliasTable
from ldp_audit.mechanisms.randomness import NumpySource
from ldp_audit.mechanisms.values.two_point import FiniteTwoPoint
from ldp_audit.numerics import log_ratio
from tests.implementations.scripted_generators import Script, ScriptedNumpy, scripted_torch
from tests.implementations.shipped_runs import (
    Draw,
    enumerated,
    every_epsilon,
    some_float,
    words_leading_to,
)
from tests.together import together


@together("d", [2, 4])
def test_corners_are_uniform_on_either_side_in_even_dimensions(d: int) -> None:
    """All corners, turned to the side of (1, .., 1) or away from it, or refused: those kept come equally often."""
    m = DuchiVector(1.0, d)
    for favoured, side in zip((True, False), m.sides(), strict=True):
        source = _AllCorners(d, again=0 if favoured else -1)
        drawn = np.sign(m.draw(np.ones((2**d, d)), np.full(2**d, favoured), source)).astype(int)
        found, times = np.unique(drawn, axis=0, return_counts=True)
        times[np.all(found == (1 if favoured else -1), axis=1)] -= source.refused
        assert np.all((found.sum(axis=1) > 0) == favoured)
        assert (len(found), len(set(times.tolist()))) == (side, 1)


class _AllCorners(NumpySource):
    """Every corner once; then, for those that were refused, the first or the last one."""

    def __init__(self, d: int, again: int) -> None:
        super().__init__(np.random.default_rng(0))
        self.corners, self.again, self.refused = -(np.arange(2**d)[:, None] >> np.arange(d) & 1), again, 0

    def words(self, shape: Any, bits: int = 64) -> np.ndarray:
        if bits == 53:
            return np.full(shape, -(2**52))  # an input at a corner is rounded to it
        if shape[0] == len(self.corners):
            return self.corners
        self.refused += shape[0]
        return np.broadcast_to(self.corners[self.again], shape)


class _OneWordTooFew(FiniteTwoPoint):
    def rarest(self) -> int:
        return super().rarest() - 1


class _NoWord(FiniteTwoPoint):
    def rarest(self) -> int:
        return 0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, torch.bfloat16], ids=str)
def test_a_bug_planted_in_a_shipped_sampler_is_seen(draw: Draw, dtype: Any) -> None:
    """One word too few for the rarer report, or none: the same run that passes for the sound sampler fails."""
    for planted in (_OneWordTooFew, _NoWord):
        m = planted(TwoPoint(4.0), 8)
        found = enumerated(draw, m, (-1.0, 1.0), dtype, 8, lambda words: [(("words", 8), words)], 4.0)
        assert found.verdict == "violated"
        assert (found.epsilon == math.inf) == (planted is _NoWord)


AGAIN = "drawn again"


def channels(epsilon: float) -> Iterator[FiniteChannel]:
    """Three inputs, four outputs, tight at one pair; and the randomised response, of floats that do not add up to 1."""
    t = Fraction(math.exp(epsilon))
    rows = [[t, t, 1, 1], [1, t, t, 1], [1, 1, 1, 1]]
    yield FiniteChannel([[entry / sum(row) for entry in row] for row in rows])
    lie = math.exp(float(RandomizedResponse(epsilon, 3).log_prob(1, 0)))
    yield FiniteChannel([[1 - 2 * lie if i == j else lie for j in range(3)] for i in range(3)], [-1.5, 0.0, 7.0])


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
