"""The work that `benchmarks/training.py` times: clients with equally many random samples, one epoch of plain SGD each.

Torch and the standard library alone, so that a peer's environment can import it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

SAMPLES, BATCH, RATE = 60, 10, 0.03


@dataclass(frozen=True)
class Case:
    """build: the network.   shape: of a sample.   wanted: the required ratio to the plain loop.

    macs: multiplications of one sample's forward pass; training takes three times as many, less a third of the first
        layer's share, as no gradient by the samples is needed.   first: those of the first layer.
    """

    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    wanted: float
    macs: int
    first: int

    def flops(self, clients: int) -> int:
        """Additions and multiplications of a round, of matrix products and convolutions alone."""
        return 2 * (3 * self.macs - self.first) * clients * SAMPLES


def _linear() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def _cnn() -> nn.Module:
    convolutions = [nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    convolutions += [nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(1568, 10))


def _vgg() -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
        layers += [nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 256), nn.ReLU(), nn.Linear(256, 10))


_VGG_FIRST = 3 * 32 * 9 * 1024
_VGG = _VGG_FIRST + 32 * 32 * 9 * 1024 + (32 * 64 + 64 * 64) * 9 * 256 + (64 * 128 + 128 * 128) * 9 * 64
_CNN_FIRST = 25 * 16 * 784

CASES = {
    "linear": Case(_linear, (1, 28, 28), 15, 7840, 7840),
    "mlp": Case(_mlp, (1, 28, 28), 2.5, 784 * 128 + 1280, 784 * 128),
    "cnn": Case(_cnn, (1, 28, 28), 1.5, _CNN_FIRST + 400 * 32 * 196 + 15680, _CNN_FIRST),
    "vgg": Case(_vgg, (3, 32, 32), 1.5, _VGG + 2048 * 256 + 2560, _VGG_FIRST),
}


def samples(case: Case, clients: int) -> tuple[Tensor, Tensor]:
    """x: (clients, SAMPLES, *shape), y: (clients, SAMPLES)."""
    generator = torch.Generator().manual_seed(1)
    x = torch.rand((clients, SAMPLES, *case.shape), generator=generator)
    return x, torch.randint(10, (clients, SAMPLES), generator=generator)


def train_plainly(model: nn.Module, x: Tensor, y: Tensor, order: Tensor) -> nn.Module:
    """One client as in tutorials: a deep copy, torch.optim.SGD, batch after batch."""
    model = deepcopy(model)
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=RATE), nn.CrossEntropyLoss()
    for batch in order.split(BATCH):
        optimizer.zero_grad()
        loss(model(x[batch]), y[batch]).backward()
        optimizer.step()
    return model
