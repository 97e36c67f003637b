"""The networks of the papers' experiments by name, users' own networks, and initial weights.

LDP-FL trains a two-layer CNN on 28x28 images and a small VGG on 32x32 images; the paper gives no layer sizes, so these
are this project's. Each network is an `nn.Sequential` with named layers, which measurements refer to.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from copy import deepcopy
from math import prod
from typing import cast

import torch
from torch import Tensor, nn

from ldp_audit.mechanisms.named_object import named_object

Builder = Callable[[tuple[int, ...], int], nn.Module]
"""(shape of one sample, number of classes) -> a network from (batch, *shape) to (batch, classes)."""


def build(name: str, shape: tuple[int, ...], classes: int, generator: torch.Generator | None = None) -> nn.Module:
    """The network with this name: one of `MODELS`, or a user's own as "package.module:function", a `Builder`.

    shape: of one sample, (channels, height, width) for images.   classes: number of outputs, >= 1.
    generator: on the CPU, from which the initial weights are drawn (`initial_weights`). A user's own network keeps the
        weights that its function gives it; what the function draws from torch's shared generator follows this one.
    Raises ValueError for an unknown name, an unsuitable shape, a network with buffers (running statistics are no
    weights, so no client would report them) or dropout (its draws follow no seed), and weights that are not finite.
    """
    builder = MODELS.get(name) or _users_model(name)
    shape = tuple(shape)
    if not shape or any(not isinstance(size, int) or size < 1 for size in shape):
        raise ValueError(f"shape must be positive whole numbers, got {shape!r}")
    if not isinstance(classes, int) or classes < 1:
        raise ValueError(f"classes must be a whole number >= 1, got {classes!r}")
    ours = builder in _OURS.values()
    with torch.random.fork_rng(devices=[]):  # the layers' constructors draw from the global generator
        torch.manual_seed(0 if ours or generator is None else int(torch.randint(2**62, (), generator=generator)))
        model = builder(shape, classes)
    check_model(model)
    if ours and generator is not None:
        model.load_state_dict(initial_weights(model, generator))
    return model


def check_model(model: nn.Module) -> None:
    """Raise ValueError, with the reason, for a network that clients cannot train reproducibly."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if next(model.parameters(), None) is None:
        raise ValueError(f"model must have parameters, {type(model).__name__} has none")
    buffer = next((name for name, _ in model.named_buffers()), None)
    if buffer is not None:
        raise ValueError(f"model must have no buffers (use GroupNorm instead of BatchNorm), got {buffer!r}")
    wild = next((name for name, weight in model.named_parameters() if not torch.isfinite(weight).all()), None)
    if wild is not None:
        raise ValueError(f"model must have finite initial weights, {type(model).__name__} has others in {wild!r}")
    for name, module in model.named_modules():
        if "Dropout" in type(module).__name__:
            raise ValueError(
                f"model must have no dropout, its draws follow no seed, got {type(module).__name__} {name!r}"
            )


def initial_weights(model: nn.Module, generator: torch.Generator) -> dict[str, Tensor]:
    """Initial weights by name, drawn from this generator by each layer's `reset_parameters`.

    model: of torch's layers, which all have that.   generator: on the CPU, so that every device starts from the same
        weights; the weights are on the model's device.
    """
    fresh = deepcopy(model).cpu()
    with torch.random.fork_rng(devices=[]):
        for module in fresh.modules():
            if next(module.parameters(recurse=False), None) is None:
                continue
            torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
            cast(nn.Linear, module).reset_parameters()
    device = next(model.parameters()).device
    return {name: weight.detach().to(device) for name, weight in fresh.named_parameters()}


def _two_layer_cnn(name: str, first: int, second: int, kernel: int) -> Builder:
    """A CNN of two convolutions with these numbers of channels, each with ReLU and 2x2 max-pooling."""

    def cnn(shape: tuple[int, ...], classes: int) -> nn.Module:
        channels, height, width = _image(name, shape, 4)
        return _named(
            conv1=nn.Conv2d(channels, first, kernel, padding=kernel // 2),
            relu1=nn.ReLU(),
            pool1=nn.MaxPool2d(2),
            conv2=nn.Conv2d(first, second, kernel, padding=kernel // 2),
            relu2=nn.ReLU(),
            pool2=nn.MaxPool2d(2),
            flatten=nn.Flatten(),
            output=nn.Linear(second * (height // 4) * (width // 4), classes),
        )

    return cnn


def _vgg(shape: tuple[int, ...], classes: int) -> nn.Module:
    channels, height, width = _image("vgg", shape, 8)
    layers: dict[str, nn.Module] = {}
    for stage, size in enumerate((32, 64, 128), start=1):
        for part in "ab":
            layers[f"conv{stage}{part}"] = nn.Conv2d(channels, size, 3, padding=1)
            layers[f"relu{stage}{part}"] = nn.ReLU()
            channels = size
        layers[f"pool{stage}"] = nn.MaxPool2d(2)
    return _named(
        **layers,
        flatten=nn.Flatten(),
        hidden=nn.Linear(128 * (height // 8) * (width // 8), 256),
        relu=nn.ReLU(),
        output=nn.Linear(256, classes),
    )


def _mlp(shape: tuple[int, ...], classes: int) -> nn.Module:
    return _named(
        flatten=nn.Flatten(), hidden=nn.Linear(prod(shape), 128), relu=nn.ReLU(), output=nn.Linear(128, classes)
    )


def _softmax(shape: tuple[int, ...], classes: int) -> nn.Module:
    return _named(flatten=nn.Flatten(), output=nn.Linear(prod(shape), classes))


_OURS: dict[str, Builder] = {
    "cnn": _two_layer_cnn("cnn", 16, 32, 5),
    "digit-cnn": _two_layer_cnn("digit-cnn", 8, 16, 3),
    "vgg": _vgg,
    "mlp": _mlp,
    "softmax": _softmax,
}
MODELS = dict(_OURS)
"""The networks by name; a program may add its own."""


def _users_model(name: str) -> Builder:
    if ":" not in name:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, or package.module:function, got {name!r}")
    found = named_object(name, f"model {name!r}")
    if not callable(found):
        raise ValueError(f"model {name!r} must be a function (shape, classes) -> torch.nn.Module, got {found!r}")
    return cast(Builder, found)


def _image(name: str, shape: tuple[int, ...], least: int) -> tuple[int, int, int]:
    if len(shape) != 3 or min(shape[1:]) < least:
        raise ValueError(
            f"shape must be (channels, height, width), sides >= {least}, for model {name!r}, got {shape!r}"
        )
    return shape


def _named(**layers: nn.Module) -> nn.Module:
    return nn.Sequential(OrderedDict(layers))
