"""The networks, and their initial weights."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from ldp_audit.training import models
from ldp_audit.training.models import MODELS, build, check_model, initial_weights
from tests.together import together
from tests.training.ldp_fl.small import run

SHAPES = {"cnn": (1, 28, 28), "digit-cnn": (1, 8, 8), "vgg": (3, 32, 32), "mlp": (1, 28, 28), "softmax": (1, 8, 8)}
WEIGHTS = {"cnn": 28_938, "digit-cnn": 1_898, "vgg": 814_122, "mlp": 101_770, "softmax": 650}


def own_network(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A user's own network, by "module:function"."""
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[-1] * shape[-2], classes, bias=False))


@together("name", MODELS)
def test_each_network_maps_its_samples_to_classes_and_has_the_stated_size(name: str) -> None:
    """Catches layers that do not fit each other; the sizes are counted by hand."""
    model = build(name, SHAPES[name], 10)
    assert model(torch.zeros(2, *SHAPES[name])).shape == (2, 10)
    assert sum(weight.numel() for weight in model.parameters()) == WEIGHTS[name]
    assert list(model.state_dict()) == [key for key, _ in model.named_parameters()]


@together("name", MODELS)
def test_initial_weights_follow_torchs_rule_and_the_generator_alone(name: str) -> None:
    """Catches weights of the wrong scale, equal layers, and draws from the global generator."""
    model, state = build(name, SHAPES[name], 10), torch.get_rng_state()
    first = initial_weights(model, torch.Generator().manual_seed(1))
    again = initial_weights(model, torch.Generator().manual_seed(1))
    other = initial_weights(model, torch.Generator().manual_seed(2))
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not any(torch.equal(first[key], other[key]) for key in first)
    assert torch.equal(state, torch.get_rng_state())
    for key, weight in first.items():
        if key.endswith("weight"):  # uniform within 1 / sqrt(fan in): the greatest of 72 or more is within 20% of it
            bound = weight[0].numel() ** -0.5
            assert 0.8 * bound < float(weight.abs().max()) <= bound * (1 + 1e-6)


def test_building_a_network_leaves_the_global_generator_alone() -> None:
    """Catches the layers' own initial draws."""
    torch.manual_seed(7)
    state = torch.get_rng_state()
    build("cnn", (1, 28, 28), 10)
    assert torch.equal(state, torch.get_rng_state())


def test_a_users_own_network_is_found_by_its_module_or_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a registry that is closed to users."""
    assert build(f"{__name__}:own_network", (1, 4, 4), 3)(torch.zeros(1, 1, 4, 4)).shape == (1, 3)
    monkeypatch.setitem(models.MODELS, "mine", own_network)
    assert build("mine", (1, 4, 4), 3)(torch.zeros(1, 1, 4, 4)).shape == (1, 3)


class Attentive(nn.Module):
    """Attention between the rows of an image, and a parameter of its own: neither has a `reset_parameters`."""

    def __init__(self, side: int, classes: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(side, 2, batch_first=True)
        self.scale = nn.Parameter(torch.full((classes,), 0.5))
        self.output = nn.Linear(side, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x[:, 0]
        seen, _ = self.attention(rows, rows, rows, need_weights=False)
        return self.output(seen.mean(dim=1)) * self.scale


def attentive(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Its weights are drawn from torch's shared generator, but for one."""
    return Attentive(shape[-1], classes)


def infinite(shape: tuple[int, ...], classes: int) -> nn.Module:
    model = own_network(shape, classes)
    with torch.no_grad():
        model[1].weight[0, 1] = torch.nan
    return model


def test_a_users_initial_weights_are_kept_and_what_is_drawn_follows_the_runs_seed() -> None:
    """Catches a pretrained network that is drawn anew in silence, and runs of equal seeds from different weights."""
    first, again, other = (run(model=f"{__name__}:attentive", seed=seed) for seed in (1, 1, 2))
    assert (first.weights["scale"] == 0.5).all()
    assert all(torch.equal(first.weights[name], again.weights[name]) for name in first.weights)
    drawn = ("attention.in_proj_weight", "output.weight")
    assert not any(torch.equal(first.weights[name], other.weights[name]) for name in drawn)
    first.advance(1)
    assert all(torch.isfinite(weight).all() for weight in first.weights.values())
    assert not torch.equal(first.weights["scale"], again.weights["scale"])


@together(
    ("arguments", "message"),
    [
        (
            ("resnet", (1, 8, 8), 10),
            "model must be one of cnn, digit-cnn, vgg, mlp, softmax, or package.module:function",
        ),
        (
            ("no.such:thing", (1, 8, 8), 10),
            "model 'no.such:thing' cannot be loaded: ModuleNotFoundError: No module named 'no'",
        ),
        ((f"{__name__}:WEIGHTS", (1, 8, 8), 10), "must be a function (shape, classes) -> torch.nn.Module, got {"),
        (("cnn", (28, 28), 10), "shape must be (channels, height, width), sides >= 4, for model 'cnn', got (28, 28)"),
        (("vgg", (3, 7, 32), 10), "sides >= 8, for model 'vgg', got (3, 7, 32)"),
        (("mlp", (), 10), "shape must be positive whole numbers, got ()"),
        (("mlp", (0, 3), 10), "shape must be positive whole numbers, got (0, 3)"),
        (("mlp", (3,), 0), "classes must be a whole number >= 1, got 0"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments: tuple, message: str) -> None:
    """Catches an error of torch's deep inside a layer."""
    with pytest.raises(ValueError, match=re.escape(message)):
        build(*arguments)


@together(
    ("model", "message"),
    [
        (nn.BatchNorm1d(3), "model must have no buffers (use GroupNorm instead of BatchNorm), got 'running_mean'"),
        (
            nn.Sequential(nn.Linear(2, 2), nn.Dropout1d()),
            "model must have no dropout, its draws follow no seed, got Dropout1d '1'",
        ),
        (nn.Flatten(), "model must have parameters, Flatten has none"),
        (own_network, "model must be a torch.nn.Module, got function"),
        (infinite((1, 2, 2), 2), "model must have finite initial weights, Sequential has others in '1.weight'"),
    ],
)
def test_networks_that_clients_cannot_train_are_refused(model: object, message: str) -> None:
    """Catches running statistics that nobody sends, and draws that no seed repeats."""
    with pytest.raises(ValueError, match=re.escape(message)):
        check_model(model)
