"""What a solution makes of the users' vectors: their reports, and the exact law of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch


@dataclass(frozen=True)
class Sent:
    """The reports of a chunk of users.

    vectors: as the server reads them, zeros where nothing is said; shape (..., width).
    mean, variance: the exact ones of `vectors`, given the users' data; shape (..., width).
    index: which entry is reported, -1 for none; shape (..., entries); None for the whole vector.
    clipped: whether the reported value lay outside [-1, 1] before; shape of `index`, or None where nothing is clipped.
    """

    vectors: torch.Tensor
    mean: torch.Tensor
    variance: torch.Tensor
    index: torch.Tensor | None = None
    clipped: torch.Tensor | None = None


class Sender(Protocol):
    """One solution with its budgets: a pure function from true vectors and a generator to reports."""

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Sent:
        """The reports of users.

        now: their (accumulated) gradients r^t, shape (..., d).
        before: r^(t-1), what they had not sent before this gradient, for the momentum; None for zeros.
        """
        ...

    def width(self, d: int) -> int:
        """The entries of a report, for vectors of d."""
        ...

    def nothing(self) -> float:
        """The exact probability that a user reports nothing."""
        ...

    def recover(self, mean: torch.Tensor) -> torch.Tensor:
        """The server's step from the mean of `Sent.vectors`: shape (..., width) to (..., d)."""
        ...
