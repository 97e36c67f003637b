"""One client after the other, as every tutorial does it: the reference that the other strategies are held to."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.func import functional_call

from ldp_audit.training.local_work import LocalWork, Trained


def train(work: LocalWork, chunk: int) -> Iterator[Trained]:
    """See `strategies`."""
    for part in work.chunks(chunk):
        trained = [_train_one(part.part(i, i + 1)) for i in range(len(part))]
        weights = {name: torch.stack([one[name] for one, _ in trained]) for name in work.weights}
        yield part.done(weights, torch.stack([losses for _, losses in trained]))


def why_not(work: LocalWork) -> str | None:
    """See `strategies`: it takes any model."""
    del work


def _train_one(work: LocalWork) -> tuple[dict[str, Tensor], Tensor]:
    weights = {name: weight.clone().requires_grad_() for name, weight in work.weights.items()}
    losses = torch.zeros((), device=work.data.x.device)
    for x, y, share in work.batches():
        with torch.enable_grad():  # the caller may have switched it off
            loss = (work.loss.value(functional_call(work.model, weights, (x[0],)), y[0]) * share[0]).sum()
            gradients = torch.autograd.grad(loss, list(weights.values()))
        with torch.no_grad():
            for weight, gradient in zip(weights.values(), gradients, strict=True):
                weight.sub_(gradient, alpha=work.learning_rate)
            losses += loss
    return {name: weight.detach() for name, weight in weights.items()}, losses
