"""A party: its network and the records that it trains on, which under NFDP are a sample drawn once, before anything.

What a party does not hold it cannot use: the records outside the sample are not kept, so that all that follows is
post-processing of the released sample.

Source: Sun, Lyu, FedMD-NFDP (IJCAI 2021), Algorithm 1, line 3, and Theorems 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ldp_audit.mechanisms import SubsampleRelease


@dataclass(frozen=True)
class Party:
    """One party.

    number: 0, 1, ...   name, model: of its network, and the network.
    x, y: what it trains on, shapes (k, channels, height, width) and (k,).
    """

    number: int
    name: str
    model: nn.Module
    x: torch.Tensor
    y: torch.Tensor


def sampled(count: int, sampling: SubsampleRelease | None, generator: torch.Generator) -> torch.Tensor:
    """Which of a party's `count` records it trains on: int64 places, shape (k,); all of them without a sampling."""
    places = torch.arange(count, device=generator.device)
    return places if sampling is None else sampling.sample(places, rng=generator)
