"""A party: its network and its training records, under NFDP a sample drawn once at the beginning.

The party does not keep the records outside the sample, so everything that follows is post-processing of the sample.
There is no dropout and no batch normalisation: a forward pass draws no random numbers and has no state.

Source: Sun, Lyu, FedMD-NFDP (IJCAI 2021), Algorithm 1, line 3, and Theorems 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn

from ldp_audit.mechanisms import SubsampleRelease
from ldp_audit.training.fedmd_nfdp.settings import is_own, kind_and_widths
from ldp_audit.training.models import build, initial_weights


def network(name: str, shape: tuple[int, int, int], outputs: int, generator: torch.Generator) -> nn.Module:
    """The network with this name on the CPU, with torch's default initial weights, drawn from the generator.

    A user's own network keeps the initial weights that its function gives it (`models.build`).

    shape: (channels, height, width) of an image.   outputs: scores per image.
    Raises ValueError for an unknown name, if pooling reduces the image to nothing, and for a user's network that cannot
    be trained reproducibly or has another number of outputs.
    """
    if is_own(name):
        return _own(name, tuple(shape), outputs, generator)
    kind, widths = kind_and_widths(name)
    with torch.device("meta"):  # without drawing weights
        layers, features = _convolutions(name, shape, widths) if kind == "cnn" else _hidden(math.prod(shape), widths)
        model = nn.Sequential(*layers, nn.Linear(features, outputs))
    model.to_empty(device="cpu")
    model.load_state_dict(initial_weights(model, generator))
    return model


def _own(name: str, shape: tuple[int, ...], outputs: int, generator: torch.Generator) -> nn.Module:
    model = build(name, shape, outputs, generator)
    with torch.no_grad():
        found = tuple(model(torch.zeros(2, *shape)).shape)  # two images, as one hides a lost batch dimension
    if found != (2, outputs):
        raise ValueError(f"network {name!r} must give {outputs} scores per image, shape {(2, outputs)}, got {found}")
    return model


def _convolutions(name: str, shape: tuple[int, int, int], widths: tuple[int, ...]) -> tuple[list[nn.Module], int]:
    layers: list[nn.Module] = []
    channels, height, width = shape
    for wide in widths:
        layers += [nn.Conv2d(channels, wide, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        channels, height, width = wide, height // 2, width // 2
    if not height * width:
        raise ValueError(f"networks must leave a pixel after pooling, {name!r} leaves none of {shape[1]}x{shape[2]}")
    return [*layers, nn.Flatten()], channels * height * width


def _hidden(pixels: int, widths: tuple[int, ...]) -> tuple[list[nn.Module], int]:
    layers: list[nn.Module] = [nn.Flatten()]
    for wide in widths:
        layers += [nn.Linear(pixels, wide), nn.ReLU()]
        pixels = wide
    return layers, pixels


@dataclass(frozen=True)
class Party:
    """One party.

    number: 0, 1, ...   name, model: its network's name, and the network.
    x, y: its training records, shapes (k, channels, height, width) and (k,).
    optimizer: of all its phases after pre-training; None if each has a new one.
    """

    number: int
    name: str
    model: nn.Module
    x: torch.Tensor
    y: torch.Tensor
    optimizer: torch.optim.Adam | None = None


def sampled(count: int, sampling: SubsampleRelease | None, generator: torch.Generator) -> torch.Tensor:
    """Indices of the records, among a party's `count`, that it trains on, int64, shape (k,); all without a sampling."""
    places = torch.arange(count, device=generator.device)
    return places if sampling is None else sampling.sample(places, rng=generator)


_MOMENTS = ("exp_avg", "exp_avg_sq")


def moments_of(optimizer: torch.optim.Adam) -> dict[int, dict[str, torch.Tensor]]:
    """Copies on the CPU of what Adam has kept of each weight, by the weight's number; empty before a first step."""
    held = optimizer.state_dict()["state"]
    return {number: {name: value.cpu().clone() for name, value in one.items()} for number, one in held.items()}


def restore_moments(optimizer: torch.optim.Adam, moments: Mapping[int, Mapping[str, torch.Tensor]]) -> None:
    """Continue from copies of these moments. Raises ValueError for those of other weights."""
    own = optimizer.state_dict()
    shapes = [tuple(weight.shape) for group in optimizer.param_groups for weight in group["params"]]
    found = {number: [tuple(one[name].shape) for name in _MOMENTS] for number, one in moments.items()}
    if found and found != {number: [shape] * len(_MOMENTS) for number, shape in enumerate(shapes)}:
        raise ValueError(f"state must have moments of weights of shapes {shapes}, got {found}")
    copied = {number: {name: value.clone() for name, value in one.items()} for number, one in moments.items()}
    optimizer.load_state_dict({**own, "state": copied})
