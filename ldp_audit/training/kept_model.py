"""A trained model in a file, with its settings, its seed and its exact spend: to be used, evaluated, or trained on.

    from ldp_audit.training.kept_model import load_model

    model = load_model("DIR/models/run-1.pt")
    model.networks()["model"]                   # torch modules that need none of the training data
    model.spend["everything"]["by_name"]        # what training spent, as in results.json
    run = model.run(data, rounds=10)            # the run after its last round: run.evaluate(), run.advance(5)

The file is a checkpoint of `runs` with the spend; a checkpoint is read too, as a model whose spend is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldp_audit.checkpoint import DAMAGE, SCHEMA_VERSION, damaged
from ldp_audit.files import write_whole
from ldp_audit.training.device import device_of
from ldp_audit.training.pipeline import PIPELINES, Deployable, is_extendable, plan_class
from ldp_audit.training.runs import KIND, check_rounds, packed, read
from ldp_audit.training.sweep import read_value

if TYPE_CHECKING:
    from torch import nn

    from ldp_audit.training.datasets import Images, Table
    from ldp_audit.training.pipeline import Plan, Run


@dataclass(frozen=True)
class TrainedModel:
    """A model after its last round.

    pipeline, plan, seed: of the run.   data: description of the data set.   accuracy: as measured after the last round.
    spend: see `spend`; None if nothing in the run is private.   state: see `pipeline.Run`.
    rounds: that were trained.
    """

    pipeline: str
    plan: Plan
    seed: int
    data: Mapping[str, Any]
    accuracy: float
    spend: Mapping[str, Any] | None
    state: Mapping[str, Any]
    rounds: int

    def networks(self) -> dict[str, nn.Module]:
        """The trained networks by name, on the CPU: one, or one for each party or each fold."""
        if not isinstance(self.plan, Deployable):
            raise ValueError(f"{self.pipeline} does not say how to build its networks; `run` continues its training")
        return self.plan.trained_networks(self.data, self.state)

    def run(self, data: Images | Table, *, rounds: int | None = None, device: str = "cpu") -> Run:
        """The run after its last round, on these data: to be evaluated, or advanced by the next rounds.

        rounds: their number, if the run is to have more.
        Raises ValueError if the data do not fit, for fewer rounds, and for more of a run that cannot be extended.
        """
        plan = self.plan
        if rounds is not None:
            if rounds < self.rounds:
                raise ValueError(f"rounds must be at least the {self.rounds} that were trained, got {rounds!r}")
            plan = replace(plan, rounds=rounds)  # type: ignore[type-var]  (a Plan is a dataclass)
            if not is_extendable(plan):
                raise ValueError(f"rounds must be left as they are: a run of {self.pipeline} cannot be extended so")
        run = plan.start(data, seed=self.seed, device=device_of(device))
        run.restore(self.state)
        return run


def load_model(path: str | Path, *, own: bool = False) -> TrainedModel:
    """Read a model that `train --keep-model` has written.

    own: accept pipelines and networks of your own, "module:name", whose modules are imported, which runs their code.
    Raises ValueError for a file that is damaged or holds no model, and for "module:name" unless `own` is given.
    """
    path = Path(path)
    document = read(path)
    try:
        if document["kind"] != KIND or document["schema_version"] != SCHEMA_VERSION:
            raise ValueError(f"its kind is {document['kind']!r}, its schema_version {document['schema_version']!r}")
        told, rounds = document["arguments"], document["rounds"]
        check_rounds(rounds, len(rounds))
        pipeline, settings = str(told["pipeline"]), dict(told["settings"])
        foreign = [str(name) for name in (pipeline, *settings.values()) if ":" in str(name)]
        accuracy, rest = rounds[-1]["accuracy"], (document.get("spend"), document["state"])
        seed, data = told["seed"], told["data"]
    except DAMAGE as error:
        raise damaged(path, error) from None
    if not own and (foreign or pipeline not in PIPELINES):
        raise ValueError(f"{path} names {(foreign or [pipeline])[0]!r}, whose import runs its code; own=True allows it")
    kind = plan_class(pipeline)
    try:
        values = {name: read_value(kind, name, v) if isinstance(v, str) else v for name, v in settings.items()}
        return TrainedModel(pipeline, kind(**values), seed, data, accuracy, *rest, len(rounds))
    except DAMAGE as error:
        raise damaged(path, error) from None


def keep_model(state: Path, path: Path, spend: Mapping[str, Any] | None) -> None:
    """Write the model of a finished run.   state: its checkpoint; ValueError without one.   spend: its account."""
    if not state.exists():
        raise ValueError(f"{state} is not there, so the model of that run cannot be kept; train it in another folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole({path: packed({**read(state), "spend": spend})})
