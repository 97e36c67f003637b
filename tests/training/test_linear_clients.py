"""Closed-form gradients of linear models against autograd."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ldp_audit.training.client_data import LOSSES, Loss, loss_of
from ldp_audit.training.strategies import step
from tests.together import together
from tests.training.plain_clients import Round, a_round, distance, tolerance

ROUNDING = 100 * torch.finfo(torch.float64).eps
"""Sums of 12 products of numbers below 3."""


def problem(loss: str) -> tuple[torch.Tensor, ...]:
    """weight, bias, x, y, share of 4 clients with batches of 6."""
    generator = torch.Generator().manual_seed(2)
    outputs = 3 if loss == "cross-entropy" else 1
    draw = {"generator": generator, "dtype": torch.float64}
    y = torch.randint(3, (4, 6), generator=generator) if outputs == 3 else torch.randint(2, (4, 6)) * 2 - 1
    weight, bias = torch.randn(4, outputs, 5, **draw), torch.randn(4, outputs, **draw)
    return weight, bias, torch.randn(4, 6, 5, **draw), y, torch.rand(4, 6, **draw)


def gradients(weight, bias, x, y, share, loss: Loss) -> tuple[torch.Tensor, torch.Tensor | None]:
    """What one step at rate 1 takes off."""
    after, after_bias = weight.clone(), None if bias is None else bias.clone()
    step(after, after_bias, x, y, share, loss, 1.0)
    return weight - after, None if bias is None else bias - after_bias


def by_autograd(loss: str, weight, bias, x, y, share) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient of the sum of share times loss, client by client."""
    found = []
    for one in range(len(x)):
        w, b = weight[one].clone().requires_grad_(), bias[one].clone().requires_grad_()
        total = (LOSSES[loss].value(nn.functional.linear(x[one], w, b), y[one]) * share[one]).sum()
        found.append(torch.autograd.grad(total, (w, b)))
    return torch.stack([w for w, _ in found]), torch.stack([b for _, b in found])


@together("loss", LOSSES)
def test_the_closed_form_is_the_gradient(loss: str) -> None:
    """Catches a wrong sign, a slope of another loss, clients that are mixed."""
    weight, bias, x, y, share = problem(loss)
    by_weight, by_bias = gradients(weight, bias, x, y, share, LOSSES[loss])
    true_weight, true_bias = by_autograd(loss, weight, bias, x, y, share)
    assert float((by_weight - true_weight).abs().max()) <= ROUNDING
    assert by_bias is not None
    assert float((by_bias - true_bias).abs().max()) <= ROUNDING
    assert gradients(weight, None, x, y, share, LOSSES[loss])[1] is None


def test_a_slope_of_another_loss_is_seen() -> None:
    """The comparison itself."""
    weight, bias, x, y, share = problem("hinge")
    by_weight, _ = gradients(weight, bias, x, y, share, LOSSES["logistic"])
    assert float((by_weight - by_autograd("hinge", weight, bias, x, y, share)[0]).abs().max()) > 1e6 * ROUNDING


@together("loss", LOSSES)
def test_a_step_goes_down_the_gradient_in_place(loss: str) -> None:
    """Catches a step that uses the bias or weight after its own change."""
    weight, bias, x, y, share = problem(loss)
    by_weight, by_bias = gradients(weight, bias, x, y, share, LOSSES[loss])
    assert by_bias is not None
    wanted, wanted_bias = weight - 0.3 * by_weight, bias - 0.3 * by_bias
    scores = step(weight, bias, x, y, share, LOSSES[loss], 0.3)
    assert scores.shape == (4, 6, weight.shape[1])
    assert float((weight - wanted).abs().max()) <= ROUNDING
    assert float((bias - wanted_bias).abs().max()) <= ROUNDING


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("strategy", ["closed-form", "vmap", "grouped", "loop"])
def test_logistic_regression_and_the_svm_train_in_every_strategy(strategy: str, bias: bool, loss: str) -> None:
    """Catches labels of -1 and 1 that are taken for classes."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 1, bias=bias))
    case = a_round(model)
    case = Round(
        model, case.weights, type(case.data)(case.data.x, case.data.y % 2 * 2 - 1, case.data.sizes), case.streams
    )
    plain = case.plain(lambda outputs, y: LOSSES[loss].value(outputs, y).mean())
    assert distance(case.trained(strategy, loss=loss), plain) <= tolerance(case.weights)


def test_a_linear_layer_alone_takes_flat_samples() -> None:
    """Catches a closed form that needs a flattening layer."""
    case = a_round(nn.Linear(7, 3), shape=(7,))
    assert distance(case.trained("closed-form"), case.plain()) <= tolerance(case.weights)


def test_what_has_no_closed_form_is_refused() -> None:
    """Catches a closed form of another model or loss, and one that passes by what a user hung on the layer."""
    hooked = nn.Linear(7, 3)
    hooked.register_forward_hook(lambda module, inputs, output: 2 * output)
    for model, shape, loss, reason in (
        (
            nn.Sequential(nn.Flatten(), nn.ReLU(), nn.Linear(7, 3)),
            (7,),
            "cross-entropy",
            "another layer than a flattening",
        ),
        (nn.Sequential(nn.Linear(7, 3), nn.ReLU()), (7,), "cross-entropy", "no linear layer"),
        (nn.Linear(7, 3), (2, 7), "cross-entropy", "the samples are not flat"),
        (nn.Linear(7, 3), (7,), nn.functional.cross_entropy, "the loss is a function"),
        (hooked, (7,), "cross-entropy", "it has hooks"),
    ):
        with pytest.raises(ValueError, match=f"strategy 'closed-form' cannot train this: .*{reason}"):
            a_round(model, shape=shape).trained("closed-form", loss=loss)
    weight, bias, x, y, share = problem("hinge")
    with pytest.raises(ValueError, match=r"loss must be one of LOSSES that has a slope, got a function"):
        gradients(weight, bias, x, y, share, Loss(nn.functional.cross_entropy))
    assert loss_of("hinge") is LOSSES["hinge"]
