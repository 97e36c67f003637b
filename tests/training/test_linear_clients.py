"""Closed-form gradients of linear models against autograd."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ldp_audit.training.client_data import cross_entropy
from ldp_audit.training.strategies import step
from tests.together import together
from tests.training.plain_clients import a_round, distance, tolerance

ROUNDING = 100 * torch.finfo(torch.float64).eps
"""Sums of 12 products of numbers below 3."""


@together("rate", [1.0, 0.3])
def test_a_step_goes_down_the_gradient_in_place(rate: float) -> None:
    """Catches a wrong sign, clients that are mixed, and a bias or weight that is used after its own change."""
    generator = torch.Generator().manual_seed(2)
    draw = {"generator": generator, "dtype": torch.float64}
    y, weight, bias = (
        torch.randint(3, (4, 6), generator=generator),
        torch.randn(4, 3, 5, **draw),
        torch.randn(4, 3, **draw),
    )
    x, share = torch.randn(4, 6, 5, **draw), torch.rand(4, 6, **draw)
    wanted, wanted_bias = [], []
    for one in range(4):
        w, b = weight[one].clone().requires_grad_(), bias[one].clone().requires_grad_()
        total = (cross_entropy(nn.functional.linear(x[one], w, b), y[one]) * share[one]).sum()
        by_weight, by_bias = torch.autograd.grad(total, (w, b))
        wanted.append(weight[one] - rate * by_weight)
        wanted_bias.append(bias[one] - rate * by_bias)
    alone = weight.clone()
    assert step(weight, bias, x, y, share, rate).shape == (4, 6, 3)
    assert float((weight - torch.stack(wanted)).abs().max()) <= ROUNDING
    assert float((bias - torch.stack(wanted_bias)).abs().max()) <= ROUNDING
    step(alone, None, x, y, share, rate)
    assert float((alone - torch.stack(wanted)).abs().max()) > 1e6 * ROUNDING, "the bias counts"


@together("bias", [True, False])
@together("strategy", ["closed-form", "vmap", "grouped", "loop"])
def test_linear_models_train_in_every_strategy(strategy: str, bias: bool) -> None:
    case = a_round(nn.Sequential(nn.Flatten(), nn.Linear(64, 3, bias=bias)))
    assert distance(case.trained(strategy), case.plain()) <= tolerance(case.weights)


def test_a_linear_layer_alone_takes_flat_samples() -> None:
    """Catches a closed form that needs a flattening layer."""
    case = a_round(nn.Linear(7, 3), shape=(7,))
    assert distance(case.trained("closed-form"), case.plain()) <= tolerance(case.weights)


def test_what_has_no_closed_form_is_refused() -> None:
    """Catches a closed form of another model, and one that passes by what a user hung on the layer."""
    hooked = nn.Linear(7, 3)
    hooked.register_forward_hook(lambda module, inputs, output: 2 * output)
    for model, shape, reason in (
        (nn.Sequential(nn.Flatten(), nn.ReLU(), nn.Linear(7, 3)), (7,), "another layer than a flattening"),
        (nn.Sequential(nn.Linear(7, 3), nn.ReLU()), (7,), "no linear layer"),
        (nn.Linear(7, 3), (2, 7), "the samples are not flat"),
        (hooked, (7,), "it has hooks"),
    ):
        with pytest.raises(ValueError, match=f"strategy 'closed-form' cannot train this: .*{reason}"):
            a_round(model, shape=shape).trained("closed-form")
