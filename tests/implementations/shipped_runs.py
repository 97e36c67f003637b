"""Runs of the shipped samplers on words of a test's choice, in every dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.implementations import Implementation, implementation
from ldp_audit.mechanisms.finite_precision import AliasTable
from ldp_audit.mechanisms.randomness import NumpySource
from tests.implementations.scripted_generators import Script, ScriptedNumpy, scripted_torch

EPSILONS = [0.01, 1.0, 50.0, *(pytest.param(epsilon, marks=pytest.mark.slow) for epsilon in (0.1, 4.0, 10.0, 20.0))]
FLOATS = [np.float16, np.float32, np.float64, torch.float16, torch.bfloat16, torch.float32, torch.float64]
WHOLE = [np.int8, np.uint8, np.int64, torch.uint8, torch.int64]
BOOLEANS = [np.bool_, torch.bool]

BITS = [8, pytest.param(4, marks=pytest.mark.slow), pytest.param(11, marks=pytest.mark.slow)]

every_epsilon = pytest.mark.parametrize("epsilon", EPSILONS)
every_float = pytest.mark.parametrize("dtype", FLOATS, ids=str)

some_float = pytest.mark.parametrize(
    "dtype",
    [np.float16, np.float32, torch.bfloat16]
    + [
        pytest.param(dtype, marks=pytest.mark.slow)
        for dtype in (np.float64, torch.float16, torch.float32, torch.float64)
    ],
    ids=str,
)
"""The mechanisms that are composed of others."""

Draw = Callable[[Any, Any, int, Any, Sequence[Any]], Any]
"""(mechanism, input, how many reports, dtype of the input, the script's answers) -> reports."""


def drawing(monkeypatch: pytest.MonkeyPatch) -> Draw:
    """Draws from both libraries' samplers with scripted words."""
    current: list[Script] = []
    scripted_torch(monkeypatch, lambda: current[-1])

    def drawn(m: Any, x: Any, count: int, dtype: Any, answers: Sequence[Any]) -> Any:
        x, script = np.asarray(x), Script(answers)
        many = np.broadcast_to(x, (count, *x.shape))
        if not isinstance(dtype, torch.dtype):
            return plain(m.sample(many.astype(dtype), rng=ScriptedNumpy(script)))
        current.append(script)
        return plain(m.sample(torch.from_numpy(many.copy()).to(dtype), rng=torch.Generator()))

    return drawn


def plain(found: Any) -> Any:
    """Index and value side by side, as float64, which keeps every bit of a narrower value."""
    if not isinstance(found, tuple):
        return found
    return np.concatenate(
        [
            np.asarray(part.double() if isinstance(part, torch.Tensor) else part, dtype=np.float64).reshape(
                len(part), -1
            )
            for part in found
        ],
        axis=1,
    )


def enumerated(
    draw: Draw,
    m: Any,
    inputs: Sequence[Any],
    dtype: Any,
    bits: int,
    answers: Callable[[Any], Sequence[Any]],
    claimed: float,
    delta: float = 0.0,
) -> Implementation:
    """Every word of so many bits, shared out among the draws by `answers`."""

    def mapped(x: Any, words: Any) -> Any:
        return draw(m, x, len(words), dtype, answers(words))

    return implementation(mapped, inputs, bits, words=True, claimed_epsilon=claimed, claimed_delta=delta)


def assert_sound(found: Implementation) -> None:
    assert (found.method, found.verdict) == ("enumerated", "holds"), found.describe()
    assert not any(pair.exclusive for pair in found.pairs)


def reachable(value: float, dtype: Any) -> float:
    """The number that the dtype has for this one."""
    one = np.array([value])
    return float(
        torch.from_numpy(one).to(dtype).double()[0] if isinstance(dtype, torch.dtype) else one.astype(dtype)[0]
    )


def words_leading_to(table: AliasTable, row: int, outputs: int) -> list[int]:
    """How many of the 2**64 words lead to each output, by draws at both ends of both parts of every slot.

    A draw compares the last bits of a word with its slot's threshold, so that the words between two ends go with them.
    """
    slots, size = 2**table.slot_bits, 2 ** (64 - table.slot_bits)
    own = table.thresholds[row * slots : (row + 1) * slots].astype(np.uint64)
    start = np.arange(slots, dtype=np.uint64) * np.uint64(size)
    counts = [0] * outputs
    for first, after in ((np.zeros_like(own), own), (own, np.full_like(own, size))):
        some = after > first
        ends = np.concatenate([(start + first)[some], (start + after)[some] - np.uint64(1)])
        script = Script([(("words", 64), ends ^ np.uint64(2**63))])
        drawn = table.draw(NumpySource(ScriptedNumpy(script)), ends.shape, np.full(ends.shape, row))
        assert np.array_equal(drawn[: len(ends) // 2], drawn[len(ends) // 2 :])
        for output, words in zip(drawn.tolist(), (after - first)[some].tolist(), strict=False):
            counts[output] += words
    return counts
