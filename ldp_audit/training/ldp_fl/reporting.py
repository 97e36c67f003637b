"""What leaves a client: its weights clipped into their layers' ranges, each reported by the two-point mechanism.

`reports` is the whole noisy step, a function of the weights, the ranges and a generator: an audit repeats it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor

from ldp_audit.mechanisms.layer_range import LayerRange
from ldp_audit.training.local_work import Trained

AT_ONCE = 2**20
"""Weights that are perturbed at a time, over clients: the sampler's float64 and int64 steps then hold about 50 MB."""


def reports(
    weights: Mapping[str, Tensor], ranges: LayerRange, epsilon: float, generator: torch.Generator
) -> dict[str, Tensor]:
    """One report of every weight: clipped into its layer's range, then perturbed with epsilon nats.

    weights: by layer names, finite; a leading axis of clients, or none: every weight is perturbed by itself.
    generator: on the weights' device.
    """
    return ranges.perturb(dict(weights), epsilon, rng=generator, clip=True)


def clipped(weights: Mapping[str, Tensor], ranges: LayerRange) -> dict[str, Tensor]:
    """The same without noise, which is no private mechanism: what clipping alone costs."""
    return ranges.clip(dict(weights))


def received_instead(
    trained: Iterable[Trained], received: Mapping[str, Tensor], diverged: list[int]
) -> Iterator[Trained]:
    """The trained clients' weights; a client whose weights are NaN sends those that it received instead.

    It sees that by itself, so that its report depends on its own data alone, and everybody else's not on them.
    received: by name, without an axis of clients.   diverged: gets the indices of these clients.
    """
    for clients, stacked in trained:
        left = next(iter(stacked.values())).flatten(1)[:, 0].isnan()
        if bool(left.any()):
            diverged += clients[left.cpu()].tolist()
            for name, part in stacked.items():
                part[left] = received[name]
        yield clients, stacked


def blocks(trained: Iterable[Trained], size: int) -> Iterator[dict[str, Tensor]]:
    """The stacked weights in blocks of so many clients, the last may be smaller, however they come in chunks.

    A block's noise then does not depend on how the clients were trained.
    """
    held: dict[str, Tensor] | None = None
    for _, chunk in trained:
        held = chunk if held is None else {name: torch.cat([held[name], part]) for name, part in chunk.items()}
        while _clients(held) >= size:
            yield {name: part[:size] for name, part in held.items()}
            held = {name: part[size:] for name, part in held.items()}
    if held is not None and _clients(held):
        yield held


def block_size(dimensions: int) -> int:
    """Clients in a block, for a model of so many weights."""
    return max(1, AT_ONCE // dimensions)


def _clients(stacked: Mapping[str, Tensor]) -> int:
    return len(next(iter(stacked.values())))
