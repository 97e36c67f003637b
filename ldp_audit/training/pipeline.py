"""What a pipeline is to the command line, the sweeps and the checkpoints: settings that start runs, runs of rounds.

A pipeline's folder defines a frozen dataclass of settings (a `Plan`) and a class of runs (a `Run`). A third party's
pipeline needs no more than these two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import torch

    from ldp_audit.accounting.protocols.protocol import Protocol as SpendingProtocol
    from ldp_audit.training.datasets import Images, Table

PIPELINES = {
    "ldp-fl": "ldp_audit.training.ldp_fl.plan:LdpFl",
    "fedsel": "ldp_audit.training.fedsel.plan:FedSel",
    "fedmd-nfdp": "ldp_audit.training.fedmd_nfdp.plan:FedMd",
}
"""The shipped plans, as "module:class"; `--pipeline module:class` takes a user's own."""


class Plan(Protocol):
    """The settings of a run: a frozen dataclass whose fields are numbers, texts, booleans or None, each with a default.

    Bad settings are a ValueError when the plan is built, naming the field, its value and what is accepted. Sweeps vary
    the fields by name. Two plans that are equal, with the same data, seed and device, give the same run.

    embedded: the data set that runs without any file.
    """

    embedded: ClassVar[str]

    def start(self, data: Images | Table, *, seed: int, device: torch.device) -> Run:
        """A run at its beginning; ValueError where the data do not fit the plan."""
        ...


class Run(Protocol):
    """One training run, which the caller drives: rounds are 1, 2, ..., `rounds`.

    Randomness comes from `Streams(seed)` alone, and nothing that a later round needs is kept outside `state()`.
    """

    rounds: int

    def advance(self, number: int) -> dict[str, Any]:
        """Train round `number` and say what was measured: JSON-ready, with "accuracy" (a share in [0, 1]) in it.

        Batched runs (cross-validation) give the mean as "accuracy" and all of them as "accuracies".
        """
        ...

    def state(self) -> dict[str, Any]:
        """All that the next round needs: CPU tensors, numbers and texts, in dicts and lists.

        It is saved by torch.save and read by torch.load(weights_only=True), which knows no other types.
        """
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from there; ValueError where the state is not one of such a run."""
        ...

    def protocol(self) -> SpendingProtocol | None:
        """What the whole run spends, as `accounting` describes a protocol; None where nothing is private."""
        ...
