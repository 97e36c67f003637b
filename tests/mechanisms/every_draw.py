"""Everything that a sampler can draw, each way as often as it is likely, in one call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.mechanisms.randomness import NumpySource
from ldp_audit.mechanisms.torch_randomness import TorchSource

_MANY = 4096
"""What has more values than this rounds an input, and decides nothing at inputs that need no rounding."""

_ROUNDING = (16, 53)
"""Bits of the words that round inputs."""


class _Digits:
    """Mixed-radix digits of 0 .. n-1: the first call counts the answers that a sampler asks for, the next gives all."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.ways = 1
        self.place = 0

    def next(self, shape: Sequence[int], size: int) -> np.ndarray:
        each = math.prod(shape) // (shape[0] if shape else 1)
        if self.ways == 1:
            self.sizes += [size] * each
            return np.zeros(shape, np.int64)
        columns = []
        for _ in range(each):
            below = math.prod(self.sizes[: self.place])
            columns.append(np.arange(self.ways) // below % self.sizes[self.place])
            self.place += 1
        return np.stack(columns, axis=-1).reshape(shape) if columns else np.zeros(shape, np.int64)


def every_draw(patch: pytest.MonkeyPatch, law: Any, x: Any, bits: int, dtype: Any = None) -> Any:
    """The reports of `law` at the input x for every answer of its random source, all equally likely.

    For samplers that ask the same number of questions whatever the answers. Words of 64 bits decide by their first
    `bits` alone, where a law of few bits is drawn from by a table.   dtype: of the inputs, of numpy
    or torch; that of x if not given.
    """
    digits, tensors = _Digits(), isinstance(dtype, torch.dtype)

    def words(_self: Any, shape: Sequence[int], asked: int = 64) -> Any:
        if asked in _ROUNDING:
            return given(digits.next(tuple(shape), 2) * (2**asked - 1) - 2 ** (asked - 1))
        few = min(asked, bits)
        return given(digits.next(tuple(shape), 2**few) - 2 ** (few - 1) << asked - few)

    def below(_self: Any, bound: int, shape: Sequence[int]) -> Any:
        if bound > _MANY:
            return given(digits.next(tuple(shape), 2) * (bound - 1))
        return given(digits.next(tuple(shape), bound))

    given = torch.from_numpy if tensors else np.asarray
    with patch.context() as patched:
        for source in (NumpySource, TorchSource):
            patched.setattr(source, "words", words)
            patched.setattr(source, "below", below)
        for ways in (1, None):
            digits.ways, digits.place = ways or math.prod(digits.sizes), 0
            inputs = np.broadcast_to(np.asarray(x), (digits.ways, *np.shape(x))).copy()
            if isinstance(dtype, torch.dtype):
                drawn = law.sample(torch.from_numpy(inputs).to(dtype), rng=torch.Generator())
            else:
                drawn = law.sample(inputs.astype(dtype or inputs.dtype), rng=np.random.default_rng(0))
    return drawn


def shares(drawn: Any) -> dict[tuple[float, ...], float]:
    """How often each report was drawn; a report as a flat tuple of its numbers."""
    parts = drawn if isinstance(drawn, tuple) else (drawn,)
    parts = [part.double() if isinstance(part, torch.Tensor) else part for part in parts]
    rows = np.concatenate([np.asarray(part, dtype=np.float64).reshape(len(parts[0]), -1) for part in parts], axis=1)
    found, times = np.unique(rows, axis=0, return_counts=True)
    return {tuple(row.tolist()): count / len(rows) for row, count in zip(found, times, strict=True)}


def reported(drawn: Any, key: tuple[float, ...]) -> Any:
    """The report of such numbers, as the law's `log_prob` takes it."""
    if not isinstance(drawn, tuple):
        return key[0] if np.ndim(drawn) == 1 else np.array(key)
    sizes = [math.prod(np.shape(part)[1:]) for part in drawn]
    pieces = np.split(np.array(key), np.cumsum(sizes)[:-1])
    kinds = [np.int64 if np.asarray(part).dtype.kind in "iu" else np.float64 for part in drawn]
    listed = zip(pieces, kinds, drawn, strict=True)
    return tuple(piece.astype(kind).reshape(np.shape(part)[1:])[()] for piece, kind, part in listed)
