"""What the server sees of one weight where reports are really shuffled: messages, in the order of their arrival.

A shuffler that keeps an order gives the sender of the first message away; one that keeps none adds nothing to counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ldp_audit.mechanisms import TwoPoint
from ldp_audit.mechanisms.parameter_shuffler import ParameterShuffler
from ldp_audit.training.canary.canary import Canary, Promise

_ORDER_DELTA = 0.01
"""Where the promise is tested: the epsilon at a delta that few repetitions can resolve."""

_AT_ONCE = 2**21
"""Messages that are held."""


def arrival_canary(
    n: int,
    epsilon: float,
    window: float,
    device: torch.device,
    *,
    shuffle: Callable[[Tensor, torch.Generator], Any] | None = None,
) -> Canary:
    """The server, with the messages of one weight in the order of their arrival.

    shuffle: (reports (n, repetitions), generator) -> messages; None: the shuffler that a run permutes with.
    """
    from ldp_audit.accounting import shuffle as shuffled_loss

    shuffler = ParameterShuffler((0.0,) * n, (0.0,) * n, window)
    mixed = shuffle or (lambda reports, generator: shuffler.sample(reports, rng=generator))
    promised = shuffled_loss(TwoPoint(epsilon), n).epsilon(_ORDER_DELTA)
    return Canary(
        unit="weight",
        observer=f"the server: how many of {n} reports of one weight are upper ones, and which arrived first",
        worlds=("the weight at the upper end of its range", "at the lower end"),
        draw=_Arrivals(n, epsilon, device, mixed),
        promises=(Promise("exact", f"one report among {n}, for any others", promised, _ORDER_DELTA),),
        assumes=("The other clients' weights lie at the center of the range.", "The run's own shuffler mixes them."),
        samples=max(5_000, min(50_000, 2**22 // n)),
    )


@dataclass(frozen=True)
class _Arrivals:
    """draw of a `Canary`: 2 (number of upper reports) + whether the first to arrive is one.

    Each id of the messages is one repetition: their delays are independent.
    """

    n: int
    epsilon: float
    device: torch.device
    shuffle: Callable[[Tensor, torch.Generator], Any]

    def __call__(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))
        rows = max(1, _AT_ONCE // self.n)
        parts = [min(rows, n - first) for first in range(0, n, rows)]
        return np.concatenate([self._drawn(world, size, generator) for size in parts])

    def _drawn(self, world: int, size: int, generator: torch.Generator) -> np.ndarray:
        true = torch.zeros((self.n, size), device=self.device)
        true[0] = 1.0 - 2.0 * world
        messages = self.shuffle(TwoPoint(self.epsilon).sample(true, rng=generator), generator)
        ids, upper = messages.id.cpu().numpy(), (messages.value > 0).cpu().numpy()
        _, first = np.unique(ids, return_index=True)
        return 2.0 * np.bincount(ids, weights=upper, minlength=size) + upper[first]
