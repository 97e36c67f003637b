"""What every strategy is given, so that all train the same clients on the same batches: the work of one round.

Client i's samples are put in a fresh order in each epoch and cut into batches; the last may be smaller. The order of
client i is the same whoever else is chosen: row i of one draw for the round and epoch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ldp_audit.training.client_data import ClientData
from ldp_audit.training.losses import Loss
from ldp_audit.training.streams import Streams

Trained = tuple[Tensor, dict[str, Tensor]]
"""(the clients' indices, shape (c,); their weights by name, each with a leading axis of c)."""


class Batch(NamedTuple):
    """One step of c clients.

    x, y: (c, b, ...).   share: (c, b): each client's sums to 1; 0 for padding, all 0 where it has no sample left.
    """

    x: Tensor
    y: Tensor
    share: Tensor


@dataclass(frozen=True)
class LocalWork:
    """The local training of one round.

    weights: the global ones, by name.   clients: indices into data, int64, on the CPU, shape (k,).
    orders: int64, on the CPU, shape (epochs, k, m): the order of each client's samples; behind its size, its first one.
    place: where in the run this is, for messages: (round, ...).
    strict: whether a client that leaves the floats is an error; otherwise all of its weights come out as NaN.
    """

    model: nn.Module
    weights: dict[str, Tensor]
    data: ClientData
    clients: Tensor
    orders: Tensor
    batch_size: int
    learning_rate: float
    loss: Loss
    place: tuple[int, ...]
    strict: bool = True

    def __len__(self) -> int:
        """The number of clients to train."""
        return len(self.clients)

    def chunks(self, size: int) -> Iterator[LocalWork]:
        """The same work in pieces of at most so many clients."""
        for start in range(0, len(self), size):
            yield self.part(start, start + size)

    def part(self, start: int, stop: int) -> LocalWork:
        """The work of the clients start .. stop - 1, counted as they were chosen."""
        fields = {**self.__dict__, "clients": self.clients[start:stop], "orders": self.orders[:, start:stop]}
        return LocalWork(**fields)

    def sizes(self) -> Tensor:
        """The number of samples of each client, on the CPU, shape (k,)."""
        return self.data.sizes.cpu()[self.clients]

    def stacked(self) -> dict[str, Tensor]:
        """The global weights, one copy a client."""
        return {name: weight.expand(len(self), *weight.shape).clone() for name, weight in self.weights.items()}

    def batches(self) -> Iterator[Batch]:
        """Step by step, until the client with the most samples is through with its epochs."""
        sizes, device, m = self.sizes(), self.data.x.device, self.data.x.shape[1]
        places, most = (self.clients[:, None] * m + self.orders).to(device), int(sizes.max())
        # index_select of rows copies memory; x[clients, places] takes five times as long on a CPU.
        all_x, all_y = self.data.x.flatten(0, 1), self.data.y.flatten(0, 1)
        steps = [(start, min(start + self.batch_size, most)) for start in range(0, most, self.batch_size)]
        shares = [_shares(sizes, *step, all_x.dtype).to(device) for step in steps]
        for order in places:
            for (start, stop), share in zip(steps, shares, strict=True):
                step = order[:, start:stop]
                x, y = all_x.index_select(0, step.flatten()), all_y.index_select(0, step.flatten())
                yield Batch(x.unflatten(0, step.shape), y.unflatten(0, step.shape), share)

    def done(self, weights: dict[str, Tensor], losses: Tensor) -> Trained:
        """What a strategy yields.   losses: the sum of each client's, shape (c,).

        A client whose loss or some weight is no finite number: FloatingPointError, naming the first, or `strict`.
        """
        finite = losses.isfinite()
        for weight in weights.values():
            finite &= weight.flatten(1).sum(1).isfinite()  # a sum is no number where a term is none, and quicker
        if bool(finite.all()):
            return self.clients, weights
        if self.strict:
            client = int(self.clients[int((~finite).nonzero()[0])])
            raise FloatingPointError(
                f"client {client} in round {', '.join(map(str, self.place))}: the loss or a weight is no finite "
                f"number; a learning_rate below {self.learning_rate:g} may help"
            )
        for weight in weights.values():
            weight[~finite] = math.nan
        return self.clients, weights


def draw_orders(data: ClientData, clients: Tensor, epochs: int, streams: Streams, place: tuple[int, ...]) -> Tensor:
    """The order of the clients' samples in each epoch, from streams' "batches"; see `LocalWork`."""
    sizes, m = data.sizes.cpu()[clients], data.x.shape[1]
    padded = torch.arange(m) >= sizes[:, None]
    orders = []
    for epoch in range(epochs):
        keys = torch.from_numpy(streams.numpy("batches", *place, epoch).random((int(clients.max()) + 1, m)))[clients]
        order = keys.masked_fill_(padded, 2.0).argsort(dim=1, stable=True)
        orders.append(torch.where(padded, order[:, :1], order))
    return torch.stack(orders)


def _shares(sizes: Tensor, start: int, stop: int, dtype: torch.dtype) -> Tensor:
    counted = (torch.arange(start, stop) < sizes[:, None]).to(dtype)
    return counted / counted.sum(1, keepdim=True).clamp(min=1)
