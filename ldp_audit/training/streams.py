"""Random generators derived from a run's seed, one per purpose, round and client.

No generator state is saved: the generator of a purpose in a round is a function of the seed, the purpose's name and the
round's number. A run that is resumed after round k draws in round k + 1 what the uninterrupted run draws.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Streams:
    """The generators of one run.   seed: >= 0; ValueError otherwise."""

    seed: int

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or self.seed < 0:
            raise ValueError(f"seed must be a whole number >= 0, got {self.seed!r}")

    def numpy(self, purpose: str, *place: int) -> np.random.Generator:
        """The generator of a purpose ("noise", "batches", ...) at a place (a round, a client, ...)."""
        return np.random.default_rng(self._sequence(purpose, place))

    def torch(self, purpose: str, *place: int, device: torch.device | str = "cpu") -> torch.Generator:
        """The same on a torch device; the numbers differ from device to device.

        torch's CPU generator keeps 32 bits of a seed, so two of 300 streams coincide in one run of 100,000.
        """
        import torch

        low, high = self._sequence(purpose, place).generate_state(2, np.uint32)
        return torch.Generator(device).manual_seed((int(high) << 32 | int(low)) >> 1)

    def _sequence(self, purpose: str, place: tuple[int, ...]) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed, spawn_key=(zlib.crc32(purpose.encode()), *place))
