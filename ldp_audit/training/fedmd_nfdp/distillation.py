"""The parties' scores of the public images, the server's average of them, and training towards that average.

A party reports one score per class and public image:

* "logits": the network's outputs;
* "softmax": their softmax;
* "argmax": 1 for the largest output (the first of several), 0 for the others.

The server averages the parties' scores of each image; each party trains towards the average (Digest), then on its own
records (Revisit).

Source: Sun, Lyu, FedMD-NFDP (IJCAI 2021), Algorithm 1 and Section 5.2. The absolute error of logits is FedMD's (Li,
Wang 2019); for soft and hard labels the paper names no loss, and cross-entropy is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.nn import functional

_FORWARD_IMAGES = 4096
"""Images of one forward pass without gradients."""

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def scores_of(outputs: torch.Tensor, kind: str) -> torch.Tensor:
    """The reported scores for a network's outputs; both of shape (images, classes)."""
    if kind == "softmax":
        return functional.softmax(outputs, dim=1)
    if kind == "argmax":
        return functional.one_hot(outputs.argmax(dim=1), outputs.shape[1]).to(outputs.dtype)
    return outputs


def consensus_of(reports: Sequence[torch.Tensor]) -> torch.Tensor:
    """The mean over the parties of reports of shape (images, classes) each."""
    return torch.stack(list(reports)).mean(dim=0)


def onto_the_simplex(scores: torch.Tensor) -> torch.Tensor:
    """The nearest probability vector to each row, shape (images, classes): removes noise outside the simplex.

    The point max(scores - shift, 0) whose sum is 1 (Held, Wolfe, Crowder 1974); probability vectors stay unchanged.
    """
    falling = scores.double().sort(dim=1, descending=True).values
    excess = falling.cumsum(dim=1) - 1
    rank = torch.arange(1, scores.shape[1] + 1, device=scores.device)
    kept = (falling * rank > excess).sum(dim=1, keepdim=True)
    shift = excess.gather(1, kept - 1) / kept
    return (scores.double() - shift).clamp(min=0).to(scores.dtype)


def digest_loss(kind: str) -> Loss:
    """The loss between outputs and consensus: absolute error for logits, cross-entropy for labels."""
    return functional.l1_loss if kind == "logits" else functional.cross_entropy


def adam(model: nn.Module, learning_rate: float) -> torch.optim.Adam:
    """A new optimiser of this network."""
    return torch.optim.Adam(model.parameters(), lr=learning_rate, fused=True)


def train(
    model: nn.Module,
    x: torch.Tensor,
    target: torch.Tensor,
    loss: Loss,
    *,
    first: int,
    epochs: int,
    batch_size: int,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
) -> None:
    """Train in place, on batches in an order drawn from the generator (on the CPU).

    target: labels or scores, as the loss takes them.   first: index of the first output used.   No records: no change.
    """
    if not len(x) or not epochs:
        return
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=generator).to(x.device)
        for batch in order.split(batch_size):
            optimizer.zero_grad()
            loss(model(x[batch])[:, first:], target[batch]).backward()
            optimizer.step()


def outputs_of(model: nn.Module, x: torch.Tensor, first: int) -> torch.Tensor:
    """The outputs from index `first` on, shape (images, classes), without gradients."""
    with torch.no_grad():
        return torch.cat([model(part)[:, first:] for part in x.split(_FORWARD_IMAGES)])


def accuracy_of(model: nn.Module, x: torch.Tensor, y: torch.Tensor, first: int) -> float:
    """The share of images whose largest output is their label's."""
    return float((outputs_of(model, x, first).argmax(dim=1) == y).double().mean())
