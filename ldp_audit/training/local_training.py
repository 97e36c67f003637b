"""The clients' local training: plain SGD from the global weights on each client's own samples (FedAvg's inner loop).

Trained clients are yielded chunk by chunk, so that a round of n clients and d weights is never in memory as a whole.

If the caller names no strategy, a fixed rule from measurements (`benchmarks/training.py`) chooses one. It does not
depend on timings at run time: strategies round differently, and equal seeds must give equal numbers.

    closed-form    linear models, on any device
    grouped        every nn.Sequential of supported layers: fastest for MLPs and CNNs; on a CPU with several threads
                   those with convolutions train as many chunks in parallel
    vmap           other models that torch.func.vmap supports, except convolutions on a CPU with one thread
    loop           the rest
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ldp_audit.numerics import whole
from ldp_audit.training import grouped
from ldp_audit.training import strategies as plain
from ldp_audit.training.client_data import ClientData, LocalWork, Trained, draw_orders
from ldp_audit.training.models import check_model
from ldp_audit.training.streams import Streams

_GPU_FACTOR = 50
"""Factor on the clients per chunk on a GPU: 37 times quicker than 1 for an MLP and 14 times for the CNN, 4 and 1.6
times quicker than 10; of 200 the MLP takes half the time and the CNN twice the memory (benchmarks/RESULTS.md, H200)."""


class Strategy(NamedTuple):
    """See the module `strategies`.   chunk: clients per chunk on a CPU, by default."""

    train: Callable[[LocalWork, int], Iterator[Trained]]
    why_not: Callable[[LocalWork], str | None]
    chunk: int


STRATEGIES = {
    "loop": Strategy(plain.train_by_loop, plain.takes_all, 20),
    "vmap": Strategy(plain.train_by_vmap, plain.not_by_vmap, 20),
    "grouped": Strategy(grouped.train, grouped.why_not, 10),
    "closed-form": Strategy(plain.train_in_closed_form, plain.not_in_closed_form, 25),
}


def train_clients(
    model: nn.Module,
    weights: dict[str, Tensor],
    data: ClientData,
    chosen: Tensor | Sequence[int],
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    streams: Streams,
    place: tuple[int, ...],
    strategy: str = "auto",
    chunk: int | None = None,
    strict: bool = True,
) -> Iterator[Trained]:
    """Train the chosen clients by cross-entropy: chunks (indices (c,), weights with a leading axis of length c).

    weights: the global weights by name, on data's device; not modified.   chosen: distinct indices of clients.
    place: (round, ...), from which the batches' order is drawn; the same for every strategy, so that all give the same
        weights up to rounding.   strategy: one of `strategies()`, or "auto".   chunk: clients per chunk.
    strict: FloatingPointError, naming client and round, if a loss or a weight is not finite; if false, all weights of
        such a client become NaN.
    Raises ValueError for bad arguments, at the call.
    """
    check_model(model)
    _check_weights(model, weights, data)
    whole(epochs, "epochs", 1)
    whole(batch_size, "batch_size", 1)
    if chunk is not None:
        whole(chunk, "chunk", 1)
    most = torch.finfo(data.x.dtype).max
    if not (isinstance(learning_rate, int | float) and 0 < learning_rate <= most):
        raise ValueError(f"learning_rate must be a positive number, at most {most:.3g}, got {learning_rate!r}")
    clients = _indices(chosen, len(data))
    orders = draw_orders(data, clients, epochs, streams, place)
    work = LocalWork(model, weights, data, clients, orders, batch_size, learning_rate, place, strict)
    if strategy != "auto" and strategy not in STRATEGIES:
        raise ValueError(f"strategy must be auto or one of {', '.join(STRATEGIES)}, got {strategy!r}")
    name = choose_strategy(work) if strategy == "auto" else strategy
    reason = STRATEGIES[name].why_not(work)
    if reason is not None:
        raise ValueError(f"strategy {name!r} cannot train this: {reason}")
    return STRATEGIES[name].train(work, chunk or choose_chunk(work, name))


def choose_strategy(work: LocalWork) -> str:
    """The strategy for this work, by the rule in the module's docstring."""
    for name in ("closed-form", "grouped"):
        if STRATEGIES[name].why_not(work) is None:
            return name
    convolves = any(isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d) for layer in work.model.modules())
    if convolves and work.data.x.device.type == "cpu" and torch.get_num_threads() == 1:
        return "loop"
    return "vmap" if STRATEGIES["vmap"].why_not(work) is None else "loop"


def choose_chunk(work: LocalWork, name: str) -> int:
    """Clients per chunk: the strategy's own number, fewer if the weights would exceed `grouped.MAX_BYTES`."""
    size = sum(weight.nbytes for weight in work.weights.values())
    usual = STRATEGIES[name].chunk * (1 if work.data.x.device.type == "cpu" else _GPU_FACTOR)
    return max(1, min(usual, grouped.MAX_BYTES // (3 * size)))


@torch.no_grad()
def evaluate(model: nn.Module, weights: dict[str, Tensor], x: Tensor, y: Tensor, *, batch: int = 200) -> float:
    """Accuracy, in [0, 1]: the share of samples whose largest output is their label.

    x: shape (n, ...), n >= 1.   y: labels, shape (n,).   batch: samples per forward pass.
    """
    whole(batch, "batch", 1)
    if not len(x) or len(x) != len(y):
        raise ValueError(f"x and y must be as many, at least one, got {len(x)} and {len(y)}")
    if x.ndim == 4 and x.device.type == "cpu":  # convolutions and pooling take half the time with channels last
        x = x.contiguous(memory_format=torch.channels_last)
        weights = {name: _channels_last(weight) for name, weight in weights.items()}
    right = torch.zeros((), dtype=torch.int64, device=x.device)
    for some_x, some_y in zip(x.split(batch), y.split(batch), strict=True):
        right += (functional_call(model, weights, (some_x,)).argmax(1) == some_y).sum()
    return int(right) / len(x)


def _channels_last(weight: Tensor) -> Tensor:
    return weight.contiguous(memory_format=torch.channels_last) if weight.ndim == 4 else weight


def _check_weights(model: nn.Module, weights: dict[str, Tensor], data: ClientData) -> None:
    wanted = {name: tuple(weight.shape) for name, weight in model.named_parameters()}
    got = {name: tuple(weight.shape) for name, weight in weights.items()}
    if got != wanted:
        wrong = next(name for name in {**wanted, **got} if got.get(name) != wanted.get(name))
        raise ValueError(f"weights must be the model's: {wrong!r} must be {wanted.get(wrong)}, got {got.get(wrong)}")
    for name, weight in weights.items():
        if weight.device != data.x.device or weight.dtype != data.x.dtype:
            raise ValueError(
                f"weights must be like the samples, {data.x.dtype} on {data.x.device}, "
                f"got {weight.dtype} on {weight.device} in {name!r}"
            )


def _indices(chosen: Tensor | Sequence[int], clients: int) -> Tensor:
    indices = torch.as_tensor(chosen).cpu()
    if indices.ndim != 1 or indices.dtype.is_floating_point or not len(indices):
        raise ValueError(f"chosen must be at least one index of a client, got {chosen!r}")
    if not (indices.min() >= 0 and indices.max() < clients) or len(indices.unique()) < len(indices):
        raise ValueError(f"chosen must be distinct, in 0 .. {clients - 1}, got {indices.tolist()}")
    return indices.to(torch.int64)
