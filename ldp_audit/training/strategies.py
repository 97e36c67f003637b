"""Three strategies for training many clients: a loop, `torch.func`, and a closed form for linear models.

A strategy is a pair of functions; all strategies give the same weights up to rounding; `grouped` is
one more.

    train(work: LocalWork, chunk: int) -> Iterator[Trained]      at most chunk clients at a time, in the order chosen
    why_not(work: LocalWork) -> str | None                       why it cannot do this work; None if it can

Closed form: f(x) = W x + b, with W and b stacked over clients. The gradient of a batch's weighted loss is S^T X in W
and the column sums of S in b, where S is the derivative of the loss in the scores times each sample's weight.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules import module as every_module

from ldp_audit.training.client_data import LocalWork, Trained, cross_entropy, cross_entropy_slope


def train_by_loop(work: LocalWork, chunk: int) -> Iterator[Trained]:
    """Train one client after the other: the reference for all other strategies."""
    for part in work.chunks(chunk):
        trained = [_train_one(part.part(i, i + 1)) for i in range(len(part))]
        weights = {name: torch.stack([one[name] for one, _ in trained]) for name in work.weights}
        yield part.done(weights, torch.stack([losses for _, losses in trained]))


def takes_all(work: LocalWork) -> str | None:
    """None: the loop trains any model."""
    del work


def _train_one(work: LocalWork) -> tuple[dict[str, Tensor], Tensor]:
    weights = {name: weight.clone().requires_grad_() for name, weight in work.weights.items()}
    losses = torch.zeros((), device=work.data.x.device)
    for x, y, share in work.batches():
        with torch.enable_grad():  # the caller may have disabled gradients
            loss = (cross_entropy(functional_call(work.model, weights, (x[0],)), y[0]) * share[0]).sum()
            gradients = torch.autograd.grad(loss, list(weights.values()))
        with torch.no_grad():
            for weight, gradient in zip(weights.values(), gradients, strict=True):
                weight.sub_(gradient, alpha=work.learning_rate)
            losses += loss
    return {name: weight.detach() for name, weight in weights.items()}, losses


def train_by_vmap(work: LocalWork, chunk: int) -> Iterator[Trained]:
    """Train several clients at once through `torch.func`: any model, vectorised over a leading axis of its weights."""
    gradients_of = _vectorised(work)
    for part in work.chunks(chunk):
        weights = part.stacked()
        losses = torch.zeros(len(part), device=work.data.x.device)
        for batch in part.batches():
            found, loss = gradients_of(weights, *batch)
            for name, gradient in found.items():
                weights[name].sub_(gradient, alpha=work.learning_rate)
            losses += loss
        yield part.done(weights, losses)


def not_by_vmap(work: LocalWork) -> str | None:
    """The error of vmap on one sample of one client, if any."""
    one: dict[str, Any] = {**work.__dict__, "clients": work.clients[:1], "orders": work.orders[:1, :1, :1]}
    first = LocalWork(**one)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a slow path's warning; the round itself repeats it
            x, y, share = (part[:, :1] for part in next(first.batches()))
            _vectorised(work)(first.stacked(), x, y, share)
    except RuntimeError as error:
        return f"torch.func.vmap says: {str(error).strip().splitlines()[0]}"
    return None


def _vectorised(work: LocalWork) -> Callable[..., tuple[dict[str, Tensor], Tensor]]:
    """(stacked weights, x, y, share) -> (gradients, losses)."""

    def batch_loss(weights: dict[str, Tensor], x: Tensor, y: Tensor, share: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):  # the attention that vmap vectorises; its other kinds run client by client
            return (cross_entropy(functional_call(work.model, weights, (x,)), y) * share).sum()

    return vmap(grad_and_value(batch_loss))


@torch.no_grad()
def train_in_closed_form(work: LocalWork, chunk: int) -> Iterator[Trained]:
    """Train linear models: one linear layer on the flattened sample; see `step`."""
    name = next(iter(work.weights)).removesuffix("weight")
    for part in work.chunks(chunk):
        weights = part.stacked()
        weight, bias = weights[f"{name}weight"], weights.get(f"{name}bias")
        scores = torch.zeros(())
        for x, y, share in part.batches():
            scores = step(weight, bias, x.flatten(2), y, share, work.learning_rate)
        # Non-finite scores make the weights non-finite from then on, so the last scores suffice for the check.
        yield part.done(weights, scores.sum((1, 2)))


def not_in_closed_form(work: LocalWork) -> str | None:
    """None for a linear layer, alone or after a flattening one."""
    own = has_own_calls(work.model)
    if own is not None:
        return own
    layers = list(work.model) if type(work.model) is nn.Sequential else [work.model]
    flat = work.data.samples()[0].ndim == 2
    if not isinstance(layers[-1], nn.Linear) or type(layers[-1]).forward is not nn.Linear.forward:
        return "the model is no linear layer, nor a flattening one and a linear one"
    if any(type(layer) is not nn.Flatten or (layer.start_dim, layer.end_dim) != (1, -1) for layer in layers[:-1]):
        return "the model has another layer than a flattening one before its linear one"
    if not flat and len(layers) == 1:
        return "the samples are not flat, and the model does not flatten them"
    return None


def step(weight: Tensor, bias: Tensor | None, x: Tensor, y: Tensor, share: Tensor, learning_rate: float) -> Tensor:
    """One step of gradient descent of linear models, in place, without storing a gradient.

    weight: (c, k, d).   bias: (c, k) or None.   x: (c, b, d).   y: (c, b).   share: (c, b), 1/b for the mean.
    returns: the clients' scores before the step, (c, b, k).
    """
    transposed = weight.transpose(1, 2)
    scores = x @ transposed if bias is None else torch.baddbmm(bias[:, None], x, transposed)
    slope = cross_entropy_slope(scores, y) * share[..., None]
    weight.baddbmm_(slope.transpose(1, 2), x, alpha=-learning_rate)
    if bias is not None:
        bias.sub_(slope.sum(1), alpha=learning_rate)
    return scores


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def has_own_calls(model: nn.Module) -> str | None:
    """Which module of the model has hooks or its own forward, or that hooks apply to all modules; None if neither."""
    if any(getattr(every_module, f"_global{hooks}") for hooks in _HOOKS):
        return "hooks are registered for every module of this process"
    for name, module in model.named_modules():
        if any(module.__dict__[hooks] for hooks in _HOOKS) or "forward" in module.__dict__:
            return f"layer {name!r}, {type(module).__name__}: it has hooks or a forward of its own"
    return None
