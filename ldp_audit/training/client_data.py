"""The samples of all clients in one padded tensor, and the ways to deal a data set to clients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ldp_audit.training.datasets import Images
from ldp_audit.training.streams import Streams


@dataclass(frozen=True)
class ClientData:
    """What each of n clients holds: up to m samples, its own first, padding behind them.

    x: shape (n, m, ...).   y: labels (n, m), or targets (n, m, ...).   sizes: int64, shape (n,), each in 1 .. m.
    All on one device. Raises ValueError, naming the part, for anything else.
    """

    x: Tensor
    y: Tensor
    sizes: Tensor

    def __post_init__(self) -> None:
        if self.x.ndim < 3:
            raise ValueError(f"x must have shape (clients, samples, ...), got {tuple(self.x.shape)}")
        if self.y.shape[:2] != self.x.shape[:2]:
            raise ValueError(f"y must have shape {tuple(self.x.shape[:2])}, got {tuple(self.y.shape)}")
        if self.sizes.dtype != torch.int64 or self.sizes.shape != self.x.shape[:1]:
            raise ValueError(
                f"sizes must be int64, shape ({len(self.x)},), got {self.sizes.dtype}, {tuple(self.sizes.shape)}"
            )
        if not len(self.x) or not (self.sizes.min() >= 1 and self.sizes.max() <= self.x.shape[1]):
            raise ValueError(
                f"sizes must be in 1 .. {self.x.shape[1]}, one a client, got {self.sizes.unique().tolist()}"
            )
        if len({self.x.device, self.y.device, self.sizes.device}) > 1:
            raise ValueError(
                f"x, y and sizes must be on one device, got {self.x.device}, {self.y.device}, {self.sizes.device}"
            )

    @classmethod
    def of(
        cls, images: Images, clients: int, streams: Streams, device: torch.device | str, *, scheme: str = "iid"
    ) -> ClientData:
        """The training images dealt to this many clients, by streams' "clients".

        scheme: "iid": a random split, sizes that differ by one at most. "shards": sorted by label and cut into two
        pieces a client, so that most clients see two labels (McMahan et al. 2017). "writers": one client a writer, as
        many writers, drawn at random.   Raises ValueError where there are too few images or writers.
        """
        deal = SCHEMES.get(scheme)
        if deal is None:
            raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")
        if not isinstance(clients, int) or not 1 <= clients <= len(images.train_x):
            raise ValueError(f"clients must be in 1 .. {len(images.train_x)}, the training images, got {clients!r}")
        return cls.from_parts(images, deal(images, clients, streams.numpy("clients")), device)

    @classmethod
    def from_parts(cls, images: Images, parts: list[NDArray[np.int64]], device: torch.device | str) -> ClientData:
        """Client i holds the training images with the indices parts[i]."""
        if not parts or min(map(len, parts)) < 1:
            raise ValueError(f"parts must give each client an image, got sizes {sorted({len(part) for part in parts})}")
        m = max(map(len, parts))
        x = torch.zeros((len(parts), m, *images.shape), dtype=torch.float32)
        y = torch.zeros((len(parts), m), dtype=torch.int64)
        for client, part in enumerate(parts):
            x[client, : len(part)] = torch.from_numpy(images.train_x[part])
            y[client, : len(part)] = torch.from_numpy(images.train_y[part])
        sizes = torch.tensor([len(part) for part in parts], dtype=torch.int64)
        return cls(x.to(device), y.to(device), sizes.to(device))

    def __len__(self) -> int:
        """The number of clients."""
        return len(self.sizes)


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
"""(images, clients, rng) -> the indices of each client's images."""
