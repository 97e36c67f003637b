"""Grouped convolutions and batched products against the network itself, layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn.modules import module as every_module
from torch.utils.hooks import RemovableHandle

from ldp_audit.training import grouped
from tests.together import together
from tests.training.plain_clients import a_round, distance, tolerance


class OwnSequential(nn.Sequential):
    """A user's class that runs its layers as nn.Sequential does."""


def convolution(**settings: object) -> nn.Conv2d:
    return nn.Conv2d(2, 4, **{"kernel_size": 3, **settings})


ACTIVATION = nn.Tanh()

NETWORKS = {
    "one activation twice": [nn.Flatten(), nn.Linear(128, 9), ACTIVATION, nn.Linear(9, 9), ACTIVATION, nn.Linear(9, 3)],
    "pool first": [nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32, 3)],
    "stride": [convolution(stride=(2, 1), padding=(1, 0)), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3)],
    "dilation": [convolution(dilation=(1, 2)), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3)],
    "same": [convolution(padding="same"), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(3)],
    "no bias": [convolution(bias=False), nn.Tanh(), nn.Flatten(), nn.LazyLinear(3, bias=False)],
    "kernel": [convolution(kernel_size=(1, 5)), nn.Sigmoid(), nn.AvgPool2d(2), nn.Flatten(), nn.LazyLinear(3)],
    "twice": [convolution(), nn.GELU(), nn.Conv2d(4, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(3)],
    "in place": [convolution(), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(3)],
    "wide": [nn.Conv2d(2, 4, 8, padding=4), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten(), nn.LazyLinear(3)],
    "last axis": [nn.Linear(8, 5), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3)],
    "nested": [nn.Sequential(convolution(), nn.ReLU()), OwnSequential(nn.Flatten(), nn.Identity()), nn.LazyLinear(3)],
}


def network(layers: list[nn.Module]) -> nn.Module:
    model = OwnSequential(*(deepcopy(layer) if layer is not ACTIVATION else layer for layer in layers))
    model(torch.zeros(2, 2, 8, 8))  # tells the lazy layers their sizes
    return model


@together("name", NETWORKS)
def test_every_layer_that_it_knows_agrees_with_the_layer_itself(name: str) -> None:
    """Catches a stride, padding or dilation that is left out, clients or channels that are mixed, a wrong order."""
    case = a_round(network(NETWORKS[name]).to(torch.float64), shape=(2, 8, 8))
    assert distance(case.trained("grouped"), case.plain()) <= tolerance(case.weights)


@pytest.mark.parametrize("few", [0, 1000])
def test_unfolding_and_grouping_agree(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a bug in the one that the sizes of these tests would not choose."""
    monkeypatch.setattr(grouped, "UNFOLD_LIMIT", few)
    case = a_round(network(NETWORKS["stride"]).to(torch.float64), shape=(2, 8, 8))
    assert distance(case.trained("grouped"), case.plain()) <= tolerance(case.weights)


def test_clients_whose_weights_are_mixed_up_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison itself, for the likeliest bug: the groups of a convolution in the wrong order."""
    case = a_round("digit-cnn")
    convolve = grouped.functional.conv2d
    monkeypatch.setattr(grouped.functional, "conv2d", lambda x, w, *a, **k: convolve(x, w.flip(0), *a, **k))
    assert distance(case.trained("grouped"), case.plain()) > 1e6 * tolerance(case.weights)


def hooked() -> nn.Module:
    layer = nn.Linear(128, 3)
    layer.register_forward_hook(lambda module, inputs, output: 2 * output)
    return nn.Sequential(nn.Flatten(), layer)


def hooked_whole() -> nn.Module:
    model = nn.Sequential(nn.Flatten(), nn.Linear(128, 3))
    model.register_forward_hook(lambda module, inputs, output: 2 * output)
    return model


def hooked_backwards() -> nn.Module:
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    model[3].register_full_backward_hook(lambda module, by_input, by_output: (by_input[0] / 10,))
    return model


def changed() -> nn.Module:
    model = nn.Sequential(nn.Flatten(), nn.Linear(128, 9))
    model[1].forward = lambda x: x[:, :3]
    return model


def repeated() -> nn.Module:
    layer = nn.Linear(128, 128)
    return nn.Sequential(nn.Flatten(), layer, nn.ReLU(), layer)


class OwnForward(nn.Sequential):
    """It does not run its layers one after the other."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002
        return 2 * super().forward(input)


@together(
    ("model", "reason"),
    [
        (nn.Linear(8, 3), "Linear is no nn.Sequential"),
        (OwnForward(nn.Flatten(), nn.Linear(128, 3)), "OwnForward is no nn.Sequential"),
        (nn.Sequential(nn.Flatten(), nn.LayerNorm(128)), "layer '1', LayerNorm: none of Conv2d, Linear"),
        (nn.Sequential(nn.Conv2d(2, 4, 3, groups=2)), "layer '0', Conv2d: it has groups"),
        (nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, padding_mode="reflect")), "padding other than zeros"),
        (nn.Sequential(nn.Conv2d(2, 4, 3), nn.MaxPool2d(2, return_indices=True)), "it returns indices"),
        (nn.Sequential(nn.Flatten(2), nn.Linear(64, 3)), "it does not flatten all of a sample"),
        (hooked(), "layer '1', Linear: it has hooks"),
        (hooked_whole(), "layer '', Sequential: it has hooks"),
        (hooked_backwards(), "layer '3', Linear: it has hooks"),
        (changed(), "layer '1', Linear: it has hooks or a forward of its own"),
        (repeated(), "it has parameters that stand twice"),
    ],
)
def test_a_network_that_it_would_get_wrong_is_refused(model: nn.Module, reason: str) -> None:
    """Catches weights that are trained by other rules than the network's own."""
    case = a_round(model, shape=(2, 8, 8))
    with pytest.raises(ValueError, match=f"strategy 'grouped' cannot train this: .*{reason}"):
        case.trained("grouped")


@together(
    "register",
    [
        every_module.register_module_forward_hook,
        every_module.register_module_forward_pre_hook,
        every_module.register_module_full_backward_hook,
        every_module.register_module_full_backward_pre_hook,
    ],
)
def test_hooks_of_every_module_are_not_passed_by(register: Callable[..., RemovableHandle]) -> None:
    case = a_round("digit-cnn")
    handle = register(lambda *_: None)
    try:
        with pytest.raises(ValueError, match="strategy 'grouped' cannot train this: hooks are registered for every"):
            case.trained("grouped")
    finally:
        handle.remove()
    case.trained("grouped")


@together("pool", [nn.MaxPool2d(2), nn.MaxPool2d((3, 2)), nn.AvgPool2d(2)])
@together("height", [6, 7])
def test_samples_of_one_plane_without_channels_are_pooled_alone(height: int, pool: nn.Module) -> None:
    """Catches windows that reach over from one client's rows to the next one's, and an error."""
    size = pool(torch.zeros(1, height, 8)).numel()
    case = a_round(nn.Sequential(pool, nn.Flatten(), nn.Linear(size, 3)), shape=(height, 8))
    assert distance(case.trained("grouped"), case.plain()) <= tolerance(case.weights)


def test_autocast_is_left_to_strategies_that_follow_it() -> None:
    """Threads of their own would not know of it."""
    case = a_round("digit-cnn", torch.float32)
    with (
        torch.autocast("cpu"),
        pytest.raises(ValueError, match=r"strategy 'grouped' cannot train this: torch\.autocast"),
    ):
        case.trained("grouped")
