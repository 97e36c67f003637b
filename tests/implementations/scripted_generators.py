"""Generators that hand a shipped sampler the words of a test's choice, so that its own code can be enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ldp_audit.mechanisms.randomness import NumpySource

Answer = tuple[str, int]
"""What a sampler asks for: ("words", bits) or ("below", bound)."""


class Script:
    """Answers, in the order in which they are asked for; each is an array for all reports of a call.

    answers: (("words", bits) or ("below", bound), whole numbers 0 .. 2**bits - 1 or 0 .. bound - 1). Words are handed
    out as the samplers take them, from -2**(bits-1) on. Anything else than what the script says is an error.
    """

    def __init__(self, answers: Sequence[tuple[Answer, Any]]) -> None:
        self.answers = list(answers)

    def next(self, kind: str, size: int, shape: Sequence[int]) -> np.ndarray:
        (wanted, values) = self.answers.pop(0)
        assert wanted == (kind, size), f"the sampler asks for {kind} {size}, the script has {wanted}"
        whole = np.broadcast_to(np.asarray(values), tuple(shape))
        if kind == "below":
            return whole.astype(np.int64)
        flipped = whole.astype(np.uint64) ^ np.uint64(2 ** (size - 1))  # so that 0 becomes the lowest word
        return (flipped << np.uint64(64 - size)).view(np.int64) >> (64 - size)


class ScriptedNumpy(np.random.Generator):
    """A numpy generator whose `integers` are a script's: 64-bit words, of which a source keeps the first bits."""

    def __new__(cls, *_: Any) -> Any:
        return super().__new__(cls)

    def __init__(self, script: Script) -> None:
        super().__init__(np.random.PCG64(0))
        self.script = script

    def integers(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
        assert low == 0
        if high == 2**64:
            (_, bits), _values = self.script.answers[0]
            drawn = self.script.next("words", bits, size)
            return drawn.view(np.uint64) << np.uint64(64 - bits)
        return self.script.next("below", int(high or 0), size).astype(dtype)


def scripted_torch(monkeypatch: Any, script_of: Any) -> None:
    """torch sources take their words from `script_of()`, the script that is current."""
    from ldp_audit.mechanisms.torch_randomness import TorchSource

    def words(_self: Any, shape: Sequence[int], bits: int = 64) -> torch.Tensor:
        return torch.from_numpy(script_of().next("words", bits, shape).copy())

    def below(_self: Any, bound: int, shape: Sequence[int]) -> torch.Tensor:
        return torch.from_numpy(script_of().next("below", bound, shape))

    monkeypatch.setattr(TorchSource, "words", words)
    monkeypatch.setattr(TorchSource, "below", below)


def whole_words_decide(monkeypatch: Any, words: Any) -> None:
    """The numpy shortcut's short words begin the current whole ones, and are lengthened to them.

    words: gives the current array of whole words, int64.
    """
    monkeypatch.setattr(NumpySource, "short_words", lambda _self, count: (words()[:count] >> 48).astype(np.int16))
    monkeypatch.setattr(NumpySource, "lengthened", lambda _self, _short, at: words()[at])
