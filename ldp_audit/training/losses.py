"""The losses that clients train with, by name, and their slopes where a closed form uses them.

Each is taken sample by sample: the mean is the trainer's work, since a padded batch counts its real samples only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

LossFunction = Callable[[Tensor, Tensor], Tensor]
"""(outputs (b, k), targets (b, ...)) -> the loss of each sample, shape (b,)."""


class Loss(NamedTuple):
    """value: see `LossFunction`.   slope: (outputs (..., k), targets (...)) -> derivative by the outputs (..., k)."""

    value: LossFunction
    slope: Callable[[Tensor, Tensor], Tensor] | None = None


def loss_of(loss: str | LossFunction) -> Loss:
    """The loss of this name, or a user's own function (a module's, where worker processes train).   ValueError else."""
    if callable(loss):
        return Loss(loss)
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, or a function, got {loss!r}")
    return LOSSES[loss]


def _cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    return functional.cross_entropy(outputs, labels, reduction="none")


def _cross_entropy_slope(outputs: Tensor, labels: Tensor) -> Tensor:
    slope = torch.softmax(outputs, dim=-1)
    return slope.scatter_add_(-1, labels[..., None], slope.new_full((), -1.0).expand(*labels.shape, 1))


def _logistic(outputs: Tensor, signs: Tensor) -> Tensor:
    return functional.softplus(-_margin(outputs, signs))


def _logistic_slope(outputs: Tensor, signs: Tensor) -> Tensor:
    signs = signs[..., None].to(outputs.dtype)
    return -signs * torch.sigmoid(-signs * outputs)


def _hinge(outputs: Tensor, signs: Tensor) -> Tensor:
    return functional.relu(1 - _margin(outputs, signs))


def _hinge_slope(outputs: Tensor, signs: Tensor) -> Tensor:
    signs = signs[..., None].to(outputs.dtype)
    return torch.where(signs * outputs < 1, -signs, 0.0)


def _margin(outputs: Tensor, signs: Tensor) -> Tensor:
    """y f(x) for one output and labels -1 or +1."""
    return signs.to(outputs.dtype) * outputs.squeeze(-1)


LOSSES = {
    "cross-entropy": Loss(_cross_entropy, _cross_entropy_slope),
    "logistic": Loss(_logistic, _logistic_slope),
    "hinge": Loss(_hinge, _hinge_slope),
}
"""cross-entropy: k outputs, labels 0 .. k - 1. logistic, hinge (SVM): one output, labels -1 or +1."""
