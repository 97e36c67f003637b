"""Which strategy trains a model on a device, where the caller does not say: by rule, from measurements.

A rule, not a stopwatch at run time: strategies round differently, and equal seeds must give equal numbers again.

    closed-form    linear models, on any device
    grouped        every nn.Sequential of layers that it knows: the fastest for MLPs and CNNs; on a CPU of several
                   threads those with convolutions train as many chunks side by side
    vmap           other models that vmap can take; but those with convolutions on a CPU of one thread go to
    loop           as does what vmap cannot take

`processes` is never chosen unasked: it starts processes, which a script must be written for. The figures are those of
`benchmarks/training.py`; on CUDA, five times as many clients at a time is a guess.
"""

from __future__ import annotations

import torch
from torch import nn

from ldp_audit.training.local_work import LocalWork
from ldp_audit.training.strategies import STRATEGIES
from ldp_audit.training.strategies.side_by_side import ROOM

_ON_GPU = 5
"""Times as many clients at a time on a GPU."""


def choose_strategy(work: LocalWork) -> str:
    """The name of the strategy for this work."""
    for name in ("closed-form", "grouped"):
        if STRATEGIES[name].why_not(work) is None:
            return name
    convolves = any(isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d) for layer in work.model.modules())
    if convolves and work.data.x.device.type == "cpu" and torch.get_num_threads() == 1:
        return "loop"
    return "vmap" if STRATEGIES["vmap"].why_not(work) is None else "loop"


def choose_chunk(work: LocalWork, name: str) -> int:
    """How many clients at a time: the strategy's own number, fewer where the weights would not fit the room."""
    size = sum(weight.nbytes for weight in work.weights.values())
    usual = STRATEGIES[name].chunk * (1 if work.data.x.device.type == "cpu" else _ON_GPU)
    return max(1, min(usual, ROOM // (3 * size)))
