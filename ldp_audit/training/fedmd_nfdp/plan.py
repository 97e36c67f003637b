"""FedMD-NFDP as a pipeline: the plan that starts its runs, its findings and its presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ldp_audit.training.datasets import Images, Table
from ldp_audit.training.fedmd_nfdp.findings import FINDINGS as FINDINGS
from ldp_audit.training.fedmd_nfdp.findings import PAPER
from ldp_audit.training.fedmd_nfdp.findings import beside_the_paper as beside_the_paper
from ldp_audit.training.fedmd_nfdp.settings import FedMdSettings

if TYPE_CHECKING:
    import torch

    from ldp_audit.training.fedmd_nfdp.run import FedMdRun

DEMONSTRATION = PAPER.demonstration
presets = PAPER.presets


@dataclass(frozen=True)
class FedMd(FedMdSettings):
    """A run of FedMD-NFDP or of a baseline; its fields are those of `FedMdSettings`."""

    embedded: ClassVar[str] = "digits"

    def start(self, data: Images | Table, *, seed: int, device: torch.device) -> FedMdRun:
        """A run before its first round. Raises ValueError where the data do not fit the plan."""
        from ldp_audit.training.fedmd_nfdp.run import FedMdRun  # imports torch, which settings do without

        if not isinstance(data, Images):
            raise ValueError(f"data must be images for fedmd-nfdp, got {data.name!r}, a table")
        return FedMdRun(self, data, seed=seed, device=device)
