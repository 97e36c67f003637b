"""What a user has not sent yet: gradients add up, and a coordinate starts anew when it was selected.

    r^t = r^(t-1) + g^t,   then r^t_j <- 0 for the j that was reported; where PE reported none, nothing starts anew

A user's r is a function of its record, the models that it was sent and the indices that it reported. So it is computed
again when it is needed, and a run keeps the models and the indices alone: users times d numbers are never held.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 1, lines 15 and 18.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch


def unsent(past: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor | None:
    """r^(t-1) from the past rounds of these users, the first one first; None where there are none.

    past: what was added, shape (..., d), and the index reported then, shape (...), -1 for none.
    """
    kept: torch.Tensor | None = None
    for added, index in past:
        kept = after_report(added if kept is None else kept + added, index)
    return kept


def after_report(accumulated: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """The accumulated vectors, shape (..., d), with 0 at each reported index, shape (...); as they are for -1."""
    places = torch.arange(accumulated.shape[-1], device=accumulated.device)
    return torch.where(places == index[..., None], torch.zeros_like(accumulated), accumulated)
