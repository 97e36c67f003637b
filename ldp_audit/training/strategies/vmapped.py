"""Several clients at once through `torch.func`: any model, vectorised over a leading axis of its weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.func import functional_call, grad_and_value, vmap

from ldp_audit.training.local_work import LocalWork, Trained


def train(work: LocalWork, chunk: int) -> Iterator[Trained]:
    """See `strategies`."""
    step = _step(work)
    for part in work.chunks(chunk):
        weights = part.stacked()
        losses = torch.zeros(len(part), device=work.data.x.device)
        for batch in part.batches():
            gradients, loss = step(weights, *batch)
            for name, gradient in gradients.items():
                weights[name].sub_(gradient, alpha=work.learning_rate)
            losses += loss
        yield part.done(weights, losses)


def why_not(work: LocalWork) -> str | None:
    """See `strategies`: what vmap cannot take shows when it is tried, here on one sample of a client."""
    first = LocalWork(**{**work.__dict__, "clients": work.clients[:1], "orders": work.orders[:1, :1, :1]})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a slow path; it is the round's to say
            x, y, share = (part[:, :1] for part in next(first.batches()))
            _step(work)(first.stacked(), x, y, share)
    except RuntimeError as error:
        return f"torch.func.vmap says: {str(error).strip().splitlines()[0]}"
    return None


def _step(work: LocalWork) -> Callable[..., tuple[dict[str, Tensor], Tensor]]:
    """(stacked weights, x, y, share) -> (gradients, losses)."""

    def batch_loss(weights: dict[str, Tensor], x: Tensor, y: Tensor, share: Tensor) -> Tensor:
        return (work.loss.value(functional_call(work.model, weights, (x,)), y) * share).sum()

    return vmap(grad_and_value(batch_loss))
