"""Pooling by comparisons against torch's own, to the bit."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ldp_audit.training import grouped
from tests.together import together


def by_torch(x: Tensor) -> Tensor:
    return nn.functional.max_pool2d(x.flatten(0, 1), 2).unflatten(0, x.shape[:2])


def slope_of(pool: object, x: Tensor, order: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The pooled planes of x, which lie in memory in this order, and the gradient of a sum of different shares."""
    leaf = x.permute(*order, 3, 4).contiguous().requires_grad_()
    pooled = pool(leaf.permute(*(order.index(axis) for axis in range(3)), 3, 4))  # type: ignore[operator]
    (pooled * torch.arange(pooled.numel()).view(pooled.shape)).sum().backward()
    assert leaf.grad is not None
    return pooled.detach(), leaf.grad


@together("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1)])
@together("size", [(2, 2), (5, 4), (4, 7)])
def test_values_and_gradients_are_torchs_where_corners_are_equal_too(size: tuple[int, int], order: tuple) -> None:
    """Catches another corner of equal ones, an odd row or column that is counted, planes that are mixed up.

    Three values in windows of four: each window has equal corners, and all orders of them occur.
    """
    x = torch.randint(3, (3, 4, 5, *size), generator=torch.Generator().manual_seed(2)).to(torch.float32)
    for found, right in zip(slope_of(grouped.pool, x, order), slope_of(by_torch, x, order), strict=True):
        assert torch.equal(found, right)


def test_what_is_no_number_stays_so_and_reaches_no_other_window() -> None:
    """Catches a client that diverges unseen."""
    x = torch.zeros(2, 1, 1, 4, 4)
    x[1, 0, 0, 3, 0] = float("nan")
    assert grouped.pool(x).isnan().flatten().tolist() == [False] * 6 + [True, False]


@together(
    ("layer", "taken"),
    [
        (nn.MaxPool2d(2), True),
        (nn.MaxPool2d((2, 2), (2, 2)), True),
        (nn.MaxPool2d(3), False),
        (nn.MaxPool2d((2, 3)), False),
        (nn.MaxPool2d(2, 1), False),
        (nn.MaxPool2d(2, padding=1), False),
        (nn.MaxPool2d(2, dilation=2), False),
        (nn.MaxPool2d(2, ceil_mode=True), False),
        (nn.AvgPool2d(2), False),
    ],
)
def test_other_windows_are_left_to_torch(layer: nn.Module, taken: bool) -> None:
    """Catches a setting that is ignored."""
    assert grouped.pools(layer, torch.zeros(1, 1, 1, 6, 6)) is taken
    assert not grouped.pools(layer, torch.zeros(1, 1, 1, 1, 6))
    assert not grouped.pools(layer, torch.zeros(1, 1, 6, 6))  # no channels
    assert not grouped.pools(layer, torch.zeros(2, 0, 1, 6, 6))  # no sample


@together("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_infinite_corners_and_other_dtypes_are_torchs_too(dtype: torch.dtype) -> None:
    """Catches a window of -inf alone, whose gradient torch sends to its first corner."""
    values = torch.tensor([-torch.inf, -torch.inf, torch.inf, 0.5], dtype=dtype)
    x = values[torch.randint(4, (2, 3, 4, 9, 8), generator=torch.Generator().manual_seed(4))]
    found, right = (slope_of(pool, x, (0, 1, 2)) for pool in (grouped.pool, by_torch))
    assert all(torch.equal(one, other) for one, other in zip(found, right, strict=True))
    assert bool((right[0] == -torch.inf).any())


def test_it_can_be_differentiated_twice() -> None:
    x = torch.rand(2, 1, 2, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(5)).requires_grad_()
    assert torch.autograd.gradgradcheck(grouped.pool, (x,))
