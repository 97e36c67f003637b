"""A GPU that is none: it computes on the CPU, and refuses two devices in one operation as a GPU does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

GPU, _CPU = torch.device("cuda:0"), torch.device("cpu")
_INDICES = ("aten::index.", "aten::index_put", "aten::_index_put_impl_")  # whose indices may be on the CPU
_MOVES = ("aten::_to_copy", "aten::copy_", "aten::_local_scalar_dense")


class OnGpu(torch.Tensor):
    """A tensor that says it is on the GPU.   held: its numbers."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> OnGpu:
        layout: dict[str, Any] = {"strides": held.stride(), "storage_offset": held.storage_offset()}
        made = torch.Tensor._make_wrapper_subclass  # noqa: SLF001
        return made(cls, held.shape, **layout, dtype=held.dtype, device=_CPU)

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held.detach()

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return GPU

    def cpu(self) -> torch.Tensor:  # type: ignore[override]
        return self.to(_CPU)

    def to(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        wanted = [one.device if isinstance(one, torch.Tensor) else one for one in (*args, *kwargs.values())]
        named = [torch.device(one) for one in wanted if isinstance(one, (str, torch.device))]
        found = super().to(*(one for one in wanted if isinstance(one, torch.dtype)))
        return _Moved.apply(found) if named and named[0] == _CPU else found

    def tolist(self) -> Any:
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _dispatched(operation, args, kwargs or {})


class _Moved(torch.autograd.Function):
    """A tensor of the GPU on the CPU."""

    @staticmethod
    def forward(ctx: Any, x: OnGpu) -> torch.Tensor:
        return x.held.clone()

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> OnGpu:
        return OnGpu(slopes[0])


class _Mode(TorchDispatchMode):
    """Makes tensors of the GPU where they are asked for."""

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _dispatched(operation, args, kwargs or {})


class _Made(TorchFunctionMode):
    """Functions that take their device from C++, where it is the CPU."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is torch.nn.functional.one_hot and isinstance(args[0], OnGpu):
            return OnGpu(function(args[0].held, *args[1:]))
        if function in (torch.tensor, torch.as_tensor, torch.asarray) and kwargs.get("device") == GPU:
            return function(*args, **{**kwargs, "device": None}).to(GPU)
        return function(*args, **kwargs)


class Generator(torch.Generator):
    """A generator that says where it is."""

    where: torch.device

    def __new__(cls, device: Any = "cpu") -> Generator:
        made = super().__new__(cls)
        made.where = torch.device(device)
        return made

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.where


_waiting: list[Callable[[str], object]] = []


def _dispatched(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name, tensors = operation.name(), [one for one in tree_flatten((args, kwargs))[0] if isinstance(one, torch.Tensor)]
    ours = [one for one in tensors if isinstance(one, OnGpu)]
    if ours and name == "aten::_local_scalar_dense" and _waiting:
        _waiting[-1](name)
    others = [one for one in tensors if not isinstance(one, OnGpu) and one.ndim]
    if ours and others and not name.startswith(_MOVES + _INDICES):
        raise RuntimeError(f"{name}: expected all tensors to be on one device, got {GPU} and {_CPU}")
    asked = kwargs.get("device")
    if asked is not None and torch.device(asked).type == GPU.type:
        there, kwargs = True, {**kwargs, "device": _CPU}
    elif name.startswith((*_INDICES, "aten::copy_")):
        there = isinstance(args[0], OnGpu)
    else:
        there = bool(ours) and asked is None
    inner_args, inner_kwargs = tree_map(lambda one: one.held if isinstance(one, OnGpu) else one, (args, kwargs))
    found = operation(*inner_args, **inner_kwargs)
    same = {id(one.held): one for one in ours}  # what an operation in place returns is what it was given
    wrapped = tree_map(lambda one: _wrapped(one, same) if isinstance(one, torch.Tensor) else one, found)
    return wrapped if there else found


def _wrapped(one: torch.Tensor, same: dict[int, OnGpu]) -> OnGpu:
    return same[id(one)] if id(one) in same else OnGpu(one)


@contextmanager
def pretended_gpu(waits: Callable[[str], object] = lambda _: None) -> Iterator[torch.device]:
    """The device, while it can be used.   waits: called where the CPU waits for a number of the GPU's."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    _waiting.append(waits)
    try:
        with patch("torch.Generator", Generator), patch("torch.cuda._lazy_init"), _Made(), _Mode():
            yield GPU
    finally:
        _waiting.pop()
        torch.__future__.set_swap_module_params_on_conversion(before)
