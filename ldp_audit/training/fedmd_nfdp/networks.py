"""The networks that `architectures` names. There is no dropout and no batch normalisation: a forward pass draws nothing
and keeps nothing.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from ldp_audit.training.fedmd_nfdp.architectures import kind_and_widths
from ldp_audit.training.models import initial_weights


def network(name: str, shape: tuple[int, int, int], outputs: int, generator: torch.Generator) -> nn.Module:
    """The network of this name on the CPU, with torch's default initial weights, drawn from the generator.

    shape: (channels, height, width) of an image.   outputs: scores per image.
    Raises ValueError for an unknown name, and where pooling leaves nothing of the image.
    """
    kind, widths = kind_and_widths(name)
    with torch.device("meta"):  # nothing is drawn yet
        layers, features = _convolutions(name, shape, widths) if kind == "cnn" else _hidden(math.prod(shape), widths)
        model = nn.Sequential(*layers, nn.Linear(features, outputs))
    model.to_empty(device="cpu")
    model.load_state_dict(initial_weights(model, generator))
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
