"""What the server of LDP-FL computes from a round's reports: their average by weight, and nothing else.

The average does not depend on the order in which reports arrive, so that shuffling them (Algorithm 3) changes what the
server knows and not what it computes: by default nothing is permuted. `PermutedAverage` really splits, delays, mixes
and averages by id, which needs all reports of the round at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from ldp_audit.mechanisms.parameter_shuffler import ParameterShuffler

MOST_MESSAGES = 2**25
"""Of a round that is really shuffled: the times, ids and values of so many take about 2 GB."""


class Average(Protocol):
    """Takes the reports of a round, chunk by chunk."""

    def add(self, reports: Mapping[str, Tensor]) -> None:
        """More clients' reports, with a leading axis of clients."""
        ...

    def averages(self) -> dict[str, Tensor]:
        """By name, over the clients that reported; float64."""
        ...

    def arrivals(self) -> dict[str, Any] | None:
        """When messages arrived, JSON-ready; None where none were sent."""
        ...


class PlainAverage:
    """Running sums: what the server knows if clients' reports are not split."""

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._clients = 0

    def add(self, reports: Mapping[str, Tensor]) -> None:
        """See `Average`."""
        self._clients += len(next(iter(reports.values())))
        for name, report in reports.items():
            total = report.sum(0, dtype=torch.float64)
            self._sums[name] = self._sums[name] + total if name in self._sums else total

    def averages(self) -> dict[str, Tensor]:
        """See `Average`."""
        return {name: total / self._clients for name, total in self._sums.items()}

    def arrivals(self) -> None:
        """See `Average`."""
        return


class PermutedAverage:
    """The same from anonymous messages (id, value), by `ParameterShuffler`; all clients take equally long to train.

    window: T, the delays' range.   generator: of delays and order, on the reports' device.
    """

    def __init__(self, window: float, generator: torch.Generator) -> None:
        self._window, self._generator = window, generator
        self._reports: list[Tensor] = []
        self._shapes: dict[str, torch.Size] = {}
        self._times: Tensor | None = None

    def add(self, reports: Mapping[str, Tensor]) -> None:
        """See `Average`."""
        self._shapes = {name: report.shape[1:] for name, report in reports.items()}
        self._reports.append(torch.cat([report.flatten(1) for report in reports.values()], dim=1))

    def averages(self) -> dict[str, Tensor]:
        """See `Average`."""
        matrix = torch.cat(self._reports)
        clients, dimensions = matrix.shape
        shuffler = ParameterShuffler((0.0,) * clients, (0.0,) * clients, self._window)
        messages = shuffler.sample(matrix, rng=self._generator)
        self._times = messages.time
        sums = torch.zeros(dimensions, dtype=torch.float64, device=matrix.device)
        sums.index_add_(0, messages.id, messages.value.double())
        parts = (sums / clients).split([shape.numel() for shape in self._shapes.values()])
        return {name: part.reshape(shape) for part, (name, shape) in zip(parts, self._shapes.items(), strict=True)}

    def arrivals(self) -> dict[str, Any] | None:
        """See `Average`."""
        if self._times is None:
            return None
        first, last = float(self._times[0]), float(self._times[-1])
        return {
            "messages": len(self._times),
            "window": self._window,
            "first": first,
            "last": last,
            "span": last - first,
        }
