"""FedSel as a pipeline: the plan that starts its runs, its findings and its presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ldp_audit.training.datasets import Images, Table
from ldp_audit.training.fedsel.findings import FINDINGS as FINDINGS
from ldp_audit.training.fedsel.findings import PAPER
from ldp_audit.training.fedsel.findings import beside_the_paper as beside_the_paper
from ldp_audit.training.fedsel.settings import FedSelSettings

if TYPE_CHECKING:
    import torch

    from ldp_audit.training.fedsel.run import FedSelRun

DEMONSTRATION = PAPER.demonstration
presets = PAPER.presets


@dataclass(frozen=True)
class FedSel(FedSelSettings):
    """A run of FedSel or of a competitor; its fields are those of `FedSelSettings`."""

    embedded: ClassVar[str] = "synthetic"

    def start(self, data: Images | Table, *, seed: int, device: torch.device) -> FedSelRun:
        """A run before its first round. Raises ValueError where the data do not fit the plan."""
        from ldp_audit.training.fedsel.run import FedSelRun  # imports torch, which settings do without

        return FedSelRun(self, data, seed=seed, device=device)
