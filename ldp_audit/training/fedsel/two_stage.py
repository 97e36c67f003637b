"""FedSel's report: select a coordinate of the accumulated gradient, then perturb its value plus momentum.

    j from select(|r^t|, epsilon1),   s_j = r^t_j + eta r^(t-1)_j,   clip to [-1, 1],   perturb with epsilon2

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 1, lines 16 to 18. The clip is needed for any finite epsilon;
the paper has it in Section 3.3. PE may select none: the server counts zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ldp_audit.mechanisms.sparse_report import scattered
from ldp_audit.training.fedsel.selection import draw, nothing, probabilities, seen
from ldp_audit.training.fedsel.sent import Sent
from ldp_audit.training.fedsel.value import perturb, second_moment


@dataclass(frozen=True)
class TwoStageSender:
    """selection: as `selection.draw` takes it.   value: a value mechanism, or None to send the value as it is.

    momentum: eta, >= 0.
    """

    selection: Any
    value: Any
    momentum: float = 0.0

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Sent:
        """See `Sender`: one index a user, or none."""
        sight = seen(self.selection, now)
        index = draw(self.selection, sight, generator)
        values = now if before is None else now + self.momentum * before
        chosen = values.gather(-1, index.clamp(min=0)[..., None])[..., 0]
        mean, square = values, values * values
        report, clipped = chosen, None
        if self.value is not None:
            report, clipped = perturb(self.value, chosen, generator)
            mean = values.clamp(-1, 1)
            square = second_moment(self.value)(mean)
            clipped = (clipped & (index >= 0))[..., None]
        report = torch.where(index < 0, torch.zeros_like(report), report)
        share = probabilities(self.selection, sight, now.dtype)
        expected = share * mean
        return Sent(
            scattered(index[..., None], report[..., None], now.shape[-1]),
            expected,
            share * square - expected * expected,
            index[..., None],
            clipped,
        )

    def width(self, d: int) -> int:
        """d."""
        return d

    def nothing(self) -> float:
        """Not 0 for PE alone."""
        return nothing(self.selection)

    def recover(self, mean: torch.Tensor) -> torch.Tensor:
        """The mean itself."""
        return mean
