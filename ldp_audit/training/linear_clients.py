"""Linear models of many clients at once, in closed form: f(x) = W x + b, with W and b stacked over clients.

The gradient of a batch's weighted loss is S^T X by W and the column sums of S by b, where S is the loss's slope by the
scores, times each sample's share. For softmax regression, logistic regression and the SVM of `losses.LOSSES`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ldp_audit.training.losses import Loss


def gradients(
    weight: Tensor, bias: Tensor | None, x: Tensor, y: Tensor, share: Tensor, loss: Loss
) -> tuple[Tensor, Tensor | None]:
    """Each client's gradient of the sum of share times loss.

    weight: (c, k, d).   bias: (c, k) or None.   x: (c, b, d).   y: (c, b).   share: (c, b), 1/b for the mean.
    returns: by weight (c, k, d), by bias (c, k) or None.   Raises ValueError for a loss that has no slope.
    """
    slope = _slope(weight, bias, x, y, loss)[0] * share[..., None]
    return slope.transpose(1, 2) @ x, None if bias is None else slope.sum(1)


def step(
    weight: Tensor, bias: Tensor | None, x: Tensor, y: Tensor, share: Tensor, loss: Loss, learning_rate: float
) -> Tensor:
    """One step of gradient descent, in place, without room for a gradient; see `gradients`.

    returns: the clients' scores, (c, b, k), before the step.
    """
    slope, scores = _slope(weight, bias, x, y, loss)
    slope = slope * share[..., None]
    weight.baddbmm_(slope.transpose(1, 2), x, alpha=-learning_rate)
    if bias is not None:
        bias.sub_(slope.sum(1), alpha=learning_rate)
    return scores


def _slope(weight: Tensor, bias: Tensor | None, x: Tensor, y: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
    if loss.slope is None:
        raise ValueError("loss must be one of losses.LOSSES that has a slope, got a function")
    transposed = weight.transpose(1, 2)
    scores = x @ transposed if bias is None else torch.baddbmm(bias[:, None], x, transposed)
    return loss.slope(scores, y), scores
