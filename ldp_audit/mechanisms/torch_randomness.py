"""Random words for torch tensors, from a torch.Generator on the CPU or a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import array_api_compat.torch as torch_namespace
import torch

_HALF = 2**63


class TorchSource:
    """A `ldp_audit.mechanisms.randomness.Source` on a torch.Generator; tensors are on the generator's device."""

    xp: Any = torch_namespace

    def __init__(self, rng: torch.Generator) -> None:
        self.rng = rng

    def array(self, name: str, x: Any) -> torch.Tensor:
        """See `Source`. ValueError for anything but a dense tensor on the generator's device."""
        if not isinstance(x, torch.Tensor):
            raise ValueError(f"{name} must be a torch tensor where rng is a torch.Generator, got {type(x).__name__}")
        if x.layout is not torch.strided:
            raise ValueError(f"{name} must be a dense tensor, got one of layout {x.layout}")
        if x.device.type != self.rng.device.type:
            raise ValueError(f"rng must be on the device of {name}, {x.device}, got one on {self.rng.device}")
        return x.detach()

    def constant(self, values: Any, dtype: Any) -> torch.Tensor:
        """See `Source`."""
        return torch.as_tensor(values, dtype=dtype, device=self.rng.device)

    def words(self, shape: Sequence[int], bits: int = 64) -> torch.Tensor:
        """See `Source`."""
        fresh = torch.empty(tuple(shape), dtype=torch.int64, device=self.rng.device)
        return fresh.random_(-_HALF, None, generator=self.rng) >> (64 - bits)

    def below(self, bound: int, shape: Sequence[int]) -> torch.Tensor:
        """See `Source`. By rejection, as torch.randint is biased (a word modulo the bound)."""
        last = _HALF // bound * bound - 1  # compared with <=: 2**63 itself is no int64
        drawn = self.words(shape) & (_HALF - 1)
        while bool((refused := drawn > last).any()):
            drawn = torch.where(refused, self.words(shape) & (_HALF - 1), drawn)
        return drawn % bound
