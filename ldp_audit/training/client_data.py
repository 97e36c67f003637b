"""The samples of all clients, the partition of a data set among clients, and the batches of a
round.

In each epoch client i shuffles its samples and cuts them into batches; the last batch may be smaller. The shuffle of
client i does not depend on which other clients take part: it is row i of one draw for the round and the epoch. All
training strategies receive the same `LocalWork`, so that they train the same clients on the same batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ldp_audit.training.datasets import Images
from ldp_audit.training.streams import Streams


@dataclass(frozen=True)
class ClientData:
    """The samples of n clients, up to m each.

    x: shape (n, m, ...).   y: labels, (n, m).   sizes: int64, shape (n,), each in 1 .. m.
    index: None; or, if x and y hold the samples of all clients in one row, shapes (N, ...): which of them each client
        has, int64, shape (n, m), on the CPU. A client's samples beyond its size are padding.
    x, y and sizes are on one device. Raises ValueError, naming the part, for anything else.
    """

    x: Tensor
    y: Tensor
    sizes: Tensor
    index: Tensor | None = None

    def __post_init__(self) -> None:
        lead = 2 if self.index is None else 1
        if self.x.ndim <= lead:
            shape = "(clients, samples, ...)" if lead == 2 else "(samples, ...)"
            raise ValueError(f"x must have shape {shape}, got {tuple(self.x.shape)}")
        if self.y.shape[:lead] != self.x.shape[:lead]:
            raise ValueError(f"y must have shape {tuple(self.x.shape[:lead])}, got {tuple(self.y.shape)}")
        if self.index is not None and not _indexes(self.index, len(self.x)):
            raise ValueError(f"index must be int64, shape (clients, samples), in 0 .. {len(self.x) - 1}")
        places = self.x.shape[:2] if self.index is None else self.index.shape
        if self.sizes.dtype != torch.int64 or self.sizes.shape != places[:1]:
            raise ValueError(
                f"sizes must be int64, shape ({places[0]},), got {self.sizes.dtype}, {tuple(self.sizes.shape)}"
            )
        if not places[0] or not (self.sizes.min() >= 1 and self.sizes.max() <= places[1]):
            raise ValueError(f"sizes must be in 1 .. {places[1]}, one a client, got {self.sizes.unique().tolist()}")
        if len({self.x.device, self.y.device, self.sizes.device}) > 1:
            raise ValueError(
                f"x, y and sizes must be on one device, got {self.x.device}, {self.y.device}, {self.sizes.device}"
            )

    @property
    def most(self) -> int:
        """m."""
        return self.x.shape[1] if self.index is None else self.index.shape[1]

    def samples(self) -> tuple[Tensor, Tensor]:
        """x and y of all clients in one row, shapes (N, ...)."""
        return (self.x, self.y) if self.index is not None else (self.x.flatten(0, 1), self.y.flatten(0, 1))

    def rows(self, clients: Tensor, orders: Tensor) -> Tensor:
        """Where `samples` has these, on the CPU.   clients: (k,).   orders: (epochs, k, m), each client's own."""
        if self.index is None:
            return clients[:, None] * self.most + orders
        return self.index[clients].expand(len(orders), -1, -1).gather(2, orders)

    def client(self, number: int) -> tuple[Tensor, Tensor]:
        """x and y of one client, without padding."""
        size, (x, y) = int(self.sizes[number]), self.samples()
        rows = self.rows(torch.tensor([number]), torch.arange(self.most).expand(1, 1, -1))[0, 0, :size].to(x.device)
        return x[rows], y[rows]

    @classmethod
    def of(
        cls, images: Images, clients: int, streams: Streams, device: torch.device | str, *, scheme: str = "iid"
    ) -> ClientData:
        """Distribute the training images among this many clients, at random by the stream "clients".

        scheme: "iid": a random split, sizes differ by at most one. "shards": images sorted by label and cut into two
            pieces per client, so that most clients have two labels (McMahan et al. 2017). "writers": one writer per
            client, writers drawn at random.   Raises ValueError if there are too few images or writers.
        """
        deal = SCHEMES.get(scheme)
        if deal is None:
            raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")
        if not isinstance(clients, int) or not 1 <= clients <= len(images.train_x):
            raise ValueError(f"clients must be in 1 .. {len(images.train_x)}, the training images, got {clients!r}")
        return cls.from_parts(images, deal(images, clients, streams.numpy("clients")), device)

    @classmethod
    def from_parts(cls, images: Images, parts: list[NDArray[np.int64]], device: torch.device | str) -> ClientData:
        """Client i holds the training images with indices parts[i]."""
        if not parts or min(map(len, parts)) < 1:
            raise ValueError(f"parts must give each client an image, got sizes {sorted({len(part) for part in parts})}")
        index = torch.empty((len(parts), max(map(len, parts))), dtype=torch.int64)
        for client, part in enumerate(parts):
            index[client] = int(part[0])
            index[client, : len(part)] = torch.from_numpy(part)
        sizes = torch.tensor([len(part) for part in parts], dtype=torch.int64)
        x, y = torch.from_numpy(images.train_x), torch.from_numpy(images.train_y)  # not copied on a CPU
        return cls(x.to(device), y.to(device), sizes.to(device), index)

    def __len__(self) -> int:
        """The number of clients."""
        return len(self.sizes)


def _indexes(index: Tensor, count: int) -> bool:
    """Whether these are indices of so many samples, for each client."""
    whole = index.dtype == torch.int64 and index.ndim == 2 and index.numel() > 0 and index.device.type == "cpu"
    return whole and int(index.min()) >= 0 and int(index.max()) < count


def _iid(images: Images, clients: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    return np.array_split(rng.permutation(len(images.train_x)), clients)


def _shards(images: Images, clients: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    if 2 * clients > len(images.train_x):
        raise ValueError(f"clients must be at most {len(images.train_x) // 2} for two shards each, got {clients!r}")
    shuffled = rng.permutation(len(images.train_x))
    by_label = shuffled[np.argsort(images.train_y[shuffled], kind="stable")]
    shards = np.array_split(by_label, 2 * clients)
    dealt = rng.permutation(2 * clients).reshape(clients, 2)
    return [np.concatenate([shards[first], shards[second]]) for first, second in dealt]


def _writers(images: Images, clients: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    if images.writers is None:
        raise ValueError(f'scheme "writers" needs images with writers, {images.name} has none')
    writers = np.unique(images.writers)
    if clients > len(writers):
        raise ValueError(f"clients must be at most {len(writers)}, the writers of {images.name}, got {clients!r}")
    order = np.argsort(images.writers, kind="stable")
    starts = np.searchsorted(images.writers[order], writers)
    of_writer = np.split(order, starts[1:])
    return [of_writer[writer] for writer in np.sort(rng.choice(len(writers), clients, replace=False))]


SCHEMES: dict[str, Callable[[Images, int, np.random.Generator], list[NDArray[np.int64]]]] = {
    "iid": _iid,
    "shards": _shards,
    "writers": _writers,
}
"""Partitions: (images, clients, rng) -> the image indices of each client."""


Trained = tuple[Tensor, dict[str, Tensor]]
"""(indices of the clients, shape (c,); their weights by name, each with a leading axis of length c)."""


class Batch(NamedTuple):
    """One step of c clients.

    x, y: (c, b, ...).   share: weight of each sample in its client's loss, shape (c, b); each client's sum to 1,
        padding has 0, and a client without samples left has only zeros.
    """

    x: Tensor
    y: Tensor
    share: Tensor


@dataclass(frozen=True)
class LocalWork:
    """The local training of one round.

    weights: the global weights, by name.   clients: indices into data, int64, on the CPU, shape (k,).
    orders: int64, on the CPU, shape (epochs, k, m): permutation of each client's samples; padding repeats the first
        sample.
    place: position in the run, for messages: (round, ...).
    strict: whether a client whose training overflows is an error; otherwise all of its weights become NaN.
    """

    model: nn.Module
    weights: dict[str, Tensor]
    data: ClientData
    clients: Tensor
    orders: Tensor
    batch_size: int
    learning_rate: float
    place: tuple[int, ...]
    strict: bool = True

    def __len__(self) -> int:
        """Number of clients to train."""
        return len(self.clients)

    def chunks(self, size: int) -> Iterator[LocalWork]:
        """The same work in chunks of at most `size` clients."""
        for start in range(0, len(self), size):
            yield self.part(start, start + size)

    def part(self, start: int, stop: int) -> LocalWork:
        """The work of the clients at positions start .. stop - 1."""
        fields: dict[str, Any] = {
            **self.__dict__,
            "clients": self.clients[start:stop],
            "orders": self.orders[:, start:stop],
        }
        return LocalWork(**fields)

    def sizes(self) -> Tensor:
        """Number of samples of each client, on the CPU, shape (k,)."""
        return self.data.sizes.cpu()[self.clients]

    def stacked(self) -> dict[str, Tensor]:
        """One copy of the global weights per client."""
        return {name: weight.expand(len(self), *weight.shape).clone() for name, weight in self.weights.items()}

    def batches(self) -> Iterator[Batch]:
        """The steps of all epochs; each epoch lasts until the client with most samples has used all of them."""
        sizes, (all_x, all_y), device = self.sizes(), self.data.samples(), self.data.x.device
        places, most = self.data.rows(self.clients, self.orders).to(device), int(sizes.max())
        steps = [(start, min(start + self.batch_size, most)) for start in range(0, most, self.batch_size)]
        shares = [_shares(sizes, *step, all_x.dtype).to(device) for step in steps]
        for order in places:  # index_select copies whole rows; x[clients, places] takes five times as long on a CPU
            for (start, stop), share in zip(steps, shares, strict=True):
                step = order[:, start:stop]
                x, y = all_x.index_select(0, step.flatten()), all_y.index_select(0, step.flatten())
                yield Batch(x.unflatten(0, step.shape), y.unflatten(0, step.shape), share)

    def done(self, weights: dict[str, Tensor], losses: Tensor) -> Trained:
        """The result that a strategy yields.   losses: sum of each client's losses, shape (c,).

        If a loss or weight is not finite: FloatingPointError naming the first such client if `strict`, NaN weights
        otherwise.
        """
        finite = losses.isfinite()
        for weight in weights.values():
            finite &= weight.flatten(1).sum(1).isfinite()  # the sum is not finite if a term is not, and is cheaper
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
    """Permutations of the clients' samples in each epoch, drawn from the stream "batches"; see `LocalWork.orders`."""
    sizes, m = data.sizes.cpu()[clients], data.most
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


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """The loss of each sample.   outputs: (b, k).   labels: in 0 .. k - 1, shape (b,)."""
    return functional.cross_entropy(outputs, labels, reduction="none")


def cross_entropy_slope(outputs: Tensor, labels: Tensor) -> Tensor:
    """Its gradient in the outputs, (..., k).   labels: (...)."""
    slope = torch.softmax(outputs, dim=-1)
    return slope.scatter_add_(-1, labels[..., None], slope.new_full((), -1.0).expand(*labels.shape, 1))
