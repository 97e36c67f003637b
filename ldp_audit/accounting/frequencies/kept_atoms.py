"""What is left of a list of losses without the largest ones: masses that add up to less than 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.rounded_atoms import RoundedAtoms, rounding_of


@dataclass(frozen=True, eq=False)
class KeptAtoms(RoundedAtoms):
    """Some of the losses of a list, which need not have all mass."""

    def __post_init__(self) -> None:
        """Nothing is checked: the whole list was."""


class RareAtoms(NamedTuple):
    """Losses left out, nats, ascending, and ln of their probabilities under P, shape (m,) each."""

    losses: NDArray[np.float64]
    logs: NDArray[np.float64]


def split(law: LossAtoms, top: float) -> tuple[LossAtoms, RareAtoms]:
    """The losses up to `top`, and those above it. One at least is kept."""
    place = max(1, int(np.searchsorted(law.losses, top, side="right")))
    losses, logs = law.losses, law.log_probabilities
    if place == losses.size:
        return law, RareAtoms(losses[place:], logs[place:])
    kept = KeptAtoms(losses[:place], logs[:place], log_missing=0.0, error=rounding_of(law))
    return kept, RareAtoms(losses[place:], logs[place:])
