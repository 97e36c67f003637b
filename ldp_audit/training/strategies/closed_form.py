"""Linear models (one linear layer on the flattened sample) by their closed form; see `linear_clients`."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from ldp_audit.training.linear_clients import step
from ldp_audit.training.local_work import LocalWork, Trained
from ldp_audit.training.strategies.own_calls import has_own_calls


@torch.no_grad()
def train(work: LocalWork, chunk: int) -> Iterator[Trained]:
    """See `strategies`."""
    name = next(iter(work.weights)).removesuffix("weight")
    for part in work.chunks(chunk):
        weights = part.stacked()
        weight, bias = weights[f"{name}weight"], weights.get(f"{name}bias")
        scores = torch.zeros(())
        for x, y, share in part.batches():
            scores = step(weight, bias, x.flatten(2), y, share, work.loss, work.learning_rate)
        # A score that is no finite number leaves such weights behind; where none does, the last scores tell.
        yield part.done(weights, scores.sum((1, 2)))


def why_not(work: LocalWork) -> str | None:
    """See `strategies`."""
    own = has_own_calls(work.model)
    if own is not None:
        return own
    layers = list(work.model) if type(work.model) is nn.Sequential else [work.model]
    flat = work.data.x.ndim == 3
    if not isinstance(layers[-1], nn.Linear) or type(layers[-1]).forward is not nn.Linear.forward:
        return "the model is no linear layer, nor a flattening one and a linear one"
    if any(type(layer) is not nn.Flatten or (layer.start_dim, layer.end_dim) != (1, -1) for layer in layers[:-1]):
        return "the model has another layer than a flattening one before its linear one"
    if not flat and len(layers) == 1:
        return "the samples are not flat, and the model does not flatten them"
    return None if work.loss.slope is not None else "the loss is a function, whose slope is not known"
