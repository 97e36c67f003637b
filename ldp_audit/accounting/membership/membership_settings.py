"""LDP-FL's three experiments as the membership test sees them: clients, epsilon, rounds, and how many weights.

Clients and epsilon are those of Section 5.2, and so are the rounds (Section 5 says 10 for FMNIST too; its Section 5.1
says epsilon 5 there). The paper does not give its networks: MNIST and FMNIST have "a two-layer CNN", CIFAR-10 "a small
VGG". So the numbers of weights are those of named assumptions, computed layer by layer, biases included. Little hangs
on them: the test needs a few hundred weights, and the smallest conceivable classifier of such pictures has thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Network:
    """An assumed network: what it is, in words, and its number of weights."""

    words: str
    weights: int


@dataclass(frozen=True)
class Setting:
    """An experiment: its data, clients, epsilon of a report (nats), rounds, and the networks it may have used."""

    data: str
    n: int
    epsilon: float
    rounds: int
    networks: tuple[Network, ...]


def convolution(inputs: int, outputs: int, side: int) -> int:
    """Weights of a layer of square filters, with biases."""
    return (side * side * inputs + 1) * outputs


def dense(inputs: int, outputs: int) -> int:
    """Weights of a fully connected layer, with biases."""
    return (inputs + 1) * outputs


_MNIST = (
    Network("no network at all: one dense layer, 784 to 10", dense(784, 10)),
    Network(
        "two 5x5 convolutions of 10 and 20 channels, no padding, each pooled; dense 320, 50, 10",
        convolution(1, 10, 5) + convolution(10, 20, 5) + dense(320, 50) + dense(50, 10),
    ),
    Network(
        "two padded 5x5 convolutions of 32 and 64 channels, each pooled; dense 3136, 512, 10 (McMahan et al. 2017)",
        convolution(1, 32, 5) + convolution(32, 64, 5) + dense(3136, 512) + dense(512, 10),
    ),
)

_CHANNELS = (3, 64, 64, 128, 128, 256, 256)

_CIFAR = (
    Network("no network at all: one dense layer, 3072 to 10", dense(3072, 10)),
    Network(
        "six padded 3x3 convolutions of 64, 64, 128, 128, 256, 256 channels, three pools; dense 4096, 10",
        sum(convolution(a, b, 3) for a, b in pairwise(_CHANNELS)) + dense(4096, 10),
    ),
)

SETTINGS = (
    Setting("MNIST", 100, 1.0, 10, _MNIST),
    Setting("FMNIST", 200, 4.0, 15, _MNIST),
    Setting("CIFAR-10", 500, 10.0, 15, _CIFAR),
)
