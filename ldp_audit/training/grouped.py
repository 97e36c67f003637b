"""Several clients in one forward pass of an `nn.Sequential`, layer by layer over stacked weights.

Activations have shape (c, b, ...) for c clients. A convolution becomes one with c groups; the first convolution needs
no gradient in its inputs, and with few inputs per output a matrix product over unfolded patches is faster. On a GPU the
product is faster for every convolution of small images: cuDNN computes group after group. A linear layer is a batched
matrix product that updates its weights within the backward pass, so that the gradient, as large as the weights, is
never stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldp_audit.training.client_data import LocalWork, Trained, cross_entropy
from ldp_audit.training.strategies import has_own_calls

Layer = Callable[[Tensor, dict[str, Tensor]], Tensor]
"""(activations (c, b, ...), stacked weights by name) -> activations (c, b, ...)."""

UNFOLD_LIMIT = 100
"""Largest number of inputs per output (channels times kernel size) for which the first convolution is unfolded. Forward
and backward for 20 clients and batches of 10 on one core: 13 ms against 27 ms at 25 inputs, 32 ms against 108 ms at 27.
"""

UNFOLD_PIXELS = 4096
"""Largest number of pixels of a client's batch for which every convolution is unfolded on a GPU. A round of the CNN
with 500 clients on an H100: 0.086 s against 0.149 s.
"""


def train(work: LocalWork, chunk: int) -> Iterator[Trained]:
    """See `strategies`."""
    if any(isinstance(layer, nn.Conv2d) for layer in work.model.modules()):
        return side_by_side(work, chunk, _train_chunk)
    return map(_train_chunk, work.chunks(chunk))


@torch.inference_mode(mode=False)  # new threads start with gradients enabled, whatever the caller's setting
def _train_chunk(work: LocalWork) -> Trained:
    layers, weights = _layers(work), {name: weight.requires_grad_() for name, weight in work.stacked().items()}
    losses = torch.zeros(len(work), device=work.data.x.device)
    for x, y, share in work.batches():
        activations = x
        for layer in layers:
            activations = layer(activations, weights)
        each = cross_entropy(activations.flatten(0, 1), y.flatten(0, 1)).view_as(share)
        loss = (each * share).sum(1)
        loss.sum().backward()
        losses += loss.detach()
        for weight in weights.values():
            if weight.grad is not None:  # linear layers have updated theirs already
                weight.data.sub_(weight.grad, alpha=work.learning_rate)
                weight.grad = None
    return work.done({name: weight.detach() for name, weight in weights.items()}, losses)


def why_not(work: LocalWork) -> str | None:
    """See `strategies`."""
    if not _plain(work.model):
        return f"{type(work.model).__name__} is no nn.Sequential"
    if torch.is_autocast_enabled(work.data.x.device.type):
        return "torch.autocast is on"
    own = has_own_calls(work.model)
    if own is not None:
        return own
    for name, layer in _leaves(work.model):
        reason = _why_not_layer(layer)
        if any(f"{name}.{key}" not in work.weights for key, _ in layer.named_parameters()):
            reason = "it has parameters that stand twice in the model"
        if reason is not None:
            return f"layer {name!r}, {type(layer).__name__}: {reason}"
    return None


def _plain(module: nn.Module) -> bool:
    """Whether the module is an nn.Sequential, or a subclass with its forward."""
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward


def _leaves(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The layers by name, in order; a layer that is used twice comes twice."""
    for name, layer in model.named_modules(remove_duplicate=False):
        if not _plain(layer):
            yield name, layer


def _why_not_layer(layer: nn.Module) -> str | None:
    if type(layer) not in _LAYERS:
        return f"none of {', '.join(kind.__name__ for kind in _LAYERS)}"
    if isinstance(layer, nn.Conv2d) and (layer.groups != 1 or layer.padding_mode != "zeros"):
        return "it has groups or a padding other than zeros"
    if isinstance(layer, nn.MaxPool2d) and layer.return_indices:
        return "it returns indices"
    if isinstance(layer, nn.Flatten) and (layer.start_dim, layer.end_dim) != (1, -1):
        return "it does not flatten all of a sample"
    return None


def _layers(work: LocalWork) -> list[Layer]:
    """The steps of the forward pass. Max-pooling precedes ReLU: both are monotone, so they commute, and ReLU has less
    to do."""
    leaves = list(_leaves(work.model))
    for i in range(len(leaves) - 1):
        if isinstance(leaves[i][1], nn.ReLU) and isinstance(leaves[i + 1][1], nn.MaxPool2d):
            leaves[i], leaves[i + 1] = leaves[i + 1], leaves[i]
    return [_LAYERS[type(layer)](name, layer, work.learning_rate) for name, layer in leaves]


def _convolution(name: str, layer: nn.Module, rate: float) -> Layer:
    del rate
    assert isinstance(layer, nn.Conv2d)  # noqa: S101
    inputs = layer.in_channels * layer.kernel_size[0] * layer.kernel_size[1]
    few, sized = inputs <= UNFOLD_LIMIT, not isinstance(layer.padding, str)

    def forward(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
        weight, bias = weights[f"{name}.weight"], weights.get(f"{name}.bias")
        small = x.device.type == "cuda" and x.shape[1] * x.shape[-2] * x.shape[-1] <= UNFOLD_PIXELS
        if sized and (small or (few and not x.requires_grad)):
            return _unfolded(x, weight, bias, layer)
        c = len(x)
        joined = x.transpose(0, 1).flatten(1, 2)  # (b, c * channels, height, width)
        flat_bias = None if bias is None else bias.flatten()
        y = functional.conv2d(
            joined, weight.flatten(0, 1), flat_bias, layer.stride, layer.padding, layer.dilation, groups=c
        )
        return y.unflatten(1, (c, -1)).transpose(0, 1)

    return forward


def _unfolded(x: Tensor, weight: Tensor, bias: Tensor | None, layer: nn.Conv2d) -> Tensor:
    (c, b), (height, width) = x.shape[:2], layer.kernel_size
    up, across = layer.padding  # type: ignore[misc]
    padded = functional.pad(x, (across, across, up, up))  # type: ignore[arg-type]
    patches = padded.unfold(3, layer.dilation[0] * (height - 1) + 1, layer.stride[0])[..., :: layer.dilation[0]]
    patches = patches.unfold(4, layer.dilation[1] * (width - 1) + 1, layer.stride[1])[..., :: layer.dilation[1]]
    rows, columns = patches.shape[3:5]
    patches = patches.permute(0, 2, 5, 6, 1, 3, 4).reshape(c, -1, b * rows * columns)
    y = weight.flatten(2) @ patches if bias is None else torch.baddbmm(bias[..., None], weight.flatten(2), patches)
    return y.view(c, -1, b, rows, columns).transpose(1, 2)


def _linear(name: str, layer: nn.Module, rate: float) -> Layer:
    del layer

    def forward(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
        if x.ndim > 3:  # a linear layer acts on the last axis
            return forward(x.flatten(1, -2), weights).unflatten(1, x.shape[1:-1])
        return _Descent.apply(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"), rate)  # type: ignore[return-value]

    return forward


class _Descent(torch.autograd.Function):
    """x W^T + b of c clients; the backward pass updates W and b in place by one step of gradient descent.

    `why_not` ensures that a layer is used once per forward pass, so that its gradient is complete.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, rate: float) -> Tensor:
        """x: (c, b, inputs).   weight: (c, outputs, inputs).   bias: (c, outputs)."""
        ctx.save_for_backward(x, weight, bias)
        ctx.rate = rate
        return x @ weight.mT if bias is None else torch.baddbmm(bias[:, None], x, weight.mT)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, None, None, None]:
        """The gradient in x, from the weights before their step."""
        (slope,), (x, weight, bias) = slopes, ctx.saved_tensors
        by_x = slope @ weight if ctx.needs_input_grad[0] else None
        weight.data.baddbmm_(slope.mT, x, alpha=-ctx.rate)
        if bias is not None:
            bias.data.sub_(slope.sum(1), alpha=ctx.rate)
        return by_x, None, None, None


def _samplewise(name: str, layer: nn.Module, rate: float) -> Layer:
    """Layers that act on each channel alone: clients become channels."""
    del name, rate

    def forward(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
        if x.ndim == 4:  # a sample without a channel axis is one channel
            return forward(x.unsqueeze(2), weights).squeeze(2)
        if pools(layer, x):
            return pool(x)
        y = layer(x.transpose(0, 1).flatten(1, 2))
        return y.unflatten(1, (x.shape[0], -1)).transpose(0, 1)

    return forward


def _elementwise(name: str, layer: nn.Module, rate: float) -> Layer:
    del name, rate
    return lambda x, _: layer(x)


def _flatten(name: str, layer: nn.Module, rate: float) -> Layer:
    del name, layer, rate
    return lambda x, _: x.flatten(2)


_LAYERS: dict[type[nn.Module], Callable[[str, nn.Module, float], Layer]] = {
    nn.Conv2d: _convolution,
    nn.Linear: _linear,
    nn.MaxPool2d: _samplewise,
    nn.AvgPool2d: _samplewise,
    nn.ReLU: _elementwise,
    nn.Tanh: _elementwise,
    nn.Sigmoid: _elementwise,
    nn.GELU: _elementwise,
    nn.Identity: _elementwise,
    nn.Flatten: _flatten,
}


_WINDOW = (2, (2, 2))


def pools(layer: nn.Module, x: Tensor) -> bool:
    """Whether `pool` computes the same as this layer on x."""
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
    """Max-pooling from (c, b, channels, height, width) to (c, b, channels, height // 2, width // 2).

    Each plane is pooled on its own, so planes are taken in their order in memory and nothing is copied.
    """
    order = sorted(range(3), key=x.stride, reverse=True)
    back = [order.index(axis) for axis in range(3)]
    planes = x.permute(*order, 3, 4)
    pooled: Tensor = _Pool.apply(planes.flatten(0, 2))  # type: ignore[assignment]
    return pooled.unflatten(0, planes.shape[:3]).permute(*back, 3, 4)


class _Pool(torch.autograd.Function):
    """2x2 max-pooling of planes (n, height, width); torch's backward pass, given the position of each maximum."""

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


MAX_BYTES = 2**30
"""Bytes for the weights, gradients and temporaries of all chunks in progress."""


def at_once(work: LocalWork, chunk: int) -> int:
    """Number of chunks that are trained in parallel; 1 on a GPU."""
    if work.data.x.device.type != "cpu":
        return 1
    size = 3 * chunk * sum(weight.nbytes for weight in work.weights.values())
    return max(1, min(torch.get_num_threads(), -(-len(work) // chunk), MAX_BYTES // size))


def side_by_side(work: LocalWork, chunk: int, train_chunk: Callable[[LocalWork], Trained]) -> Iterator[Trained]:
    """The results of train_chunk in order; one more chunk is in progress than there are threads; see `strategies`."""
    threads = at_once(work, chunk)
    if threads == 1:
        yield from map(train_chunk, work.chunks(chunk))
        return
    before, waiting = torch.get_num_threads(), deque[Future[Trained]]()
    executor = ThreadPoolExecutor(threads, "clients")
    try:
        for part in work.chunks(chunk):
            waiting.append(executor.submit(_on_one_thread, train_chunk, part))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        try:
            executor.shutdown(cancel_futures=True)
        finally:  # also after an interrupt during shutdown
            torch.set_num_threads(before)


def _on_one_thread(train_chunk: Callable[[LocalWork], Trained], part: LocalWork) -> Trained:
    torch.set_num_threads(1)
    return train_chunk(part)
