"""Clients trained as every tutorial does it, and small rounds to train: what the strategies' tests compare with."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ldp_audit.training.client_data import ClientData, draw_orders
from ldp_audit.training.local_training import train_clients
from ldp_audit.training.models import build, initial_weights
from ldp_audit.training.streams import Streams

torch.set_num_threads(1)  # these tensors are too small for more

EPOCHS, BATCH, RATE, PLACE = 2, 4, 0.2, (3,)
SIZES = (7, 4, 9, 1, 8)
"""Samples of each client: fewer than a batch, a whole number of batches, and a last batch that is smaller."""
STEPS = EPOCHS * 3


@dataclass(frozen=True)
class Round:
    """One round of five clients of unequal sizes; float64 shows bugs that float32's rounding would hide."""

    model: nn.Module
    weights: dict[str, Tensor]
    data: ClientData
    streams: Streams

    def trained(self, strategy: str, chosen: Sequence[int] = range(5), **settings: Any) -> dict[str, Tensor]:
        """The chosen clients' weights by name, stacked."""
        arguments = {"epochs": EPOCHS, "batch_size": BATCH, "learning_rate": RATE, "place": PLACE, "chunk": 2}
        arguments.update(settings)
        parts = list(
            train_clients(
                self.model, self.weights, self.data, chosen, streams=self.streams, strategy=strategy, **arguments
            )
        )
        assert torch.cat([indices for indices, _ in parts]).tolist() == list(chosen)
        return {name: torch.cat([weights[name] for _, weights in parts]) for name in self.weights}

    def plain(self, loss: Any = None) -> dict[str, Tensor]:
        """The same by deepcopy and torch.optim.SGD, on each client's own samples, without padding or shares."""
        loss = loss or nn.CrossEntropyLoss()
        orders = draw_orders(self.data, torch.arange(5), EPOCHS, self.streams, PLACE)
        trained = []
        for client, size in enumerate(self.data.sizes.tolist()):
            model = deepcopy(self.model)
            model.load_state_dict(self.weights)
            optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
            for order in orders[:, client, :size]:
                for batch in order.split(BATCH):
                    optimizer.zero_grad()
                    loss(model(self.data.x[client, batch]), self.data.y[client, batch]).backward()
                    optimizer.step()
            trained.append(dict(model.named_parameters()))
        return {name: torch.stack([one[name].detach() for one in trained]) for name in self.weights}


def a_round(
    model: str | nn.Module = "digit-cnn", dtype: torch.dtype = torch.float64, shape: tuple[int, ...] = (1, 8, 8)
) -> Round:
    """A round on random samples."""
    generator = torch.Generator().manual_seed(8)
    network = (build(model, shape, 3) if isinstance(model, str) else model).to(dtype)
    x = torch.rand((5, max(SIZES), *shape), generator=generator, dtype=dtype)
    y = torch.randint(3, (5, max(SIZES)), generator=generator)
    data = ClientData(x, y, torch.tensor(SIZES))
    return Round(network, initial_weights(network, generator), data, Streams(5))


def tolerance(weights: dict[str, Tensor]) -> float:
    """What rounding alone may do.

    Each step adds sums of at most 1000 products of numbers below 1 (a convolution's gradient sums 4 x 64, a layer's
    outputs 128), each wrong by the unit roundoff; the steps' errors add up.
    """
    return STEPS * 1000 * torch.finfo(next(iter(weights.values())).dtype).eps / 2


def distance(first: dict[str, Tensor], second: dict[str, Tensor]) -> float:
    """The greatest difference of two weights."""
    return max(float((first[name] - second[name]).abs().max()) for name in first)
