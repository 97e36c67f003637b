"""The contract of a training pipeline: a frozen dataclass of settings (a `Plan`) that starts runs of rounds (a `Run`).

A third party's pipeline needs no more. The plan's module may also define

    FINDINGS             functions (results) -> Finding | None: what its paper found; see `findings`
    DEMONSTRATION        the sweeps that the findings need
    presets              by name, or a function that returns them: sweeps, a plan, or its settings
    beside_the_paper     (results) -> rows of `results.Row`: the paper's published results beside the runs'

a plan's runs may be extended by more rounds (`Extendable`) and its networks be used elsewhere (`Deployable`), and a run
may tell its pace (`Paced`) and have canaries (`canary.Audited`).
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from ldp_audit.mechanisms.named_object import named_object
from ldp_audit.numerics import between, meant
from ldp_audit.training.findings import Finding, Question
from ldp_audit.training.results import Comparing
from ldp_audit.training.sweep import Sweep

if TYPE_CHECKING:
    import torch
    from torch import nn

    from ldp_audit.accounting.protocols.protocol import Protocol as SpendingProtocol
    from ldp_audit.training.datasets import Images, Table

PIPELINES = {
    "ldp-fl": "ldp_audit.training.ldp_fl.plan:LdpFl",
    "fedsel": "ldp_audit.training.fedsel.plan:FedSel",
    "fedmd-nfdp": "ldp_audit.training.fedmd_nfdp.plan:FedMd",
}
"""The shipped plans, as "module:class"; `--pipeline module:class` names a user's own."""

DEMONSTRATION = "demonstration"
"""The preset that every pipeline has."""


class Plan(Protocol):
    """The settings of a run: a frozen dataclass whose fields are numbers, texts, booleans or None, each with a default.

    Bad settings raise ValueError when the plan is built, naming the field, its value and what is accepted. Sweeps vary
    the fields by name. Equal plans with the same data, seed and device give the same run.

    embedded: the data set that needs no file.
    """

    embedded: ClassVar[str]

    def start(self, data: Images | Table, *, seed: int, device: torch.device) -> Run:
        """A run before its first round. Raises ValueError if the data do not fit the plan."""
        ...


class Run(Protocol):
    """One training run; the caller advances it through rounds 1, 2, ..., `rounds`.

    All randomness comes from `Streams(seed)`, and `state()` holds everything that a later round needs.
    """

    rounds: int

    def advance(self, number: int) -> dict[str, Any]:
        """Train round `number` and return what was measured: JSON-ready, with "accuracy", a share in [0, 1].

        A `Paced` run may leave out the accuracy of a round in which it is not asked for.

        Batched runs (cross-validation) return the mean as "accuracy" and all values as "accuracies".
        """
        ...

    def state(self) -> dict[str, Any]:
        """All that the next round needs: CPU tensors, numbers and texts, in dicts and lists.

        torch.save writes it and torch.load(weights_only=True) reads it, which accepts no other types.
        """
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state. Raises ValueError for a state of another run."""
        ...

    def protocol(self) -> SpendingProtocol | None:
        """The protocol of the whole run, for `accounting`; None if nothing in it is private."""
        ...


class Paced:
    """A run that tells how far a round is, and evaluates its model in some rounds only; the shipped runs are.

    within: called with the share of the round that is done.   evaluate_every: period in rounds of the evaluation.
    EVALUATION: the measures that a round without evaluation lacks.
    """

    rounds: int
    within: Callable[[float], None] = staticmethod(lambda _: None)
    evaluate_every: int = 1
    EVALUATION: ClassVar[tuple[str, ...]] = ("accuracy",)

    def evaluate(self) -> dict[str, Any]:
        """The measures of the model as it is, such as "accuracy"."""
        raise NotImplementedError

    def evaluates(self, number: int) -> bool:
        """Whether the model is evaluated in this round; in the last one it always is."""
        return number % self.evaluate_every == 0 or number == self.rounds

    def interim(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """A last round's record as the round has it in a longer run."""
        left_out = () if record["round"] % self.evaluate_every == 0 else self.EVALUATION
        return {name: value for name, value in record.items() if name not in left_out}


@runtime_checkable
class Extendable(Protocol):
    """A plan whose runs can be extended: with more `rounds` and all else equal, a run begins with the same rounds."""

    def why_not_extended(self) -> str | None:
        """Why the rounds depend on how many there are; None if they do not."""
        ...


@runtime_checkable
class Deployable(Protocol):
    """A plan whose trained networks can be used without its data."""

    def trained_networks(self, data: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, nn.Module]:
        """The trained networks by name, on the CPU.   data: description of the data set.   state: see `Run`."""
        ...


def is_extendable(plan: Any) -> bool:
    """Whether a run of this plan can be extended."""
    return isinstance(plan, Extendable) and plan.why_not_extended() is None


def plan_class(name: str) -> type:
    """The plan of a pipeline: a shipped one ("ldp-fl"), or a user's own ("module:Class").

    Raises ValueError for a name without a plan.
    """
    target = PIPELINES.get(name, name)
    if ":" not in target:
        near = meant(name, PIPELINES)
        raise ValueError(f"pipeline must be one of {', '.join(PIPELINES)}, or module:Class, got {name!r}{near}")
    found: Any = named_object(target, f"pipeline {name!r}")
    bases = found.__mro__ if isinstance(found, type) and dataclasses.is_dataclass(found) else ()
    if not any(callable(vars(one).get("start")) for one in bases):
        raise ValueError(f"pipeline {name!r} must be a dataclass of settings with a method start, got {found!r:.100}")
    return found


def embedded_data(plan: type) -> str | None:
    """The name of the pipeline's default data set; None if the user's plan has none."""
    return next((vars(one)["embedded"] for one in plan.__mro__ if "embedded" in vars(one)), None)


def findings_of(plan: type) -> tuple[Question, ...]:
    """The pipeline's FINDINGS; empty if it has none."""
    return tuple(_module_attribute(plan, "FINDINGS", ()))


def judge(questions: Iterable[Question], results: Mapping[str, Any]) -> list[Finding]:
    """The findings for which the results have the runs."""
    answers = (question(results) for question in questions)
    return [answer for answer in answers if answer is not None]


def comparing_of(plan: type) -> Comparing:
    """The pipeline's `beside_the_paper`; no rows if it has none."""
    return _module_attribute(plan, "beside_the_paper", lambda _: [])


def demonstration_of(plan: type) -> tuple[Sweep, ...]:
    """The pipeline's DEMONSTRATION; one run of its defaults if it has none."""
    return _sweeps(_module_attribute(plan, "DEMONSTRATION", (Sweep(),)))


def presets_of(plan: type) -> dict[str, Any]:
    """The pipeline's presets by name; empty if it has none."""
    presets: Any = _module_attribute(plan, "presets", {})
    found: Any = presets() if callable(presets) else presets
    return found


def preset_of(plan: type, name: str) -> tuple[Sweep, ...]:
    """The sweeps of a preset. Raises ValueError, listing the presets, for an unknown one."""
    presets = presets_of(plan)
    if name not in presets:
        known = ", ".join(presets) or "none, for this pipeline"
        raise ValueError(f"preset must be one of {known}, got {name!r}{meant(name, presets)}")
    return _sweeps(presets[name])


def sweeps_of(
    plan: type,
    preset: str | None = None,
    fixed: Mapping[str, Any] | None = None,
    varied: Mapping[str, Sequence[Any]] | None = None,
    repeats: int | None = None,
) -> list[Sweep]:
    """A preset's sweeps with these settings fixed and those varied, each point repeated so often.

    preset: None for the demonstration, or, with settings, for a sweep of them alone.
    Raises ValueError for an unknown preset, and for a setting that is given twice.
    """
    fixed, varied = dict(fixed or {}), varied or {}
    if repeats is not None and any(one.name == "repeats" for one in dataclasses.fields(plan)):  # a run has a batch
        if "repeats" in fixed:
            raise ValueError("--repeats and --set repeats say the same; give one of them")
        fixed, repeats = {**fixed, "repeats": repeats}, None
    if preset is None and (fixed or varied):
        base: tuple[Sweep, ...] = (Sweep(),)
    else:
        base = demonstration_of(plan) if preset in (None, DEMONSTRATION) else preset_of(plan, preset)
    return [one.changed(fixed, varied, repeats) for one in base]


def _module_attribute(plan: type, name: str, default: Any) -> Any:
    """The plan's module's attribute with this name."""
    return vars(sys.modules[plan.__module__]).get(name, default)


def _sweeps(value: Any) -> tuple[Sweep, ...]:
    """Sweeps from sweeps, a plan, or a plan's settings."""
    if isinstance(value, Sweep):
        return (value,)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (Sweep(dataclasses.asdict(value)),)
    if isinstance(value, dict):
        return (Sweep(value),)
    if isinstance(value, Sequence):
        return tuple(one for part in value for one in _sweeps(part))
    raise ValueError(f"sweeps must be Sweep objects, got {value!r:.100}")


def check_flag(name: str, value: object) -> None:
    """Raise ValueError, naming the option and its value, unless the value is a boolean."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")


def check_choice(name: str, value: object, accepted: Sequence[str]) -> None:
    """Raise ValueError unless the value is one of the accepted words."""
    if value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r}")


def check_share(name: str, value: object) -> None:
    """Raise ValueError unless the value is a fraction in (0, 1)."""
    between(value, name, "a number between 0 and 1", lambda share: 0 < share < 1)
