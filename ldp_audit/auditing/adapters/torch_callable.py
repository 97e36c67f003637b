"""A torch function or module on a batch of inputs, as a sampler."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler, in_batches, seeded_globals
from ldp_audit.auditing.adapters.arrays import seeded_generator


def from_torch(f: Callable[..., Any], *, device: str = "cpu", dtype: Any = None) -> AdaptedSampler:
    """A sampler that calls f on batches of the input, repeated, shape (rows, *x.shape).

    f: f(batch, generator=...) or f(batch), a function or a torch.nn.Module; returns a tensor with an output for each
       row along the first axis, or a tuple of such tensors. Modules are taken as they are, in training mode or not.
    device: where batch and generator are.
    dtype: of the batch; None: as torch.as_tensor has it, so that Python's floats come in torch's default dtype.

    The generator is seeded from rng; without one, torch's own for the CPU and CUDA are, and put back after the call;
    on other devices the sampler is then not `repeatable`. Outputs are read exactly, as float64. On a GPU, some
    operations do not repeat to the last bit whatever the seed.
    """
    if not callable(f):
        raise ValueError(f"f must be a function or a module of torch, got {f!r:.200}")
    seeded = takes_generator(f) or str(device).partition(":")[0] in ("cpu", "cuda")
    return AdaptedSampler(partial(_draw, f, device, dtype), repeatable=seeded)


def takes_generator(f: Callable[..., Any]) -> bool:
    """Whether it has a parameter called generator; of a module, its forward."""
    try:
        return "generator" in inspect.signature(getattr(f, "forward", f)).parameters
    except (TypeError, ValueError):  # functions of torch's own tell nothing
        return False


def _draw(f: Callable[..., Any], device: str, dtype: Any, x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    import torch

    one = torch.as_tensor(x, dtype=dtype, device=device)

    def batch(rows: int) -> Any:
        return one.expand(rows, *one.shape).clone()

    if takes_generator(f):
        generator = seeded_generator(device, rng)
        return in_batches(lambda rows: f(batch(rows), generator=generator), n, one.numel())
    with seeded_globals(rng):
        return in_batches(lambda rows: f(batch(rows)), n, one.numel())
